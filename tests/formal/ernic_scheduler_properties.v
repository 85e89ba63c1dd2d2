// hdl/ernic/ernic_scheduler.v: a level is served only when no higher one has a candidate; only candidates are served; and
// one that stays a candidate is served among the next NUM_QP grants of its level, whatever the other levels do.

`timescale 1ns / 1fs
`default_nettype none

module ernic_scheduler_properties #(
    // Queue pairs: as of the scheduler.
    parameter NUM_QP = 4,
    // 0: without the helping invariants.
    parameter HELP = 1,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input wire                clk,
    input wire                rst,
    input wire [NUM_QP-1:0]   ready,
    input wire [NUM_QP-1:0]   shaped_ok,
    input wire [NUM_QP-1:0]   exempt,
    input wire [2*NUM_QP-1:0] service_level,
    input wire [3:1]          level_ready,
    input wire                taken
);

    wire                any;
    wire [QP_WIDTH-1:0] grant;
    wire [1:0]          grant_level;
    wire [3:1]          waiting;
    // A grant that is taken is served in the next cycle, in which the choice is made ahead.
    reg                 in_hand = 1'b0;
    reg  [QP_WIDTH-1:0] hand_qp = {QP_WIDTH{1'b0}};
    reg  [1:0]          hand_level = 2'd0;

    always @(posedge clk) begin
        in_hand <= any && taken && !rst;
        hand_qp <= grant;
        hand_level <= grant_level;
    end

    ernic_scheduler #(
        .NUM_QP(NUM_QP)
    ) dut (
        .clk(clk),
        .rst(rst),
        .ready(ready),
        .shaped_ok(shaped_ok),
        .exempt(exempt),
        .service_level(service_level),
        .level_ready(level_ready),
        .hand_qp(hand_qp),
        .hand_level(hand_level),
        .served(in_hand),
        .ahead(in_hand),
        .any(any),
        .grant(grant),
        .grant_level(grant_level),
        .waiting(waiting)
    );

    reg started = 1'b0;

    always @(posedge clk) started <= 1'b1;
    always @* assume (rst == !started);

    // Any queue pair of any level; grants of its level to others while it is a candidate.
    (* anyconst *) wire [QP_WIDTH-1:0] qp;
    (* anyconst *) wire [1:0] level;
    reg  [QP_WIDTH:0] passed_over = {(QP_WIDTH+1){1'b0}};
    wire [1:0]        given = service_level[2*qp +: 2];
    wire              candidate = ready[qp] && (given == 2'd0 ? 2'd2 : given) == level
        && (exempt[qp] || (shaped_ok[qp] && level_ready[level]));
    wire              served = any && taken && grant_level == level;

    always @* assume (qp < NUM_QP && level != 2'd0);

    always @(posedge clk) begin
        if (rst || !candidate || (served && grant == qp)) passed_over <= {(QP_WIDTH+1){1'b0}};
        else if (served) passed_over <= passed_over + 1'b1;
    end

    wire [1:0] grant_given = service_level[2*grant +: 2];

    always @* begin
        if (any) begin
            assert (grant < NUM_QP && ready[grant] && (exempt[grant] || (shaped_ok[grant] && level_ready[grant_level])));
            assert ((grant_given == 2'd0 ? 2'd2 : grant_given) == grant_level);
        end
        if (candidate) assert (any && grant_level <= level && waiting[level]);
        if (started) assert (passed_over < NUM_QP);
    end

    // Each grant to another one of the level is a step towards this one: from behind it, round, up to it. After reset the last
    // one is the highest number there is.
    (* hierconn *) wire [QP_WIDTH-1:0] \dut.levels[1].last ;
    (* hierconn *) wire [QP_WIDTH-1:0] \dut.levels[2].last ;
    (* hierconn *) wire [QP_WIDTH-1:0] \dut.levels[3].last ;
    wire [QP_WIDTH-1:0] last = in_hand && hand_level == level ? hand_qp : level == 2'd1 ? \dut.levels[1].last : level == 2'd2 ? \dut.levels[2].last : \dut.levels[3].last ;
    wire [QP_WIDTH:0]   before = qp > last ? qp - last : (1 << QP_WIDTH) + qp - last;

    always @* begin
        if (HELP != 0 && started && passed_over != {(QP_WIDTH+1){1'b0}}) assert (passed_over + before <= NUM_QP);
    end

    always @* begin
        cover (passed_over == NUM_QP - 1);
        cover (started && !rst && candidate && any && taken && grant_level < level && passed_over != {(QP_WIDTH+1){1'b0}});
    end

endmodule

`default_nettype wire
