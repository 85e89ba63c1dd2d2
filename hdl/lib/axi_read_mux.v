// Two AXI4 read masters share one: bursts in turn (the first goes before when both ask), answers in the order of the bursts.
//
// Combinational, but for which master has the address channel: that stays while an address waits. Answers must come in the order of
// the addresses, as a memory without IDs gives them.

`timescale 1ns / 1fs
`default_nettype none

module axi_read_mux #(
    // Bursts under way. Power of two, at least 2.
    parameter BURSTS = 16
) (
    input  wire         clk,
    input  wire         rst,

    input  wire [63:0]  s0_axi_araddr,
    input  wire [7:0]   s0_axi_arlen,
    input  wire         s0_axi_arvalid,
    output wire         s0_axi_arready,
    output wire         s0_axi_rvalid,
    input  wire         s0_axi_rready,
    input  wire [63:0]  s1_axi_araddr,
    input  wire [7:0]   s1_axi_arlen,
    input  wire         s1_axi_arvalid,
    output wire         s1_axi_arready,
    output wire         s1_axi_rvalid,
    input  wire         s1_axi_rready,

    // Data and response go to both from here; the masters take them by their own valid.
    output wire [63:0]  m_axi_araddr,
    output wire [7:0]   m_axi_arlen,
    output wire         m_axi_arvalid,
    input  wire         m_axi_arready,
    input  wire         m_axi_rlast,
    input  wire         m_axi_rvalid,
    output wire         m_axi_rready
);

    wire order_ready;
    wire order_valid;
    wire order;
    reg  waits;
    reg  waits_for_1;
    wire choose_1 = waits ? waits_for_1 : !s0_axi_arvalid;
    wire taken = m_axi_arvalid && m_axi_arready;

    assign m_axi_arvalid = order_ready && (choose_1 ? s1_axi_arvalid : s0_axi_arvalid);
    assign m_axi_araddr = choose_1 ? s1_axi_araddr : s0_axi_araddr;
    assign m_axi_arlen = choose_1 ? s1_axi_arlen : s0_axi_arlen;
    assign s0_axi_arready = taken && !choose_1;
    assign s1_axi_arready = taken && choose_1;
    assign s0_axi_rvalid = m_axi_rvalid && order_valid && !order;
    assign s1_axi_rvalid = m_axi_rvalid && order_valid && order;
    assign m_axi_rready = order_valid && (order ? s1_axi_rready : s0_axi_rready);

    sync_fifo #(
        .WIDTH(1),
        .DEPTH(BURSTS)
    ) bursts (
        .clk(clk),
        .rst(rst),
        .s_data(choose_1),
        .s_valid(taken),
        .s_ready(order_ready),
        .m_data(order),
        .m_valid(order_valid),
        .m_ready(m_axi_rvalid && m_axi_rready && m_axi_rlast),
        // verilator lint_off PINCONNECTEMPTY
        // How full it is does not matter here.
        .level()
        // verilator lint_on PINCONNECTEMPTY
    );

    always @(posedge clk) begin
        waits <= m_axi_arvalid && !m_axi_arready;
        waits_for_1 <= choose_1;
        if (rst) waits <= 1'b0;
    end

endmodule

`default_nettype wire
