// The control half of the RDMA engine: registers, send queues, scheduling, acknowledgements, retries, completions.
//
//     doorbell -> fetch -> requester -> packet commands          (to ernic_launch)
//                  ^  rewind  |  ^ retry
//                  '----------'  |
//     acknowledgements ----> ack engine -> ring release, completions -> memory, interrupt
//                                ^
//                              timers

`timescale 1ns / 1fs
`default_nettype none
`include "ernic_command.vh"
`include "ernic_ticket.vh"

module ernic_control #(
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
    // Acknowledgements waiting. Power of two, at least 2.
    parameter ACK_QUEUE = 32,
    // READs of peers that may wait for their answer. Power of two, 2 to 64.
    parameter READ_JOBS = 4,
    // Memory on the chip for send queues, in bytes. Power of two, 4096 to 65536.
    parameter QUEUE_MEMORY_BYTES = 32768,
    // Core clocks in 4.096 us, for times-out while XRNICADCONF.TICK_WIDTH is 0. 1 to 65536.
    parameter TICK_CLOCKS = 1320
) (
    input  wire         clk,
    input  wire         rst,

    // Register bus.
    input  wire         s_reg_valid,
    input  wire         s_reg_write,
    input  wire [20:0]  s_reg_addr,
    input  wire [31:0]  s_reg_wdata,
    output wire         s_reg_ready,
    output wire         s_reg_error,
    output wire [31:0]  s_reg_rdata,
    output wire         irq,

    // Doorbells by hardware (PG332): the address of SQPI or RQCI in the engine's page, and the index.
    input  wire         s_sq_doorbell_valid,
    output wire         s_sq_doorbell_ready,
    input  wire [31:0]  s_sq_doorbell_address,
    input  wire [15:0]  s_sq_doorbell_index,
    input  wire         s_rq_doorbell_valid,
    output wire         s_rq_doorbell_ready,
    input  wire [31:0]  s_rq_doorbell_address,
    input  wire [15:0]  s_rq_doorbell_index,

    // Memory on the chip: written and read by words.
    output wire         memory_write_valid,
    output wire [15:2]  memory_write_address,
    output wire [31:0]  memory_write_data,
    output wire         memory_read_load,
    output wire [15:2]  memory_read_address,
    input  wire [31:0]  memory_read_data,
    // Rows of it: one was written; one is read.
    input  wire         memory_touched_valid,
    input  wire [9:0]   memory_touched_row,
    // An entry that hardware writes there, its queue pair (0: none) and number; the row counts as written a cycle later.
    input  wire         memory_given_valid,
    input  wire [7:0]   memory_given_qpn,
    input  wire [15:0]  memory_given_number,
    input  wire [9:0]   memory_given_row,
    input  wire [511:0] memory_given_data,
    output wire         memory_look_valid,
    input  wire         memory_look_ready,
    output wire [9:0]   memory_look_row,
    input  wire [511:0] memory_look_data,

    // Static configuration of the datapath.
    output wire [47:0]  local_mac,
    output wire [31:0]  local_ip,
    output wire [15:0]  udp_source_port,
    // Pause (PG332).
    output wire [13:0]  pause_conf,
    output wire [31:0]  threshold_roce,
    output wire [31:0]  threshold_other,

    // Rate of the port; least clocks between congestion notifications and their traffic class. What waits, for the counters.
    input  wire [31:0]  port_rate,
    input  wire [23:0]  port_size,
    input  wire [23:0]  cnp_interval,
    input  wire [7:0]   cnp_class,
    output wire [3:1]   level_waiting,
    output wire         level_busy,
    output wire [1:0]   level_served,
    // Good packet received with the mark of congestion, or without; a mark counts; a notification has come.
    input  wire         good_valid,
    input  wire         good_marked,
    input  wire [7:0]   good_opcode,
    input  wire [23:0]  good_qpn,
    output wire         marked_valid,
    input  wire         cnp_in_valid,
    // Congestion notifications to be sent.
    output wire         m_cnp_valid,
    input  wire         m_cnp_ready,
    output wire [`EB_CMD_WIDTH-1:0] m_cnp,

    // Packets to be sent, each at a level that has room. A queue pair is switched off: its packets are not to be sent; it has had an
    // error: its requests are not.
    input  wire [3:0]   level_ready,
    output wire         m_cmd_valid,
    output wire [1:0]   m_cmd_level,
    output wire [`EB_CMD_WIDTH-1:0] m_cmd,
    output wire         purge_valid,
    output wire [7:0]   purge_qp,
    output reg          flush_valid,
    output wire [7:0]   flush_qp,
    // A packet could not be sent for want of its payload; one of an unreliable transport has left.
    // verilator lint_off UNUSEDSIGNAL
    // A command has room for the index of any queue pair.
    input  wire         failed_valid,
    input  wire [7:0]   failed_qp,
    input  wire         report_valid,
    input  wire [7:0]   report_qp,
    // verilator lint_on UNUSEDSIGNAL
    input  wire [1:0]   report_epoch,
    input  wire [23:0]  report_psn,
    // A frame has left.
    input  wire         frame_out,

    // Acknowledgements and READ responses received, and where the responses' data belong; data writes done (modulo 256; an error comes with the step). Other
    // packets, drops, all packets, to be counted.
    input  wire         s_ack_valid,
    output wire         s_ack_ready,
    input  wire         s_ack_is_read,
    input  wire         s_ack_is_last,
    input  wire [12:0]  s_ack_bytes,
    input  wire [23:0]  s_ack_qpn,
    input  wire [23:0]  s_ack_psn,
    input  wire [7:0]   s_ack_syndrome,
    input  wire [31:0]  s_ack_source_ip,
    input  wire [47:0]  s_ack_source_mac,
    input  wire [15:0]  s_ack_pkey,
    output wire         m_decision_valid,
    input  wire         m_decision_ready,
    output wire         m_decision_accept,
    output wire [63:0]  m_decision_address,
    input  wire [7:0]   read_writes_done,
    input  wire         read_write_error,
    input  wire         other_valid,
    input  wire [7:0]   other_opcode,
    input  wire [7:0]   other_qpn,
    input  wire         packet_in,
    input  wire         drop_valid,
    input  wire [4:0]   drop_cause,

    // Ring space that is free again.
    output wire         release_valid,
    input  wire         release_ready,
    output wire [31:0]  release_address,
    output wire [31:0]  release_bytes,
    output wire         release_complete,

    // Packets are taken at all.
    output wire         receive_enabled,
    // Requests, decisions about their data, how many of the accepted ones are written; an error comes with the count's step.
    input  wire         s_request_valid,
    output wire         s_request_ready,
    input  wire [`EB_TICKET_WIDTH-1:0] s_request_ticket,
    output wire         m_accept_valid,
    input  wire         m_accept_ready,
    output wire         m_accept_accept,
    output wire [63:0]  m_accept_address,
    input  wire [7:0]   request_written,
    input  wire         request_error,
    // Acknowledgements and READ responses to be sent; memory did not give a READ response's payload.
    output wire         m_response_valid,
    input  wire         m_response_ready,
    output wire [`EB_CMD_WIDTH-1:0] m_response_cmd,
    input  wire         unread_valid,
    // verilator lint_off UNUSEDSIGNAL
    // As many bits as there are queue pairs.
    input  wire [7:0]   unread_qp,
    // verilator lint_on UNUSEDSIGNAL
    // Immediate data (PG332): [31:0] data, [39:32] type, [47:40] queue pair, [55:48] receive queue index.
    output wire         m_notice_valid,
    input  wire         m_notice_ready,
    output wire [63:0]  m_notice,

    // AXI4 master: send queue entries in, completions out.
    output wire [63:0]  m_axi_awaddr,
    output wire [7:0]   m_axi_awlen,
    output wire [2:0]   m_axi_awsize,
    output wire [1:0]   m_axi_awburst,
    output wire         m_axi_awvalid,
    input  wire         m_axi_awready,
    output wire [511:0] m_axi_wdata,
    output wire [63:0]  m_axi_wstrb,
    output wire         m_axi_wlast,
    output wire         m_axi_wvalid,
    input  wire         m_axi_wready,
    input  wire [1:0]   m_axi_bresp,
    input  wire         m_axi_bvalid,
    output wire         m_axi_bready,
    output wire [63:0]  m_axi_araddr,
    output wire [7:0]   m_axi_arlen,
    output wire [2:0]   m_axi_arsize,
    output wire [1:0]   m_axi_arburst,
    output wire         m_axi_arvalid,
    input  wire         m_axi_arready,
    input  wire [511:0] m_axi_rdata,
    input  wire [1:0]   m_axi_rresp,
    input  wire         m_axi_rlast,
    input  wire         m_axi_rvalid,
    output wire         m_axi_rready
);

    localparam QP_WIDTH = $clog2(NUM_QP);
    localparam INDEX_WIDTH = $clog2(OUTSTANDING);
    localparam [15:0] MAX_MESSAGES = OUTSTANDING;

    wire                   engine_enabled;
    wire                   no_fatal;
    wire [3:0]             tick_width;
    wire [7:0]             ack_interval;
    wire                   migreq;
    wire [63:3]            fatal_base;
    wire [15:0]            fatal_size;
    wire [NUM_QP-1:0]      qp_enabled;
    wire                   sweep_valid;
    wire [7:0]             sweep_entry;
    wire                   access_load;
    wire                   access_write_qp;
    wire                   access_write_region;
    wire [QP_WIDTH-1:0]    load_qp;
    wire [7:0]             load_entry;
    wire [7:0]             load_offset;
    wire [QP_WIDTH-1:0]    access_qp;
    wire [7:0]             access_entry;
    wire [7:0]             access_offset;
    wire [31:0]            access_data;
    wire [31:0]            config_data;
    wire [31:0]            region_data;
    wire                   doorbell_valid;
    wire                   doorbell_plain;
    wire                   doorbell_beyond;
    wire                   given_valid = memory_given_valid && memory_given_qpn != 8'd0 && {1'b0, memory_given_qpn} <= NUM_QP;
    wire [QP_WIDTH-1:0]    given_index = memory_given_qpn[QP_WIDTH-1:0] - 1'b1;
    wire                   look_load;
    wire [QP_WIDTH-1:0]    look_qp;
    wire [63:5]            look_base;
    wire [15:0]            look_depth;
    wire [15:0]            look_posted;
    wire                   armed_valid;
    wire                   armed_renewed;
    wire [QP_WIDTH-1:0]    armed_qp;
    wire [15:0]            armed_number;
    wire [248:0]           armed_entry;
    wire                   armed_sent;
    wire                   wqe_armed;
    wire                   fetch_calm;
    wire                   ring_valid;
    wire                   ring_ready;
    wire                   ring_receive;
    wire [31:0]            ring_address;
    wire [15:0]            ring_index;
    wire                   enabled_valid;
    wire                   requester_command_valid;
    wire                   requester_command_done;
    wire                   ack_command_valid;
    wire                   ack_command_done;
    wire                   fetch_command_valid;
    wire                   fetch_command_done;
    wire                   completion_command_valid;
    wire                   completion_command_done;
    wire                   clear_valid;
    wire                   command_sets_psn;
    wire                   command_sets_number;
    wire                   command_sets_status;
    wire [15:0]            status_index;
    wire [15:0]            status_posted;
    wire [15:0]            status_current;
    wire [15:0]            status_started;
    wire [15:0]            status_done;
    wire [15:0]            status_depth;
    wire [15:0]            status_head;
    wire [23:0]            status_next_psn;
    wire [23:0]            status_oldest_psn;
    wire [23:0]            status_ssn;
    wire [6:0]             status_syndrome;
    wire [2:0]             status_retries;
    wire [2:0]             status_rnr_retries;
    wire [NUM_QP-1:0]      qp_fatal;
    wire [NUM_QP-1:0]      qp_retried;
    wire [15:0]            fatal_pointer;
    wire                   posted_valid;
    wire                   sent_valid;
    wire                   sent_again;
    wire [QP_WIDTH-1:0]    started_qp;
    wire                   started_valid;
    wire                   illegal_valid;
    wire                   nak_valid;
    wire                   ignored_valid;
    wire                   lost_valid;
    wire                   timeout_valid;
    wire                   wait_valid;
    wire                   retry_valid;
    wire                   fatal_valid;
    wire [4:0]             fatal_code;
    wire [QP_WIDTH-1:0]    ack_qp;
    wire                   interrupt_valid;
    wire [QP_WIDTH-1:0]    interrupt_qp;
    wire                   fetch_error;
    wire                   completion_bus_error;
    wire                   requester_idle;
    wire                   fetch_idle;
    wire                   ack_idle;
    wire                   acks_pending;
    wire                   send_load;
    wire [QP_WIDTH-1:0]    send_qp;
    wire [2:0]             send_pmtu;
    wire [15:0]            send_pkey;
    wire [7:0]             send_ttl;
    wire [7:0]             send_traffic_class;
    wire [23:0]            send_dest_qpn;
    wire [47:0]            send_dest_mac;
    wire [31:0]            send_dest_ip;
    wire [31:0]            send_qkey;
    wire                   send_write_each;
    wire [7:0]             send_reads;
    wire [63:5]            send_base;
    wire [15:0]            send_depth;
    wire [2*NUM_QP-1:0]    qp_level;
    wire [2*NUM_QP-1:0]    qp_transport;
    wire [NUM_QP-1:0]      shaped_ok;
    wire                   shape_load;
    wire [QP_WIDTH-1:0]    shape_qp;
    wire [31:0]            shape_rate;
    wire [23:0]            shape_size;
    wire [12:0]            cmd_octets;
    wire                   peer_load;
    wire [QP_WIDTH-1:0]    peer_qp;
    wire [15:0]            peer_pkey;
    wire [7:0]             peer_ttl;
    wire [23:0]            peer_qpn;
    wire [47:0]            peer_mac;
    wire [31:0]            peer_ip;
    wire [7:0]             cnp_opcode;
    wire [7:0]             cnp_traffic_class;
    wire [QP_WIDTH-1:0]    cnp_qp;
    wire [15:0]            cnp_pkey;
    wire [7:0]             cnp_ttl;
    wire [23:0]            cnp_dest_qpn;
    wire [47:0]            cnp_dest_mac;
    wire [31:0]            cnp_dest_ip;
    wire [NUM_QP-1:0]      cnp_scheduled;
    wire                   cnp_schedule_valid;
    wire                   completion_waits;
    wire [7:0]             completion_writes;
    wire                   unwritten_valid;
    wire [QP_WIDTH-1:0]    unwritten_qp;
    wire [15:0]            unwritten_number;
    wire                   fetch_load;
    wire [QP_WIDTH-1:0]    fetch_qp;
    wire [63:5]            fetch_base;
    wire [15:0]            fetch_depth;
    wire                   ack_load;
    wire [2:0]             ack_pmtu;
    wire [14:0]            ack_pkey;
    wire [47:0]            ack_mac;
    wire [31:0]            ack_ip;
    wire [2:0]             ack_retry_limit;
    wire [2:0]             ack_rnr_limit;
    wire                   completion_load;
    wire [QP_WIDTH-1:0]    completion_qp;
    wire [63:5]            completion_base;
    wire [63:0]            completion_doorbell;
    wire [15:0]            completion_depth;
    wire                   completion_write;
    wire                   completion_interrupt;
    wire                   timer_load;
    wire [QP_WIDTH-1:0]    timer_qp;
    wire [5:0]             timer_timeout;
    wire [QP_WIDTH-1:0]    posted_qp;
    wire [15:0]            fetch_posted;
    wire                   completion_depth_for_zero;
    wire                   consumed_valid;
    wire [QP_WIDTH-1:0]    consumed_qp;
    wire [15:0]            fetch_current;
    wire                   rewind_valid;
    wire [15:0]            rewind_number;
    wire                   rewind_ready;
    wire                   filled_valid;
    wire [QP_WIDTH-1:0]    filled_qp;
    wire [15:0]            send_filled;
    wire                   wqe_load;
    wire [15:0]            wqe_number;
    wire                   wqe_good;
    wire [15:0]            wqe_identifier;
    wire [63:0]            wqe_local_address;
    wire [31:0]            wqe_length;
    wire [7:0]             wqe_opcode;
    wire [63:0]            wqe_remote_address;
    wire [31:0]            wqe_remote_key;
    wire [31:0]            wqe_immediate;
    wire [NUM_QP-1:0]      qp_waiting;
    wire                   progress_valid;
    wire [15:0]            send_done;
    wire [23:0]            send_oldest_psn;
    wire [23:0]            send_acked_offset;
    wire [7:0]             send_reads_done;
    wire [INDEX_WIDTH-1:0] started_index;
    wire [23:0]            started_first_psn;
    wire [23:0]            started_last_psn;
    wire                   started_in_ring;
    wire [63:0]            started_address;
    wire [23:0]            started_length;
    wire [15:0]            started_identifier;
    wire [7:0]             started_opcode;
    wire                   flushed_valid;
    wire                   sent_timed_valid;
    wire [15:0]            ack_started;
    wire [23:0]            ack_next_psn;
    wire [23:0]            timer_next_psn;
    wire                   message_load;
    wire [INDEX_WIDTH-1:0] message_index;
    wire [23:0]            message_first_psn;
    wire [23:0]            message_last_psn;
    wire                   message_in_ring;
    wire [63:0]            message_address;
    wire [23:0]            message_length;
    wire [15:0]            message_identifier;
    wire [7:0]             message_opcode;
    wire                   expired_valid;
    wire                   expired_tail;
    wire                   probe_valid;
    wire [15:0]            timer_tail_loss;
    wire [QP_WIDTH-1:0]    expired_qp;
    wire                   expired_ready;
    wire                   completion_valid;
    wire                   completion_ready;
    wire                   completion_fatal;
    wire [QP_WIDTH-1:0]    completion_for;
    wire [15:0]            completion_number;
    wire [15:0]            completion_identifier;
    wire [7:0]             completion_opcode;
    wire [7:0]             completion_error;
    wire                   ack_timed_valid;
    wire [4:0]             wait_code;
    wire [23:0]            timer_oldest_psn;

    // verilator lint_off UNUSEDSIGNAL
    // LSTOUTPKT has room for 16 bits.
    wire [23:0] command_psn = m_cmd[`EB_CMD_PSN];
    // verilator lint_on UNUSEDSIGNAL

    assign memory_write_address = {access_entry, access_offset[7:2]};
    assign memory_write_data = access_data;
    assign memory_read_load = access_load;
    assign memory_read_address = {load_entry, load_offset[7:2]};

    // Last in the order of commands that switch a queue pair off: nothing of it can come after.
    assign purge_valid = clear_valid;
    assign purge_qp = {{(8-QP_WIDTH){1'b0}}, access_qp};

    // From the cycle of `flush_valid` on the requester makes no packet of that queue pair any more.
    reg  [QP_WIDTH-1:0]    flushed_qp;
    assign flush_qp = {{(8-QP_WIDTH){1'b0}}, flushed_qp};

    always @(posedge clk) begin
        flush_valid <= fatal_valid && !rst;
        flushed_qp <= ack_qp;
    end

    wire                   access_settable;
    wire                   respond_busy;
    wire [31:0]            status_request;
    wire [23:0]            status_msn;
    wire [63:8]            status_buffer;
    wire [15:0]            status_rq_index;
    wire [NUM_QP-1:0]      qp_ended;
    wire [55:0]            notice_oldest;
    wire                   notice_pop;
    wire [QP_WIDTH-1:0]    respond_qp;
    wire                   send_in_valid;
    wire                   datagram_in_valid;
    wire                   duplicate_valid;
    wire                   refused_valid;
    wire                   not_ready_valid;
    wire                   reply_valid;
    wire [QP_WIDTH-1:0]    reply_qp;
    wire                   reply_is_read;
    wire [1:0]             reply_ack_type;
    wire                   ended_valid;
    wire [QP_WIDTH-1:0]    ended_qp;
    wire [4:0]             ended_code;
    wire                   rq_interrupt_valid;
    wire [QP_WIDTH-1:0]    rq_interrupt_qp;
    wire                   notice_lost_valid;
    wire                   data_error;
    wire                   index_error;

    // Completions, and indices of receive queues, share the port.
    wire [63:0]            entry_awaddr;
    wire [7:0]             entry_awlen;
    wire [2:0]             entry_awsize;
    wire                   entry_awvalid;
    wire                   entry_awready;
    wire [511:0]           entry_wdata;
    wire [63:0]            entry_wstrb;
    wire                   entry_wlast;
    wire                   entry_wvalid;
    wire                   entry_wready;
    wire                   entry_bvalid;
    wire                   entry_bready;
    wire [63:0]            index_awaddr;
    wire                   index_awvalid;
    wire                   index_awready;
    wire [511:0]           index_wdata;
    wire [63:0]            index_wstrb;
    wire                   index_wvalid;
    wire                   index_wready;
    wire                   index_bvalid;
    wire                   index_bready;

    assign receive_enabled = engine_enabled;

    // The sweep covers 256 memory regions; queue pairs are fewer.
    wire sweep_qps = sweep_valid && {1'b0, sweep_entry} < NUM_QP;
    wire [QP_WIDTH-1:0] sweep_qp = sweep_entry[QP_WIDTH-1:0];

    ernic_doorbell_ports doorbells (
        .clk(clk),
        .rst(rst),
        .s_sq_valid(s_sq_doorbell_valid),
        .s_sq_ready(s_sq_doorbell_ready),
        .s_sq_address(s_sq_doorbell_address),
        .s_sq_index(s_sq_doorbell_index),
        .s_rq_valid(s_rq_doorbell_valid),
        .s_rq_ready(s_rq_doorbell_ready),
        .s_rq_address(s_rq_doorbell_address),
        .s_rq_index(s_rq_doorbell_index),
        .m_valid(ring_valid),
        .m_ready(ring_ready),
        .m_receive(ring_receive),
        .m_address(ring_address),
        .m_index(ring_index)
    );

    ernic_registers #(
        .NUM_QP(NUM_QP),
        .GLOBAL_BASE(GLOBAL_BASE),
        .QP_BASE(QP_BASE)
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
        .irq(irq),
        .s_ring_valid(ring_valid),
        .s_ring_ready(ring_ready),
        .s_ring_receive(ring_receive),
        .s_ring_address(ring_address),
        .s_ring_index(ring_index),
        .engine_enabled(engine_enabled),
        .udp_source_port(udp_source_port),
        .no_fatal(no_fatal),
        .tick_width(tick_width),
        .local_mac(local_mac),
        .local_ip(local_ip),
        .ack_interval(ack_interval),
        .migreq(migreq),
        .fatal_base(fatal_base),
        .fatal_size(fatal_size),
        .qp_enabled(qp_enabled),
        .pause_conf(pause_conf),
        .threshold_roce(threshold_roce),
        .threshold_other(threshold_other),
        .sweep_valid(sweep_valid),
        .sweep_entry(sweep_entry),
        .access_load(access_load),
        .access_write_qp(access_write_qp),
        .access_write_region(access_write_region),
        .access_write_memory(memory_write_valid),
        .access_settable(access_settable),
        .load_qp(load_qp),
        .load_entry(load_entry),
        .load_offset(load_offset),
        .access_qp(access_qp),
        .access_entry(access_entry),
        .access_offset(access_offset),
        .access_data(access_data),
        .config_data(config_data),
        .region_data(region_data),
        .memory_data(memory_read_data),
        .respond_busy(respond_busy),
        .doorbell_valid(doorbell_valid),
        .doorbell_plain(doorbell_plain),
        .enabled_valid(enabled_valid),
        .requester_command_valid(requester_command_valid),
        .requester_command_done(requester_command_done),
        .ack_command_valid(ack_command_valid),
        .ack_command_done(ack_command_done),
        .fetch_command_valid(fetch_command_valid),
        .fetch_command_done(fetch_command_done),
        .completion_command_valid(completion_command_valid),
        .completion_command_done(completion_command_done),
        .clear_valid(clear_valid),
        .command_sets_psn(command_sets_psn),
        .command_sets_number(command_sets_number),
        .command_sets_status(command_sets_status),
        .status_index(status_index),
        .status_posted(status_posted),
        .status_current(status_current),
        .status_started(status_started),
        .status_done(status_done),
        .status_depth(status_depth),
        .status_head(status_head),
        .status_messages_full(status_started - status_done >= MAX_MESSAGES),
        .status_next_psn(status_next_psn),
        .status_oldest_psn(status_oldest_psn),
        .status_ssn(status_ssn),
        .status_syndrome(status_syndrome),
        .status_retries(status_retries),
        .status_rnr_retries(status_rnr_retries),
        .status_completions_full(completion_valid && !completion_ready),
        .qp_fatal(qp_fatal),
        .qp_retried(qp_retried),
        .fatal_pointer(fatal_pointer),
        .status_request(status_request),
        .status_msn(status_msn),
        .status_buffer(status_buffer),
        .status_rq_index(status_rq_index),
        .qp_ended(qp_ended),
        .notice_oldest(notice_oldest),
        .notice_pop(notice_pop),
        .doorbell_taken(posted_valid),
        .doorbell_beyond(doorbell_beyond),
        .sent_valid(sent_valid),
        .sent_again(sent_again),
        .sent_qp(started_qp),
        .started_valid(started_valid),
        .illegal_valid(illegal_valid),
        .cnp_in_valid(cnp_in_valid),
        .cnp_out_valid(m_cnp_valid && m_cnp_ready),
        .cnp_scheduled(cnp_scheduled),
        .cnp_schedule_valid(cnp_schedule_valid),
        .command_waits(level_ready[3:1] != 3'b111),
        .command_taken(m_cmd_valid),
        .command_opcode(m_cmd[`EB_CMD_OPCODE]),
        .command_psn(command_psn[15:0]),
        .frame_out(frame_out),
        .packet_in(packet_in),
        .drop_valid(drop_valid),
        .drop_cause(drop_cause),
        // READ responses are counted as what they are.
        .ack_in_valid(s_ack_valid && !s_ack_is_read),
        .ack_in_qpn(s_ack_qpn[7:0]),
        .ack_in_psn(s_ack_psn[15:0]),
        .ack_in_type(s_ack_syndrome[6:5]),
        .other_valid(other_valid),
        .other_opcode(other_opcode),
        .other_qpn(other_qpn),
        .nak_valid(nak_valid),
        .ignored_valid(ignored_valid),
        .lost_valid(lost_valid),
        .timeout_valid(timeout_valid),
        .probe_valid(probe_valid),
        .wait_valid(wait_valid),
        .retry_valid(retry_valid),
        .fatal_valid(fatal_valid),
        .fatal_code(fatal_code),
        .ack_qp(ack_qp),
        .interrupt_valid(interrupt_valid),
        .interrupt_qp(interrupt_qp),
        .fetch_error(fetch_error),
        .completion_error(completion_bus_error),
        .requester_idle(requester_idle),
        .fetch_idle(fetch_idle),
        .ack_idle(ack_idle),
        .acks_pending(acks_pending),
        .respond_qp(respond_qp),
        .send_in_valid(send_in_valid),
        .datagram_in_valid(datagram_in_valid),
        .duplicate_valid(duplicate_valid),
        .refused_valid(refused_valid),
        .not_ready_valid(not_ready_valid),
        .reply_valid(reply_valid),
        .reply_qp(reply_qp),
        .reply_is_read(reply_is_read),
        .reply_ack_type(reply_ack_type),
        .rq_interrupt_valid(rq_interrupt_valid),
        .rq_interrupt_qp(rq_interrupt_qp),
        .notice_lost_valid(notice_lost_valid),
        .data_error(data_error),
        .read_write_error(read_write_error),
        .index_error(index_error)
    );

    ernic_qp_config #(
        .NUM_QP(NUM_QP)
    ) configuration (
        .clk(clk),
        .sweep_valid(sweep_qps),
        .sweep_qp(sweep_qp),
        .clear_valid(clear_valid),
        .clear_qp(access_qp),
        .write_valid(access_write_qp),
        .write_qp(access_qp),
        .write_offset(access_offset),
        .write_data(access_data),
        .read_load(access_load),
        .read_qp(load_qp),
        .read_offset(load_offset),
        .read_data(config_data),
        .read_depth(status_depth),
        .send_load(send_load),
        .send_qp(send_qp),
        .send_pmtu(send_pmtu),
        .send_pkey(send_pkey),
        .send_ttl(send_ttl),
        .send_traffic_class(send_traffic_class),
        .send_dest_qpn(send_dest_qpn),
        .send_dest_mac(send_dest_mac),
        .send_dest_ip(send_dest_ip),
        .send_qkey(send_qkey),
        .send_write_each(send_write_each),
        .send_reads(send_reads),
        .send_base(send_base),
        .send_depth(send_depth),
        .qp_level(qp_level),
        .qp_transport(qp_transport),
        .fetch_load(fetch_load),
        .fetch_qp(fetch_qp),
        .fetch_base(fetch_base),
        .fetch_depth(fetch_depth),
        .look_load(look_load),
        .look_qp(look_qp),
        .look_base(look_base),
        .look_depth(look_depth),
        .ack_load(ack_load),
        .ack_qp(ack_qp),
        .ack_pmtu(ack_pmtu),
        .ack_pkey(ack_pkey),
        .ack_mac(ack_mac),
        .ack_ip(ack_ip),
        .ack_retry_limit(ack_retry_limit),
        .ack_rnr_limit(ack_rnr_limit),
        .completion_load(completion_load),
        .completion_qp(completion_qp),
        .completion_base(completion_base),
        .completion_doorbell(completion_doorbell),
        .completion_depth(completion_depth),
        .completion_write(completion_write),
        .completion_interrupt(completion_interrupt),
        .shape_load(shape_load),
        .shape_qp(shape_qp),
        .shape_rate(shape_rate),
        .shape_size(shape_size),
        .peer_load(peer_load),
        .peer_qp(peer_qp),
        .peer_pkey(peer_pkey),
        .peer_ttl(peer_ttl),
        .peer_qpn(peer_qpn),
        .peer_mac(peer_mac),
        .peer_ip(peer_ip),
        .timer_load(timer_load),
        .timer_qp(timer_qp),
        .timer_timeout(timer_timeout),
        .timer_tail_loss(timer_tail_loss)
    );

    ernic_command_octets length (
        .cmd(m_cmd),
        .octets(cmd_octets)
    );

    ernic_shaper #(
        .NUM_QP(NUM_QP)
    ) shaper (
        .clk(clk),
        .rst(rst),
        .sweep_valid(sweep_valid),
        .config_load(shape_load),
        .config_qp(shape_qp),
        .config_rate(shape_rate),
        .config_size(shape_size),
        .port_rate(port_rate),
        .port_size(port_size),
        .debit_valid(m_cmd_valid),
        .debit_qp(started_qp),
        .debit_octets(cmd_octets),
        .shaped_ok(shaped_ok)
    );

    ernic_cnp #(
        .NUM_QP(NUM_QP)
    ) congestion (
        .clk(clk),
        .rst(rst),
        .qp_enabled(qp_enabled),
        .interval(cnp_interval),
        .traffic_class(cnp_class),
        .s_valid(good_valid),
        .s_ecn({2{good_marked}}),
        .s_opcode(good_opcode),
        .s_qpn(good_qpn),
        .peer_load(peer_load),
        .peer_qp(peer_qp),
        .peer_pkey(peer_pkey),
        .peer_ttl(peer_ttl),
        .peer_qpn(peer_qpn),
        .peer_mac(peer_mac),
        .peer_ip(peer_ip),
        .m_cmd_valid(m_cnp_valid),
        .m_cmd_ready(m_cnp_ready),
        .m_cmd_opcode(cnp_opcode),
        .m_cmd_traffic_class(cnp_traffic_class),
        .m_cmd_qp(cnp_qp),
        .m_cmd_pkey(cnp_pkey),
        .m_cmd_ttl(cnp_ttl),
        .m_cmd_dest_qpn(cnp_dest_qpn),
        .m_cmd_dest_mac(cnp_dest_mac),
        .m_cmd_dest_ip(cnp_dest_ip),
        .scheduled(cnp_scheduled),
        .schedule_valid(cnp_schedule_valid),
        .marked_valid(marked_valid)
    );

    // Its reserved octets are a RETH of zeros.
    reg [`EB_CMD_WIDTH-1:0] cnp;
    assign m_cnp = cnp;

    always @* begin
        cnp = {`EB_CMD_WIDTH{1'b0}};
        cnp[`EB_CMD_OPCODE] = cnp_opcode;
        cnp[`EB_CMD_MIGREQ] = migreq;
        cnp[`EB_CMD_BECN] = 1'b1;
        cnp[`EB_CMD_PKEY] = cnp_pkey;
        cnp[`EB_CMD_DEST_QPN] = cnp_dest_qpn;
        cnp[`EB_CMD_DEST_MAC] = cnp_dest_mac;
        cnp[`EB_CMD_DEST_IP] = cnp_dest_ip;
        cnp[`EB_CMD_TRAFFIC_CLASS] = cnp_traffic_class;
        cnp[`EB_CMD_TTL] = cnp_ttl;
        cnp[`EB_CMD_QP] = {{(8-QP_WIDTH){1'b0}}, cnp_qp};
    end

    ernic_qp_doorbell #(
        .NUM_QP(NUM_QP)
    ) doorbell (
        .clk(clk),
        .rst(rst),
        .clear_valid(clear_valid || sweep_qps),
        .clear_qp(sweep_qps ? sweep_qp : access_qp),
        .status_load(access_load),
        .status_qp(load_qp),
        .status_index(status_index),
        .status_posted(status_posted),
        .write_valid(doorbell_valid),
        .write_plain(doorbell_plain),
        .write_qp(access_qp),
        .write_index(access_data[15:0]),
        .write_depth(status_depth),
        .write_done(status_done),
        .beyond(doorbell_beyond),
        .posted_valid(posted_valid),
        .posted_qp(posted_qp),
        .fetch_load(fetch_load),
        .fetch_qp(fetch_qp),
        .fetch_posted(fetch_posted),
        .look_load(look_load),
        .look_qp(look_qp),
        .look_posted(look_posted),
        .completion_load(completion_load),
        .completion_qp(completion_qp),
        .completion_depth_for_zero(completion_depth_for_zero)
    );

    ernic_arm #(
        .NUM_QP(NUM_QP),
        .MEMORY_BYTES(QUEUE_MEMORY_BYTES)
    ) arm (
        .clk(clk),
        .rst(rst),
        .qp_enabled(qp_enabled),
        .touched_valid(memory_touched_valid),
        .touched_row(memory_touched_row),
        .given_valid(given_valid),
        .given_qp(given_index),
        .given_number(memory_given_number),
        .given_row(memory_given_row),
        .given_data(memory_given_data),
        .posted_valid(posted_valid),
        .posted_qp(posted_qp),
        .changed_valid(access_write_qp && !doorbell_valid),
        .changed_qp(access_qp),
        .look_load(look_load),
        .look_qp(look_qp),
        .look_base(look_base),
        .look_depth(look_depth),
        .look_posted(look_posted),
        .read_valid(memory_look_valid),
        .read_ready(memory_look_ready),
        .read_row(memory_look_row),
        .read_data(memory_look_data),
        .m_valid(armed_valid),
        .m_renewed(armed_renewed),
        .m_qp(armed_qp),
        .m_number(armed_number),
        .m_entry(armed_entry)
    );

    ernic_wqe_fetch #(
        .NUM_QP(NUM_QP),
        .WQE_BUFFER(WQE_BUFFER)
    ) fetch (
        .clk(clk),
        .rst(rst),
        .qp_enabled(qp_enabled),
        .sweep_valid(sweep_qps),
        .sweep_qp(sweep_qp),
        .command_valid(fetch_command_valid),
        .command_qp(access_qp),
        .command_number(command_sets_number ? access_data[15:0] : 16'd0),
        .command_done(fetch_command_done),
        .posted_valid(posted_valid),
        .posted_qp(posted_qp),
        .enabled_valid(enabled_valid),
        .enabled_qp(access_qp),
        .consumed_valid(consumed_valid),
        .consumed_qp(consumed_qp),
        .fetch_load(fetch_load),
        .fetch_qp(fetch_qp),
        .fetch_posted(fetch_posted),
        .fetch_current(fetch_current),
        .fetch_base(fetch_base),
        .fetch_depth(fetch_depth),
        .rewind_valid(rewind_valid),
        .rewind_qp(send_qp),
        .rewind_number(rewind_number),
        .rewind_ready(rewind_ready),
        .filled_valid(filled_valid),
        .filled_qp(filled_qp),
        .send_load(send_load),
        .send_qp(send_qp),
        .send_filled(send_filled),
        .wqe_load(wqe_load),
        .wqe_qp(send_qp),
        .wqe_number(wqe_number),
        .wqe_armed(wqe_armed),
        .armed_entry(armed_entry),
        .armed_valid(armed_sent),
        .armed_qp(armed_qp),
        .armed_number(armed_number),
        .calm(fetch_calm),
        .wqe_good(wqe_good),
        .wqe_identifier(wqe_identifier),
        .wqe_local_address(wqe_local_address),
        .wqe_length(wqe_length),
        .wqe_opcode(wqe_opcode),
        .wqe_remote_address(wqe_remote_address),
        .wqe_remote_key(wqe_remote_key),
        .wqe_immediate(wqe_immediate),
        .idle(fetch_idle),
        .bus_error(fetch_error),
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

    ernic_requester #(
        .NUM_QP(NUM_QP),
        .RING_BYTES(RING_BYTES),
        .OUTSTANDING(OUTSTANDING),
        .PACKETS_IN_FLIGHT(PACKETS_IN_FLIGHT)
    ) requester (
        .clk(clk),
        .rst(rst),
        .engine_enabled(engine_enabled),
        .qp_enabled(qp_enabled),
        .qp_fatal(qp_fatal),
        .qp_waiting(qp_waiting),
        .shaped_ok(shaped_ok),
        .qp_level(qp_level),
        .qp_transport(qp_transport),
        .ack_interval(ack_interval),
        .migreq(migreq),
        .sweep_valid(sweep_qps),
        .sweep_qp(sweep_qp),
        .command_valid(requester_command_valid),
        .command_qp(access_qp),
        .command_sets_psn(command_sets_psn),
        .command_sets_number(command_sets_number),
        .command_psn(access_data[23:0]),
        .command_number(access_data[15:0]),
        .command_done(requester_command_done),
        .filled_valid(filled_valid),
        .filled_qp(filled_qp),
        .progress_valid(progress_valid),
        .progress_qp(ack_qp),
        .retry_valid(retry_valid),
        .retry_qp(ack_qp),
        .send_load(send_load),
        .send_qp(send_qp),
        .send_pmtu(send_pmtu),
        .send_pkey(send_pkey),
        .send_ttl(send_ttl),
        .send_traffic_class(send_traffic_class),
        .send_dest_qpn(send_dest_qpn),
        .send_dest_mac(send_dest_mac),
        .send_dest_ip(send_dest_ip),
        .send_qkey(send_qkey),
        .send_write_each(send_write_each),
        .send_reads(send_reads),
        .send_base(send_base),
        .send_depth(send_depth),
        .send_filled(send_filled),
        .send_done(send_done),
        .send_oldest_psn(send_oldest_psn),
        .send_acked_offset(send_acked_offset),
        .send_reads_done(send_reads_done),
        .wqe_load(wqe_load),
        .wqe_number(wqe_number),
        .wqe_good(wqe_good),
        .wqe_identifier(wqe_identifier),
        .wqe_local_address(wqe_local_address),
        .wqe_length(wqe_length),
        .wqe_opcode(wqe_opcode),
        .wqe_remote_address(wqe_remote_address),
        .wqe_remote_key(wqe_remote_key),
        .wqe_immediate(wqe_immediate),
        .armed_valid(armed_valid),
        .armed_renewed(armed_renewed),
        .armed_qp(armed_qp),
        .armed_number(armed_number),
        .wqe_armed(wqe_armed),
        .armed_sent(armed_sent),
        .fetch_calm(fetch_calm),
        .posted_valid(posted_valid),
        .posted_qp(posted_qp),
        .rewind_valid(rewind_valid),
        .rewind_number(rewind_number),
        .rewind_ready(rewind_ready),
        .consumed_valid(consumed_valid),
        .consumed_qp(consumed_qp),
        .started_valid(started_valid),
        .started_qp(started_qp),
        .started_index(started_index),
        .started_first_psn(started_first_psn),
        .started_last_psn(started_last_psn),
        .started_in_ring(started_in_ring),
        .started_address(started_address),
        .started_length(started_length),
        .started_identifier(started_identifier),
        .started_opcode(started_opcode),
        .flushed_valid(flushed_valid),
        .illegal_valid(illegal_valid),
        .timed_valid(sent_timed_valid),
        .sent_valid(sent_valid),
        .sent_again(sent_again),
        .idle(requester_idle),
        .fetch_load(fetch_load),
        .fetch_qp(fetch_qp),
        .fetch_current(fetch_current),
        .ack_load(ack_load),
        .ack_qp(ack_qp),
        .ack_started(ack_started),
        .ack_next_psn(ack_next_psn),
        .timer_load(timer_load),
        .timer_qp(timer_qp),
        .timer_next_psn(timer_next_psn),
        .status_load(access_load),
        .status_qp(load_qp),
        .status_current(status_current),
        .status_started(status_started),
        .status_next_psn(status_next_psn),
        .status_ssn(status_ssn),
        .level_ready(level_ready),
        .level_waiting(level_waiting),
        .level_busy(level_busy),
        .level_served(level_served),
        .m_cmd_valid(m_cmd_valid),
        .m_cmd_level(m_cmd_level),
        .m_cmd(m_cmd)
    );

    ernic_wqe_table #(
        .NUM_QP(NUM_QP),
        .OUTSTANDING(OUTSTANDING)
    ) messages (
        .clk(clk),
        .write_valid(started_valid),
        .write_qp(started_qp),
        .write_index(started_index),
        .write_first_psn(started_first_psn),
        .write_last_psn(started_last_psn),
        .write_in_ring(started_in_ring),
        .write_address(started_address),
        .write_length(started_length),
        .write_identifier(started_identifier),
        .write_opcode(started_opcode),
        .read_load(message_load),
        .read_qp(ack_qp),
        .read_index(message_index),
        .read_first_psn(message_first_psn),
        .read_last_psn(message_last_psn),
        .read_in_ring(message_in_ring),
        .read_address(message_address),
        .read_length(message_length),
        .read_identifier(message_identifier),
        .read_opcode(message_opcode)
    );

    ernic_ack_engine #(
        .NUM_QP(NUM_QP),
        .RING_BYTES(RING_BYTES),
        .OUTSTANDING(OUTSTANDING),
        .ACK_QUEUE(ACK_QUEUE)
    ) acknowledgements (
        .clk(clk),
        .rst(rst),
        .qp_enabled(qp_enabled),
        .qp_transport(qp_transport),
        .no_fatal(no_fatal),
        .qp_fatal(qp_fatal),
        .qp_waiting(qp_waiting),
        .qp_retried(qp_retried),
        .sweep_valid(sweep_qps),
        .sweep_qp(sweep_qp),
        .command_valid(ack_command_valid),
        .command_qp(access_qp),
        .command_sets_psn(command_sets_psn),
        .command_sets_number(command_sets_number),
        .command_sets_status(command_sets_status),
        .command_psn(access_data[23:0]),
        .command_number(access_data[15:0]),
        .command_syndrome(access_data[22:16]),
        .command_retries(access_data[26:24]),
        .command_rnr_retries(access_data[30:28]),
        .command_done(ack_command_done),
        .s_ack_valid(s_ack_valid && (engine_enabled || s_ack_is_read)),
        .s_ack_ready(s_ack_ready),
        .s_ack_is_read(s_ack_is_read),
        .s_ack_is_last(s_ack_is_last),
        .s_ack_bytes(s_ack_bytes),
        .s_ack_qpn(s_ack_qpn),
        .s_ack_psn(s_ack_psn),
        .s_ack_syndrome(s_ack_syndrome),
        .s_ack_source_ip(s_ack_source_ip),
        .s_ack_source_mac(s_ack_source_mac),
        .s_ack_pkey(s_ack_pkey),
        .m_decision_valid(m_decision_valid),
        .m_decision_ready(m_decision_ready),
        .m_decision_accept(m_decision_accept),
        .m_decision_address(m_decision_address),
        .report_valid(report_valid),
        .report_qp(report_qp[QP_WIDTH-1:0]),
        .report_epoch(report_epoch),
        .report_psn(report_psn),
        .failed_valid(failed_valid),
        .failed_qp(failed_qp[QP_WIDTH-1:0]),
        .illegal_valid(illegal_valid),
        .flushed_valid(flushed_valid),
        .started_qp(started_qp),
        .ended_valid(ended_valid),
        .ended_qp(ended_qp),
        .ended_code(ended_code),
        .writes_done(read_writes_done),
        .write_error(read_write_error),
        .expired_valid(expired_valid),
        .expired_tail(expired_tail),
        .expired_qp(expired_qp),
        .expired_ready(expired_ready),
        .ack_load(ack_load),
        .ack_qp(ack_qp),
        .ack_pmtu(ack_pmtu),
        .ack_pkey(ack_pkey),
        .ack_mac(ack_mac),
        .ack_ip(ack_ip),
        .ack_retry_limit(ack_retry_limit),
        .ack_rnr_limit(ack_rnr_limit),
        .ack_started(ack_started),
        .ack_next_psn(ack_next_psn),
        .message_load(message_load),
        .message_index(message_index),
        .message_first_psn(message_first_psn),
        .message_last_psn(message_last_psn),
        .message_in_ring(message_in_ring),
        .message_address(message_address),
        .message_length(message_length),
        .message_identifier(message_identifier),
        .message_opcode(message_opcode),
        .release_valid(release_valid),
        .release_ready(release_ready),
        .release_address(release_address),
        .release_bytes(release_bytes),
        .release_complete(release_complete),
        .m_completion_valid(completion_valid),
        .m_completion_ready(completion_ready),
        .m_completion_fatal(completion_fatal),
        .m_completion_qp(completion_for),
        .m_completion_number(completion_number),
        .m_completion_identifier(completion_identifier),
        .m_completion_opcode(completion_opcode),
        .m_completion_error(completion_error),
        .m_completion_waits(completion_waits),
        .m_completion_writes(completion_writes),
        .unwritten_valid(unwritten_valid),
        .unwritten_qp(unwritten_qp),
        .unwritten_number(unwritten_number),
        .progress_valid(progress_valid),
        .retry_valid(retry_valid),
        .timed_valid(ack_timed_valid),
        .wait_valid(wait_valid),
        .wait_code(wait_code),
        .nak_valid(nak_valid),
        .ignored_valid(ignored_valid),
        .lost_valid(lost_valid),
        .timeout_valid(timeout_valid),
        .probe_valid(probe_valid),
        .fatal_valid(fatal_valid),
        .fatal_code(fatal_code),
        .idle(ack_idle),
        .acks_pending(acks_pending),
        .send_load(send_load),
        .send_qp(send_qp),
        .send_done(send_done),
        .send_oldest_psn(send_oldest_psn),
        .send_acked_offset(send_acked_offset),
        .send_reads_done(send_reads_done),
        .timer_load(timer_load),
        .timer_qp(timer_qp),
        .timer_oldest_psn(timer_oldest_psn),
        .status_load(access_load),
        .status_qp(load_qp),
        .status_done(status_done),
        .status_oldest_psn(status_oldest_psn),
        .status_syndrome(status_syndrome),
        .status_retries(status_retries),
        .status_rnr_retries(status_rnr_retries)
    );

    ernic_retry_timer #(
        .NUM_QP(NUM_QP),
        .TICK_CLOCKS(TICK_CLOCKS)
    ) timers (
        .clk(clk),
        .rst(rst),
        .tick_width(tick_width),
        .engine_enabled(engine_enabled),
        .qp_enabled(qp_enabled),
        .qp_fatal(qp_fatal),
        .qp_waiting(qp_waiting),
        .sent_valid(sent_timed_valid),
        .sent_qp(started_qp),
        .restart_valid(ack_timed_valid),
        .restart_qp(ack_qp),
        .any_sent_valid(sent_valid),
        .progress_valid(progress_valid),
        .progress_qp(ack_qp),
        .wait_valid(wait_valid),
        .wait_qp(ack_qp),
        .wait_code(wait_code),
        .timer_load(timer_load),
        .timer_qp(timer_qp),
        .timer_timeout(timer_timeout),
        .timer_tail_loss(timer_tail_loss),
        .timer_next_psn(timer_next_psn),
        .timer_oldest_psn(timer_oldest_psn),
        .expired_valid(expired_valid),
        .expired_tail(expired_tail),
        .expired_qp(expired_qp),
        .expired_ready(expired_ready)
    );

    ernic_completion #(
        .NUM_QP(NUM_QP)
    ) completions (
        .clk(clk),
        .rst(rst),
        .fatal_base(fatal_base),
        .fatal_size(fatal_size),
        .fatal_pointer(fatal_pointer),
        .sweep_valid(sweep_qps),
        .sweep_qp(sweep_qp),
        .command_valid(completion_command_valid),
        .command_qp(access_qp),
        .command_number(command_sets_number ? access_data[15:0] : 16'd0),
        .command_done(completion_command_done),
        .s_completion_valid(completion_valid),
        .s_completion_ready(completion_ready),
        .s_completion_fatal(completion_fatal),
        .s_completion_qp(completion_for),
        .s_completion_number(completion_number),
        .s_completion_identifier(completion_identifier),
        .s_completion_opcode(completion_opcode),
        .s_completion_error(completion_error),
        .s_completion_waits(completion_waits),
        .s_completion_writes(completion_writes),
        .writes_done(read_writes_done),
        .unwritten_valid(unwritten_valid),
        .unwritten_qp(unwritten_qp),
        .unwritten_number(unwritten_number),
        .completion_load(completion_load),
        .completion_qp(completion_qp),
        .completion_base(completion_base),
        .completion_doorbell(completion_doorbell),
        .completion_depth(completion_depth),
        .completion_write(completion_write),
        .completion_interrupt(completion_interrupt),
        .completion_depth_for_zero(completion_depth_for_zero),
        .interrupt_valid(interrupt_valid),
        .interrupt_qp(interrupt_qp),
        .bus_error(completion_bus_error),
        .status_load(access_load),
        .status_qp(load_qp),
        .status_head(status_head),
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
        .m_axi_bready(entry_bready)
    );

    ernic_respond #(
        .NUM_QP(NUM_QP),
        .READ_JOBS(READ_JOBS)
    ) respond (
        .clk(clk),
        .rst(rst),
        .migreq(migreq),
        .qp_enabled(qp_enabled),
        .qp_fatal(qp_fatal),
        .qp_ended(qp_ended),
        .sweep_regions(sweep_valid),
        .sweep_entry(sweep_entry),
        .sweep_qps(sweep_qps),
        .clear_valid(clear_valid),
        .access_write_qp(access_write_qp),
        .access_write_region(access_write_region),
        .access_settable(access_settable),
        .access_qp(access_qp),
        .access_entry(access_entry),
        .access_offset(access_offset),
        .access_data(access_data),
        .busy(respond_busy),
        .access_load(access_load),
        .load_qp(load_qp),
        .load_entry(load_entry),
        .load_offset(load_offset),
        .region_data(region_data),
        .status_request(status_request),
        .status_msn(status_msn),
        .status_buffer(status_buffer),
        .status_rq_index(status_rq_index),
        .notice_oldest(notice_oldest),
        .notice_pop(notice_pop),
        .s_request_valid(s_request_valid),
        .s_request_ready(s_request_ready),
        .s_ticket(s_request_ticket),
        .m_decision_valid(m_accept_valid),
        .m_decision_ready(m_accept_ready),
        .m_decision_accept(m_accept_accept),
        .m_decision_address(m_accept_address),
        .written(request_written),
        .written_error(request_error),
        .unread_valid(unread_valid),
        .unread_qp(unread_qp[QP_WIDTH-1:0]),
        .m_cmd_valid(m_response_valid),
        .m_cmd_ready(m_response_ready),
        .m_cmd(m_response_cmd),
        .m_notice_valid(m_notice_valid),
        .m_notice_ready(m_notice_ready),
        .m_notice(m_notice),
        .m_fatal_valid(ended_valid),
        .m_fatal_ready(1'b1),
        .m_fatal_qp(ended_qp),
        .m_fatal_code(ended_code),
        .event_qp(respond_qp),
        .send_valid(send_in_valid),
        .datagram_valid(datagram_in_valid),
        .duplicate_valid(duplicate_valid),
        .refused_valid(refused_valid),
        .not_ready_valid(not_ready_valid),
        .sent_valid(reply_valid),
        .sent_qp(reply_qp),
        .sent_is_read(reply_is_read),
        .sent_ack_type(reply_ack_type),
        .interrupt_valid(rq_interrupt_valid),
        .interrupt_qp(rq_interrupt_qp),
        .notice_lost_valid(notice_lost_valid),
        .data_error(data_error),
        .doorbell_error(index_error),
        .m_axi_awaddr(index_awaddr),
        .m_axi_awvalid(index_awvalid),
        .m_axi_awready(index_awready),
        .m_axi_wdata(index_wdata),
        .m_axi_wstrb(index_wstrb),
        .m_axi_wvalid(index_wvalid),
        .m_axi_wready(index_wready),
        .m_axi_bresp(m_axi_bresp),
        .m_axi_bvalid(index_bvalid),
        .m_axi_bready(index_bready)
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
        .s1_axi_awaddr(index_awaddr),
        .s1_axi_awlen(8'd0),
        .s1_axi_awsize(3'd2),
        .s1_axi_awvalid(index_awvalid),
        .s1_axi_awready(index_awready),
        .s1_axi_wdata(index_wdata),
        .s1_axi_wstrb(index_wstrb),
        .s1_axi_wlast(1'b1),
        .s1_axi_wvalid(index_wvalid),
        .s1_axi_wready(index_wready),
        .s1_axi_bvalid(index_bvalid),
        .s1_axi_bready(index_bready),
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

    generate
        if (RING_BYTES < 8192 || RING_BYTES != 1 << $clog2(RING_BYTES)) begin : check_ring_bytes
            initial $fatal(1, "%m: RING_BYTES must be a power of two of at least 8192");
        end
    endgenerate

endmodule

`default_nettype wire
