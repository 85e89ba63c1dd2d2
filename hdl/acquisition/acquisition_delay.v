// The sample stream, later by a fixed number of clocks.
//
// A trigger comes when part of its own sample has passed. The window looks at the stream DEPTH + 1 clocks late, so that it
// can still begin with that sample. `up` marks clocks in which the link delivered; the time goes along with each word.

`timescale 1ns / 1fs
`default_nettype none

module acquisition_delay #(
    // Clocks, less one. Power of two, at least the clocks of a sample.
    parameter DEPTH = 8,
    // Lanes. 1 to 64.
    parameter LANES = 32
) (
    input  wire             clk,
    input  wire             rst,
    // Stream from the link receiver.
    input  wire             link_up,
    input  wire [1023:0]    s_data,
    input  wire             s_valid,
    input  wire             s_first,
    input  wire [55:0]      s_tick,
    input  wire [15:0]      s_error_kinds,
    input  wire [LANES-1:0] s_error_lanes,
    input  wire [63:0]      s_time,
    // The link was up in all clocks that are still on their way.
    output wire             steady,

    // Late stream. Only valid and up have a meaning while it is not wanted.
    input  wire             wanted,
    output reg              up,
    output reg              valid,
    output wire [1023:0]    data,
    output wire             first,
    output wire [55:0]      tick,
    output wire [15:0]      error_kinds,
    output wire [LANES-1:0] error_lanes,
    output wire [63:0]      stamp
);

    localparam WIDTH = 1024 + 1 + 56 + 16 + LANES + 64;
    localparam INDEX_WIDTH = $clog2(DEPTH);
    localparam [INDEX_WIDTH-1:0] INDEX_ONE = 1;

    generate
        if (DEPTH < 2 || DEPTH != 1 << $clog2(DEPTH)) begin : check_depth
            initial $fatal(1, "acquisition_delay: DEPTH must be a power of two of at least 2");
        end
        if (LANES < 1 || LANES > 64) begin : check_lanes
            initial $fatal(1, "acquisition_delay: LANES must be 1 to 64");
        end
    endgenerate

    reg [WIDTH-1:0]       memory [0:DEPTH-1];
    reg [INDEX_WIDTH-1:0] index;
    reg [DEPTH-1:0]       valids;
    reg [DEPTH-1:0]       ups;
    reg [WIDTH-1:0]       late;

    assign {data, first, tick, error_kinds, error_lanes, stamp} = late;
    assign steady = &{link_up, ups, up};

    always @(posedge clk) begin
        index <= index + INDEX_ONE;
        valids <= {valids[DEPTH-2:0], s_valid};
        ups <= {ups[DEPTH-2:0], link_up};
        valid <= valids[DEPTH-1];
        up <= ups[DEPTH-1];
        if (s_valid) memory[index] <= {s_data, s_first, s_tick, s_error_kinds, s_error_lanes, s_time};
        if (wanted && valids[DEPTH-1]) late <= memory[index];
        if (rst) begin
            index <= {INDEX_WIDTH{1'b0}};
            valids <= {DEPTH{1'b0}};
            ups <= {DEPTH{1'b0}};
            valid <= 1'b0;
            up <= 1'b0;
        end
    end

endmodule

`default_nettype wire
