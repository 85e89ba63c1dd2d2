// Receive datapath: Ethernet frames in, one checked event a frame out, six cycles behind its last beat; good packets wait in a
// FIFO until they are taken.
//
// Nothing in front of the FIFO stalls, so beats of consecutive frames may follow each other without a pause.

`timescale 1ns / 1fs
`default_nettype none
`include "ernic_ticket.vh"

module ernic_receive #(
    // Room for beats of 512 bits. Power of two, at least 4.
    parameter BEATS = 1024,
    // Room for packets. Power of two, at least 2.
    parameter TICKETS = 256,
    // Derived; do not override.
    parameter LEVEL_WIDTH = $clog2(BEATS) + 1
) (
    input  wire                              clk,
    input  wire                              rst,

    // Static configuration; first octet on the wire in the highest bits.
    input  wire [47:0]                       local_mac,
    input  wire [31:0]                       local_ip,

    // Ethernet frames without FCS, octet 0 in bits 7:0; tuser with tlast marks a bad FCS.
    input  wire [511:0]                      s_axis_tdata,
    input  wire [63:0]                       s_axis_tkeep,
    input  wire                              s_axis_tvalid,
    input  wire                              s_axis_tlast,
    input  wire                              s_axis_tuser,

    // Every frame, and with it one of: a drop with the bit of PG332's error syndrome (1: not RoCEv2; 29: no room), a congestion
    // notification, a packet for which there is a ticket.
    output wire                              m_packet_in,
    output wire                              m_drop_valid,
    output wire [4:0]                        m_drop_cause,
    output wire                              m_cnp_valid,
    output wire                              m_good_valid,
    // The packet met congestion on its way.
    output wire                              m_marked_valid,
    // Fields that go with the events.
    output wire [7:0]                        m_event_opcode,
    output wire [23:0]                       m_event_qpn,
    output wire [23:0]                       m_event_psn,
    output wire [31:0]                       m_event_source_ip,
    output wire [47:0]                       m_event_source_mac,

    // Tickets in order.
    output wire                              m_ticket_valid,
    input  wire                              m_ticket_ready,
    output wire [`EB_TICKET_WIDTH-1:0]       m_ticket,
    // Beats of the frames whose ticket says that they are stored.
    output wire                              m_beat_valid,
    input  wire                              m_beat_ready,
    output wire                              m_beat_end,
    output wire [511:0]                      m_beat_data,
    // Beats that wait.
    output wire [LEVEL_WIDTH-1:0]            level
);

    localparam [4:0] CAUSE_NO_ROOM = 5'd29;

    wire         beat_valid;
    wire         beat_first;
    wire         beat_second;
    wire         beat_last;
    wire         beat_bad_fcs;
    wire [511:0] beat_data;
    wire         beat_has_ports;
    wire         beat_covered;
    wire         beat_end;
    wire         beat_end_there;
    wire [5:0]   beat_end_lane;

    ernic_receive_framer framer (
        .clk(clk),
        .rst(rst),
        .s_axis_tdata(s_axis_tdata),
        .s_axis_tkeep(s_axis_tkeep),
        .s_axis_tvalid(s_axis_tvalid),
        .s_axis_tlast(s_axis_tlast),
        .s_axis_tuser(s_axis_tuser),
        .m_valid(beat_valid),
        .m_first(beat_first),
        .m_second(beat_second),
        .m_last(beat_last),
        .m_bad_fcs(beat_bad_fcs),
        .m_data(beat_data),
        .m_has_ports(beat_has_ports),
        .m_covered(beat_covered),
        .m_end(beat_end),
        .m_end_there(beat_end_there),
        .m_end_lane(beat_end_lane)
    );

    wire        foreign;
    wire        has_icrc;
    wire        has_options;
    wire        bad;
    wire [4:0]  cause;
    wire        is_cnp;
    wire        marked;
    wire [`EB_TICKET_WIDTH-1:0] ticket;

    ernic_receive_parser parser (
        .clk(clk),
        .local_mac(local_mac),
        .local_ip(local_ip),
        .s_valid(beat_valid && beat_first),
        .s_next(beat_valid && beat_second),
        .s_has_ports(beat_has_ports),
        .s_data(beat_data),
        .m_foreign(foreign),
        .m_has_icrc(has_icrc),
        .m_has_options(has_options),
        .m_bad(bad),
        .m_cause(cause),
        .m_is_cnp(is_cnp),
        .m_marked(marked),
        .m_ticket(ticket)
    );

    wire         judged_valid;
    wire         judged_first;
    wire         judged_last;
    wire         judged_bad_fcs;
    wire         judged_end;
    wire         icrc_right;

    ernic_icrc_check check (
        .clk(clk),
        .rst(rst),
        .s_valid(beat_valid),
        .s_first(beat_first),
        .s_last(beat_last),
        .s_bad_fcs(beat_bad_fcs),
        .s_data(beat_data),
        .s_covered(beat_covered),
        .s_end(beat_end),
        .s_end_there(beat_end_there),
        .s_end_lane(beat_end_lane),
        .m_valid(judged_valid),
        .m_first(judged_first),
        .m_last(judged_last),
        .m_bad_fcs(judged_bad_fcs),
        .m_end(judged_end),
        .m_right(icrc_right)
    );

    wire         store;
    wire         store_end;
    wire         bad_valid;
    wire [4:0]   bad_cause;
    wire         good_valid;
    wire         good_marked;
    wire         overflow;
    wire [`EB_TICKET_WIDTH-1:0] good_ticket;

    ernic_receive_verdict verdict (
        .clk(clk),
        .rst(rst),
        .s_valid(judged_valid),
        .s_first(judged_first),
        .s_last(judged_last),
        .s_bad_fcs(judged_bad_fcs),
        .s_end(judged_end),
        .s_icrc_right(icrc_right),
        .s_foreign(foreign),
        .s_has_icrc(has_icrc),
        .s_has_options(has_options),
        .s_bad(bad),
        .s_cause(cause),
        .s_is_cnp(is_cnp),
        .s_marked(marked),
        .s_ticket(ticket),
        .m_store(store),
        .m_end(store_end),
        .m_packet_in(m_packet_in),
        .m_drop_valid(bad_valid),
        .m_drop_cause(bad_cause),
        .m_cnp_valid(m_cnp_valid),
        .m_good_valid(good_valid),
        .m_marked(good_marked),
        .m_ticket(good_ticket)
    );

    // The beats pass the four cycles of the checks in a shift register.
    reg  [2:0]   passing;
    reg  [511:0] data_1;
    reg  [511:0] data_2;
    reg  [511:0] data_3;
    reg  [511:0] data_4;

    always @(posedge clk) begin
        passing <= {passing[1:0], beat_valid};
        if (beat_valid) data_1 <= beat_data;
        if (passing[0]) data_2 <= data_1;
        if (passing[1]) data_3 <= data_2;
        if (passing[2]) data_4 <= data_3;
        if (rst) passing <= 3'd0;
    end

    ernic_receive_fifo #(
        .BEATS(BEATS),
        .TICKETS(TICKETS)
    ) fifo (
        .clk(clk),
        .rst(rst),
        .s_store(store),
        .s_end(store_end),
        .s_data(data_4),
        .s_last(m_packet_in),
        .s_good(good_valid),
        .s_ticket(good_ticket),
        .m_overflow(overflow),
        .level(level),
        .m_ticket_valid(m_ticket_valid),
        .m_ticket_ready(m_ticket_ready),
        .m_ticket(m_ticket),
        .m_beat_valid(m_beat_valid),
        .m_beat_ready(m_beat_ready),
        .m_beat_end(m_beat_end),
        .m_beat_data(m_beat_data)
    );

    assign m_good_valid = good_valid && !overflow;
    assign m_drop_valid = bad_valid || overflow;
    assign m_drop_cause = bad_valid ? bad_cause : CAUSE_NO_ROOM;
    assign m_marked_valid = m_good_valid && good_marked;
    assign m_event_opcode = good_ticket[`EB_TICKET_OPCODE];
    assign m_event_qpn = good_ticket[`EB_TICKET_QPN];
    assign m_event_psn = good_ticket[`EB_TICKET_PSN];
    assign m_event_source_ip = good_ticket[`EB_TICKET_SOURCE_IP];
    assign m_event_source_mac = good_ticket[`EB_TICKET_SOURCE_MAC];

endmodule

`default_nettype wire
