// Register page of the poster. An access takes two cycles: act, answer. While the poster is enabled only what it must be told
// meanwhile can be written; the rest is refused with an error, as are values that cannot be.

`timescale 1ns / 1fs
`default_nettype none

`include "registers.vh"

module poster_registers (
    input  wire        clk,
    input  wire        rst,
    // Register bus.
    input  wire        s_reg_valid,
    input  wire        s_reg_write,
    input  wire [12:0] s_reg_addr,
    input  wire [31:0] s_reg_wdata,
    output wire        s_reg_ready,
    output reg         s_reg_error,
    output reg  [31:0] s_reg_rdata,

    // Control.
    output reg         enable,
    output reg  [7:0]  queue_pair,
    output reg  [9:0]  queue_row,
    output reg  [15:0] queue_depth,
    output reg  [63:0] remote_address,
    output reg  [31:0] remote_key,
    output reg  [31:0] slot_bytes,
    output reg  [12:0] slots,
    // Credits, totals since the poster was enabled.
    output reg  [31:0] slots_released,
    output reg  [31:0] frames_arrived,
    output reg  [31:0] completions,

    // Status.
    input  wire        waits_slot,
    input  wire        waits_queue,
    input  wire [1:0]  stopped,
    input  wire [31:0] posted,
    input  wire [31:0] frames_started
);

    localparam [31:0] RESET_QUEUE_PAIR = `EB_POSTER_QUEUE_PAIR_RESET;
    localparam [31:0] RESET_QUEUE_DEPTH = `EB_POSTER_QUEUE_DEPTH_RESET;
    localparam [31:0] RESET_SLOTS = `EB_POSTER_SLOTS_RESET;
    localparam [15:0] MOST_ENTRIES = 16'd1024;
    localparam [12:0] MOST_SLOTS = 13'd4096;

    reg         answered;
    reg         known;
    reg  [31:0] value;
    wire        settable = !enable;
    wire [15:0] depth = s_reg_wdata[15:0];
    wire        depth_legal = s_reg_wdata[31:16] == 16'd0 && depth >= 16'd2 && depth <= MOST_ENTRIES
        && (depth & (depth - 16'd1)) == 16'd0;
    wire        slots_legal = s_reg_wdata[31:13] == 19'd0 && s_reg_wdata[12:0] != 13'd0 && s_reg_wdata[12:0] <= MOST_SLOTS;

    assign s_reg_ready = answered && s_reg_valid;

    always @* begin
        value = 32'd0;
        known = !s_reg_write || settable;
        case ({7'd0, s_reg_addr})
            `EB_POSTER_CTRL: begin
                value = {31'd0, enable};
                known = 1'b1;
            end
            `EB_POSTER_QUEUE_PAIR: value = {24'd0, queue_pair};
            `EB_POSTER_QUEUE_ADDRESS: value = {16'd0, queue_row, 6'd0};
            `EB_POSTER_QUEUE_DEPTH: begin
                value = {16'd0, queue_depth};
                known = !s_reg_write || (settable && depth_legal);
            end
            `EB_POSTER_REMOTE_ADDRESS: value = remote_address[31:0];
            `EB_POSTER_REMOTE_ADDRESS_MSB: value = remote_address[63:32];
            `EB_POSTER_REMOTE_KEY: value = remote_key;
            `EB_POSTER_SLOT_BYTES: value = slot_bytes;
            `EB_POSTER_SLOTS: begin
                value = {19'd0, slots};
                known = !s_reg_write || (settable && slots_legal);
            end
            `EB_POSTER_SLOTS_RELEASED: begin
                value = slots_released;
                known = 1'b1;
            end
            `EB_POSTER_FRAMES_ARRIVED: begin
                value = frames_arrived;
                known = 1'b1;
            end
            `EB_POSTER_COMPLETIONS: begin
                value = completions;
                known = 1'b1;
            end
            default: begin
                known = !s_reg_write;
                case ({7'd0, s_reg_addr})
                    `EB_POSTER_STATUS: value = {26'd0, stopped, 2'd0, waits_queue, waits_slot};
                    `EB_POSTER_POSTED: value = posted;
                    `EB_POSTER_FRAMES_STARTED: value = frames_started;
                    default: known = 1'b0;
                endcase
            end
        endcase
    end

    always @(posedge clk) begin
        answered <= s_reg_valid && !answered;
        if (s_reg_valid && !answered) begin
            s_reg_rdata <= value;
            s_reg_error <= !known;
            if (s_reg_write && known) begin
                case ({7'd0, s_reg_addr})
                    `EB_POSTER_CTRL: begin
                        enable <= s_reg_wdata[0];
                        if (s_reg_wdata[0] && !enable) begin
                            slots_released <= 32'd0;
                            frames_arrived <= 32'd0;
                            completions <= 32'd0;
                        end
                    end
                    `EB_POSTER_QUEUE_PAIR: queue_pair <= s_reg_wdata[7:0];
                    `EB_POSTER_QUEUE_ADDRESS: queue_row <= s_reg_wdata[15:6];
                    `EB_POSTER_QUEUE_DEPTH: queue_depth <= depth;
                    `EB_POSTER_REMOTE_ADDRESS: remote_address[31:0] <= s_reg_wdata;
                    `EB_POSTER_REMOTE_ADDRESS_MSB: remote_address[63:32] <= s_reg_wdata;
                    `EB_POSTER_REMOTE_KEY: remote_key <= s_reg_wdata;
                    `EB_POSTER_SLOT_BYTES: slot_bytes <= s_reg_wdata;
                    `EB_POSTER_SLOTS: slots <= s_reg_wdata[12:0];
                    `EB_POSTER_SLOTS_RELEASED: slots_released <= s_reg_wdata;
                    `EB_POSTER_FRAMES_ARRIVED: frames_arrived <= s_reg_wdata;
                    `EB_POSTER_COMPLETIONS: completions <= s_reg_wdata;
                    default: ;
                endcase
            end
        end
        if (rst) begin
            answered <= 1'b0;
            enable <= 1'b0;
            queue_pair <= RESET_QUEUE_PAIR[7:0];
            queue_row <= 10'd0;
            queue_depth <= RESET_QUEUE_DEPTH[15:0];
            remote_address <= 64'd0;
            remote_key <= 32'd0;
            slot_bytes <= 32'd0;
            slots <= RESET_SLOTS[12:0];
            slots_released <= 32'd0;
            frames_arrived <= 32'd0;
            completions <= 32'd0;
        end
    end

endmodule

`default_nettype wire
