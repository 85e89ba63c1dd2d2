// Frame store of `mac_port` in arrays that cocotb reads and writes, a frame's words at a time.
//
// Either direction has SLOTS slots of one frame. Collected frame n is in slot n modulo SLOTS with its record beside it. Frames
// to replay are played in the order of `rx_orders`; the slot is named there, so that Python can put a frame before those that
// have not started.

`timescale 1ns / 1fs
`default_nettype none

`ifndef EB_DPI

module mac_port_vpi #(
    // Frames that each direction holds. Power of two.
    parameter SLOTS = 32,
    // 512-bit words of the longest frame. Power of two.
    parameter WORDS = 128
) (
    input  wire         clk,
    input  wire [63:0]  cycle,

    // Beats taken from the design.
    input  wire         beat,
    input  wire         beat_first,
    input  wire         beat_last,
    input  wire [6:0]   beat_octets,
    input  wire [511:0] beat_data,
    output wire         too_long,
    output wire         overflow,

    // Frames to the design.
    output reg  [511:0] m_axis_tdata,
    output reg  [63:0]  m_axis_tkeep,
    output reg          m_axis_tvalid,
    output reg          m_axis_tlast,
    output reg          m_axis_tuser
);

    localparam SLOT_BITS = $clog2(SLOTS);
    localparam WORD_BITS = $clog2(WORDS);

    // Collected frames. The port's `events` changes a cycle after `tx_count`, so that all is settled when Python wakes.
    /* verilator lint_off UNUSEDSIGNAL */ // Python is the other side of it
    reg [511:0] tx_words [0:SLOTS*WORDS-1];
    // last cycle, first cycle, octets
    reg [143:0] tx_records [0:SLOTS-1];
    /* verilator lint_on UNUSEDSIGNAL */
    reg [31:0]  tx_count;
    // Written by Python: frames taken over.
    reg [31:0]  tx_taken;

    reg [WORD_BITS-1:0] tx_word;
    reg [63:0]          tx_first;
    // All words of the frame have been used.
    reg                 tx_full;

    wire [SLOT_BITS-1:0] tx_slot = tx_count[SLOT_BITS-1:0];

    assign too_long = beat && tx_full && !beat_first;
    assign overflow = beat && tx_count - tx_taken >= SLOTS;

    initial begin
        tx_count = 32'd0;
        tx_taken = 32'd0;
        tx_word = {WORD_BITS{1'b0}};
        tx_full = 1'b0;
    end

    // Position of this beat.
    wire [WORD_BITS-1:0] word = beat_first ? {WORD_BITS{1'b0}} : tx_word;

    always @(posedge clk) begin
        if (beat) begin
            if (beat_first) tx_first <= cycle;
            if (!too_long && !overflow) tx_words[{tx_slot, word}] <= beat_data;
            if (beat_last && !overflow) begin
                tx_records[tx_slot] <= {
                    cycle,
                    beat_first ? cycle : tx_first,
                    {{(10 - WORD_BITS) {1'b0}}, word, 6'd0} + {9'd0, beat_octets}
                };
                tx_count <= tx_count + 32'd1;
            end
            tx_full <= (&word) || (tx_full && !beat_first);
            tx_word <= word + 1'b1;
        end
    end

    // Frames to replay, written by Python.
    /* verilator lint_off UNDRIVEN */ // Python is the other side of it
    reg [511:0] rx_words [0:SLOTS*WORDS-1];
    // bad FCS, slot, octets, earliest cycle
    reg [96:0]  rx_orders [0:SLOTS-1];
    /* verilator lint_on UNDRIVEN */
    reg [31:0]  rx_queued;
    // Read by Python.
    reg [31:0]  rx_started;
    reg [31:0]  rx_played;

    /* verilator lint_off UNUSEDSIGNAL */ // a slot number has room to spare
    wire [96:0]          rx_order = rx_orders[rx_started[SLOT_BITS-1:0]];
    /* verilator lint_on UNUSEDSIGNAL */
    wire                 rx_due = rx_started != rx_queued && rx_order[63:0] <= cycle + 64'd1;
    // The frame being played.
    reg                  rx_playing;
    reg                  rx_bad;
    reg [SLOT_BITS-1:0]  rx_slot;
    reg [WORD_BITS-1:0]  rx_word;
    reg [15:0]           rx_octets;

    initial begin
        rx_queued = 32'd0;
        rx_started = 32'd0;
        rx_played = 32'd0;
        rx_playing = 1'b0;
        m_axis_tvalid = 1'b0;
        m_axis_tlast = 1'b0;
        m_axis_tuser = 1'b0;
        m_axis_tkeep = 64'd0;
        m_axis_tdata = 512'd0;
    end

    always @(posedge clk) begin
        m_axis_tvalid <= 1'b0;
        m_axis_tlast <= 1'b0;
        m_axis_tuser <= 1'b0;
        /* verilator lint_off BLKSEQ */ // variables of this process only
        if (!rx_playing && rx_due) begin
            rx_playing = 1'b1;
            {rx_bad, rx_slot, rx_octets} = {rx_order[96], rx_order[80 +: SLOT_BITS], rx_order[79:64]};
            rx_word = {WORD_BITS{1'b0}};
            rx_started <= rx_started + 32'd1;
        end
        if (rx_playing) begin
            m_axis_tdata <= rx_words[{rx_slot, rx_word}];
            m_axis_tkeep <= rx_octets >= 16'd64 ? 64'hffff_ffff_ffff_ffff : (64'd1 << rx_octets) - 64'd1;
            m_axis_tvalid <= 1'b1;
            if (rx_octets <= 16'd64) begin
                m_axis_tlast <= 1'b1;
                m_axis_tuser <= rx_bad;
                rx_playing = 1'b0;
                rx_played <= rx_played + 32'd1;
            end
            rx_octets = rx_octets - 16'd64;
            rx_word = rx_word + 1'b1;
        end
        /* verilator lint_on BLKSEQ */
    end

    generate
        if ((SLOTS & (SLOTS - 1)) != 0 || (WORDS & (WORDS - 1)) != 0 || WORDS > 512 || SLOTS > 65536) begin : check_sizes
            initial $fatal(1, "%m: SLOTS and WORDS must be powers of two of at most 65536 and 512");
        end
    endgenerate

endmodule

`endif

`default_nettype wire
