// Descrambler of one lane (JESD204B 5.2): self-synchronous, 1 + x^14 + x^15, most significant bit of the first octet first.
//
// Takes four octets, first octet in bits 7:0, and returns two samples, each sent most significant octet first, the
// first one in bits 15:0.

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_descrambler (
    input  wire        clk,
    input  wire        scrambling,
    // A beat of user data; everything else returns the descrambler to its seed.
    input  wire        valid,
    input  wire [31:0] s_data,
    output wire [31:0] m_data
);

    // State that the sender's scrambler starts from after the alignment sequence.
    localparam [14:0] SEED = 15'h7f80;

    // The 15 bits received last, newest in bit 0.
    reg  [14:0] history;
    wire [31:0] line = {s_data[7:0], s_data[15:8], s_data[23:16], s_data[31:24]};
    wire [31:0] plain = scrambling ? line ^ {history[13:0], line[31:14]} ^ {history, line[31:15]} : line;

    assign m_data = {plain[15:0], plain[31:16]};

    always @(posedge clk) begin
        history <= valid ? line[14:0] : SEED;
    end

endmodule

`default_nettype wire
