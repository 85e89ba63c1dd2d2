// FIFO between two clock domains, first word falls through.
//
// Gray-coded pointers cross; the memory is written in the source's domain and read into a register in the sink's, so block
// memory fits. Holds DEPTH words and one in the output register. Either reset, held for four cycles of the slower clock,
// empties both sides; words offered or taken meanwhile are lost.

`timescale 1ns / 1fs
`default_nettype none

module cdc_fifo #(
    // Bits a word. At least 1.
    parameter WIDTH = 32,
    // Words. Power of two, at least 4.
    parameter DEPTH = 16,
    // Derived; do not override.
    parameter LEVEL_WIDTH = $clog2(DEPTH) + 1
) (
    input  wire                   s_clk,
    input  wire                   s_rst,
    // Source. A word offered while not ready is not taken: a source that cannot wait counts it as an overflow.
    input  wire [WIDTH-1:0]       s_data,
    input  wire                   s_valid,
    output wire                   s_ready,
    // Words in the memory as the source sees them: never fewer than there are.
    output wire [LEVEL_WIDTH-1:0] s_level,

    input  wire                   m_clk,
    input  wire                   m_rst,
    // Sink.
    output reg  [WIDTH-1:0]       m_data,
    output wire                   m_valid,
    input  wire                   m_ready
);

    generate
        if (WIDTH < 1 || DEPTH < 4 || DEPTH != 1 << $clog2(DEPTH)) begin : check_parameters
            initial $fatal(1, "cdc_fifo: WIDTH must be at least 1, DEPTH a power of two of at least 4");
        end
    endgenerate

    localparam ADDRESS_WIDTH = LEVEL_WIDTH - 1;
    localparam [LEVEL_WIDTH-1:0] ONE = 1;

    function [LEVEL_WIDTH-1:0] gray_to_binary;
        input [LEVEL_WIDTH-1:0] gray;
        integer i;
        begin
            gray_to_binary[LEVEL_WIDTH-1] = gray[LEVEL_WIDTH-1];
            for (i = LEVEL_WIDTH - 2; i >= 0; i = i - 1)
                gray_to_binary[i] = gray_to_binary[i+1] ^ gray[i];
        end
    endfunction

    reg  [WIDTH-1:0]       memory [0:DEPTH-1];

    reg  [LEVEL_WIDTH-1:0] s_pointer;
    reg  [LEVEL_WIDTH-1:0] s_pointer_gray;
    wire [LEVEL_WIDTH-1:0] s_read_gray;
    wire                   s_sink_reset;
    reg  [LEVEL_WIDTH-1:0] m_pointer;
    reg  [LEVEL_WIDTH-1:0] m_pointer_gray;
    wire [LEVEL_WIDTH-1:0] m_write_gray;
    wire                   m_source_reset;
    reg                    m_full;

    // Pointers take one stage more than resets: so a pointer that jumps to zero never arrives before the reset that did it.
    cdc_sync #(
        .WIDTH(LEVEL_WIDTH),
        .STAGES(3)
    ) read_crossing (
        .clk(s_clk),
        .d(m_pointer_gray),
        .q(s_read_gray)
    );

    cdc_sync #(
        .WIDTH(LEVEL_WIDTH),
        .STAGES(3)
    ) write_crossing (
        .clk(m_clk),
        .d(s_pointer_gray),
        .q(m_write_gray)
    );

    cdc_sync sink_reset_crossing (
        .clk(s_clk),
        .d(m_rst),
        .q(s_sink_reset)
    );

    cdc_sync source_reset_crossing (
        .clk(m_clk),
        .d(s_rst),
        .q(m_source_reset)
    );

    // Source.
    wire                   s_reset = s_rst || s_sink_reset;
    wire [LEVEL_WIDTH-1:0] s_next = s_pointer + ONE;

    assign s_level = s_pointer - gray_to_binary(s_read_gray);
    assign s_ready = !s_level[ADDRESS_WIDTH] && !s_reset;

    always @(posedge s_clk) begin
        if (s_valid && s_ready) begin
            memory[s_pointer[ADDRESS_WIDTH-1:0]] <= s_data;
            s_pointer <= s_next;
            s_pointer_gray <= s_next ^ s_next >> 1;
        end
        if (s_reset) begin
            s_pointer <= {LEVEL_WIDTH{1'b0}};
            s_pointer_gray <= {LEVEL_WIDTH{1'b0}};
        end
    end

    // Sink.
    wire                   m_reset = m_rst || m_source_reset;
    wire [LEVEL_WIDTH-1:0] m_next = m_pointer + ONE;
    wire                   m_fetch = m_pointer_gray != m_write_gray && (!m_full || m_ready);

    assign m_valid = m_full && !m_reset;

    always @(posedge m_clk) begin
        if (m_fetch) begin
            m_data <= memory[m_pointer[ADDRESS_WIDTH-1:0]];
            m_pointer <= m_next;
            m_pointer_gray <= m_next ^ m_next >> 1;
            m_full <= 1'b1;
        end else if (m_ready) begin
            m_full <= 1'b0;
        end
        if (m_reset) begin
            m_pointer <= {LEVEL_WIDTH{1'b0}};
            m_pointer_gray <= {LEVEL_WIDTH{1'b0}};
            m_full <= 1'b0;
        end
    end

endmodule

`default_nettype wire
