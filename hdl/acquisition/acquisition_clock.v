// Time of day: seconds, nanoseconds and a fraction, by a settable increment a clock.

`timescale 1ns / 1fs
`default_nettype none

module acquisition_clock (
    input  wire        clk,
    input  wire        rst,
    // Nanoseconds a clock, 8.24 fixed point.
    input  wire [31:0] increment,
    // Set the clock; quarters of a nanosecond, below 4e9.
    input  wire        load,
    input  wire [31:0] load_seconds,
    input  wire [31:0] load_quarters,
    // [63:32] seconds, [31:2] nanoseconds, [1:0] quarters of one.
    output wire [63:0] timestamp
);

    // In units of 2^-24 ns.
    localparam [53:0] SECOND = {30'd1000000000, 24'd0};

    reg  [31:0] seconds;
    reg  [53:0] fraction;
    // Next value, and the same if a second has passed. The sign bit of the latter decides.
    wire [54:0] next = {1'b0, fraction} + {23'd0, increment};
    reg  [54:0] increment_less_second;
    wire [54:0] next_wrapped = {1'b0, fraction} + increment_less_second;

    assign timestamp = {seconds, fraction[53:22]};

    always @(posedge clk) begin
        increment_less_second <= {23'd0, increment} - {1'b0, SECOND};
        if (load) begin
            seconds <= load_seconds;
            fraction <= {load_quarters, 22'd0};
        end else if (!next_wrapped[54]) begin
            seconds <= seconds + 32'd1;
            fraction <= next_wrapped[53:0];
        end else begin
            fraction <= next[53:0];
        end
        if (rst) begin
            seconds <= 32'd0;
            fraction <= 54'd0;
            increment_less_second <= {55{1'b1}};
        end
    end

    // verilator lint_off UNUSEDSIGNAL // Both operands are below 2^53.
    wire unused_carry = next[54];
    // verilator lint_on UNUSEDSIGNAL

endmodule

`default_nettype wire
