// Finds where packets start and, by the IPv4 length, where they end: Ethernet padding may follow the ICRC.

`timescale 1ns / 1fs
`default_nettype none

module ernic_receive_framer (
    input  wire         clk,
    input  wire         rst,

    // Ethernet frames from the MAC, octet 0 in bits 7:0; tuser with tlast marks a bad FCS. Cannot be held back.
    input  wire [511:0] s_axis_tdata,
    input  wire [63:0]  s_axis_tkeep,
    input  wire         s_axis_tvalid,
    input  wire         s_axis_tlast,
    input  wire         s_axis_tuser,

    // Beat of a frame, two cycles later.
    output reg          m_valid,
    output reg          m_first,
    output reg          m_second,
    output reg          m_last,
    output reg          m_bad_fcs,
    output reg  [511:0] m_data,
    // First beat: the frame is long enough for UDP ports.
    output reg          m_has_ports,
    // The beat is not behind the packet's end; the packet ends in this beat, at lane m_end_lane, which the frame really has.
    output reg          m_covered,
    output reg          m_end,
    output reg          m_end_there,
    output reg  [5:0]   m_end_lane
);

    // Octet 41 ends the UDP header of a packet without IP options.
    localparam PORTS_LANE = 41;
    localparam [16:0] LAST_ETHERNET_OCTET = 17'd13;

    reg         beat_valid;
    reg         beat_first;
    reg         beat_second;
    reg         beat_last;
    reg         beat_bad_fcs;
    reg [511:0] beat_data;
    reg [63:0]  beat_keep;
    reg         at_start;

    reg [10:0]  beats_left;
    reg [5:0]   end_lane;
    reg         ended;

    wire [15:0] ip_length = {beat_data[8*16 +: 8], beat_data[8*17 +: 8]};
    wire [16:0] end_octet = {1'b0, ip_length} + LAST_ETHERNET_OCTET;
    wire [10:0] left = beat_first ? end_octet[16:6] : beats_left;
    wire [5:0]  lane = beat_first ? end_octet[5:0] : end_lane;
    wire        covered = beat_first || !ended;
    wire        ends = covered && left == 11'd0;

    always @(posedge clk) begin
        beat_valid <= s_axis_tvalid;
        if (s_axis_tvalid) begin
            at_start <= s_axis_tlast;
            beat_first <= at_start;
            beat_second <= beat_first && !at_start;
            beat_last <= s_axis_tlast;
            beat_bad_fcs <= s_axis_tlast && s_axis_tuser;
            beat_data <= s_axis_tdata;
            beat_keep <= s_axis_tkeep;
        end

        m_valid <= beat_valid;
        if (beat_valid) begin
            beats_left <= left - 11'd1;
            end_lane <= lane;
            ended <= ends || !covered;
            m_first <= beat_first;
            m_second <= beat_second;
            m_last <= beat_last;
            m_bad_fcs <= beat_bad_fcs;
            m_data <= beat_data;
            m_has_ports <= beat_keep[PORTS_LANE];
            m_covered <= covered;
            m_end <= ends;
            m_end_there <= beat_keep[lane];
            m_end_lane <= lane;
        end

        if (rst) begin
            beat_valid <= 1'b0;
            at_start <= 1'b1;
            m_valid <= 1'b0;
        end
    end

endmodule

`default_nettype wire
