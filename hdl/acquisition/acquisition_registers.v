// Register page of acquisition, in the link clock domain. An access takes three cycles: look up, act, answer.

`timescale 1ns / 1fs
`default_nettype none

`include "registers.vh"

module acquisition_registers (
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

    // Control. words_last: 64-channel words a sample, less one.
    output reg         enable,
    output reg  [1:0]  source,
    output reg         hold,
    output reg         generate_shots,
    output reg  [7:0]  mode,
    output reg  [15:0] samples,
    output reg  [1:0]  words_last,
    output reg  [31:0] window_delay,
    output reg  [31:0] configuration,
    output reg  [15:0] sample_rate,
    output reg  [31:0] shots_per_sequence,
    output reg  [31:0] load_seconds,
    output reg  [31:0] load_quarters,
    output reg         load,
    output reg  [31:0] increment,
    output reg  [31:0] laser_period,
    output reg  [31:0] prf_period,

    // Status.
    input  wire [31:0] triggers,
    input  wire [31:0] frames,
    input  wire [31:0] dropped_early,
    input  wire [31:0] dropped_link_down,
    input  wire [31:0] dropped_held,
    input  wire [31:0] overflows,
    input  wire        window_open,
    input  wire        link_steady,
    input  wire [31:0] laser_missing,
    input  wire [31:0] shots_fired,
    input  wire [63:0] timestamp
);

    localparam [31:0] QUARTERS_A_SECOND = 32'd4000000000;
    localparam [1:0] NO_SOURCE = 2'd3;
    localparam [31:0] LONGEST_LASER_PERIOD = 32'h40000000;
    localparam [31:0] SHORTEST_PRF_PERIOD = 32'd4;

    // Words a sample, less one, of a legal number of channels; 2 of any other.
    localparam [1:0] ILLEGAL = 2'd2;

    function [1:0] words_last_of;
        input [31:0] channels;
        begin
            case (channels)
                32'd64: words_last_of = 2'd0;
                32'd128: words_last_of = 2'd1;
                32'd256: words_last_of = 2'd3;
                default: words_last_of = ILLEGAL;
            endcase
        end
    endfunction

    reg         looked;
    reg         answered;
    reg         known;
    reg  [31:0] value;
    wire [1:0]  new_words_last = words_last_of(s_reg_wdata);
    wire [2:0]  words = {1'b0, words_last} + 3'd1;

    assign s_reg_ready = answered && s_reg_valid;

    always @* begin
        known = 1'b1;
        value = 32'd0;
        case ({7'd0, s_reg_addr})
            `EB_ACQUISITION_CTRL: begin
                value = {27'd0, generate_shots, hold, source, enable};
                known = !s_reg_write || s_reg_wdata[2:1] != NO_SOURCE;
            end
            `EB_ACQUISITION_MODE: begin
                value = {24'd0, mode};
                known = !s_reg_write || s_reg_wdata[31:8] == 24'd0;
            end
            `EB_ACQUISITION_SAMPLES: begin
                value = {16'd0, samples};
                known = !s_reg_write || s_reg_wdata[31:16] == 16'd0;
            end
            `EB_ACQUISITION_CHANNELS: begin
                value = {23'd0, words, 6'd0};
                known = !s_reg_write || new_words_last != ILLEGAL;
            end
            `EB_ACQUISITION_WINDOW_DELAY: value = window_delay;
            `EB_ACQUISITION_CONFIGURATION_ID: value = configuration;
            `EB_ACQUISITION_SAMPLE_RATE: begin
                value = {16'd0, sample_rate};
                known = !s_reg_write || s_reg_wdata[31:16] == 16'd0;
            end
            `EB_ACQUISITION_SHOTS_PER_SEQUENCE: value = shots_per_sequence;
            `EB_ACQUISITION_TIME_SECONDS: value = timestamp[63:32];
            `EB_ACQUISITION_TIME_NANOSECONDS: begin
                value = timestamp[31:0];
                known = !s_reg_write || s_reg_wdata < QUARTERS_A_SECOND;
            end
            `EB_ACQUISITION_TIME_LOAD: known = s_reg_write;
            `EB_ACQUISITION_TIME_INCREMENT: value = increment;
            `EB_ACQUISITION_LASER_PERIOD: begin
                value = laser_period;
                known = !s_reg_write || s_reg_wdata <= LONGEST_LASER_PERIOD;
            end
            `EB_ACQUISITION_PRF_PERIOD: begin
                value = prf_period;
                known = !s_reg_write || s_reg_wdata == 32'd0 || s_reg_wdata >= SHORTEST_PRF_PERIOD;
            end
            default: begin
                known = !s_reg_write;
                case ({7'd0, s_reg_addr})
                    `EB_ACQUISITION_TRIGGERS: value = triggers;
                    `EB_ACQUISITION_FRAMES: value = frames;
                    `EB_ACQUISITION_DROPPED_EARLY: value = dropped_early;
                    `EB_ACQUISITION_DROPPED_LINK_DOWN: value = dropped_link_down;
                    `EB_ACQUISITION_DROPPED_HELD: value = dropped_held;
                    `EB_ACQUISITION_CROSSING_OVERFLOWS: value = overflows;
                    `EB_ACQUISITION_STATUS: value = {30'd0, link_steady, window_open};
                    `EB_ACQUISITION_LASER_MISSING: value = laser_missing;
                    `EB_ACQUISITION_SHOTS_FIRED: value = shots_fired;
                    default: known = 1'b0;
                endcase
            end
        endcase
    end

    always @(posedge clk) begin
        load <= 1'b0;
        looked <= s_reg_valid && !looked && !answered;
        answered <= looked && s_reg_valid;
        if (looked && s_reg_valid) begin
            s_reg_rdata <= value;
            s_reg_error <= !known;
            if (s_reg_write && known) begin
                case ({7'd0, s_reg_addr})
                    `EB_ACQUISITION_CTRL: {generate_shots, hold, source, enable} <= s_reg_wdata[4:0];
                    `EB_ACQUISITION_MODE: mode <= s_reg_wdata[7:0];
                    `EB_ACQUISITION_SAMPLES: samples <= s_reg_wdata[15:0];
                    `EB_ACQUISITION_CHANNELS: words_last <= new_words_last;
                    `EB_ACQUISITION_WINDOW_DELAY: window_delay <= s_reg_wdata;
                    `EB_ACQUISITION_CONFIGURATION_ID: configuration <= s_reg_wdata;
                    `EB_ACQUISITION_SAMPLE_RATE: sample_rate <= s_reg_wdata[15:0];
                    `EB_ACQUISITION_SHOTS_PER_SEQUENCE: shots_per_sequence <= s_reg_wdata;
                    `EB_ACQUISITION_TIME_SECONDS: load_seconds <= s_reg_wdata;
                    `EB_ACQUISITION_TIME_NANOSECONDS: load_quarters <= s_reg_wdata;
                    `EB_ACQUISITION_TIME_LOAD: load <= 1'b1;
                    `EB_ACQUISITION_TIME_INCREMENT: increment <= s_reg_wdata;
                    `EB_ACQUISITION_LASER_PERIOD: laser_period <= s_reg_wdata;
                    `EB_ACQUISITION_PRF_PERIOD: prf_period <= s_reg_wdata;
                    default: ;
                endcase
            end
        end
        if (rst) begin
            looked <= 1'b0;
            answered <= 1'b0;
            load <= 1'b0;
            {generate_shots, hold, source, enable} <= 5'd0;
            {mode} <= 8'd1;
            samples <= 16'd0;
            words_last <= words_last_of(`EB_ACQUISITION_CHANNELS_RESET);
            window_delay <= `EB_ACQUISITION_WINDOW_DELAY_RESET;
            configuration <= `EB_ACQUISITION_CONFIGURATION_ID_RESET;
            sample_rate <= 16'd8000;
            shots_per_sequence <= `EB_ACQUISITION_SHOTS_PER_SEQUENCE_RESET;
            load_seconds <= `EB_ACQUISITION_TIME_SECONDS_RESET;
            load_quarters <= `EB_ACQUISITION_TIME_NANOSECONDS_RESET;
            increment <= `EB_ACQUISITION_TIME_INCREMENT_RESET;
            laser_period <= `EB_ACQUISITION_LASER_PERIOD_RESET;
            prf_period <= `EB_ACQUISITION_PRF_PERIOD_RESET;
        end
    end

endmodule

`default_nettype wire
