// hdl/lib/cdc_fifo.v: every word taken at the source leaves at the sink once, unchanged and in order; nothing else leaves.
//
// The two clocks are free inputs: any ratio, any drift, edges apart or at once. Crossing bits are caught late or not, see
// models/cdc_sync.v. Both resets begin together, last for four or more cycles
// of the slower clock, and end at any two moments.

`timescale 1ns / 1fs
`default_nettype none

module cdc_fifo_properties #(
    // Bits a word, words: as of the FIFO.
    parameter WIDTH = 2,
    parameter DEPTH = 4,
    // 1: each clock changes in every step, so that cover statements are reached in few steps.
    parameter REGULAR = 0,
    // 0: without the helping invariants.
    parameter HELP = 1
) (
    input wire             s_clk,
    input wire             m_clk,
    input wire             s_rst,
    input wire             m_rst,
    input wire [WIDTH-1:0] s_data,
    input wire             s_valid,
    input wire             m_ready
);

    localparam LEVEL_WIDTH = $clog2(DEPTH) + 1;

    wire                   s_ready;
    wire [LEVEL_WIDTH-1:0] s_level;
    wire [WIDTH-1:0]       m_data;
    wire                   m_valid;

    cdc_fifo #(
        .WIDTH(WIDTH),
        .DEPTH(DEPTH)
    ) dut (
        .s_clk(s_clk),
        .s_rst(s_rst),
        .s_data(s_data),
        .s_valid(s_valid),
        .s_ready(s_ready),
        .s_level(s_level),
        .m_clk(m_clk),
        .m_rst(m_rst),
        .m_data(m_data),
        .m_valid(m_valid),
        .m_ready(m_ready)
    );

    // ------------------------------------------------------------------------------------------------------------- environment

    // Rounds: times that both clocks have had an edge, up to four.
    reg [2:0] rounds = 3'd0;
    reg       s_clk_before = 1'b1;
    reg       m_clk_before = 1'b1;
    reg       s_ticked = 1'b0;
    reg       m_ticked = 1'b0;
    reg       s_rst_before = 1'b1;
    reg       m_rst_before = 1'b1;
    wire      holding = rounds != 3'd4;
    wire      s_tick = s_clk && !s_clk_before;
    wire      m_tick = m_clk && !m_clk_before;
    wire      round = (s_tick || s_ticked) && (m_tick || m_ticked);

    always @($global_clock) begin
        s_clk_before <= s_clk;
        m_clk_before <= m_clk;
        s_ticked <= (s_ticked || s_tick) && !round;
        m_ticked <= (m_ticked || m_tick) && !round;
        if (round && holding) rounds <= rounds + 3'd1;
        s_rst_before <= s_rst;
        m_rst_before <= m_rst;
    end

    always @* begin
        if (holding) assume (s_rst && m_rst);
        assume (s_rst_before || !s_rst);
        assume (m_rst_before || !m_rst);
        if (REGULAR != 0) assume (s_clk != s_clk_before && m_clk != m_clk_before);
    end

    // ----------------------------------------------------------------------------------------------------------- specification

    // stored_place, stored_word: an address of the memory, any, and the word there.
    `include "words.vh"

    // Words taken and words delivered. Of any one word that is stored there number and value are noted.
    reg  [7:0]       taken = 8'd0;
    reg  [7:0]       delivered = 8'd0;
    reg              noted = 1'b0;
    reg  [7:0]       noted_number;
    reg  [WIDTH-1:0] noted_data;
    (* anyseq *) wire note;

    always @(posedge s_clk) begin
        if (s_valid && s_ready) begin
            taken <= taken + 8'd1;
            if (note && !noted && taken[LEVEL_WIDTH-2:0] == stored_place) begin
                noted <= 1'b1;
                noted_number <= taken;
                noted_data <= s_data;
            end
        end
    end

    // The noted word has been delivered.
    reg              seen = 1'b0;
    wire             due = noted && !seen && noted_number == delivered;

    always @(posedge m_clk) begin
        if (m_valid && m_ready) begin
            delivered <= delivered + 8'd1;
            if (due) seen <= 1'b1;
        end
    end

    wire [7:0] inside = taken - delivered;

    always @* begin
        assert (inside <= DEPTH + 1);
        if (m_valid) assert (inside != 8'd0);
        if (m_valid && due) assert (m_data == noted_data);
        if (noted && !seen) assert (noted_number - delivered < inside);
    end

    // What crosses changes by one bit at a time.
    (* hierconn *) wire [LEVEL_WIDTH-1:0] \dut.s_pointer_gray ;
    (* hierconn *) wire [LEVEL_WIDTH-1:0] \dut.m_pointer_gray ;
    reg  [LEVEL_WIDTH-1:0] s_gray_before;
    reg  [LEVEL_WIDTH-1:0] m_gray_before;
    wire [LEVEL_WIDTH-1:0] s_gray_change = \dut.s_pointer_gray ^ s_gray_before;
    wire [LEVEL_WIDTH-1:0] m_gray_change = \dut.m_pointer_gray ^ m_gray_before;

    always @($global_clock) begin
        s_gray_before <= \dut.s_pointer_gray ;
        m_gray_before <= \dut.m_pointer_gray ;
    end

    always @* begin
        if (!holding) begin
            assert ((s_gray_change & (s_gray_change - 1'b1)) == {LEVEL_WIDTH{1'b0}});
            assert ((m_gray_change & (m_gray_change - 1'b1)) == {LEVEL_WIDTH{1'b0}});
        end
    end

    // ------------------------------------------------------------------------------------------------------ helping invariants

    function [LEVEL_WIDTH-1:0] binary;
        input [LEVEL_WIDTH-1:0] gray;
        integer i;
        begin
            binary[LEVEL_WIDTH-1] = gray[LEVEL_WIDTH-1];
            for (i = LEVEL_WIDTH - 2; i >= 0; i = i - 1) binary[i] = binary[i+1] ^ gray[i];
        end
    endfunction

    (* hierconn *) wire [LEVEL_WIDTH-1:0]   \dut.s_pointer ;
    (* hierconn *) wire [LEVEL_WIDTH-1:0]   \dut.m_pointer ;
    (* hierconn *) wire                     \dut.m_full ;
    (* hierconn *) wire [3*LEVEL_WIDTH-1:0] \dut.read_crossing.stages ;
    (* hierconn *) wire [3*LEVEL_WIDTH-1:0] \dut.write_crossing.stages ;
    (* hierconn *) wire [LEVEL_WIDTH-1:0]   \dut.read_crossing.earlier ;
    (* hierconn *) wire [LEVEL_WIDTH-1:0]   \dut.write_crossing.earlier ;
    (* hierconn *) wire                     \dut.sink_reset_crossing.earlier ;
    (* hierconn *) wire                     \dut.source_reset_crossing.earlier ;
    (* hierconn *) wire [1:0]               \dut.sink_reset_crossing.stages ;
    (* hierconn *) wire [1:0]               \dut.source_reset_crossing.stages ;

    // Positions in the stream, modulo 2 * DEPTH, and how far each lies behind the source or ahead of the sink.
    wire [LEVEL_WIDTH-1:0] written = \dut.s_pointer ;
    wire [LEVEL_WIDTH-1:0] fetched = \dut.m_pointer ;
    wire [LEVEL_WIDTH-1:0] level = written - fetched;
    wire [LEVEL_WIDTH-1:0] read_before = written - binary(\dut.read_crossing.earlier );
    wire [LEVEL_WIDTH-1:0] read_0 = written - binary(\dut.read_crossing.stages [0 +: LEVEL_WIDTH]);
    wire [LEVEL_WIDTH-1:0] read_1 = written - binary(\dut.read_crossing.stages [LEVEL_WIDTH +: LEVEL_WIDTH]);
    wire [LEVEL_WIDTH-1:0] read_2 = written - binary(\dut.read_crossing.stages [2*LEVEL_WIDTH +: LEVEL_WIDTH]);
    wire [LEVEL_WIDTH-1:0] write_before = binary(\dut.write_crossing.earlier ) - fetched;
    wire [LEVEL_WIDTH-1:0] write_0 = binary(\dut.write_crossing.stages [0 +: LEVEL_WIDTH]) - fetched;
    wire [LEVEL_WIDTH-1:0] write_1 = binary(\dut.write_crossing.stages [LEVEL_WIDTH +: LEVEL_WIDTH]) - fetched;
    wire [LEVEL_WIDTH-1:0] write_2 = binary(\dut.write_crossing.stages [2*LEVEL_WIDTH +: LEVEL_WIDTH]) - fetched;

    // What the resets have cleared, edge by edge; the last stage of the pointers' crossings is cleared by the next edge.
    reg s_clean = 1'b0;
    reg m_clean = 1'b0;

    always @(posedge s_clk) s_clean <= !holding;
    always @(posedge m_clk) m_clean <= !holding;

    wire [2:0] s_passed = rounds + {2'd0, s_tick || s_ticked};
    wire [2:0] m_passed = rounds + {2'd0, m_tick || m_ticked};

    localparam [LEVEL_WIDTH-1:0] ZERO = 0;
    localparam [LEVEL_WIDTH-1:0] ONE = 1;

    always @* begin
        if (HELP != 0) begin
            assert (rounds <= 3'd4);
            if (holding) begin
                if (s_passed >= 3'd1) assert (written == ZERO && \dut.s_pointer_gray == ZERO);
                if (m_passed >= 3'd1) assert (fetched == ZERO && \dut.m_pointer_gray == ZERO && !\dut.m_full );
                if (s_passed >= 3'd2) assert (\dut.read_crossing.earlier == ZERO && \dut.sink_reset_crossing.earlier );
                if (m_passed >= 3'd2) assert (\dut.write_crossing.earlier == ZERO && \dut.source_reset_crossing.earlier );
                if (s_passed >= 3'd3) begin
                    assert (\dut.read_crossing.stages [0 +: LEVEL_WIDTH] == ZERO && \dut.sink_reset_crossing.stages [0]);
                end
                if (m_passed >= 3'd3) begin
                    assert (\dut.write_crossing.stages [0 +: LEVEL_WIDTH] == ZERO && \dut.source_reset_crossing.stages [0]);
                end
                if (s_passed == 3'd4) begin
                    assert (\dut.read_crossing.stages [LEVEL_WIDTH +: LEVEL_WIDTH] == ZERO);
                    assert (\dut.sink_reset_crossing.stages [1]);
                end
                if (m_passed == 3'd4) begin
                    assert (\dut.write_crossing.stages [LEVEL_WIDTH +: LEVEL_WIDTH] == ZERO);
                    assert (\dut.source_reset_crossing.stages [1]);
                end
                assert (taken == 8'd0 && delivered == 8'd0 && !s_clean && !m_clean);
            end else begin
                if (!s_clean) assert (\dut.sink_reset_crossing.stages == 2'b11 && taken == 8'd0);
                if (!m_clean) assert (\dut.source_reset_crossing.stages == 2'b11 && delivered == 8'd0);
                // The end of a reset passes the crossing once; until then nothing moves.
                assert (\dut.sink_reset_crossing.stages [1] >= \dut.sink_reset_crossing.stages [0]);
                assert (\dut.sink_reset_crossing.stages [0] >= \dut.sink_reset_crossing.earlier );
                assert (\dut.sink_reset_crossing.earlier >= m_rst);
                assert (\dut.source_reset_crossing.stages [1] >= \dut.source_reset_crossing.stages [0]);
                assert (\dut.source_reset_crossing.stages [0] >= \dut.source_reset_crossing.earlier );
                assert (\dut.source_reset_crossing.earlier >= s_rst);
                if (s_rst || \dut.sink_reset_crossing.stages [1]) assert (taken == 8'd0);
                if (m_rst || \dut.source_reset_crossing.stages [1]) assert (delivered == 8'd0 && !\dut.m_full );
                assert (\dut.s_pointer_gray == (written ^ written >> 1));
                assert (\dut.m_pointer_gray == (fetched ^ fetched >> 1));
                assert (written == taken[LEVEL_WIDTH-1:0]);
                assert (fetched == delivered[LEVEL_WIDTH-1:0] + {{(LEVEL_WIDTH-1){1'b0}}, \dut.m_full });
                assert (inside == level + \dut.m_full );
                assert (level <= read_before && read_before <= read_0);
                assert (read_0 <= read_1 && read_1 <= DEPTH);
                if (s_clean) assert (read_1 <= read_2 && read_2 <= DEPTH && s_level >= level);
                assert (write_1 <= write_0 && write_0 <= write_before);
                assert (write_before <= level);
                // What may be caught late is one step behind at most.
                assert (read_before - level <= ONE && level - write_before <= ONE);
                if (m_clean) assert (write_2 <= write_1);
            end
            if (noted) assert (noted_number[LEVEL_WIDTH-2:0] == stored_place);
            if (noted && !seen) begin
                if (due && \dut.m_full ) assert (m_data == noted_data);
                else assert (stored_word == noted_data);
            end
        end
    end

    // ------------------------------------------------------------------------------------------------------------ reachability

    reg full_seen = 1'b0;

    always @($global_clock) if (s_level == DEPTH && !s_rst) full_seen <= 1'b1;

    always @* begin
        cover (full_seen && seen && delivered == 8'd5 && inside == 8'd0);
        cover (taken == 8'd9 && noted && noted_number == 8'd3);
        cover (\dut.source_reset_crossing.stages [1] && inside != 8'd0);
    end

endmodule

`default_nettype wire
