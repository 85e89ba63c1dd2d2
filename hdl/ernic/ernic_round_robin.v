// Round robin: the first one that asks above the one served last, else the lowest. Combinational, a tree: its depth grows with
// the logarithm of the number of queue pairs.

`timescale 1ns / 1fs
`default_nettype none

module ernic_round_robin #(
    // Queue pairs. At least 2.
    parameter NUM_QP = 4,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire [NUM_QP-1:0]   request,
    input  wire [QP_WIDTH-1:0] last,
    output wire                any,
    // Meaningful while `any`.
    output wire [QP_WIDTH-1:0] grant
);

    localparam SLOTS = 1 << QP_WIDTH;
    localparam LEAVES = 2 * SLOTS;

    // Leaves in order of preference: those above the last one, then all. Node n has children 2n and 2n + 1, the root is 1.
    // verilator lint_off UNUSEDSIGNAL // A heap has no node 0.
    reg [2*LEAVES-1:0]          asks;
    reg [2*LEAVES*QP_WIDTH-1:0] index;
    // verilator lint_on UNUSEDSIGNAL
    integer                     leaf;
    integer                     node;

    assign any = asks[1];
    assign grant = index[QP_WIDTH +: QP_WIDTH];

    always @* begin
        asks = {(2*LEAVES){1'b0}};
        index = {(2*LEAVES*QP_WIDTH){1'b0}};
        for (leaf = 0; leaf < SLOTS; leaf = leaf + 1) begin
            index[(LEAVES+leaf)*QP_WIDTH +: QP_WIDTH] = leaf[QP_WIDTH-1:0];
            index[(LEAVES+SLOTS+leaf)*QP_WIDTH +: QP_WIDTH] = leaf[QP_WIDTH-1:0];
            if (leaf < NUM_QP) begin
                asks[LEAVES + leaf] = request[leaf] && leaf[QP_WIDTH-1:0] > last;
                asks[LEAVES + SLOTS + leaf] = request[leaf];
            end
        end
        for (node = LEAVES - 1; node > 0; node = node - 1) begin
            asks[node] = asks[2*node] || asks[2*node+1];
            index[node*QP_WIDTH +: QP_WIDTH] =
                asks[2*node] ? index[2*node*QP_WIDTH +: QP_WIDTH] : index[(2*node+1)*QP_WIDTH +: QP_WIDTH];
        end
    end

    generate
        if (NUM_QP < 2) begin : check_num_qp
            initial $fatal(1, "%m: NUM_QP must be at least 2");
        end
    endgenerate

endmodule

`default_nettype wire
