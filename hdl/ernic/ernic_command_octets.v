// Octets of the frame that a packet command makes, without FCS and padding to the shortest frame. Combinational.

`timescale 1ns / 1fs
`default_nettype none
`include "ernic_command.vh"

module ernic_command_octets (
    // verilator lint_off UNUSEDSIGNAL // Opcode and length decide.
    input  wire [`EB_CMD_WIDTH-1:0] cmd,
    // verilator lint_on UNUSEDSIGNAL
    output wire [12:0]              octets
);

    // Ethernet, IPv4, UDP, base transport header and ICRC.
    localparam [12:0] FIXED_OCTETS = 13'd58;

    wire has_reth;
    wire has_deth;
    wire has_word;

    // verilator lint_off PINCONNECTEMPTY
    // What the word means does not change its length.
    ernic_opcode_layout layout (
        .opcode(cmd[`EB_CMD_OPCODE]),
        .has_reth(has_reth),
        .has_deth(has_deth),
        .has_word(has_word),
        .is_key()
    );
    // verilator lint_on PINCONNECTEMPTY

    wire [12:0] padded = (cmd[`EB_CMD_PAYLOAD_BYTES] + 13'd3) & 13'h1ffc;

    assign octets = FIXED_OCTETS + padded + {8'd0, has_reth, has_deth, has_word, 2'd0};

endmodule

`default_nettype wire
