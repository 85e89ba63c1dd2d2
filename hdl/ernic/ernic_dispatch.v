// Hands each received packet, in order, to those who act on it: the ack engine or the responder; and to the receive writer what
// it must know about the packet's data.
//
// Acknowledgements never wait. READ responses and requests wait until they are taken, and each then has one decision coming,
// for which the writer has a line in its order. With the engine disabled all are discarded.

`timescale 1ns / 1fs
`default_nettype none
`include "ernic_ticket.vh"

module ernic_dispatch (
    input  wire                        engine_enabled,

    // Tickets of received packets.
    input  wire                        s_ticket_valid,
    output wire                        s_ticket_ready,
    // verilator lint_off UNUSEDSIGNAL
    // The other fields go past this.
    input  wire [`EB_TICKET_WIDTH-1:0] s_ticket,
    // verilator lint_on UNUSEDSIGNAL

    // To the ack engine; ready counts for READ responses only.
    output wire                        m_ack_valid,
    input  wire                        m_ack_ready,
    output wire                        m_ack_is_read,
    // To the responder.
    output wire                        m_request_valid,
    input  wire                        m_request_ready,
    // To the writer: wait for the decision of ack engine (is_read) or responder, or discard without one. Nothing above may
    // depend on this ready.
    output wire                        m_order_valid,
    input  wire                        m_order_ready,
    output wire                        m_order_discard,
    output wire                        m_order_is_read,
    output wire                        m_order_stored,
    output wire                        m_order_datagram,
    output wire [2:0]                  m_order_words,
    output wire [12:0]                 m_order_bytes
);

    localparam [7:0] READ_RESPONSE_FIRST = 8'h0d;
    localparam [7:0] READ_RESPONSE_ONLY = 8'h10;
    localparam [7:0] ACKNOWLEDGE = 8'h11;
    localparam [2:0] TRANSPORT_UD = 3'b011;

    wire [7:0] opcode = s_ticket[`EB_TICKET_OPCODE];
    wire       stored = s_ticket[`EB_TICKET_STORED];
    wire       is_ack = opcode == ACKNOWLEDGE;
    wire       is_read = opcode >= READ_RESPONSE_FIRST && opcode <= READ_RESPONSE_ONLY;
    wire       is_request = !is_ack && !is_read;
    wire       offer = s_ticket_valid && engine_enabled;

    assign m_ack_is_read = is_read;
    assign m_ack_valid = offer && (is_ack || (is_read && m_order_ready));
    assign m_request_valid = offer && is_request && m_order_ready;

    wire       taken = (is_read && m_ack_ready) || (is_request && m_request_ready);

    assign m_order_valid = s_ticket_valid && (engine_enabled ? taken : stored);
    assign m_order_discard = !engine_enabled;
    assign m_order_is_read = is_read;
    assign m_order_stored = stored;
    assign m_order_datagram = opcode[7:5] == TRANSPORT_UD;
    assign m_order_words = s_ticket[`EB_TICKET_WORDS];
    assign m_order_bytes = s_ticket[`EB_TICKET_BYTES];
    assign s_ticket_ready = engine_enabled ? is_ack || (taken && m_order_ready) : !stored || m_order_ready;

endmodule

`default_nettype wire
