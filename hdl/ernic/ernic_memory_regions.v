// Table of protection domains and memory regions: 256 entries of eight registers, swept to 0 after reset.

`timescale 1ns / 1fs
`default_nettype none
`include "registers.vh"

module ernic_memory_regions (
    input  wire        clk,

    // After reset: one entry to 0.
    input  wire        sweep_valid,
    input  wire [7:0]  sweep_entry,

    // Register bus; data is there one cycle after the load.
    input  wire        write_valid,
    input  wire [7:0]  write_entry,
    input  wire [7:0]  write_offset,
    input  wire [31:0] write_data,
    input  wire        read_load,
    input  wire [7:0]  read_entry,
    input  wire [7:0]  read_offset,
    output reg  [31:0] read_data,

    // Responder: a whole entry, one cycle after the load.
    input  wire        check_load,
    input  wire [7:0]  check_entry,
    output reg  [23:0] check_domain,
    output reg  [63:0] check_virtual,
    output reg  [63:0] check_buffer,
    output reg  [7:0]  check_key,
    output reg  [47:0] check_length,
    output reg  [3:0]  check_access
);

    reg  [23:0] protection_domain [0:255];
    reg  [31:0] virtual_lsb       [0:255];
    reg  [31:0] virtual_msb       [0:255];
    reg  [31:0] buffer_lsb        [0:255];
    reg  [31:0] buffer_msb        [0:255];
    reg  [7:0]  key               [0:255];
    reg  [31:0] length            [0:255];
    reg  [19:0] access            [0:255];

    wire [7:0]  entry = sweep_valid ? sweep_entry : write_entry;
    wire [31:0] data = sweep_valid ? 32'd0 : write_data;
    wire [19:0] offset = {12'd0, write_offset};

    always @(posedge clk) begin
        if (sweep_valid || write_valid) begin
            if (sweep_valid || offset == `EB_ERNIC_MR_PDPDNUM) protection_domain[entry] <= data[23:0];
            if (sweep_valid || offset == `EB_ERNIC_MR_VIRTADDRLSB) virtual_lsb[entry] <= data;
            if (sweep_valid || offset == `EB_ERNIC_MR_VIRTADDRMSB) virtual_msb[entry] <= data;
            if (sweep_valid || offset == `EB_ERNIC_MR_BUFBASEADDRLSB) buffer_lsb[entry] <= data;
            if (sweep_valid || offset == `EB_ERNIC_MR_BUFBASEADDRMSB) buffer_msb[entry] <= data;
            if (sweep_valid || offset == `EB_ERNIC_MR_BUFRKEY) key[entry] <= data[7:0];
            if (sweep_valid || offset == `EB_ERNIC_MR_WRRDBUFLEN) length[entry] <= data;
            if (sweep_valid || offset == `EB_ERNIC_MR_ACCESSDESC) access[entry] <= {data[31:16], data[3:0]};
        end
        if (check_load) begin
            check_domain <= protection_domain[check_entry];
            check_virtual <= {virtual_msb[check_entry], virtual_lsb[check_entry]};
            check_buffer <= {buffer_msb[check_entry], buffer_lsb[check_entry]};
            check_key <= key[check_entry];
            check_length <= {access[check_entry][19:4], length[check_entry]};
            check_access <= access[check_entry][3:0];
        end
        if (read_load) begin
            case ({12'd0, read_offset})
                `EB_ERNIC_MR_PDPDNUM: read_data <= {8'd0, protection_domain[read_entry]};
                `EB_ERNIC_MR_VIRTADDRLSB: read_data <= virtual_lsb[read_entry];
                `EB_ERNIC_MR_VIRTADDRMSB: read_data <= virtual_msb[read_entry];
                `EB_ERNIC_MR_BUFBASEADDRLSB: read_data <= buffer_lsb[read_entry];
                `EB_ERNIC_MR_BUFBASEADDRMSB: read_data <= buffer_msb[read_entry];
                `EB_ERNIC_MR_BUFRKEY: read_data <= {24'd0, key[read_entry]};
                `EB_ERNIC_MR_WRRDBUFLEN: read_data <= length[read_entry];
                `EB_ERNIC_MR_ACCESSDESC: read_data <= {access[read_entry][19:4], 12'd0, access[read_entry][3:0]};
                default: read_data <= 32'd0;
            endcase
        end
    end

endmodule

`default_nettype wire
