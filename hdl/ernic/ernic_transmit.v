// Transmit datapath: packet commands in, Ethernet frames out, payload straight from the ring or from the stage.

`timescale 1ns / 1fs
`default_nettype none
`include "ernic_command.vh"

module ernic_transmit #(
    // Ring size in bytes. Power of two, at least 4096.
    parameter RING_BYTES = 4194304,
    // 1 keeps pauses out of frames at the cost of five cycles before each first beat after idle; 0 or 1.
    parameter GAPLESS = 0,
    // Derived; do not override.
    parameter ROW_WIDTH = $clog2(RING_BYTES / 64)
) (
    input  wire                 clk,
    input  wire                 rst,

    // Static configuration; first octet on the wire in the highest bits.
    input  wire [47:0]          local_mac,
    input  wire [31:0]          local_ip,
    input  wire [15:0]          udp_source_port,

    // Packet command. Payload is read from the ring at its local address (modulo its size), or if it is in memory from an area
    // of the stage, where it stands at its local address modulo 4096.
    input  wire                 s_cmd_valid,
    output wire                 s_cmd_ready,
    input  wire [`EB_CMD_WIDTH-1:0] s_cmd,
    input  wire [2:0]           s_cmd_area,

    // Ring read port: a 64-byte row, data three cycles after enable.
    output wire                 ring_read_enable,
    output wire [ROW_WIDTH-1:0] ring_read_row,
    input  wire [511:0]         ring_read_data,
    // Stage read port, the same.
    output wire                 stage_read_enable,
    output wire [8:0]           stage_read_row,
    input  wire [511:0]         stage_read_data,

    // Ethernet frames without FCS, octet 0 in bits 7:0.
    output wire [511:0]         m_axis_tdata,
    output wire [63:0]          m_axis_tkeep,
    output wire                 m_axis_tvalid,
    input  wire                 m_axis_tready,
    output wire                 m_axis_tlast,

    // First, last beat of a packet accepted by the MAC, in the cycle of acceptance.
    output wire                 m_packet_first,
    output wire                 m_packet_last,
    // A packet has left that was to be reported.
    output wire                 m_report_valid,
    output wire [7:0]           m_report_qp,
    output wire [1:0]           m_report_epoch,
    output wire [23:0]          m_report_psn
);

    localparam FIFO_BEATS = 16;
    // Ethernet, IPv4, UDP and base transport header.
    localparam [6:0] BASE_OCTETS = 7'd54;
    localparam [12:0] ETHERNET_OCTETS = 13'd14;
    localparam [12:0] ICRC_OCTETS = 13'd4;

    wire [12:0] payload_bytes = s_cmd[`EB_CMD_PAYLOAD_BYTES];
    // verilator lint_off UNUSEDSIGNAL
    // Addresses wrap at the end of ring and stage.
    wire [63:0] local_address = s_cmd[`EB_CMD_LOCAL_ADDRESS];
    // verilator lint_on UNUSEDSIGNAL
    wire        has_reth;
    wire        has_deth;
    wire        has_word;
    wire        is_key;

    ernic_opcode_layout layout (
        .opcode(s_cmd[`EB_CMD_OPCODE]),
        .has_reth(has_reth),
        .has_deth(has_deth),
        .has_word(has_word),
        .is_key(is_key)
    );

    wire [6:0]  header_octets = BASE_OCTETS + {2'h0, has_reth, has_deth, has_word, 2'h0};
    wire [12:0] padded_octets = (payload_bytes + 13'd3) & 13'h1ffc;
    wire [1:0]  pad = 2'd0 - payload_bytes[1:0];
    wire [12:0] icrc_offset = {6'h0, header_octets} + padded_octets;
    wire [12:0] ip_length = icrc_offset + ICRC_OCTETS - ETHERNET_OCTETS;
    wire        accepted = s_cmd_valid && s_cmd_ready;

    wire [591:0] header;

    ernic_header headers (
        .clk(clk),
        .rst(rst),
        .local_mac(local_mac),
        .local_ip(local_ip),
        .udp_source_port(udp_source_port),
        .s_valid(accepted),
        .s_has_reth(has_reth),
        .s_has_deth(has_deth),
        .s_has_word(has_word),
        .s_is_key(is_key),
        .s_ip_length(ip_length),
        .s_pad(pad),
        .s_cmd(s_cmd),
        .m_header(header)
    );

    wire       slot_row;
    wire       slot_staged;
    wire       slot_beat;
    wire       slot_first;
    wire       slot_second;
    wire       slot_last;
    wire [6:0] slot_begin;
    wire [6:0] slot_end;
    wire [5:0] slot_rotate;
    wire       slot_icrc_here;
    wire       slot_icrc_rest;
    wire [3:0] slot_icrc_word;
    wire       header_beat;
    wire       freed;

    ernic_beat_sequencer #(
        .RING_BYTES(RING_BYTES),
        .FIFO_BEATS(FIFO_BEATS)
    ) sequencer (
        .clk(clk),
        .rst(rst),
        .s_valid(s_cmd_valid),
        .s_ready(s_cmd_ready),
        .s_header_octets(header_octets),
        .s_local_address(local_address[31:0]),
        .s_staged(s_cmd[`EB_CMD_FROM_MEMORY]),
        .s_area(s_cmd_area),
        .s_payload_octets(payload_bytes),
        .s_icrc_offset(icrc_offset),
        .ring_read_enable(ring_read_enable),
        .ring_read_row(ring_read_row),
        .stage_read_enable(stage_read_enable),
        .stage_read_row(stage_read_row),
        .m_row(slot_row),
        .m_staged(slot_staged),
        .m_beat(slot_beat),
        .m_first(slot_first),
        .m_second(slot_second),
        .m_last(slot_last),
        .m_begin(slot_begin),
        .m_end(slot_end),
        .m_rotate(slot_rotate),
        .m_icrc_here(slot_icrc_here),
        .m_icrc_rest(slot_icrc_rest),
        .m_icrc_word(slot_icrc_word),
        .m_header_beat(header_beat),
        .s_freed(freed)
    );

    wire         aligned_beat;
    wire         aligned_first;
    wire         aligned_second;
    wire         aligned_last;
    wire         aligned_icrc_here;
    wire         aligned_icrc_rest;
    wire [3:0]   aligned_icrc_word;
    wire [511:0] aligned_row;
    wire [511:0] aligned_row_before;
    wire [63:0]  aligned_lanes;
    wire [63:0]  aligned_lanes_before;

    ernic_payload_reader reader (
        .clk(clk),
        .rst(rst),
        .s_row(slot_row),
        .s_staged(slot_staged),
        .s_beat(slot_beat),
        .s_first(slot_first),
        .s_second(slot_second),
        .s_last(slot_last),
        .s_begin(slot_begin),
        .s_end(slot_end),
        .s_rotate(slot_rotate),
        .s_icrc_here(slot_icrc_here),
        .s_icrc_rest(slot_icrc_rest),
        .s_icrc_word(slot_icrc_word),
        .s_header_beat(header_beat),
        .ring_read_data(ring_read_data),
        .stage_read_data(stage_read_data),
        .m_beat(aligned_beat),
        .m_first(aligned_first),
        .m_second(aligned_second),
        .m_last(aligned_last),
        .m_icrc_here(aligned_icrc_here),
        .m_icrc_rest(aligned_icrc_rest),
        .m_icrc_word(aligned_icrc_word),
        .m_row(aligned_row),
        .m_row_before(aligned_row_before),
        .m_lanes(aligned_lanes),
        .m_lanes_before(aligned_lanes_before)
    );

    wire         merged_beat;
    wire [511:0] merged_data;
    wire         icrc_valid;
    wire [31:0]  icrc;

    ernic_packetiser packetiser (
        .clk(clk),
        .rst(rst),
        .header(header),
        .s_beat(aligned_beat),
        .s_first(aligned_first),
        .s_second(aligned_second),
        .s_icrc_here(aligned_icrc_here),
        .s_icrc_rest(aligned_icrc_rest),
        .s_icrc_word(aligned_icrc_word),
        .s_row(aligned_row),
        .s_row_before(aligned_row_before),
        .s_lanes(aligned_lanes),
        .s_lanes_before(aligned_lanes_before),
        .m_beat(merged_beat),
        .m_data(merged_data),
        .m_icrc_valid(icrc_valid),
        .m_icrc(icrc)
    );

    ernic_egress #(
        .FIFO_BEATS(FIFO_BEATS),
        .GAPLESS(GAPLESS)
    ) egress (
        .clk(clk),
        .rst(rst),
        .s_beat(merged_beat),
        .s_data(merged_data),
        .s_first(aligned_first),
        .s_last(aligned_last),
        .s_icrc_here(aligned_icrc_here),
        .s_icrc_rest(aligned_icrc_rest),
        .s_icrc_word(aligned_icrc_word),
        .s_icrc_valid(icrc_valid),
        .s_icrc(icrc),
        .m_freed(freed),
        .m_axis_tdata(m_axis_tdata),
        .m_axis_tkeep(m_axis_tkeep),
        .m_axis_tvalid(m_axis_tvalid),
        .m_axis_tready(m_axis_tready),
        .m_axis_tlast(m_axis_tlast),
        .m_packet_first(m_packet_first),
        .m_packet_last(m_packet_last)
    );

    // Which packets are on their way, for reports. There are never more than beats in the FIFO and stages before it.
    localparam PACKETS = 32;
    wire report;
    wire under_way;
    wire room;

    sync_fifo #(
        .WIDTH(1 + 8 + 2 + 24),
        .DEPTH(PACKETS)
    ) packets (
        .clk(clk),
        .rst(rst),
        .s_data({s_cmd[`EB_CMD_REPORT], s_cmd[`EB_CMD_QP], s_cmd[`EB_CMD_EPOCH], s_cmd[`EB_CMD_PSN]}),
        .s_valid(accepted),
        .s_ready(room),
        .m_data({report, m_report_qp, m_report_epoch, m_report_psn}),
        .m_valid(under_way),
        .m_ready(m_packet_last),
        // verilator lint_off PINCONNECTEMPTY
        // It never fills.
        .level()
        // verilator lint_on PINCONNECTEMPTY
    );

    assign m_report_valid = m_packet_last && report;

    // verilator lint_off UNUSEDSIGNAL
    // The packets' FIFO neither overflows nor runs dry.
    wire never_waits = room && under_way;
    // verilator lint_on UNUSEDSIGNAL

endmodule

`default_nettype wire
