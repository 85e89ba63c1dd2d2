// FIFO in one clock domain, first word falls through.
//
// With BLOCK_MEMORY = 0 the memory is read combinationally (distributed memory) and a word is at the output one cycle after
// it was written; with 1 it is read into a register (block memory) and takes two. Either way DEPTH words fit, and one word a
// cycle goes in and out.

`timescale 1ns / 1fs
`default_nettype none

module sync_fifo #(
    // Bits a word. At least 1.
    parameter WIDTH = 32,
    // Words. Power of two, at least 2.
    parameter DEPTH = 16,
    // 1: an output register behind block memory.
    parameter BLOCK_MEMORY = 0,
    // Derived; do not override.
    parameter LEVEL_WIDTH = $clog2(DEPTH) + 1
) (
    input  wire                   clk,
    input  wire                   rst,
    // Source.
    input  wire [WIDTH-1:0]       s_data,
    input  wire                   s_valid,
    output wire                   s_ready,
    // Sink.
    output wire [WIDTH-1:0]       m_data,
    output wire                   m_valid,
    input  wire                   m_ready,
    // Words inside, output register included.
    output reg  [LEVEL_WIDTH-1:0] level
);

    generate
        if (WIDTH < 1 || DEPTH < 2 || DEPTH != 1 << $clog2(DEPTH)) begin : check_parameters
            initial $fatal(1, "sync_fifo: WIDTH must be at least 1, DEPTH a power of two of at least 2");
        end
    endgenerate

    localparam ADDRESS_WIDTH = LEVEL_WIDTH - 1;
    localparam [LEVEL_WIDTH-1:0] LEVEL_ONE = 1;
    localparam [ADDRESS_WIDTH-1:0] ADDRESS_ONE = 1;

    reg  [WIDTH-1:0]         memory [0:DEPTH-1];
    reg  [ADDRESS_WIDTH-1:0] write_address;
    reg  [ADDRESS_WIDTH-1:0] read_address;
    wire                     write = s_valid && s_ready;
    wire                     read = m_valid && m_ready;

    assign s_ready = !level[ADDRESS_WIDTH];

    always @(posedge clk) begin
        if (write) begin
            memory[write_address] <= s_data;
            write_address <= write_address + ADDRESS_ONE;
        end
        if (write && !read) level <= level + LEVEL_ONE;
        if (!write && read) level <= level - LEVEL_ONE;
        if (rst) begin
            write_address <= {ADDRESS_WIDTH{1'b0}};
            level <= {LEVEL_WIDTH{1'b0}};
        end
    end

    generate
        if (BLOCK_MEMORY != 0) begin : block_memory
            reg  [WIDTH-1:0] output_data;
            reg              output_full;
            wire             waiting = level != {{ADDRESS_WIDTH{1'b0}}, output_full};

            always @(posedge clk) begin
                if (waiting && (!output_full || m_ready)) begin
                    output_data <= memory[read_address];
                    output_full <= 1'b1;
                    read_address <= read_address + ADDRESS_ONE;
                end else if (m_ready) begin
                    output_full <= 1'b0;
                end
                if (rst) begin
                    read_address <= {ADDRESS_WIDTH{1'b0}};
                    output_full <= 1'b0;
                end
            end

            assign m_data = output_data;
            assign m_valid = output_full;
        end else begin : distributed_memory
            always @(posedge clk) begin
                if (rst) read_address <= {ADDRESS_WIDTH{1'b0}};
                else if (read) read_address <= read_address + ADDRESS_ONE;
            end

            assign m_data = memory[read_address];
            assign m_valid = level != {LEVEL_WIDTH{1'b0}};
        end
    endgenerate

endmodule

`default_nettype wire
