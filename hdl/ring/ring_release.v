// Freeing of acknowledged bytes, in any order: a mark for each granule, and a free pointer that follows the marks.
//
// A walker turns a release into marks, one granule a cycle; the free pointer moves on over marked granules, one in two
// cycles. A mark is one bit whose meaning turns over with every lap of the ring, so that nothing needs to be unmarked.
// Only granules between the free pointer and what is written can be marked: a release of anything else (never written,
// freed before) is counted and otherwise ignored.

`timescale 1ns / 1fs
`default_nettype none

module ring_release #(
    // Bytes. Power of two, at least 65536.
    parameter RING_BYTES = 4194304
) (
    input  wire        clk,
    input  wire        rst,
    // Low while the marks are cleared after a reset (a cycle a granule).
    output reg         ready,

    // Bytes [address, address + bytes) modulo the ring are acknowledged; complete: the granule they end in is too.
    input  wire        release_valid,
    output wire        release_ready,
    input  wire [31:0] release_address,
    input  wire [31:0] release_bytes,
    input  wire        release_complete,

    // Positions in granules, modulo 2^20.
    input  wire [19:0] written_granule,
    output reg  [19:0] free_granule,
    // Granules that could not be released.
    output reg  [31:0] ignored_granules
);

    localparam GRANULES = RING_BYTES / 4096;
    localparam INDEX_WIDTH = $clog2(GRANULES);
    localparam [31:0] ALL_GRANULES = GRANULES;
    localparam [INDEX_WIDTH-1:0] INDEX_ONE = 1;

    generate
        if (RING_BYTES < 65536 || RING_BYTES > 1 << 30 || RING_BYTES != 1 << $clog2(RING_BYTES)) begin : check_ring_bytes
            initial $fatal(1, "ring_release: RING_BYTES must be a power of two, 65536 to 2^30");
        end
    endgenerate

    (* ram_style = "distributed" *) reg [0:0] marks [0:GRANULES-1];

    // Release to granules: first whole one, and one behind the last.
    localparam [1:0] IDLE = 2'd0;
    localparam [1:0] ROUND = 2'd1;
    localparam [1:0] LENGTH = 2'd2;
    localparam [1:0] WALK = 2'd3;

    reg  [1:0]             state;
    reg  [INDEX_WIDTH+11:0] start;
    reg  [31:0]            bytes;
    reg                    complete;
    reg  [20:0]            first;
    reg  [20:0]            behind;
    reg  [INDEX_WIDTH-1:0] index;
    reg  [20:0]            left;

    wire [32:0]            start_wide = {{(21-INDEX_WIDTH){1'b0}}, start};
    wire [32:0]            stop = start_wide + {1'b0, bytes};
    wire [20:0]            first_whole = start_wide[32:12] + {20'd0, |start[11:0]};
    wire [20:0]            behind_whole = stop[32:12] + {20'd0, complete && |stop[11:0]};
    // A complete range within one granule frees that granule although no granule lies inside.
    wire                   inside_one = complete && first_whole == behind_whole;
    wire [20:0]            count = behind - first;

    // Where a granule stands in the stream, if it is one of those written and not freed.
    wire [INDEX_WIDTH-1:0] distance = index - free_granule[INDEX_WIDTH-1:0];
    wire [19:0]            granule = free_granule + {{(20-INDEX_WIDTH){1'b0}}, distance};
    wire [19:0]            held_granules = written_granule - free_granule;
    wire                   held = {{(20-INDEX_WIDTH){1'b0}}, distance} < held_granules;
    wire                   walking = state == WALK;

    assign release_ready = state == IDLE && ready;

    wire                   mark_write = !ready || (walking && held);
    wire                   mark_value = ready && !granule[INDEX_WIDTH];

    always @(posedge clk) begin
        if (mark_write) marks[index] <= mark_value;
    end

    always @(posedge clk) begin
        case (state)
            IDLE: begin
                if (!ready) begin
                    index <= index + INDEX_ONE;
                    if (&index) ready <= 1'b1;
                end else if (release_valid) begin
                    start <= release_address[INDEX_WIDTH+11:0];
                    bytes <= release_bytes;
                    complete <= release_complete;
                    if (release_bytes != 32'd0) state <= ROUND;
                end
            end
            ROUND: begin
                first <= inside_one ? first_whole - 21'd1 : first_whole;
                behind <= behind_whole;
                // Without a granule inside, first may lie one behind.
                state <= first_whole > behind_whole ? IDLE : LENGTH;
            end
            LENGTH: begin
                index <= first[INDEX_WIDTH-1:0];
                left <= count > ALL_GRANULES[20:0] ? ALL_GRANULES[20:0] : count;
                state <= count == 21'd0 ? IDLE : WALK;
            end
            WALK: begin
                index <= index + INDEX_ONE;
                left <= left - 21'd1;
                if (!held) ignored_granules <= ignored_granules + 32'd1;
                if (left == 21'd1) state <= IDLE;
            end
        endcase
        if (rst) begin
            state <= IDLE;
            ready <= 1'b0;
            index <= {INDEX_WIDTH{1'b0}};
            ignored_granules <= 32'd0;
        end
    end

    // Free pointer: look at a mark in one cycle, act on it in the next.
    reg looked;
    reg mark_seen;
    reg any_held;

    always @(posedge clk) begin
        looked <= !looked;
        mark_seen <= marks[free_granule[INDEX_WIDTH-1:0]];
        any_held <= held_granules != 20'd0;
        if (looked && any_held && mark_seen != free_granule[INDEX_WIDTH]) free_granule <= free_granule + 20'd1;
        if (rst) begin
            looked <= 1'b0;
            any_held <= 1'b0;
            free_granule <= 20'd0;
        end
    end

    // verilator lint_off UNUSEDSIGNAL // An address beyond the ring counts modulo the ring.
    wire unused_address_bits = &release_address[31:INDEX_WIDTH+12];
    // verilator lint_on UNUSEDSIGNAL

endmodule

`default_nettype wire
