// Puts headers and payload together into beats and computes the ICRC beside them.

`timescale 1ns / 1fs
`default_nettype none

module ernic_packetiser (
    input  wire         clk,
    input  wire         rst,

    // Headers of the packet whose beat 0 comes, octet 0 in bits 7:0, zero behind the last.
    input  wire [591:0] header,

    // Beat from the payload reader.
    input  wire         s_beat,
    input  wire         s_first,
    input  wire         s_second,
    input  wire         s_icrc_here,
    input  wire         s_icrc_rest,
    input  wire [3:0]   s_icrc_word,
    input  wire [511:0] s_row,
    input  wire [511:0] s_row_before,
    input  wire [63:0]  s_lanes,
    input  wire [63:0]  s_lanes_before,

    // Beat in the same cycle, zero where the ICRC goes.
    output wire         m_beat,
    output reg  [511:0] m_data,
    // ICRC of a packet, in packet order, five cycles after the beat that it starts in.
    output wire         m_icrc_valid,
    output wire [31:0]  m_icrc
);

    // Each lane's enable on all bits of its octet.
    function [511:0] octets(input [63:0] lanes);
        integer word;
        begin
            for (word = 0; word < 16; word = word + 1) begin
                octets[32*word +: 32] = {
                    {8{lanes[4*word+3]}}, {8{lanes[4*word+2]}}, {8{lanes[4*word+1]}}, {8{lanes[4*word]}}
                };
            end
        end
    endfunction

    // Headers longer than a beat end in the next one; by then the header register may belong to the next packet.
    reg [79:0] header_rest;

    assign m_beat = s_beat;

    always @* begin
        m_data = 512'h0;
        if (s_beat) begin
            m_data = (octets(s_lanes) & s_row) | (octets(s_lanes_before) & s_row_before);
            if (s_first) begin
                m_data = m_data | header[511:0];
            end
            if (s_second) begin
                m_data[79:0] = m_data[79:0] | header_rest;
            end
        end
    end

    reg [3:0]   word_masked;
    reg [3:0]   word_parity;
    reg [3:0]   word_state;
    wire        state_valid;
    wire [31:0] state;

    always @(posedge clk) begin
        if (s_beat && s_first) begin
            header_rest <= header[591:512];
        end
        if (s_beat && s_icrc_here) begin
            word_masked <= s_icrc_word;
        end
        word_parity <= word_masked;
        word_state <= word_parity;
    end

    // A beat with nothing but the end of the ICRC is behind the octets that the ICRC covers.
    ernic_icrc icrc (
        .clk(clk),
        .rst(rst),
        .s_valid(s_beat && !s_icrc_rest),
        .s_first(s_first),
        .s_last(s_icrc_here),
        .s_data(m_data),
        .m_valid(state_valid),
        .m_state(state)
    );

    ernic_icrc_rewind rewind (
        .clk(clk),
        .rst(rst),
        .s_valid(state_valid),
        .s_state(state),
        .s_words(word_state),
        .m_valid(m_icrc_valid),
        .m_icrc(m_icrc)
    );

endmodule

`default_nettype wire
