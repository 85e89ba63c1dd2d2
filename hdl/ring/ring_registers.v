// Register page of the ring. An access takes three cycles: look up, act, answer.

`timescale 1ns / 1fs
`default_nettype none

`include "registers.vh"

module ring_registers #(
    // Bytes of the ring, to be read by software.
    parameter RING_BYTES = 4194304
) (
    input  wire         clk,
    input  wire         rst,
    // Register bus.
    input  wire         s_reg_valid,
    input  wire         s_reg_write,
    input  wire [12:0]  s_reg_addr,
    input  wire [31:0]  s_reg_wdata,
    output wire         s_reg_ready,
    output reg          s_reg_error,
    output reg  [31:0]  s_reg_rdata,

    // Control.
    output reg          enable,
    output reg          irq_frame_end,
    output reg          host_stalled,
    output reg  [4:0]   block_shift,
    output reg  [31:0]  irq_threshold,
    output reg  [31:0]  irq_timeout,
    output reg          ack_write,
    output reg  [31:0]  ack_value,
    input  wire         ack_refused,
    output reg          high_water_restart,

    // Status.
    input  wire [31:0]  block_count,
    input  wire [31:0]  block_ack,
    input  wire         irq,
    input  wire [31:0]  irq_count,
    input  wire [31:0]  used_bytes,
    input  wire [31:0]  high_water,
    input  wire [31:0]  frames_admitted,
    input  wire [31:0]  dropped_ring_full,
    input  wire [31:0]  dropped_descriptors_full,
    input  wire [31:0]  dropped_disabled,
    input  wire [31:0]  dropped_host_stalled,
    input  wire [31:0]  protocol_errors,
    input  wire [31:0]  ignored_granules,
    input  wire [31:0]  write_position,
    input  wire [19:0]  free_granule,

    // Block table: the entry of an index one cycle later.
    output wire [7:0]   table_index,
    input  wire [127:0] table_entry
);

    localparam [4:0] SMALLEST_SHIFT = 5'd12;
    localparam [4:0] LARGEST_SHIFT = 5'd23;

    // log2 of a power of two; 0 for every other value.
    function [4:0] shift_of;
        input [31:0] value;
        integer i;
        begin
            shift_of = 5'd0;
            for (i = 0; i < 32; i = i + 1) begin
                if (value == 32'd1 << i) shift_of = i[4:0];
            end
        end
    endfunction

    reg         looked;
    reg         answered;
    reg         known;
    reg  [31:0] value;
    wire [4:0]  new_shift = shift_of(s_reg_wdata);
    wire        shift_legal = new_shift >= SMALLEST_SHIFT && new_shift <= LARGEST_SHIFT;

    assign table_index = s_reg_addr[11:4];
    assign s_reg_ready = answered && s_reg_valid;

    always @* begin
        known = 1'b1;
        value = 32'd0;
        if (s_reg_addr[12]) begin
            value = table_entry[{s_reg_addr[3:2], 5'd0} +: 32];
            known = !s_reg_write;
        end else begin
            case ({7'd0, s_reg_addr})
                `EB_RING_CTRL: value = {29'd0, host_stalled, irq_frame_end, enable};
                `EB_RING_BLOCK_BYTES: begin
                    value = 32'd1 << block_shift;
                    known = !s_reg_write || shift_legal;
                end
                `EB_RING_IRQ_THRESHOLD: value = irq_threshold;
                `EB_RING_IRQ_TIMEOUT: value = irq_timeout;
                `EB_RING_BLOCK_ACK: begin
                    value = block_ack;
                    known = !s_reg_write || !ack_refused;
                end
                `EB_RING_HIGH_WATER: value = high_water;
                default: begin
                    known = !s_reg_write;
                    case ({7'd0, s_reg_addr})
                        `EB_RING_BLOCK_COUNT: value = block_count;
                        `EB_RING_IRQ_STATUS: value = {31'd0, irq};
                        `EB_RING_IRQ_COUNT: value = irq_count;
                        `EB_RING_USED_BYTES: value = used_bytes;
                        `EB_RING_FRAMES_ADMITTED: value = frames_admitted;
                        `EB_RING_DROPPED_RING_FULL: value = dropped_ring_full;
                        `EB_RING_DROPPED_DESCRIPTORS_FULL: value = dropped_descriptors_full;
                        `EB_RING_DROPPED_DISABLED: value = dropped_disabled;
                        `EB_RING_DROPPED_HOST_STALLED: value = dropped_host_stalled;
                        `EB_RING_PROTOCOL_ERRORS: value = protocol_errors;
                        `EB_RING_RELEASES_IGNORED: value = ignored_granules;
                        `EB_RING_WRITE_POSITION: value = write_position;
                        `EB_RING_FREE_POSITION: value = {free_granule, 12'd0};
                        `EB_RING_SIZE: value = RING_BYTES;
                        default: known = 1'b0;
                    endcase
                end
            endcase
        end
    end

    // The value is compared a cycle before it is written, with the counts of that cycle: the block count only grows, and
    // nothing else writes the acknowledged count.
    always @(posedge clk) begin
        ack_value <= s_reg_wdata;
        ack_write <= 1'b0;
        high_water_restart <= 1'b0;
        looked <= s_reg_valid && !looked && !answered;
        answered <= looked && s_reg_valid;
        if (looked && s_reg_valid) begin
            s_reg_rdata <= value;
            s_reg_error <= !known;
            if (s_reg_write && known) begin
                case ({7'd0, s_reg_addr})
                    `EB_RING_CTRL: {host_stalled, irq_frame_end, enable} <= s_reg_wdata[2:0];
                    `EB_RING_BLOCK_BYTES: block_shift <= new_shift;
                    `EB_RING_IRQ_THRESHOLD: irq_threshold <= s_reg_wdata;
                    `EB_RING_IRQ_TIMEOUT: irq_timeout <= s_reg_wdata;
                    `EB_RING_BLOCK_ACK: ack_write <= 1'b1;
                    `EB_RING_HIGH_WATER: high_water_restart <= 1'b1;
                    default: ;
                endcase
            end
        end
        if (rst) begin
            looked <= 1'b0;
            answered <= 1'b0;
            ack_write <= 1'b0;
            enable <= 1'b0;
            irq_frame_end <= 1'b0;
            host_stalled <= 1'b0;
            block_shift <= shift_of(`EB_RING_BLOCK_BYTES_RESET);
            irq_threshold <= `EB_RING_IRQ_THRESHOLD_RESET;
            irq_timeout <= `EB_RING_IRQ_TIMEOUT_RESET;
        end
    end

endmodule

`default_nettype wire
