// One AXI4 read master, two memories: bit 63 of the address says which. Answers come in the order of the bursts.
//
// Combinational, so a memory that answers at once does; a burst to one memory does not wait for those to the other, only its answer
// does.

`timescale 1ns / 1fs
`default_nettype none

module axi_read_split #(
    // Bursts under way. Power of two, at least 2.
    parameter BURSTS = 16
) (
    input  wire         clk,
    input  wire         rst,

    input  wire [63:0]  s_axi_araddr,
    input  wire         s_axi_arvalid,
    output wire         s_axi_arready,
    output wire [511:0] s_axi_rdata,
    output wire [1:0]   s_axi_rresp,
    output wire         s_axi_rlast,
    output wire         s_axi_rvalid,
    input  wire         s_axi_rready,

    // The rest of the address channel goes to both from the master.
    output wire         m0_axi_arvalid,
    input  wire         m0_axi_arready,
    input  wire [511:0] m0_axi_rdata,
    input  wire [1:0]   m0_axi_rresp,
    input  wire         m0_axi_rlast,
    input  wire         m0_axi_rvalid,
    output wire         m0_axi_rready,
    output wire         m1_axi_arvalid,
    input  wire         m1_axi_arready,
    input  wire [511:0] m1_axi_rdata,
    input  wire [1:0]   m1_axi_rresp,
    input  wire         m1_axi_rlast,
    input  wire         m1_axi_rvalid,
    output wire         m1_axi_rready
);

    wire room;
    wire order_valid;
    wire order;
    wire choose_1 = s_axi_araddr[63];

    assign m0_axi_arvalid = s_axi_arvalid && room && !choose_1;
    assign m1_axi_arvalid = s_axi_arvalid && room && choose_1;
    assign s_axi_arready = room && (choose_1 ? m1_axi_arready : m0_axi_arready);

    assign s_axi_rvalid = order_valid && (order ? m1_axi_rvalid : m0_axi_rvalid);
    assign s_axi_rdata = order ? m1_axi_rdata : m0_axi_rdata;
    assign s_axi_rresp = order ? m1_axi_rresp : m0_axi_rresp;
    assign s_axi_rlast = order ? m1_axi_rlast : m0_axi_rlast;
    assign m0_axi_rready = order_valid && !order && s_axi_rready;
    assign m1_axi_rready = order_valid && order && s_axi_rready;

    sync_fifo #(
        .WIDTH(1),
        .DEPTH(BURSTS)
    ) bursts (
        .clk(clk),
        .rst(rst),
        .s_data(choose_1),
        .s_valid(s_axi_arvalid && s_axi_arready),
        .s_ready(room),
        .m_data(order),
        .m_valid(order_valid),
        .m_ready(s_axi_rvalid && s_axi_rready && s_axi_rlast),
        // verilator lint_off PINCONNECTEMPTY
        // How full it is does not matter here.
        .level()
        // verilator lint_on PINCONNECTEMPTY
    );

    // verilator lint_off UNUSEDSIGNAL
    // The memories look at the rest of the address.
    wire [62:0] address_rest = s_axi_araddr[62:0];
    // verilator lint_on UNUSEDSIGNAL

endmodule

`default_nettype wire
