// Takes the zeros behind a packet's last octet out of the register of ernic_icrc and makes the ICRC field of it.
//
// Headers, padded payload and ICRC of a RoCEv2 packet are whole words of four octets that start at octet 14, so a packet ends
// 2, 6, ... or 62 octets into its last beat: sixteen cases, undone by two steps of radix four.

`timescale 1ns / 1fs
`default_nettype none

module ernic_icrc_rewind (
    input  wire        clk,
    input  wire        rst,

    // Register of ernic_icrc; the packet's octets in its last beat, less 2, divided by 4.
    input  wire        s_valid,
    input  wire [31:0] s_state,
    input  wire [3:0]  s_words,

    // Two cycles later: ICRC, first octet on the wire in bits 7:0.
    output reg         m_valid,
    output reg  [31:0] m_icrc
);

    localparam [31:0] POLYNOMIAL = 32'hedb88320;

    // Columns of the matrix that undoes a number of zero octets.
    function [1023:0] undo(input integer octets);
        integer      column;
        integer      count;
        reg [31:0]   state;
        reg [1023:0] columns;
        begin
            columns = 1024'h0;
            for (column = 0; column < 32; column = column + 1) begin
                state = 32'h1 << column;
                for (count = 0; count < 8 * octets; count = count + 1) begin
                    // The polynomial has its top bit set, so the top bit tells what was shifted out.
                    state = {state[30:0] ^ (state[31] ? POLYNOMIAL[30:0] : 31'h0), state[31]};
                end
                columns[32*column +: 32] = state;
            end
            undo = columns;
        end
    endfunction

    localparam [1023:0] UNDO_2 = undo(2);
    localparam [1023:0] UNDO_6 = undo(6);
    localparam [1023:0] UNDO_10 = undo(10);
    localparam [1023:0] UNDO_14 = undo(14);
    localparam [1023:0] UNDO_16 = undo(16);
    localparam [1023:0] UNDO_32 = undo(32);
    localparam [1023:0] UNDO_48 = undo(48);

    function [31:0] undo_fine(input [31:0] state, input [1:0] steps);
        integer column;
        begin
            undo_fine = 32'h0;
            for (column = 0; column < 32; column = column + 1) begin
                if (state[column]) begin
                    case (steps)
                        2'd0: undo_fine = undo_fine ^ UNDO_2[32*column +: 32];
                        2'd1: undo_fine = undo_fine ^ UNDO_6[32*column +: 32];
                        2'd2: undo_fine = undo_fine ^ UNDO_10[32*column +: 32];
                        default: undo_fine = undo_fine ^ UNDO_14[32*column +: 32];
                    endcase
                end
            end
        end
    endfunction

    function [31:0] undo_coarse(input [31:0] state, input [1:0] steps);
        integer column;
        begin
            undo_coarse = 32'h0;
            for (column = 0; column < 32; column = column + 1) begin
                if (state[column]) begin
                    case (steps)
                        2'd0: undo_coarse[column] = 1'b1;
                        2'd1: undo_coarse = undo_coarse ^ UNDO_16[32*column +: 32];
                        2'd2: undo_coarse = undo_coarse ^ UNDO_32[32*column +: 32];
                        default: undo_coarse = undo_coarse ^ UNDO_48[32*column +: 32];
                    endcase
                end
            end
        end
    endfunction

    reg        fine_valid;
    reg [31:0] fine_state;
    reg [1:0]  fine_steps;

    always @(posedge clk) begin
        fine_valid <= s_valid;
        m_valid <= fine_valid;
        if (s_valid) begin
            fine_state <= undo_fine(s_state, ~s_words[1:0]);
            fine_steps <= ~s_words[3:2];
        end
        if (fine_valid) begin
            m_icrc <= ~undo_coarse(fine_state, fine_steps);
        end
        if (rst) begin
            fine_valid <= 1'b0;
            m_valid <= 1'b0;
        end
    end

endmodule

`default_nettype wire
