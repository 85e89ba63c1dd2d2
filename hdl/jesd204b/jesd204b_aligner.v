// Octet alignment of one lane: the first /R/ after code group synchronisation becomes octet 0 of a beat.
//
// The /K/ of synchronisation are all alike, so the rotation of 0 to 3 octets that a transceiver comes up with shows only where
// the initial lane alignment sequence begins.

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_aligner (
    input  wire        clk,
    input  wire        rst,
    input  wire        restart,
    // Look for /R/ (level): the lane is synchronised and SYNC~ is released.
    input  wire        search,
    // Characters as received.
    input  wire [31:0] s_data,
    input  wire [3:0]  s_charisk,
    input  wire [3:0]  s_notintable,
    input  wire [3:0]  s_disperr,
    // Characters aligned, two cycles later; start: this beat begins with the first /R/.
    output reg  [31:0] m_data,
    output reg  [3:0]  m_charisk,
    output reg  [3:0]  m_notintable,
    output reg  [3:0]  m_disperr,
    output reg         start,
    // Data came while /R/ was awaited: the /R/ itself was hit. One cycle.
    output reg         stray
);

    localparam [7:0] CHARACTER_R = 8'h1c;

    reg [31:0] held_data;
    reg [3:0]  held_charisk;
    reg [3:0]  held_notintable;
    reg [3:0]  held_disperr;
    reg [1:0]  offset;
    reg        found;
    reg        pending;

    // The four flags of an octet move with it. They are nearly always clear, and then cost nothing.
    function [3:0] align(input [2:0] now, input [3:0] held, input [1:0] by);
        case (by)
            2'd0: align = held;
            2'd1: align = {now[0], held[3:1]};
            2'd2: align = {now[1:0], held[3:2]};
            default: align = {now[2:0], held[3]};
        endcase
    endfunction

    function [3:0] where_r(input [31:0] octets, input [3:0] usable);
        where_r = usable & {octets[31:24] == CHARACTER_R, octets[23:16] == CHARACTER_R,
                            octets[15:8] == CHARACTER_R, octets[7:0] == CHARACTER_R};
    endfunction

    // Two plain characters side by side: one alone may be a hit /K/.
    function two_data(input [3:0] plain);
        two_data = (plain & {plain[2:0], 1'b0}) != 4'd0;
    endfunction

    always @(posedge clk) begin
        held_data <= s_data;
        held_charisk <= s_charisk;
        held_notintable <= s_notintable;
        held_disperr <= s_disperr;
        case (offset)
            2'd0: m_data <= held_data;
            2'd1: m_data <= {s_data[7:0], held_data[31:8]};
            2'd2: m_data <= {s_data[15:0], held_data[31:16]};
            default: m_data <= {s_data[23:0], held_data[31:24]};
        endcase
        if ({s_charisk, held_charisk, s_notintable, held_notintable, s_disperr, held_disperr} != 24'd0) begin
            m_charisk <= align(s_charisk[2:0], held_charisk, offset);
            m_notintable <= align(s_notintable[2:0], held_notintable, offset);
            m_disperr <= align(s_disperr[2:0], held_disperr, offset);
        end else begin
            m_charisk <= 4'd0;
            m_notintable <= 4'd0;
            m_disperr <= 4'd0;
        end
        start <= pending;
        pending <= 1'b0;
        stray <= 1'b0;
        if (search && !found) begin
            // The lowest octet is the earliest.
            if (where_r(s_data, s_charisk & ~s_notintable & ~s_disperr) != 4'd0) begin
                casez (where_r(s_data, s_charisk & ~s_notintable & ~s_disperr))
                    4'b???1: offset <= 2'd0;
                    4'b??10: offset <= 2'd1;
                    4'b?100: offset <= 2'd2;
                    default: offset <= 2'd3;
                endcase
                found <= 1'b1;
                pending <= 1'b1;
            end else begin
                stray <= two_data(~s_charisk & ~s_notintable & ~s_disperr);
            end
        end
        if (rst || restart) begin
            offset <= 2'd0;
            found <= 1'b0;
            pending <= 1'b0;
            start <= 1'b0;
            stray <= 1'b0;
        end
    end

endmodule

`default_nettype wire
