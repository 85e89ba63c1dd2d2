// Joins header checks, ICRC and FCS of a frame at its last beat into exactly one event.

`timescale 1ns / 1fs
`default_nettype none
`include "ernic_ticket.vh"

module ernic_receive_verdict (
    input  wire                        clk,
    input  wire                        rst,

    // Beat; with the packet's end: whether its ICRC is right.
    input  wire                        s_valid,
    input  wire                        s_first,
    input  wire                        s_last,
    input  wire                        s_bad_fcs,
    input  wire                        s_end,
    input  wire                        s_icrc_right,

    // Headers; those of a frame stay until the next frame's first beat.
    input  wire                        s_foreign,
    input  wire                        s_has_icrc,
    input  wire                        s_has_options,
    input  wire                        s_bad,
    input  wire [4:0]                  s_cause,
    input  wire                        s_is_cnp,
    input  wire                        s_marked,
    input  wire [`EB_TICKET_WIDTH-1:0] s_ticket,

    // The beat is to be kept, one cycle later; m_end is the last one of its packet.
    output reg                         m_store,
    output reg                         m_end,
    // Events, one cycle each: every frame, and with it a drop, a congestion notification, or a packet.
    output reg                         m_packet_in,
    output reg                         m_drop_valid,
    output reg  [4:0]                  m_drop_cause,
    output reg                         m_cnp_valid,
    output reg                         m_good_valid,
    // The packet met congestion on its way.
    output reg                         m_marked,
    output reg  [`EB_TICKET_WIDTH-1:0] m_ticket
);

    localparam [4:0] CAUSE_FOREIGN = 5'd1;
    localparam [4:0] CAUSE_ICRC = 5'd30;
    localparam [4:0] CAUSE_FCS = 5'd31;

    // The packet's end may lie beats before the frame's.
    reg  right_before;
    reg  ended;
    wire right = s_end ? s_icrc_right : !s_first && right_before;
    wire behind = !s_first && ended;

    // Options move the fields that the ICRC leaves out, so it cannot be judged; such a packet is dropped for its options.
    wire icrc_bad = !s_has_options && !(right && s_has_icrc);
    wire drop = s_bad_fcs || s_foreign || icrc_bad || s_bad;

    always @(posedge clk) begin
        m_store <= s_valid && s_ticket[`EB_TICKET_STORED] && !s_is_cnp && !s_foreign && !s_bad && !behind;
        m_end <= s_end;
        m_packet_in <= s_valid && s_last;
        m_drop_valid <= s_valid && s_last && drop;
        m_cnp_valid <= s_valid && s_last && !drop && s_is_cnp;
        m_good_valid <= s_valid && s_last && !drop && !s_is_cnp;
        if (s_valid) begin
            right_before <= right;
            ended <= s_end || behind;
        end
        if (s_valid && s_last) begin
            if (s_bad_fcs) begin
                m_drop_cause <= CAUSE_FCS;
            end else if (s_foreign) begin
                m_drop_cause <= CAUSE_FOREIGN;
            end else begin
                m_drop_cause <= icrc_bad ? CAUSE_ICRC : s_cause;
            end
            m_marked <= s_marked;
            m_ticket <= s_ticket;
        end
        if (rst) begin
            m_store <= 1'b0;
            m_packet_in <= 1'b0;
            m_drop_valid <= 1'b0;
            m_cnp_valid <= 1'b0;
            m_good_valid <= 1'b0;
        end
    end

endmodule

`default_nettype wire
