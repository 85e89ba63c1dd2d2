// Which extension headers follow the base transport header, by opcode (IBTA vol. 1, table 38). Combinational.
//
// The low five bits name the operation in every transport. A datagram's DETH is not among the outputs yet: it needs fields
// that the packet command does not carry.

`timescale 1ns / 1fs
`default_nettype none

module ernic_opcode_layout (
    input  wire [7:0] opcode,

    // RETH, 16 octets.
    output reg        has_reth,
    // One extension word of four octets behind it: ImmDt, AETH or, with is_key, IETH.
    output reg        has_word,
    output reg        is_key
);

    // Bits 7:5 select the transport, which does not change the layout.
    // verilator lint_off UNUSEDSIGNAL
    wire [2:0] transport = opcode[7:5];
    // verilator lint_on UNUSEDSIGNAL

    always @* begin
        case (opcode[4:0])
            5'h06, 5'h0a, 5'h0b, 5'h0c: has_reth = 1'b1;
            default: has_reth = 1'b0;
        endcase
        case (opcode[4:0])
            5'h03, 5'h05, 5'h09, 5'h0b, 5'h0d, 5'h0f, 5'h10, 5'h11: has_word = 1'b1;
            5'h16, 5'h17: has_word = 1'b1;
            default: has_word = 1'b0;
        endcase
        is_key = opcode[4:1] == 4'hb;
    end

endmodule

`default_nettype wire
