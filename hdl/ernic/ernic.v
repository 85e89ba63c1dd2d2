// RDMA engine: RoCEv2 with the register layout of AMD's PG332 v3.1, payload straight from the ring.
//
//     registers, WQE fetch, CQE <-> ernic_control --commands--> ernic_transmit --> MAC
//                                        ^                          ^ ring
//                                        '-- ernic_dispatch <--- ernic_receive <-- MAC
//                                                                   | data
//                                                    memory <- ernic_receive_writer

`timescale 1ns / 1fs
`default_nettype none
`include "ernic_ticket.vh"

module ernic #(
    // Queue pairs, QP1 (management) included. 2 to 255.
    parameter NUM_QP = 4,
    // Ring size in bytes. Power of two, at least 8192.
    parameter RING_BYTES = 4194304,
    // Messages in flight a queue pair. Power of two, at least 2.
    parameter OUTSTANDING = 1024,
    // Packets in flight a queue pair. 1 to 4194304.
    parameter PACKETS_IN_FLIGHT = 4194304,
    // Send queue entries buffered a queue pair. Power of two, at least 8.
    parameter WQE_BUFFER = 32,
    // Core clocks in 4.096 us, for times-out while XRNICADCONF.TICK_WIDTH is 0. 1 to 65536.
    parameter TICK_CLOCKS = 1320,
    // Received beats of 512 bits that wait for memory. Power of two, at least 128.
    parameter RECEIVE_BEATS = 1024,
    // Received packets that wait. Power of two, at least 2.
    parameter RECEIVE_PACKETS = 256,
    // Derived; do not override.
    parameter ROW_WIDTH = $clog2(RING_BYTES / 64)
) (
    input  wire                 clk,
    input  wire                 rst,

    // Register bus.
    input  wire                 s_reg_valid,
    input  wire                 s_reg_write,
    input  wire [17:0]          s_reg_addr,
    input  wire [31:0]          s_reg_wdata,
    output wire                 s_reg_ready,
    output wire                 s_reg_error,
    output wire [31:0]          s_reg_rdata,
    output wire                 irq,

    // Ring read port: a 64-byte row, data three cycles after enable.
    output wire                 ring_read_enable,
    output wire [ROW_WIDTH-1:0] ring_read_row,
    input  wire [511:0]         ring_read_data,
    // Ring space that is free again.
    output wire                 release_valid,
    input  wire                 release_ready,
    output wire [31:0]          release_address,
    output wire [31:0]          release_bytes,
    output wire                 release_complete,

    // AXI4 master: send queue entries in, completions out.
    output wire [63:0]          m_axi_awaddr,
    output wire [7:0]           m_axi_awlen,
    output wire [2:0]           m_axi_awsize,
    output wire [1:0]           m_axi_awburst,
    output wire                 m_axi_awvalid,
    input  wire                 m_axi_awready,
    output wire [511:0]         m_axi_wdata,
    output wire [63:0]          m_axi_wstrb,
    output wire                 m_axi_wlast,
    output wire                 m_axi_wvalid,
    input  wire                 m_axi_wready,
    input  wire [1:0]           m_axi_bresp,
    input  wire                 m_axi_bvalid,
    output wire                 m_axi_bready,
    output wire [63:0]          m_axi_araddr,
    output wire [7:0]           m_axi_arlen,
    output wire [2:0]           m_axi_arsize,
    output wire [1:0]           m_axi_arburst,
    output wire                 m_axi_arvalid,
    input  wire                 m_axi_arready,
    input  wire [511:0]         m_axi_rdata,
    input  wire [1:0]           m_axi_rresp,
    input  wire                 m_axi_rlast,
    input  wire                 m_axi_rvalid,
    output wire                 m_axi_rready,

    // Ethernet frames to the MAC, without preamble and FCS, octet 0 in bits 7:0.
    output wire [511:0]         m_axis_mac_tdata,
    output wire [63:0]          m_axis_mac_tkeep,
    output wire                 m_axis_mac_tvalid,
    input  wire                 m_axis_mac_tready,
    output wire                 m_axis_mac_tlast,
    // Ethernet frames from the MAC, which cannot be held back; tuser with tlast marks a bad FCS.
    input  wire [511:0]         s_axis_mac_tdata,
    input  wire [63:0]          s_axis_mac_tkeep,
    input  wire                 s_axis_mac_tvalid,
    input  wire                 s_axis_mac_tlast,
    input  wire                 s_axis_mac_tuser
);

    localparam [7:0] OPCODE_ACK = 8'h11;

    wire [47:0] local_mac;
    wire [31:0] local_ip;
    wire [15:0] udp_source_port;

    wire        cmd_valid;
    wire        cmd_ready;
    wire [7:0]  cmd_opcode;
    wire        cmd_solicited;
    wire        cmd_migreq;
    wire        cmd_ack_request;
    wire [15:0] cmd_pkey;
    wire [23:0] cmd_dest_qpn;
    wire [23:0] cmd_psn;
    wire [63:0] cmd_remote_address;
    wire [31:0] cmd_remote_key;
    wire [31:0] cmd_dma_length;
    wire [31:0] cmd_immediate;
    wire [31:0] cmd_local_address;
    wire [12:0] cmd_payload_bytes;
    wire [47:0] cmd_dest_mac;
    wire [31:0] cmd_dest_ip;
    wire [7:0]  cmd_traffic_class;
    wire [7:0]  cmd_ttl;
    wire        frame_out;

    wire        good_valid;
    wire        cnp_valid;
    wire [7:0]  event_opcode;
    // verilator lint_off UNUSEDSIGNAL
    // LSTINPKT has room for eight bits.
    wire [23:0] event_qpn;
    // verilator lint_on UNUSEDSIGNAL
    wire        drop_valid;
    wire [4:0]  drop_cause;
    wire        packet_in;

    wire        ticket_valid;
    wire        ticket_ready;
    // verilator lint_off UNUSEDSIGNAL
    // Nobody looks at requests yet.
    wire [`EB_TICKET_WIDTH-1:0] ticket;
    // verilator lint_on UNUSEDSIGNAL
    wire        beat_valid;
    wire        beat_ready;
    wire        beat_end;
    wire [511:0] beat_data;
    wire        ack_valid;
    wire        ack_is_read;
    wire        order_valid;
    wire        order_ready;
    wire        order_discard;
    wire        order_is_read;
    wire        order_stored;
    wire        order_datagram;
    wire [2:0]  order_words;
    wire [12:0] order_bytes;

    ernic_control #(
        .NUM_QP(NUM_QP),
        .RING_BYTES(RING_BYTES),
        .OUTSTANDING(OUTSTANDING),
        .PACKETS_IN_FLIGHT(PACKETS_IN_FLIGHT),
        .WQE_BUFFER(WQE_BUFFER),
        .TICK_CLOCKS(TICK_CLOCKS)
    ) control (
        .clk(clk),
        .rst(rst),
        .s_reg_valid(s_reg_valid),
        .s_reg_write(s_reg_write),
        .s_reg_addr(s_reg_addr),
        .s_reg_wdata(s_reg_wdata),
        .s_reg_ready(s_reg_ready),
        .s_reg_error(s_reg_error),
        .s_reg_rdata(s_reg_rdata),
        .irq(irq),
        .local_mac(local_mac),
        .local_ip(local_ip),
        .udp_source_port(udp_source_port),
        .m_cmd_valid(cmd_valid),
        .m_cmd_ready(cmd_ready),
        .m_cmd_opcode(cmd_opcode),
        .m_cmd_solicited(cmd_solicited),
        .m_cmd_migreq(cmd_migreq),
        .m_cmd_ack_request(cmd_ack_request),
        .m_cmd_pkey(cmd_pkey),
        .m_cmd_dest_qpn(cmd_dest_qpn),
        .m_cmd_psn(cmd_psn),
        .m_cmd_remote_address(cmd_remote_address),
        .m_cmd_remote_key(cmd_remote_key),
        .m_cmd_dma_length(cmd_dma_length),
        .m_cmd_immediate(cmd_immediate),
        .m_cmd_local_address(cmd_local_address),
        .m_cmd_payload_bytes(cmd_payload_bytes),
        .m_cmd_dest_mac(cmd_dest_mac),
        .m_cmd_dest_ip(cmd_dest_ip),
        .m_cmd_traffic_class(cmd_traffic_class),
        .m_cmd_ttl(cmd_ttl),
        .frame_out(frame_out),
        .s_ack_valid(ack_valid && !ack_is_read),
        .s_ack_qpn(ticket[`EB_TICKET_QPN]),
        .s_ack_psn(ticket[`EB_TICKET_PSN]),
        .s_ack_syndrome(ticket[`EB_TICKET_SYNDROME]),
        .s_ack_source_ip(ticket[`EB_TICKET_SOURCE_IP]),
        .s_ack_source_mac(ticket[`EB_TICKET_SOURCE_MAC]),
        .s_ack_pkey(ticket[`EB_TICKET_PKEY]),
        .other_valid(cnp_valid || (good_valid && event_opcode != OPCODE_ACK)),
        .other_opcode(event_opcode),
        .other_qpn(event_qpn[7:0]),
        .packet_in(packet_in),
        .drop_valid(drop_valid),
        .drop_cause(drop_cause),
        .release_valid(release_valid),
        .release_ready(release_ready),
        .release_address(release_address),
        .release_bytes(release_bytes),
        .release_complete(release_complete),
        .m_axi_awaddr(m_axi_awaddr),
        .m_axi_awlen(m_axi_awlen),
        .m_axi_awsize(m_axi_awsize),
        .m_axi_awburst(m_axi_awburst),
        .m_axi_awvalid(m_axi_awvalid),
        .m_axi_awready(m_axi_awready),
        .m_axi_wdata(m_axi_wdata),
        .m_axi_wstrb(m_axi_wstrb),
        .m_axi_wlast(m_axi_wlast),
        .m_axi_wvalid(m_axi_wvalid),
        .m_axi_wready(m_axi_wready),
        .m_axi_bresp(m_axi_bresp),
        .m_axi_bvalid(m_axi_bvalid),
        .m_axi_bready(m_axi_bready),
        .m_axi_araddr(m_axi_araddr),
        .m_axi_arlen(m_axi_arlen),
        .m_axi_arsize(m_axi_arsize),
        .m_axi_arburst(m_axi_arburst),
        .m_axi_arvalid(m_axi_arvalid),
        .m_axi_arready(m_axi_arready),
        .m_axi_rdata(m_axi_rdata),
        .m_axi_rresp(m_axi_rresp),
        .m_axi_rlast(m_axi_rlast),
        .m_axi_rvalid(m_axi_rvalid),
        .m_axi_rready(m_axi_rready)
    );

    // verilator lint_off PINCONNECTEMPTY
    // First beats are for measurement only; the rest is for parts that are not there yet.
    ernic_transmit #(
        .RING_BYTES(RING_BYTES)
    ) transmit (
        .clk(clk),
        .rst(rst),
        .local_mac(local_mac),
        .local_ip(local_ip),
        .udp_source_port(udp_source_port),
        .s_cmd_valid(cmd_valid),
        .s_cmd_ready(cmd_ready),
        .s_cmd_opcode(cmd_opcode),
        .s_cmd_solicited(cmd_solicited),
        .s_cmd_migreq(cmd_migreq),
        .s_cmd_ack_request(cmd_ack_request),
        .s_cmd_pkey(cmd_pkey),
        .s_cmd_dest_qpn(cmd_dest_qpn),
        .s_cmd_psn(cmd_psn),
        .s_cmd_remote_address(cmd_remote_address),
        .s_cmd_remote_key(cmd_remote_key),
        .s_cmd_dma_length(cmd_dma_length),
        .s_cmd_immediate(cmd_immediate),
        .s_cmd_local_address(cmd_local_address),
        .s_cmd_payload_bytes(cmd_payload_bytes),
        .s_cmd_dest_mac(cmd_dest_mac),
        .s_cmd_dest_ip(cmd_dest_ip),
        .s_cmd_traffic_class(cmd_traffic_class),
        .s_cmd_ttl(cmd_ttl),
        .ring_read_enable(ring_read_enable),
        .ring_read_row(ring_read_row),
        .ring_read_data(ring_read_data),
        .m_axis_tdata(m_axis_mac_tdata),
        .m_axis_tkeep(m_axis_mac_tkeep),
        .m_axis_tvalid(m_axis_mac_tvalid),
        .m_axis_tready(m_axis_mac_tready),
        .m_axis_tlast(m_axis_mac_tlast),
        .m_packet_first(),
        .m_packet_last(frame_out)
    );

    ernic_receive #(
        .BEATS(RECEIVE_BEATS),
        .TICKETS(RECEIVE_PACKETS)
    ) receive (
        .clk(clk),
        .rst(rst),
        .local_mac(local_mac),
        .local_ip(local_ip),
        .s_axis_tdata(s_axis_mac_tdata),
        .s_axis_tkeep(s_axis_mac_tkeep),
        .s_axis_tvalid(s_axis_mac_tvalid),
        .s_axis_tlast(s_axis_mac_tlast),
        .s_axis_tuser(s_axis_mac_tuser),
        .m_packet_in(packet_in),
        .m_drop_valid(drop_valid),
        .m_drop_cause(drop_cause),
        .m_cnp_valid(cnp_valid),
        .m_good_valid(good_valid),
        .m_marked_valid(),
        .m_event_opcode(event_opcode),
        .m_event_qpn(event_qpn),
        .m_event_psn(),
        .m_event_source_ip(),
        .m_event_source_mac(),
        .m_ticket_valid(ticket_valid),
        .m_ticket_ready(ticket_ready),
        .m_ticket(ticket),
        .m_beat_valid(beat_valid),
        .m_beat_ready(beat_ready),
        .m_beat_end(beat_end),
        .m_beat_data(beat_data)
    );

    // Requests and READ responses are taken and thrown away: nobody acts on them yet.
    ernic_dispatch dispatch (
        .engine_enabled(1'b1),
        .s_ticket_valid(ticket_valid),
        .s_ticket_ready(ticket_ready),
        .s_ticket(ticket),
        .m_ack_valid(ack_valid),
        .m_ack_ready(1'b1),
        .m_ack_is_read(ack_is_read),
        .m_request_valid(),
        .m_request_ready(1'b1),
        .m_order_valid(order_valid),
        .m_order_ready(order_ready),
        .m_order_discard(order_discard),
        .m_order_is_read(order_is_read),
        .m_order_stored(order_stored),
        .m_order_datagram(order_datagram),
        .m_order_words(order_words),
        .m_order_bytes(order_bytes)
    );

    ernic_receive_writer writer (
        .clk(clk),
        .rst(rst),
        .s_order_valid(order_valid),
        .s_order_ready(order_ready),
        .s_order_discard(order_discard),
        .s_order_is_read(order_is_read),
        .s_order_stored(order_stored),
        .s_order_datagram(order_datagram),
        .s_order_words(order_words),
        .s_order_bytes(order_bytes),
        .s_read_valid(1'b1),
        .s_read_ready(),
        .s_read_accept(1'b0),
        .s_read_address(64'd0),
        .s_request_valid(1'b1),
        .s_request_ready(),
        .s_request_accept(1'b0),
        .s_request_address(64'd0),
        .m_read_written(),
        .m_read_error(),
        .m_request_written(),
        .m_request_error(),
        .s_beat_valid(beat_valid),
        .s_beat_ready(beat_ready),
        .s_beat_end(beat_end),
        .s_beat_data(beat_data),
        .m_axi_awaddr(),
        .m_axi_awlen(),
        .m_axi_awsize(),
        .m_axi_awburst(),
        .m_axi_awvalid(),
        .m_axi_awready(1'b0),
        .m_axi_wdata(),
        .m_axi_wstrb(),
        .m_axi_wlast(),
        .m_axi_wvalid(),
        .m_axi_wready(1'b0),
        .m_axi_bresp(2'b00),
        .m_axi_bvalid(1'b0),
        .m_axi_bready()
    );
    // verilator lint_on PINCONNECTEMPTY

endmodule

`default_nettype wire
