// Takes rows of ring or stage when they come and turns them so that each octet stands in the lane of its beat.
//
// A row is rotated once. Its octets then belong to two beats, split at the lane of the rotation: lanes from there on are this
// beat's, those below come from the row before.

`timescale 1ns / 1fs
`default_nettype none

module ernic_payload_reader (
    input  wire         clk,
    input  wire         rst,

    // Slots of the sequencer, a cycle behind their ring read; s_header_beat is a beat 0 ahead of it.
    input  wire         s_row,
    input  wire         s_staged,
    input  wire         s_beat,
    input  wire         s_first,
    input  wire         s_second,
    input  wire         s_last,
    input  wire [6:0]   s_begin,
    input  wire [6:0]   s_end,
    input  wire [5:0]   s_rotate,
    input  wire         s_icrc_here,
    input  wire         s_icrc_rest,
    input  wire [3:0]   s_icrc_word,
    input  wire         s_header_beat,

    // Data of a ring read, two cycles behind its slot.
    input  wire [511:0] ring_read_data,
    input  wire [511:0] stage_read_data,

    // Beat: rotated rows with the lanes to take of each; all other lanes are for header, padding and ICRC.
    output reg          m_beat,
    output reg          m_first,
    output reg          m_second,
    output reg          m_last,
    output reg          m_icrc_here,
    output reg          m_icrc_rest,
    output reg  [3:0]   m_icrc_word,
    output reg  [511:0] m_row,
    output reg  [511:0] m_row_before,
    output reg  [63:0]  m_lanes,
    output reg  [63:0]  m_lanes_before
);

    localparam [63:0] ALL = 64'hffff_ffff_ffff_ffff;

    reg         wait_row;
    reg         wait_staged;
    reg         wait_beat;
    reg         wait_first;
    reg         wait_second;
    reg         wait_last;
    reg [6:0]   wait_begin;
    reg [6:0]   wait_end;
    reg [5:0]   wait_rotate;
    reg         wait_icrc_here;
    reg         wait_icrc_rest;
    reg [3:0]   wait_icrc_word;

    reg         data_row;
    reg         data_staged;
    reg         data_beat;
    reg         data_first;
    reg         data_second;
    reg         data_last;
    reg [63:0]  data_lanes;
    reg [63:0]  data_lanes_before;
    reg [5:0]   data_rotate;
    reg         data_icrc_here;
    reg         data_icrc_rest;
    reg [3:0]   data_icrc_word;

    wire [63:0] payload_lanes = (ALL << wait_begin) & ~(ALL << wait_end);
    wire [63:0] own_lanes = ALL << wait_rotate;

    reg [1023:0] turned;

    always @* begin
        turned = 1024'h0;
        if (data_row) begin
            turned = {2{data_staged ? stage_read_data : ring_read_data}} << {data_rotate, 3'b000};
        end
    end

    always @(posedge clk) begin
        wait_row <= s_row;
        wait_beat <= s_beat || s_header_beat;
        if (s_header_beat) begin
            // Nothing but header; the lanes are masked off.
            wait_first <= 1'b1;
            wait_second <= 1'b0;
            wait_last <= 1'b0;
            wait_begin <= 7'd64;
            wait_end <= 7'd64;
            wait_icrc_here <= 1'b0;
            wait_icrc_rest <= 1'b0;
        end else if (s_row || s_beat) begin
            wait_staged <= s_staged;
            wait_first <= s_first;
            wait_second <= s_second;
            wait_last <= s_last;
            wait_begin <= s_begin;
            wait_end <= s_end;
            wait_rotate <= s_rotate;
            wait_icrc_here <= s_icrc_here;
            wait_icrc_rest <= s_icrc_rest;
            wait_icrc_word <= s_icrc_word;
        end

        data_row <= wait_row;
        data_beat <= wait_beat;
        if (wait_row || wait_beat) begin
            data_staged <= wait_staged;
            data_first <= wait_first;
            data_second <= wait_second;
            data_last <= wait_last;
            data_lanes <= payload_lanes & own_lanes;
            data_lanes_before <= payload_lanes & ~own_lanes;
            data_rotate <= wait_rotate;
            data_icrc_here <= wait_icrc_here;
            data_icrc_rest <= wait_icrc_rest;
            data_icrc_word <= wait_icrc_word;
        end

        m_beat <= data_beat;
        if (data_beat) begin
            m_first <= data_first;
            m_second <= data_second;
            m_last <= data_last;
            m_lanes <= data_lanes;
            m_lanes_before <= data_lanes_before;
            m_icrc_here <= data_icrc_here;
            m_icrc_rest <= data_icrc_rest;
            m_icrc_word <= data_icrc_word;
        end
        if (data_row) begin
            m_row <= turned[1023:512];
        end
        if (data_row || data_beat) begin
            m_row_before <= m_row;
        end

        if (rst) begin
            wait_row <= 1'b0;
            wait_beat <= 1'b0;
            data_row <= 1'b0;
            data_beat <= 1'b0;
            m_beat <= 1'b0;
        end
    end

    // The lower half holds what was shifted in behind the rotation.
    // verilator lint_off UNUSEDSIGNAL
    wire [511:0] turned_low = turned[511:0];
    // verilator lint_on UNUSEDSIGNAL

endmodule

`default_nettype wire
