// Octet alignment of one lane: the first /R/ after code group synchronisation becomes octet 0 of a beat.
//
// The /K/ of synchronisation are all alike, so the rotation of 0 to 3 octets that a transceiver comes up with shows only where
// the initial lane alignment sequence begins.

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_aligner (
    input  wire        clk,
    input  wire        rst,
    // Look for /R/ (level): the lane is synchronised and SYNC~ is released.
    input  wire        search,
    // Characters as received, and those of the beat before.
    input  wire [31:0] s_data,
    input  wire [3:0]  s_charisk,
    input  wire [3:0]  s_notintable,
    input  wire [3:0]  s_disperr,
    input  wire [31:0] held_data,
    input  wire [3:0]  held_charisk,
    input  wire [3:0]  held_notintable,
    input  wire [3:0]  held_disperr,
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

    reg [1:0]  offset;
    reg        found;
    reg        pending;

    always @(posedge clk) begin
        case (offset)
            2'd0: m_data <= held_data;
            2'd1: m_data <= {s_data[7:0], held_data[31:8]};
            2'd2: m_data <= {s_data[15:0], held_data[31:16]};
            default: m_data <= {s_data[23:0], held_data[31:24]};
        endcase
        // Flags are nearly always clear, and then cost nothing.
        if ({s_charisk, held_charisk, s_notintable, held_notintable, s_disperr, held_disperr} != 24'd0) begin
            case (offset)
                2'd0: begin
                    m_charisk <= held_charisk;
                    m_notintable <= held_notintable;
                    m_disperr <= held_disperr;
                end
                2'd1: begin
                    m_charisk <= {s_charisk[0], held_charisk[3:1]};
                    m_notintable <= {s_notintable[0], held_notintable[3:1]};
                    m_disperr <= {s_disperr[0], held_disperr[3:1]};
                end
                2'd2: begin
                    m_charisk <= {s_charisk[1:0], held_charisk[3:2]};
                    m_notintable <= {s_notintable[1:0], held_notintable[3:2]};
                    m_disperr <= {s_disperr[1:0], held_disperr[3:2]};
                end
                default: begin
                    m_charisk <= {s_charisk[2:0], held_charisk[3]};
                    m_notintable <= {s_notintable[2:0], held_notintable[3]};
                    m_disperr <= {s_disperr[2:0], held_disperr[3]};
                end
            endcase
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
            if (s_charisk[0] && !s_notintable[0] && !s_disperr[0] && s_data[7:0] == CHARACTER_R) begin
                offset <= 2'd0;
                found <= 1'b1;
                pending <= 1'b1;
            end else if (s_charisk[1] && !s_notintable[1] && !s_disperr[1] && s_data[15:8] == CHARACTER_R) begin
                offset <= 2'd1;
                found <= 1'b1;
                pending <= 1'b1;
            end else if (s_charisk[2] && !s_notintable[2] && !s_disperr[2] && s_data[23:16] == CHARACTER_R) begin
                offset <= 2'd2;
                found <= 1'b1;
                pending <= 1'b1;
            end else if (s_charisk[3] && !s_notintable[3] && !s_disperr[3] && s_data[31:24] == CHARACTER_R) begin
                offset <= 2'd3;
                found <= 1'b1;
                pending <= 1'b1;
            end else begin
                // Plain characters side by side: one alone may be a hit /K/.
                stray <= ((s_charisk | s_notintable | s_disperr) & 4'b0011) == 4'd0
                         || ((s_charisk | s_notintable | s_disperr) & 4'b0110) == 4'd0
                         || ((s_charisk | s_notintable | s_disperr) & 4'b1100) == 4'd0;
            end
        end
        if (rst) begin
            offset <= 2'd0;
            found <= 1'b0;
            pending <= 1'b0;
            start <= 1'b0;
            stray <= 1'b0;
        end
    end

endmodule

`default_nettype wire
