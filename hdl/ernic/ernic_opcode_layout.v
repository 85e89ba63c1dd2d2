// Which extension headers follow the base transport header, by opcode (IBTA vol. 1, table 38). Combinational.
//
// The low five bits name the operation in every transport; the reserved octets of a congestion notification take the place of
// a RETH.

`timescale 1ns / 1fs
`default_nettype none

module ernic_opcode_layout (
    input  wire [7:0] opcode,

    // RETH, 16 octets.
    output reg        has_reth,
    // DETH, 8 octets, of every datagram.
    output wire       has_deth,
    // One extension word of four octets behind it: ImmDt, AETH or, with is_key, IETH.
    output reg        has_word,
    output wire       is_key
);

    localparam [2:0] DATAGRAM = 3'b011;
    localparam [2:0] NOTIFICATION = 3'b100;

    assign has_deth = opcode[7:5] == DATAGRAM;
    assign is_key = opcode[4:1] == 4'hb;

    always @* begin
        case (opcode[4:0])
            5'h06, 5'h0a, 5'h0b, 5'h0c: has_reth = 1'b1;
            default: has_reth = opcode[7:5] == NOTIFICATION;
        endcase
        case (opcode[4:0])
            5'h03, 5'h05, 5'h09, 5'h0b, 5'h0d, 5'h0f, 5'h10, 5'h11: has_word = 1'b1;
            5'h16, 5'h17: has_word = 1'b1;
            default: has_word = 1'b0;
        endcase
    end

endmodule

`default_nettype wire
