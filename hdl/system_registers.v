// Identity and capabilities: what software finds on the other end of its bus.

`timescale 1ns / 1fs
`default_nettype none

`include "registers.vh"

module system_registers #(
    // Links built.
    parameter LINKS = 16,
    // Lanes built.
    parameter LANES = 32,
    // Ring size in bytes.
    parameter RING_BYTES = 4194304,
    // Queue pairs, QP1 included.
    parameter NUM_QP = 4,
    // Core clock in kHz.
    parameter CORE_CLOCK_KHZ = 322266
) (
    input  wire        clk,
    input  wire        rst,
    // Register bus.
    input  wire        s_reg_valid,
    input  wire        s_reg_write,
    input  wire [12:0] s_reg_addr,
    input  wire [31:0] s_reg_wdata,
    output wire        s_reg_ready,
    output reg         s_reg_error,
    output reg  [31:0] s_reg_rdata
);

    reg        answered;
    reg [31:0] scratch;

    assign s_reg_ready = answered && s_reg_valid;

    always @(posedge clk) begin
        answered <= s_reg_valid && !answered;
        if (s_reg_valid && !answered) begin
            s_reg_error <= s_reg_write;
            s_reg_rdata <= 32'd0;
            case ({7'd0, s_reg_addr})
                `EB_SYSTEM_MAGIC: s_reg_rdata <= `EB_SYSTEM_MAGIC_RESET;
                `EB_SYSTEM_VERSION: s_reg_rdata <= `EB_SYSTEM_VERSION_RESET;
                `EB_SYSTEM_LINKS: s_reg_rdata <= LINKS;
                `EB_SYSTEM_LANES: s_reg_rdata <= LANES;
                `EB_SYSTEM_RING_BYTES: s_reg_rdata <= RING_BYTES;
                `EB_SYSTEM_QUEUE_PAIRS: s_reg_rdata <= NUM_QP;
                `EB_SYSTEM_CORE_CLOCK_KHZ: s_reg_rdata <= CORE_CLOCK_KHZ;
                `EB_SYSTEM_SCRATCH: begin
                    s_reg_error <= 1'b0;
                    s_reg_rdata <= scratch;
                    if (s_reg_write) scratch <= s_reg_wdata;
                end
                default: s_reg_error <= 1'b1;
            endcase
        end
        if (rst) begin
            answered <= 1'b0;
            scratch <= `EB_SYSTEM_SCRATCH_RESET;
        end
    end

endmodule

`default_nettype wire
