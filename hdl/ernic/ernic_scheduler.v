// Chooses the queue pair that sends next: strict priority of levels 1 (control), 2 (image data), 3 (log), round robin in a level.
//
// Each level remembers whom it served last: a turn given to a higher level must not move the turns of a lower one, or the
// queue pairs behind the higher one's number would be preferred for ever. All levels choose at once, then the level is chosen.
// The choice may be made ahead, while a queue pair is in hand that will have been served by then.

`timescale 1ns / 1fs
`default_nettype none

module ernic_scheduler #(
    // Queue pairs. At least 2.
    parameter NUM_QP = 4,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire                clk,
    input  wire                rst,

    // Who has something to send, who has tokens, who needs neither tokens nor room, who is of which level (two bits each; 0 is
    // taken as 2).
    input  wire [NUM_QP-1:0]   ready,
    input  wire [NUM_QP-1:0]   shaped_ok,
    input  wire [NUM_QP-1:0]   exempt,
    input  wire [2*NUM_QP-1:0] service_level,
    // Levels that have room for a command.
    input  wire [3:1]          level_ready,

    // The queue pair in hand and its level (1 to 3): it is served, so the turn moves on; or the choice is to be as if it were.
    input  wire [QP_WIDTH-1:0] hand_qp,
    input  wire [1:0]          hand_level,
    input  wire                served,
    input  wire                ahead,

    // The choice, in the same cycle; meaningful while `any`.
    output wire                any,
    output wire [QP_WIDTH-1:0] grant,
    output wire [1:0]          grant_level,
    // Levels in which a queue pair could send, if there were room.
    output reg  [3:1]          waiting
);

    localparam [1:0] LEVEL_DEFAULT = 2'd2;

    reg  [3*NUM_QP-1:0]   request;
    wire [3*QP_WIDTH-1:0] choice;
    wire [3:1]            candidates;
    integer               qp;
    integer               level;
    reg  [1:0]            qp_level;

    always @* begin
        request = {(3*NUM_QP){1'b0}};
        waiting = 3'd0;
        qp_level = LEVEL_DEFAULT;
        for (qp = 0; qp < NUM_QP; qp = qp + 1) begin
            qp_level = service_level[2*qp +: 2] == 2'd0 ? LEVEL_DEFAULT : service_level[2*qp +: 2];
            for (level = 1; level <= 3; level = level + 1) begin
                if (ready[qp] && qp_level == level[1:0]) begin
                    request[(level-1)*NUM_QP+qp] = exempt[qp] || (shaped_ok[qp] && level_ready[level]);
                    waiting[level] = waiting[level] || exempt[qp] || shaped_ok[qp];
                end
            end
        end
    end

    genvar g;
    generate
        for (g = 1; g <= 3; g = g + 1) begin : levels
            localparam [1:0] LEVEL = g;
            reg [QP_WIDTH-1:0] last;

            ernic_round_robin #(
                .NUM_QP(NUM_QP)
            ) turn (
                .request(request[(g-1)*NUM_QP +: NUM_QP]),
                .last(ahead && hand_level == LEVEL ? hand_qp : last),
                .any(candidates[g]),
                .grant(choice[(g-1)*QP_WIDTH +: QP_WIDTH])
            );

            always @(posedge clk) begin
                if (served && hand_level == LEVEL) last <= hand_qp;
                if (rst) last <= {QP_WIDTH{1'b1}};
            end
        end
    endgenerate

    assign any = |candidates;
    assign grant_level = candidates[1] ? 2'd1 : candidates[2] ? 2'd2 : 2'd3;
    assign grant = candidates[1] ? choice[0 +: QP_WIDTH] : candidates[2] ? choice[QP_WIDTH +: QP_WIDTH] : choice[2*QP_WIDTH +: QP_WIDTH];

    generate
        if (NUM_QP < 2) begin : check_num_qp
            initial $fatal(1, "%m: NUM_QP must be at least 2");
        end
    endgenerate

endmodule

`default_nettype wire
