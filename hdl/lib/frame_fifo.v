// FIFO of whole frames: a frame can be read only when all of it is inside, so that it leaves without a gap, and one that does not
// fit or that is found bad at its end is taken out again as if it had never come.
//
// With LOSSY = 1 the source is never held back: a frame that finds no room is dropped. With 0 it is held back, except
// by a frame too long for the FIFO, which is dropped as well. Either way the rest of such a frame is swallowed.

`timescale 1ns / 1fs
`default_nettype none

module frame_fifo #(
    // Beats of 64 octets. Power of two, 4 to 32768.
    parameter BEATS = 512,
    // 1: frames are dropped rather than held back.
    parameter LOSSY = 1,
    // Derived; do not override.
    parameter LEVEL_WIDTH = $clog2(BEATS) + 1
) (
    input  wire                   clk,
    input  wire                   rst,

    // Frames in, octet 0 in bits 7:0; tuser with tlast: bad, not to be kept.
    input  wire [511:0]           s_axis_tdata,
    input  wire [63:0]            s_axis_tkeep,
    input  wire                   s_axis_tvalid,
    output wire                   s_axis_tready,
    input  wire                   s_axis_tlast,
    input  wire                   s_axis_tuser,

    // Whole frames out.
    output wire [511:0]           m_axis_tdata,
    output wire [63:0]            m_axis_tkeep,
    output wire                   m_axis_tvalid,
    input  wire                   m_axis_tready,
    output wire                   m_axis_tlast,

    // In the cycle after a frame's end: it was kept; it was dropped for want of room. Beats inside.
    output reg                    kept,
    output reg                    dropped,
    output wire [LEVEL_WIDTH-1:0] level
);

    localparam ADDRESS_WIDTH = LEVEL_WIDTH - 1;
    localparam [LEVEL_WIDTH-1:0] ONE = 1;

    // Last octet's lane instead of one bit a lane: 519 bits fit eight block RAMs of 72.
    function [5:0] last_lane(input [63:0] keep);
        integer lane;
        begin
            last_lane = 6'd0;
            for (lane = 0; lane < 64; lane = lane + 1) if (keep[lane]) last_lane = lane[5:0];
        end
    endfunction

    reg  [518:0]             memory [0:BEATS-1];
    // Positions count modulo twice the size: written, up to whole frames, read into the output register.
    reg  [LEVEL_WIDTH-1:0]   written;
    reg  [LEVEL_WIDTH-1:0]   whole;
    reg  [LEVEL_WIDTH-1:0]   fetched;
    reg                      spoilt;
    reg  [518:0]             output_beat;
    reg                      output_valid;

    wire [LEVEL_WIDTH-1:0]   used = written - fetched;
    wire                     full = used[ADDRESS_WIDTH];
    // Nothing inside that could leave and make room: the frame that fills the memory is too long.
    wire                     hopeless = full && whole == fetched;
    wire                     take = s_axis_tvalid && s_axis_tready;
    wire                     store = take && !full && !spoilt;
    wire                     keep_frame = store && s_axis_tlast && !s_axis_tuser;
    wire                     fetch = whole != fetched && (!output_valid || m_axis_tready);

    assign s_axis_tready = LOSSY != 0 || !full || spoilt || hopeless;
    assign level = used;

    always @(posedge clk) begin
        kept <= 1'b0;
        dropped <= 1'b0;
        if (store) memory[written[ADDRESS_WIDTH-1:0]] <= {s_axis_tlast, last_lane(s_axis_tkeep), s_axis_tdata};
        if (take) begin
            if (store) written <= written + ONE;
            else spoilt <= 1'b1;
            if (s_axis_tlast) begin
                spoilt <= 1'b0;
                kept <= keep_frame;
                dropped <= !store && !s_axis_tuser;
                if (keep_frame) whole <= written + ONE;
                else written <= whole;
            end
        end
        if (fetch) begin
            output_beat <= memory[fetched[ADDRESS_WIDTH-1:0]];
            fetched <= fetched + ONE;
            output_valid <= 1'b1;
        end else if (m_axis_tready) begin
            output_valid <= 1'b0;
        end
        if (rst) begin
            kept <= 1'b0;
            dropped <= 1'b0;
            written <= {LEVEL_WIDTH{1'b0}};
            whole <= {LEVEL_WIDTH{1'b0}};
            fetched <= {LEVEL_WIDTH{1'b0}};
            spoilt <= 1'b0;
            output_valid <= 1'b0;
        end
    end

    assign m_axis_tdata = output_beat[511:0];
    assign m_axis_tkeep = ~(64'hffff_ffff_ffff_fffe << output_beat[517:512]);
    assign m_axis_tlast = output_beat[518];
    assign m_axis_tvalid = output_valid;

    generate
        if (BEATS < 4 || BEATS > 32768 || BEATS != 1 << $clog2(BEATS)) begin : check_beats
            initial $fatal(1, "frame_fifo: BEATS must be a power of two, 4 to 32768");
        end
        if (LOSSY != 0 && LOSSY != 1) begin : check_lossy
            initial $fatal(1, "frame_fifo: LOSSY must be 0 or 1");
        end
    endgenerate

endmodule

`default_nettype wire
