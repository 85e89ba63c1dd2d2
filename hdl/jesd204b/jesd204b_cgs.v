// Code group synchronisation of one lane (JESD204B 5.3.3.1, 7.1), four octets at a time.
//
// INIT until four /K/ in a row, CHECK until four valid characters in a row, then DATA. In DATA an invalid character leads to CHECK;
// there three invalid ones (the first included) without four valid in a row between lose synchronisation. The change
// from INIT to CHECK is made at the end of a beat: it costs at most three octets and keeps the recurrence short.

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_cgs (
    input  wire        clk,
    input  wire        rst,
    // Characters as received; bad: not in the table or wrong disparity.
    input  wire [31:0] data,
    input  wire [3:0]  charisk,
    input  wire [3:0]  bad,
    // 0 INIT, 1 CHECK, 2 DATA; lost: synchronisation fell, one cycle.
    output reg  [1:0]  state,
    output reg         lost
);

    localparam [1:0] INIT = 2'd0;
    localparam [1:0] CHECK = 2'd1;
    localparam [1:0] DATA = 2'd2;
    localparam [7:0] COMMA = 8'hbc;

    // Octets in a row that are what the state waits for, and invalid ones seen in CHECK.
    reg [1:0] run;
    reg [1:0] invalid;

    // Worked out only where it can change.
    reg [1:0] next_state;
    reg [1:0] next_run;
    reg [1:0] next_invalid;
    reg       comma;

    integer i;

    always @* begin
        next_state = state;
        next_run = run;
        next_invalid = invalid;
        comma = 1'b0;
        if (state == INIT) begin
            for (i = 0; i < 4; i = i + 1) begin
                comma = charisk[i] && !bad[i] && data[8*i +: 8] == COMMA;
                if (next_state == INIT) begin
                    next_state = comma && next_run == 2'd3 ? CHECK : INIT;
                    next_run = comma ? next_run + 2'd1 : 2'd0;
                end
            end
        end else if (state == CHECK || bad != 4'd0) begin
            for (i = 0; i < 4; i = i + 1) begin
                if (next_state == DATA && bad[i]) begin
                    next_state = CHECK;
                    next_run = 2'd0;
                    next_invalid = 2'd1;
                end else if (next_state == CHECK && bad[i]) begin
                    next_state = next_invalid == 2'd2 ? INIT : CHECK;
                    next_run = 2'd0;
                    next_invalid = next_invalid == 2'd2 ? 2'd0 : next_invalid + 2'd1;
                end else if (next_state == CHECK) begin
                    next_state = next_run == 2'd3 ? DATA : CHECK;
                    next_run = next_run + 2'd1;
                end
            end
        end
    end

    always @(posedge clk) begin
        lost <= 1'b0;
        if (rst) begin
            state <= INIT;
            run <= 2'd0;
            invalid <= 2'd0;
        end else if (state != DATA || bad != 4'd0) begin
            state <= next_state;
            run <= next_run;
            invalid <= next_invalid;
            lost <= state != INIT && next_state == INIT;
        end
    end

endmodule

`default_nettype wire
