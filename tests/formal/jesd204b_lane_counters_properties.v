// hdl/jesd204b/jesd204b_lane_counters.v: what is read is what has happened since the last clearing. Overflow, underflow and
// the mismatched fields stay seen; counters count every event, up to four a cycle, and hold at their end.
//
// Nothing is assumed but a reset at the start. An event in the cycle of a clearing counts as before it.

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_lane_counters_properties #(
    // 0: without the helping invariants.
    parameter HELP = 1
) (
    input wire        clk,
    input wire        rst,
    input wire        clear,
    input wire [3:0]  disparity,
    input wire [3:0]  notintable,
    input wire [3:0]  unexpected,
    input wire [3:0]  frame_misplaced,
    input wire [3:0]  multiframe_misplaced,
    input wire        replacement_broken,
    input wire        cgs_lost,
    input wire        overflow,
    input wire        underflow,
    input wire [21:0] ilas_mismatch,
    input wire        reg_select,
    input wire [3:0]  reg_word
);

    wire [31:0] reg_rdata;

    jesd204b_lane_counters dut (
        .clk(clk),
        .rst(rst),
        .clear(clear),
        .disparity(disparity),
        .notintable(notintable),
        .unexpected(unexpected),
        .frame_misplaced(frame_misplaced),
        .multiframe_misplaced(multiframe_misplaced),
        .replacement_broken(replacement_broken),
        .cgs_lost(cgs_lost),
        .overflow(overflow),
        .underflow(underflow),
        .ilas_mismatch(ilas_mismatch),
        .cgs_state(2'd0),
        .ilas_done(1'b0),
        .released(1'b0),
        .latency(16'd0),
        .ilas_word(32'd0),
        .reg_select(reg_select),
        .reg_word(reg_word),
        .reg_rdata(reg_rdata)
    );

    // ------------------------------------------------------------------------------------------------------------- environment

    reg started = 1'b0;

    always @(posedge clk) started <= 1'b1;

    always @* if (!started) assume (rst);

    // ----------------------------------------------------------------------------------------------------------- specification

    // One of the counters, any: its events, the word and the half in which it is read.
    (* anyconst *) wire [2:0] which;
    reg  [3:0] events;
    reg  [3:0] word;

    always @* begin
        case (which)
            3'd0: begin events = disparity; word = 4'd1; end
            3'd1: begin events = notintable; word = 4'd2; end
            3'd2: begin events = unexpected; word = 4'd3; end
            3'd3: begin events = frame_misplaced; word = 4'd4; end
            3'd4: begin events = multiframe_misplaced; word = 4'd4; end
            3'd5: begin events = {3'd0, cgs_lost}; word = 4'd6; end
            default: begin events = {3'd0, replacement_broken}; word = 4'd7; end
        endcase
    end

    // What has happened; events up to 2^17.
    reg  [17:0] total;
    reg         overflowed;
    reg         underflowed;
    reg  [21:0] mismatched;
    // And had when the latest read was asked for.
    reg         read_any = 1'b0;
    reg  [3:0]  read_word;
    reg  [17:0] read_total;
    reg         read_overflowed;
    reg         read_underflowed;
    reg  [21:0] read_mismatched;

    wire [17:0] sum = total + {17'd0, events[0]} + {17'd0, events[1]} + {17'd0, events[2]} + {17'd0, events[3]};

    always @(posedge clk) begin
        total <= sum[17] ? 18'h20000 : sum;
        overflowed <= overflowed || overflow;
        underflowed <= underflowed || underflow;
        mismatched <= mismatched | ilas_mismatch;
        if (rst || clear) begin
            total <= 18'd0;
            overflowed <= 1'b0;
            underflowed <= 1'b0;
            mismatched <= 22'd0;
        end
        if (reg_select) begin
            read_any <= started;
            read_word <= reg_word;
            read_total <= total;
            read_overflowed <= overflowed;
            read_underflowed <= underflowed;
            read_mismatched <= mismatched;
        end
    end

    wire [15:0] read_count = which == 3'd4 ? reg_rdata[31:16] : reg_rdata[15:0];

    always @* begin
        if (read_any && read_word == 4'd0) assert (reg_rdata[5:4] == {read_underflowed, read_overflowed});
        if (read_any && read_word == 4'd5) assert (reg_rdata == {10'd0, read_mismatched});
        if (read_any && read_word == word) begin
            // Near its end a counter may take one event for up to four.
            if (read_total <= 18'h0fffc) assert ({2'd0, read_count} == read_total);
            else assert (read_count == 16'hffff || {2'd0, read_count} == read_total);
        end
    end

    // ------------------------------------------------------------------------------------------------------ helping invariants

    (* hierconn *) wire [15:0] \dut.count_disparity ;
    (* hierconn *) wire [15:0] \dut.count_notintable ;
    (* hierconn *) wire [15:0] \dut.count_unexpected ;
    (* hierconn *) wire [15:0] \dut.count_frame ;
    (* hierconn *) wire [15:0] \dut.count_multiframe ;
    (* hierconn *) wire [15:0] \dut.count_cgs_lost ;
    (* hierconn *) wire [15:0] \dut.count_replacement ;
    (* hierconn *) wire [21:0] \dut.seen_mismatch ;
    (* hierconn *) wire        \dut.seen_overflow ;
    (* hierconn *) wire        \dut.seen_underflow ;

    reg [15:0] count;

    always @* begin
        case (which)
            3'd0: count = \dut.count_disparity ;
            3'd1: count = \dut.count_notintable ;
            3'd2: count = \dut.count_unexpected ;
            3'd3: count = \dut.count_frame ;
            3'd4: count = \dut.count_multiframe ;
            3'd5: count = \dut.count_cgs_lost ;
            default: count = \dut.count_replacement ;
        endcase
    end

    always @* begin
        if (HELP != 0 && started) begin
            assert (overflowed == \dut.seen_overflow && underflowed == \dut.seen_underflow );
            assert (mismatched == \dut.seen_mismatch );
            if (total <= 18'h0fffc) assert ({2'd0, count} == total);
            else assert (count == 16'hffff || {2'd0, count} == total);
            assert (total <= 18'h20000);
        end
    end

    // ------------------------------------------------------------------------------------------------------------ reachability

    always @* begin
        cover (read_any && read_word == 4'd0 && read_overflowed && read_underflowed && !overflow && !underflow);
        cover (read_any && read_word == word && which == 3'd4 && read_total == 18'd9);
    end

endmodule

`default_nettype wire
