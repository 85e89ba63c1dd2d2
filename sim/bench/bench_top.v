// The bench: the front end between its clocks, lanes, MAC, memory and probe. What software does comes in over AXI4-Lite.
//
//        lanes ──► ┌──────────┐ ──► mac        Python: supplies chunks, takes and injects frames, reads and writes memory,
//        (player)  │   dut    │ ◄── (port)     accesses registers, waits for interrupts.
//     s_axil ────► │(frontend)│ ──► memory     HDL alone: clocks, pacing, checks, probe.
//                  └──────────┘ ──► interrupts
//
// `s_axil` is for a master that samples and drives at rising edges of `axil_clk`, between core edges: all that the design
// answers is held here for it from one core edge to the next. A master can so be written in Python or HDL without caring in
// which order a simulator runs what happens at a core edge.

`timescale 1ns / 1fs
`default_nettype none

module bench_top #(
    // The design, see frontend.
    parameter LINKS = 16,
    parameter LANES_PER_LINK = 2,
    parameter RING_BYTES = 4194304,
    parameter NUM_QP = 4,
    parameter CORE_CLOCK_KHZ = 322266,
    // Clocks, see bench_clocks.
    parameter CORE_HALF_FS = 1551515,
    parameter LINK_HALF_FS = 1562500,
    parameter SQUARE_CLOCKS = 0,
    // Longest chunk of the lane player in beats.
    parameter CHUNK_BEATS = 512,
    // Memory of the processing system, see axi_memory.
    parameter [63:0] MEMORY_BASE = 64'h0000_0008_0000_0000,
    parameter MEMORY_BYTES = 4194304,
    parameter READ_LATENCY = 30,
    parameter WRITE_LATENCY = 20,
    // Core cycles between samples of the ring's fill.
    parameter RING_INTERVAL = 64
) (
    // Resets, taken over at the next edge of their clock.
    input  wire        rst,
    input  wire        link_rst,

    // Control, for a master on axil_clk.
    output wire        axil_clk,
    input  wire [19:0] s_axil_awaddr,
    input  wire [2:0]  s_axil_awprot,
    input  wire        s_axil_awvalid,
    output reg         s_axil_awready,
    input  wire [31:0] s_axil_wdata,
    input  wire [3:0]  s_axil_wstrb,
    input  wire        s_axil_wvalid,
    output reg         s_axil_wready,
    output reg  [1:0]  s_axil_bresp,
    output reg         s_axil_bvalid,
    input  wire        s_axil_bready,
    input  wire [19:0] s_axil_araddr,
    input  wire [2:0]  s_axil_arprot,
    input  wire        s_axil_arvalid,
    output reg         s_axil_arready,
    output reg  [31:0] s_axil_rdata,
    output reg  [1:0]  s_axil_rresp,
    output reg         s_axil_rvalid,
    input  wire        s_axil_rready,

    // Interrupts.
    output wire        irq_link,
    output wire        irq_ring,
    output wire        irq_ernic,

    // What the transceivers are told: lanes that they invert.
    output wire [LINKS*LANES_PER_LINK-1:0] lane_polarity
);

    localparam LANES = LINKS * LANES_PER_LINK;

    wire        clk;
    wire        link_clk;
    wire [63:0] cycle;
    wire [31:0] link_half_fs;

    bench_clocks #(
        .CORE_HALF_FS(CORE_HALF_FS),
        .LINK_HALF_FS(LINK_HALF_FS),
        .SQUARE(SQUARE_CLOCKS)
    ) clocks (
        .clk(clk),
        .link_clk(link_clk),
        .cycle(cycle),
        .link_half_fs(link_half_fs)
    );

    // Control: what the design answers, held for the master.
    assign axil_clk = ~clk;

    wire        axil_awready;
    wire        axil_wready;
    wire [1:0]  axil_bresp;
    wire        axil_bvalid;
    wire        axil_arready;
    wire [31:0] axil_rdata;
    wire [1:0]  axil_rresp;
    wire        axil_rvalid;

    initial begin
        s_axil_awready = 1'b0;
        s_axil_wready = 1'b0;
        s_axil_bvalid = 1'b0;
        s_axil_arready = 1'b0;
        s_axil_rvalid = 1'b0;
    end

    always @(posedge clk) begin
        s_axil_awready <= axil_awready;
        s_axil_wready <= axil_wready;
        s_axil_bresp <= axil_bresp;
        s_axil_bvalid <= axil_bvalid;
        s_axil_arready <= axil_arready;
        s_axil_rdata <= axil_rdata;
        s_axil_rresp <= axil_rresp;
        s_axil_rvalid <= axil_rvalid;
    end

    // Lanes.
    wire [LANES*32-1:0] lane_data;
    wire [LANES*4-1:0]  lane_charisk;
    wire [LANES*4-1:0]  lane_notintable;
    wire [LANES*4-1:0]  lane_disperr;
    wire [LINKS-1:0]    sync_n;
    wire [LINKS-1:0]    request_n;
    wire                sysref;
    wire                trigger_beat;
    wire                laser_beat;
    wire [4:0]          pulse_delay;
    wire                trigger;
    wire                laser;
    wire                fire;
    wire [63:0]         lane_beat;

    sync_reader #(
        .LINKS(LINKS)
    ) converters (
        .link_clk(link_clk),
        .sync_n(sync_n),
        .request_n(request_n)
    );

    lane_player #(
        .LINKS(LINKS),
        .LANES(LANES),
        .CHUNK_BEATS(CHUNK_BEATS)
    ) lanes (
        .link_clk(link_clk),
        .sync_n(request_n),
        .lane_data(lane_data),
        .lane_charisk(lane_charisk),
        .lane_notintable(lane_notintable),
        .lane_disperr(lane_disperr),
        .sysref(sysref),
        .trigger(trigger_beat),
        .laser(laser_beat),
        .pulse_delay(pulse_delay),
        .beat(lane_beat)
    );

    bench_pulse trigger_pulse (
        .start(trigger_beat),
        .delay(pulse_delay),
        .link_half_fs(link_half_fs),
        .pulse(trigger)
    );

    bench_pulse laser_pulse (
        .start(laser_beat),
        .delay(pulse_delay),
        .link_half_fs(link_half_fs),
        .pulse(laser)
    );

    // Frames.
    wire [511:0] mac_tx_tdata;
    wire [63:0]  mac_tx_tkeep;
    wire         mac_tx_tvalid;
    wire         mac_tx_tready;
    wire         mac_tx_tlast;
    wire [511:0] mac_rx_tdata;
    wire [63:0]  mac_rx_tkeep;
    wire         mac_rx_tvalid;
    wire         mac_rx_tlast;
    wire         mac_rx_tuser;

    mac_port mac (
        .clk(clk),
        .rst(rst),
        .cycle(cycle),
        .s_axis_tdata(mac_tx_tdata),
        .s_axis_tkeep(mac_tx_tkeep),
        .s_axis_tvalid(mac_tx_tvalid),
        .s_axis_tready(mac_tx_tready),
        .s_axis_tlast(mac_tx_tlast),
        .m_axis_tdata(mac_rx_tdata),
        .m_axis_tkeep(mac_rx_tkeep),
        .m_axis_tvalid(mac_rx_tvalid),
        .m_axis_tlast(mac_rx_tlast),
        .m_axis_tuser(mac_rx_tuser)
    );

    // Memory.
    wire [63:0]  axi_awaddr;
    wire [7:0]   axi_awlen;
    wire [2:0]   axi_awsize;
    wire [1:0]   axi_awburst;
    wire         axi_awvalid;
    wire         axi_awready;
    wire [511:0] axi_wdata;
    wire [63:0]  axi_wstrb;
    wire         axi_wlast;
    wire         axi_wvalid;
    wire         axi_wready;
    wire [1:0]   axi_bresp;
    wire         axi_bvalid;
    wire         axi_bready;
    wire [63:0]  axi_araddr;
    wire [7:0]   axi_arlen;
    wire [2:0]   axi_arsize;
    wire [1:0]   axi_arburst;
    wire         axi_arvalid;
    wire         axi_arready;
    wire [511:0] axi_rdata;
    wire [1:0]   axi_rresp;
    wire         axi_rlast;
    wire         axi_rvalid;
    wire         axi_rready;

    axi_memory #(
        .BASE(MEMORY_BASE),
        .BYTES(MEMORY_BYTES),
        .READ_LATENCY(READ_LATENCY),
        .WRITE_LATENCY(WRITE_LATENCY)
    ) memory (
        .clk(clk),
        .rst(rst),
        .s_axi_awaddr(axi_awaddr),
        .s_axi_awlen(axi_awlen),
        .s_axi_awsize(axi_awsize),
        .s_axi_awburst(axi_awburst),
        .s_axi_awvalid(axi_awvalid),
        .s_axi_awready(axi_awready),
        .s_axi_wdata(axi_wdata),
        .s_axi_wstrb(axi_wstrb),
        .s_axi_wlast(axi_wlast),
        .s_axi_wvalid(axi_wvalid),
        .s_axi_wready(axi_wready),
        .s_axi_bresp(axi_bresp),
        .s_axi_bvalid(axi_bvalid),
        .s_axi_bready(axi_bready),
        .s_axi_araddr(axi_araddr),
        .s_axi_arlen(axi_arlen),
        .s_axi_arsize(axi_arsize),
        .s_axi_arburst(axi_arburst),
        .s_axi_arvalid(axi_arvalid),
        .s_axi_arready(axi_arready),
        .s_axi_rdata(axi_rdata),
        .s_axi_rresp(axi_rresp),
        .s_axi_rlast(axi_rlast),
        .s_axi_rvalid(axi_rvalid),
        .s_axi_rready(axi_rready)
    );

    frontend #(
        .LINKS(LINKS),
        .LANES_PER_LINK(LANES_PER_LINK),
        .RING_BYTES(RING_BYTES),
        .NUM_QP(NUM_QP),
        .CORE_CLOCK_KHZ(CORE_CLOCK_KHZ)
    ) dut (
        .clk(clk),
        .rst(rst),
        .link_clk(link_clk),
        .link_rst(link_rst),
        .lane_data(lane_data),
        .lane_charisk(lane_charisk),
        .lane_notintable(lane_notintable),
        .lane_disperr(lane_disperr),
        .lane_polarity(lane_polarity),
        .sync_n(sync_n),
        .sysref(sysref),
        .trigger(trigger),
        .laser(laser),
        .fire(fire),
        .s_axil_awaddr(s_axil_awaddr),
        .s_axil_awprot(s_axil_awprot),
        .s_axil_awvalid(s_axil_awvalid),
        .s_axil_awready(axil_awready),
        .s_axil_wdata(s_axil_wdata),
        .s_axil_wstrb(s_axil_wstrb),
        .s_axil_wvalid(s_axil_wvalid),
        .s_axil_wready(axil_wready),
        .s_axil_bresp(axil_bresp),
        .s_axil_bvalid(axil_bvalid),
        .s_axil_bready(s_axil_bready),
        .s_axil_araddr(s_axil_araddr),
        .s_axil_arprot(s_axil_arprot),
        .s_axil_arvalid(s_axil_arvalid),
        .s_axil_arready(axil_arready),
        .s_axil_rdata(axil_rdata),
        .s_axil_rresp(axil_rresp),
        .s_axil_rvalid(axil_rvalid),
        .s_axil_rready(s_axil_rready),
        .irq_link(irq_link),
        .irq_ring(irq_ring),
        .irq_ernic(irq_ernic),
        .m_axi_awaddr(axi_awaddr),
        .m_axi_awlen(axi_awlen),
        .m_axi_awsize(axi_awsize),
        .m_axi_awburst(axi_awburst),
        .m_axi_awvalid(axi_awvalid),
        .m_axi_awready(axi_awready),
        .m_axi_wdata(axi_wdata),
        .m_axi_wstrb(axi_wstrb),
        .m_axi_wlast(axi_wlast),
        .m_axi_wvalid(axi_wvalid),
        .m_axi_wready(axi_wready),
        .m_axi_bresp(axi_bresp),
        .m_axi_bvalid(axi_bvalid),
        .m_axi_bready(axi_bready),
        .m_axi_araddr(axi_araddr),
        .m_axi_arlen(axi_arlen),
        .m_axi_arsize(axi_arsize),
        .m_axi_arburst(axi_arburst),
        .m_axi_arvalid(axi_arvalid),
        .m_axi_arready(axi_arready),
        .m_axi_rdata(axi_rdata),
        .m_axi_rresp(axi_rresp),
        .m_axi_rlast(axi_rlast),
        .m_axi_rvalid(axi_rvalid),
        .m_axi_rready(axi_rready),
        // The processing system's Ethernet is idle, and takes what comes for it.
        .s_axis_host_tdata(512'd0),
        .s_axis_host_tkeep(64'd0),
        .s_axis_host_tvalid(1'b0),
        .s_axis_host_tready(),
        .s_axis_host_tlast(1'b0),
        .m_axis_host_tdata(),
        .m_axis_host_tkeep(),
        .m_axis_host_tvalid(),
        .m_axis_host_tready(1'b1),
        .m_axis_host_tlast(),
        .m_axis_mac_tdata(mac_tx_tdata),
        .m_axis_mac_tkeep(mac_tx_tkeep),
        .m_axis_mac_tvalid(mac_tx_tvalid),
        .m_axis_mac_tready(mac_tx_tready),
        .m_axis_mac_tlast(mac_tx_tlast),
        .s_axis_mac_tdata(mac_rx_tdata),
        .s_axis_mac_tkeep(mac_rx_tkeep),
        .s_axis_mac_tvalid(mac_rx_tvalid),
        .s_axis_mac_tlast(mac_rx_tlast),
        .s_axis_mac_tuser(mac_rx_tuser),
        .mac_pause_request(9'd0),
        .mac_pause_send()
    );

    // The only places that reach into the design: the probe, and the beats on the lanes when the receiver's sample tick 0 came out
    // and when the generator of shots was started.
    probe #(
        .RING_INTERVAL(RING_INTERVAL)
    ) probe (
        .clk(clk),
        .rst(rst),
        .cycle(cycle),
        .axil_awaddr(s_axil_awaddr),
        .axil_awvalid(s_axil_awvalid),
        .axil_awready(axil_awready),
        .axil_wdata(s_axil_wdata),
        .axil_wvalid(s_axil_wvalid),
        .axil_wready(axil_wready),
        .doorbell_valid(dut.doorbell_valid),
        .doorbell_ready(dut.doorbell_ready),
        .doorbell_address(dut.doorbell_address),
        .doorbell_index(dut.doorbell_index),
        .mac_tx_tvalid(mac_tx_tvalid),
        .mac_tx_tready(mac_tx_tready),
        .mac_tx_tlast(mac_tx_tlast),
        .mac_rx_tvalid(mac_rx_tvalid),
        .mac_rx_tlast(mac_rx_tlast),
        .ring_write_valid(dut.ring_write_valid),
        .ring_write_last(dut.ring_write_last),
        .ring_used(dut.ring.fill.level),
        .irq_ring(irq_ring),
        .irq_ernic(irq_ernic),
        .axi_awaddr(axi_awaddr),
        .axi_awvalid(axi_awvalid),
        .axi_awready(axi_awready),
        .axi_wvalid(axi_wvalid),
        .axi_wready(axi_wready),
        .axi_wlast(axi_wlast)
    );

    waves waves ();

    /* verilator lint_off UNUSEDSIGNAL */ // read by Python
    reg        released;
    reg [63:0] release_beat;
    reg [63:0] release_cycle;
    reg [63:0] generator_beat;
    /* verilator lint_on UNUSEDSIGNAL */
    reg        generating;

    initial begin
        released = 1'b0;
        release_beat = 64'd0;
        release_cycle = 64'd0;
        generator_beat = 64'd0;
    end

    always @(posedge link_clk) begin
        if (dut.samples_tvalid && dut.samples_first && dut.samples_tick == 56'd0) begin
            released <= 1'b1;
            release_beat <= lane_beat;
            release_cycle <= cycle;
        end
        generating <= dut.acquisition.generate_shots;
        if (dut.acquisition.generate_shots && !generating) generator_beat <= lane_beat;
        if (link_rst || !dut.link_up) released <= 1'b0;
    end

endmodule

`default_nettype wire
