// The shaper with a configuration memory as ernic_qp_config has one, so that a long test need not wake up every clock.

`timescale 1ns / 1fs
`default_nettype none

module shaper_bench #(
    // Queue pairs. 2 to 256.
    parameter NUM_QP = 4,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                sweep_valid,
    input  wire                write_valid,
    input  wire [QP_WIDTH-1:0] write_qp,
    input  wire [31:0]         write_rate,
    input  wire [23:0]         write_size,
    input  wire [31:0]         port_rate,
    input  wire [23:0]         port_size,
    input  wire                debit_valid,
    input  wire [QP_WIDTH-1:0] debit_qp,
    input  wire [12:0]         debit_octets,
    output wire [NUM_QP-1:0]   shaped_ok
);

    reg  [55:0]         configuration [0:(1<<QP_WIDTH)-1];
    reg  [55:0]         loaded;
    wire                config_load;
    wire [QP_WIDTH-1:0] config_qp;
    integer             qp;

    initial for (qp = 0; qp < 1 << QP_WIDTH; qp = qp + 1) configuration[qp] = 56'd0;

    always @(posedge clk) begin
        if (write_valid) configuration[write_qp] <= {write_size, write_rate};
        if (config_load) loaded <= configuration[config_qp];
    end

    ernic_shaper #(
        .NUM_QP(NUM_QP)
    ) shaper (
        .clk(clk),
        .rst(rst),
        .sweep_valid(sweep_valid),
        .config_load(config_load),
        .config_qp(config_qp),
        .config_rate(loaded[31:0]),
        .config_size(loaded[55:32]),
        .port_rate(port_rate),
        .port_size(port_size),
        .debit_valid(debit_valid),
        .debit_qp(debit_qp),
        .debit_octets(debit_octets),
        .shaped_ok(shaped_ok)
    );

endmodule

`default_nettype wire
