// Chooses the queue pair that sends next: strict priority of levels 1 (control), 2 (image data), 3 (log), round robin in a level.
//
// Each level remembers whom it served last: a turn given to a higher level must not move the turns of a lower one, or the
// queue pairs behind the higher one's number would be preferred for ever. All levels choose at once, then the level is chosen.

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

    // Who has something to send, who has tokens, who is of which level (two bits each; 0 is taken as 2).
    input  wire [NUM_QP-1:0]   ready,
    input  wire [NUM_QP-1:0]   shaped_ok,
    input  wire [2*NUM_QP-1:0] service_level,
    // Levels that have room for a command.
    input  wire [3:1]          level_ready,

    // The choice, in the same cycle; meaningful while `any`. `taken` uses it up: the turn moves on.
    output wire                any,
    output wire [QP_WIDTH-1:0] grant,
    output wire [1:0]          grant_level,
    input  wire                taken,
    // Levels in which a queue pair could be chosen.
    output wire [3:1]          candidates
);

    localparam [1:0] LEVEL_DEFAULT = 2'd2;

    reg  [3*NUM_QP-1:0]   request;
    wire [3*QP_WIDTH-1:0] choice;
    integer               qp;
    integer               level;
    reg  [1:0]            qp_level;

    always @* begin
        request = {(3*NUM_QP){1'b0}};
        qp_level = LEVEL_DEFAULT;
        for (qp = 0; qp < NUM_QP; qp = qp + 1) begin
            qp_level = service_level[2*qp +: 2] == 2'd0 ? LEVEL_DEFAULT : service_level[2*qp +: 2];
            for (level = 1; level <= 3; level = level + 1) begin
                request[(level-1)*NUM_QP+qp] = ready[qp] && shaped_ok[qp] && qp_level == level[1:0] && level_ready[level];
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
                .last(last),
                .any(candidates[g]),
                .grant(choice[(g-1)*QP_WIDTH +: QP_WIDTH])
            );

            always @(posedge clk) begin
                if (taken && any && grant_level == LEVEL) last <= grant;
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
