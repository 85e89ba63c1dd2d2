// The responder side: requests in, decisions about their data, acknowledgements and READ responses out.
//
//     requests -> responder (judges) -> effects (wait for memory) -> reply (acknowledgements, READs) -> packet commands
//                     |  memory regions        |-> receive queue (indices, doorbell)
//                decisions -> writer           '-> notices (immediate data)
//
// Software's changes to a queue pair wait until nothing of it is under way; the register bus waits for them (`busy`).

`timescale 1ns / 1fs
`default_nettype none
`include "registers.vh"
`include "ernic_command.vh"
`include "ernic_ticket.vh"

module ernic_respond #(
    // Queue pairs, QP1 (management) included. 2 to 255.
    parameter NUM_QP = 4,
    // READs that may wait for their answer; one more is refused (fatal code 10). Power of two, 2 to 64.
    parameter READ_JOBS = 4,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire                        clk,
    input  wire                        rst,

    // Static configuration, and queue pairs that are in use, or ended by what they sent.
    input  wire                        migreq,
    input  wire [NUM_QP-1:0]           qp_enabled,
    input  wire [NUM_QP-1:0]           qp_fatal,
    // Ended by what came in.
    output wire [NUM_QP-1:0]           qp_ended,

    // Register bus: sweep after reset of memory regions, and of queue pairs; queue pair disabled; writes to queue pair and region.
    // access_settable: positions of access_qp are software's to set.
    input  wire                        sweep_regions,
    input  wire [7:0]                  sweep_entry,
    input  wire                        sweep_qps,
    input  wire                        clear_valid,
    input  wire                        access_write_qp,
    input  wire                        access_write_region,
    input  wire                        access_settable,
    input  wire [QP_WIDTH-1:0]         access_qp,
    input  wire [7:0]                  access_entry,
    input  wire [7:0]                  access_offset,
    input  wire [31:0]                 access_data,
    // Accesses must wait.
    output wire                        busy,
    // Read access: data and status one cycle after the load.
    input  wire                        access_load,
    input  wire [QP_WIDTH-1:0]         load_qp,
    input  wire [7:0]                  load_entry,
    input  wire [7:0]                  load_offset,
    output wire [31:0]                 region_data,
    output wire [31:0]                 status_request,
    output wire [23:0]                 status_msn,
    output wire [63:8]                 status_buffer,
    output wire [15:0]                 status_rq_index,
    // Oldest notice, 0 if there is none; pop takes it.
    output wire [55:0]                 notice_oldest,
    input  wire                        notice_pop,

    // Requests.
    input  wire                        s_request_valid,
    output wire                        s_request_ready,
    input  wire [`EB_TICKET_WIDTH-1:0] s_ticket,
    // Decisions for the writer, and how many of the accepted ones are written.
    output wire                        m_decision_valid,
    input  wire                        m_decision_ready,
    output wire                        m_decision_accept,
    output wire [63:0]                 m_decision_address,
    input  wire [7:0]                  written,
    input  wire                        written_error,
    // Memory did not give the payload of a READ response.
    input  wire                        unread_valid,
    input  wire [QP_WIDTH-1:0]         unread_qp,

    // Packets to be sent.
    output wire                        m_cmd_valid,
    input  wire                        m_cmd_ready,
    output wire [`EB_CMD_WIDTH-1:0]    m_cmd,

    // Notices (PG332): [31:0] data, [39:32] type, [47:40] queue pair, [55:48] receive queue index.
    output wire                        m_notice_valid,
    input  wire                        m_notice_ready,
    output wire [63:0]                 m_notice,

    // A queue pair has ended, with the fatal code of PG332. Held until ready.
    output wire                        m_fatal_valid,
    input  wire                        m_fatal_ready,
    output wire [QP_WIDTH-1:0]         m_fatal_qp,
    output wire [4:0]                  m_fatal_code,

    // Events, one cycle each: packet of a SEND taken, management datagram taken, duplicate, refused packet, receive queue found
    // full (of event_qp); a packet was made (of sent_qp), READ response or acknowledgement of a type; interrupt of a receive
    // queue; notice lost; memory answered with an error.
    output wire [QP_WIDTH-1:0]         event_qp,
    output wire                        send_valid,
    output wire                        datagram_valid,
    output wire                        duplicate_valid,
    output wire                        refused_valid,
    output wire                        not_ready_valid,
    output wire                        sent_valid,
    output wire [QP_WIDTH-1:0]         sent_qp,
    output wire                        sent_is_read,
    output wire [1:0]                  sent_ack_type,
    output wire                        interrupt_valid,
    output wire [QP_WIDTH-1:0]         interrupt_qp,
    output wire                        notice_lost_valid,
    output wire                        data_error,
    output wire                        doorbell_error,

    // AXI4 writes of four octets, one at a time.
    output wire [63:0]                 m_axi_awaddr,
    output wire                        m_axi_awvalid,
    input  wire                        m_axi_awready,
    output wire [511:0]                m_axi_wdata,
    output wire [63:0]                 m_axi_wstrb,
    output wire                        m_axi_wvalid,
    input  wire                        m_axi_wready,
    input  wire [1:0]                  m_axi_bresp,
    input  wire                        m_axi_bvalid,
    output wire                        m_axi_bready
);

    // ----------------------------------------------------------------------------------------------------------- configuration

    wire                judge_load;
    wire [QP_WIDTH-1:0] judge_qp;
    wire [1:0]          judge_transport;
    wire [2:0]          judge_pmtu;
    wire [14:0]         judge_pkey;
    wire [47:0]         judge_mac;
    wire [31:0]         judge_ip;
    wire [31:0]         judge_qkey;
    wire [23:0]         judge_domain;
    wire [15:0]         judge_element;
    wire [63:8]         judge_rq_base;
    wire [15:0]         judge_rq_depth;
    wire [4:0]          judge_rnr_code;
    wire                reply_load;
    wire [QP_WIDTH-1:0] reply_qp;
    wire [2:0]          reply_pmtu;
    wire [15:0]         reply_pkey;
    wire [7:0]          reply_ttl;
    wire [7:0]          reply_traffic_class;
    wire [23:0]         reply_dest_qpn;
    wire [47:0]         reply_dest_mac;
    wire [31:0]         reply_dest_ip;
    wire                queue_load;
    wire [QP_WIDTH-1:0] queue_qp;
    wire [15:0]         queue_depth;
    wire [63:0]         queue_doorbell;
    wire                queue_interrupt;
    wire [15:0]         status_rq_depth;
    wire                region_load;
    wire [7:0]          region_entry;
    wire [23:0]         region_domain;
    wire [63:0]         region_virtual;
    wire [63:0]         region_buffer;
    wire [7:0]          region_key;
    wire [47:0]         region_length;
    wire [3:0]          region_access;
    wire [QP_WIDTH-1:0] sweep_qp = sweep_entry[QP_WIDTH-1:0];

    ernic_respond_config #(
        .NUM_QP(NUM_QP)
    ) configuration (
        .clk(clk),
        .sweep_valid(sweep_qps),
        .sweep_qp(sweep_qp),
        .write_valid(access_write_qp),
        .write_qp(access_qp),
        .write_offset(access_offset),
        .write_data(access_data),
        .judge_load(judge_load),
        .judge_qp(judge_qp),
        .judge_transport(judge_transport),
        .judge_pmtu(judge_pmtu),
        .judge_pkey(judge_pkey),
        .judge_mac(judge_mac),
        .judge_ip(judge_ip),
        .judge_qkey(judge_qkey),
        .judge_domain(judge_domain),
        .judge_element(judge_element),
        .judge_rq_base(judge_rq_base),
        .judge_rq_depth(judge_rq_depth),
        .judge_rnr_code(judge_rnr_code),
        .reply_load(reply_load),
        .reply_qp(reply_qp),
        .reply_pmtu(reply_pmtu),
        .reply_pkey(reply_pkey),
        .reply_ttl(reply_ttl),
        .reply_traffic_class(reply_traffic_class),
        .reply_dest_qpn(reply_dest_qpn),
        .reply_dest_mac(reply_dest_mac),
        .reply_dest_ip(reply_dest_ip),
        .queue_load(queue_load),
        .queue_qp(queue_qp),
        .queue_depth(queue_depth),
        .queue_doorbell(queue_doorbell),
        .queue_interrupt(queue_interrupt),
        .status_load(access_load),
        .status_qp(load_qp),
        .status_depth(status_rq_depth)
    );

    ernic_memory_regions table_of_regions (
        .clk(clk),
        .sweep_valid(sweep_regions),
        .sweep_entry(sweep_entry),
        .write_valid(access_write_region),
        .write_entry(access_entry),
        .write_offset(access_offset),
        .write_data(access_data),
        .read_load(access_load),
        .read_entry(load_entry),
        .read_offset(load_offset),
        .read_data(region_data),
        .check_load(region_load),
        .check_entry(region_entry),
        .check_domain(region_domain),
        .check_virtual(region_virtual),
        .check_buffer(region_buffer),
        .check_key(region_key),
        .check_length(region_length),
        .check_access(region_access)
    );

    // ------------------------------------------------------------------------------------------------- what software changes

    localparam [1:0] CLEAR = 2'd0;
    localparam [1:0] SET_REQUEST = 2'd1;
    localparam [1:0] SET_MSN = 2'd2;
    localparam [1:0] SET_INDEX = 2'd3;

    reg                 command_valid;
    reg  [1:0]          command;
    reg                 consumed_valid;
    reg  [QP_WIDTH-1:0] command_qp;
    reg  [31:0]         command_data;
    wire                command_done;
    wire                consumed_done;
    wire                drained;
    wire                effects_idle;
    wire                queue_idle;
    wire                reply_idle;
    wire [NUM_QP-1:0]   reads_open;

    wire [19:0]         offset = {12'd0, access_offset};
    wire                sets_request = access_write_qp && offset == `EB_ERNIC_QP_LSTRQREQ;
    wire                sets_msn = access_write_qp && access_settable && offset == `EB_ERNIC_QP_STATMSN;
    wire                sets_index = access_write_qp && access_settable && offset == `EB_ERNIC_QP_STATRQPIDB;
    wire                index_done = command_valid && command == SET_INDEX && drained;
    wire                cleared = command_done && command == CLEAR;

    assign busy = command_valid || consumed_valid;
    assign drained = effects_idle && queue_idle && reply_idle && !reads_open[command_qp];

    always @(posedge clk) begin
        if (command_done || index_done) command_valid <= 1'b0;
        if (consumed_done) consumed_valid <= 1'b0;
        if (clear_valid || access_write_qp) begin
            command_qp <= access_qp;
            command_data <= access_data;
        end
        if (clear_valid || sets_request || sets_msn || sets_index) begin
            command_valid <= 1'b1;
            command <= clear_valid ? CLEAR : sets_request ? SET_REQUEST : sets_msn ? SET_MSN : SET_INDEX;
        end
        if (access_write_qp && offset == `EB_ERNIC_QP_RQCI) consumed_valid <= 1'b1;
        if (rst) begin
            command_valid <= 1'b0;
            consumed_valid <= 1'b0;
        end
    end

    // --------------------------------------------------------------------------------------------------------------- judgement

    wire [NUM_QP-1:0]   qp_dead;
    wire [NUM_QP-1:0]   qp_failed;
    wire [NUM_QP-1:0]   qp_unread;
    wire [15:0]         rq_slot;
    // verilator lint_off UNUSEDSIGNAL
    // Notices have room for eight bits.
    wire [15:0]         rq_next_slot;
    // verilator lint_on UNUSEDSIGNAL
    wire                rq_room;
    wire                rq_take;
    wire                region_is_read;
    wire                region_allowed;
    wire [63:0]         region_address;
    wire                effect_valid;
    wire                effect_ready;
    wire [QP_WIDTH-1:0] effect_qp;
    wire                effect_waits;
    wire                effect_connected;
    wire                effect_fills;
    wire [1:0]          effect_notice;
    wire [7:0]          effect_index;
    wire [1:0]          effect_reply;
    wire [7:0]          effect_syndrome;
    wire [23:0]         effect_psn;
    wire [23:0]         effect_msn;
    wire [63:0]         effect_address;
    wire [31:0]         effect_word;
    wire                effect_fatal;
    wire [4:0]          effect_fatal_code;
    wire                read_done;
    wire                read_dropped;
    reg                 region_loaded;

    assign qp_ended = qp_dead | qp_failed | qp_unread;

    ernic_responder #(
        .NUM_QP(NUM_QP),
        .READ_JOBS(READ_JOBS)
    ) responder (
        .clk(clk),
        .rst(rst),
        .qp_enabled(qp_enabled),
        .qp_fatal(qp_fatal),
        .qp_failed(qp_failed | qp_unread),
        .qp_dead(qp_dead),
        .sweep_valid(sweep_qps),
        .sweep_qp(sweep_qp),
        .command_valid(command_valid && command != SET_INDEX),
        .command_qp(command_qp),
        .command_sets_request(command == SET_REQUEST),
        .command_sets_msn(command == SET_MSN),
        .command_data(command_data),
        .command_done(command_done),
        .drained(drained),
        .s_valid(s_request_valid),
        .s_ready(s_request_ready),
        .s_ticket(s_ticket),
        .config_load(judge_load),
        .config_qp(judge_qp),
        .config_transport(judge_transport),
        .config_pmtu(judge_pmtu),
        .config_pkey(judge_pkey),
        .config_mac(judge_mac),
        .config_ip(judge_ip),
        .config_qkey(judge_qkey),
        .config_element(judge_element),
        .config_rq_base(judge_rq_base),
        .config_rnr_code(judge_rnr_code),
        .rq_slot(rq_slot),
        .rq_next_slot(rq_next_slot[7:0]),
        .rq_room(rq_room),
        .rq_take(rq_take),
        .region_load(region_load),
        .region_entry(region_entry),
        .region_is_read(region_is_read),
        .region_allowed(region_allowed),
        .region_address(region_address),
        .m_decision_valid(m_decision_valid),
        .m_decision_ready(m_decision_ready),
        .m_decision_accept(m_decision_accept),
        .m_decision_address(m_decision_address),
        .m_effect_valid(effect_valid),
        .m_effect_ready(effect_ready),
        .m_effect_qp(effect_qp),
        .m_effect_waits(effect_waits),
        .m_effect_connected(effect_connected),
        .m_effect_fills(effect_fills),
        .m_effect_notice(effect_notice),
        .m_effect_index(effect_index),
        .m_effect_reply(effect_reply),
        .m_effect_syndrome(effect_syndrome),
        .m_effect_psn(effect_psn),
        .m_effect_msn(effect_msn),
        .m_effect_address(effect_address),
        .m_effect_word(effect_word),
        .m_effect_fatal(effect_fatal),
        .m_effect_fatal_code(effect_fatal_code),
        .read_done(read_done),
        .read_dropped(read_dropped),
        .event_qp(event_qp),
        .send_valid(send_valid),
        .datagram_valid(datagram_valid),
        .duplicate_valid(duplicate_valid),
        .refused_valid(refused_valid),
        .not_ready_valid(not_ready_valid),
        .status_load(access_load),
        .status_qp(load_qp),
        .status_request(status_request),
        .status_msn(status_msn),
        .status_buffer(status_buffer)
    );

    always @(posedge clk) region_loaded <= region_load;

    ernic_region_check regions (
        .clk(clk),
        .s_valid(region_loaded),
        .s_region_domain(region_domain),
        .s_region_virtual(region_virtual),
        .s_region_buffer(region_buffer),
        .s_region_key(region_key),
        .s_region_length(region_length),
        .s_region_access(region_access),
        .s_domain(judge_domain),
        .s_address(s_ticket[`EB_TICKET_REMOTE_ADDRESS]),
        .s_key(s_ticket[`EB_TICKET_KEY]),
        .s_length(s_ticket[`EB_TICKET_LENGTH]),
        .s_is_read(region_is_read),
        .m_allowed(region_allowed),
        .m_address(region_address)
    );

    // ----------------------------------------------------------------------------------------------------------------- effects

    wire                filled_valid;
    wire [QP_WIDTH-1:0] filled_qp;
    wire                notice_valid;
    wire [63:0]         notice;
    wire                answer_valid;
    wire                answer_is_read;
    wire [QP_WIDTH-1:0] answer_qp;
    wire [23:0]         answer_psn;
    wire [23:0]         answer_msn;
    wire [7:0]          answer_syndrome;
    wire [63:0]         answer_address;
    wire [31:0]         answer_length;

    ernic_respond_effects #(
        .NUM_QP(NUM_QP)
    ) effects (
        .clk(clk),
        .rst(rst),
        .s_valid(effect_valid),
        .s_ready(effect_ready),
        .s_qp(effect_qp),
        .s_waits(effect_waits),
        .s_connected(effect_connected),
        .s_fills(effect_fills),
        .s_notice(effect_notice),
        .s_index(effect_index),
        .s_reply(effect_reply),
        .s_syndrome(effect_syndrome),
        .s_psn(effect_psn),
        .s_msn(effect_msn),
        .s_address(effect_address),
        .s_word(effect_word),
        .s_fatal(effect_fatal),
        .s_fatal_code(effect_fatal_code),
        .written(written),
        .written_error(written_error),
        .unread_valid(unread_valid),
        .unread_qp(unread_qp),
        .clear_valid(cleared),
        .clear_qp(command_qp),
        .idle(effects_idle),
        .qp_failed(qp_failed),
        .qp_unread(qp_unread),
        .bus_error(data_error),
        .filled_valid(filled_valid),
        .filled_qp(filled_qp),
        .notice_valid(notice_valid),
        .notice(notice),
        .reply_valid(answer_valid),
        .reply_is_read(answer_is_read),
        .reply_qp(answer_qp),
        .reply_psn(answer_psn),
        .reply_msn(answer_msn),
        .reply_syndrome(answer_syndrome),
        .reply_address(answer_address),
        .reply_length(answer_length),
        .read_dropped(read_dropped),
        .m_fatal_valid(m_fatal_valid),
        .m_fatal_ready(m_fatal_ready),
        .m_fatal_qp(m_fatal_qp),
        .m_fatal_code(m_fatal_code)
    );

    ernic_notices notices (
        .clk(clk),
        .rst(rst),
        .s_valid(notice_valid),
        .s_data(notice),
        .lost_valid(notice_lost_valid),
        .oldest(notice_oldest),
        .pop(notice_pop),
        .m_valid(m_notice_valid),
        .m_ready(m_notice_ready),
        .m_data(m_notice)
    );

    // ----------------------------------------------------------------------------------------------------------- receive queues

    wire [15:0] status_filled;
    wire        status_depth_for_zero;
    wire [15:0] status_slot = status_filled & (status_rq_depth - 16'd1);

    assign status_rq_index = status_slot == 16'd0 && status_depth_for_zero ? status_rq_depth : status_slot;

    ernic_receive_queue #(
        .NUM_QP(NUM_QP)
    ) queue (
        .clk(clk),
        .rst(rst),
        .set_valid(sweep_qps || cleared || index_done),
        .set_qp(sweep_qps ? sweep_qp : command_qp),
        .set_index(index_done ? command_data[15:0] : 16'd0),
        .consumed_valid(consumed_valid),
        .consumed_qp(command_qp),
        .consumed_index(command_data[15:0]),
        .consumed_done(consumed_done),
        .take_load(judge_load),
        .take_qp(judge_qp),
        .take_depth(judge_rq_depth),
        .take_slot(rq_slot),
        .take_next_slot(rq_next_slot),
        .take_room(rq_room),
        .take_valid(rq_take),
        .filled_valid(filled_valid),
        .filled_qp(filled_qp),
        .queue_load(queue_load),
        .queue_qp(queue_qp),
        .queue_depth(queue_depth),
        .queue_doorbell(queue_doorbell),
        .queue_interrupt(queue_interrupt),
        .interrupt_valid(interrupt_valid),
        .interrupt_qp(interrupt_qp),
        .bus_error(doorbell_error),
        .idle(queue_idle),
        .status_load(access_load),
        .status_qp(load_qp),
        .status_filled(status_filled),
        .status_depth_for_zero(status_depth_for_zero),
        .m_axi_awaddr(m_axi_awaddr),
        .m_axi_awvalid(m_axi_awvalid),
        .m_axi_awready(m_axi_awready),
        .m_axi_wdata(m_axi_wdata),
        .m_axi_wstrb(m_axi_wstrb),
        .m_axi_wvalid(m_axi_wvalid),
        .m_axi_wready(m_axi_wready),
        .m_axi_bresp(m_axi_bresp),
        .m_axi_bvalid(m_axi_bvalid),
        .m_axi_bready(m_axi_bready)
    );

    // ------------------------------------------------------------------------------------------------------------------ answers

    ernic_reply #(
        .NUM_QP(NUM_QP),
        .READ_JOBS(READ_JOBS)
    ) reply (
        .clk(clk),
        .rst(rst),
        .migreq(migreq),
        .qp_alive(qp_enabled & ~qp_unread),
        .clear_valid(cleared),
        .clear_qp(command_qp),
        .s_valid(answer_valid),
        .s_is_read(answer_is_read),
        .s_qp(answer_qp),
        .s_psn(answer_psn),
        .s_msn(answer_msn),
        .s_syndrome(answer_syndrome),
        .s_address(answer_address),
        .s_length(answer_length),
        .reads_open(reads_open),
        .read_done(read_done),
        .idle(reply_idle),
        .reply_load(reply_load),
        .reply_qp(reply_qp),
        .reply_pmtu(reply_pmtu),
        .reply_pkey(reply_pkey),
        .reply_ttl(reply_ttl),
        .reply_traffic_class(reply_traffic_class),
        .reply_dest_qpn(reply_dest_qpn),
        .reply_dest_mac(reply_dest_mac),
        .reply_dest_ip(reply_dest_ip),
        .m_cmd_valid(m_cmd_valid),
        .m_cmd_ready(m_cmd_ready),
        .m_cmd(m_cmd),
        .sent_valid(sent_valid),
        .sent_qp(sent_qp),
        .sent_is_read(sent_is_read),
        .sent_ack_type(sent_ack_type)
    );

endmodule

`default_nettype wire
