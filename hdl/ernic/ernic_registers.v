// The engine's registers in the layout of PG332 v3.1: decoding, global registers, counters, interrupts.
//
// An access takes three cycles: the addressed memories are read, then the value is chosen or the write done, then it is answered.
// What belongs to a queue pair is stored elsewhere (configuration in ernic_qp_config, positions with the engines that move them);
// here a write to such a register becomes a command to those engines, one after the other. The bus does not wait for it, but the
// next access does.
//
// A doorbell by hardware (PG332's handshake ports) is such an access too, to SQPI or RQCI, without an answer: it and the bus come
// one after the other, in turn if both wait. Which of the two may ring for a queue pair is QPCONF.SOFTWARE_DOORBELL's to say.
//
// After reset all memories are swept to their reset values, which takes 256 cycles; accesses wait.

`timescale 1ns / 1fs
`default_nettype none
`include "registers.vh"

module ernic_registers #(
    // Queue pairs. 2 to 255.
    parameter NUM_QP = 4,
    // Where the global registers and those of queue pair 1 begin: multiples of 0x200, not below 0x20000.
    // 0x20000 and 0x20200 as in PG332 v3.1; 0x100000 and 0x180000 as in v4.
    parameter [20:0] GLOBAL_BASE = 21'h020000,
    parameter [20:0] QP_BASE = 21'h020200,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire                clk,
    input  wire                rst,

    // Register bus.
    input  wire                s_reg_valid,
    input  wire                s_reg_write,
    input  wire [20:0]         s_reg_addr,
    input  wire [31:0]         s_reg_wdata,
    output wire                s_reg_ready,
    output wire                s_reg_error,
    output reg  [31:0]         s_reg_rdata,
    output wire                irq,

    // Doorbells by hardware: the address of SQPI or RQCI in this page, the index.
    input  wire                s_ring_valid,
    output wire                s_ring_ready,
    input  wire                s_ring_receive,
    input  wire [31:0]         s_ring_address,
    input  wire [15:0]         s_ring_index,

    // Global configuration.
    output reg                 engine_enabled,
    output reg  [15:0]         udp_source_port,
    output reg                 no_fatal,
    output reg  [3:0]          tick_width,
    output reg  [47:0]         local_mac,
    output reg  [31:0]         local_ip,
    output reg  [7:0]          ack_interval,
    output reg                 migreq,
    output reg  [63:3]         fatal_base,
    output reg  [15:0]         fatal_size,
    output reg  [NUM_QP-1:0]   qp_enabled,
    output reg  [13:0]         pause_conf,
    output reg  [31:0]         threshold_roce,
    output reg  [31:0]         threshold_other,

    // Sweep after reset.
    output reg                 sweep_valid,
    output reg  [7:0]          sweep_entry,

    // Memories of registers: address for both, data one cycle after the load.
    output wire                access_load,
    output wire                access_write_qp,
    output wire                access_write_region,
    output wire                access_write_memory,
    // Positions of `access_qp` are software's to set.
    output wire                access_settable,
    output wire [QP_WIDTH-1:0] load_qp,
    output wire [7:0]          load_entry,
    output wire [7:0]          load_offset,
    output reg  [QP_WIDTH-1:0] access_qp,
    output reg  [7:0]          access_entry,
    output reg  [7:0]          access_offset,
    output reg  [31:0]         access_data,
    input  wire [31:0]         config_data,
    input  wire [31:0]         region_data,
    input  wire [31:0]         memory_data,
    // The responder side is not done with an earlier write.
    input  wire                respond_busy,

    // Doorbell, and a queue pair that was just enabled.
    output wire                doorbell_valid,
    output wire                doorbell_plain,
    output reg                 enabled_valid,

    // Commands to the engines, one at a time in this order: requester, acknowledgements, fetch, completions. All about
    // `access_qp`; a command that sets nothing clears, and then `clear_valid` comes once for everybody else.
    output wire                requester_command_valid,
    input  wire                requester_command_done,
    output wire                ack_command_valid,
    input  wire                ack_command_done,
    output wire                fetch_command_valid,
    input  wire                fetch_command_done,
    output wire                completion_command_valid,
    input  wire                completion_command_done,
    output wire                clear_valid,
    output reg                 command_sets_psn,
    output reg                 command_sets_number,
    output reg                 command_sets_status,

    // Status of `load_qp`, one cycle after the load.
    input  wire [15:0]         status_index,
    input  wire [15:0]         status_posted,
    input  wire [15:0]         status_current,
    input  wire [15:0]         status_started,
    input  wire [15:0]         status_done,
    input  wire [15:0]         status_depth,
    input  wire [15:0]         status_head,
    input  wire                status_messages_full,
    input  wire [23:0]         status_next_psn,
    input  wire [23:0]         status_oldest_psn,
    input  wire [23:0]         status_ssn,
    input  wire [6:0]          status_syndrome,
    input  wire [2:0]          status_retries,
    input  wire [2:0]          status_rnr_retries,
    input  wire                status_completions_full,
    input  wire [NUM_QP-1:0]   qp_fatal,
    input  wire [NUM_QP-1:0]   qp_retried,
    input  wire [15:0]         fatal_pointer,
    input  wire [31:0]         status_request,
    input  wire [23:0]         status_msn,
    input  wire [63:8]         status_buffer,
    input  wire [15:0]         status_rq_index,
    // Queue pairs that have ended by what came in.
    input  wire [NUM_QP-1:0]   qp_ended,
    // Oldest notice of immediate data; pop takes it.
    input  wire [55:0]         notice_oldest,
    output wire                notice_pop,

    // Events to count and report. Queue pairs are given as index or, from the wire, as number.
    input  wire                doorbell_taken,
    input  wire                doorbell_beyond,
    input  wire                sent_valid,
    input  wire                sent_again,
    input  wire [QP_WIDTH-1:0] sent_qp,
    input  wire                started_valid,
    input  wire                illegal_valid,
    input  wire                cnp_in_valid,
    input  wire                cnp_out_valid,
    input  wire [NUM_QP-1:0]   cnp_scheduled,
    input  wire                cnp_schedule_valid,
    input  wire                command_waits,
    input  wire                command_taken,
    input  wire [7:0]          command_opcode,
    input  wire [15:0]         command_psn,
    input  wire                frame_out,
    input  wire                packet_in,
    input  wire                drop_valid,
    input  wire [4:0]          drop_cause,
    input  wire                ack_in_valid,
    input  wire [7:0]          ack_in_qpn,
    input  wire [15:0]         ack_in_psn,
    input  wire [1:0]          ack_in_type,
    input  wire                other_valid,
    input  wire [7:0]          other_opcode,
    input  wire [7:0]          other_qpn,
    input  wire                nak_valid,
    input  wire                ignored_valid,
    input  wire                lost_valid,
    input  wire                timeout_valid,
    input  wire                probe_valid,
    input  wire                wait_valid,
    input  wire                retry_valid,
    input  wire                fatal_valid,
    input  wire [4:0]          fatal_code,
    input  wire [QP_WIDTH-1:0] ack_qp,
    input  wire                interrupt_valid,
    input  wire [QP_WIDTH-1:0] interrupt_qp,
    input  wire                fetch_error,
    input  wire                completion_error,
    input  wire                requester_idle,
    input  wire                fetch_idle,
    input  wire                ack_idle,
    input  wire                acks_pending,
    // Of the responder side, with `respond_qp`: packet of a SEND taken, management datagram taken, duplicate, refused packet,
    // receive queue found full; then packets it made, receive queues with an interrupt, and the rest.
    input  wire [QP_WIDTH-1:0] respond_qp,
    input  wire                send_in_valid,
    input  wire                datagram_in_valid,
    input  wire                duplicate_valid,
    input  wire                refused_valid,
    input  wire                not_ready_valid,
    input  wire                reply_valid,
    input  wire [QP_WIDTH-1:0] reply_qp,
    input  wire                reply_is_read,
    input  wire [1:0]          reply_ack_type,
    input  wire                rq_interrupt_valid,
    input  wire [QP_WIDTH-1:0] rq_interrupt_qp,
    input  wire                notice_lost_valid,
    input  wire                data_error,
    input  wire                read_write_error,
    input  wire                index_error
);

    // ------------------------------------------------------------------------------------------------------------ bus accesses

    localparam [1:0] IDLE = 2'd0;
    localparam [1:0] ACCESS = 2'd1;
    localparam [1:0] ANSWER = 2'd2;

    reg  [1:0]  state;
    reg         access_is_write;
    reg         access_is_ring;
    reg         hit_global;
    reg         hit_qp;
    reg         hit_region;
    reg         hit_memory;
    reg  [8:0]  global_offset;
    reg  [3:0]  commands;
    wire        free = state == IDLE && !sweep_valid && commands == 4'd0 && !respond_busy;
    // A doorbell goes first, but not twice in a row.
    wire        take_ring = free && s_ring_valid && !(s_reg_valid && access_is_ring);
    wire        take = take_ring || (free && s_reg_valid);
    wire [20:0] address = take_ring ? s_ring_address[20:0] : s_reg_addr;

    // Queue pairs begin at a multiple of 256.
    wire [12:0] page = address[20:8] - QP_BASE[20:8];
    wire        qp_exists = address >= QP_BASE && page < NUM_QP;
    wire [19:0] ring_offset = {12'd0, s_ring_address[7:0]};
    wire        ring_is_doorbell = s_ring_address[31:21] == 11'd0
        && ring_offset == (s_ring_receive ? `EB_ERNIC_QP_RQCI : `EB_ERNIC_QP_SQPI);

    assign access_load = take;
    assign load_qp = page[QP_WIDTH-1:0];
    assign load_entry = address[15:8];
    assign load_offset = address[7:0];
    assign s_reg_ready = state == ANSWER;
    assign s_ring_ready = take_ring;
    assign s_reg_error = 1'b0;

    wire [19:0] qp_offset = {12'd0, access_offset};

    // Queue pair 1 lacks these.
    wire lacking = access_qp == {QP_WIDTH{1'b0}} && (
        qp_offset == `EB_ERNIC_QP_QPADVCONF || qp_offset == `EB_ERNIC_QP_SQPSN
        || qp_offset == `EB_ERNIC_QP_LSTRQREQ || qp_offset == `EB_ERNIC_QP_STATSSN
        || qp_offset == `EB_ERNIC_QP_STATMSN || qp_offset == `EB_ERNIC_QP_STATRESPSN);
    wire write = state == ACCESS && access_is_write;
    wire write_global = write && hit_global;
    // Doorbells of an enabled queue pair come one way only; refused ones are without effect.
    wire by_register = software_doorbell[access_qp];
    wire is_doorbell = write && hit_qp && (qp_offset == `EB_ERNIC_QP_SQPI || qp_offset == `EB_ERNIC_QP_RQCI);
    wire ring_nowhere = write && access_is_ring && !hit_qp;
    wire ring_disabled = is_doorbell && access_is_ring && !enabled_now;
    wire wrong_way = is_doorbell && enabled_now && by_register == access_is_ring;
    wire write_qp = write && hit_qp && !lacking && !ring_disabled && !wrong_way;

    assign access_write_qp = write_qp;
    assign access_write_region = write && hit_region;
    assign access_write_memory = write && hit_memory;

    always @(posedge clk) begin
        case (state)
            IDLE:
                if (take) begin
                    access_is_write <= take_ring || s_reg_write;
                    access_is_ring <= take_ring;
                    hit_global <= !take_ring && address[20:9] == GLOBAL_BASE[20:9];
                    hit_qp <= qp_exists && (!take_ring || ring_is_doorbell);
                    hit_region <= !take_ring && address[20:16] == 5'd0;
                    hit_memory <= !take_ring && address[20:16] == 5'd1;
                    global_offset <= {address[8:2], 2'b00};
                    access_qp <= load_qp;
                    access_entry <= load_entry;
                    access_offset <= {address[7:2], 2'b00};
                    access_data <= take_ring ? {16'd0, s_ring_index} : s_reg_wdata;
                    state <= ACCESS;
                end
            ACCESS: state <= access_is_ring ? IDLE : ANSWER;
            default: state <= IDLE;
        endcase
        if (rst) begin
            state <= IDLE;
            access_is_ring <= 1'b0;
        end
    end

    // ------------------------------------------------------------------------------------------------------------------- sweep

    always @(posedge clk) begin
        sweep_entry <= sweep_entry + 8'd1;
        if (sweep_entry == 8'd255) sweep_valid <= 1'b0;
        if (rst) begin
            sweep_valid <= 1'b1;
            sweep_entry <= 8'd0;
        end
    end

    // -------------------------------------------------------------------------------------- registers with effect beyond storage

    reg  [NUM_QP-1:0] used;
    reg  [NUM_QP-1:0] software_doorbell;
    reg               clears;
    reg               override;

    wire write_conf = write_qp && qp_offset == `EB_ERNIC_QP_QPCONF;
    wire enabled_now = qp_enabled[access_qp];
    // Positions of a disabled queue pair are software's to set.
    wire settable = override && !enabled_now;
    wire disable_qp = write_conf && enabled_now && !access_data[0];
    wire set_psn = write_qp && qp_offset == `EB_ERNIC_QP_SQPSN && !used[access_qp];
    wire set_current = write_qp && qp_offset == `EB_ERNIC_QP_STATCURSQPTR && settable;
    wire set_head = write_qp && qp_offset == `EB_ERNIC_QP_CQHEAD && settable;
    wire set_status = write_qp && qp_offset == `EB_ERNIC_QP_STATQP;

    assign access_settable = settable;
    assign notice_pop = state == ACCESS && !access_is_write && hit_global && offset == `EB_ERNIC_RQ_NOTICE_DATA;
    assign doorbell_plain = settable;
    assign doorbell_valid = write_qp && qp_offset == `EB_ERNIC_QP_SQPI && (enabled_now || settable);
    assign clear_valid = clears && fetch_command_valid && fetch_command_done;
    assign requester_command_valid = commands[0];
    assign ack_command_valid = commands[1:0] == 2'b10;
    assign fetch_command_valid = commands[2:0] == 3'b100;
    assign completion_command_valid = commands == 4'b1000;

    always @(posedge clk) begin
        enabled_valid <= write_conf && access_data[0] && !enabled_now;
        if (write_conf) begin
            qp_enabled[access_qp] <= access_data[0];
            software_doorbell[access_qp] <= access_data[4];
        end
        if (doorbell_valid && !doorbell_plain) used[access_qp] <= 1'b1;
        if (write_conf && !access_data[0]) used[access_qp] <= 1'b0;

        if (requester_command_valid && requester_command_done) commands[0] <= 1'b0;
        if (ack_command_valid && ack_command_done) commands[1] <= 1'b0;
        if (fetch_command_valid && fetch_command_done) commands[2] <= 1'b0;
        if (completion_command_valid && completion_command_done) commands[3] <= 1'b0;
        if (disable_qp || set_psn || set_current || set_head || set_status) begin
            clears <= disable_qp;
            command_sets_psn <= set_psn;
            command_sets_number <= set_current || set_head;
            command_sets_status <= set_status;
            commands <= disable_qp ? 4'b1111 : set_psn ? 4'b0011 : set_current ? 4'b0101 : set_head ? 4'b1010 : 4'b0010;
        end
        if (rst) begin
            commands <= 4'd0;
            clears <= 1'b0;
            enabled_valid <= 1'b0;
            qp_enabled <= {NUM_QP{1'b0}};
            software_doorbell <= {NUM_QP{1'b0}};
            used <= {NUM_QP{1'b0}};
        end
    end

    // -------------------------------------------------------------------------------------------------------- global registers

    // All global registers that only keep what was written; those with an effect are kept a second time in flip-flops.
    reg  [31:0] store [0:127];
    reg  [31:0] stored;

    function [31:0] writable;
        input [19:0] offset;
        begin
            case (offset)
                `EB_ERNIC_XRNICCONF: writable = `EB_ERNIC_XRNICCONF_MASK;
                `EB_ERNIC_XRNICADCONF: writable = `EB_ERNIC_XRNICADCONF_MASK;
                `EB_ERNIC_PAUSE_CONF: writable = `EB_ERNIC_PAUSE_CONF_MASK;
                `EB_ERNIC_MACXADDMSB: writable = `EB_ERNIC_MACXADDMSB_MASK;
                `EB_ERNIC_OUTERRSTSQSZ: writable = `EB_ERNIC_OUTERRSTSQSZ_MASK;
                `EB_ERNIC_OUTERRSTSQWPTR: writable = `EB_ERNIC_OUTERRSTSQWPTR_MASK;
                `EB_ERNIC_IPKTERRQSZ: writable = `EB_ERNIC_IPKTERRQSZ_MASK;
                `EB_ERNIC_CON_IO_CONF: writable = `EB_ERNIC_CON_IO_CONF_MASK;
                `EB_ERNIC_ACKREQ_INTERVAL: writable = `EB_ERNIC_ACKREQ_INTERVAL_MASK;
                `EB_ERNIC_BTH_CONF: writable = `EB_ERNIC_BTH_CONF_MASK;
                `EB_ERNIC_INTEN: writable = `EB_ERNIC_INTEN_MASK;
                `EB_ERNIC_BUF_THRESHOLD_ROCE, `EB_ERNIC_MACXADDLSB, `EB_ERNIC_BUF_THRESHOLD_NON_ROCE,
                `EB_ERNIC_IPV6XADD, `EB_ERNIC_IPV6XADD + 20'd4, `EB_ERNIC_IPV6XADD + 20'd8, `EB_ERNIC_IPV6XADD + 20'd12,
                `EB_ERNIC_ERRBUFBA, `EB_ERNIC_ERRBUFBAMSB, `EB_ERNIC_ERRBUFSZ, `EB_ERNIC_IPV4XADD,
                `EB_ERNIC_OPKTERRQBA, `EB_ERNIC_OPKTERRQBAMSB, `EB_ERNIC_IPKTERRQBA, `EB_ERNIC_IPKTERRQBAMSB,
                `EB_ERNIC_DATBUFBA, `EB_ERNIC_DATBUFBAMSB, `EB_ERNIC_DATBUFSZ, `EB_ERNIC_RESPERRPKTBA,
                `EB_ERNIC_RESPERRPKTBAMSB, `EB_ERNIC_RESPERRSZ, `EB_ERNIC_RESPERRSZMSB: writable = 32'hffffffff;
                default: writable = 32'd0;
            endcase
        end
    endfunction

    function [31:0] reset_value;
        input [19:0] offset;
        begin
            case (offset)
                `EB_ERNIC_BUF_THRESHOLD_ROCE: reset_value = `EB_ERNIC_BUF_THRESHOLD_ROCE_RESET;
                `EB_ERNIC_PAUSE_CONF: reset_value = `EB_ERNIC_PAUSE_CONF_RESET;
                `EB_ERNIC_ACKREQ_INTERVAL: reset_value = `EB_ERNIC_ACKREQ_INTERVAL_RESET;
                `EB_ERNIC_BTH_CONF: reset_value = `EB_ERNIC_BTH_CONF_RESET;
                default: reset_value = 32'd0;
            endcase
        end
    endfunction

    wire [19:0] offset = {11'd0, global_offset};
    wire [31:0] value = access_data & writable(offset);
    wire [6:0]  store_word = sweep_valid ? sweep_entry[6:0] : global_offset[8:2];
    wire [31:0] store_value = sweep_valid ? reset_value({11'd0, sweep_entry[6:0], 2'b00}) : value;
    reg  [8:0]  enabled_interrupts;
    localparam [31:0] RESET_PAUSE_CONF = `EB_ERNIC_PAUSE_CONF_RESET;

    always @(posedge clk) begin
        if (sweep_valid || write_global) store[store_word] <= store_value;
        if (take) stored <= store[address[8:2]];
        if (write_global) begin
            case (offset)
                `EB_ERNIC_XRNICCONF: {udp_source_port, engine_enabled} <= {value[31:16], value[0]};
                `EB_ERNIC_XRNICADCONF: {tick_width, no_fatal, override} <= {value[19:16], value[2], value[0]};
                `EB_ERNIC_MACXADDLSB: local_mac[31:0] <= value;
                `EB_ERNIC_MACXADDMSB: local_mac[47:32] <= value[15:0];
                `EB_ERNIC_IPV4XADD: local_ip <= value;
                `EB_ERNIC_IPKTERRQBA: fatal_base[31:3] <= value[31:3];
                `EB_ERNIC_IPKTERRQBAMSB: fatal_base[63:32] <= value;
                `EB_ERNIC_IPKTERRQSZ: fatal_size <= value[15:0];
                `EB_ERNIC_ACKREQ_INTERVAL: ack_interval <= value[7:0];
                `EB_ERNIC_BTH_CONF: migreq <= value[0];
                `EB_ERNIC_INTEN: enabled_interrupts <= value[8:0];
                `EB_ERNIC_PAUSE_CONF: pause_conf <= value[13:0];
                `EB_ERNIC_BUF_THRESHOLD_ROCE: threshold_roce <= value;
                `EB_ERNIC_BUF_THRESHOLD_NON_ROCE: threshold_other <= value;
                default: ;
            endcase
        end
        if (rst) begin
            engine_enabled <= 1'b0;
            udp_source_port <= 16'd0;
            tick_width <= 4'd0;
            no_fatal <= 1'b0;
            override <= 1'b0;
            local_mac <= 48'd0;
            local_ip <= 32'd0;
            fatal_base <= 61'd0;
            fatal_size <= 16'd0;
            ack_interval <= 8'd16;
            migreq <= 1'b1;
            enabled_interrupts <= 9'd0;
            pause_conf <= RESET_PAUSE_CONF[13:0];
            threshold_roce <= `EB_ERNIC_BUF_THRESHOLD_ROCE_RESET;
            threshold_other <= `EB_ERNIC_BUF_THRESHOLD_NON_ROCE_RESET;
        end
    end

    // -------------------------------------------------------------------------------------------------------------- interrupts

    localparam [1:0] ACK_TYPE_ACK = 2'b00;
    localparam [1:0] ACK_TYPE_RNR = 2'b01;
    localparam [4:0] DROP_NOT_ROCE = 5'd1;
    localparam [4:0] DROP_NO_ROOM = 5'd29;
    localparam INT_PACKET_INVALID = 0;
    localparam INT_MAD = 1;
    localparam INT_RNR_SENT = 3;
    localparam INT_COMPLETION = 4;
    localparam INT_ILLEGAL_OPCODE = 5;
    localparam INT_RQ_PACKET = 6;
    localparam INT_FATAL = 7;
    localparam INT_CNP = 8;

    reg  [8:0]         raised;
    reg  [NUM_QP-1:0]  completion_queues;
    reg  [NUM_QP-1:0]  receive_queues;
    // As wide as the eight registers of 32 queue pairs each; those of receive queues come first.
    wire [19:0]        queue_words = offset - `EB_ERNIC_RQINTSTS;
    wire               queue_word_hit = queue_words < 20'd64;
    wire               completion_word = queue_words[5];
    wire [255:0]       all_queues = {{(256-NUM_QP){1'b0}}, completion_word ? completion_queues : receive_queues};
    wire [255:0]       all_scheduled = {{(256-NUM_QP){1'b0}}, cnp_scheduled};
    wire [19:0]        scheduled_words = offset - `EB_ERNIC_CNPSCHDSTS;
    wire               scheduled_word_hit = scheduled_words < 20'd32;
    // verilator lint_off UNUSEDSIGNAL
    // Bits of queue pairs that were not built.
    wire [255:0]       acknowledged = {224'd0, access_data} << {queue_words[4:2], 5'd0};
    // verilator lint_on UNUSEDSIGNAL

    // Frames for somebody else, or of another protocol, are dropped but not wrong.
    wire invalid = drop_valid && drop_cause > DROP_NOT_ROCE && drop_cause != DROP_NO_ROOM;
    wire no_room = drop_valid && drop_cause == DROP_NO_ROOM;
    wire rnr_sent = reply_valid && !reply_is_read && reply_ack_type == ACK_TYPE_RNR;

    assign irq = |(raised & enabled_interrupts);

    always @(posedge clk) begin
        if (write_global && offset == `EB_ERNIC_INTSTS) raised <= raised & ~access_data[8:0];
        if (invalid || refused_valid) raised[INT_PACKET_INVALID] <= 1'b1;
        if (datagram_in_valid) raised[INT_MAD] <= 1'b1;
        if (rnr_sent) raised[INT_RNR_SENT] <= 1'b1;
        if (rq_interrupt_valid) raised[INT_RQ_PACKET] <= 1'b1;
        if (interrupt_valid) raised[INT_COMPLETION] <= 1'b1;
        if (illegal_valid) raised[INT_ILLEGAL_OPCODE] <= 1'b1;
        if (fatal_valid) raised[INT_FATAL] <= 1'b1;
        if (cnp_schedule_valid) raised[INT_CNP] <= 1'b1;
        if (write_global && queue_word_hit && completion_word) begin
            completion_queues <= completion_queues & ~acknowledged[NUM_QP-1:0];
        end
        if (write_global && queue_word_hit && !completion_word) begin
            receive_queues <= receive_queues & ~acknowledged[NUM_QP-1:0];
        end
        if (rq_interrupt_valid) receive_queues[rq_interrupt_qp] <= 1'b1;
        if (interrupt_valid) completion_queues[interrupt_qp] <= 1'b1;
        if (rst) begin
            raised <= 9'd0;
            completion_queues <= {NUM_QP{1'b0}};
            receive_queues <= {NUM_QP{1'b0}};
        end
    end

    // ---------------------------------------------------------------------------------------------------------------- counters

    // Why a doorbell was not taken: it names no SQPI or RQCI; queue pair disabled; rung the other way than QPCONF says; more
    // than the queue holds.
    localparam [3:0] REFUSED_NOWHERE = 4'd1;
    localparam [3:0] REFUSED_DISABLED = 4'd2;
    localparam [3:0] REFUSED_WRONG_WAY = 4'd3;
    localparam [3:0] REFUSED_BEYOND = 4'd4;
    localparam [7:0] OPCODE_ACK = 8'h11;
    localparam [7:0] READ_RESPONSE_FIRST = 8'h0d;
    localparam [7:0] READ_RESPONSE_ONLY = 8'h10;

    reg [15:0]         acks_in;
    reg [15:0]         naks_in;
    reg [15:0]         naks_taken;
    reg [7:0]          nak_qpn;
    reg [15:0]         writes_out;
    reg [15:0]         packets_in;
    reg [15:0]         packets_dropped;
    reg [15:0]         packets_invalid;
    reg [15:0]         entries_started;
    reg [31:0]         retries;
    reg [31:0]         last_in;
    reg [31:0]         last_out;
    reg                held_back;
    reg [31:0]         packets_again;
    reg [31:0]         doorbells;
    reg [15:0]         doorbells_refused;
    reg [7:0]          refused_qpn;
    reg [3:0]          refused_cause;
    reg [31:0]         frames_out;
    reg [31:0]         acks_ignored;
    reg [31:0]         acks_lost;
    reg [31:0]         timeouts;
    reg [31:0]         probes;
    reg [31:0]         waits;
    reg [31:0]         bus_errors;
    reg [31:0]         cnps_in;
    reg [31:0]         cnps_out;
    reg [4:0]          last_fatal_code;
    reg [7:0]          last_fatal_qpn;
    reg [15:0]         sends_in;
    reg [15:0]         read_responses_in;
    reg [15:0]         datagrams_in;
    reg [15:0]         duplicates_in;
    reg [15:0]         acks_out;
    reg [15:0]         naks_out;
    reg [15:0]         rnrs_out;
    reg [7:0]          rnr_qpn;
    reg [31:0]         read_responses_out;
    reg [31:0]         notices_lost;
    reg [31:0]         frames_lost;
    reg [NUM_QP-1:0]   rq_overflow;

    function [7:0] number_of;
        input [QP_WIDTH-1:0] index;
        number_of = {{(8-QP_WIDTH){1'b0}}, index} + 8'd1;
    endfunction

    always @(posedge clk) begin
        if (ack_in_valid && ack_in_type == ACK_TYPE_ACK) acks_in <= acks_in + 16'd1;
        if (ack_in_valid && ack_in_type != ACK_TYPE_ACK) naks_in <= naks_in + 16'd1;
        if (ack_in_valid) last_in <= {ack_in_psn, ack_in_qpn, OPCODE_ACK};
        else if (other_valid) last_in <= {16'd0, other_qpn, other_opcode};
        if (nak_valid) begin
            naks_taken <= naks_taken + 16'd1;
            nak_qpn <= number_of(ack_qp);
        end
        if (sent_valid) begin
            writes_out <= writes_out + 16'd1;
            if (sent_again) packets_again <= packets_again + 32'd1;
        end
        if (command_taken) last_out <= {command_psn, number_of(sent_qp), command_opcode};
        if (command_waits) held_back <= 1'b1;
        if (packet_in) packets_in <= packets_in + 16'd1;
        if (drop_valid) packets_dropped <= packets_dropped + 16'd1;
        if (invalid || refused_valid) packets_invalid <= packets_invalid + {15'd0, invalid} + {15'd0, refused_valid};
        if (no_room) frames_lost <= frames_lost + 32'd1;
        if (send_in_valid) sends_in <= sends_in + 16'd1;
        if (other_valid && other_opcode >= READ_RESPONSE_FIRST && other_opcode <= READ_RESPONSE_ONLY) begin
            read_responses_in <= read_responses_in + 16'd1;
        end
        if (datagram_in_valid) datagrams_in <= datagrams_in + 16'd1;
        if (duplicate_valid) duplicates_in <= duplicates_in + 16'd1;
        if (reply_valid && reply_is_read) read_responses_out <= read_responses_out + 32'd1;
        if (reply_valid && !reply_is_read) begin
            case (reply_ack_type)
                ACK_TYPE_ACK: acks_out <= acks_out + 16'd1;
                ACK_TYPE_RNR: begin
                    rnrs_out <= rnrs_out + 16'd1;
                    rnr_qpn <= number_of(reply_qp);
                end
                default: naks_out <= naks_out + 16'd1;
            endcase
        end
        if (notice_lost_valid) notices_lost <= notices_lost + 32'd1;
        if (not_ready_valid) rq_overflow[respond_qp] <= 1'b1;
        if (clear_valid) rq_overflow[access_qp] <= 1'b0;
        if (started_valid) entries_started <= entries_started + 16'd1;
        if (retry_valid) retries <= retries + 32'd1;
        if (doorbell_taken) doorbells <= doorbells + 32'd1;
        if (ring_nowhere || ring_disabled || wrong_way || doorbell_beyond) begin
            doorbells_refused <= doorbells_refused + 16'd1;
            refused_qpn <= ring_nowhere ? 8'd0 : number_of(access_qp);
            refused_cause <= ring_nowhere ? REFUSED_NOWHERE : ring_disabled ? REFUSED_DISABLED
                : wrong_way ? REFUSED_WRONG_WAY : REFUSED_BEYOND;
        end
        if (frame_out) frames_out <= frames_out + 32'd1;
        if (ignored_valid) acks_ignored <= acks_ignored + 32'd1;
        if (lost_valid) acks_lost <= acks_lost + 32'd1;
        if (timeout_valid) timeouts <= timeouts + 32'd1;
        if (probe_valid) probes <= probes + 32'd1;
        if (wait_valid) waits <= waits + 32'd1;
        if (cnp_in_valid) cnps_in <= cnps_in + 32'd1;
        if (cnp_out_valid) cnps_out <= cnps_out + 32'd1;
        bus_errors <= bus_errors + {31'd0, fetch_error} + {31'd0, completion_error} + {31'd0, data_error} + {31'd0, index_error}
            + {31'd0, read_write_error};
        if (fatal_valid) begin
            last_fatal_code <= fatal_code;
            last_fatal_qpn <= number_of(ack_qp);
        end
        if (rst) begin
            acks_in <= 16'd0;
            naks_in <= 16'd0;
            naks_taken <= 16'd0;
            nak_qpn <= 8'd0;
            writes_out <= 16'd0;
            packets_in <= 16'd0;
            packets_dropped <= 16'd0;
            packets_invalid <= 16'd0;
            entries_started <= 16'd0;
            retries <= 32'd0;
            last_in <= 32'd0;
            last_out <= 32'd0;
            held_back <= 1'b0;
            packets_again <= 32'd0;
            doorbells <= 32'd0;
            doorbells_refused <= 16'd0;
            refused_qpn <= 8'd0;
            refused_cause <= 4'd0;
            frames_out <= 32'd0;
            acks_ignored <= 32'd0;
            acks_lost <= 32'd0;
            timeouts <= 32'd0;
            probes <= 32'd0;
            waits <= 32'd0;
            bus_errors <= 32'd0;
            cnps_in <= 32'd0;
            cnps_out <= 32'd0;
            last_fatal_code <= 5'd0;
            last_fatal_qpn <= 8'd0;
            sends_in <= 16'd0;
            read_responses_in <= 16'd0;
            datagrams_in <= 16'd0;
            duplicates_in <= 16'd0;
            acks_out <= 16'd0;
            naks_out <= 16'd0;
            rnrs_out <= 16'd0;
            rnr_qpn <= 8'd0;
            read_responses_out <= 32'd0;
            notices_lost <= 32'd0;
            frames_lost <= 32'd0;
            rq_overflow <= {NUM_QP{1'b0}};
        end
    end

    // ------------------------------------------------------------------------------------------------------------------- reads

    wire [15:0] messages_in_flight = status_started - status_done;
    wire        sq_full = status_depth != 16'd0 && status_posted - status_done == status_depth;
    wire [31:0] statqp = {
        1'b0, status_rnr_retries, 1'b0, status_retries, 1'b0, status_syndrome, 4'd0, qp_retried[access_qp],
        messages_in_flight == 16'd0, status_posted == status_started, 4'd0, status_completions_full, status_messages_full,
        sq_full, rq_overflow[access_qp], qp_fatal[access_qp] || qp_ended[access_qp]
    };
    reg  [31:0] global_value;
    reg  [31:0] qp_value;

    always @* begin
        case (offset)
            `EB_ERNIC_IPKTERRQWPTR: global_value = {16'd0, fatal_pointer};
            `EB_ERNIC_RETRANSMITTED: global_value = packets_again;
            `EB_ERNIC_DOORBELLS: global_value = doorbells;
            `EB_ERNIC_DOORBELLS_REFUSED: global_value = {4'd0, refused_cause, refused_qpn, doorbells_refused};
            `EB_ERNIC_FRAMES_OUT: global_value = frames_out;
            `EB_ERNIC_ACKS_IGNORED: global_value = acks_ignored;
            `EB_ERNIC_ACKS_LOST: global_value = acks_lost;
            `EB_ERNIC_TIMEOUTS: global_value = timeouts;
            `EB_ERNIC_TAIL_PROBES: global_value = probes;
            `EB_ERNIC_RNR_WAITS: global_value = waits;
            `EB_ERNIC_BUS_ERRORS: global_value = bus_errors;
            `EB_ERNIC_LAST_FATAL: global_value = {16'd0, last_fatal_qpn, 3'd0, last_fatal_code};
            `EB_ERNIC_RQ_NOTICE: global_value = {8'd0, notice_oldest[55:32]};
            `EB_ERNIC_RQ_NOTICE_DATA: global_value = notice_oldest[31:0];
            `EB_ERNIC_RQ_NOTICES_LOST: global_value = notices_lost;
            `EB_ERNIC_FRAMES_LOST: global_value = frames_lost;
            `EB_ERNIC_INSRRPKTCNT: global_value = {read_responses_in, sends_in};
            `EB_ERNIC_INAMPKTCNT: global_value = {datagrams_in, acks_in};
            `EB_ERNIC_OUTAMPKTCNT: global_value = {16'd0, acks_out};
            `EB_ERNIC_OUTRNRPKTSTS: global_value = {rnrs_out, 8'd0, rnr_qpn};
            `EB_ERNIC_OUTNAKPKTCNT: global_value = {16'd0, naks_out};
            `EB_ERNIC_OUTRDRSPPKTCNT: global_value = read_responses_out;
            `EB_ERNIC_OUTIOPKTCNT: global_value = {writes_out, 16'd0};
            `EB_ERNIC_LSTINPKT: global_value = last_in;
            `EB_ERNIC_LSTOUTPKT: global_value = last_out;
            `EB_ERNIC_ININVDUPCNT: global_value = {duplicates_in, packets_invalid};
            `EB_ERNIC_INNCKPKTSTS: global_value = {naks_taken, 8'd0, nak_qpn};
            `EB_ERNIC_WQEPROCSTS: global_value = {19'd0, held_back, 6'd0, requester_idle && fetch_idle, 4'd0, !requester_idle};
            `EB_ERNIC_QPMSTS: global_value = {entries_started, 14'd0, fetch_idle, 1'b0};
            `EB_ERNIC_INALLDRPPKTCNT: global_value = {packets_dropped, packets_in};
            `EB_ERNIC_INNAKPKTCNT: global_value = {16'd0, naks_in};
            `EB_ERNIC_RESPHNDSTS: global_value = {14'd0, acks_pending, ack_idle, 7'd0, !ack_idle, number_of(ack_qp)};
            `EB_ERNIC_RETRYCNTSTS: global_value = retries;
            `EB_ERNIC_INCNPPKTCNT: global_value = cnps_in;
            `EB_ERNIC_OUTCNPPKTCNT: global_value = cnps_out;
            `EB_ERNIC_INTSTS: global_value = {23'd0, raised};
            default: global_value = queue_word_hit ? all_queues[{queue_words[4:2], 5'd0} +: 32]
                : scheduled_word_hit ? all_scheduled[{scheduled_words[4:2], 5'd0} +: 32] : stored;
        endcase
        case (qp_offset)
            `EB_ERNIC_QP_SQPI: qp_value = {16'd0, status_index};
            `EB_ERNIC_QP_CQHEAD: qp_value = {16'd0, status_head};
            `EB_ERNIC_QP_SQPSN: qp_value = {8'd0, status_next_psn};
            `EB_ERNIC_QP_STATSSN: qp_value = {8'd0, status_ssn};
            `EB_ERNIC_QP_STATQP: qp_value = statqp;
            `EB_ERNIC_QP_STATCURSQPTR: qp_value = {16'd0, status_current & (status_depth - 16'd1)};
            `EB_ERNIC_QP_STATRESPSN: qp_value = {8'd0, status_oldest_psn};
            `EB_ERNIC_QP_LSTRQREQ: qp_value = status_request;
            `EB_ERNIC_QP_STATMSN: qp_value = {8'd0, status_msn};
            `EB_ERNIC_QP_STATRQBUFCA: qp_value = {status_buffer[31:8], 8'd0};
            `EB_ERNIC_QP_STATRQBUFCAMSB: qp_value = status_buffer[63:32];
            `EB_ERNIC_QP_STATRQPIDB: qp_value = {16'd0, status_rq_index};
            `EB_ERNIC_QP_STATWQE: qp_value = {16'd0, status_started};
            default: qp_value = config_data;
        endcase
    end

    always @(posedge clk) begin
        if (state == ACCESS) begin
            s_reg_rdata <= hit_global ? global_value : hit_qp ? (lacking ? 32'd0 : qp_value)
                : hit_region ? region_data : hit_memory ? memory_data : 32'd0;
        end
    end

    generate
        if (NUM_QP < 2 || NUM_QP > 255) begin : check_num_qp
            initial $fatal(1, "%m: NUM_QP must be 2 to 255");
        end
        if (GLOBAL_BASE < 21'h020000 || GLOBAL_BASE[8:0] != 9'd0 || QP_BASE < 21'h020000 || QP_BASE[8:0] != 9'd0) begin : check_bases
            initial $fatal(1, "%m: GLOBAL_BASE and QP_BASE must be multiples of 0x200 from 0x20000 on");
        end
    endgenerate

endmodule

`default_nettype wire
