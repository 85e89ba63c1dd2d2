// The probe with its inputs on registers that a test writes between core edges.

`timescale 1ns / 1fs
`default_nettype none

module probe_inputs (
    input wire        rst,
    input wire [19:0] axil_awaddr,
    input wire        axil_awvalid,
    input wire        axil_awready,
    input wire [31:0] axil_wdata,
    input wire        axil_wvalid,
    input wire        axil_wready,
    input wire        doorbell_valid,
    input wire        doorbell_ready,
    input wire [31:0] doorbell_address,
    input wire [15:0] doorbell_index,
    input wire        mac_tx_tvalid,
    input wire        mac_tx_tready,
    input wire        mac_tx_tlast,
    input wire        mac_rx_tvalid,
    input wire        mac_rx_tlast,
    input wire        ring_write_valid,
    input wire        ring_write_last,
    input wire [31:0] ring_used,
    input wire        irq_ring,
    input wire        irq_ernic,
    input wire [63:0] axi_awaddr,
    input wire        axi_awvalid,
    input wire        axi_awready,
    input wire        axi_wvalid,
    input wire        axi_wready,
    input wire        axi_wlast
);

    wire        clk;
    wire        link_clk;
    wire [63:0] cycle;

    bench_clocks #(
        .SQUARE(1)
    ) clocks (
        .clk(clk),
        .link_clk(link_clk),
        .cycle(cycle),
        .link_half_fs()
    );

    probe #(
        .RING_INTERVAL(10)
    ) probe (
        .clk(clk),
        .rst(rst),
        .cycle(cycle),
        .axil_awaddr(axil_awaddr),
        .axil_awvalid(axil_awvalid),
        .axil_awready(axil_awready),
        .axil_wdata(axil_wdata),
        .axil_wvalid(axil_wvalid),
        .axil_wready(axil_wready),
        .doorbell_valid(doorbell_valid),
        .doorbell_ready(doorbell_ready),
        .doorbell_address(doorbell_address),
        .doorbell_index(doorbell_index),
        .mac_tx_tvalid(mac_tx_tvalid),
        .mac_tx_tready(mac_tx_tready),
        .mac_tx_tlast(mac_tx_tlast),
        .mac_rx_tvalid(mac_rx_tvalid),
        .mac_rx_tlast(mac_rx_tlast),
        .ring_write_valid(ring_write_valid),
        .ring_write_last(ring_write_last),
        .ring_used(ring_used),
        .irq_ring(irq_ring),
        .irq_ernic(irq_ernic),
        .axi_awaddr(axi_awaddr),
        .axi_awvalid(axi_awvalid),
        .axi_awready(axi_awready),
        .axi_wvalid(axi_wvalid),
        .axi_wready(axi_wready),
        .axi_wlast(axi_wlast)
    );

endmodule

`default_nettype wire
