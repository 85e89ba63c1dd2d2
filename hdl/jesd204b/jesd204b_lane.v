// One lane: characters in, samples with their error marks out, aligned to all other lanes by the release.
//
//   characters ─► aligner ─► position ─► replacement ─► descrambler ─► lookback ─► elastic buffer ─► samples
//        └─► CGS                └─► ILAS

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_lane (
    input  wire         clk,
    input  wire         rst,
    // Characters from the transceiver, first octet in bits 7:0.
    input  wire [31:0]  data,
    input  wire [3:0]   charisk,
    input  wire [3:0]   notintable,
    input  wire [3:0]   disperr,
    // Control: count errors; fall back to code group synchronisation (at rst, too); SYNC~ is released; read the elastic buffer.
    input  wire         enable,
    input  wire         restart,
    input  wire         armed,
    input  wire         read,
    // Configuration, steady while enabled: ends of frame (beats - 1) and multiframe; see jesd204b_ilas.
    input  wire         scrambling,
    input  wire         no_replacement,
    input  wire [1:0]   frame_last,
    input  wire [6:0]   multiframe_last,
    input  wire [127:0] ilas_expected,
    input  wire [21:0]  ilas_compare,
    input  wire         ilas_sum_octets,
    // State: synchronised; samples wait in the buffer; an error among them (one cycle); must start anew (one cycle), because of
    // (bits of LinkError).
    output wire         synchronised,
    output wire         ready,
    output wire         erroneous,
    output reg          failed,
    output reg  [15:0]  failed_kinds,
    // Two samples, the first in bits 15:0, and what may be wrong with them: {ILAS, bits 4:0 of LinkError}.
    output wire [31:0]  m_data,
    output wire [5:0]   m_kinds,
    // Registers of the lane.
    input  wire         error_clear,
    input  wire         reg_select,
    input  wire [3:0]   reg_word,
    output wire [31:0]  reg_rdata
);

    localparam [1:0] CGS_INIT = 2'd0;
    localparam [1:0] CGS_DATA = 2'd2;

    localparam KIND_UNEXPECTED_K = 2;
    localparam KIND_FRAME_MISALIGNED = 3;
    localparam KIND_CGS_LOST = 5;
    localparam KIND_OVERFLOW = 6;
    localparam KIND_UNDERFLOW = 7;
    localparam KIND_ILAS_MISMATCH = 9;

    reg [31:0] held_data;
    reg [3:0]  held_charisk;
    reg [3:0]  held_notintable;
    reg [3:0]  held_disperr;

    always @(posedge clk) begin
        held_data <= data;
        held_charisk <= charisk;
        held_notintable <= notintable;
        held_disperr <= disperr;
    end

    reg        in_data;
    wire [1:0] cgs_state;
    wire       cgs_lost;

    jesd204b_cgs cgs (
        .clk(clk),
        .rst(restart),
        .data(held_data),
        .charisk(held_charisk),
        .bad(held_notintable | held_disperr),
        .state(cgs_state),
        .lost(cgs_lost)
    );

    assign synchronised = cgs_state == CGS_DATA;

    // A lane that is stuck at something valid repeats one character. Scrambled data do that for four beats only if all converters
    // hold a loud value; quiet ones, 0 or -1, they do repeat by chance (2**-15 after a change, then while the samples stay), as
    // 00 and ff, so those need 16 beats.
    wire       one_character = data == {4{data[7:0]}} && data == held_data && {notintable, disperr} == 8'd0;
    wire       quiet = data[7:0] == 8'h00 || data[7:0] == 8'hff;
    reg  [3:0] equal_beats;
    reg        stuck;

    always @(posedge clk) begin
        stuck <= 1'b0;
        if (restart || !in_data || !scrambling || !one_character) begin
            equal_beats <= 4'd0;
        end else begin
            equal_beats <= equal_beats + (equal_beats != 4'd15 ? 4'd1 : 4'd0);
            stuck <= equal_beats == (quiet ? 4'd14 : 4'd2);
        end
    end

    wire [31:0] aligned_data;
    wire [3:0]  aligned_charisk;
    wire [3:0]  aligned_notintable;
    wire [3:0]  aligned_disperr;
    wire        start;
    wire        stray;

    jesd204b_aligner aligner (
        .clk(clk),
        .rst(restart),
        .search(armed && cgs_state != CGS_INIT),
        .s_data(data),
        .s_charisk(charisk),
        .s_notintable(notintable),
        .s_disperr(disperr),
        .held_data(held_data),
        .held_charisk(held_charisk),
        .held_notintable(held_notintable),
        .held_disperr(held_disperr),
        .m_data(aligned_data),
        .m_charisk(aligned_charisk),
        .m_notintable(aligned_notintable),
        .m_disperr(aligned_disperr),
        .start(start),
        .stray(stray)
    );

    // Position: counted from the first /R/ on and never corrected; a sender that drifts off is found by its characters.
    reg        active;
    reg  [1:0] multiframe;
    reg  [6:0] beat;
    wire       running = start || active;
    wire       frame_end = (beat[1:0] & frame_last) == frame_last;
    wire       multiframe_end = beat == multiframe_last;
    wire       in_ilas = running && !in_data;

    always @(posedge clk) begin
        if (restart) begin
            active <= 1'b0;
            in_data <= 1'b0;
            multiframe <= 2'd0;
            beat <= 7'd0;
        end else if (running) begin
            active <= 1'b1;
            beat <= multiframe_end ? 7'd0 : beat + 7'd1;
            if (multiframe_end && !in_data) begin
                multiframe <= multiframe + 2'd1;
                in_data <= multiframe == 2'd3;
            end
        end
    end

    wire [21:0] ilas_mismatch;
    wire        ilas_configuration_bad;
    wire        ilas_structure_bad;
    wire [31:0] ilas_word;

    jesd204b_ilas ilas (
        .clk(clk),
        .rst(restart),
        .check(in_ilas),
        .multiframe_first(beat == 7'd0),
        .multiframe_last(multiframe_end),
        .multiframe(multiframe),
        .data(aligned_data),
        .charisk(aligned_charisk),
        .expected(ilas_expected),
        .compare(ilas_compare),
        .sum_octets(ilas_sum_octets),
        .mismatch(ilas_mismatch),
        .configuration_bad(ilas_configuration_bad),
        .structure_bad(ilas_structure_bad),
        .read_word(reg_word[1:0]),
        .read_data(ilas_word)
    );

    wire [31:0] restored_data;
    wire [4:0]  restored_kinds;
    wire [3:0]  unexpected;
    wire [3:0]  frame_misplaced;
    wire [3:0]  multiframe_misplaced;
    wire        replacement_broken;
    wire        left;
    wire        misaligned;

    jesd204b_replacement replacement (
        .clk(clk),
        .rst(restart),
        .scrambling(scrambling),
        .never(no_replacement),
        .valid(in_data),
        .multiframe_first(beat == 7'd0),
        .frame_end(frame_end),
        .multiframe_end(multiframe_end),
        .s_data(aligned_data),
        .s_charisk(aligned_charisk),
        .s_notintable(aligned_notintable),
        .s_disperr(aligned_disperr),
        .m_data(restored_data),
        .m_kinds(restored_kinds),
        .erroneous(erroneous),
        .unexpected(unexpected),
        .frame_misplaced(frame_misplaced),
        .multiframe_misplaced(multiframe_misplaced),
        .broken(replacement_broken),
        .left(left),
        .misaligned(misaligned)
    );

    wire [31:0] sample_data;

    jesd204b_descrambler descrambler (
        .clk(clk),
        .scrambling(scrambling),
        .valid(in_data),
        .s_data(restored_data),
        .m_data(sample_data)
    );

    wire        held_valid;
    wire [31:0] held_sample;
    wire [5:0]  held_kinds;

    jesd204b_lookback lookback (
        .clk(clk),
        .rst(restart),
        .s_valid(in_data),
        .s_data(sample_data),
        .s_kinds({ilas_configuration_bad, restored_kinds}),
        .m_valid(held_valid),
        .m_data(held_sample),
        .m_kinds(held_kinds)
    );

    wire [15:0] latency;
    wire        overflow;
    wire        underflow;

    jesd204b_elastic_buffer #(
        .DEPTH(512),
        .KINDS_WIDTH(6)
    ) elastic_buffer (
        .clk(clk),
        .rst(restart),
        .write(held_valid),
        .write_data(held_sample),
        .write_kinds(held_kinds),
        .ready(ready),
        .read(read),
        .read_data(m_data),
        .read_kinds(m_kinds),
        .latency(latency),
        .overflow(overflow),
        .underflow(underflow)
    );

    wire ilas_failed = in_ilas && multiframe_end && multiframe == 2'd3 && ilas_structure_bad;
    wire fails = cgs_lost || stuck || stray || ilas_failed || left || misaligned || overflow || underflow;

    always @(posedge clk) begin
        failed <= fails && enable && !restart;
        if (fails) begin
            failed_kinds <= 16'd0;
            failed_kinds[KIND_UNEXPECTED_K] <= left;
            failed_kinds[KIND_FRAME_MISALIGNED] <= misaligned;
            failed_kinds[KIND_CGS_LOST] <= cgs_lost || stuck;
            failed_kinds[KIND_OVERFLOW] <= overflow;
            failed_kinds[KIND_UNDERFLOW] <= underflow;
            failed_kinds[KIND_ILAS_MISMATCH] <= stray || ilas_failed;
        end
    end

    jesd204b_lane_counters counters (
        .clk(clk),
        .rst(rst),
        .clear(error_clear),
        .disparity(enable ? held_disperr : 4'd0),
        .notintable(enable ? held_notintable : 4'd0),
        .unexpected(unexpected),
        .frame_misplaced(frame_misplaced),
        .multiframe_misplaced(multiframe_misplaced),
        .replacement_broken(replacement_broken),
        .cgs_lost(cgs_lost || stuck),
        .overflow(overflow),
        .underflow(underflow),
        .ilas_mismatch({ilas_mismatch[21] || stray, ilas_mismatch[20:0]}),
        .cgs_state(cgs_state),
        .ilas_done(in_data),
        .released(read),
        .latency(latency),
        .ilas_word(ilas_word),
        .reg_select(reg_select),
        .reg_word(reg_word),
        .reg_rdata(reg_rdata)
    );

endmodule

`default_nettype wire
