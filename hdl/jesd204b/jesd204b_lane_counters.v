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
    input  wire        cgs_lost,
    input  wire        overflow,
    input  wire        underflow,
    input  wire [16:0] ilas_mismatch,
    // State to be read beside the counters.
    input  wire [1:0]  cgs_state,
    input  wire        ilas_done,
    input  wire        released,
    input  wire [15:0] latency,
    input  wire [31:0] ilas_word,
    // Read: words 0 to 6 as in the register map, 8 to 11 the configuration received. Data follows by a cycle.
    input  wire        reg_select,
    input  wire [3:0]  reg_word,
    output reg  [31:0] reg_rdata
);

    reg [15:0] count_disparity;
    reg [15:0] count_notintable;
    reg [15:0] count_unexpected;
    reg [15:0] count_frame;
    reg [15:0] count_multiframe;
    reg [15:0] count_cgs_lost;
    reg [16:0] seen_mismatch;
    reg        seen_overflow;
    reg        seen_underflow;

    function [15:0] add(input [15:0] count, input [3:0] events);
        reg [16:0] total;
        begin
            total = {1'b0, count} + {16'd0, events[0]} + {16'd0, events[1]} + {16'd0, events[2]} + {16'd0, events[3]};
            add = total[16] ? 16'hffff : total[15:0];
        end
    endfunction

    always @(posedge clk) begin
        if (rst || clear) begin
            count_disparity <= 16'd0;
            count_notintable <= 16'd0;
            count_unexpected <= 16'd0;
            count_frame <= 16'd0;
            count_multiframe <= 16'd0;
            count_cgs_lost <= 16'd0;
            seen_mismatch <= 17'd0;
            seen_overflow <= 1'b0;
            seen_underflow <= 1'b0;
        end else begin
            if ({disparity, notintable} != 8'd0) begin
                count_disparity <= add(count_disparity, disparity);
                count_notintable <= add(count_notintable, notintable);
            end
            if ({unexpected, frame_misplaced, multiframe_misplaced} != 12'd0) begin
                count_unexpected <= add(count_unexpected, unexpected);
                count_frame <= add(count_frame, frame_misplaced);
                count_multiframe <= add(count_multiframe, multiframe_misplaced);
            end
            if (cgs_lost) begin
                count_cgs_lost <= add(count_cgs_lost, 4'd1);
            end
            if (overflow) begin
                seen_overflow <= 1'b1;
            end
            if (underflow) begin
                seen_underflow <= 1'b1;
            end
            seen_mismatch <= seen_mismatch | ilas_mismatch;
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
                4'd5: reg_rdata <= {15'd0, seen_mismatch};
                4'd6: reg_rdata <= {16'd0, count_cgs_lost};
                4'd8, 4'd9, 4'd10, 4'd11: reg_rdata <= ilas_word;
                default: reg_rdata <= 32'd0;
            endcase
        end
    end

endmodule

`default_nettype wire
