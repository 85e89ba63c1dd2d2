// Registers of the receiver: configuration out, status in. Addresses from lib/registers.vh.
//
// Configuration cannot change under running links: such a write is answered with an error and has no effect, as is a value
// that the receiver cannot work with. Interrupt and counters may be touched at any time.

`timescale 1ns / 1fs
`default_nettype none

`include "registers.vh"

module jesd204b_registers #(
    // Links and lanes of each.
    parameter LINKS = 16,
    parameter LANES_PER_LINK = 2,
    // Derived; do not override.
    parameter LANES = LINKS * LANES_PER_LINK
) (
    input  wire                clk,
    input  wire                rst,
    // Register bus.
    input  wire                s_reg_valid,
    input  wire                s_reg_write,
    input  wire [12:0]         s_reg_addr,
    input  wire [31:0]         s_reg_wdata,
    output reg                 s_reg_ready,
    output reg                 s_reg_error,
    output reg  [31:0]         s_reg_rdata,
    // Configuration; see the modules that take it.
    output reg                 enable,
    output reg                 scrambling,
    output reg                 subclass,
    output reg                 error_report,
    output reg                 sysref_once,
    output reg                 no_replacement,
    output reg                 ilas_sum_octets,
    output reg  [21:0]         ilas_compare,
    output wire [127:0]        ilas_expected,
    output reg                 ilas_did_counts,
    output reg                 ilas_per_die,
    output reg                 eight_octets,
    output wire [1:0]          frame_last,
    output reg  [6:0]          multiframe_last,
    output reg  [6:0]          release_delay,
    output reg  [6:0]          lmfc_offset,
    output reg  [8:0]          skew_limit,
    output reg  [LINKS-1:0]    link_enable,
    output reg  [LANES*5-1:0]  lane_map,
    output reg                 lane_map_straight,
    output reg  [LANES-1:0]    lane_polarity,
    output reg                 error_clear,
    // Status.
    input  wire                up,
    input  wire                lmfc_aligned,
    input  wire                lmfc_misaligned,
    input  wire                skewed,
    input  wire                timed_out,
    input  wire [LINKS-1:0]    sync_n,
    input  wire [31:0]         reinitialisations,
    // Bits of link_errors that a word brings or the links fall with, and whether the samples flow.
    input  wire [11:0]         event_kinds,
    input  wire                link_up,
    output reg                 irq,
    // Registers of the lanes: select for a cycle, the data follows by a cycle and stays.
    output reg  [LANES-1:0]    lane_select,
    output reg  [3:0]          lane_word,
    input  wire [LANES*32-1:0] lane_rdata
);

    localparam [1:0] STEP_IDLE = 2'd0;
    localparam [1:0] STEP_LANE = 2'd1;
    localparam [1:0] STEP_READ = 2'd2;
    localparam [1:0] STEP_DONE = 2'd3;

    localparam LANE_BITS = $clog2(LANES);
    localparam [19:0] LANE_END = `EB_JESD204B_LANE_STATUS + 20'd32 * `EB_JESD204B_LANE_STATUS_STRIDE;
    localparam [19:0] ILAS_END = `EB_JESD204B_LANE_ILAS + 20'd128 * `EB_JESD204B_LANE_ILAS_STRIDE;
    localparam [19:0] MAP_END = `EB_JESD204B_LANE_MAP + 20'd32 * `EB_JESD204B_LANE_MAP_STRIDE;

    reg [1:0]  step;
    reg [5:0]  frames_per_multiframe;
    reg [31:0] release_delay_written;
    reg [31:0] lmfc_offset_written;
    reg [31:0] skew_limit_written;
    reg [11:0] expected_identity;
    reg        sysref_misaligned_seen;
    reg        skewed_seen;
    reg        timed_out_seen;
    reg [12:0] irq_enable;
    reg [12:0] irq_status;
    reg        link_up_before;

    wire [19:0] addr = {7'd0, s_reg_addr};
    wire        is_lane = addr >= `EB_JESD204B_LANE_STATUS && addr < LANE_END;
    wire        is_ilas = addr >= `EB_JESD204B_LANE_ILAS && addr < ILAS_END;
    wire        is_map = addr >= `EB_JESD204B_LANE_MAP && addr < MAP_END;
    wire [4:0]  lane = is_map ? s_reg_addr[6:2] : is_ilas ? s_reg_addr[8:4] : s_reg_addr[9:5];
    wire        lane_exists = {1'b0, lane} < LANES[5:0] && (is_ilas || is_lane || is_map);

    // Beats of a multiframe less one.
    wire [6:0] multiframe_beats_less_one = eight_octets ? {frames_per_multiframe, 1'b0} - 7'd1
                                                        : {frames_per_multiframe[4:0], 2'b00} - 7'd1;

    assign frame_last = eight_octets ? 2'd1 : 2'd3;

    // Link configuration as the alignment sequence should tell it (JESD204B 8.3), octet 0 in bits 23:16 behind /R/ /Q/. Each lane
    // puts in its own LID and works out the check sum itself. N = N' = 16, S = 1, no control bits, no HD, version B. M - 1 is of
    // one lane or of the link; F of 8 halves M.
    localparam [6:0] LANES_LESS_ONE = LANES_PER_LINK[6:0] - 7'd1;
    localparam CONVERTERS = LANES_PER_LINK * 8;

    wire [6:0] expected_lanes_less_one = ilas_per_die ? 7'd0 : LANES_LESS_ONE;
    wire [7:0] expected_converters = (ilas_per_die ? 8'd8 : CONVERTERS[7:0]) >> eight_octets;

    assign ilas_expected = {
        8'h00, 8'h00, 8'h00, 8'h00,
        8'h20, {2'd0, subclass, 5'd15}, 8'h0f, expected_converters - 8'd1,
        {2'd0, frames_per_multiframe - 6'd1}, eight_octets ? 8'd7 : 8'd15, {scrambling, expected_lanes_less_one}, 8'h00,
        {4'd0, expected_identity[11:8]}, expected_identity[7:0], 8'h9c, 8'h1c
    };

    // Each physical lane stands in the map.
    reg [LANES-1:0] mapped;

    integer m;

    always @* begin
        mapped = {LANES{1'b0}};
        if (!enable && s_reg_valid) begin
            for (m = 0; m < LANES; m = m + 1) begin
                mapped[lane_map[5*m +: LANE_BITS]] = 1'b1;
            end
        end
    end

    wire [6:0] control = {no_replacement, sysref_once, error_report, ilas_sum_octets, subclass, scrambling, enable};

    // A write that must not take effect.
    reg refused;

    always @* begin
        refused = 1'b0;
        if (s_reg_valid && s_reg_write) begin
            case (addr)
                `EB_JESD204B_CTRL:
                    refused = s_reg_wdata[0] && (enable ? s_reg_wdata[6:1] != control[6:1] : mapped != {LANES{1'b1}});
                `EB_JESD204B_FRAMES_PER_MULTIFRAME: refused = enable || s_reg_wdata < 32'd8 || s_reg_wdata > 32'd32;
                `EB_JESD204B_OCTETS_PER_FRAME: refused = enable || (s_reg_wdata != 32'd8 && s_reg_wdata != 32'd16);
                `EB_JESD204B_RELEASE_DELAY, `EB_JESD204B_LMFC_OFFSET, `EB_JESD204B_LINK_ENABLE, `EB_JESD204B_ILAS_CHECK,
                `EB_JESD204B_ILAS_EXPECTED, `EB_JESD204B_POLARITY:
                    refused = enable;
                `EB_JESD204B_SKEW_LIMIT: refused = enable || s_reg_wdata > 32'd511;
                `EB_JESD204B_ERROR_CLEAR, `EB_JESD204B_IRQ_ENABLE, `EB_JESD204B_IRQ_STATUS: refused = 1'b0;
                default: refused = enable || !is_map || !lane_exists || s_reg_wdata >= LANES;
            endcase
        end
    end

    // Values beyond a multiframe count as its last beat, so that no setting leaves the links waiting for a beat that never comes.
    function [6:0] limited(input [31:0] value, input [6:0] last);
        limited = value > {25'd0, last} ? last : value[6:0];
    endfunction

    integer n;

    always @(posedge clk) begin
        error_clear <= 1'b0;
        lane_select <= {LANES{1'b0}};
        s_reg_ready <= 1'b0;
        if (!enable) begin
            multiframe_last <= multiframe_beats_less_one;
            release_delay <= limited(release_delay_written, multiframe_beats_less_one);
            lmfc_offset <= limited(lmfc_offset_written, multiframe_beats_less_one);
            skew_limit <= skew_limit_written == 32'd0 ? {3'd0, multiframe_beats_less_one[6:1]} : skew_limit_written[8:0];
        end
        if (lmfc_misaligned) begin
            sysref_misaligned_seen <= 1'b1;
        end
        if (skewed) begin
            skewed_seen <= 1'b1;
        end
        if (timed_out) begin
            timed_out_seen <= 1'b1;
        end
        link_up_before <= link_up;
        irq <= (irq_status & irq_enable) != 13'd0;
        case (step)
            STEP_IDLE: begin
                if (s_reg_valid) begin
                    step <= STEP_LANE;
                    lane_word <= is_ilas ? {2'b10, s_reg_addr[3:2]} : {1'b0, s_reg_addr[4:2]};
                    for (n = 0; n < LANES; n = n + 1) begin
                        lane_select[n] <= lane_exists && lane == n[4:0];
                    end
                    s_reg_error <= refused;
                    if (s_reg_write && !refused) begin
                        case (addr)
                            `EB_JESD204B_CTRL:
                                {no_replacement, sysref_once, error_report, ilas_sum_octets, subclass, scrambling, enable}
                                    <= s_reg_wdata[6:0];
                            `EB_JESD204B_FRAMES_PER_MULTIFRAME: frames_per_multiframe <= s_reg_wdata[5:0];
                            `EB_JESD204B_OCTETS_PER_FRAME: eight_octets <= s_reg_wdata[3];
                            `EB_JESD204B_RELEASE_DELAY: release_delay_written <= s_reg_wdata;
                            `EB_JESD204B_LMFC_OFFSET: lmfc_offset_written <= s_reg_wdata;
                            `EB_JESD204B_LINK_ENABLE: link_enable <= s_reg_wdata[LINKS-1:0];
                            `EB_JESD204B_ILAS_CHECK: ilas_compare <= s_reg_wdata[21:0];
                            `EB_JESD204B_ILAS_EXPECTED: begin
                                expected_identity <= s_reg_wdata[11:0];
                                {ilas_per_die, ilas_did_counts} <= s_reg_wdata[17:16];
                            end
                            `EB_JESD204B_POLARITY: lane_polarity <= s_reg_wdata[LANES-1:0];
                            `EB_JESD204B_SKEW_LIMIT: skew_limit_written <= s_reg_wdata;
                            `EB_JESD204B_IRQ_ENABLE: irq_enable <= s_reg_wdata[12:0];
                            `EB_JESD204B_IRQ_STATUS: irq_status <= irq_status & ~s_reg_wdata[12:0];
                            `EB_JESD204B_ERROR_CLEAR: begin
                                error_clear <= 1'b1;
                                sysref_misaligned_seen <= 1'b0;
                                skewed_seen <= 1'b0;
                                timed_out_seen <= 1'b0;
                            end
                            default: begin
                                for (n = 0; n < LANES; n = n + 1) begin
                                    if (lane == n[4:0]) begin
                                        lane_map[5*n +: 5] <= s_reg_wdata[4:0];
                                    end
                                end
                            end
                        endcase
                    end
                end
            end
            STEP_LANE: step <= STEP_READ;
            STEP_READ: begin
                step <= STEP_DONE;
                s_reg_ready <= 1'b1;
                s_reg_rdata <= 32'd0;
                if (!s_reg_write) begin
                    case (addr)
                        `EB_JESD204B_CTRL: s_reg_rdata <= {25'd0, control};
                        `EB_JESD204B_FRAMES_PER_MULTIFRAME: s_reg_rdata <= {26'd0, frames_per_multiframe};
                        `EB_JESD204B_OCTETS_PER_FRAME: s_reg_rdata <= eight_octets ? 32'd8 : 32'd16;
                        `EB_JESD204B_RELEASE_DELAY: s_reg_rdata <= release_delay_written;
                        `EB_JESD204B_LMFC_OFFSET: s_reg_rdata <= lmfc_offset_written;
                        `EB_JESD204B_LINK_ENABLE: s_reg_rdata[LINKS-1:0] <= link_enable;
                        `EB_JESD204B_ILAS_CHECK: s_reg_rdata <= {10'd0, ilas_compare};
                        `EB_JESD204B_ILAS_EXPECTED:
                            s_reg_rdata <= {14'd0, ilas_per_die, ilas_did_counts, 4'd0, expected_identity};
                        `EB_JESD204B_POLARITY: s_reg_rdata[LANES-1:0] <= lane_polarity;
                        `EB_JESD204B_SKEW_LIMIT: s_reg_rdata <= skew_limit_written;
                        `EB_JESD204B_IRQ_ENABLE: s_reg_rdata <= {19'd0, irq_enable};
                        `EB_JESD204B_IRQ_STATUS: s_reg_rdata <= {19'd0, irq_status};
                        `EB_JESD204B_STATUS:
                            s_reg_rdata <= {27'd0, timed_out_seen, skewed_seen, sysref_misaligned_seen, lmfc_aligned, up};
                        `EB_JESD204B_LINK_UP: s_reg_rdata[LINKS-1:0] <= up ? link_enable : {LINKS{1'b0}};
                        `EB_JESD204B_SYNC_N: s_reg_rdata[LINKS-1:0] <= sync_n;
                        `EB_JESD204B_REINITIALISATIONS: s_reg_rdata <= reinitialisations;
                        default: begin
                            s_reg_error <= !lane_exists;
                            if (lane_exists) begin
                                s_reg_rdata <= is_map ? {27'd0, lane_map[5*lane +: 5]} : lane_rdata[32*lane +: 32];
                            end
                        end
                    endcase
                end
            end
            default: step <= STEP_IDLE;
        endcase
        // After the register write, so that what happens in its cycle is not lost.
        if (event_kinds != 12'd0) begin
            irq_status[11:0] <= irq_status[11:0] | event_kinds;
        end
        if (link_up && !link_up_before) begin
            irq_status[12] <= 1'b1;
        end
        // What is known of the map while it may change.
        if (!enable) begin
            lane_map_straight <= 1'b1;
            for (n = 0; n < LANES; n = n + 1) begin
                if (lane_map[5*n +: 5] != n[4:0]) begin
                    lane_map_straight <= 1'b0;
                end
            end
        end
        if (rst) begin
            step <= STEP_IDLE;
            s_reg_ready <= 1'b0;
            error_clear <= 1'b0;
            sysref_misaligned_seen <= 1'b0;
            skewed_seen <= 1'b0;
            timed_out_seen <= 1'b0;
            {no_replacement, sysref_once, error_report, ilas_sum_octets, subclass, scrambling, enable} <= RESET_CTRL[6:0];
            irq <= 1'b0;
            irq_status <= 13'd0;
            irq_enable <= 13'd0;
            link_up_before <= 1'b0;
            {ilas_per_die, ilas_did_counts} <= 2'd0;
            expected_identity <= 12'd0;
            lane_polarity <= {LANES{1'b0}};
            skew_limit_written <= `EB_JESD204B_SKEW_LIMIT_RESET;
            for (n = 0; n < LANES; n = n + 1) begin
                lane_map[5*n +: 5] <= n[4:0];
            end
            frames_per_multiframe <= RESET_FRAMES[5:0];
            eight_octets <= RESET_OCTETS[3];
            release_delay_written <= `EB_JESD204B_RELEASE_DELAY_RESET;
            lmfc_offset_written <= `EB_JESD204B_LMFC_OFFSET_RESET;
            link_enable <= RESET_LINKS[LINKS-1:0];
            ilas_compare <= RESET_COMPARE[21:0];
        end
    end

    // Macros cannot be sliced.
    localparam [31:0] RESET_CTRL = `EB_JESD204B_CTRL_RESET;
    localparam [31:0] RESET_FRAMES = `EB_JESD204B_FRAMES_PER_MULTIFRAME_RESET;
    localparam [31:0] RESET_OCTETS = `EB_JESD204B_OCTETS_PER_FRAME_RESET;
    localparam [31:0] RESET_LINKS = `EB_JESD204B_LINK_ENABLE_RESET;
    localparam [31:0] RESET_COMPARE = `EB_JESD204B_ILAS_CHECK_RESET;

endmodule

`default_nettype wire
