// Joins header checks, ICRC and FCS of a frame at its last beat into exactly one event.

`timescale 1ns / 1fs
`default_nettype none

module ernic_receive_verdict (
    input  wire        clk,
    input  wire        rst,

    // Beat; with the packet's end: whether its ICRC is right.
    input  wire        s_valid,
    input  wire        s_first,
    input  wire        s_last,
    input  wire        s_bad_fcs,
    input  wire        s_end,
    input  wire        s_icrc_right,

    // Headers; those of a frame stay until the next frame's first beat.
    input  wire        s_foreign,
    input  wire        s_has_icrc,
    input  wire        s_has_options,
    input  wire        s_bad,
    input  wire [4:0]  s_cause,
    input  wire        s_is_ack,
    input  wire [7:0]  s_opcode,
    input  wire [23:0] s_qpn,
    input  wire [23:0] s_psn,
    input  wire [15:0] s_pkey,
    input  wire [7:0]  s_syndrome,
    input  wire [23:0] s_msn,
    input  wire [31:0] s_source_ip,
    input  wire [47:0] s_source_mac,

    // Events, one cycle each.
    output reg         m_packet_in,
    output reg         m_drop_valid,
    output reg  [4:0]  m_drop_cause,
    output reg         m_ack_valid,
    output reg  [23:0] m_ack_qpn,
    output reg  [23:0] m_ack_psn,
    output reg  [7:0]  m_ack_syndrome,
    output reg  [23:0] m_ack_msn,
    output reg  [31:0] m_ack_source_ip,
    output reg  [47:0] m_ack_source_mac,
    output reg  [15:0] m_ack_pkey,
    output reg         m_other_valid,
    output reg  [7:0]  m_other_opcode,
    output reg  [23:0] m_other_qpn
);

    localparam [4:0] CAUSE_FOREIGN = 5'd1;
    localparam [4:0] CAUSE_ICRC = 5'd30;
    localparam [4:0] CAUSE_FCS = 5'd31;

    // The packet's end may lie beats before the frame's.
    reg  right_before;
    wire right = s_end ? s_icrc_right : !s_first && right_before;

    // Options move the fields that the ICRC leaves out, so it cannot be judged; such a packet is dropped for its options.
    wire icrc_bad = !s_has_options && !(right && s_has_icrc);
    wire drop = s_bad_fcs || s_foreign || icrc_bad || s_bad;

    always @(posedge clk) begin
        m_packet_in <= s_valid && s_last;
        m_drop_valid <= s_valid && s_last && drop;
        m_ack_valid <= s_valid && s_last && !drop && s_is_ack;
        m_other_valid <= s_valid && s_last && !drop && !s_is_ack;
        if (s_valid) begin
            right_before <= right;
        end
        if (s_valid && s_last) begin
            if (s_bad_fcs) begin
                m_drop_cause <= CAUSE_FCS;
            end else if (s_foreign) begin
                m_drop_cause <= CAUSE_FOREIGN;
            end else begin
                m_drop_cause <= icrc_bad ? CAUSE_ICRC : s_cause;
            end
            m_ack_qpn <= s_qpn;
            m_ack_psn <= s_psn;
            m_ack_syndrome <= s_syndrome;
            m_ack_msn <= s_msn;
            m_ack_source_ip <= s_source_ip;
            m_ack_source_mac <= s_source_mac;
            m_ack_pkey <= s_pkey;
            m_other_opcode <= s_opcode;
            m_other_qpn <= s_qpn;
        end
        if (rst) begin
            m_packet_in <= 1'b0;
            m_drop_valid <= 1'b0;
            m_ack_valid <= 1'b0;
            m_other_valid <= 1'b0;
        end
    end

endmodule

`default_nettype wire
