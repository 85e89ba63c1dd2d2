// hdl/ernic/ernic_qp_arbiter.v: only queue pairs that ask are served, and one that goes on asking is served among the next
// NUM_QP grants, when the one served last is remembered.

`timescale 1ns / 1fs
`default_nettype none

module ernic_qp_arbiter_properties #(
    // Queue pairs: as of the arbiter.
    parameter NUM_QP = 4,
    // 0: without the helping invariants.
    parameter HELP = 1,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input wire              clk,
    input wire [NUM_QP-1:0] request,
    // The user takes the grant.
    input wire              serve
);

    reg  [QP_WIDTH-1:0] last = {QP_WIDTH{1'b0}};
    wire                any;
    wire [QP_WIDTH-1:0] grant;

    ernic_qp_arbiter #(
        .NUM_QP(NUM_QP)
    ) dut (
        .request(request),
        .last(last),
        .any(any),
        .grant(grant)
    );

    // Any queue pair; grants to others while it asks.
    (* anyconst *) wire [QP_WIDTH-1:0] qp;
    reg  [QP_WIDTH:0] passed_over = {(QP_WIDTH+1){1'b0}};

    always @* assume (qp < NUM_QP);

    always @(posedge clk) begin
        if (any && serve) last <= grant;
        if (!request[qp] || (any && serve && grant == qp)) passed_over <= {(QP_WIDTH+1){1'b0}};
        else if (any && serve) passed_over <= passed_over + 1'b1;
    end

    always @* begin
        assert (any == (request != {NUM_QP{1'b0}}));
        if (any) assert (grant < NUM_QP && request[grant]);
        assert (passed_over < NUM_QP);
    end

    // Each grant to another one is a step towards this one: from behind it, round, up to it.
    wire [QP_WIDTH:0] before = qp > last ? qp - last : NUM_QP + qp - last;

    always @* begin
        if (HELP != 0) begin
            assert (last < NUM_QP);
            if (passed_over != {(QP_WIDTH+1){1'b0}}) assert (passed_over + before <= NUM_QP);
        end
    end

    always @* begin
        cover (passed_over == NUM_QP - 1);
        cover (any && serve && grant == qp && last == qp);
    end

endmodule

`default_nettype wire
