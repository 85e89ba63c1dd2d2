// The receive link: characters of all lanes in, words of 64 channels out.
//
//   lanes ─► jesd204b_lane_map ─► jesd204b_link (one an AFE) ─► jesd204b_transport ─► acquisition
//                                       ▲ restart, armed, read
//                                 jesd204b_sync ◄─ jesd204b_lmfc ◄─ SYSREF

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_receiver #(
    // Links (AFEs) of 16 channels. 4, 8 or 16.
    parameter LINKS = 16,
    // Serial lanes of each link. LINKS * LANES_PER_LINK must be 8, 16 or 32.
    parameter LANES_PER_LINK = 2,
    // Derived; do not override.
    parameter LANES = LINKS * LANES_PER_LINK
) (
    input  wire                clk,
    input  wire                rst,
    // Characters from the transceivers: four octets a beat, first octet in bits 7:0.
    input  wire [LANES*32-1:0] lane_data,
    input  wire [LANES*4-1:0]  lane_charisk,
    input  wire [LANES*4-1:0]  lane_notintable,
    input  wire [LANES*4-1:0]  lane_disperr,
    // One bit a transceiver: invert the line before it is decoded.
    output wire [LANES-1:0]    lane_polarity,
    // To and from the converters.
    output wire [LINKS-1:0]    sync_n,
    input  wire                sysref,
    // Samples: 64 channels a word, lowest channels first; see hdl/README.md.
    output wire [1023:0]       m_axis_tdata,
    output wire                m_axis_tvalid,
    output wire                m_axis_first,
    output wire [55:0]         m_axis_tick,
    output wire [15:0]         m_axis_error_kinds,
    output wire [LANES-1:0]    m_axis_error_lanes,
    output reg                 link_up,
    // Interrupt, level.
    output wire                irq,
    // Register bus.
    input  wire                s_reg_valid,
    input  wire                s_reg_write,
    input  wire [12:0]         s_reg_addr,
    input  wire [31:0]         s_reg_wdata,
    output wire                s_reg_ready,
    output wire                s_reg_error,
    output wire [31:0]         s_reg_rdata
);

    // LinkError in host/frame_layout.py.
    localparam [15:0] KIND_LINK_DOWN = 16'h0100;
    localparam [15:0] KIND_SKEWED = 16'h0800;

    wire                enable;
    wire                scrambling;
    wire                subclass;
    wire                error_report;
    wire                sysref_once;
    wire                no_replacement;
    wire                ilas_sum_octets;
    wire [21:0]         ilas_compare;
    wire [127:0]        ilas_expected;
    wire                ilas_did_counts;
    wire                ilas_per_die;
    wire                eight_octets;
    wire [1:0]          frame_last;
    wire [6:0]          multiframe_last;
    wire [6:0]          release_delay;
    wire [6:0]          lmfc_offset;
    wire [8:0]          skew_limit;
    wire [LINKS-1:0]    link_enable;
    wire [LANES*5-1:0]  lane_map;
    wire                lane_map_straight;
    wire                error_clear;
    wire                up;
    wire [31:0]         reinitialisations;
    wire                lmfc_aligned;
    wire                lmfc_misaligned;
    wire                skewed;
    wire                timed_out;
    reg  [11:0]         event_kinds;
    wire [LANES-1:0]    lane_select;
    wire [3:0]          lane_word;
    wire [LANES*32-1:0] lane_rdata;

    jesd204b_registers #(
        .LINKS(LINKS),
        .LANES_PER_LINK(LANES_PER_LINK)
    ) registers (
        .clk(clk),
        .rst(rst),
        .s_reg_valid(s_reg_valid),
        .s_reg_write(s_reg_write),
        .s_reg_addr(s_reg_addr),
        .s_reg_wdata(s_reg_wdata),
        .s_reg_ready(s_reg_ready),
        .s_reg_error(s_reg_error),
        .s_reg_rdata(s_reg_rdata),
        .enable(enable),
        .scrambling(scrambling),
        .subclass(subclass),
        .error_report(error_report),
        .sysref_once(sysref_once),
        .no_replacement(no_replacement),
        .ilas_sum_octets(ilas_sum_octets),
        .ilas_compare(ilas_compare),
        .ilas_expected(ilas_expected),
        .ilas_did_counts(ilas_did_counts),
        .ilas_per_die(ilas_per_die),
        .eight_octets(eight_octets),
        .frame_last(frame_last),
        .multiframe_last(multiframe_last),
        .release_delay(release_delay),
        .lmfc_offset(lmfc_offset),
        .skew_limit(skew_limit),
        .link_enable(link_enable),
        .lane_map(lane_map),
        .lane_map_straight(lane_map_straight),
        .lane_polarity(lane_polarity),
        .error_clear(error_clear),
        .up(up),
        .lmfc_aligned(lmfc_aligned),
        .lmfc_misaligned(lmfc_misaligned),
        .skewed(skewed),
        .timed_out(timed_out),
        .event_kinds(event_kinds),
        .link_up(link_up),
        .irq(irq),
        .sync_n(sync_n),
        .reinitialisations(reinitialisations),
        .lane_select(lane_select),
        .lane_word(lane_word),
        .lane_rdata(lane_rdata)
    );

    wire [6:0] lmfc_count;

    jesd204b_lmfc lmfc (
        .clk(clk),
        .rst(rst || !enable),
        .sysref(sysref),
        .multiframe_last(multiframe_last),
        .offset(lmfc_offset),
        .once(sysref_once),
        .count(lmfc_count),
        .aligned(lmfc_aligned),
        .misaligned(lmfc_misaligned)
    );

    wire             restart;
    wire             armed;
    wire [LINKS-1:0] link_synchronised;
    wire [LINKS-1:0] link_started;
    wire [LINKS-1:0] link_ready;
    wire [LINKS-1:0] link_erroneous;
    wire [LINKS-1:0] link_failed;
    wire             falls;

    jesd204b_sync #(
        .LINKS(LINKS)
    ) sync (
        .clk(clk),
        .rst(rst),
        .enable(enable),
        .link_enable(link_enable),
        .subclass(subclass),
        .error_report(error_report),
        .frame_last(frame_last),
        .release_delay(release_delay),
        .skew_limit(skew_limit),
        .lmfc_count(lmfc_count),
        .lmfc_aligned(lmfc_aligned),
        .synchronised(link_synchronised),
        .started(link_started),
        .ready(link_ready),
        .erroneous(link_erroneous),
        .failed(link_failed),
        .restart(restart),
        .armed(armed),
        .up(up),
        .sync_n(sync_n),
        .skewed(skewed),
        .timed_out(timed_out),
        .falls(falls),
        .clear(error_clear),
        .reinitialisations(reinitialisations)
    );

    // The corner turn wants each group of links a beat later than the one before (see jesd204b_transport).
    reg  [3:1] read_later;
    wire [3:0] read = {read_later, up};

    always @(posedge clk) begin
        read_later <= rst || !up ? 3'd0 : read[2:0];
    end

    wire [LANES*32-1:0] data;
    wire [LANES*4-1:0]  charisk;
    wire [LANES*4-1:0]  notintable;
    wire [LANES*4-1:0]  disperr;

    jesd204b_lane_map #(
        .LANES(LANES)
    ) lanes_mapped (
        .clk(clk),
        .map(lane_map),
        .straight(lane_map_straight),
        .s_data(lane_data),
        .s_charisk(lane_charisk),
        .s_notintable(lane_notintable),
        .s_disperr(lane_disperr),
        .m_data(data),
        .m_charisk(charisk),
        .m_notintable(notintable),
        .m_disperr(disperr)
    );

    wire [LANES*32-1:0] samples;
    wire [LANES*6-1:0]  kinds;
    wire [LINKS*16-1:0] link_failed_kinds;

    genvar k;
    generate
        for (k = 0; k < LINKS; k = k + 1) begin : links
            localparam FIRST = k * LANES_PER_LINK;
            localparam [7:0] NUMBER = k;
            wire [7:0] device = ilas_expected[23:16] + (ilas_did_counts ? NUMBER : 8'd0);
            jesd204b_link #(
                .LANES(LANES_PER_LINK)
            ) link (
                .clk(clk),
                .rst(rst),
                .data(data[FIRST*32 +: LANES_PER_LINK*32]),
                .charisk(charisk[FIRST*4 +: LANES_PER_LINK*4]),
                .notintable(notintable[FIRST*4 +: LANES_PER_LINK*4]),
                .disperr(disperr[FIRST*4 +: LANES_PER_LINK*4]),
                .enable(enable && link_enable[k]),
                .restart(restart),
                .armed(armed),
                .read(up && (eight_octets ? read[FIRST/16] : read[FIRST/8])),
                .scrambling(scrambling),
                .no_replacement(no_replacement),
                .frame_last(frame_last),
                .multiframe_last(multiframe_last),
                .ilas_expected({ilas_expected[127:24], device, ilas_expected[15:0]}),
                .ilas_per_die(ilas_per_die),
                .ilas_compare(ilas_compare),
                .ilas_sum_octets(ilas_sum_octets),
                .synchronised(link_synchronised[k]),
                .started(link_started[k]),
                .ready(link_ready[k]),
                .erroneous(link_erroneous[k]),
                .failed(link_failed[k]),
                .failed_kinds(link_failed_kinds[k*16 +: 16]),
                .m_data(samples[FIRST*32 +: LANES_PER_LINK*32]),
                .m_kinds(kinds[FIRST*6 +: LANES_PER_LINK*6]),
                .error_clear(error_clear),
                .reg_select(lane_select[FIRST +: LANES_PER_LINK]),
                .reg_word(lane_word),
                .reg_rdata(lane_rdata[FIRST*32 +: LANES_PER_LINK*32])
            );
        end
    endgenerate

    // Why there are no samples, for whoever waits for them.
    reg [15:0] down_kinds;
    reg [15:0] failed_kinds;

    integer n;

    always @* begin
        failed_kinds = skewed ? KIND_LINK_DOWN | KIND_SKEWED : KIND_LINK_DOWN;
        if (link_failed != {LINKS{1'b0}}) begin
            for (n = 0; n < LINKS; n = n + 1) begin
                if (link_failed[n]) begin
                    failed_kinds = failed_kinds | link_failed_kinds[16*n +: 16];
                end
            end
        end
    end

    always @(posedge clk) begin
        if (rst || !enable) begin
            down_kinds <= KIND_LINK_DOWN;
        end else if (falls) begin
            down_kinds <= failed_kinds;
        end
    end

    // What the interrupt may be about: marks of words, and why the links fell.
    always @(posedge clk) begin
        event_kinds <= (m_axis_tvalid ? m_axis_error_kinds[11:0] : 12'd0)
                       | (!rst && enable && falls ? failed_kinds[11:0] : 12'd0);
    end

    // Memory answers a cycle after `up`; a failure ends the run at once.
    reg  up_before;
    wire run = up && up_before;

    always @(posedge clk) begin
        up_before <= up && !rst;
        link_up <= run && !rst;
    end

    jesd204b_transport #(
        .LANES(LANES)
    ) transport (
        .clk(clk),
        .rst(rst),
        .eight_octets(eight_octets),
        .run(run),
        .s_data(samples),
        .s_kinds(kinds),
        .sysref_misaligned(lmfc_misaligned),
        .down_kinds(down_kinds),
        .m_axis_tdata(m_axis_tdata),
        .m_axis_tvalid(m_axis_tvalid),
        .m_axis_first(m_axis_first),
        .m_axis_tick(m_axis_tick),
        .m_axis_error_kinds(m_axis_error_kinds),
        .m_axis_error_lanes(m_axis_error_lanes)
    );

    generate
        if (LINKS != 4 && LINKS != 8 && LINKS != 16) begin : check_links
            initial $fatal(1, "%m: LINKS must be 4, 8 or 16");
        end
        if (LANES != LINKS * LANES_PER_LINK || (LANES != 8 && LANES != 16 && LANES != 32)) begin : check_lanes
            initial $fatal(1, "%m: LINKS * LANES_PER_LINK must be 8, 16 or 32");
        end
    endgenerate

endmodule

`default_nettype wire
