// Payload from memory on its way into packets: eight areas of 4096 octets. Written by octets, read three cycles after enable, as the
// ring is.

`timescale 1ns / 1fs
`default_nettype none

module ernic_stage (
    input  wire         clk,

    input  wire         s_write_valid,
    input  wire [8:0]   s_write_row,
    input  wire [63:0]  s_write_octets,
    input  wire [511:0] s_write_data,

    input  wire         read_enable,
    input  wire [8:0]   read_row,
    output reg  [511:0] read_data
);

    reg  [511:0] memory [0:511];
    reg          enable;
    reg          loaded;
    reg  [8:0]   row;
    reg  [511:0] load;

    integer octet;

    always @(posedge clk) begin
        if (s_write_valid) begin
            for (octet = 0; octet < 64; octet = octet + 1) begin
                if (s_write_octets[octet]) memory[s_write_row][8*octet +: 8] <= s_write_data[8*octet +: 8];
            end
        end
        enable <= read_enable;
        row <= read_row;
        if (enable) load <= memory[row];
        loaded <= enable;
        if (loaded) read_data <= load;
    end

endmodule

`default_nettype wire
