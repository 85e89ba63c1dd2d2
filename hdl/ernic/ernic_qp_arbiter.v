// Round robin over queue pairs: the first one that asks above the one served last, else the lowest.

`timescale 1ns / 1fs
`default_nettype none

module ernic_qp_arbiter #(
    // Queue pairs. At least 2.
    parameter NUM_QP = 4,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire [NUM_QP-1:0]   request,
    input  wire [QP_WIDTH-1:0] last,
    output wire                any,
    // Meaningful while `any`.
    output reg  [QP_WIDTH-1:0] grant
);

    integer i;
    reg     above;

    assign any = |request;

    always @* begin
        grant = {QP_WIDTH{1'b0}};
        above = 1'b0;
        if (any) begin
            for (i = NUM_QP - 1; i >= 0; i = i - 1) begin
                if (request[i] && (i[QP_WIDTH-1:0] > last || !above)) begin
                    grant = i[QP_WIDTH-1:0];
                    above = i[QP_WIDTH-1:0] > last;
                end
            end
        end
    end

    generate
        if (NUM_QP < 2) begin : check_num_qp
            initial $fatal(1, "%m: NUM_QP must be at least 2");
        end
    endgenerate

endmodule

`default_nettype wire
