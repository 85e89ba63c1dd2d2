// Error counters and sticky bits of one lane, and their read port.
//
// Counters saturate and count in every state of the lane, so that a lane that never comes up shows why.

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_lane_counters (
    input  wire        clk,
    input  wire        rst,
    input  wire        clear,
    // One bit an octet, or one a cycle.
    input  wire [3:0]  disparity,
    input  wire [3:0]  notintable,
    input  wire [3:0]  unexpected,
    input  wire [3:0]  frame_misplaced,
    input  wire [3:0]  multiframe_misplaced,
    input  wire        replacement_broken,
    input  wire        cgs_lost,
    input  wire        overflow,
    input  wire        underflow,
    input  wire [21:0] ilas_mismatch,
    // State to be read beside the counters.
    input  wire [1:0]  cgs_state,
    input  wire        ilas_done,
    input  wire        released,
    input  wire [15:0] latency,
    input  wire [31:0] ilas_word,
    // Read: words 0 to 7 as in the register map, 8 to 11 the configuration received. Data follows by a cycle.
    input  wire        reg_select,
    input  wire [3:0]  reg_word,
    output reg  [31:0] reg_rdata
);

    wire [15:0] count_disparity;

    jesd204b_counter counter_disparity (
        .clk(clk),
        .rst(rst || clear),
        .events(disparity),
        .count(count_disparity)
    );

    wire [15:0] count_notintable;

    jesd204b_counter counter_notintable (
        .clk(clk),
        .rst(rst || clear),
        .events(notintable),
        .count(count_notintable)
    );

    wire [15:0] count_unexpected;

    jesd204b_counter counter_unexpected (
        .clk(clk),
        .rst(rst || clear),
        .events(unexpected),
        .count(count_unexpected)
    );

    wire [15:0] count_frame;

    jesd204b_counter counter_frame (
        .clk(clk),
        .rst(rst || clear),
        .events(frame_misplaced),
        .count(count_frame)
    );

    wire [15:0] count_multiframe;

    jesd204b_counter counter_multiframe (
        .clk(clk),
        .rst(rst || clear),
        .events(multiframe_misplaced),
        .count(count_multiframe)
    );

    wire [15:0] count_cgs_lost;

    jesd204b_counter counter_cgs_lost (
        .clk(clk),
        .rst(rst || clear),
        .events({3'd0, cgs_lost}),
        .count(count_cgs_lost)
    );

    wire [15:0] count_replacement;

    jesd204b_counter counter_replacement (
        .clk(clk),
        .rst(rst || clear),
        .events({3'd0, replacement_broken}),
        .count(count_replacement)
    );

    reg [21:0] seen_mismatch;
    reg        seen_overflow;
    reg        seen_underflow;

    always @(posedge clk) begin
        if (rst || clear) begin
            seen_mismatch <= 22'd0;
            seen_overflow <= 1'b0;
            seen_underflow <= 1'b0;
        end else if (overflow || underflow || ilas_mismatch != 22'd0) begin
            seen_mismatch <= seen_mismatch | ilas_mismatch;
            seen_overflow <= seen_overflow || overflow;
            seen_underflow <= seen_underflow || underflow;
        end
    end

    always @(posedge clk) begin
        if (reg_select) begin
            case (reg_word)
                4'd0: reg_rdata <= {latency, 10'd0, seen_underflow, seen_overflow, released, ilas_done, cgs_state};
                4'd1: reg_rdata <= {16'd0, count_disparity};
                4'd2: reg_rdata <= {16'd0, count_notintable};
                4'd3: reg_rdata <= {16'd0, count_unexpected};
                4'd4: reg_rdata <= {count_multiframe, count_frame};
                4'd5: reg_rdata <= {10'd0, seen_mismatch};
                4'd6: reg_rdata <= {16'd0, count_cgs_lost};
                4'd7: reg_rdata <= {16'd0, count_replacement};
                4'd8, 4'd9, 4'd10, 4'd11: reg_rdata <= ilas_word;
                default: reg_rdata <= 32'd0;
            endcase
        end
    end

endmodule

`default_nettype wire
