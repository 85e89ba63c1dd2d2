// Memory on the chip for send queues and for what is short and urgent: written by words through the register bus or by rows from
// hardware, read by the engine in bursts, without the way to the processing system's memory.

`timescale 1ns / 1fs
`default_nettype none

module ernic_queue_memory #(
    // Size in bytes. Power of two, 4096 to 65536.
    parameter MEMORY_BYTES = 32768
) (
    input  wire         clk,
    input  wire         rst,

    // Register bus; data is there one cycle after the load. Addresses beyond the size begin anew.
    input  wire         write_valid,
    // verilator lint_off UNUSEDSIGNAL
    // As many bits as the largest memory needs.
    input  wire [15:2]  write_address,
    input  wire [31:0]  write_data,
    input  wire         read_load,
    input  wire [15:2]  read_address,
    // verilator lint_on UNUSEDSIGNAL
    output wire [31:0]  read_data,
    // A row of 64 octets from hardware; words go first.
    input  wire         s_row_valid,
    output wire         s_row_ready,
    // verilator lint_off UNUSEDSIGNAL
    // Likewise.
    input  wire [9:0]   s_row_address,
    // verilator lint_on UNUSEDSIGNAL
    input  wire [511:0] s_row_data,
    // A row was written in the cycle before.
    output reg          touched_valid,
    output reg  [9:0]   touched_row,
    // A row is read where words are, which go first; its data is there one cycle after.
    input  wire         look_valid,
    output wire         look_ready,
    // verilator lint_off UNUSEDSIGNAL
    // Likewise.
    input  wire [9:0]   look_row,
    // verilator lint_on UNUSEDSIGNAL
    output wire [511:0] look_data,

    // AXI4 read channels.
    // verilator lint_off UNUSEDSIGNAL
    // Words are 64 octets; the memory repeats itself.
    input  wire [63:0]  s_axi_araddr,
    // verilator lint_on UNUSEDSIGNAL
    input  wire [7:0]   s_axi_arlen,
    input  wire         s_axi_arvalid,
    output wire         s_axi_arready,
    output wire [511:0] s_axi_rdata,
    output reg          s_axi_rlast,
    output reg          s_axi_rvalid,
    input  wire         s_axi_rready
);

    localparam ROWS = MEMORY_BYTES / 64;
    localparam ROW_WIDTH = $clog2(ROWS);

    reg  [511:0] memory [0:ROWS-1];

    // ----------------------------------------------------------------------------------------------------------- register bus

    reg  [511:0] row_read;
    reg  [3:0]   lane_read;

    assign read_data = row_read[{lane_read, 5'd0} +: 32];

    // One write port: a word in its lane, or a row in all.
    integer lane;
    wire                 row_write = s_row_valid && !write_valid;
    wire [15:0]          write_lanes = row_write ? 16'hffff : {15'd0, write_valid} << write_address[5:2];
    wire [ROW_WIDTH-1:0] write_row = row_write ? s_row_address[ROW_WIDTH-1:0] : write_address[ROW_WIDTH+5:6];
    wire [511:0]         write_words = row_write ? s_row_data : {16{write_data}};

    wire                 read = read_load || look_valid;
    wire [ROW_WIDTH-1:0] read_row = read_load ? read_address[ROW_WIDTH+5:6] : look_row[ROW_WIDTH-1:0];

    assign s_row_ready = !write_valid;
    assign look_ready = !read_load;
    assign look_data = row_read;

    always @(posedge clk) begin
        for (lane = 0; lane < 16; lane = lane + 1) begin
            if (write_lanes[lane]) memory[write_row][32*lane +: 32] <= write_words[32*lane +: 32];
        end
        if (read) row_read <= memory[read_row];
        if (read_load) lane_read <= read_address[5:2];
        touched_valid <= row_write || write_valid;
        touched_row <= {{(10-ROW_WIDTH){1'b0}}, write_row};
        if (rst) touched_valid <= 1'b0;
    end

    // ----------------------------------------------------------------------------------------------------------------- engine

    // One burst at a time; a word is in the output register while the next is being read.
    reg                  busy;
    reg  [ROW_WIDTH-1:0] row;
    reg  [7:0]           left;
    reg  [511:0]         word;
    wire                 first = s_axi_arvalid && s_axi_arready;
    wire                 step = (first || busy) && (!s_axi_rvalid || s_axi_rready);
    wire [ROW_WIDTH-1:0] address = busy ? row : s_axi_araddr[ROW_WIDTH+5:6];
    wire [7:0]           remaining = busy ? left : s_axi_arlen;

    assign s_axi_arready = !busy && (!s_axi_rvalid || s_axi_rready);
    assign s_axi_rdata = word;

    always @(posedge clk) begin
        if (s_axi_rready) s_axi_rvalid <= 1'b0;
        if (step) begin
            word <= memory[address];
            s_axi_rvalid <= 1'b1;
            s_axi_rlast <= remaining == 8'd0;
            row <= address + {{(ROW_WIDTH-1){1'b0}}, 1'b1};
            left <= remaining - 8'd1;
            busy <= remaining != 8'd0;
        end
        if (rst) begin
            s_axi_rvalid <= 1'b0;
            busy <= 1'b0;
        end
    end

    generate
        if (MEMORY_BYTES < 4096 || MEMORY_BYTES > 65536 || MEMORY_BYTES != 1 << $clog2(MEMORY_BYTES)) begin : check_memory_bytes
            initial $fatal(1, "%m: MEMORY_BYTES must be a power of two from 4096 to 65536");
        end
    endgenerate

endmodule

`default_nettype wire
