// The whole engine for many frames a second: MAC and memory of the system bench, a ring with a pattern, one register access at
// a time. Python wakes once an access, and once a case; never once a clock.

`timescale 1ns / 1fs
`default_nettype none

module fuzz_bench #(
    // As in `ernic`.
    parameter NUM_QP = 6,
    parameter RING_BYTES = 65536,
    // First address of the memory and its size, as in `axi_memory`.
    parameter [63:0] MEMORY_BASE = 64'h12_3400_0000,
    parameter MEMORY_BYTES = 524288,
    // Where completions, indices and records go, as offsets in the memory; all else is for received data.
    parameter [63:0] QUEUES_FIRST = 64'h60000,
    parameter [63:0] QUEUES_END = 64'h64000,
    // Derived; do not override.
    parameter ROW_WIDTH = $clog2(RING_BYTES / 64)
) ();

    wire        clk;
    wire [63:0] cycle;

    // Written by Python: reset; an access, begun by a change of bus_asked.
    reg         rst;
    reg         bus_asked;
    reg         bus_write;
    reg  [20:0] bus_addr;
    reg  [31:0] bus_wdata;

    // Read by Python: the access is done when bus_done is bus_asked. Notices so far and a sum over them that depends on their
    // order; frames given to the processing system; octets of received data written.
    reg         bus_done;
    reg  [31:0] bus_rdata;
    reg  [31:0] notices;
    reg  [63:0] notice_sum;
    reg  [31:0] host_frames;
    reg  [31:0] data_octets;

    // verilator lint_off PINCONNECTEMPTY
    bench_clocks clocks (
        .clk(clk),
        .link_clk(),
        .cycle(cycle),
        .link_half_fs()
    );
    // verilator lint_on PINCONNECTEMPTY

    initial begin
        rst = 1'b1;
        bus_asked = 1'b0;
        bus_write = 1'b0;
        bus_addr = 21'd0;
        bus_wdata = 32'd0;
        bus_done = 1'b0;
        bus_rdata = 32'd0;
        notices = 32'd0;
        notice_sum = 64'd0;
        host_frames = 32'd0;
        data_octets = 32'd0;
        reg_valid = 1'b0;
    end

    // ---------------------------------------------------------------------------------------------------------- register bus

    reg         reg_valid;
    wire        reg_ready;
    wire [31:0] reg_rdata;

    always @(posedge clk) begin
        if (reg_valid && reg_ready) begin
            reg_valid <= 1'b0;
            bus_rdata <= reg_rdata;
            bus_done <= bus_asked;
        end else if (bus_done != bus_asked) begin
            reg_valid <= 1'b1;
        end
        if (rst) begin
            reg_valid <= 1'b0;
            bus_done <= bus_asked;
        end
    end

    // ------------------------------------------------------------------------------------------------------------------- ring

    // Word i of row r is (16 r + i) times the golden ratio.
    wire                 ring_read_enable;
    wire [ROW_WIDTH-1:0] ring_read_row;
    reg  [511:0]         ring_row;
    reg  [511:0]         ring_1;
    reg  [511:0]         ring_2;
    reg  [511:0]         ring_read_data;
    reg  [1:0]           ring_passing;
    integer              lane;

    always @* begin
        ring_row = 512'd0;
        if (ring_read_enable) begin
            for (lane = 0; lane < 16; lane = lane + 1) begin
                ring_row[32*lane +: 32] = {{(28-ROW_WIDTH){1'b0}}, ring_read_row, lane[3:0]} * 32'h9e3779b1;
            end
        end
    end

    always @(posedge clk) begin
        ring_passing <= {ring_passing[0], ring_read_enable};
        if (ring_read_enable) ring_1 <= ring_row;
        if (ring_passing[0]) ring_2 <= ring_1;
        if (ring_passing[1]) ring_read_data <= ring_2;
        if (rst) ring_passing <= 2'd0;
    end

    // ---------------------------------------------------------------------------------------------------------------- notices

    wire        notice_valid;
    wire [63:0] notice;
    wire        host_valid;
    wire        host_last;
    wire [63:0] write_offset = memory.write_at - MEMORY_BASE;
    wire        data_area = write_offset < QUEUES_FIRST || (write_offset >= QUEUES_END && write_offset < MEMORY_BYTES);
    reg  [6:0]  strobes;
    integer     octet;

    always @* begin
        strobes = 7'd0;
        if (memory.write_beat) for (octet = 0; octet < 64; octet = octet + 1) strobes = strobes + {6'd0, wstrb[octet]};
    end

    always @(posedge clk) begin
        if (notice_valid) begin
            notices <= notices + 32'd1;
            notice_sum <= {notice_sum[62:0], notice_sum[63]} ^ notice;
        end
        if (host_valid && host_last) host_frames <= host_frames + 32'd1;
        if (memory.write_beat && data_area) data_octets <= data_octets + {25'd0, strobes};
        if (rst) begin
            notices <= 32'd0;
            notice_sum <= 64'd0;
            host_frames <= 32'd0;
            data_octets <= 32'd0;
        end
    end

    // ----------------------------------------------------------------------------------------------------------------- engine

    wire [511:0] tx_tdata;
    wire [63:0]  tx_tkeep;
    wire         tx_tvalid;
    wire         tx_tready;
    wire         tx_tlast;
    wire [511:0] rx_tdata;
    wire [63:0]  rx_tkeep;
    wire         rx_tvalid;
    wire         rx_tlast;
    wire         rx_tuser;
    wire [63:0]  awaddr;
    wire [7:0]   awlen;
    wire [2:0]   awsize;
    wire [1:0]   awburst;
    wire         awvalid;
    wire         awready;
    wire [511:0] wdata;
    wire [63:0]  wstrb;
    wire         wlast;
    wire         wvalid;
    wire         wready;
    wire [1:0]   bresp;
    wire         bvalid;
    wire         bready;
    wire [63:0]  araddr;
    wire [7:0]   arlen;
    wire [2:0]   arsize;
    wire [1:0]   arburst;
    wire         arvalid;
    wire         arready;
    wire [511:0] rdata;
    wire [1:0]   rresp;
    wire         rlast;
    wire         rvalid;
    wire         rready;

    // verilator lint_off PINCONNECTEMPTY
    // Ring space, interrupts, the traffic page and pause have their own benches.
    ernic #(
        .NUM_QP(NUM_QP),
        .RING_BYTES(RING_BYTES),
        .OUTSTANDING(32),
        .QUEUE_MEMORY_BYTES(4096)
    ) dut (
        .clk(clk),
        .rst(rst),
        .s_reg_valid(reg_valid),
        .s_reg_write(bus_write),
        .s_reg_addr(bus_addr),
        .s_reg_wdata(bus_wdata),
        .s_reg_ready(reg_ready),
        .s_reg_error(),
        .s_reg_rdata(reg_rdata),
        .irq(),
        .s_sq_doorbell_valid(1'b0),
        .s_sq_doorbell_ready(),
        .s_sq_doorbell_address(32'd0),
        .s_sq_doorbell_index(16'd0),
        .s_rq_doorbell_valid(1'b0),
        .s_rq_doorbell_ready(),
        .s_rq_doorbell_address(32'd0),
        .s_rq_doorbell_index(16'd0),
        .s_entry_valid(1'b0),
        .s_entry_qpn(8'd0),
        .s_entry_number(16'd0),
        .s_entry_ready(),
        .s_entry_row(10'd0),
        .s_entry(512'd0),
        .s_traffic_reg_valid(1'b0),
        .s_traffic_reg_write(1'b0),
        .s_traffic_reg_addr(13'd0),
        .s_traffic_reg_wdata(32'd0),
        .s_traffic_reg_ready(),
        .s_traffic_reg_error(),
        .s_traffic_reg_rdata(),
        .ring_read_enable(ring_read_enable),
        .ring_read_row(ring_read_row),
        .ring_read_data(ring_read_data),
        .release_valid(),
        .release_ready(1'b1),
        .release_address(),
        .release_bytes(),
        .release_complete(),
        .m_axi_awaddr(awaddr),
        .m_axi_awlen(awlen),
        .m_axi_awsize(awsize),
        .m_axi_awburst(awburst),
        .m_axi_awvalid(awvalid),
        .m_axi_awready(awready),
        .m_axi_wdata(wdata),
        .m_axi_wstrb(wstrb),
        .m_axi_wlast(wlast),
        .m_axi_wvalid(wvalid),
        .m_axi_wready(wready),
        .m_axi_bresp(bresp),
        .m_axi_bvalid(bvalid),
        .m_axi_bready(bready),
        .m_axi_araddr(araddr),
        .m_axi_arlen(arlen),
        .m_axi_arsize(arsize),
        .m_axi_arburst(arburst),
        .m_axi_arvalid(arvalid),
        .m_axi_arready(arready),
        .m_axi_rdata(rdata),
        .m_axi_rresp(rresp),
        .m_axi_rlast(rlast),
        .m_axi_rvalid(rvalid),
        .m_axi_rready(rready),
        .m_notice_valid(notice_valid),
        .m_notice_ready(1'b1),
        .m_notice(notice),
        .s_axis_host_tdata(512'd0),
        .s_axis_host_tkeep(64'd0),
        .s_axis_host_tvalid(1'b0),
        .s_axis_host_tready(),
        .s_axis_host_tlast(1'b0),
        .m_axis_host_tdata(),
        .m_axis_host_tkeep(),
        .m_axis_host_tvalid(host_valid),
        .m_axis_host_tready(1'b1),
        .m_axis_host_tlast(host_last),
        .m_axis_mac_tdata(tx_tdata),
        .m_axis_mac_tkeep(tx_tkeep),
        .m_axis_mac_tvalid(tx_tvalid),
        .m_axis_mac_tready(tx_tready),
        .m_axis_mac_tlast(tx_tlast),
        .s_axis_mac_tdata(rx_tdata),
        .s_axis_mac_tkeep(rx_tkeep),
        .s_axis_mac_tvalid(rx_tvalid),
        .s_axis_mac_tlast(rx_tlast),
        .s_axis_mac_tuser(rx_tuser),
        .mac_pause_request(9'd0),
        .mac_pause_send()
    );
    // verilator lint_on PINCONNECTEMPTY

    mac_port mac (
        .clk(clk),
        .rst(rst),
        .cycle(cycle),
        .s_axis_tdata(tx_tdata),
        .s_axis_tkeep(tx_tkeep),
        .s_axis_tvalid(tx_tvalid),
        .s_axis_tready(tx_tready),
        .s_axis_tlast(tx_tlast),
        .m_axis_tdata(rx_tdata),
        .m_axis_tkeep(rx_tkeep),
        .m_axis_tvalid(rx_tvalid),
        .m_axis_tlast(rx_tlast),
        .m_axis_tuser(rx_tuser)
    );

    axi_memory #(
        .BASE(MEMORY_BASE),
        .BYTES(MEMORY_BYTES)
    ) memory (
        .clk(clk),
        .rst(rst),
        .s_axi_awaddr(awaddr),
        .s_axi_awlen(awlen),
        .s_axi_awsize(awsize),
        .s_axi_awburst(awburst),
        .s_axi_awvalid(awvalid),
        .s_axi_awready(awready),
        .s_axi_wdata(wdata),
        .s_axi_wstrb(wstrb),
        .s_axi_wlast(wlast),
        .s_axi_wvalid(wvalid),
        .s_axi_wready(wready),
        .s_axi_bresp(bresp),
        .s_axi_bvalid(bvalid),
        .s_axi_bready(bready),
        .s_axi_araddr(araddr),
        .s_axi_arlen(arlen),
        .s_axi_arsize(arsize),
        .s_axi_arburst(arburst),
        .s_axi_arvalid(arvalid),
        .s_axi_arready(arready),
        .s_axi_rdata(rdata),
        .s_axi_rresp(rresp),
        .s_axi_rlast(rlast),
        .s_axi_rvalid(rvalid),
        .s_axi_rready(rready)
    );

endmodule

`default_nettype wire
