// Register bus to several targets, by address. An access always ends: no target at the address, or a target that stays
// silent for TIMEOUT_CYCLES, is answered with an error.
//
// A target whose access timed out sees valid fall without having answered; it must drop that access.

`timescale 1ns / 1fs
`default_nettype none

module reg_bus_decoder #(
    // Bits of a byte address.
    parameter ADDR_WIDTH = 20,
    // Targets. At least 1.
    parameter TARGETS = 2,
    // Target i answers addresses a with (a & mask i) == base i; target 0 in the low bits.
    parameter [TARGETS*ADDR_WIDTH-1:0] BASES = {TARGETS*ADDR_WIDTH{1'b0}},
    // As above. Overlapping targets are an error.
    parameter [TARGETS*ADDR_WIDTH-1:0] MASKS = {TARGETS*ADDR_WIDTH{1'b0}},
    // Clocks that a target may take. At least 2.
    parameter TIMEOUT_CYCLES = 1024
) (
    input  wire                  clk,
    input  wire                  rst,

    // From the bus master.
    input  wire                  s_reg_valid,
    input  wire                  s_reg_write,
    input  wire [ADDR_WIDTH-1:0] s_reg_addr,
    input  wire [31:0]           s_reg_wdata,
    output wire                  s_reg_ready,
    output reg                   s_reg_error,
    output reg  [31:0]           s_reg_rdata,

    // To the targets: address, direction and data are shared.
    output wire [TARGETS-1:0]    m_reg_valid,
    output wire                  m_reg_write,
    output wire [ADDR_WIDTH-1:0] m_reg_addr,
    output wire [31:0]           m_reg_wdata,
    input  wire [TARGETS-1:0]    m_reg_ready,
    input  wire [TARGETS-1:0]    m_reg_error,
    input  wire [TARGETS*32-1:0] m_reg_rdata
);

    localparam COUNT_WIDTH = $clog2(TIMEOUT_CYCLES);
    localparam [31:0] COUNT_LAST = TIMEOUT_CYCLES - 1;
    localparam [COUNT_WIDTH-1:0] COUNT_ONE = 1;

    generate
        if (TARGETS < 1 || TIMEOUT_CYCLES < 2) begin : check_parameters
            initial $fatal(1, "reg_bus_decoder: TARGETS must be at least 1 and TIMEOUT_CYCLES at least 2");
        end
    endgenerate

    wire [TARGETS-1:0]     selected;
    reg                    answered;
    reg  [COUNT_WIDTH-1:0] count;
    reg                    target_ready;
    reg                    target_error;
    reg  [31:0]            target_rdata;

    genvar g;
    generate
        for (g = 0; g < TARGETS; g = g + 1) begin : target
            assign selected[g] =
                (s_reg_addr & MASKS[g*ADDR_WIDTH +: ADDR_WIDTH]) == BASES[g*ADDR_WIDTH +: ADDR_WIDTH];
        end
    endgenerate

    // Low in the cycle of the answer: a target that timed out sees the end of its access even when the next one follows at once.
    assign m_reg_valid = s_reg_valid && !answered ? selected : {TARGETS{1'b0}};
    assign m_reg_write = s_reg_write;
    assign m_reg_addr = s_reg_addr;
    assign m_reg_wdata = s_reg_wdata;

    integer i;
    always @* begin
        target_ready = 1'b0;
        target_error = 1'b0;
        target_rdata = 32'd0;
        if (s_reg_valid && !answered) begin
            for (i = 0; i < TARGETS; i = i + 1) begin
                if (selected[i] && m_reg_ready[i]) begin
                    target_ready = 1'b1;
                    target_error = m_reg_error[i];
                    target_rdata = m_reg_rdata[i*32 +: 32];
                end
            end
        end
    end

    assign s_reg_ready = answered && s_reg_valid;

    always @(posedge clk) begin
        answered <= 1'b0;
        count <= {COUNT_WIDTH{1'b0}};
        if (s_reg_valid && !answered) begin
            count <= count + COUNT_ONE;
            if (target_ready) begin
                answered <= 1'b1;
                s_reg_error <= target_error;
                s_reg_rdata <= target_rdata;
            end else if (selected == {TARGETS{1'b0}} || count == COUNT_LAST[COUNT_WIDTH-1:0]) begin
                answered <= 1'b1;
                s_reg_error <= 1'b1;
                s_reg_rdata <= 32'd0;
            end
        end
        if (rst) answered <= 1'b0;
    end

endmodule

`default_nettype wire
