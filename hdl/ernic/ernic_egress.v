// Output FIFO: beats leave as soon as they are there, except that a beat with ICRC octets waits for them.
//
// The FIFO never overflows because the sequencer sends a beat only when it has room; every beat that leaves gives room back.

`timescale 1ns / 1fs
`default_nettype none

module ernic_egress #(
    // Beats of room. 2 to 63.
    parameter FIFO_BEATS = 16,
    // 1 holds each frame back until it can leave without a pause inside (a MAC that must not run dry); 0 or 1.
    parameter GAPLESS = 0
) (
    input  wire         clk,
    input  wire         rst,

    // Beat, zero where ICRC octets go; always taken.
    input  wire         s_beat,
    input  wire [511:0] s_data,
    input  wire         s_first,
    input  wire         s_last,
    input  wire         s_icrc_here,
    input  wire         s_icrc_rest,
    input  wire [3:0]   s_icrc_word,
    // ICRC of a packet, in packet order.
    input  wire         s_icrc_valid,
    input  wire [31:0]  s_icrc,
    // A beat has left the FIFO.
    output wire         m_freed,

    // Ethernet frames without FCS.
    output reg  [511:0] m_axis_tdata,
    output reg  [63:0]  m_axis_tkeep,
    output reg          m_axis_tvalid,
    input  wire         m_axis_tready,
    output reg          m_axis_tlast,

    // First, last beat of a frame accepted by the MAC.
    output wire         m_packet_first,
    output wire         m_packet_last
);

    localparam INDEX_WIDTH = $clog2(FIFO_BEATS);
    localparam COUNT_WIDTH = $clog2(FIFO_BEATS + 1);
    localparam LAST_INDEX = FIFO_BEATS - 1;
    // Cycles from a beat to the ICRC that it may hold.
    localparam ICRC_CYCLES = 5;

    function [INDEX_WIDTH-1:0] following(input [INDEX_WIDTH-1:0] index);
        following = index == LAST_INDEX[INDEX_WIDTH-1:0] ? {INDEX_WIDTH{1'b0}} : index + 1'b1;
    endfunction

    reg [511:0]           beat_data [0:FIFO_BEATS-1];
    reg [7:0]             beat_flags [0:FIFO_BEATS-1];
    reg [31:0]            icrc_data [0:FIFO_BEATS-1];
    reg [INDEX_WIDTH-1:0] beat_write;
    reg [INDEX_WIDTH-1:0] beat_read;
    reg [COUNT_WIDTH-1:0] beat_count;
    reg [INDEX_WIDTH-1:0] icrc_write;
    reg [INDEX_WIDTH-1:0] icrc_read;
    reg [COUNT_WIDTH-1:0] icrc_count;
    reg                   frame_first;

    // The beat that goes next: the oldest that is stored, else the one that comes just now.
    wire         stored = beat_count != 0;
    wire [511:0] oldest = beat_data[beat_read];
    wire [7:0]   s_flags = {s_first, s_last, s_icrc_here, s_icrc_rest, s_icrc_word};
    wire [7:0]   flags = stored ? beat_flags[beat_read] : s_flags;
    wire         is_first = flags[7];
    wire         is_last = flags[6];
    wire         icrc_here = flags[5];
    wire         icrc_rest = flags[4];
    wire [3:0]   icrc_word = flags[3:0];

    wire         icrc_stored = icrc_count != 0;
    wire         icrc_there = icrc_stored || s_icrc_valid;
    wire [31:0]  icrc = icrc_stored ? icrc_data[icrc_read] : s_icrc;

    wire         settled;
    wire         there = stored || s_beat;
    wire         complete = icrc_there || !(icrc_here || icrc_rest);
    wire         room = !m_axis_tvalid || m_axis_tready;
    wire         move = there && complete && settled && room;
    wire         icrc_done = move && is_last;

    assign m_freed = move;
    assign m_packet_first = m_axis_tvalid && m_axis_tready && frame_first;
    assign m_packet_last = m_axis_tvalid && m_axis_tready && m_axis_tlast;

    reg [511:0]  next_data;
    reg [63:0]   next_keep;

    always @* begin
        next_data = 512'h0;
        next_keep = 64'h0;
        if (move) begin
            next_data = stored ? oldest : s_data;
            if (icrc_here) begin
                next_data = next_data | ({480'h0, icrc} << {icrc_word, 5'd16});
            end
            if (icrc_rest) begin
                next_data[15:0] = icrc[31:16];
            end
            next_keep = 64'hffff_ffff_ffff_ffff;
            if (is_last) begin
                next_keep = icrc_rest ? 64'h3 : ~(64'hffff_ffff_ffff_ffc0 << {icrc_word, 2'b00});
            end
        end
    end

    always @(posedge clk) begin
        if (s_beat && (stored || !move)) begin
            beat_data[beat_write] <= s_data;
            beat_flags[beat_write] <= s_flags;
            beat_write <= following(beat_write);
        end
        if (move && stored) begin
            beat_read <= following(beat_read);
        end
        beat_count <= beat_count + {{(COUNT_WIDTH-1){1'b0}}, s_beat} - {{(COUNT_WIDTH-1){1'b0}}, move};

        if (s_icrc_valid && (icrc_stored || !icrc_done)) begin
            icrc_data[icrc_write] <= s_icrc;
            icrc_write <= following(icrc_write);
        end
        if (icrc_done && icrc_stored) begin
            icrc_read <= following(icrc_read);
        end
        icrc_count <= icrc_count + {{(COUNT_WIDTH-1){1'b0}}, s_icrc_valid} - {{(COUNT_WIDTH-1){1'b0}}, icrc_done};

        if (room) begin
            m_axis_tvalid <= move;
        end
        if (move) begin
            m_axis_tdata <= next_data;
            m_axis_tkeep <= next_keep;
            m_axis_tlast <= is_last;
            frame_first <= is_first;
        end

        if (rst) begin
            beat_write <= {INDEX_WIDTH{1'b0}};
            beat_read <= {INDEX_WIDTH{1'b0}};
            beat_count <= {COUNT_WIDTH{1'b0}};
            icrc_write <= {INDEX_WIDTH{1'b0}};
            icrc_read <= {INDEX_WIDTH{1'b0}};
            icrc_count <= {COUNT_WIDTH{1'b0}};
            m_axis_tvalid <= 1'b0;
        end
    end

    generate
        if (GAPLESS != 0) begin : gapless
            // A beat is settled when the ICRC that it might hold would be there: then those behind it follow without a pause.
            reg [ICRC_CYCLES-1:0] age;
            reg [COUNT_WIDTH-1:0] settled_count;
            assign settled = settled_count != 0 || age[ICRC_CYCLES-1];
            always @(posedge clk) begin
                age <= {age[ICRC_CYCLES-2:0], s_beat};
                settled_count <= settled_count + {{(COUNT_WIDTH-1){1'b0}}, age[ICRC_CYCLES-1]}
                    - {{(COUNT_WIDTH-1){1'b0}}, move};
                if (rst) begin
                    age <= {ICRC_CYCLES{1'b0}};
                    settled_count <= {COUNT_WIDTH{1'b0}};
                end
            end
        end else begin : cut_through
            assign settled = 1'b1;
        end
        if (FIFO_BEATS < 2 || FIFO_BEATS > 63) begin : check_fifo_beats
            initial $fatal(1, "%m: FIFO_BEATS must be 2 to 63");
        end
        if (GAPLESS != 0 && GAPLESS != 1) begin : check_gapless
            initial $fatal(1, "%m: GAPLESS must be 0 or 1");
        end
    endgenerate

endmodule

`default_nettype wire
