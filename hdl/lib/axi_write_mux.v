// Two AXI4 write masters share one: bursts in turn (the first goes before when both ask), data in the order of the addresses, and
// so the answers.
//
// A master's data wait until its address has been taken. Answers must come in the order of the addresses, as a memory without
// IDs gives them; what is said with an answer goes to both masters, who take it by their own valid.

`timescale 1ns / 1fs
`default_nettype none

module axi_write_mux #(
    // Bursts under way. Power of two, at least 2.
    parameter BURSTS = 32
) (
    input  wire         clk,
    input  wire         rst,

    input  wire [63:0]  s0_axi_awaddr,
    input  wire [7:0]   s0_axi_awlen,
    input  wire [2:0]   s0_axi_awsize,
    input  wire         s0_axi_awvalid,
    output wire         s0_axi_awready,
    input  wire [511:0] s0_axi_wdata,
    input  wire [63:0]  s0_axi_wstrb,
    input  wire         s0_axi_wlast,
    input  wire         s0_axi_wvalid,
    output wire         s0_axi_wready,
    output wire         s0_axi_bvalid,
    input  wire         s0_axi_bready,
    input  wire [63:0]  s1_axi_awaddr,
    input  wire [7:0]   s1_axi_awlen,
    input  wire [2:0]   s1_axi_awsize,
    input  wire         s1_axi_awvalid,
    output wire         s1_axi_awready,
    input  wire [511:0] s1_axi_wdata,
    input  wire [63:0]  s1_axi_wstrb,
    input  wire         s1_axi_wlast,
    input  wire         s1_axi_wvalid,
    output wire         s1_axi_wready,
    output wire         s1_axi_bvalid,
    input  wire         s1_axi_bready,

    output wire [63:0]  m_axi_awaddr,
    output wire [7:0]   m_axi_awlen,
    output wire [2:0]   m_axi_awsize,
    output wire         m_axi_awvalid,
    input  wire         m_axi_awready,
    output wire [511:0] m_axi_wdata,
    output wire [63:0]  m_axi_wstrb,
    output wire         m_axi_wlast,
    output wire         m_axi_wvalid,
    input  wire         m_axi_wready,
    input  wire         m_axi_bvalid,
    output wire         m_axi_bready
);

    // -------------------------------------------------------------------------------------------------------------- addresses

    wire data_room;
    wire answer_room;
    wire room = data_room && answer_room;
    reg  waits;
    reg  waits_for_1;
    wire choose_1 = waits ? waits_for_1 : !s0_axi_awvalid;
    wire taken = m_axi_awvalid && m_axi_awready;

    assign m_axi_awvalid = room && (choose_1 ? s1_axi_awvalid : s0_axi_awvalid);
    assign m_axi_awaddr = choose_1 ? s1_axi_awaddr : s0_axi_awaddr;
    assign m_axi_awlen = choose_1 ? s1_axi_awlen : s0_axi_awlen;
    assign m_axi_awsize = choose_1 ? s1_axi_awsize : s0_axi_awsize;
    assign s0_axi_awready = taken && !choose_1;
    assign s1_axi_awready = taken && choose_1;

    always @(posedge clk) begin
        waits <= m_axi_awvalid && !m_axi_awready;
        waits_for_1 <= choose_1;
        if (rst) waits <= 1'b0;
    end

    // ------------------------------------------------------------------------------------------------------------------- data

    wire data_valid;
    wire data_1;

    assign m_axi_wvalid = data_valid && (data_1 ? s1_axi_wvalid : s0_axi_wvalid);
    assign m_axi_wdata = data_1 ? s1_axi_wdata : s0_axi_wdata;
    assign m_axi_wstrb = data_1 ? s1_axi_wstrb : s0_axi_wstrb;
    assign m_axi_wlast = data_1 ? s1_axi_wlast : s0_axi_wlast;
    assign s0_axi_wready = data_valid && !data_1 && m_axi_wready;
    assign s1_axi_wready = data_valid && data_1 && m_axi_wready;

    sync_fifo #(
        .WIDTH(1),
        .DEPTH(BURSTS)
    ) data_order (
        .clk(clk),
        .rst(rst),
        .s_data(choose_1),
        .s_valid(taken),
        .s_ready(data_room),
        .m_data(data_1),
        .m_valid(data_valid),
        .m_ready(m_axi_wvalid && m_axi_wready && m_axi_wlast),
        // verilator lint_off PINCONNECTEMPTY
        // How full it is does not matter here.
        .level()
        // verilator lint_on PINCONNECTEMPTY
    );

    // ---------------------------------------------------------------------------------------------------------------- answers

    wire answer_valid;
    wire answer_1;

    assign s0_axi_bvalid = m_axi_bvalid && answer_valid && !answer_1;
    assign s1_axi_bvalid = m_axi_bvalid && answer_valid && answer_1;
    assign m_axi_bready = answer_valid && (answer_1 ? s1_axi_bready : s0_axi_bready);

    sync_fifo #(
        .WIDTH(1),
        .DEPTH(BURSTS)
    ) answer_order (
        .clk(clk),
        .rst(rst),
        .s_data(choose_1),
        .s_valid(taken),
        .s_ready(answer_room),
        .m_data(answer_1),
        .m_valid(answer_valid),
        .m_ready(m_axi_bvalid && m_axi_bready),
        // verilator lint_off PINCONNECTEMPTY
        // How full it is does not matter here.
        .level()
        // verilator lint_on PINCONNECTEMPTY
    );

endmodule

`default_nettype wire
