// Asks the sender to pause when a receive buffer fills, and to go on when it has emptied: two thresholds.
//
// A threshold register holds XON in bits 15:0 and XOFF in bits 31:16. Its reset value in PG332 (0x965a) makes sense only as two
// octets, so with nothing in the upper half the lower one is taken as XOFF and XON of eight bits each.

`timescale 1ns / 1fs
`default_nettype none

module ernic_pause_level (
    input  wire        clk,
    input  wire        rst,
    input  wire        enabled,
    input  wire [31:0] threshold,
    // What the buffer holds, in the thresholds' unit.
    input  wire [15:0] level,
    // Asked to pause: from a level above XOFF to one below XON.
    output reg         pausing
);

    wire        packed_octets = threshold[31:16] == 16'd0;
    wire [15:0] xoff = packed_octets ? {8'd0, threshold[15:8]} : threshold[31:16];
    wire [15:0] xon = packed_octets ? {8'd0, threshold[7:0]} : threshold[15:0];

    always @(posedge clk) begin
        if (level > xoff) pausing <= 1'b1;
        else if (level < xon || level == 16'd0) pausing <= 1'b0;
        if (rst || !enabled) pausing <= 1'b0;
    end

endmodule

`default_nettype wire
