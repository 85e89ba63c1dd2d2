// Checks the ICRC of received packets.
//
// A packet with its ICRC behind it always leaves the same residue in the register. The zeros that fill its last beat move the
// residue on, to one of 64 constants by the lane that the packet ends at: one comparison, nothing to undo.

`timescale 1ns / 1fs
`default_nettype none

module ernic_icrc_check (
    input  wire         clk,
    input  wire         rst,

    // Beat of a frame. s_covered: not behind the packet's end; s_end: the packet ends in it at lane s_end_lane, and, if
    // s_end_there, the frame is that long.
    input  wire         s_valid,
    input  wire         s_first,
    input  wire         s_last,
    input  wire         s_bad_fcs,
    input  wire [511:0] s_data,
    input  wire         s_covered,
    input  wire         s_end,
    input  wire         s_end_there,
    input  wire [5:0]   s_end_lane,

    // Three cycles later: the same beat, and with the packet's end whether the ICRC is right.
    output reg          m_valid,
    output reg          m_first,
    output reg          m_last,
    output reg          m_bad_fcs,
    output wire         m_end,
    output wire         m_right
);

    localparam [31:0] POLYNOMIAL = 32'hedb88320;
    localparam [31:0] RESIDUE = 32'hdebb20e3;

    // Register behind the beat by the lane that the packet ends at.
    function [2047:0] residues(input integer unused);
        integer      lane;
        integer      count;
        reg [31:0]   state;
        reg [2047:0] table_;
        begin
            state = RESIDUE;
            table_ = 2048'h0;
            for (lane = 63; lane >= 0; lane = lane - 1) begin
                table_[32*lane +: 32] = state;
                for (count = 0; count < 8; count = count + 1) begin
                    state = {1'b0, state[31:1]} ^ (state[0] ? POLYNOMIAL : 32'h0);
                end
            end
            residues = table_;
        end
    endfunction

    localparam [2047:0] RESIDUES = residues(0);

    reg [511:0] packet_data;

    always @* begin
        packet_data = 512'h0;
        if (s_valid && s_covered) begin
            packet_data = s_data;
            if (s_end) begin
                packet_data = s_data & ({512{1'b1}} >> {~s_end_lane, 3'b000});
            end
        end
    end

    wire [31:0] state;

    ernic_icrc icrc (
        .clk(clk),
        .rst(rst),
        .s_valid(s_valid && s_covered),
        .s_first(s_first),
        .s_last(s_end),
        .s_data(packet_data),
        .m_valid(m_end),
        .m_state(state)
    );

    reg        masked_valid;
    reg        masked_first;
    reg        masked_last;
    reg        masked_bad_fcs;
    reg        masked_end_there;
    reg [5:0]  masked_end_lane;
    reg        parity_valid;
    reg        parity_first;
    reg        parity_last;
    reg        parity_bad_fcs;
    reg        parity_end_there;
    reg [5:0]  parity_end_lane;
    reg        end_there;
    reg [31:0] expected;

    assign m_right = end_there && state == expected;

    always @(posedge clk) begin
        masked_valid <= s_valid;
        parity_valid <= masked_valid;
        m_valid <= parity_valid;
        if (s_valid) begin
            masked_first <= s_first;
            masked_last <= s_last;
            masked_bad_fcs <= s_bad_fcs;
            masked_end_there <= s_end_there;
            masked_end_lane <= s_end_lane;
        end
        if (masked_valid) begin
            parity_first <= masked_first;
            parity_last <= masked_last;
            parity_bad_fcs <= masked_bad_fcs;
            parity_end_there <= masked_end_there;
            parity_end_lane <= masked_end_lane;
        end
        if (parity_valid) begin
            m_first <= parity_first;
            m_last <= parity_last;
            m_bad_fcs <= parity_bad_fcs;
            end_there <= parity_end_there;
            expected <= RESIDUES[{parity_end_lane, 5'd0} +: 32];
        end
        if (rst) begin
            masked_valid <= 1'b0;
            parity_valid <= 1'b0;
            m_valid <= 1'b0;
        end
    end

endmodule

`default_nettype wire
