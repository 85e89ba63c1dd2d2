// The receiving half of the engine around ernic_respond: Ethernet frames in, AXI4 writes and packet commands out.
//
// A configuration port stands for the register bus: one write at a time, not while busy.

`timescale 1ns / 1fs
`default_nettype none
`include "registers.vh"
`include "ernic_command.vh"
`include "ernic_ticket.vh"

module respond_bench #(
    parameter NUM_QP = 4,
    parameter READ_JOBS = 4,
    parameter BEATS = 256,
    parameter TICKETS = 64
) (
    input  wire                     clk,
    input  wire                     rst,
    input  wire [47:0]              local_mac,
    input  wire [31:0]              local_ip,
    input  wire                     engine_enabled,

    input  wire                     cfg_valid,
    input  wire                     cfg_region,
    input  wire [7:0]               cfg_index,
    input  wire [7:0]               cfg_offset,
    input  wire [31:0]              cfg_data,
    input  wire                     cfg_load,
    output wire                     cfg_busy,
    output wire [31:0]              status_request,
    output wire [23:0]              status_msn,
    output wire [63:8]              status_buffer,
    output wire [15:0]              status_rq_index,
    output wire [63:0]              notice_oldest,
    input  wire                     notice_pop,
    input  wire [NUM_QP-1:0]        qp_fatal,
    input  wire                     unread_valid,
    input  wire [7:0]               unread_qp,
    output wire [NUM_QP-1:0]        qp_ended,

    input  wire [511:0]             s_axis_tdata,
    input  wire [63:0]              s_axis_tkeep,
    input  wire                     s_axis_tvalid,
    input  wire                     s_axis_tlast,
    output wire                     packet_in,
    output wire                     drop_valid,
    output wire [4:0]               drop_cause,

    output wire                     m_ack_valid,
    output wire                     m_ack_is_read,
    input  wire                     read_valid,
    output wire                     read_ready,
    input  wire                     read_accept,
    input  wire [63:0]              read_address,
    output wire [7:0]               read_written,

    output wire                     m_cmd_valid,
    input  wire                     m_cmd_ready,
    output wire [`EB_CMD_WIDTH-1:0] m_cmd,
    output wire                     m_notice_valid,
    input  wire                     m_notice_ready,
    output wire [63:0]              m_notice,
    output wire                     m_fatal_valid,
    input  wire                     m_fatal_ready,
    output wire [7:0]               m_fatal_qp,
    output wire [4:0]               m_fatal_code,
    output wire [7:0]               event_qp,
    output wire                     send_valid,
    output wire                     datagram_valid,
    output wire                     duplicate_valid,
    output wire                     refused_valid,
    output wire                     not_ready_valid,
    output wire                     sent_valid,
    output wire                     sent_is_read,
    output wire [1:0]               sent_ack_type,
    output wire                     interrupt_valid,
    output wire [7:0]               interrupt_qp,
    output wire                     notice_lost_valid,
    output wire                     data_error,
    output wire                     doorbell_error,

    output wire [63:0]              data_awaddr,
    output wire [7:0]               data_awlen,
    output wire [2:0]               data_awsize,
    output wire [1:0]               data_awburst,
    output wire                     data_awvalid,
    input  wire                     data_awready,
    output wire [511:0]             data_wdata,
    output wire [63:0]              data_wstrb,
    output wire                     data_wlast,
    output wire                     data_wvalid,
    input  wire                     data_wready,
    input  wire [1:0]               data_bresp,
    input  wire                     data_bvalid,
    output wire                     data_bready,

    output wire [63:0]              index_awaddr,
    output wire [7:0]               index_awlen,
    output wire [2:0]               index_awsize,
    output wire [1:0]               index_awburst,
    output wire                     index_awvalid,
    input  wire                     index_awready,
    output wire [511:0]             index_wdata,
    output wire [63:0]              index_wstrb,
    output wire                     index_wlast,
    output wire                     index_wvalid,
    input  wire                     index_wready,
    input  wire [1:0]               index_bresp,
    input  wire                     index_bvalid,
    output wire                     index_bready
);

    localparam QP_WIDTH = $clog2(NUM_QP);

    assign index_awlen = 8'd0;
    assign index_awsize = 3'd2;
    assign index_awburst = 2'b01;
    assign index_wlast = 1'b1;

    reg  [NUM_QP-1:0]   qp_enabled;
    reg                 clear_valid;
    reg                 sweep_valid;
    reg  [7:0]          sweep_entry;
    wire [QP_WIDTH-1:0] qp = cfg_index[QP_WIDTH-1:0];
    wire                write_qp = cfg_valid && !cfg_region;
    wire                conf = write_qp && {12'd0, cfg_offset} == `EB_ERNIC_QP_QPCONF;
    wire                busy;

    assign cfg_busy = busy || sweep_valid || clear_valid;

    always @(posedge clk) begin
        clear_valid <= conf && qp_enabled[qp] && !cfg_data[0];
        if (conf) qp_enabled[qp] <= cfg_data[0];
        sweep_entry <= sweep_entry + 8'd1;
        if (sweep_entry == 8'd255) sweep_valid <= 1'b0;
        if (rst) begin
            qp_enabled <= {NUM_QP{1'b0}};
            clear_valid <= 1'b0;
            sweep_valid <= 1'b1;
            sweep_entry <= 8'd0;
        end
    end

    wire                        ticket_valid;
    wire                        ticket_ready;
    wire [`EB_TICKET_WIDTH-1:0] ticket;
    wire                        beat_valid;
    wire                        beat_ready;
    wire                        beat_end;
    wire [511:0]                beat_data;

    ernic_receive #(
        .BEATS(BEATS),
        .TICKETS(TICKETS)
    ) receive (
        .clk(clk),
        .rst(rst),
        .local_mac(local_mac),
        .local_ip(local_ip),
        .s_axis_tdata(s_axis_tdata),
        .s_axis_tkeep(s_axis_tkeep),
        .s_axis_tvalid(s_axis_tvalid),
        .s_axis_tlast(s_axis_tlast),
        .s_axis_tuser(1'b0),
        .m_packet_in(packet_in),
        .m_drop_valid(drop_valid),
        .m_drop_cause(drop_cause),
        .m_cnp_valid(),
        .m_good_valid(),
        .m_marked_valid(),
        .m_event_opcode(),
        .m_event_qpn(),
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

    wire        request_valid;
    wire        request_ready;
    wire        order_valid;
    wire        order_ready;
    wire        order_discard;
    wire        order_is_read;
    wire        order_stored;
    wire        order_datagram;
    wire [2:0]  order_words;
    wire [12:0] order_bytes;
    wire        decision_valid;
    wire        decision_ready;
    wire        decision_accept;
    wire [63:0] decision_address;
    wire [7:0]  request_written;
    wire        request_error;

    ernic_dispatch dispatch (
        .engine_enabled(engine_enabled),
        .s_ticket_valid(ticket_valid),
        .s_ticket_ready(ticket_ready),
        .s_ticket(ticket),
        .m_ack_valid(m_ack_valid),
        .m_ack_ready(1'b1),
        .m_ack_is_read(m_ack_is_read),
        .m_request_valid(request_valid),
        .m_request_ready(request_ready),
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
        .s_read_valid(read_valid),
        .s_read_ready(read_ready),
        .s_read_accept(read_accept),
        .s_read_address(read_address),
        .s_request_valid(decision_valid),
        .s_request_ready(decision_ready),
        .s_request_accept(decision_accept),
        .s_request_address(decision_address),
        .m_read_written(read_written),
        .m_read_error(),
        .m_request_written(request_written),
        .m_request_error(request_error),
        .s_beat_valid(beat_valid),
        .s_beat_ready(beat_ready),
        .s_beat_end(beat_end),
        .s_beat_data(beat_data),
        .m_axi_awaddr(data_awaddr),
        .m_axi_awlen(data_awlen),
        .m_axi_awsize(data_awsize),
        .m_axi_awburst(data_awburst),
        .m_axi_awvalid(data_awvalid),
        .m_axi_awready(data_awready),
        .m_axi_wdata(data_wdata),
        .m_axi_wstrb(data_wstrb),
        .m_axi_wlast(data_wlast),
        .m_axi_wvalid(data_wvalid),
        .m_axi_wready(data_wready),
        .m_axi_bresp(data_bresp),
        .m_axi_bvalid(data_bvalid),
        .m_axi_bready(data_bready)
    );

    wire [QP_WIDTH-1:0] short_event_qp;
    wire [QP_WIDTH-1:0] short_fatal_qp;
    wire [QP_WIDTH-1:0] short_interrupt_qp;

    assign event_qp = {{(8-QP_WIDTH){1'b0}}, short_event_qp};
    assign m_fatal_qp = {{(8-QP_WIDTH){1'b0}}, short_fatal_qp};
    assign interrupt_qp = {{(8-QP_WIDTH){1'b0}}, short_interrupt_qp};

    ernic_respond #(
        .NUM_QP(NUM_QP),
        .READ_JOBS(READ_JOBS)
    ) respond (
        .clk(clk),
        .rst(rst),
        .migreq(1'b1),
        .qp_enabled(qp_enabled),
        .qp_fatal(qp_fatal),
        .qp_ended(qp_ended),
        .sweep_regions(sweep_valid),
        .sweep_entry(sweep_entry),
        .sweep_qps(sweep_valid && {1'b0, sweep_entry} < NUM_QP),
        .clear_valid(clear_valid),
        .access_write_qp(write_qp),
        .access_write_region(cfg_valid && cfg_region),
        .access_settable(!qp_enabled[qp]),
        .access_qp(qp),
        .access_entry(cfg_index),
        .access_offset(cfg_offset),
        .access_data(cfg_data),
        .busy(busy),
        .access_load(cfg_load),
        .load_qp(qp),
        .load_entry(cfg_index),
        .load_offset(cfg_offset),
        .region_data(),
        .status_request(status_request),
        .status_msn(status_msn),
        .status_buffer(status_buffer),
        .status_rq_index(status_rq_index),
        .notice_oldest(notice_oldest),
        .notice_pop(notice_pop),
        .s_request_valid(request_valid),
        .s_request_ready(request_ready),
        .s_ticket(ticket),
        .m_decision_valid(decision_valid),
        .m_decision_ready(decision_ready),
        .m_decision_accept(decision_accept),
        .m_decision_address(decision_address),
        .written(request_written),
        .written_error(request_error),
        .unread_valid(unread_valid),
        .unread_qp(unread_qp[QP_WIDTH-1:0]),
        .m_cmd_valid(m_cmd_valid),
        .m_cmd_ready(m_cmd_ready),
        .m_cmd(m_cmd),
        .m_notice_valid(m_notice_valid),
        .m_notice_ready(m_notice_ready),
        .m_notice(m_notice),
        .m_fatal_valid(m_fatal_valid),
        .m_fatal_ready(m_fatal_ready),
        .m_fatal_qp(short_fatal_qp),
        .m_fatal_code(m_fatal_code),
        .event_qp(short_event_qp),
        .send_valid(send_valid),
        .datagram_valid(datagram_valid),
        .duplicate_valid(duplicate_valid),
        .refused_valid(refused_valid),
        .not_ready_valid(not_ready_valid),
        .sent_valid(sent_valid),
        .sent_qp(),
        .sent_is_read(sent_is_read),
        .sent_ack_type(sent_ack_type),
        .interrupt_valid(interrupt_valid),
        .interrupt_qp(short_interrupt_qp),
        .notice_lost_valid(notice_lost_valid),
        .data_error(data_error),
        .doorbell_error(doorbell_error),
        .m_axi_awaddr(index_awaddr),
        .m_axi_awvalid(index_awvalid),
        .m_axi_awready(index_awready),
        .m_axi_wdata(index_wdata),
        .m_axi_wstrb(index_wstrb),
        .m_axi_wvalid(index_wvalid),
        .m_axi_wready(index_wready),
        .m_axi_bresp(index_bresp),
        .m_axi_bvalid(index_bvalid),
        .m_axi_bready(index_bready)
    );

endmodule

`default_nettype wire
