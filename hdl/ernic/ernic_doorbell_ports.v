// The two handshake doorbells of PG332 (send queue's producer index, receive queue's consumer index) share one way in, in turn.
//
// Combinational, so that an idle engine takes a doorbell in the cycle in which it comes.

`timescale 1ns / 1fs
`default_nettype none

module ernic_doorbell_ports (
    input  wire        clk,
    input  wire        rst,

    // Address of the register that the doorbell stands for (SQPI, RQCI) in the engine's page, and the index; held until ready.
    input  wire        s_sq_valid,
    output wire        s_sq_ready,
    input  wire [31:0] s_sq_address,
    input  wire [15:0] s_sq_index,
    input  wire        s_rq_valid,
    output wire        s_rq_ready,
    input  wire [31:0] s_rq_address,
    input  wire [15:0] s_rq_index,

    output wire        m_valid,
    input  wire        m_ready,
    output wire        m_receive,
    output wire [31:0] m_address,
    output wire [15:0] m_index
);

    reg last_receive;

    assign m_receive = s_rq_valid && (!s_sq_valid || !last_receive);
    assign m_valid = s_sq_valid || s_rq_valid;
    assign m_address = m_receive ? s_rq_address : s_sq_address;
    assign m_index = m_receive ? s_rq_index : s_sq_index;
    assign s_sq_ready = m_ready && s_sq_valid && !m_receive;
    assign s_rq_ready = m_ready && m_receive;

    always @(posedge clk) begin
        if (m_valid && m_ready) last_receive <= m_receive;
        if (rst) last_receive <= 1'b0;
    end

endmodule

`default_nettype wire
