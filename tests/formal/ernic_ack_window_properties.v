// hdl/ernic/ernic_ack_engine.v: the window of packet sequence numbers, of any one queue pair, also where they wrap.
//
// An acknowledgement or response that is stale or of the future is counted as ignored and does nothing else. The oldest
// unacknowledged packet only moves on, never past the next one to be sent, and never past what an acknowledgement acknowledges; a good
// acknowledgement that meets no READ moves it just so far.
//
// Assumed of the requester: a queue pair has fewer than 2^23 packets in flight; its messages are numbered without gaps, and that of the
// oldest packet is the one it shows. Assumed of control: the sweep after reset is over. All else is free: what acknowledgements say and
// when (their queue is cut off), time-outs, errors, commands, other queue pairs.

`timescale 1ns / 1fs
`default_nettype none

module ernic_ack_window_properties #(
    // Queue pairs, messages in flight: as of the engine.
    parameter NUM_QP = 4,
    parameter OUTSTANDING = 1024,
    // 1: one kind of event, to find bugs in few steps: acknowledgements of the queue pair looked at.
    parameter REGULAR = 0,
    // 0: without the helping invariants.
    parameter HELP = 1,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP),
    parameter INDEX_WIDTH = $clog2(OUTSTANDING)
) (
    input wire                        clk,
    input wire                        rst,
    input wire [NUM_QP-1:0]           qp_enabled,
    input wire [2*NUM_QP-1:0]         qp_transport,
    input wire                        no_fatal,
    input wire                        command_valid,
    input wire [QP_WIDTH-1:0]         command_qp,
    input wire                        command_sets_psn,
    input wire                        command_sets_number,
    input wire                        command_sets_status,
    input wire [23:0]                 command_psn,
    input wire [15:0]                 command_number,
    input wire [6:0]                  command_syndrome,
    input wire [2:0]                  command_retries,
    input wire [2:0]                  command_rnr_retries,
    input wire                        s_ack_valid,
    input wire                        s_ack_is_read,
    input wire                        s_ack_is_last,
    input wire [12:0]                 s_ack_bytes,
    input wire [23:0]                 s_ack_qpn,
    input wire [23:0]                 s_ack_psn,
    input wire [7:0]                  s_ack_syndrome,
    input wire [31:0]                 s_ack_source_ip,
    input wire [47:0]                 s_ack_source_mac,
    input wire [15:0]                 s_ack_pkey,
    input wire                        m_decision_ready,
    input wire                        report_valid,
    input wire [QP_WIDTH-1:0]         report_qp,
    input wire [1:0]                  report_epoch,
    input wire [23:0]                 report_psn,
    input wire                        failed_valid,
    input wire [QP_WIDTH-1:0]         failed_qp,
    input wire                        illegal_valid,
    input wire                        flushed_valid,
    input wire [QP_WIDTH-1:0]         started_qp,
    input wire                        ended_valid,
    input wire [QP_WIDTH-1:0]         ended_qp,
    input wire [4:0]                  ended_code,
    input wire [7:0]                  writes_done,
    input wire                        write_error,
    input wire                        expired_valid,
    input wire                        expired_tail,
    input wire [QP_WIDTH-1:0]         expired_qp,
    input wire [2:0]                  ack_pmtu,
    input wire [14:0]                 ack_pkey,
    input wire [47:0]                 ack_mac,
    input wire [31:0]                 ack_ip,
    input wire [2:0]                  ack_retry_limit,
    input wire [2:0]                  ack_rnr_limit,
    input wire [15:0]                 ack_started,
    input wire                        message_in_ring,
    input wire [63:0]                 message_address,
    input wire [15:0]                 message_identifier,
    input wire                        release_ready,
    input wire                        m_completion_ready,
    input wire [23:0]                 any_psn,
    input wire [23:0]                 any_first,
    input wire [23:0]                 any_last,
    input wire [7:0]                  any_opcode,
    input wire [23:0]                 any_length,
    input wire [23:0]                 step
);

    // What the requester shows about the queue pair and the message that it was asked for.
    reg  [23:0]           loaded_psn;
    reg  [23:0]           message_first;
    reg  [23:0]           message_last;
    reg  [7:0]            message_opcode_held;
    reg  [23:0]           message_length_held;

    wire                        command_done;
    wire                        m_decision_valid;
    wire                        m_decision_accept;
    wire                        ack_load;
    wire [QP_WIDTH-1:0]         ack_qp;
    wire                        message_load;
    wire                        release_valid;
    wire                        m_completion_valid;
    wire                        progress_valid;
    wire                        retry_valid;
    wire                        timed_valid;
    wire                        wait_valid;
    wire                        nak_valid;
    wire                        ignored_valid;
    wire                        timeout_valid;
    wire                        fatal_valid;

    ernic_ack_engine #(
        .NUM_QP(NUM_QP),
        .OUTSTANDING(OUTSTANDING)
    ) dut (
        .clk(clk),
        .rst(rst),
        .qp_enabled(qp_enabled),
        .qp_transport(qp_transport),
        .no_fatal(no_fatal),
        .qp_fatal(),
        .qp_waiting(),
        .qp_retried(),
        .sweep_valid(1'b0),
        .sweep_qp({QP_WIDTH{1'b0}}),
        .command_valid(command_valid),
        .command_qp(command_qp),
        .command_sets_psn(command_sets_psn),
        .command_sets_number(command_sets_number),
        .command_sets_status(command_sets_status),
        .command_psn(command_psn),
        .command_number(command_number),
        .command_syndrome(command_syndrome),
        .command_retries(command_retries),
        .command_rnr_retries(command_rnr_retries),
        .command_done(command_done),
        .s_ack_valid(s_ack_valid),
        .s_ack_ready(),
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
        .m_decision_address(),
        .report_valid(report_valid),
        .report_qp(report_qp),
        .report_epoch(report_epoch),
        .report_psn(report_psn),
        .failed_valid(failed_valid),
        .failed_qp(failed_qp),
        .illegal_valid(illegal_valid),
        .flushed_valid(flushed_valid),
        .started_qp(started_qp),
        .ended_valid(ended_valid),
        .ended_qp(ended_qp),
        .ended_code(ended_code),
        .writes_done(writes_done),
        .write_error(write_error),
        .expired_valid(expired_valid),
        .expired_tail(expired_tail),
        .expired_qp(expired_qp),
        .expired_ready(),
        .ack_load(ack_load),
        .ack_qp(ack_qp),
        .ack_pmtu(ack_pmtu),
        .ack_pkey(ack_pkey),
        .ack_mac(ack_mac),
        .ack_ip(ack_ip),
        .ack_retry_limit(ack_retry_limit),
        .ack_rnr_limit(ack_rnr_limit),
        .ack_started(ack_started),
        .ack_next_psn(loaded_psn),
        .message_load(message_load),
        .message_index(),
        .message_first_psn(message_first),
        .message_last_psn(message_last),
        .message_in_ring(message_in_ring),
        .message_address(message_address),
        .message_length(message_length_held),
        .message_identifier(message_identifier),
        .message_opcode(message_opcode_held),
        .release_valid(release_valid),
        .release_ready(release_ready),
        .release_address(),
        .release_bytes(),
        .release_complete(),
        .m_completion_valid(m_completion_valid),
        .m_completion_ready(m_completion_ready),
        .m_completion_fatal(),
        .m_completion_qp(),
        .m_completion_number(),
        .m_completion_identifier(),
        .m_completion_opcode(),
        .m_completion_error(),
        .m_completion_waits(),
        .m_completion_writes(),
        .unwritten_valid(),
        .unwritten_qp(),
        .unwritten_number(),
        .progress_valid(progress_valid),
        .retry_valid(retry_valid),
        .timed_valid(timed_valid),
        .wait_valid(wait_valid),
        .wait_code(),
        .nak_valid(nak_valid),
        .ignored_valid(ignored_valid),
        .lost_valid(),
        .timeout_valid(timeout_valid),
        .probe_valid(),
        .fatal_valid(fatal_valid),
        .fatal_code(),
        .idle(),
        .acks_pending(),
        .send_load(1'b0),
        .send_qp({QP_WIDTH{1'b0}}),
        .send_done(),
        .send_oldest_psn(),
        .send_acked_offset(),
        .send_reads_done(),
        .timer_load(1'b0),
        .timer_qp({QP_WIDTH{1'b0}}),
        .timer_oldest_psn(),
        .status_load(1'b0),
        .status_qp({QP_WIDTH{1'b0}}),
        .status_done(),
        .status_oldest_psn(),
        .status_syndrome(),
        .status_retries(),
        .status_rnr_retries()
    );

    // oldest_place, oldest_word: a queue pair, any, and its oldest packet that is not acknowledged.
    `include "words.vh"

    // ------------------------------------------------------------------------------------------------------------- environment

    localparam [23:0] HALF = 24'h800000;
    localparam [7:0] READ = 8'h04;

    (* hierconn *) wire [2:0]  \dut.state ;
    (* hierconn *) wire [1:0]  \dut.kind ;
    (* hierconn *) wire [23:0] \dut.a_psn ;
    (* hierconn *) wire        \dut.a_is_read ;
    (* hierconn *) wire [7:0]  \dut.a_syndrome ;
    (* hierconn *) wire        \dut.genuine ;
    (* hierconn *) wire [NUM_QP-1:0] \dut.qp_fatal ;

    localparam [2:0] IDLE = 3'd0;
    localparam [2:0] LOAD = 3'd1;
    localparam [2:0] CHECK = 3'd2;
    localparam [2:0] COMPARE = 3'd3;
    localparam [2:0] MEASURE = 3'd4;
    localparam [2:0] EMIT = 3'd5;
    localparam [2:0] FINISH = 3'd6;
    localparam [1:0] EVENT_ACK = 2'd0;
    localparam [1:0] EVENT_FLUSH = 2'd3;

    reg         started = 1'b0;
    // The next packet to be sent; how many are in flight.
    reg  [23:0] next_psn;
    wire [23:0] in_flight = next_psn - oldest_word;
    // An event of the queue pair; the same in the walk over its messages.
    wire        ours = \dut.state != IDLE && ack_qp == oldest_place;
    wire        walks = ours && (\dut.state == COMPARE || \dut.state == MEASURE || \dut.state == EMIT);
    wire        commanded = command_done && command_qp == oldest_place;

    always @(posedge clk) begin
        started <= 1'b1;
        // A command that sets the oldest packet sets the next one, too.
        next_psn <= commanded ? any_psn : next_psn + step;
        if (ack_load) loaded_psn <= ack_qp == oldest_place ? next_psn : any_psn;
        if (message_load) begin
            message_first <= any_first;
            message_last <= any_last;
            message_opcode_held <= any_opcode;
            message_length_held <= any_length;
        end
    end

    always @* begin
        if (!started) assume (rst);
        assume (in_flight < HALF);
        assume (step < HALF);
        if (!commanded) assume (in_flight + step < HALF);
        if (walks) begin
            assume (oldest_word - message_first <= message_last - message_first);
            assume (message_last - oldest_word < loaded_psn - oldest_word);
            assume (message_last - message_first < HALF);
        end
        if (REGULAR != 0 && started) begin
            assume (!rst && !command_valid && !illegal_valid && !flushed_valid && !expired_valid && !report_valid && !failed_valid);
            assume (!ended_valid && !write_error);
            assume (m_completion_ready && release_ready && qp_enabled[oldest_place] && step == 24'd0);
        end
    end

    // ----------------------------------------------------------------------------------------------------------- specification

    wire        checks = ours && \dut.state == CHECK && \dut.kind == EVENT_ACK;
    // Ahead of the oldest packet, as a number with a sign: behind it, in flight, or not sent yet when the event began.
    wire [23:0] ahead = \dut.a_psn - oldest_word;
    wire        stale = ahead >= HALF;
    wire        future = !stale && ahead >= loaded_psn - oldest_word;
    // What the acknowledgement in hand acknowledges at most: all packets before this one.
    wire [23:0] limit = \dut.a_psn + 24'd1;
    wire        acts = release_valid || m_completion_valid || progress_valid || retry_valid || timed_valid || wait_valid
        || nak_valid || fatal_valid || timeout_valid;

    reg         refused;
    reg         released_before;
    reg         watched = 1'b0;
    reg  [23:0] oldest_before;
    reg  [23:0] window_before;
    reg         acked_before;
    reg  [23:0] limit_before;

    always @(posedge clk) begin
        if (checks) refused <= stale || future;
        else if (ack_load) refused <= 1'b0;
        released_before <= release_valid && !release_ready && !rst;
        watched <= started && !commanded && !rst;
        oldest_before <= oldest_word;
        window_before <= (ours ? loaded_psn : next_psn) - oldest_word;
        acked_before <= walks && \dut.kind == EVENT_ACK;
        limit_before <= limit - oldest_word;
        if (rst) refused <= 1'b0;
    end

    wire [23:0] moved = oldest_word - oldest_before;

    always @* begin
        if (started) begin
            // Stale or future: ignored, and nothing else.
            if (checks && (stale || future)) assert (ignored_valid);
            // One in the window is not, if it is from the peer and well formed.
            if (checks && !stale && !future && \dut.genuine && qp_enabled[oldest_place] && !\dut.qp_fatal [oldest_place]) begin
                assert (!ignored_valid || (\dut.a_is_read && \dut.a_syndrome [6:5] != 2'd0));
            end
            if (refused) begin
                assert (!m_completion_valid && !progress_valid && !retry_valid && !timed_valid && !wait_valid);
                assert (!nak_valid && !fatal_valid && !timeout_valid && (!release_valid || released_before));
            end
            // The oldest packet moves on in the window only, and as far as the acknowledgement says.
            if (watched) begin
                assert (moved <= window_before);
                if (acked_before && moved != 24'd0) assert (moved <= limit_before);
            end
            if (ours && \dut.state == FINISH && \dut.kind == EVENT_ACK && !\dut.a_is_read && !\dut.implied ) begin
                assert (oldest_word == (\dut.a_syndrome [6:5] == 2'd0 ? limit : \dut.a_psn ));
            end
        end
    end

    // ------------------------------------------------------------------------------------------------------ helping invariants

    (* hierconn *) wire        \dut.implied ;
    (* hierconn *) wire        \dut.covered ;
    (* hierconn *) wire        \dut.taken ;
    (* hierconn *) wire [23:0] \dut.target ;
    (* hierconn *) wire [23:0] \dut.q_oldest ;
    (* hierconn *) wire [23:0] \dut.q_position ;

    // What the walk has still to go.
    wire [23:0] way = \dut.target - oldest_word;
    wire [23:0] window = loaded_psn - oldest_word;
    wire [23:0] message_way = message_last + 24'd1 - oldest_word;

    always @* begin
        if (HELP != 0 && started) begin
            if (ours && \dut.state != LOAD) begin
                assert (window <= in_flight);
                if (\dut.state == CHECK) assert (\dut.q_oldest == oldest_word);
                assert (\dut.q_position == oldest_word);
            end
            if (walks) assert (\dut.kind == EVENT_ACK || \dut.kind == EVENT_FLUSH);
            if (refused) assert (\dut.state == IDLE || \dut.state == LOAD);
            if (walks && \dut.kind == EVENT_ACK) begin
                assert (way <= window && (way != 24'd0 || \dut.a_is_read ));
                assert (\dut.target == \dut.a_psn || \dut.target == limit);
                if (\dut.state != COMPARE) begin
                    assert (\dut.covered == (message_way <= way));
                    assert (\dut.a_is_read || !\dut.taken );
                end
                if (!\dut.a_is_read ) assert (\dut.target == (\dut.a_syndrome [6:5] == 2'd0 ? limit : \dut.a_psn ));
            end
        end
    end

    // ------------------------------------------------------------------------------------------------------------ reachability

    always @* begin
        cover (watched && moved == 24'd3 && oldest_word == 24'd1);
        cover (started && checks && stale && \dut.a_psn == 24'hffffff);
        cover (started && checks && future);
    end

endmodule

`default_nettype wire
