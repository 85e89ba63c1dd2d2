// Acknowledgements, READ responses, time-outs and errors: moves each queue pair's oldest unacknowledged packet on, says what is
// thereby free in the ring and complete, and decides about retries.
//
// One event at a time: an acknowledgement or response from the queue, a packet of an unreliable transport that has left (which is all
// the acknowledgement there will be), a timer that ran out, something that ends the queue pair (an entry that cannot be executed,
// data that memory refused, a request that the responder could not accept), or an entry left over after an error. A cumulative
// acknowledgement is walked message by message, three cycles each. (IBTA vol. 1, 9.7.5.1;
// both recoverable NAKs acknowledge all packets before theirs, so that "the oldest unacknowledged packet" is always where to
// resume, and a retry needs to say no more than which queue pair.)
//
// A READ is acknowledged by its responses alone, in order; each is told where its data belong. Whatever else comes from behind a
// response that is missing says that it is lost (implied NAK), once.
//
// Ring space of a message is freed in whole granules while it is in flight, and the rest of it when it is complete.

`timescale 1ns / 1fs
`default_nettype none

module ernic_ack_engine #(
    // Queue pairs. At least 2.
    parameter NUM_QP = 4,
    // Ring size in bytes. Power of two.
    parameter RING_BYTES = 4194304,
    // Messages in flight a queue pair. Power of two.
    parameter OUTSTANDING = 1024,
    // Acknowledgements waiting. Power of two, at least 2.
    parameter ACK_QUEUE = 32,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP),
    parameter INDEX_WIDTH = $clog2(OUTSTANDING)
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire [NUM_QP-1:0]      qp_enabled,
    // Transport of each queue pair: 0 RC, else unreliable.
    input  wire [2*NUM_QP-1:0]    qp_transport,
    input  wire                   no_fatal,
    output reg  [NUM_QP-1:0]      qp_fatal,
    // Waiting for a receiver that was not ready.
    output reg  [NUM_QP-1:0]      qp_waiting,
    output reg  [NUM_QP-1:0]      qp_retried,

    // Set a queue pair's state: after reset, when it is disabled, or by software.
    input  wire                   sweep_valid,
    input  wire [QP_WIDTH-1:0]    sweep_qp,
    input  wire                   command_valid,
    input  wire [QP_WIDTH-1:0]    command_qp,
    // Which of the values below it sets; none: all to 0.
    input  wire                   command_sets_psn,
    input  wire                   command_sets_number,
    input  wire                   command_sets_status,
    input  wire [23:0]            command_psn,
    input  wire [15:0]            command_number,
    input  wire [6:0]             command_syndrome,
    input  wire [2:0]             command_retries,
    input  wire [2:0]             command_rnr_retries,
    output wire                   command_done,

    // Acknowledgements and READ responses received. Acknowledgements never wait; responses do until there is room.
    input  wire                   s_ack_valid,
    output wire                   s_ack_ready,
    input  wire                   s_ack_is_read,
    // The response is the last of its request; octets of data in it.
    input  wire                   s_ack_is_last,
    input  wire [12:0]            s_ack_bytes,
    input  wire [23:0]            s_ack_qpn,
    input  wire [23:0]            s_ack_psn,
    input  wire [7:0]             s_ack_syndrome,
    input  wire [31:0]            s_ack_source_ip,
    input  wire [47:0]            s_ack_source_mac,
    // verilator lint_off UNUSEDSIGNAL
    // The top bit is the kind of membership, which need not be the same.
    input  wire [15:0]            s_ack_pkey,
    // verilator lint_on UNUSEDSIGNAL
    // For each response in turn: whether and where to its data belong. How many data writes of accepted ones there were, modulo 256.
    output reg                    m_decision_valid,
    input  wire                   m_decision_ready,
    output reg                    m_decision_accept,
    output reg  [63:0]            m_decision_address,
    // A packet of an unreliable transport has left, of this connection (modulo 4); a packet could not be sent.
    input  wire                   report_valid,
    input  wire [QP_WIDTH-1:0]    report_qp,
    input  wire [1:0]             report_epoch,
    input  wire [23:0]            report_psn,
    input  wire                   failed_valid,
    input  wire [QP_WIDTH-1:0]    failed_qp,
    // Requester: an entry cannot be executed; an entry was started without a packet after an error.
    input  wire                   illegal_valid,
    input  wire                   flushed_valid,
    input  wire [QP_WIDTH-1:0]    started_qp,
    // The responder has ended a queue pair, with this fatal code.
    input  wire                   ended_valid,
    input  wire [QP_WIDTH-1:0]    ended_qp,
    input  wire [4:0]             ended_code,
    // Accepted responses whose data memory has answered for, modulo 256; an error comes with the count's step.
    input  wire [7:0]             writes_done,
    input  wire                   write_error,
    // Timers: time is up; held until ready.
    input  wire                   expired_valid,
    // It was the short one, for the tail of what was sent.
    input  wire                   expired_tail,
    input  wire [QP_WIDTH-1:0]    expired_qp,
    output wire                   expired_ready,

    // All about one queue pair, one cycle after the load.
    output wire                   ack_load,
    output wire [QP_WIDTH-1:0]    ack_qp,
    input  wire [2:0]             ack_pmtu,
    input  wire [14:0]            ack_pkey,
    input  wire [47:0]            ack_mac,
    input  wire [31:0]            ack_ip,
    input  wire [2:0]             ack_retry_limit,
    input  wire [2:0]             ack_rnr_limit,
    input  wire [15:0]            ack_started,
    input  wire [23:0]            ack_next_psn,
    // One message in flight, one cycle after the load.
    output wire                   message_load,
    output wire [INDEX_WIDTH-1:0] message_index,
    input  wire [23:0]            message_first_psn,
    input  wire [23:0]            message_last_psn,
    input  wire                   message_in_ring,
    input  wire [63:0]            message_address,
    input  wire [23:0]            message_length,
    input  wire [15:0]            message_identifier,
    input  wire [7:0]             message_opcode,

    // Ring space that is free again.
    output reg                    release_valid,
    input  wire                   release_ready,
    output reg  [31:0]            release_address,
    output reg  [31:0]            release_bytes,
    output reg                    release_complete,

    // Completions, or (fatal) a record for the queue of fatal errors.
    output wire                   m_completion_valid,
    input  wire                   m_completion_ready,
    output wire                   m_completion_fatal,
    output wire [QP_WIDTH-1:0]    m_completion_qp,
    output wire [15:0]            m_completion_number,
    output wire [15:0]            m_completion_identifier,
    output wire [7:0]             m_completion_opcode,
    output wire [7:0]             m_completion_error,
    // It is to wait for so many data writes (modulo 256).
    output wire                   m_completion_waits,
    output wire [7:0]             m_completion_writes,
    // Memory has refused data of this message, in the cycle in which the count says that they are written.
    output wire                   unwritten_valid,
    output wire [QP_WIDTH-1:0]    unwritten_qp,
    output wire [15:0]            unwritten_number,

    // To the requester and the timers, all about `ack_qp`: look again; go back; restart the time; wait for a receiver.
    output wire                   progress_valid,
    output wire                   retry_valid,
    output wire                   timed_valid,
    output wire                   wait_valid,
    output wire [4:0]             wait_code,
    // For the counters.
    output wire                   nak_valid,
    output wire                   ignored_valid,
    output wire                   lost_valid,
    output wire                   timeout_valid,
    output wire                   probe_valid,
    output wire                   fatal_valid,
    output wire [4:0]             fatal_code,
    output wire                   idle,
    output wire                   acks_pending,

    // Readers, one cycle after their load.
    input  wire                   send_load,
    input  wire [QP_WIDTH-1:0]    send_qp,
    output reg  [15:0]            send_done,
    output reg  [23:0]            send_oldest_psn,
    output reg  [23:0]            send_acked_offset,
    output reg  [7:0]             send_reads_done,
    input  wire                   timer_load,
    input  wire [QP_WIDTH-1:0]    timer_qp,
    output reg  [23:0]            timer_oldest_psn,
    input  wire                   status_load,
    input  wire [QP_WIDTH-1:0]    status_qp,
    output reg  [15:0]            status_done,
    output reg  [23:0]            status_oldest_psn,
    output reg  [6:0]             status_syndrome,
    output reg  [2:0]             status_retries,
    output reg  [2:0]             status_rnr_retries
);

    // The ring frees memory in granules of this many bytes.
    localparam GRANULE_WIDTH = 12;
    // PSNs that far on are behind.
    localparam [23:0] PSN_HALF = 24'h800000;
    localparam [31:0] RING_MASK = RING_BYTES - 1;
    localparam [1:0] RC = 2'd0;
    localparam [7:0] WQE_READ = 8'h04;
    // Fatal codes of PG332.
    localparam [4:0] FATAL_ENTRY = 5'h05;
    localparam [4:0] FATAL_RETRIES = 5'h06;
    localparam [4:0] FATAL_RNR_RETRIES = 5'h09;
    localparam [4:0] FATAL_NAK = 5'h0a;
    localparam [4:0] FATAL_RESPONSE = 5'h1b;
    localparam [4:0] FATAL_UNWRITTEN = 5'h06;
    // Marks completions of entries that did not fail themselves.
    localparam [7:0] ERROR_FLUSHED = 8'h80;
    // AETH syndrome types (bits 6:5) and NAK codes.
    localparam [7:0] SYNDROME_ACK = 8'h1f;
    localparam [1:0] TYPE_ACK = 2'b00;
    localparam [1:0] TYPE_RNR = 2'b01;
    localparam [1:0] TYPE_NAK = 2'b11;
    localparam [4:0] NAK_SEQUENCE = 5'd0;
    localparam [4:0] NAK_LAST_KNOWN = 5'd3;

    // ------------------------------------------------------------------------------------------------- acknowledgements queue

    localparam ACK_WIDTH = 1 + 1 + 13 + 24 + 24 + 8 + 32 + 48 + 15;

    reg                  held_valid;
    reg                  held_is_read;
    reg                  held_is_last;
    reg  [12:0]          held_bytes;
    reg  [23:0]          held_qpn;
    reg  [23:0]          held_psn;
    reg  [7:0]           held_syndrome;
    reg  [31:0]          held_ip;
    reg  [47:0]          held_mac;
    reg  [14:0]          held_pkey;
    wire                 queue_ready;
    wire                 queue_valid;
    wire                 queue_take;
    wire                 queue_is_read;
    wire                 queue_is_last;
    wire [12:0]          queue_bytes;
    wire [23:0]          queue_qpn;
    wire [23:0]          queue_psn;
    wire [7:0]           queue_syndrome;
    wire [31:0]          queue_ip;
    wire [47:0]          queue_mac;
    wire [14:0]          queue_pkey;

    // When the queue is full, the one that waits before it gives way to a later acknowledgement of the same queue pair, which
    // says all that it says; so the last of a flood is never lost. Others may be: that costs a retry at worst.
    wire                 stuck = held_valid && !queue_ready;
    wire                 same = s_ack_qpn == held_qpn && s_ack_source_ip == held_ip && s_ack_source_mac == held_mac
        && s_ack_pkey[14:0] == held_pkey && s_ack_syndrome[7:5] == 3'd0 && held_syndrome[7:5] == 3'd0
        && !s_ack_is_read && !held_is_read;
    wire                 newer = s_ack_psn - held_psn < PSN_HALF;

    assign s_ack_ready = !s_ack_is_read || !stuck;

    always @(posedge clk) begin
        if (queue_ready) held_valid <= 1'b0;
        if (s_ack_valid) begin
            if (!stuck) held_valid <= 1'b1;
            if (!stuck || (same && newer)) begin
                held_is_read <= s_ack_is_read;
                held_is_last <= s_ack_is_last;
                held_bytes <= s_ack_bytes;
                held_qpn <= s_ack_qpn;
                held_psn <= s_ack_psn;
                held_syndrome <= s_ack_syndrome;
                held_ip <= s_ack_source_ip;
                held_mac <= s_ack_source_mac;
                held_pkey <= s_ack_pkey[14:0];
            end
        end
        if (rst) held_valid <= 1'b0;
    end

    sync_fifo #(
        .WIDTH(ACK_WIDTH),
        .DEPTH(ACK_QUEUE)
    ) queue (
        .clk(clk),
        .rst(rst),
        .s_data({
            held_is_read, held_is_last, held_bytes, held_qpn, held_psn, held_syndrome, held_ip, held_mac, held_pkey
        }),
        .s_valid(held_valid),
        .s_ready(queue_ready),
        .m_data({
            queue_is_read, queue_is_last, queue_bytes, queue_qpn, queue_psn, queue_syndrome, queue_ip, queue_mac, queue_pkey
        }),
        .m_valid(queue_valid),
        .m_ready(queue_take),
        // verilator lint_off PINCONNECTEMPTY
        // How full it is does not matter here.
        .level()
        // verilator lint_on PINCONNECTEMPTY
    );

    assign lost_valid = s_ack_valid && stuck && !same && !s_ack_is_read;
    assign acks_pending = held_valid || queue_valid;

    // ------------------------------------------------------------------------------------------------ state of each queue pair

    // Messages complete; oldest packet not acknowledged; bytes of the oldest message acknowledged and freed.
    reg [15:0]       done        [0:NUM_QP-1];
    reg [23:0]       oldest_psn  [0:NUM_QP-1];
    reg [23:0]       acked       [0:NUM_QP-1];
    reg [23:0]       freed       [0:NUM_QP-1];
    reg [6:0]        syndrome    [0:NUM_QP-1];
    reg [2:0]        retries     [0:NUM_QP-1];
    reg [2:0]        rnr_retries [0:NUM_QP-1];
    reg [4:0]        code        [0:NUM_QP-1];
    reg [7:0]        reads_done  [0:NUM_QP-1];
    // Newest packet that has left of an unreliable connection, and which connection this is.
    reg [23:0]       left_psn    [0:NUM_QP-1];
    reg [1:0]        epoch       [0:NUM_QP-1];
    reg [NUM_QP-1:0] left;
    reg [NUM_QP-1:0] illegal;
    reg [NUM_QP-1:0] ended;
    reg [4:0]        end_code    [0:NUM_QP-1];
    reg [NUM_QP-1:0] unwritten;
    reg [15:0]       refused_number [0:NUM_QP-1];
    reg [NUM_QP-1:0] flushing;
    // A missing response has been noted since the last progress.
    reg [NUM_QP-1:0] implied_once;
    // Responses with data taken so far, of all queue pairs, modulo 256.
    reg [7:0]        accepted;

    // --------------------------------------------------------------------------------------------------------- choice of event

    localparam [2:0] IDLE = 3'd0;
    localparam [2:0] LOAD = 3'd1;
    localparam [2:0] CHECK = 3'd2;
    localparam [2:0] COMPARE = 3'd3;
    localparam [2:0] MEASURE = 3'd4;
    localparam [2:0] EMIT = 3'd5;
    localparam [2:0] FINISH = 3'd6;
    localparam [2:0] REPORT = 3'd7;

    localparam [1:0] EVENT_ACK = 2'd0;
    localparam [1:0] EVENT_EXPIRED = 2'd1;
    localparam [1:0] EVENT_END = 2'd2;
    localparam [1:0] EVENT_FLUSH = 2'd3;

    reg  [2:0]          state;
    reg  [1:0]          kind;
    reg  [QP_WIDTH-1:0] qp;
    wire                any_end;
    wire [QP_WIDTH-1:0] next_end;
    wire                any_left;
    wire [QP_WIDTH-1:0] next_left;
    wire                any_flushing;
    wire [QP_WIDTH-1:0] next_flushing;
    wire                known = queue_qpn != 24'd0 && queue_qpn <= NUM_QP;
    wire [QP_WIDTH-1:0] queue_index = queue_qpn[QP_WIDTH-1:0] - {{(QP_WIDTH-1){1'b0}}, 1'b1};
    wire                choose = (state == IDLE || (state == FINISH && !fatal_valid)) && !command_valid && !sweep_valid;
    wire                choose_end = choose && any_end;
    // Not at once after another event, which may just have restarted the time.
    wire                choose_expired = choose && state == IDLE && !any_end && expired_valid;
    wire                choose_left = choose && !any_end && !expired_valid && any_left;
    wire                choose_flush = choose && !any_end && !expired_valid && !any_left && any_flushing;
    wire                choose_ack = choose && !any_end && !expired_valid && !any_left && !any_flushing && queue_valid
        && !(queue_is_read && m_decision_valid);

    ernic_qp_arbiter #(
        .NUM_QP(NUM_QP)
    ) end_arbiter (
        .request(illegal | ended | unwritten),
        .last(qp),
        .any(any_end),
        .grant(next_end)
    );

    ernic_qp_arbiter #(
        .NUM_QP(NUM_QP)
    ) left_arbiter (
        .request(left),
        .last(qp),
        .any(any_left),
        .grant(next_left)
    );

    ernic_qp_arbiter #(
        .NUM_QP(NUM_QP)
    ) flush_arbiter (
        .request(flushing),
        .last(qp),
        .any(any_flushing),
        .grant(next_flushing)
    );

    // A queue pair is switched off when no more data of its READs will be written.
    wire clears = !command_sets_psn && !command_sets_number && !command_sets_status;

    assign command_done = command_valid && state == IDLE && !sweep_valid && !(clears && writes_done != accepted);
    assign expired_ready = choose_expired;
    assign queue_take = choose_ack;
    assign idle = state == IDLE && !any_end && !any_left && !any_flushing && !acks_pending;
    assign ack_load = state == LOAD;
    assign ack_qp = qp;

    // ------------------------------------------------------------------------------------------------------------------- check

    reg         e_tail;
    // What ends the queue pair.
    reg         e_illegal;
    reg         e_unwritten;
    reg  [15:0] e_number;
    reg  [4:0]  e_code;
    reg         a_local;
    reg         a_is_read;
    reg         a_is_last;
    reg  [12:0] a_bytes;
    reg  [23:0] a_psn;
    reg  [7:0]  a_syndrome;
    reg  [31:0] a_ip;
    reg  [47:0] a_mac;
    reg  [14:0] a_pkey;
    reg  [15:0] q_done;
    reg  [23:0] q_oldest;
    // As it moves on during the walk.
    reg  [23:0] q_position;
    reg  [23:0] q_freed;
    reg  [7:0]  q_reads_done;
    reg  [2:0]  q_retries;
    reg  [2:0]  q_rnr_retries;
    reg  [4:0]  q_code;
    // All packets before this one are acknowledged.
    reg  [23:0] target;
    reg         progress;
    reg         failed_first;
    // Responses are missing before this event; this response cannot be one to what was asked.
    reg         implied;
    reg         bad_response;

    wire [1:0]  a_type = a_syndrome[6:5];
    wire        is_nak = a_type == TYPE_NAK;
    wire        is_rnr = a_type == TYPE_RNR;
    wire        well_formed = !a_syndrome[7] && (a_type == TYPE_ACK || is_rnr || (is_nak && a_syndrome[4:0] <= NAK_LAST_KNOWN));
    wire        from_peer = a_ip == ack_ip && a_mac == ack_mac && a_pkey == ack_pkey;
    wire [23:0] in_flight = ack_next_psn - q_oldest;
    wire        in_window = a_psn - q_oldest < in_flight;
    wire        reliable = qp_transport[2*qp +: 2] == RC;
    wire        genuine = a_local ? !reliable : reliable && well_formed && from_peer;
    wire        acceptable = qp_enabled[qp] && !qp_fatal[qp] && genuine && in_window && !(a_is_read && a_type != TYPE_ACK);
    // A response is the acknowledgement of what comes before it, until its own READ is reached.
    wire [23:0] a_target = a_type == TYPE_ACK && !a_is_read ? a_psn + 24'd1 : a_psn;
    wire        flushable = qp_enabled[qp] && qp_fatal[qp] && q_done != ack_started;

    assign ignored_valid = (choose_ack && !known) || (state == CHECK && kind == EVENT_ACK && !acceptable);

    // -------------------------------------------------------------------------------------------------- walk over the messages

    wire        flush = kind == EVENT_FLUSH;
    reg         covered;
    reg  [23:0] reach;
    reg  [23:0] free_to;
    wire        is_read = message_opcode == WQE_READ && !flush;
    // The response in hand belongs to this message, and is the next that is due.
    wire        own = a_is_read && kind == EVENT_ACK && a_psn - message_first_psn <= message_last_psn - message_first_psn;
    wire        due = own && is_read && a_psn == q_position;
    wire        is_last = a_psn == message_last_psn;
    wire [23:0] done_before = a_psn - message_first_psn;
    wire [23:0] offset = done_before << (4'd8 + {1'b0, ack_pmtu});
    wire [23:0] rest = message_length - offset;
    wire [12:0] pmtu_bytes = 13'd256 << ack_pmtu;
    wire        right_size = is_last ? {11'd0, a_bytes} == rest : a_bytes == pmtu_bytes;
    wire        right = right_size && a_is_last == is_last;
    wire        take = due && right;
    // Nothing but its own response goes past a READ, and no response ends in another message.
    wire        halt = !flush && ((is_read && !take) || (own && !is_read));
    wire        all_of_it = target - message_last_psn - 24'd1 < PSN_HALF;
    wire [23:0] packets_acked = target - message_first_psn + {23'd0, take};
    // Where the acknowledged part ends within its granule.
    wire [31:0] ring_address = message_address[31:0];
    wire [GRANULE_WIDTH-1:0] excess = ring_address[GRANULE_WIDTH-1:0] + reach[GRANULE_WIDTH-1:0];
    wire        below_start = reach < {{(24-GRANULE_WIDTH){1'b0}}, excess};
    wire [23:0] whole_granules = reach - {{(24-GRANULE_WIDTH){1'b0}}, excess};
    wire [23:0] next_freed = covered ? message_length : below_start || whole_granules < q_freed ? q_freed : whole_granules;
    wire        released = !release_valid || release_ready;
    wire        advance = state == EMIT && released && (!covered || m_completion_ready);
    wire [15:0] done_plus_one = q_done + 16'd1;
    wire [23:0] after_message = message_last_psn + 24'd1;
    reg         taken;
    wire        walk_on = covered && !taken && (flush ? done_plus_one != ack_started : a_is_read || after_message != target);

    // The next message is read while the present one leaves.
    assign message_load = state == CHECK || advance || state == REPORT;
    assign message_index = state == EMIT ? done_plus_one[INDEX_WIDTH-1:0] : q_done[INDEX_WIDTH-1:0];
    assign m_completion_valid = (state == EMIT && released && covered) || state == REPORT;
    assign m_completion_fatal = state == REPORT;
    assign m_completion_qp = qp;
    assign m_completion_number = q_done;
    assign m_completion_identifier = message_identifier;
    assign m_completion_opcode = message_opcode;
    assign m_completion_error = state == REPORT ? {3'd0, q_code}
        : !flush ? 8'd0 : failed_first ? {3'd0, q_code} : ERROR_FLUSHED | {3'd0, q_code};
    assign m_completion_waits = state == EMIT && taken;
    assign m_completion_writes = accepted;

    // --------------------------------------------------------------------------------------------------------------- decisions

    wire       finish = state == FINISH;
    wire       finish_ack = finish && kind == EVENT_ACK;
    wire       waiting = qp_waiting[qp];
    wire [2:0] base_retries = progress ? 3'd0 : q_retries;
    wire [2:0] base_rnr_retries = progress ? 3'd0 : q_rnr_retries;
    // A NAK while waiting for a receiver says nothing new, and must not cut the wait short; nor does the same RNR NAK again.
    wire       out_of_sequence = finish_ack && is_nak && a_syndrome[4:0] == NAK_SEQUENCE && !waiting;
    wire       not_ready = finish_ack && is_rnr && (!waiting || progress);
    wire       refused = finish_ack && is_nak && a_syndrome[4:0] != NAK_SEQUENCE;
    wire       wrong = finish_ack && bad_response;
    wire       missing = finish_ack && implied && !is_rnr && !waiting && (!implied_once[qp] || progress);
    wire       wait_over = finish && kind == EVENT_EXPIRED && waiting;
    wire       overdue = finish && kind == EVENT_EXPIRED && !waiting && in_flight != 24'd0;
    wire       timeout = overdue && !e_tail;
    wire       counted = out_of_sequence || timeout || missing;
    wire       retries_used = counted && base_retries == ack_retry_limit && !no_fatal;
    wire       rnr_used = not_ready && base_rnr_retries == ack_rnr_limit && ack_rnr_limit != 3'd7 && !no_fatal;
    wire       ends = finish && kind == EVENT_END;
    wire [4:0] ends_code = e_unwritten ? FATAL_UNWRITTEN : e_illegal ? FATAL_ENTRY : e_code;
    // The message at hand has failed itself.
    wire       fails_first = kind != EVENT_END || (e_unwritten ? q_done == e_number : e_illegal);

    assign fatal_valid = refused || wrong || retries_used || rnr_used || ends;
    assign fatal_code = ends ? ends_code : refused ? FATAL_NAK : wrong ? FATAL_RESPONSE : rnr_used ? FATAL_RNR_RETRIES : FATAL_RETRIES;
    assign nak_valid = finish_ack && a_type != TYPE_ACK && !a_is_read;
    assign timeout_valid = timeout;
    assign probe_valid = overdue && e_tail;
    assign retry_valid = (counted && !retries_used) || wait_over || probe_valid;
    assign wait_valid = not_ready && !rnr_used;
    assign wait_code = a_syndrome[4:0];
    assign timed_valid = (finish && progress && reliable && !waiting && !not_ready) || retry_valid;
    assign progress_valid = (finish && progress) || fatal_valid || (advance && flush);

    // -------------------------------------------------------------------------------------------------- one write port for each

    // Position: while walking. Retries: at the end.
    reg                store_position;
    reg                store_retries;
    reg [QP_WIDTH-1:0] store_qp;
    reg [15:0]         store_done;
    reg [23:0]         store_oldest;
    reg [23:0]         store_acked;
    reg [23:0]         store_freed;
    reg [6:0]          store_syndrome;
    reg [2:0]          store_retry_count;
    reg [2:0]          store_rnr_retry_count;
    reg                store_psn_part;
    reg                store_done_part;
    reg                store_syndrome_part;
    reg [7:0]          store_reads;

    always @* begin
        store_position = 1'b0;
        store_retries = 1'b0;
        store_qp = qp;
        store_done = covered ? done_plus_one : q_done;
        store_oldest = flush ? ack_next_psn : covered ? after_message : target;
        store_acked = covered ? 24'd0 : reach;
        store_freed = covered ? 24'd0 : free_to;
        store_syndrome = a_syndrome[6:0];
        store_retry_count = base_retries;
        store_rnr_retry_count = base_rnr_retries;
        store_psn_part = 1'b1;
        store_done_part = 1'b1;
        store_syndrome_part = 1'b1;
        store_reads = q_reads_done + {7'd0, covered && message_opcode == WQE_READ};
        if (sweep_valid || command_done) begin
            store_qp = sweep_valid ? sweep_qp : command_qp;
            store_position = sweep_valid || !command_sets_status;
            store_retries = sweep_valid || (!command_sets_psn && !command_sets_number);
            store_done = sweep_valid || !command_sets_number ? 16'd0 : command_number;
            store_oldest = sweep_valid || !command_sets_psn ? 24'd0 : command_psn;
            store_acked = 24'd0;
            store_freed = 24'd0;
            store_reads = 8'd0;
            store_syndrome = sweep_valid || !command_sets_status ? 7'd0 : command_syndrome;
            store_retry_count = sweep_valid || !command_sets_status ? 3'd0 : command_retries;
            store_rnr_retry_count = sweep_valid || !command_sets_status ? 3'd0 : command_rnr_retries;
            store_psn_part = sweep_valid || !command_sets_number;
            store_done_part = sweep_valid || !command_sets_psn;
        end else if (advance) begin
            store_position = 1'b1;
        end else if (finish) begin
            store_retries = 1'b1;
            store_syndrome_part = nak_valid;
            if (counted && base_retries != 3'd7) store_retry_count = base_retries + 3'd1;
            if (not_ready && base_rnr_retries != 3'd7) store_rnr_retry_count = base_rnr_retries + 3'd1;
        end
    end

    always @(posedge clk) begin
        if (store_position) begin
            if (store_done_part) done[store_qp] <= store_done;
            if (store_psn_part) oldest_psn[store_qp] <= store_oldest;
            acked[store_qp] <= store_acked;
            freed[store_qp] <= store_freed;
            reads_done[store_qp] <= store_reads;
        end
        if (store_retries) begin
            if (store_syndrome_part) syndrome[store_qp] <= store_syndrome;
            retries[store_qp] <= store_retry_count;
            rnr_retries[store_qp] <= store_rnr_retry_count;
        end
        if (fatal_valid) code[qp] <= fatal_code;
        if (ack_load) begin
            q_done <= done[qp];
            q_oldest <= oldest_psn[qp];
            q_position <= oldest_psn[qp];
            q_freed <= freed[qp];
            q_reads_done <= reads_done[qp];
            q_retries <= retries[qp];
            q_rnr_retries <= rnr_retries[qp];
            q_code <= code[qp];
        end
        if (advance) begin
            q_done <= store_done;
            q_position <= store_oldest;
            q_freed <= store_freed;
            q_reads_done <= store_reads;
        end
        if (fatal_valid) q_code <= fatal_code;
        if (send_load) begin
            send_done <= done[send_qp];
            send_oldest_psn <= oldest_psn[send_qp];
            send_acked_offset <= acked[send_qp];
            send_reads_done <= reads_done[send_qp];
        end
        if (timer_load) timer_oldest_psn <= oldest_psn[timer_qp];
        if (status_load) begin
            status_done <= done[status_qp];
            status_oldest_psn <= oldest_psn[status_qp];
            status_syndrome <= syndrome[status_qp];
            status_retries <= retries[status_qp];
            status_rnr_retries <= rnr_retries[status_qp];
        end
    end

    // ------------------------------------------------------------------------------------------------------------------- flags

    wire clear = command_done && clears;

    always @(posedge clk) begin
        // What a disabled queue pair leaves behind is not to meet its next connection.
        ended <= ended & qp_enabled;
        if (choose_end) begin
            illegal[next_end] <= 1'b0;
            ended[next_end] <= 1'b0;
            unwritten[next_end] <= 1'b0;
        end
        if (ended_valid) begin
            ended[ended_qp] <= 1'b1;
            end_code[ended_qp] <= ended_code;
        end
        if (unwritten_valid) begin
            unwritten[unwritten_qp] <= 1'b1;
            if (!unwritten[unwritten_qp]) refused_number[unwritten_qp] <= unwritten_number;
        end
        if (illegal_valid) illegal[started_qp] <= 1'b1;
        if (failed_valid) illegal[failed_qp] <= 1'b1;
        if (choose_left) left[next_left] <= 1'b0;
        if (report_valid && report_epoch == epoch[report_qp]) begin
            left[report_qp] <= 1'b1;
            left_psn[report_qp] <= report_psn;
        end
        if (finish && (progress || timeout)) implied_once[qp] <= 1'b0;
        if (missing) implied_once[qp] <= 1'b1;
        if (sweep_valid) epoch[sweep_qp] <= 2'd0;
        if (choose_flush) flushing[next_flushing] <= 1'b0;
        if (flushed_valid) flushing[started_qp] <= 1'b1;
        // Once more after the walk that follows: messages may have been started until the error was known.
        if (fatal_valid) flushing[qp] <= 1'b1;
        if (wait_valid) qp_waiting[qp] <= 1'b1;
        if (wait_over || fatal_valid) qp_waiting[qp] <= 1'b0;
        if (fatal_valid) qp_fatal[qp] <= 1'b1;
        if (retry_valid || wait_valid) qp_retried[qp] <= 1'b1;
        if (clear) begin
            epoch[command_qp] <= epoch[command_qp] + 2'd1;
            left[command_qp] <= 1'b0;
            implied_once[command_qp] <= 1'b0;
            illegal[command_qp] <= 1'b0;
            unwritten[command_qp] <= 1'b0;
            flushing[command_qp] <= 1'b0;
            qp_waiting[command_qp] <= 1'b0;
            qp_fatal[command_qp] <= 1'b0;
            qp_retried[command_qp] <= 1'b0;
        end
        if (rst) begin
            left <= {NUM_QP{1'b0}};
            implied_once <= {NUM_QP{1'b0}};
            illegal <= {NUM_QP{1'b0}};
            ended <= {NUM_QP{1'b0}};
            unwritten <= {NUM_QP{1'b0}};
            flushing <= {NUM_QP{1'b0}};
            qp_waiting <= {NUM_QP{1'b0}};
            qp_fatal <= {NUM_QP{1'b0}};
            qp_retried <= {NUM_QP{1'b0}};
        end
    end

    // ---------------------------------------------------------------------------------------------------- where data belong

    // Each response is decided about once: taken, or at the first thing that speaks against it. No data, nothing to write.
    wire       deliver = state == COMPARE && take && a_bytes != 13'd0;
    wire       decide = (choose_ack && queue_is_read && !known) || (kind == EVENT_ACK && a_is_read
        && ((state == CHECK && !acceptable) || (state == COMPARE && (take || halt))));

    always @(posedge clk) begin
        if (m_decision_ready) m_decision_valid <= 1'b0;
        if (decide) begin
            m_decision_valid <= 1'b1;
            m_decision_accept <= deliver;
            m_decision_address <= message_address + {40'd0, offset};
        end
        if (deliver) accepted <= accepted + 8'd1;
        if (rst) begin
            m_decision_valid <= 1'b0;
            accepted <= 8'd0;
        end
    end

    // Whose data are on their way: fewer than 64 packets are between their decision and memory's answer.
    reg  [QP_WIDTH-1:0] data_qp     [0:63];
    reg  [15:0]         data_number [0:63];
    reg  [7:0]          last_done;

    assign unwritten_valid = writes_done != last_done && write_error;
    assign unwritten_qp = data_qp[last_done[5:0]];
    assign unwritten_number = data_number[last_done[5:0]];

    always @(posedge clk) begin
        last_done <= writes_done;
        if (deliver) begin
            data_qp[accepted[5:0]] <= qp;
            data_number[accepted[5:0]] <= q_done;
        end
        if (rst) last_done <= 8'd0;
    end

    // ------------------------------------------------------------------------------------------------------------------- steps

    always @(posedge clk) begin
        if (release_ready) release_valid <= 1'b0;

        case (state)
            IDLE: ;
            LOAD: state <= CHECK;
            CHECK: begin
                target <= a_target;
                progress <= 1'b0;
                failed_first <= 1'b0;
                implied <= 1'b0;
                bad_response <= 1'b0;
                taken <= 1'b0;
                case (kind)
                    EVENT_ACK: state <= !acceptable ? IDLE : a_target != q_oldest || a_is_read ? COMPARE : FINISH;
                    EVENT_FLUSH: state <= flushable ? COMPARE : IDLE;
                    default: state <= qp_enabled[qp] && !qp_fatal[qp] ? FINISH : IDLE;
                endcase
            end
            COMPARE: begin
                covered <= flush || (take ? is_last : all_of_it);
                taken <= take;
                if (take) target <= a_psn + 24'd1;
                reach <= packets_acked << (4'd8 + {1'b0, ack_pmtu});
                state <= MEASURE;
                if (halt) begin
                    implied <= is_read && !due;
                    bad_response <= own && (!is_read || (due && !right));
                    state <= FINISH;
                end
            end
            MEASURE: begin
                free_to <= next_freed;
                release_valid <= !flush && message_in_ring && next_freed != q_freed;
                release_address <= (ring_address + {8'd0, q_freed}) & RING_MASK;
                release_bytes <= {8'd0, next_freed - q_freed};
                release_complete <= covered;
                state <= EMIT;
            end
            EMIT:
                if (advance) begin
                    progress <= !flush;
                    failed_first <= 1'b0;
                    state <= walk_on ? COMPARE : flush ? IDLE : FINISH;
                end
            FINISH: state <= fatal_valid ? REPORT : IDLE;
            default:
                if (m_completion_ready) begin
                    // Everything that was started completes with an error; the requester starts the rest.
                    kind <= EVENT_FLUSH;
                    failed_first <= fails_first;
                    state <= q_done != ack_started ? COMPARE : IDLE;
                end
        endcase
        if (choose_end) begin
            kind <= EVENT_END;
            e_illegal <= illegal[next_end];
            e_unwritten <= unwritten[next_end];
            e_number <= refused_number[next_end];
            e_code <= end_code[next_end];
            qp <= next_end;
            state <= LOAD;
        end
        if (choose_expired) begin
            kind <= EVENT_EXPIRED;
            e_tail <= expired_tail;
            qp <= expired_qp;
            state <= LOAD;
        end
        if (choose_flush) begin
            kind <= EVENT_FLUSH;
            qp <= next_flushing;
            state <= LOAD;
        end
        if (choose_left) begin
            kind <= EVENT_ACK;
            qp <= next_left;
            a_local <= 1'b1;
            a_is_read <= 1'b0;
            a_psn <= left_psn[next_left];
            a_syndrome <= SYNDROME_ACK;
            state <= LOAD;
        end
        if (choose_ack) begin
            kind <= EVENT_ACK;
            qp <= queue_index;
            a_local <= 1'b0;
            a_is_read <= queue_is_read;
            a_is_last <= queue_is_last;
            a_bytes <= queue_bytes;
            a_psn <= queue_psn;
            a_syndrome <= queue_syndrome;
            a_ip <= queue_ip;
            a_mac <= queue_mac;
            a_pkey <= queue_pkey;
            state <= known ? LOAD : IDLE;
        end
        if (rst) begin
            state <= IDLE;
            qp <= {QP_WIDTH{1'b0}};
            release_valid <= 1'b0;
        end
    end

endmodule

`default_nettype wire
