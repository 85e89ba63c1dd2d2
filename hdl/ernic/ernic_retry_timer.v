// One deadline a queue pair: for an acknowledgement, or for the end of the wait that a receiver asked for.
//
// Time is counted in ticks of 4.096 us (or of 2^tick_width clocks). After each tick the queue pairs are looked at one by one.
// A deadline lies one tick further than the time asked for, since the present tick is partly over: never early, up to a tick
// late. A restart is noted in a bit at once and worked off later; while noted, the old deadline does not count.
//
// A second, short time runs once all that was posted has been sent: when nothing comes for it, the tail may be lost, and no packet
// behind it will make the receiver say so.

`timescale 1ns / 1fs
`default_nettype none

module ernic_retry_timer #(
    // Queue pairs. At least 2.
    parameter NUM_QP = 4,
    // Core clocks in 4.096 us. At least 1.
    parameter TICK_CLOCKS = 1320,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire                clk,
    input  wire                rst,
    input  wire [3:0]          tick_width,
    input  wire                engine_enabled,
    input  wire [NUM_QP-1:0]   qp_enabled,
    input  wire [NUM_QP-1:0]   qp_fatal,
    input  wire [NUM_QP-1:0]   qp_waiting,

    // Restart the time for an acknowledgement: the oldest packet is sent; the acknowledgement engine says so.
    input  wire                sent_valid,
    input  wire [QP_WIDTH-1:0] sent_qp,
    input  wire                restart_valid,
    input  wire [QP_WIDTH-1:0] restart_qp,
    // Restart the short time: any packet of `sent_qp` is sent, or `progress_qp` has got an acknowledgement.
    input  wire                any_sent_valid,
    input  wire                progress_valid,
    input  wire [QP_WIDTH-1:0] progress_qp,
    // Wait as an RNR NAK says.
    input  wire                wait_valid,
    input  wire [QP_WIDTH-1:0] wait_qp,
    input  wire [4:0]          wait_code,

    // About one queue pair, one cycle after the load.
    output wire                timer_load,
    output wire [QP_WIDTH-1:0] timer_qp,
    input  wire [5:0]          timer_timeout,
    input  wire [15:0]         timer_tail_loss,
    input  wire [23:0]         timer_next_psn,
    input  wire [23:0]         timer_oldest_psn,

    // Time is up; held until ready, unless restarted before.
    output reg                 expired_valid,
    // It was the short one.
    output reg                 expired_tail,
    output reg  [QP_WIDTH-1:0] expired_qp,
    input  wire                expired_ready
);

    // Times are up to 2^31 ticks; one bit more, so that a deadline passed long ago is still in the past.
    localparam TIME_WIDTH = 33;
    // The short time counts in 128 clocks.
    localparam TAIL_WIDTH = 7;

    // Wait in ticks of 4.096 us, rounded up (IBTA vol. 1, table 45: 10 us to 655.36 ms).
    function [17:0] wait_ticks;
        input [4:0] rnr_code;
        begin
            case (rnr_code)
                5'd0: wait_ticks = 18'd160000;
                5'd1: wait_ticks = 18'd3;
                5'd2: wait_ticks = 18'd5;
                5'd3: wait_ticks = 18'd8;
                5'd4: wait_ticks = 18'd10;
                5'd5: wait_ticks = 18'd15;
                5'd6: wait_ticks = 18'd20;
                5'd7: wait_ticks = 18'd30;
                5'd8: wait_ticks = 18'd40;
                5'd9: wait_ticks = 18'd59;
                5'd10: wait_ticks = 18'd79;
                5'd11: wait_ticks = 18'd118;
                5'd12: wait_ticks = 18'd157;
                5'd13: wait_ticks = 18'd235;
                5'd14: wait_ticks = 18'd313;
                5'd15: wait_ticks = 18'd469;
                5'd16: wait_ticks = 18'd625;
                5'd17: wait_ticks = 18'd938;
                5'd18: wait_ticks = 18'd1250;
                5'd19: wait_ticks = 18'd1875;
                5'd20: wait_ticks = 18'd2500;
                5'd21: wait_ticks = 18'd3750;
                5'd22: wait_ticks = 18'd5000;
                5'd23: wait_ticks = 18'd7500;
                5'd24: wait_ticks = 18'd10000;
                5'd25: wait_ticks = 18'd15000;
                5'd26: wait_ticks = 18'd20000;
                5'd27: wait_ticks = 18'd30000;
                5'd28: wait_ticks = 18'd40000;
                5'd29: wait_ticks = 18'd60000;
                5'd30: wait_ticks = 18'd80000;
                default: wait_ticks = 18'd120000;
            endcase
        end
    endfunction

    // ------------------------------------------------------------------------------------------------------------------- ticks

    localparam [15:0] TICK_LAST = TICK_CLOCKS - 1;

    reg  [15:0]           clocks;
    reg  [TIME_WIDTH-1:0] now;
    wire [15:0]           last_clock = tick_width == 4'd0 ? TICK_LAST : (16'd1 << tick_width) - 16'd1;
    wire                  tick = clocks >= last_clock;
    // Ticks of the short time.
    reg  [TAIL_WIDTH-1:0] tail_clocks;
    wire                  tail_tick = tail_clocks == {TAIL_WIDTH{1'b1}};

    always @(posedge clk) begin
        clocks <= tick ? 16'd0 : clocks + 16'd1;
        if (tick) now <= now + {{(TIME_WIDTH-1){1'b0}}, 1'b1};
        tail_clocks <= tail_clocks + {{(TAIL_WIDTH-1){1'b0}}, 1'b1};
        if (rst) begin
            tail_clocks <= {TAIL_WIDTH{1'b0}};
            clocks <= 16'd0;
            now <= {TIME_WIDTH{1'b0}};
        end
    end

    // --------------------------------------------------------------------------------------------------------------- deadlines

    localparam [2:0] IDLE = 3'd0;
    localparam [2:0] RESTART_LOAD = 3'd1;
    localparam [2:0] RESTART = 3'd2;
    localparam [2:0] LOOK_LOAD = 3'd3;
    localparam [2:0] LOOK = 3'd4;

    reg  [TIME_WIDTH-1:0] deadline [0:NUM_QP-1];
    reg  [TIME_WIDTH-1:0] q_deadline;
    reg  [NUM_QP-1:0]     restarts;
    reg                   wait_pending;
    reg  [QP_WIDTH-1:0]   wait_for;
    reg  [4:0]            wait_for_code;
    reg  [2:0]            state;
    reg  [QP_WIDTH-1:0]   qp;
    reg  [QP_WIDTH-1:0]   looked_at;
    reg                   looking;
    // The short time: what is left of it, whether it starts anew, whether it has run out since the last progress.
    reg  [15:0]           tail_left [0:NUM_QP-1];
    reg  [15:0]           q_tail_left;
    reg  [NUM_QP-1:0]     tail_anew;
    reg  [NUM_QP-1:0]     tail_once;
    // A tick has passed, and this look at the queue pairs, is one of the short time.
    reg                   tail_due;
    reg                   tail_look;
    wire                  last_qp = {{(9-QP_WIDTH){1'b0}}, looked_at} + 9'd1 == NUM_QP;
    wire                  any_restart;
    wire [QP_WIDTH-1:0]   next_restart;

    ernic_qp_arbiter #(
        .NUM_QP(NUM_QP)
    ) arbiter (
        .request(restarts),
        .last(qp),
        .any(any_restart),
        .grant(next_restart)
    );

    wire [4:0]            exponent = timer_timeout[5] ? 5'd31 : timer_timeout[4:0];
    wire [TIME_WIDTH-1:0] soon = now + {{(TIME_WIDTH-1){1'b0}}, 1'b1};
    wire [TIME_WIDTH-1:0] overdue = now - q_deadline;
    wire                  awaiting = timer_next_psn != timer_oldest_psn && timer_timeout != 6'd0 && !restarts[qp];
    // Its time is being changed at this moment.
    wire                  changing = (sent_valid && sent_qp == qp) || (restart_valid && restart_qp == qp)
        || (wait_valid && wait_qp == qp) || (wait_pending && wait_for == qp);
    wire                  due = qp_enabled[qp] && !qp_fatal[qp] && (qp_waiting[qp] || awaiting) && !overdue[TIME_WIDTH-1]
        && !changing;
    wire                  store_wait = state == IDLE && wait_pending;
    wire                  store_restart = state == RESTART;
    wire                  tail_runs = qp_enabled[qp] && !qp_fatal[qp] && !qp_waiting[qp] && timer_next_psn != timer_oldest_psn
        && timer_tail_loss != 16'd0 && !tail_once[qp];
    wire                  tail_step = state == LOOK && tail_look && tail_runs;
    wire                  tail_over = tail_step && !tail_anew[qp] && q_tail_left <= 16'd1
        && !(any_sent_valid && sent_qp == qp) && !(progress_valid && progress_qp == qp);
    // The queue pair that is about to be reported has got new time.
    wire                  withdrawn = (sent_valid && sent_qp == expired_qp) || (restart_valid && restart_qp == expired_qp)
        || (wait_valid && wait_qp == expired_qp);

    assign timer_load = state == RESTART_LOAD || state == LOOK_LOAD;
    assign timer_qp = qp;

    always @(posedge clk) begin
        if ((tick || tail_tick) && engine_enabled) looking <= 1'b1;
        if (tail_tick) tail_due <= 1'b1;
        if (tail_step) tail_left[qp] <= tail_anew[qp] ? timer_tail_loss : q_tail_left - 16'd1;
        if (state == LOOK_LOAD) q_tail_left <= tail_left[qp];
        if (expired_ready || withdrawn) expired_valid <= 1'b0;
        if (store_wait || store_restart) begin
            deadline[store_wait ? wait_for : qp] <= store_wait ? soon + {{(TIME_WIDTH-18){1'b0}}, wait_ticks(wait_for_code)}
                : soon + ({{(TIME_WIDTH-1){1'b0}}, 1'b1} << exponent);
        end
        if (timer_load) q_deadline <= deadline[qp];

        case (state)
            IDLE:
                if (wait_pending) begin
                    wait_pending <= 1'b0;
                end else if (any_restart) begin
                    qp <= next_restart;
                    state <= RESTART_LOAD;
                end else if (looking && !expired_valid) begin
                    qp <= looked_at;
                    looked_at <= last_qp ? {QP_WIDTH{1'b0}} : looked_at + {{(QP_WIDTH-1){1'b0}}, 1'b1};
                    if (last_qp) looking <= 1'b0;
                    // Decided with the first of them, for all.
                    if (looked_at == {QP_WIDTH{1'b0}}) begin
                        tail_look <= tail_due;
                        tail_due <= tail_tick;
                    end
                    state <= LOOK_LOAD;
                end
            RESTART_LOAD: state <= RESTART;
            LOOK_LOAD: state <= LOOK;
            LOOK: begin
                expired_valid <= due || tail_over;
                expired_tail <= !due;
                expired_qp <= qp;
                state <= IDLE;
            end
            default: state <= IDLE;
        endcase

        tail_once <= tail_once & qp_enabled;
        if (tail_step) tail_anew[qp] <= 1'b0;
        if (tail_over && !due) tail_once[qp] <= 1'b1;
        if (any_sent_valid) tail_anew[sent_qp] <= 1'b1;
        if (progress_valid) begin
            tail_anew[progress_qp] <= 1'b1;
            tail_once[progress_qp] <= 1'b0;
        end
        if (state == RESTART_LOAD) restarts[qp] <= 1'b0;
        // A wait for a receiver is not cut short by a restart that was noted before.
        if (wait_valid) begin
            restarts[wait_qp] <= 1'b0;
            wait_pending <= 1'b1;
            wait_for <= wait_qp;
            wait_for_code <= wait_code;
        end
        if (sent_valid && !qp_waiting[sent_qp] && !(wait_valid && wait_qp == sent_qp)) restarts[sent_qp] <= 1'b1;
        if (restart_valid) restarts[restart_qp] <= 1'b1;
        if (rst) begin
            state <= IDLE;
            qp <= {QP_WIDTH{1'b0}};
            looked_at <= {QP_WIDTH{1'b0}};
            looking <= 1'b0;
            tail_anew <= {NUM_QP{1'b0}};
            tail_once <= {NUM_QP{1'b0}};
            tail_due <= 1'b0;
            tail_look <= 1'b0;
            restarts <= {NUM_QP{1'b0}};
            wait_pending <= 1'b0;
            expired_valid <= 1'b0;
        end
    end

    generate
        if (TICK_CLOCKS < 1 || TICK_CLOCKS > 65536) begin : check_tick
            initial $fatal(1, "%m: TICK_CLOCKS must be 1 to 65536");
        end
    endgenerate

endmodule

`default_nettype wire
