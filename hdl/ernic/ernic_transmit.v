// Transmit datapath: packet commands in, Ethernet frames out, payload straight from the ring.

`timescale 1ns / 1fs
`default_nettype none

module ernic_transmit #(
    // Ring size in bytes. Power of two, at least 128.
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

    // Packet command. The opcode says which extension headers there are: RETH from remote address, remote key and DMA length;
    // ImmDt or AETH from immediate; IETH from remote key. Payload is read from local_address, modulo the ring.
    input  wire                 s_cmd_valid,
    output wire                 s_cmd_ready,
    input  wire [7:0]           s_cmd_opcode,
    input  wire                 s_cmd_solicited,
    input  wire                 s_cmd_migreq,
    input  wire                 s_cmd_ack_request,
    input  wire [15:0]          s_cmd_pkey,
    input  wire [23:0]          s_cmd_dest_qpn,
    input  wire [23:0]          s_cmd_psn,
    input  wire [63:0]          s_cmd_remote_address,
    input  wire [31:0]          s_cmd_remote_key,
    input  wire [31:0]          s_cmd_dma_length,
    input  wire [31:0]          s_cmd_immediate,
    input  wire [31:0]          s_cmd_local_address,
    input  wire [12:0]          s_cmd_payload_bytes,
    input  wire [47:0]          s_cmd_dest_mac,
    input  wire [31:0]          s_cmd_dest_ip,
    input  wire [7:0]           s_cmd_traffic_class,
    input  wire [7:0]           s_cmd_ttl,

    // Ring read port: a 64-byte row, data three cycles after enable.
    output wire                 ring_read_enable,
    output wire [ROW_WIDTH-1:0] ring_read_row,
    input  wire [511:0]         ring_read_data,

    // Ethernet frames without FCS, octet 0 in bits 7:0.
    output wire [511:0]         m_axis_tdata,
    output wire [63:0]          m_axis_tkeep,
    output wire                 m_axis_tvalid,
    input  wire                 m_axis_tready,
    output wire                 m_axis_tlast,

    // First, last beat of a packet accepted by the MAC, in the cycle of acceptance.
    output wire                 m_packet_first,
    output wire                 m_packet_last
);

    localparam FIFO_BEATS = 16;
    // Ethernet, IPv4, UDP and base transport header.
    localparam [6:0] BASE_OCTETS = 7'd54;
    localparam [12:0] ETHERNET_OCTETS = 13'd14;
    localparam [12:0] ICRC_OCTETS = 13'd4;

    wire        has_reth;
    wire        has_word;
    wire        is_key;

    ernic_opcode_layout layout (
        .opcode(s_cmd_opcode),
        .has_reth(has_reth),
        .has_word(has_word),
        .is_key(is_key)
    );

    wire [6:0]  header_octets = BASE_OCTETS + {2'h0, has_reth, 1'b0, has_word, 2'h0};
    wire [12:0] padded_octets = (s_cmd_payload_bytes + 13'd3) & 13'h1ffc;
    wire [1:0]  pad = 2'd0 - s_cmd_payload_bytes[1:0];
    wire [12:0] icrc_offset = {6'h0, header_octets} + padded_octets;
    wire [12:0] ip_length = icrc_offset + ICRC_OCTETS - ETHERNET_OCTETS;

    wire [591:0] header;

    ernic_header headers (
        .clk(clk),
        .rst(rst),
        .local_mac(local_mac),
        .local_ip(local_ip),
        .udp_source_port(udp_source_port),
        .s_valid(s_cmd_valid && s_cmd_ready),
        .s_has_reth(has_reth),
        .s_has_word(has_word),
        .s_is_key(is_key),
        .s_ip_length(ip_length),
        .s_pad(pad),
        .s_opcode(s_cmd_opcode),
        .s_solicited(s_cmd_solicited),
        .s_migreq(s_cmd_migreq),
        .s_ack_request(s_cmd_ack_request),
        .s_pkey(s_cmd_pkey),
        .s_dest_qpn(s_cmd_dest_qpn),
        .s_psn(s_cmd_psn),
        .s_remote_address(s_cmd_remote_address),
        .s_remote_key(s_cmd_remote_key),
        .s_dma_length(s_cmd_dma_length),
        .s_immediate(s_cmd_immediate),
        .s_dest_mac(s_cmd_dest_mac),
        .s_dest_ip(s_cmd_dest_ip),
        .s_traffic_class(s_cmd_traffic_class),
        .s_ttl(s_cmd_ttl),
        .m_header(header)
    );

    wire       slot_row;
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
        .s_local_address(s_cmd_local_address),
        .s_payload_octets(s_cmd_payload_bytes),
        .s_icrc_offset(icrc_offset),
        .ring_read_enable(ring_read_enable),
        .ring_read_row(ring_read_row),
        .m_row(slot_row),
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

endmodule

`default_nettype wire
