// What a request's opcode means (IBTA vol. 1, table 38). Combinational.

`timescale 1ns / 1fs
`default_nettype none

module ernic_request_kind (
    // Low five bits of the opcode; they mean the same in every transport.
    input  wire [4:0] operation,

    output wire       is_send,
    output wire       is_write,
    output wire       is_read,
    // First and last packet of a message; both for the only one.
    output wire       begins,
    output wire       ends,
    output wire       has_reth,
    output wire       has_immediate,
    output wire       has_invalidate
);

    reg [7:0] kind;

    assign {is_send, is_write, is_read, begins, ends, has_reth, has_immediate, has_invalidate} = kind;

    always @* begin
        case (operation)
            5'h00: kind = 8'b100_10_000;
            5'h01: kind = 8'b100_00_000;
            5'h02: kind = 8'b100_01_000;
            5'h03: kind = 8'b100_01_010;
            5'h04: kind = 8'b100_11_000;
            5'h05: kind = 8'b100_11_010;
            5'h06: kind = 8'b010_10_100;
            5'h07: kind = 8'b010_00_000;
            5'h08: kind = 8'b010_01_000;
            5'h09: kind = 8'b010_01_010;
            5'h0a: kind = 8'b010_11_100;
            5'h0b: kind = 8'b010_11_110;
            5'h0c: kind = 8'b001_11_100;
            5'h16: kind = 8'b100_01_001;
            5'h17: kind = 8'b100_11_001;
            default: kind = 8'd0;
        endcase
    end

endmodule

`default_nettype wire
