// One step of a token bucket: refilled up to its size, or debited. Combinational.
//
// The level is signed: a packet may start while there is a whole byte and take it below zero, and what is owed is paid back
// before the next one. It cannot run past its lower end: a debit that would is not made.

`timescale 1ns / 1fs
`default_nettype none

module ernic_bucket_step #(
    // Fractional bits of the level. 1 to 26.
    parameter FRACTION = 26,
    // Derived; do not override.
    parameter LEVEL_WIDTH = 25 + FRACTION
) (
    input  wire [LEVEL_WIDTH-1:0] level,
    // Tokens of one refill, in units of the level, and what the bucket holds, in bytes of at most 2^23.
    input  wire                   refill,
    input  wire [31:0]            rate,
    input  wire [23:0]            size,
    // Bytes of one packet, while not a refill.
    input  wire [13:0]            bytes,
    output wire [LEVEL_WIDTH-1:0] after,
    // A whole byte is there.
    output wire                   positive
);

    wire [LEVEL_WIDTH-1:0] change = refill ? {{(LEVEL_WIDTH-32){1'b0}}, rate} : {11'd0, bytes, {FRACTION{1'b0}}};
    wire [LEVEL_WIDTH-1:0] moved = refill ? level + change : level - change;
    wire [LEVEL_WIDTH-1:0] full = {1'b0, size, {FRACTION{1'b0}}};
    // A level below -2^23 has no debits any more; one below 2^23 can take a refill of less than 2^23 without a change of sign.
    wire                   bottom = level[LEVEL_WIDTH-1] && !level[LEVEL_WIDTH-2];
    wire                   over = !moved[LEVEL_WIDTH-1] && moved[LEVEL_WIDTH-2:FRACTION] >= size;

    assign after = refill ? (over ? full : moved) : (bottom ? level : moved);
    assign positive = !after[LEVEL_WIDTH-1] && after[LEVEL_WIDTH-2:FRACTION] != 24'd0;

    generate
        if (FRACTION < 1 || FRACTION > 26) begin : check_fraction
            initial $fatal(1, "%m: FRACTION must be 1 to 26");
        end
    endgenerate

endmodule

`default_nettype wire
