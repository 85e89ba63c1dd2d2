// RDMA engine: RoCEv2 with the register layout of AMD's PG332 v3.1, payload straight from the ring.
//
//     registers, WQE fetch, CQE <-> ernic_control --commands--> ernic_launch --> ernic_transmit --> MAC
//                                        ^                          ^ memory         ^ ring
//                                        '-- ernic_dispatch <--- ernic_receive <-- MAC
//                                                                   | data
//                                                    memory <- ernic_receive_writer

`timescale 1ns / 1fs
`default_nettype none
`include "ernic_command.vh"
`include "ernic_ticket.vh"

module ernic #(
    // Queue pairs, QP1 (management) included. 2 to 255.
    parameter NUM_QP = 4,
    // Where the global registers and those of queue pair 1 begin: multiples of 0x200, not below 0x20000.
    // 0x20000 and 0x20200 as in PG332 v3.1; 0x100000 and 0x180000 as in v4.
    parameter [20:0] GLOBAL_BASE = 21'h020000,
    parameter [20:0] QP_BASE = 21'h020200,
    // Ring size in bytes. Power of two, at least 8192.
    parameter RING_BYTES = 4194304,
    // Messages in flight a queue pair. Power of two, at least 2.
    parameter OUTSTANDING = 1024,
    // Packets in flight a queue pair. 1 to 4194304.
    parameter PACKETS_IN_FLIGHT = 4194304,
    // Send queue entries buffered a queue pair. Power of two, at least 8.
    parameter WQE_BUFFER = 32,
    // Memory on the chip for send queues, in bytes. Power of two, 4096 to 65536.
    parameter QUEUE_MEMORY_BYTES = 32768,
    // Core clocks in 4.096 us, for times-out while XRNICADCONF.TICK_WIDTH is 0. 1 to 65536.
    parameter TICK_CLOCKS = 1320,
    // Received beats of 512 bits that wait for memory. Power of two, at least 128.
    parameter RECEIVE_BEATS = 1024,
    // Received packets that wait. Power of two, at least 2.
    parameter RECEIVE_PACKETS = 256,
    // Beats for the processing system's frames, in each direction. Power of two, 4 to 32768; a frame must fit.
    parameter HOST_BEATS = 512,
    // Derived; do not override.
    parameter ROW_WIDTH = $clog2(RING_BYTES / 64)
) (
    input  wire                 clk,
    input  wire                 rst,

    // Register bus.
    input  wire                 s_reg_valid,
    input  wire                 s_reg_write,
    input  wire [20:0]          s_reg_addr,
    input  wire [31:0]          s_reg_wdata,
    output wire                 s_reg_ready,
    output wire                 s_reg_error,
    output wire [31:0]          s_reg_rdata,
    output wire                 irq,

    // Doorbells by hardware (PG332's handshake ports) for queue pairs without QPCONF.SOFTWARE_DOORBELL: the address of the queue
    // pair's SQPI or RQCI in the engine's page, and the index that software would write there; held until ready.
    input  wire                 s_sq_doorbell_valid,
    output wire                 s_sq_doorbell_ready,
    input  wire [31:0]          s_sq_doorbell_address,
    input  wire [15:0]          s_sq_doorbell_index,
    input  wire                 s_rq_doorbell_valid,
    output wire                 s_rq_doorbell_ready,
    input  wire [31:0]          s_rq_doorbell_address,
    input  wire [15:0]          s_rq_doorbell_index,

    // Queue entries from hardware into the memory on the chip, by rows of 64 octets: of which queue pair the entry is (1 to NUM_QP; 0:
    // no entry) and which number it has since that was enabled, so that its doorbell finds it ready, from the third cycle on.
    input  wire                 s_entry_valid,
    output wire                 s_entry_ready,
    input  wire [7:0]           s_entry_qpn,
    input  wire [15:0]          s_entry_number,
    input  wire [9:0]           s_entry_row,
    input  wire [511:0]         s_entry,

    // Register bus of the page TRAFFIC.
    input  wire                 s_traffic_reg_valid,
    input  wire                 s_traffic_reg_write,
    input  wire [12:0]          s_traffic_reg_addr,
    input  wire [31:0]          s_traffic_reg_wdata,
    output wire                 s_traffic_reg_ready,
    output wire                 s_traffic_reg_error,
    output wire [31:0]          s_traffic_reg_rdata,

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

    // Notices of immediate data (PG332): [31:0] data, [39:32] type, [47:40] queue pair, [55:48] receive queue index. Without
    // anybody at the stream, software reads them from registers.
    output wire                 m_notice_valid,
    input  wire                 m_notice_ready,
    output wire [63:0]          m_notice,

    // The processing system's Ethernet frames (ARP, TCP, ...), without preamble and FCS, octet 0 in bits 7:0.
    input  wire [511:0]         s_axis_host_tdata,
    input  wire [63:0]          s_axis_host_tkeep,
    input  wire                 s_axis_host_tvalid,
    output wire                 s_axis_host_tready,
    input  wire                 s_axis_host_tlast,
    output wire [511:0]         m_axis_host_tdata,
    output wire [63:0]          m_axis_host_tkeep,
    output wire                 m_axis_host_tvalid,
    input  wire                 m_axis_host_tready,
    output wire                 m_axis_host_tlast,

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
    input  wire                 s_axis_mac_tuser,
    // Pause as the MAC knows and sends it: priorities 0 to 7, and 8 for the whole link; level.
    input  wire [8:0]           mac_pause_request,
    output wire [8:0]           mac_pause_send
);

    localparam [7:0] OPCODE_ACK = 8'h11;
    localparam [7:0] READ_RESPONSE_MIDDLE = 8'h0e;
    localparam [7:0] READ_RESPONSE_LAST = 8'h0f;
    localparam [7:0] READ_RESPONSE_ONLY = 8'h10;
    localparam [7:0] SYNDROME_ACK = 8'h1f;

    wire [47:0] local_mac;
    wire [31:0] local_ip;
    wire [15:0] udp_source_port;
    wire [13:0] pause_conf;
    wire [31:0] threshold_roce;
    wire [31:0] threshold_other;
    wire [63:0] paused_classes;
    wire [31:0] port_rate;
    wire [23:0] port_size;
    wire [23:0] cnp_interval;
    wire [7:0]  cnp_class;
    wire [3:1]  level_waiting;
    wire        level_busy;
    wire [1:0]  level_served;
    wire        good_marked;
    wire        marked_valid;
    wire        notify_valid;
    wire        notify_ready;
    wire [`EB_CMD_WIDTH-1:0] notify_cmd;
    localparam LEVEL_WIDTH = $clog2(RECEIVE_BEATS) + 1;
    wire [LEVEL_WIDTH-1:0] receive_level;
    wire [511:0] roce_tdata;
    wire [63:0] roce_tkeep;
    wire        roce_tvalid;
    wire        roce_tready;
    wire        roce_tlast;

    wire [3:0]  level_ready;
    wire        request_valid;
    wire [1:0]  request_level;
    wire [`EB_CMD_WIDTH-1:0] request_cmd;
    wire        purge_valid;
    wire [7:0]  purge_qp;
    wire        flush_valid;
    wire [7:0]  flush_qp;
    wire        failed_valid;
    wire [7:0]  failed_qp;
    wire        failed_response;
    wire        report_valid;
    wire [7:0]  report_qp;
    wire [1:0]  report_epoch;
    wire [23:0] report_psn;
    wire        cmd_valid;
    wire        cmd_ready;
    wire [`EB_CMD_WIDTH-1:0] cmd;
    wire [2:0]  cmd_area;
    wire        stage_read_enable;
    wire [8:0]  stage_read_row;
    wire [511:0] stage_read_data;
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
    wire [`EB_TICKET_WIDTH-1:0] ticket;
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

    wire        receive_enabled;
    wire        asked_valid;
    wire        asked_ready;
    wire        accept_valid;
    wire        accept_ready;
    wire        accept_accept;
    wire [63:0] accept_address;
    wire [7:0]  request_written;
    wire        request_error;
    wire        response_valid;
    wire        response_ready;
    wire [`EB_CMD_WIDTH-1:0] response_cmd;
    wire        ack_ready;
    wire        decision_valid;
    wire        decision_ready;
    wire        decision_accept;
    wire [63:0] decision_address;
    wire [7:0]  read_written;
    wire        read_error;

    // Reads of queue entries, and of payload.
    wire [63:0] entry_araddr;
    wire [7:0]  entry_arlen;
    wire        entry_arvalid;
    wire        entry_arready;
    wire        entry_rvalid;
    wire        entry_rready;
    wire [63:0] payload_araddr;
    wire [7:0]  payload_arlen;
    wire        payload_arvalid;
    wire        payload_arready;
    wire        payload_rvalid;
    wire        payload_rready;

    // Both together, and what of them goes to the memory on the chip.
    wire [63:0] read_araddr;
    wire [7:0]  read_arlen;
    wire        read_arvalid;
    wire        read_arready;
    wire [511:0] read_rdata;
    wire [1:0]  read_rresp;
    wire        read_rlast;
    wire        read_rvalid;
    wire        read_rready;
    wire        chip_arvalid;
    wire        chip_arready;
    wire [511:0] chip_rdata;
    wire        chip_rlast;
    wire        chip_rvalid;
    wire        chip_rready;
    wire        memory_write_valid;
    wire [15:2] memory_write_address;
    wire [31:0] memory_write_data;
    wire        memory_read_load;
    wire [15:2] memory_read_address;
    wire [31:0] memory_read_data;
    wire        memory_touched_valid;
    wire [9:0]  memory_touched_row;
    wire        memory_look_valid;
    wire        memory_look_ready;
    wire [9:0]  memory_look_row;
    wire [511:0] memory_look_data;

    // Writes of completions, and of received data.
    wire [63:0] entry_awaddr;
    wire [7:0]  entry_awlen;
    wire [2:0]  entry_awsize;
    wire        entry_awvalid;
    wire        entry_awready;
    wire [511:0] entry_wdata;
    wire [63:0] entry_wstrb;
    wire        entry_wlast;
    wire        entry_wvalid;
    wire        entry_wready;
    wire        entry_bvalid;
    wire        entry_bready;
    wire [63:0] data_awaddr;
    wire [7:0]  data_awlen;
    wire [2:0]  data_awsize;
    wire        data_awvalid;
    wire        data_awready;
    wire [511:0] data_wdata;
    wire [63:0] data_wstrb;
    wire        data_wlast;
    wire        data_wvalid;
    wire        data_wready;
    wire        data_bvalid;
    wire        data_bready;

    // A response in the middle of its message has no AETH.
    wire [7:0]  ack_opcode = ticket[`EB_TICKET_OPCODE];
    wire [7:0]  ack_syndrome = ack_opcode == READ_RESPONSE_MIDDLE ? SYNDROME_ACK : ticket[`EB_TICKET_SYNDROME];

    ernic_control #(
        .NUM_QP(NUM_QP),
        .GLOBAL_BASE(GLOBAL_BASE),
        .QP_BASE(QP_BASE),
        .RING_BYTES(RING_BYTES),
        .OUTSTANDING(OUTSTANDING),
        .PACKETS_IN_FLIGHT(PACKETS_IN_FLIGHT),
        .WQE_BUFFER(WQE_BUFFER),
        .QUEUE_MEMORY_BYTES(QUEUE_MEMORY_BYTES),
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
        .s_sq_doorbell_valid(s_sq_doorbell_valid),
        .s_sq_doorbell_ready(s_sq_doorbell_ready),
        .s_sq_doorbell_address(s_sq_doorbell_address),
        .s_sq_doorbell_index(s_sq_doorbell_index),
        .s_rq_doorbell_valid(s_rq_doorbell_valid),
        .s_rq_doorbell_ready(s_rq_doorbell_ready),
        .s_rq_doorbell_address(s_rq_doorbell_address),
        .s_rq_doorbell_index(s_rq_doorbell_index),
        .memory_write_valid(memory_write_valid),
        .memory_write_address(memory_write_address),
        .memory_write_data(memory_write_data),
        .memory_read_load(memory_read_load),
        .memory_read_address(memory_read_address),
        .memory_read_data(memory_read_data),
        .memory_touched_valid(memory_touched_valid),
        .memory_touched_row(memory_touched_row),
        .memory_given_valid(s_entry_valid && s_entry_ready),
        .memory_given_qpn(s_entry_qpn),
        .memory_given_number(s_entry_number),
        .memory_given_row(s_entry_row),
        .memory_given_data(s_entry),
        .memory_look_valid(memory_look_valid),
        .memory_look_ready(memory_look_ready),
        .memory_look_row(memory_look_row),
        .memory_look_data(memory_look_data),
        .local_mac(local_mac),
        .local_ip(local_ip),
        .udp_source_port(udp_source_port),
        .pause_conf(pause_conf),
        .threshold_roce(threshold_roce),
        .threshold_other(threshold_other),
        .port_rate(port_rate),
        .port_size(port_size),
        .cnp_interval(cnp_interval),
        .cnp_class(cnp_class),
        .level_waiting(level_waiting),
        .level_busy(level_busy),
        .level_served(level_served),
        .good_valid(good_valid),
        .good_marked(good_marked),
        .good_opcode(event_opcode),
        .good_qpn(event_qpn),
        .marked_valid(marked_valid),
        .cnp_in_valid(cnp_valid),
        .m_cnp_valid(notify_valid),
        .m_cnp_ready(notify_ready),
        .m_cnp(notify_cmd),
        .level_ready(level_ready),
        .m_cmd_valid(request_valid),
        .m_cmd_level(request_level),
        .m_cmd(request_cmd),
        .purge_valid(purge_valid),
        .purge_qp(purge_qp),
        .flush_valid(flush_valid),
        .flush_qp(flush_qp),
        .failed_valid(failed_valid && !failed_response),
        .failed_qp(failed_qp),
        .report_valid(report_valid),
        .report_qp(report_qp),
        .report_epoch(report_epoch),
        .report_psn(report_psn),
        .frame_out(frame_out),
        .s_ack_valid(ack_valid),
        .s_ack_ready(ack_ready),
        .s_ack_is_read(ack_is_read),
        .s_ack_is_last(ack_opcode == READ_RESPONSE_LAST || ack_opcode == READ_RESPONSE_ONLY),
        .s_ack_bytes(ticket[`EB_TICKET_BYTES]),
        .s_ack_qpn(ticket[`EB_TICKET_QPN]),
        .s_ack_psn(ticket[`EB_TICKET_PSN]),
        .s_ack_syndrome(ack_syndrome),
        .s_ack_source_ip(ticket[`EB_TICKET_SOURCE_IP]),
        .s_ack_source_mac(ticket[`EB_TICKET_SOURCE_MAC]),
        .s_ack_pkey(ticket[`EB_TICKET_PKEY]),
        .m_decision_valid(decision_valid),
        .m_decision_ready(decision_ready),
        .m_decision_accept(decision_accept),
        .m_decision_address(decision_address),
        .read_writes_done(read_written),
        .read_write_error(read_error),
        .receive_enabled(receive_enabled),
        .s_request_valid(asked_valid),
        .s_request_ready(asked_ready),
        .s_request_ticket(ticket),
        .m_accept_valid(accept_valid),
        .m_accept_ready(accept_ready),
        .m_accept_accept(accept_accept),
        .m_accept_address(accept_address),
        .request_written(request_written),
        .request_error(request_error),
        .m_response_valid(response_valid),
        .m_response_ready(response_ready),
        .m_response_cmd(response_cmd),
        .unread_valid(failed_valid && failed_response),
        .unread_qp(failed_qp),
        .m_notice_valid(m_notice_valid),
        .m_notice_ready(m_notice_ready),
        .m_notice(m_notice),
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
        .m_axi_awaddr(entry_awaddr),
        .m_axi_awlen(entry_awlen),
        .m_axi_awsize(entry_awsize),
        .m_axi_awburst(m_axi_awburst),
        .m_axi_awvalid(entry_awvalid),
        .m_axi_awready(entry_awready),
        .m_axi_wdata(entry_wdata),
        .m_axi_wstrb(entry_wstrb),
        .m_axi_wlast(entry_wlast),
        .m_axi_wvalid(entry_wvalid),
        .m_axi_wready(entry_wready),
        .m_axi_bresp(m_axi_bresp),
        .m_axi_bvalid(entry_bvalid),
        .m_axi_bready(entry_bready),
        .m_axi_araddr(entry_araddr),
        .m_axi_arlen(entry_arlen),
        .m_axi_arsize(m_axi_arsize),
        .m_axi_arburst(m_axi_arburst),
        .m_axi_arvalid(entry_arvalid),
        .m_axi_arready(entry_arready),
        .m_axi_rdata(read_rdata),
        .m_axi_rresp(read_rresp),
        .m_axi_rlast(read_rlast),
        .m_axi_rvalid(entry_rvalid),
        .m_axi_rready(entry_rready)
    );

    wire        level_0_valid;
    wire        level_0_ready;
    wire [`EB_CMD_WIDTH-1:0] level_0_cmd;

    ernic_response_mux level_0 (
        .clk(clk),
        .rst(rst),
        .s0_cmd_valid(notify_valid),
        .s0_cmd_ready(notify_ready),
        .s0_cmd(notify_cmd),
        .s1_cmd_valid(response_valid),
        .s1_cmd_ready(response_ready),
        .s1_cmd(response_cmd),
        .m_cmd_valid(level_0_valid),
        .m_cmd_ready(level_0_ready),
        .m_cmd(level_0_cmd)
    );

    // verilator lint_off PINCONNECTEMPTY
    // Bursts have one kind and size.
    ernic_launch launch (
        .clk(clk),
        .rst(rst),
        .purge_valid(purge_valid),
        .purge_qp(purge_qp),
        .flush_valid(flush_valid),
        .flush_qp(flush_qp),
        .paused_classes(paused_classes),
        .s_response_valid(level_0_valid),
        .s_response_ready(level_0_ready),
        .s_response_cmd(level_0_cmd),
        .s_request_valid(request_valid),
        .s_request_level(request_level),
        .s_request_cmd(request_cmd),
        .level_ready(level_ready),
        .failed_valid(failed_valid),
        .failed_qp(failed_qp),
        .failed_response(failed_response),
        .m_cmd_valid(cmd_valid),
        .m_cmd_ready(cmd_ready),
        .m_cmd(cmd),
        .m_cmd_area(cmd_area),
        .stage_read_enable(stage_read_enable),
        .stage_read_row(stage_read_row),
        .stage_read_data(stage_read_data),
        .m_axi_araddr(payload_araddr),
        .m_axi_arlen(payload_arlen),
        .m_axi_arsize(),
        .m_axi_arburst(),
        .m_axi_arvalid(payload_arvalid),
        .m_axi_arready(payload_arready),
        .m_axi_rdata(read_rdata),
        .m_axi_rresp(read_rresp),
        .m_axi_rlast(read_rlast),
        .m_axi_rvalid(payload_rvalid),
        .m_axi_rready(payload_rready)
    );

    axi_read_mux reads (
        .clk(clk),
        .rst(rst),
        .s0_axi_araddr(entry_araddr),
        .s0_axi_arlen(entry_arlen),
        .s0_axi_arvalid(entry_arvalid),
        .s0_axi_arready(entry_arready),
        .s0_axi_rvalid(entry_rvalid),
        .s0_axi_rready(entry_rready),
        .s1_axi_araddr(payload_araddr),
        .s1_axi_arlen(payload_arlen),
        .s1_axi_arvalid(payload_arvalid),
        .s1_axi_arready(payload_arready),
        .s1_axi_rvalid(payload_rvalid),
        .s1_axi_rready(payload_rready),
        .m_axi_araddr(read_araddr),
        .m_axi_arlen(read_arlen),
        .m_axi_arvalid(read_arvalid),
        .m_axi_arready(read_arready),
        .m_axi_rlast(read_rlast),
        .m_axi_rvalid(read_rvalid),
        .m_axi_rready(read_rready)
    );

    // Bit 63 names the memory on the chip; outside it is not needed.
    assign m_axi_araddr = {1'b0, read_araddr[62:0]};
    assign m_axi_arlen = read_arlen;

    axi_read_split split (
        .clk(clk),
        .rst(rst),
        .s_axi_araddr(read_araddr),
        .s_axi_arvalid(read_arvalid),
        .s_axi_arready(read_arready),
        .s_axi_rdata(read_rdata),
        .s_axi_rresp(read_rresp),
        .s_axi_rlast(read_rlast),
        .s_axi_rvalid(read_rvalid),
        .s_axi_rready(read_rready),
        .m0_axi_arvalid(m_axi_arvalid),
        .m0_axi_arready(m_axi_arready),
        .m0_axi_rdata(m_axi_rdata),
        .m0_axi_rresp(m_axi_rresp),
        .m0_axi_rlast(m_axi_rlast),
        .m0_axi_rvalid(m_axi_rvalid),
        .m0_axi_rready(m_axi_rready),
        .m1_axi_arvalid(chip_arvalid),
        .m1_axi_arready(chip_arready),
        .m1_axi_rdata(chip_rdata),
        .m1_axi_rresp(2'b00),
        .m1_axi_rlast(chip_rlast),
        .m1_axi_rvalid(chip_rvalid),
        .m1_axi_rready(chip_rready)
    );

    ernic_queue_memory #(
        .MEMORY_BYTES(QUEUE_MEMORY_BYTES)
    ) queue_memory (
        .clk(clk),
        .rst(rst),
        .write_valid(memory_write_valid),
        .write_address(memory_write_address),
        .write_data(memory_write_data),
        .read_load(memory_read_load),
        .read_address(memory_read_address),
        .read_data(memory_read_data),
        .s_row_valid(s_entry_valid),
        .s_row_ready(s_entry_ready),
        .s_row_address(s_entry_row),
        .s_row_data(s_entry),
        .touched_valid(memory_touched_valid),
        .touched_row(memory_touched_row),
        .look_valid(memory_look_valid),
        .look_ready(memory_look_ready),
        .look_row(memory_look_row),
        .look_data(memory_look_data),
        .s_axi_araddr(read_araddr),
        .s_axi_arlen(read_arlen),
        .s_axi_arvalid(chip_arvalid),
        .s_axi_arready(chip_arready),
        .s_axi_rdata(chip_rdata),
        .s_axi_rlast(chip_rlast),
        .s_axi_rvalid(chip_rvalid),
        .s_axi_rready(chip_rready)
    );

    // First beats are for measurement only.
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
        .s_cmd(cmd),
        .s_cmd_area(cmd_area),
        .ring_read_enable(ring_read_enable),
        .ring_read_row(ring_read_row),
        .ring_read_data(ring_read_data),
        .stage_read_enable(stage_read_enable),
        .stage_read_row(stage_read_row),
        .stage_read_data(stage_read_data),
        .m_axis_tdata(roce_tdata),
        .m_axis_tkeep(roce_tkeep),
        .m_axis_tvalid(roce_tvalid),
        .m_axis_tready(roce_tready),
        .m_axis_tlast(roce_tlast),
        .m_packet_first(),
        .m_packet_last(frame_out),
        .m_report_valid(report_valid),
        .m_report_qp(report_qp),
        .m_report_epoch(report_epoch),
        .m_report_psn(report_psn)
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
        .m_marked_valid(good_marked),
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
        .m_beat_data(beat_data),
        .level(receive_level)
    );

    ernic_dispatch dispatch (
        .engine_enabled(receive_enabled),
        .s_ticket_valid(ticket_valid),
        .s_ticket_ready(ticket_ready),
        .s_ticket(ticket),
        .m_ack_valid(ack_valid),
        .m_ack_ready(ack_ready),
        .m_ack_is_read(ack_is_read),
        .m_request_valid(asked_valid),
        .m_request_ready(asked_ready),
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
        .s_read_valid(decision_valid),
        .s_read_ready(decision_ready),
        .s_read_accept(decision_accept),
        .s_read_address(decision_address),
        .s_request_valid(accept_valid),
        .s_request_ready(accept_ready),
        .s_request_accept(accept_accept),
        .s_request_address(accept_address),
        .m_read_written(read_written),
        .m_read_error(read_error),
        .m_request_written(request_written),
        .m_request_error(request_error),
        .s_beat_valid(beat_valid),
        .s_beat_ready(beat_ready),
        .s_beat_end(beat_end),
        .s_beat_data(beat_data),
        .m_axi_awaddr(data_awaddr),
        .m_axi_awlen(data_awlen),
        .m_axi_awsize(data_awsize),
        .m_axi_awburst(),
        .m_axi_awvalid(data_awvalid),
        .m_axi_awready(data_awready),
        .m_axi_wdata(data_wdata),
        .m_axi_wstrb(data_wstrb),
        .m_axi_wlast(data_wlast),
        .m_axi_wvalid(data_wvalid),
        .m_axi_wready(data_wready),
        .m_axi_bresp(m_axi_bresp),
        .m_axi_bvalid(data_bvalid),
        .m_axi_bready(data_bready)
    );

    axi_write_mux writes (
        .clk(clk),
        .rst(rst),
        .s0_axi_awaddr(entry_awaddr),
        .s0_axi_awlen(entry_awlen),
        .s0_axi_awsize(entry_awsize),
        .s0_axi_awvalid(entry_awvalid),
        .s0_axi_awready(entry_awready),
        .s0_axi_wdata(entry_wdata),
        .s0_axi_wstrb(entry_wstrb),
        .s0_axi_wlast(entry_wlast),
        .s0_axi_wvalid(entry_wvalid),
        .s0_axi_wready(entry_wready),
        .s0_axi_bvalid(entry_bvalid),
        .s0_axi_bready(entry_bready),
        .s1_axi_awaddr(data_awaddr),
        .s1_axi_awlen(data_awlen),
        .s1_axi_awsize(data_awsize),
        .s1_axi_awvalid(data_awvalid),
        .s1_axi_awready(data_awready),
        .s1_axi_wdata(data_wdata),
        .s1_axi_wstrb(data_wstrb),
        .s1_axi_wlast(data_wlast),
        .s1_axi_wvalid(data_wvalid),
        .s1_axi_wready(data_wready),
        .s1_axi_bvalid(data_bvalid),
        .s1_axi_bready(data_bready),
        .m_axi_awaddr(m_axi_awaddr),
        .m_axi_awlen(m_axi_awlen),
        .m_axi_awsize(m_axi_awsize),
        .m_axi_awvalid(m_axi_awvalid),
        .m_axi_awready(m_axi_awready),
        .m_axi_wdata(m_axi_wdata),
        .m_axi_wstrb(m_axi_wstrb),
        .m_axi_wlast(m_axi_wlast),
        .m_axi_wvalid(m_axi_wvalid),
        .m_axi_wready(m_axi_wready),
        .m_axi_bvalid(m_axi_bvalid),
        .m_axi_bready(m_axi_bready)
    );

    ernic_traffic #(
        .HOST_BEATS(HOST_BEATS)
    ) traffic (
        .clk(clk),
        .rst(rst),
        .s_reg_valid(s_traffic_reg_valid),
        .s_reg_write(s_traffic_reg_write),
        .s_reg_addr(s_traffic_reg_addr),
        .s_reg_wdata(s_traffic_reg_wdata),
        .s_reg_ready(s_traffic_reg_ready),
        .s_reg_error(s_traffic_reg_error),
        .s_reg_rdata(s_traffic_reg_rdata),
        .pause_conf(pause_conf),
        .threshold_roce(threshold_roce),
        .threshold_other(threshold_other),
        .receive_level({{(16-LEVEL_WIDTH){1'b0}}, receive_level}),
        .port_rate(port_rate),
        .port_size(port_size),
        .cnp_interval(cnp_interval),
        .cnp_class(cnp_class),
        .paused_classes(paused_classes),
        .waiting(level_waiting),
        .busy_valid(level_busy),
        .busy_level(level_served),
        .served_valid(request_valid),
        .marked_valid(marked_valid),
        .s_axis_roce_tdata(roce_tdata),
        .s_axis_roce_tkeep(roce_tkeep),
        .s_axis_roce_tvalid(roce_tvalid),
        .s_axis_roce_tready(roce_tready),
        .s_axis_roce_tlast(roce_tlast),
        .s_axis_host_tdata(s_axis_host_tdata),
        .s_axis_host_tkeep(s_axis_host_tkeep),
        .s_axis_host_tvalid(s_axis_host_tvalid),
        .s_axis_host_tready(s_axis_host_tready),
        .s_axis_host_tlast(s_axis_host_tlast),
        .m_axis_host_tdata(m_axis_host_tdata),
        .m_axis_host_tkeep(m_axis_host_tkeep),
        .m_axis_host_tvalid(m_axis_host_tvalid),
        .m_axis_host_tready(m_axis_host_tready),
        .m_axis_host_tlast(m_axis_host_tlast),
        .m_axis_mac_tdata(m_axis_mac_tdata),
        .m_axis_mac_tkeep(m_axis_mac_tkeep),
        .m_axis_mac_tvalid(m_axis_mac_tvalid),
        .m_axis_mac_tready(m_axis_mac_tready),
        .m_axis_mac_tlast(m_axis_mac_tlast),
        .s_axis_mac_tdata(s_axis_mac_tdata),
        .s_axis_mac_tkeep(s_axis_mac_tkeep),
        .s_axis_mac_tvalid(s_axis_mac_tvalid),
        .s_axis_mac_tlast(s_axis_mac_tlast),
        .s_axis_mac_tuser(s_axis_mac_tuser),
        .mac_pause_request(mac_pause_request),
        .mac_pause_send(mac_pause_send)
    );
    // verilator lint_on PINCONNECTEMPTY

endmodule

`default_nettype wire
