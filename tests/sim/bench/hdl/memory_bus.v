// An AXI memory with its bus on the top, clocked by cocotb, because cocotbext-axi masters sample on the clock itself.

`timescale 1ns / 1fs
`default_nettype none

module memory_bus #(
    parameter READ_LATENCY = 30,
    parameter WRITE_LATENCY = 20
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         m_axi_awid,
    output wire         m_axi_bid,
    input  wire         m_axi_arid,
    output wire         m_axi_rid,
    input  wire [63:0]  m_axi_awaddr,
    input  wire [7:0]   m_axi_awlen,
    input  wire [2:0]   m_axi_awsize,
    input  wire [1:0]   m_axi_awburst,
    input  wire         m_axi_awvalid,
    output wire         m_axi_awready,
    input  wire [511:0] m_axi_wdata,
    input  wire [63:0]  m_axi_wstrb,
    input  wire         m_axi_wlast,
    input  wire         m_axi_wvalid,
    output wire         m_axi_wready,
    output wire [1:0]   m_axi_bresp,
    output wire         m_axi_bvalid,
    input  wire         m_axi_bready,
    input  wire [63:0]  m_axi_araddr,
    input  wire [7:0]   m_axi_arlen,
    input  wire [2:0]   m_axi_arsize,
    input  wire [1:0]   m_axi_arburst,
    input  wire         m_axi_arvalid,
    output wire         m_axi_arready,
    output wire [511:0] m_axi_rdata,
    output wire [1:0]   m_axi_rresp,
    output wire         m_axi_rlast,
    output wire         m_axi_rvalid,
    input  wire         m_axi_rready
);

    // The memory answers in order; the test uses identifier 0 only.
    assign m_axi_bid = 1'b0;
    assign m_axi_rid = 1'b0;

    // Clocks from the last read address to its first data beat, and from the last write beat to its response.
    reg [15:0] read_clocks = 16'd0;
    reg [15:0] read_count = 16'd0;
    reg [15:0] write_clocks = 16'd0;
    reg [15:0] write_count = 16'd0;
    reg        reading = 1'b0;
    reg        writing = 1'b0;
    reg        got = 1'b0;

    always @(posedge clk) begin
        read_count <= read_count + 16'd1;
        write_count <= write_count + 16'd1;
        if (m_axi_arvalid && m_axi_arready && !reading) begin
            reading <= 1'b1;
            read_count <= 16'd1;
        end
        if (reading && m_axi_rvalid) begin
            if (!got) read_clocks <= read_count;
            got <= !(m_axi_rready && m_axi_rlast);
            if (m_axi_rready && m_axi_rlast) reading <= 1'b0;
        end
        if (m_axi_wvalid && m_axi_wready && m_axi_wlast && !writing) begin
            writing <= 1'b1;
            write_count <= 16'd1;
        end
        if (writing && m_axi_bvalid) begin
            write_clocks <= write_count;
            if (m_axi_bready) writing <= 1'b0;
        end
    end

    axi_memory #(
        .BASE(64'h0000_0008_0000_0000),
        .BYTES(65536),
        .READ_LATENCY(READ_LATENCY),
        .WRITE_LATENCY(WRITE_LATENCY)
    ) memory (
        .clk(clk),
        .rst(rst),
        .s_axi_awaddr(m_axi_awaddr),
        .s_axi_awlen(m_axi_awlen),
        .s_axi_awsize(m_axi_awsize),
        .s_axi_awburst(m_axi_awburst),
        .s_axi_awvalid(m_axi_awvalid),
        .s_axi_awready(m_axi_awready),
        .s_axi_wdata(m_axi_wdata),
        .s_axi_wstrb(m_axi_wstrb),
        .s_axi_wlast(m_axi_wlast),
        .s_axi_wvalid(m_axi_wvalid),
        .s_axi_wready(m_axi_wready),
        .s_axi_bresp(m_axi_bresp),
        .s_axi_bvalid(m_axi_bvalid),
        .s_axi_bready(m_axi_bready),
        .s_axi_araddr(m_axi_araddr),
        .s_axi_arlen(m_axi_arlen),
        .s_axi_arsize(m_axi_arsize),
        .s_axi_arburst(m_axi_arburst),
        .s_axi_arvalid(m_axi_arvalid),
        .s_axi_arready(m_axi_arready),
        .s_axi_rdata(m_axi_rdata),
        .s_axi_rresp(m_axi_rresp),
        .s_axi_rlast(m_axi_rlast),
        .s_axi_rvalid(m_axi_rvalid),
        .s_axi_rready(m_axi_rready)
    );

endmodule

`default_nettype wire
