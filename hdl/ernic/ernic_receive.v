// Receive datapath: Ethernet frames in, one checked event a frame out, six cycles behind its last beat.
//
// Nothing here stalls or stores a frame, so beats of consecutive frames may follow each other without a pause.

`timescale 1ns / 1fs
`default_nettype none

module ernic_receive (
    input  wire         clk,
    input  wire         rst,

    // Static configuration; first octet on the wire in the highest bits.
    input  wire [47:0]  local_mac,
    input  wire [31:0]  local_ip,

    // Ethernet frames without FCS, octet 0 in bits 7:0; tuser with tlast marks a bad FCS.
    input  wire [511:0] s_axis_tdata,
    input  wire [63:0]  s_axis_tkeep,
    input  wire         s_axis_tvalid,
    input  wire         s_axis_tlast,
    input  wire         s_axis_tuser,

    // Valid acknowledge.
    output wire         m_ack_valid,
    output wire [23:0]  m_ack_qpn,
    output wire [23:0]  m_ack_psn,
    output wire [7:0]   m_ack_syndrome,
    output wire [23:0]  m_ack_msn,
    output wire [31:0]  m_ack_source_ip,
    output wire [47:0]  m_ack_source_mac,
    output wire [15:0]  m_ack_pkey,

    // Valid packet of another kind.
    output wire         m_other_valid,
    output wire [7:0]   m_other_opcode,
    output wire [23:0]  m_other_qpn,

    // Dropped frame; bit of the error syndrome (PG332), 1 for what is not RoCEv2.
    output wire         m_drop_valid,
    output wire [4:0]   m_drop_cause,

    // Every frame, together with its one event above.
    output wire         m_packet_in
);

    wire         beat_valid;
    wire         beat_first;
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
    wire        is_ack;
    wire [7:0]  opcode;
    wire [23:0] qpn;
    wire [23:0] psn;
    wire [15:0] pkey;
    wire [7:0]  syndrome;
    wire [23:0] msn;
    wire [31:0] source_ip;
    wire [47:0] source_mac;

    ernic_receive_parser parser (
        .clk(clk),
        .local_mac(local_mac),
        .local_ip(local_ip),
        .s_valid(beat_valid && beat_first),
        .s_has_ports(beat_has_ports),
        .s_data(beat_data),
        .m_foreign(foreign),
        .m_has_icrc(has_icrc),
        .m_has_options(has_options),
        .m_bad(bad),
        .m_cause(cause),
        .m_is_ack(is_ack),
        .m_opcode(opcode),
        .m_qpn(qpn),
        .m_psn(psn),
        .m_pkey(pkey),
        .m_syndrome(syndrome),
        .m_msn(msn),
        .m_source_ip(source_ip),
        .m_source_mac(source_mac)
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
        .s_is_ack(is_ack),
        .s_opcode(opcode),
        .s_qpn(qpn),
        .s_psn(psn),
        .s_pkey(pkey),
        .s_syndrome(syndrome),
        .s_msn(msn),
        .s_source_ip(source_ip),
        .s_source_mac(source_mac),
        .m_packet_in(m_packet_in),
        .m_drop_valid(m_drop_valid),
        .m_drop_cause(m_drop_cause),
        .m_ack_valid(m_ack_valid),
        .m_ack_qpn(m_ack_qpn),
        .m_ack_psn(m_ack_psn),
        .m_ack_syndrome(m_ack_syndrome),
        .m_ack_msn(m_ack_msn),
        .m_ack_source_ip(m_ack_source_ip),
        .m_ack_source_mac(m_ack_source_mac),
        .m_ack_pkey(m_ack_pkey),
        .m_other_valid(m_other_valid),
        .m_other_opcode(m_other_opcode),
        .m_other_qpn(m_other_qpn)
    );

endmodule

`default_nettype wire
