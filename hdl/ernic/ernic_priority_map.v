// Priority (PCP, PFC class) of a packet by its DSCP: one of 64 entries, read combinationally.
//
// Eight registers of eight fields, four bits each: entry d is field d mod 8 of register d / 8.

`timescale 1ns / 1fs
`default_nettype none

module ernic_priority_map (
    input  wire       clk,
    input  wire       rst,

    // Register bus: a register of eight entries.
    input  wire        write_valid,
    input  wire [2:0]  write_index,
    // verilator lint_off UNUSEDSIGNAL // Bit 3 of each field is reserved.
    input  wire [31:0] write_data,
    // verilator lint_on UNUSEDSIGNAL
    input  wire [2:0]  read_index,
    output reg  [31:0] read_data,

    // The table itself, entry 0 in bits 2:0, for as many readers as like.
    output reg  [191:0] table_bits
);

    localparam [5:0] DSCP_ROCE = 6'd26;
    localparam [2:0] PRIORITY_ROCE = 3'd3;
    localparam [5:0] DSCP_CNP = 6'd48;
    localparam [2:0] PRIORITY_CNP = 3'd6;

    integer entry;

    always @* begin
        for (entry = 0; entry < 8; entry = entry + 1)
            read_data[4*entry +: 4] = {1'b0, table_bits[24*read_index + 3*entry +: 3]};
    end

    always @(posedge clk) begin
        if (write_valid) begin
            for (entry = 0; entry < 8; entry = entry + 1)
                table_bits[24*write_index + 3*entry +: 3] <= write_data[4*entry +: 3];
        end
        if (rst) begin
            table_bits <= 192'd0;
            table_bits[3*DSCP_ROCE +: 3] <= PRIORITY_ROCE;
            table_bits[3*DSCP_CNP +: 3] <= PRIORITY_CNP;
        end
    end

endmodule

`default_nettype wire
