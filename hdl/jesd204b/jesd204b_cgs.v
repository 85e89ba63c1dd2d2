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
    // Back to INIT.
    input  wire        restart,
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

    // Next {state, run} of INIT.
    function [3:0] await_commas(input [1:0] from_run, input [3:0] comma);
        integer i;
        reg [2:0] count;
        begin
            count = {1'b0, from_run};
            for (i = 0; i < 4; i = i + 1) begin
                if (!count[2]) begin
                    count = comma[i] ? count + 3'd1 : 3'd0;
                end
            end
            await_commas = count[2] ? {CHECK, 2'd0} : {INIT, count[1:0]};
        end
    endfunction

    // Next {state, run, invalid} of CHECK and DATA.
    function [5:0] follow(input [1:0] from_state, input [1:0] from_run, input [1:0] from_invalid, input [3:0] is_bad);
        integer i;
        begin
            follow = {from_state, from_run, from_invalid};
            for (i = 0; i < 4; i = i + 1) begin
                if (follow[5:4] == DATA) begin
                    if (is_bad[i]) begin
                        follow = {CHECK, 2'd0, 2'd1};
                    end
                end else if (follow[5:4] == CHECK) begin
                    if (!is_bad[i]) begin
                        follow = follow[3:2] == 2'd3 ? {DATA, 4'd0} : {CHECK, follow[3:2] + 2'd1, follow[1:0]};
                    end else begin
                        follow = follow[1:0] == 2'd2 ? {INIT, 4'd0} : {CHECK, 2'd0, follow[1:0] + 2'd1};
                    end
                end
            end
        end
    endfunction

    // {state, run, invalid} of the next cycle; worked out only where it can change.
    reg [5:0] next;

    always @* begin
        next = {state, run, invalid};
        if (state == INIT) begin
            next = {await_commas(run, charisk & ~bad & {data[31:24] == COMMA, data[23:16] == COMMA, data[15:8] == COMMA,
                                                        data[7:0] == COMMA}), 2'd0};
        end else if (state == CHECK || bad != 4'd0) begin
            next = follow(state, run, invalid, bad);
        end
    end

    always @(posedge clk) begin
        lost <= 1'b0;
        if (rst || restart) begin
            {state, run, invalid} <= {INIT, 4'd0};
        end else begin
            {state, run, invalid} <= next;
            lost <= state != INIT && next[5:4] == INIT;
        end
    end

endmodule

`default_nettype wire
