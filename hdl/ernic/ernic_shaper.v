// Token buckets: one a queue pair, and one for the port. Who has none left may not start a packet.
//
// One bucket is worked on a clock: every other one refills a bucket, round robin, with all that it earned since its last turn,
// the others debit. So a turn of a queue pair comes every 2^(QP_WIDTH + 1) clocks, the rates are exact over time, and one adder
// does for all. Rates are bytes a clock in units of 2^-26: 0 to 64, at 322 MHz in steps of 38 b/s. Rate 0:
// no limit; size 0: 65536 bytes. A bucket that holds less than a turn earns does not reach its rate.

`timescale 1ns / 1fs
`default_nettype none

module ernic_shaper #(
    // Queue pairs. 2 to 256.
    parameter NUM_QP = 4,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire                clk,
    input  wire                rst,

    // The configuration is being swept after reset: nobody is held back.
    input  wire                sweep_valid,
    // Rate and size of a queue pair's bucket, one cycle after the load.
    output wire                config_load,
    output wire [QP_WIDTH-1:0] config_qp,
    input  wire [31:0]         config_rate,
    input  wire [23:0]         config_size,
    // Those of the port.
    input  wire [31:0]         port_rate,
    input  wire [23:0]         port_size,

    // A packet is issued: its octets without FCS, padded by nobody yet. At most every other clock.
    input  wire                debit_valid,
    input  wire [QP_WIDTH-1:0] debit_qp,
    input  wire [12:0]         debit_octets,

    // Who may start a packet; it follows a debit within six clocks.
    output wire [NUM_QP-1:0]   shaped_ok
);

    // Preamble, FCS, gap; shortest frame without FCS.
    localparam [13:0] OVERHEAD = 14'd24;
    localparam [12:0] SHORTEST = 13'd60;
    localparam [23:0] SIZE_DEFAULT = 24'd65536;
    localparam [23:0] SIZE_MOST = 24'd8388608;
    // Clocks between two refills of a queue pair: 2^TURN.
    localparam TURN = QP_WIDTH + 1;
    localparam FRACTION = 26 - TURN;
    localparam PORT_FRACTION = 25;
    localparam WIDTH = 25 + FRACTION;
    localparam PORT_WIDTH = 25 + PORT_FRACTION;
    localparam [QP_WIDTH-1:0] QP_ONE = 1;

    function [23:0] size_of(input [23:0] value);
        size_of = value == 24'd0 ? SIZE_DEFAULT : value > SIZE_MOST ? SIZE_MOST : value;
    endfunction

    // -------------------------------------------------------------------------------------------------------- whose turn it is

    reg                 refilling;
    reg                 fresh;
    reg  [QP_WIDTH-1:0] visited;
    reg                 owed_valid;
    reg  [QP_WIDTH-1:0] owed_qp;
    reg  [13:0]         owed_bytes;
    wire                turn_valid = refilling || owed_valid;
    wire [QP_WIDTH-1:0] turn_qp = refilling ? visited : owed_qp;

    assign config_load = turn_valid;
    assign config_qp = turn_qp;

    always @(posedge clk) begin
        refilling <= !refilling;
        if (refilling) begin
            visited <= visited + QP_ONE;
            if (&visited) fresh <= 1'b0;
        end
        if (!refilling) owed_valid <= 1'b0;
        if (debit_valid) begin
            owed_valid <= 1'b1;
            owed_qp <= debit_qp;
            owed_bytes <= {1'b0, debit_octets < SHORTEST ? SHORTEST : debit_octets} + OVERHEAD;
        end
        if (rst || sweep_valid) begin
            refilling <= 1'b0;
            visited <= {QP_WIDTH{1'b0}};
            fresh <= 1'b1;
            owed_valid <= 1'b0;
        end
    end

    // ------------------------------------------------------------------------------------------------------------- queue pairs

    reg  [WIDTH-1:0]    level [0:(1<<QP_WIDTH)-1];
    reg                 step_valid;
    reg                 step_refill;
    reg                 step_fresh;
    reg  [QP_WIDTH-1:0] step_qp;
    reg  [13:0]         step_bytes;
    reg  [WIDTH-1:0]    step_level;
    wire [23:0]         step_size = size_of(config_size);
    wire                unlimited = config_rate == 32'd0;
    wire [WIDTH-1:0]    moved;
    wire                positive;
    // Who is not limited has a full bucket, which is what it starts with when a limit is set.
    wire [WIDTH-1:0]    after = step_refill && (step_fresh || unlimited) ? {1'b0, step_size, {FRACTION{1'b0}}} : moved;

    ernic_bucket_step #(
        .FRACTION(FRACTION)
    ) step (
        .level(step_level),
        .refill(step_refill),
        .rate(config_rate),
        .size(step_size),
        .bytes(step_bytes),
        .after(moved),
        .positive(positive)
    );

    reg [NUM_QP-1:0] enough;

    always @(posedge clk) begin
        step_valid <= turn_valid;
        if (turn_valid) begin
            step_refill <= refilling;
            step_fresh <= fresh;
            step_qp <= turn_qp;
            step_bytes <= owed_bytes;
            step_level <= step_valid && step_qp == turn_qp ? after : level[turn_qp];
        end
        if (step_valid) begin
            level[step_qp] <= after;
            enough[step_qp] <= unlimited || (step_refill && step_fresh) || positive;
        end
        if (rst || sweep_valid) begin
            step_valid <= 1'b0;
            enough <= {NUM_QP{1'b1}};
        end
    end

    // -------------------------------------------------------------------------------------------------------------------- port

    reg  [PORT_WIDTH-1:0] port_level;
    reg                   port_enough;
    wire [23:0]           port_bytes = size_of(port_size);
    wire                  port_unlimited = port_rate == 32'd0;
    wire [PORT_WIDTH-1:0] port_moved;
    wire                  port_positive;

    ernic_bucket_step #(
        .FRACTION(PORT_FRACTION)
    ) port_step (
        .level(port_level),
        .refill(refilling),
        .rate(port_rate),
        .size(port_bytes),
        .bytes(owed_bytes),
        .after(port_moved),
        .positive(port_positive)
    );

    always @(posedge clk) begin
        if (turn_valid) begin
            port_level <= port_moved;
            port_enough <= port_positive;
        end
        if (rst || sweep_valid || port_unlimited) begin
            port_level <= {1'b0, port_bytes, {PORT_FRACTION{1'b0}}};
            port_enough <= 1'b1;
        end
    end

    assign shaped_ok = port_enough ? enough : {NUM_QP{1'b0}};

    generate
        if (NUM_QP < 2 || NUM_QP > 256) begin : check_num_qp
            initial $fatal(1, "%m: NUM_QP must be 2 to 256");
        end
    endgenerate

endmodule

`default_nettype wire
