// Judges requests, one after the other, six cycles each: where its data goes, what is answered, what the queue pair expects next.
//
// Everything is decided before memory has been touched: the state here runs ahead, and what depends on memory stands in line at
// ernic_respond_effects. Checks and their order are those of IBTA vol. 1, 9.7 (reliable) and 9.8 (unreliable).

`timescale 1ns / 1fs
`default_nettype none
`include "ernic_ticket.vh"

module ernic_responder #(
    // Queue pairs. At least 2.
    parameter NUM_QP = 4,
    // READs that may wait for their answer. 1 to 64.
    parameter READ_JOBS = 4,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire                        clk,
    input  wire                        rst,

    input  wire [NUM_QP-1:0]           qp_enabled,
    // Ended, by what the queue pair sent or by memory.
    input  wire [NUM_QP-1:0]           qp_fatal,
    input  wire [NUM_QP-1:0]           qp_failed,
    // Ended by what its peer asked for.
    output reg  [NUM_QP-1:0]           qp_dead,

    // State of a queue pair after reset; or set by software, between requests: all cleared, or last request, or message number.
    input  wire                        sweep_valid,
    input  wire [QP_WIDTH-1:0]         sweep_qp,
    input  wire                        command_valid,
    input  wire [QP_WIDTH-1:0]         command_qp,
    input  wire                        command_sets_request,
    input  wire                        command_sets_msn,
    input  wire [31:0]                 command_data,
    output wire                        command_done,
    // Nothing is in line.
    input  wire                        drained,

    // Request, held until ready.
    input  wire                        s_valid,
    output wire                        s_ready,
    // verilator lint_off UNUSEDSIGNAL
    // Solicited events and the length of the headers do not matter here.
    input  wire [`EB_TICKET_WIDTH-1:0] s_ticket,
    // verilator lint_on UNUSEDSIGNAL

    // Configuration, one cycle after the load; stays.
    output wire                        config_load,
    output wire [QP_WIDTH-1:0]         config_qp,
    input  wire [1:0]                  config_transport,
    input  wire [2:0]                  config_pmtu,
    input  wire [14:0]                 config_pkey,
    input  wire [47:0]                 config_mac,
    input  wire [31:0]                 config_ip,
    input  wire [31:0]                 config_qkey,
    input  wire [15:0]                 config_element,
    input  wire [63:8]                 config_rq_base,
    input  wire [4:0]                  config_rnr_code,
    // Receive queue element, one cycle after the same load; take takes it.
    input  wire [15:0]                 rq_slot,
    input  wire [7:0]                  rq_next_slot,
    input  wire                        rq_room,
    output wire                        rq_take,
    // Memory region: entry, and the check's result, three cycles after the load.
    output wire                        region_load,
    output wire [7:0]                  region_entry,
    output wire                        region_is_read,
    input  wire                        region_allowed,
    input  wire [63:0]                 region_address,

    // Decision for the writer, in the order of the requests; held until ready.
    output reg                         m_decision_valid,
    input  wire                        m_decision_ready,
    output reg                         m_decision_accept,
    output reg  [63:0]                 m_decision_address,

    // For the line of effects; ready does not depend on valid.
    output wire                        m_effect_valid,
    input  wire                        m_effect_ready,
    output wire [QP_WIDTH-1:0]         m_effect_qp,
    output wire                        m_effect_waits,
    output wire                        m_effect_connected,
    output wire                        m_effect_fills,
    output wire [1:0]                  m_effect_notice,
    output wire [7:0]                  m_effect_index,
    output wire [1:0]                  m_effect_reply,
    output wire [7:0]                  m_effect_syndrome,
    output wire [23:0]                 m_effect_psn,
    output wire [23:0]                 m_effect_msn,
    output wire [63:0]                 m_effect_address,
    output wire [31:0]                 m_effect_word,
    output wire                        m_effect_fatal,
    output wire [4:0]                  m_effect_fatal_code,
    // READs that have found their end.
    input  wire                        read_done,
    input  wire                        read_dropped,

    // Events, with `event_qp`.
    output reg  [QP_WIDTH-1:0]         event_qp,
    output reg                         send_valid,
    output reg                         datagram_valid,
    output reg                         duplicate_valid,
    output reg                         refused_valid,
    output reg                         not_ready_valid,

    // Reader, one cycle after its load.
    input  wire                        status_load,
    input  wire [QP_WIDTH-1:0]         status_qp,
    output reg  [31:0]                 status_request,
    output reg  [23:0]                 status_msn,
    output reg  [55:0]                 status_buffer
);

    localparam [1:0] TRANSPORT_RC = 2'd0;
    localparam [1:0] TRANSPORT_UC = 2'd1;
    localparam [1:0] TRANSPORT_UD = 2'd2;
    // Transport in an opcode's high bits.
    localparam [2:0] OPCODE_RC = 3'b000;
    localparam [2:0] OPCODE_UC = 3'b001;
    localparam [2:0] OPCODE_UD = 3'b011;
    localparam [4:0] ATOMIC_ACKNOWLEDGE = 5'h12;

    localparam [1:0] NONE = 2'd0;
    localparam [1:0] SENDING = 2'd1;
    localparam [1:0] WRITING = 2'd2;

    localparam [31:0] MANAGEMENT_QKEY = 32'h80010000;
    localparam [14:0] DEFAULT_PKEY = 15'h7fff;
    localparam [31:0] MAX_LENGTH = 32'h80000000;
    localparam [23:0] DATAGRAM_ROW = 24'd64;

    localparam [1:0] REPLY_ACK = 2'd1;
    localparam [1:0] REPLY_READ = 2'd2;
    localparam [7:0] ACK = 8'h1f;
    localparam [7:0] NAK_SEQUENCE = 8'h60;
    localparam [7:0] NAK_INVALID = 8'h61;
    localparam [7:0] NAK_ACCESS = 8'h62;
    localparam [2:0] RNR = 3'b001;

    // Fatal codes of PG332.
    localparam [4:0] FATAL_SEND_SEQUENCE = 5'h01;
    localparam [4:0] FATAL_SEND_LENGTH = 5'h02;
    localparam [4:0] FATAL_OPCODE = 5'h04;
    localparam [4:0] FATAL_READS_FULL = 5'h10;
    localparam [4:0] FATAL_WRITE_SEQUENCE = 5'h11;
    localparam [4:0] FATAL_WRITE_LENGTH = 5'h12;
    localparam [4:0] FATAL_ACCESS = 5'h15;
    localparam [4:0] FATAL_READ_LENGTH = 5'h16;

    localparam [1:0] NOTICE_INVALIDATE = 2'd1;
    localparam [1:0] NOTICE_SEND = 2'd2;
    localparam [1:0] NOTICE_WRITE = 2'd3;

    localparam [2:0] IDLE = 3'd0;
    localparam [2:0] LOAD = 3'd1;
    localparam [2:0] COMPARE = 3'd2;
    localparam [2:0] MEASURE = 3'd3;
    localparam [2:0] CHECK = 3'd4;
    localparam [2:0] DECIDE = 3'd5;

    reg  [2:0]          state;
    reg  [QP_WIDTH-1:0] qp;
    reg                 served;

    // ------------------------------------------------------------------------------------------------------------- the request

    wire [7:0]  opcode = s_ticket[`EB_TICKET_OPCODE];
    wire [23:0] qpn = s_ticket[`EB_TICKET_QPN];
    wire [23:0] psn = s_ticket[`EB_TICKET_PSN];
    wire [31:0] length = s_ticket[`EB_TICKET_LENGTH];
    wire [31:0] word = s_ticket[`EB_TICKET_WORD];
    wire [12:0] bytes = s_ticket[`EB_TICKET_BYTES];
    wire        ack_request = s_ticket[`EB_TICKET_ACK_REQUEST];
    // verilator lint_off UNUSEDSIGNAL
    // The check of the region knows the rest of the key; the membership bit of a partition key does not matter.
    wire [31:0] key = s_ticket[`EB_TICKET_KEY];
    wire [15:0] packet_pkey = s_ticket[`EB_TICKET_PKEY];
    // verilator lint_on UNUSEDSIGNAL
    wire [23:0] number = qpn - 24'd1;
    wire        is_management = qp == {QP_WIDTH{1'b0}};
    wire        is_send;
    wire        is_write;
    wire        is_read;
    wire        begins;
    wire        ends;
    wire        has_reth;
    wire        has_immediate;
    wire        has_invalidate;

    ernic_request_kind kind_of (
        .operation(opcode[4:0]),
        .is_send(is_send),
        .is_write(is_write),
        .is_read(is_read),
        .begins(begins),
        .ends(ends),
        .has_reth(has_reth),
        .has_immediate(has_immediate),
        .has_invalidate(has_invalidate)
    );

    // ------------------------------------------------------------------------------------------------- state of the queue pairs

    // Last request's opcode and PSN; kind of the message that is open, and whether an answer has already said that a PSN is
    // missing; message number; octets that are still to come (WRITE) or have come (SEND), and where the next one goes.
    localparam WIDTH = 8 + 24 + 2 + 1 + 24 + 32 + 64;

    reg  [WIDTH-1:0] contexts [0:NUM_QP-1];
    reg  [55:0]      buffers [0:NUM_QP-1];
    reg  [7:0]       q_opcode;
    reg  [23:0]      q_psn;
    reg  [1:0]       q_kind;
    reg              q_silent;
    reg  [23:0]      q_msn;
    reg  [31:0]      q_octets;
    reg  [63:0]      q_address;

    wire             command_take = state == IDLE && command_valid && drained;
    wire             store;
    wire [WIDTH-1:0] next_context;
    wire             write = sweep_valid || command_done || store;
    // For a command the present state is loaded first.
    wire [WIDTH-1:0] set_context = command_sets_request ? {command_data, NONE, 1'b0, q_msn, 96'd0}
        : command_sets_msn ? {q_opcode, q_psn, q_kind, q_silent, command_data[23:0], q_octets, q_address} : {WIDTH{1'b0}};
    reg              commanded;

    wire             clears = commanded && !command_sets_request && !command_sets_msn;

    assign command_done = commanded;

    always @(posedge clk) begin
        commanded <= command_take && !commanded;
        if (config_load || command_take) begin
            {q_opcode, q_psn, q_kind, q_silent, q_msn, q_octets, q_address} <= contexts[config_load ? qp : command_qp];
        end
        if (write) begin
            contexts[sweep_valid ? sweep_qp : commanded ? command_qp : qp]
                <= sweep_valid ? {WIDTH{1'b0}} : commanded ? set_context : next_context;
        end
        if (sweep_valid || rq_take || clears) begin
            buffers[sweep_valid ? sweep_qp : clears ? command_qp : qp] <= rq_take ? rq_address[63:8] : 56'd0;
        end
        if (status_load) begin
            {status_request, status_msn} <= {contexts[status_qp][WIDTH-1 -: 32], contexts[status_qp][96 +: 24]};
            status_buffer <= buffers[status_qp];
        end
        if (rst) commanded <= 1'b0;
    end

    // -------------------------------------------------------------------------------------------------------------- comparisons

    wire [12:0] path_bytes = 13'd256 << config_pmtu;
    wire [23:0] expected = q_psn + 24'd1;
    wire [23:0] distance = psn - expected;
    wire [1:0]  transport = is_management ? TRANSPORT_UD : config_transport;
    wire        connected = transport == TRANSPORT_RC;
    wire        peer_right = s_ticket[`EB_TICKET_SOURCE_IP] == config_ip && s_ticket[`EB_TICKET_SOURCE_MAC] == config_mac;
    wire [14:0] pkey = is_management ? DEFAULT_PKEY : config_pkey;
    wire [31:0] qkey = is_management ? MANAGEMENT_QKEY : config_qkey;

    // Behind COMPARE.
    reg         belongs;
    reg         in_order;
    reg         behind;
    reg         sequence_bad;
    reg         packet_bad;
    reg  [31:0] octets;
    reg  [31:0] element_offset;
    // Behind MEASURE.
    reg         length_bad;
    reg  [23:0] read_packets;
    reg  [63:0] rq_address;
    // Behind CHECK.
    reg  [23:0] last_psn;
    reg         fits_behind;

    wire [31:0] octets_behind = is_write ? octets - {19'd0, bytes} : octets + {19'd0, bytes};
    wire [31:0] element_bytes = {8'd0, config_element, 8'd0};
    wire [31:0] rounded = length + {19'd0, path_bytes} - 32'd1;
    // verilator lint_off UNUSEDSIGNAL
    // No allowed length has more packets than PSNs.
    wire [31:0] whole_packets = rounded >> (4'd8 + {1'b0, config_pmtu});
    // verilator lint_on UNUSEDSIGNAL

    assign config_load = state == LOAD;
    assign config_qp = qp;
    assign region_load = state == LOAD;
    assign region_entry = key[15:8];
    assign region_is_read = is_read;

    always @(posedge clk) begin
        if (state == COMPARE) begin
            case (transport)
                TRANSPORT_RC: belongs <= opcode[7:5] == OPCODE_RC && peer_right && opcode[4:0] != ATOMIC_ACKNOWLEDGE;
                TRANSPORT_UC: belongs <= opcode[7:5] == OPCODE_UC && peer_right;
                TRANSPORT_UD: belongs <= opcode[7:5] == OPCODE_UD && key == qkey;
                default: belongs <= 1'b0;
            endcase
            if (packet_pkey[14:0] != pkey) belongs <= 1'b0;
            in_order <= distance == 24'd0;
            behind <= distance[23];
            sequence_bad <= begins ? q_kind != NONE : q_kind != (is_send ? SENDING : WRITING);
            packet_bad <= bytes > path_bytes || (!ends && bytes != path_bytes) || (ends && !begins && bytes == 13'd0);
            octets <= !begins ? q_octets : is_write ? length : transport == TRANSPORT_UD ? {8'd0, DATAGRAM_ROW} : 32'd0;
            element_offset <= rq_slot * config_element;
        end
        if (state == MEASURE) begin
            length_bad <= packet_bad
                || (is_send && octets_behind > element_bytes)
                || (is_write && (ends ? octets_behind != 32'd0 : octets <= {19'd0, path_bytes}))
                || (is_read && bytes != 13'd0)
                || (has_reth && length > MAX_LENGTH);
            read_packets <= length == 32'd0 ? 24'd1 : whole_packets[23:0];
            rq_address <= {config_rq_base, 8'd0} + {24'd0, element_offset, 8'd0};
        end
        if (state == CHECK) begin
            last_psn <= is_read ? psn + read_packets - 24'd1 : psn;
            // A READ that is asked for again must have been asked for before, to its end.
            fits_behind <= expected - psn >= read_packets;
        end
    end

    // --------------------------------------------------------------------------------------------------------------- judgement

    reg  [6:0]  reads;
    wire        read_room = reads != READ_JOBS;
    wire        needs_element = (is_send && begins) || (has_immediate && ends);
    wire        known = is_send || is_write || is_read;
    wire        allowed = !has_reth || region_allowed;

    // What becomes of it.
    reg         accept;
    reg         executes;
    reg         reply_ack;
    reg         reply_read;
    reg  [7:0]  syndrome;
    reg  [23:0] reply_psn;
    reg         fatal;
    reg  [4:0]  fatal_code;
    reg         refused;
    reg         duplicate;
    reg         not_ready;
    reg         falls_silent;
    reg         drops_message;

    always @* begin
        accept = 1'b0;
        executes = 1'b0;
        reply_ack = 1'b0;
        reply_read = 1'b0;
        syndrome = ACK;
        reply_psn = expected;
        fatal = 1'b0;
        fatal_code = FATAL_OPCODE;
        refused = 1'b0;
        duplicate = 1'b0;
        not_ready = 1'b0;
        falls_silent = 1'b0;
        drops_message = 1'b0;
        if (!served || !belongs) begin
            refused = 1'b1;
        end else if (transport != TRANSPORT_RC) begin
            // Unreliable: what is wrong is dropped, and with it the rest of its message.
            if ((!begins && (!in_order || sequence_bad)) || length_bad || !allowed || (needs_element && !rq_room)) begin
                refused = !needs_element || rq_room;
                not_ready = needs_element && !rq_room;
                drops_message = 1'b1;
            end else begin
                accept = 1'b1;
                executes = 1'b1;
            end
        end else if (behind) begin
            duplicate = 1'b1;
            if (is_read) begin
                reply_read = !length_bad && allowed && fits_behind && read_room;
                reply_psn = psn;
            end else begin
                reply_ack = known;
                reply_psn = q_psn;
            end
        end else if (!in_order) begin
            reply_ack = !q_silent;
            syndrome = NAK_SEQUENCE;
            falls_silent = 1'b1;
        end else if (!known) begin
            {reply_ack, fatal} = 2'b11;
            syndrome = NAK_INVALID;
        end else if (sequence_bad) begin
            {reply_ack, fatal} = 2'b11;
            syndrome = NAK_INVALID;
            fatal_code = is_send ? FATAL_SEND_SEQUENCE : FATAL_WRITE_SEQUENCE;
        end else if (length_bad) begin
            {reply_ack, fatal} = 2'b11;
            syndrome = NAK_INVALID;
            fatal_code = is_send ? FATAL_SEND_LENGTH : is_read ? FATAL_READ_LENGTH : FATAL_WRITE_LENGTH;
        end else if (!allowed) begin
            {reply_ack, fatal} = 2'b11;
            syndrome = NAK_ACCESS;
            fatal_code = FATAL_ACCESS;
        end else if (needs_element && !rq_room) begin
            reply_ack = 1'b1;
            syndrome = {RNR, config_rnr_code};
            not_ready = 1'b1;
            falls_silent = 1'b1;
        end else if (is_read && !read_room) begin
            {reply_ack, fatal} = 2'b11;
            syndrome = NAK_INVALID;
            fatal_code = FATAL_READS_FULL;
        end else begin
            executes = 1'b1;
            accept = !is_read;
            reply_read = is_read;
            reply_ack = !is_read && ack_request;
            reply_psn = psn;
        end
    end

    wire        decide = state == DECIDE && m_effect_ready && (!m_decision_valid || m_decision_ready);
    wire        fills = executes && ends && (is_send || has_immediate);
    wire [63:0] target = !begins ? q_address : is_send ? rq_address : region_address;
    wire [63:0] target_behind = target + {51'd0, bytes};
    wire [23:0] msn_behind = executes && ends ? q_msn + 24'd1 : q_msn;

    assign s_ready = decide;
    assign rq_take = decide && fills;
    assign store = decide && served && (executes || falls_silent || drops_message);
    // A datagram has no place in a sequence.
    assign next_context = executes ? {
            opcode, transport == TRANSPORT_UD ? q_psn : last_psn, ends ? NONE : is_send ? SENDING : WRITING, 1'b0, msn_behind,
            octets_behind, target_behind
        } : falls_silent ? {q_opcode, q_psn, q_kind, 1'b1, q_msn, q_octets, q_address} : {
            q_opcode, begins && transport == TRANSPORT_UC ? psn : q_psn, NONE, q_silent, q_msn, q_octets, q_address
        };

    assign m_effect_valid = decide && (accept || reply_ack || reply_read || fatal);
    assign m_effect_qp = qp;
    assign m_effect_waits = accept;
    assign m_effect_connected = connected;
    assign m_effect_fills = fills;
    assign m_effect_notice = !fills ? 2'd0 : has_invalidate ? NOTICE_INVALIDATE : !has_immediate ? 2'd0
        : is_send ? NOTICE_SEND : NOTICE_WRITE;
    assign m_effect_index = rq_next_slot;
    assign m_effect_reply = reply_read ? REPLY_READ : reply_ack ? REPLY_ACK : 2'd0;
    assign m_effect_syndrome = syndrome;
    assign m_effect_psn = accept ? psn : reply_psn;
    assign m_effect_msn = msn_behind;
    assign m_effect_address = region_address;
    assign m_effect_word = is_read ? length : word;
    assign m_effect_fatal = fatal;
    assign m_effect_fatal_code = fatal_code;

    always @(posedge clk) begin
        if (m_decision_ready) m_decision_valid <= 1'b0;
        {send_valid, datagram_valid, duplicate_valid, refused_valid, not_ready_valid} <= 5'd0;

        case (state)
            IDLE: begin
                qp <= number[QP_WIDTH-1:0];
                served <= number < NUM_QP && qp_enabled[number[QP_WIDTH-1:0]] && !qp_dead[number[QP_WIDTH-1:0]]
                    && !qp_fatal[number[QP_WIDTH-1:0]] && !qp_failed[number[QP_WIDTH-1:0]];
                if (s_valid && !command_valid) state <= LOAD;
            end
            LOAD: state <= COMPARE;
            COMPARE: state <= MEASURE;
            MEASURE: state <= CHECK;
            CHECK: state <= DECIDE;
            default:
                if (decide) begin
                    state <= IDLE;
                    m_decision_valid <= 1'b1;
                    m_decision_accept <= accept;
                    m_decision_address <= target;
                    if (fatal) qp_dead[qp] <= 1'b1;
                    event_qp <= qp;
                    send_valid <= executes && is_send && transport != TRANSPORT_UD;
                    datagram_valid <= executes && is_management;
                    duplicate_valid <= duplicate;
                    refused_valid <= refused;
                    not_ready_valid <= not_ready;
                end
        endcase
        reads <= reads + {6'd0, decide && reply_read} - {6'd0, read_done} - {6'd0, read_dropped};
        if (clears) qp_dead[command_qp] <= 1'b0;
        if (rst) begin
            state <= IDLE;
            qp_dead <= {NUM_QP{1'b0}};
            reads <= 7'd0;
            m_decision_valid <= 1'b0;
            {send_valid, datagram_valid, duplicate_valid, refused_valid, not_ready_valid} <= 5'd0;
        end
    end

    generate
        if (READ_JOBS < 1 || READ_JOBS > 64) begin : check_read_jobs
            initial $fatal(1, "%m: READ_JOBS must be 1 to 64");
        end
    endgenerate

endmodule

`default_nettype wire
