// AXI4-Lite subordinate to register bus: one access at a time, reads and writes in turn when both wait.
//
// The register bus writes whole words, so a write with some strobes low is refused (SLVERR, nothing written); one with no
// strobe at all is answered OKAY without effect. An error of the register bus becomes SLVERR.

`timescale 1ns / 1fs
`default_nettype none

module axil_to_reg_bus #(
    // Bits of a byte address. At least 3.
    parameter ADDR_WIDTH = 20
) (
    input  wire                  clk,
    input  wire                  rst,

    // AXI4-Lite.
    input  wire [ADDR_WIDTH-1:0] s_axil_awaddr,
    // verilator lint_off UNUSEDSIGNAL // The register bus knows no protection levels.
    input  wire [2:0]            s_axil_awprot,
    // verilator lint_on UNUSEDSIGNAL
    input  wire                  s_axil_awvalid,
    output wire                  s_axil_awready,
    input  wire [31:0]           s_axil_wdata,
    input  wire [3:0]            s_axil_wstrb,
    input  wire                  s_axil_wvalid,
    output wire                  s_axil_wready,
    output reg  [1:0]            s_axil_bresp,
    output reg                   s_axil_bvalid,
    input  wire                  s_axil_bready,
    input  wire [ADDR_WIDTH-1:0] s_axil_araddr,
    // verilator lint_off UNUSEDSIGNAL // As above.
    input  wire [2:0]            s_axil_arprot,
    // verilator lint_on UNUSEDSIGNAL
    input  wire                  s_axil_arvalid,
    output wire                  s_axil_arready,
    output reg  [31:0]           s_axil_rdata,
    output reg  [1:0]            s_axil_rresp,
    output reg                   s_axil_rvalid,
    input  wire                  s_axil_rready,

    // Register bus.
    output reg                   m_reg_valid,
    output reg                   m_reg_write,
    output reg  [ADDR_WIDTH-1:0] m_reg_addr,
    output reg  [31:0]           m_reg_wdata,
    input  wire                  m_reg_ready,
    input  wire                  m_reg_error,
    input  wire [31:0]           m_reg_rdata
);

    generate
        if (ADDR_WIDTH < 3) begin : check_addr_width
            initial $fatal(1, "axil_to_reg_bus: ADDR_WIDTH must be at least 3");
        end
    endgenerate

    localparam [1:0] RESP_OKAY = 2'b00;
    localparam [1:0] RESP_SLVERR = 2'b10;

    // One transfer of each channel is held until its access starts.
    reg                  aw_held;
    reg [ADDR_WIDTH-1:0] aw_addr;
    reg                  w_held;
    reg [31:0]           w_data;
    reg [3:0]            w_strb;
    reg                  ar_held;
    reg [ADDR_WIDTH-1:0] ar_addr;

    assign s_axil_awready = !aw_held && !rst;
    assign s_axil_wready = !w_held && !rst;
    assign s_axil_arready = !ar_held && !rst;

    wire can_write = aw_held && w_held && !s_axil_bvalid && !m_reg_valid;
    wire can_read = ar_held && !s_axil_rvalid && !m_reg_valid;
    // Reads and writes take turns by themselves: in the cycle in which one may start, the answer to the last is still there and
    // keeps its own kind back.
    wire start_write = can_write;
    wire start_read = can_read && !can_write;

    always @(posedge clk) begin
        if (s_axil_awvalid && s_axil_awready) begin
            aw_held <= 1'b1;
            aw_addr <= s_axil_awaddr;
        end
        if (s_axil_wvalid && s_axil_wready) begin
            w_held <= 1'b1;
            w_data <= s_axil_wdata;
            w_strb <= s_axil_wstrb;
        end
        if (s_axil_arvalid && s_axil_arready) begin
            ar_held <= 1'b1;
            ar_addr <= s_axil_araddr;
        end

        if (s_axil_bready) s_axil_bvalid <= 1'b0;
        if (s_axil_rready) s_axil_rvalid <= 1'b0;

        if (start_read) begin
            ar_held <= 1'b0;
            m_reg_valid <= 1'b1;
            m_reg_write <= 1'b0;
            m_reg_addr <= {ar_addr[ADDR_WIDTH-1:2], 2'b00};
        end
        if (start_write) begin
            aw_held <= 1'b0;
            w_held <= 1'b0;
            m_reg_write <= 1'b1;
            m_reg_addr <= {aw_addr[ADDR_WIDTH-1:2], 2'b00};
            m_reg_wdata <= w_data;
            if (&w_strb) begin
                m_reg_valid <= 1'b1;
            end else begin
                s_axil_bvalid <= 1'b1;
                s_axil_bresp <= |w_strb ? RESP_SLVERR : RESP_OKAY;
            end
        end

        if (m_reg_valid && m_reg_ready) begin
            m_reg_valid <= 1'b0;
            if (m_reg_write) begin
                s_axil_bvalid <= 1'b1;
                s_axil_bresp <= m_reg_error ? RESP_SLVERR : RESP_OKAY;
            end else begin
                s_axil_rvalid <= 1'b1;
                s_axil_rresp <= m_reg_error ? RESP_SLVERR : RESP_OKAY;
                s_axil_rdata <= m_reg_rdata;
            end
        end

        if (rst) begin
            aw_held <= 1'b0;
            w_held <= 1'b0;
            ar_held <= 1'b0;
            m_reg_valid <= 1'b0;
            s_axil_bvalid <= 1'b0;
            s_axil_rvalid <= 1'b0;
        end
    end

    // verilator lint_off UNUSEDSIGNAL // Addresses are of words; AXI4-Lite leaves the low bits of an address without meaning.
    wire [3:0] unused_address_bits = {aw_addr[1:0], ar_addr[1:0]};
    // verilator lint_on UNUSEDSIGNAL

endmodule

`default_nettype wire
