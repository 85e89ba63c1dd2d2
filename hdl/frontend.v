// The front end: JESD204B lanes in, RoCEv2 frames out.
//
// A sample goes left to right: lanes -> jesd204b_receiver -> acquisition -> ring_buffer -> ernic -> MAC. Control goes the other
// way, through registers and the three interrupts only. Vendor cells (transceivers, MAC, clocks) live in board/, not here.

`timescale 1ns / 1fs
`default_nettype none

module frontend #(
    // Converters (AFEs), each one JESD204B link of 16 channels. 4, 8 or 16.
    parameter LINKS = 16,
    // Serial lanes of each link.
    parameter LANES_PER_LINK = 2,
    // Ring size in bytes. Power of two, at least 65536.
    parameter RING_BYTES = 4194304,
    // Queue pairs, QP1 (management) included. 2 to 255.
    parameter NUM_QP = 4,
    // Clock of the core in kHz, for software to convert times.
    parameter CORE_CLOCK_KHZ = 322266,
    // Derived; do not override.
    parameter LANES = LINKS * LANES_PER_LINK
) (
    // Core domain: ring, RDMA engine, MAC, control.
    input  wire                 clk,
    input  wire                 rst,
    // Link domain: transceivers' user clock, lane rate / 40.
    input  wire                 link_clk,
    input  wire                 link_rst,

    // Lanes (link_clk): four octets a beat, first octet in bits 7:0.
    input  wire [LANES*32-1:0]  lane_data,
    input  wire [LANES*4-1:0]   lane_charisk,
    input  wire [LANES*4-1:0]   lane_notintable,
    input  wire [LANES*4-1:0]   lane_disperr,
    // One bit a transceiver (link_clk, steady while the link is enabled): invert the line before it is decoded.
    output wire [LANES-1:0]     lane_polarity,
    output wire [LINKS-1:0]     sync_n,
    input  wire                 sysref,
    // Shot and laser pulse, synchronous to nothing; the generator's shots (link_clk).
    input  wire                 trigger,
    input  wire                 laser,
    output wire                 fire,

    // AXI4-Lite control (clk).
    input  wire [19:0]          s_axil_awaddr,
    input  wire [2:0]           s_axil_awprot,
    input  wire                 s_axil_awvalid,
    output wire                 s_axil_awready,
    input  wire [31:0]          s_axil_wdata,
    input  wire [3:0]           s_axil_wstrb,
    input  wire                 s_axil_wvalid,
    output wire                 s_axil_wready,
    output wire [1:0]           s_axil_bresp,
    output wire                 s_axil_bvalid,
    input  wire                 s_axil_bready,
    input  wire [19:0]          s_axil_araddr,
    input  wire [2:0]           s_axil_arprot,
    input  wire                 s_axil_arvalid,
    output wire                 s_axil_arready,
    output wire [31:0]          s_axil_rdata,
    output wire [1:0]           s_axil_rresp,
    output wire                 s_axil_rvalid,
    input  wire                 s_axil_rready,

    // Interrupts, level, held until acknowledged: receive link; ring blocks; RDMA engine.
    output wire                 irq_link,
    output wire                 irq_ring,
    output wire                 irq_ernic,

    // AXI4 master to the processing system's memory (clk): send queue entries in, completions out.
    output wire [63:0]          m_axi_awaddr,
    output wire [7:0]           m_axi_awlen,
    output wire [2:0]           m_axi_awsize,
    output wire [1:0]           m_axi_awburst,
    output wire                 m_axi_awvalid,
    input  wire                 m_axi_awready,
    output wire [511:0]         m_axi_wdata,
    output wire [63:0]          m_axi_wstrb,
    output wire                 m_axi_wlast,
    output wire                 m_axi_wvalid,
    input  wire                 m_axi_wready,
    input  wire [1:0]           m_axi_bresp,
    input  wire                 m_axi_bvalid,
    output wire                 m_axi_bready,
    output wire [63:0]          m_axi_araddr,
    output wire [7:0]           m_axi_arlen,
    output wire [2:0]           m_axi_arsize,
    output wire [1:0]           m_axi_arburst,
    output wire                 m_axi_arvalid,
    input  wire                 m_axi_arready,
    input  wire [511:0]         m_axi_rdata,
    input  wire [1:0]           m_axi_rresp,
    input  wire                 m_axi_rlast,
    input  wire                 m_axi_rvalid,
    output wire                 m_axi_rready,

    // The processing system's Ethernet frames (clk; ARP, TCP, ...), without preamble and FCS, octet 0 in bits 7:0.
    input  wire [511:0]         s_axis_host_tdata,
    input  wire [63:0]          s_axis_host_tkeep,
    input  wire                 s_axis_host_tvalid,
    output wire                 s_axis_host_tready,
    input  wire                 s_axis_host_tlast,
    output wire [511:0]         m_axis_host_tdata,
    output wire [63:0]          m_axis_host_tkeep,
    output wire                 m_axis_host_tvalid,
    input  wire                 m_axis_host_tready,
    output wire                 m_axis_host_tlast,

    // Ethernet frames to the MAC (clk), without preamble and FCS, first octet in bits 7:0.
    output wire [511:0]         m_axis_mac_tdata,
    output wire [63:0]          m_axis_mac_tkeep,
    output wire                 m_axis_mac_tvalid,
    input  wire                 m_axis_mac_tready,
    output wire                 m_axis_mac_tlast,
    // Ethernet frames from the MAC (clk). A MAC cannot be held back, so there is no tready; tuser on tlast marks a bad FCS.
    input  wire [511:0]         s_axis_mac_tdata,
    input  wire [63:0]          s_axis_mac_tkeep,
    input  wire                 s_axis_mac_tvalid,
    input  wire                 s_axis_mac_tlast,
    input  wire                 s_axis_mac_tuser,
    // Pause as the MAC knows and sends it: priorities 0 to 7, and 8 for the whole link; level.
    input  wire [8:0]           mac_pause_request,
    output wire [8:0]           mac_pause_send
);

    // Register pages, in the order of the decoder's targets.
    localparam TARGETS = 7;
    localparam PAGE_ERNIC = 0;
    localparam PAGE_JESD204B = 1;
    localparam PAGE_ACQUISITION = 2;
    localparam PAGE_RING = 3;
    localparam PAGE_SYSTEM = 4;
    localparam PAGE_TRAFFIC = 5;
    localparam PAGE_POSTER = 6;
    // The poster's send queue may be as large as the engine's memory on the chip: 1024 entries.
    localparam QUEUE_MEMORY_BYTES = 65536;

    wire                  reg_valid;
    wire                  reg_write;
    wire [19:0]           reg_addr;
    wire [31:0]           reg_wdata;
    wire                  reg_ready;
    wire                  reg_error;
    wire [31:0]           reg_rdata;

    wire [TARGETS-1:0]    page_valid;
    wire                  page_write;
    // verilator lint_off UNUSEDSIGNAL // the decoder has used the upper bits
    wire [19:0]           page_addr;
    // verilator lint_on UNUSEDSIGNAL
    wire [31:0]           page_wdata;
    wire [TARGETS-1:0]    page_ready;
    wire [TARGETS-1:0]    page_error;
    wire [TARGETS*32-1:0] page_rdata;

    axil_to_reg_bus #(
        .ADDR_WIDTH(20)
    ) control_bus (
        .clk(clk),
        .rst(rst),
        .s_axil_awaddr(s_axil_awaddr),
        .s_axil_awprot(s_axil_awprot),
        .s_axil_awvalid(s_axil_awvalid),
        .s_axil_awready(s_axil_awready),
        .s_axil_wdata(s_axil_wdata),
        .s_axil_wstrb(s_axil_wstrb),
        .s_axil_wvalid(s_axil_wvalid),
        .s_axil_wready(s_axil_wready),
        .s_axil_bresp(s_axil_bresp),
        .s_axil_bvalid(s_axil_bvalid),
        .s_axil_bready(s_axil_bready),
        .s_axil_araddr(s_axil_araddr),
        .s_axil_arprot(s_axil_arprot),
        .s_axil_arvalid(s_axil_arvalid),
        .s_axil_arready(s_axil_arready),
        .s_axil_rdata(s_axil_rdata),
        .s_axil_rresp(s_axil_rresp),
        .s_axil_rvalid(s_axil_rvalid),
        .s_axil_rready(s_axil_rready),
        .m_reg_valid(reg_valid),
        .m_reg_write(reg_write),
        .m_reg_addr(reg_addr),
        .m_reg_wdata(reg_wdata),
        .m_reg_ready(reg_ready),
        .m_reg_error(reg_error),
        .m_reg_rdata(reg_rdata)
    );

    // Pages: 256 KiB for the RDMA engine, then 8 KiB each. A target that stays silent (a stopped link clock) is answered
    // with an error by the decoder, so that a bus access always ends.
    reg_bus_decoder #(
        .ADDR_WIDTH(20),
        .TARGETS(TARGETS),
        .BASES({20'h4a000, 20'h48000, 20'h46000, 20'h44000, 20'h42000, 20'h40000, 20'h00000}),
        .MASKS({20'hfe000, 20'hfe000, 20'hfe000, 20'hfe000, 20'hfe000, 20'hfe000, 20'hc0000}),
        .TIMEOUT_CYCLES(1024)
    ) page_decoder (
        .clk(clk),
        .rst(rst),
        .s_reg_valid(reg_valid),
        .s_reg_write(reg_write),
        .s_reg_addr(reg_addr),
        .s_reg_wdata(reg_wdata),
        .s_reg_ready(reg_ready),
        .s_reg_error(reg_error),
        .s_reg_rdata(reg_rdata),
        .m_reg_valid(page_valid),
        .m_reg_write(page_write),
        .m_reg_addr(page_addr),
        .m_reg_wdata(page_wdata),
        .m_reg_ready(page_ready),
        .m_reg_error(page_error),
        .m_reg_rdata(page_rdata)
    );

    // The link and acquisition pages are registers of the link domain.
    wire        jesd_reg_valid;
    wire        jesd_reg_write;
    wire [12:0] jesd_reg_addr;
    wire [31:0] jesd_reg_wdata;
    wire        jesd_reg_ready;
    wire        jesd_reg_error;
    wire [31:0] jesd_reg_rdata;

    reg_bus_cdc #(
        .ADDR_WIDTH(13)
    ) jesd_reg_crossing (
        .clk(clk),
        .rst(rst),
        .s_reg_valid(page_valid[PAGE_JESD204B]),
        .s_reg_write(page_write),
        .s_reg_addr(page_addr[12:0]),
        .s_reg_wdata(page_wdata),
        .s_reg_ready(page_ready[PAGE_JESD204B]),
        .s_reg_error(page_error[PAGE_JESD204B]),
        .s_reg_rdata(page_rdata[PAGE_JESD204B*32 +: 32]),
        .m_clk(link_clk),
        .m_rst(link_rst),
        .m_reg_valid(jesd_reg_valid),
        .m_reg_write(jesd_reg_write),
        .m_reg_addr(jesd_reg_addr),
        .m_reg_wdata(jesd_reg_wdata),
        .m_reg_ready(jesd_reg_ready),
        .m_reg_error(jesd_reg_error),
        .m_reg_rdata(jesd_reg_rdata)
    );

    wire        acquisition_reg_valid;
    wire        acquisition_reg_write;
    wire [12:0] acquisition_reg_addr;
    wire [31:0] acquisition_reg_wdata;
    wire        acquisition_reg_ready;
    wire        acquisition_reg_error;
    wire [31:0] acquisition_reg_rdata;

    reg_bus_cdc #(
        .ADDR_WIDTH(13)
    ) acquisition_reg_crossing (
        .clk(clk),
        .rst(rst),
        .s_reg_valid(page_valid[PAGE_ACQUISITION]),
        .s_reg_write(page_write),
        .s_reg_addr(page_addr[12:0]),
        .s_reg_wdata(page_wdata),
        .s_reg_ready(page_ready[PAGE_ACQUISITION]),
        .s_reg_error(page_error[PAGE_ACQUISITION]),
        .s_reg_rdata(page_rdata[PAGE_ACQUISITION*32 +: 32]),
        .m_clk(link_clk),
        .m_rst(link_rst),
        .m_reg_valid(acquisition_reg_valid),
        .m_reg_write(acquisition_reg_write),
        .m_reg_addr(acquisition_reg_addr),
        .m_reg_wdata(acquisition_reg_wdata),
        .m_reg_ready(acquisition_reg_ready),
        .m_reg_error(acquisition_reg_error),
        .m_reg_rdata(acquisition_reg_rdata)
    );

    // Samples of one frame clock, 64 channels a word, lowest channel in bits 15:0, lowest channels first.
    wire [1023:0]      samples_tdata;
    wire               samples_tvalid;
    wire               samples_first;
    wire [55:0]        samples_tick;
    wire [15:0]        samples_error_kinds;
    wire [LANES-1:0]   samples_error_lanes;
    wire               link_up;
    wire               link_irq;

    cdc_sync #(
        .WIDTH(1)
    ) link_irq_crossing (
        .clk(clk),
        .d(link_irq),
        .q(irq_link)
    );

    jesd204b_receiver #(
        .LINKS(LINKS),
        .LANES_PER_LINK(LANES_PER_LINK)
    ) receiver (
        .clk(link_clk),
        .rst(link_rst),
        .lane_data(lane_data),
        .lane_charisk(lane_charisk),
        .lane_notintable(lane_notintable),
        .lane_disperr(lane_disperr),
        .lane_polarity(lane_polarity),
        .sync_n(sync_n),
        .sysref(sysref),
        .m_axis_tdata(samples_tdata),
        .m_axis_tvalid(samples_tvalid),
        .m_axis_first(samples_first),
        .m_axis_tick(samples_tick),
        .m_axis_error_kinds(samples_error_kinds),
        .m_axis_error_lanes(samples_error_lanes),
        .link_up(link_up),
        .irq(link_irq),
        .s_reg_valid(jesd_reg_valid),
        .s_reg_write(jesd_reg_write),
        .s_reg_addr(jesd_reg_addr),
        .s_reg_wdata(jesd_reg_wdata),
        .s_reg_ready(jesd_reg_ready),
        .s_reg_error(jesd_reg_error),
        .s_reg_rdata(jesd_reg_rdata)
    );

    // Whole frames, header to trailer, into the ring. The ring grants a frame's bytes before its first word.
    wire          frame_request;
    wire [31:0]   frame_bytes;
    wire [31:0]   frame_sequence;
    wire [7:0]    frame_mode;
    wire          frame_grant;
    wire          frame_deny;
    wire [3:0]    frame_deny_cause;
    wire [1023:0] ring_write_data;
    wire          ring_write_valid;
    wire          ring_write_last;
    wire [31:0]   ring_high_water;
    wire          ring_high_water_taken;

    acquisition #(
        .LANES(LANES)
    ) acquisition (
        .link_clk(link_clk),
        .link_rst(link_rst),
        .trigger(trigger),
        .laser(laser),
        .fire(fire),
        .link_up(link_up),
        .s_axis_tdata(samples_tdata),
        .s_axis_tvalid(samples_tvalid),
        .s_axis_first(samples_first),
        .s_axis_tick(samples_tick),
        .s_axis_error_kinds(samples_error_kinds),
        .s_axis_error_lanes(samples_error_lanes),
        .s_reg_valid(acquisition_reg_valid),
        .s_reg_write(acquisition_reg_write),
        .s_reg_addr(acquisition_reg_addr),
        .s_reg_wdata(acquisition_reg_wdata),
        .s_reg_ready(acquisition_reg_ready),
        .s_reg_error(acquisition_reg_error),
        .s_reg_rdata(acquisition_reg_rdata),
        .clk(clk),
        .rst(rst),
        .frame_request(frame_request),
        .frame_bytes(frame_bytes),
        .frame_sequence(frame_sequence),
        .frame_mode(frame_mode),
        .frame_grant(frame_grant),
        .frame_deny(frame_deny),
        .frame_deny_cause(frame_deny_cause),
        .ring_high_water(ring_high_water),
        .ring_high_water_taken(ring_high_water_taken),
        .m_write_data(ring_write_data),
        .m_write_valid(ring_write_valid),
        .m_write_last(ring_write_last)
    );

    // The ring is the retransmission store: the engine reads it as often as it must, and frees it by acknowledgement only.
    localparam ROW_WIDTH = $clog2(RING_BYTES / 64);

    wire                 ring_read_enable;
    wire [ROW_WIDTH-1:0] ring_read_row;
    wire [511:0]         ring_read_data;
    wire                 release_valid;
    wire                 release_ready;
    wire [31:0]          release_address;
    wire [31:0]          release_bytes;
    wire                 release_complete;

    // Blocks of the ring that hardware posts.
    wire                 by_hardware;
    wire                 host_waits;
    wire                 block_valid;
    wire                 block_ready;
    wire [31:0]          block_address;
    wire [23:0]          block_bytes;
    wire                 block_first;
    wire                 block_last;
    wire [31:0]          block_sequence;
    wire                 entry_valid;
    wire                 entry_ready;
    wire [7:0]           entry_qpn;
    wire [15:0]          entry_number;
    wire [9:0]           entry_row;
    wire [511:0]         entry;
    wire                 doorbell_valid;
    wire                 doorbell_ready;
    wire [31:0]          doorbell_address;
    wire [15:0]          doorbell_index;

    ring_buffer #(
        .RING_BYTES(RING_BYTES)
    ) ring (
        .clk(clk),
        .rst(rst),
        .frame_request(frame_request),
        .frame_bytes(frame_bytes),
        .frame_sequence(frame_sequence),
        .frame_mode(frame_mode),
        .frame_grant(frame_grant),
        .frame_deny(frame_deny),
        .frame_deny_cause(frame_deny_cause),
        .high_water(ring_high_water),
        .high_water_taken(ring_high_water_taken),
        .s_write_data(ring_write_data),
        .s_write_valid(ring_write_valid),
        .s_write_last(ring_write_last),
        .read_enable(ring_read_enable),
        .read_row(ring_read_row),
        .read_data(ring_read_data),
        .release_valid(release_valid),
        .release_ready(release_ready),
        .release_address(release_address),
        .release_bytes(release_bytes),
        .release_complete(release_complete),
        .irq(irq_ring),
        .by_hardware(by_hardware),
        .host_waits(host_waits),
        .m_block_valid(block_valid),
        .m_block_ready(block_ready),
        .m_block_address(block_address),
        .m_block_bytes(block_bytes),
        .m_block_first(block_first),
        .m_block_last(block_last),
        .m_block_sequence(block_sequence),
        .s_reg_valid(page_valid[PAGE_RING]),
        .s_reg_write(page_write),
        .s_reg_addr(page_addr[12:0]),
        .s_reg_wdata(page_wdata),
        .s_reg_ready(page_ready[PAGE_RING]),
        .s_reg_error(page_error[PAGE_RING]),
        .s_reg_rdata(page_rdata[PAGE_RING*32 +: 32])
    );

    poster poster (
        .clk(clk),
        .rst(rst),
        .s_reg_valid(page_valid[PAGE_POSTER]),
        .s_reg_write(page_write),
        .s_reg_addr(page_addr[12:0]),
        .s_reg_wdata(page_wdata),
        .s_reg_ready(page_ready[PAGE_POSTER]),
        .s_reg_error(page_error[PAGE_POSTER]),
        .s_reg_rdata(page_rdata[PAGE_POSTER*32 +: 32]),
        .by_hardware(by_hardware),
        .s_block_valid(block_valid),
        .s_block_ready(block_ready),
        .s_block_address(block_address),
        .s_block_bytes(block_bytes),
        .s_block_first(block_first),
        .s_block_last(block_last),
        .s_block_sequence(block_sequence),
        .host_waits(host_waits),
        .m_entry_valid(entry_valid),
        .m_entry_ready(entry_ready),
        .m_entry_qpn(entry_qpn),
        .m_entry_number(entry_number),
        .m_entry_row(entry_row),
        .m_entry(entry),
        .m_doorbell_valid(doorbell_valid),
        .m_doorbell_ready(doorbell_ready),
        .m_doorbell_address(doorbell_address),
        .m_doorbell_index(doorbell_index)
    );

    ernic #(
        .NUM_QP(NUM_QP),
        .RING_BYTES(RING_BYTES),
        .QUEUE_MEMORY_BYTES(QUEUE_MEMORY_BYTES)
    ) engine (
        .clk(clk),
        .rst(rst),
        .s_reg_valid(page_valid[PAGE_ERNIC]),
        .s_reg_write(page_write),
        .s_reg_addr({3'd0, page_addr[17:0]}),
        .s_reg_wdata(page_wdata),
        .s_reg_ready(page_ready[PAGE_ERNIC]),
        .s_reg_error(page_error[PAGE_ERNIC]),
        .s_reg_rdata(page_rdata[PAGE_ERNIC*32 +: 32]),
        .irq(irq_ernic),
        .s_sq_doorbell_valid(doorbell_valid),
        .s_sq_doorbell_ready(doorbell_ready),
        .s_sq_doorbell_address(doorbell_address),
        .s_sq_doorbell_index(doorbell_index),
        .s_rq_doorbell_valid(1'b0),
        // verilator lint_off PINCONNECTEMPTY
        // Receive queues are software's.
        .s_rq_doorbell_ready(),
        // verilator lint_on PINCONNECTEMPTY
        .s_rq_doorbell_address(32'd0),
        .s_rq_doorbell_index(16'd0),
        .s_entry_valid(entry_valid),
        .s_entry_ready(entry_ready),
        .s_entry_qpn(entry_qpn),
        .s_entry_number(entry_number),
        .s_entry_row(entry_row),
        .s_entry(entry),
        .s_traffic_reg_valid(page_valid[PAGE_TRAFFIC]),
        .s_traffic_reg_write(page_write),
        .s_traffic_reg_addr(page_addr[12:0]),
        .s_traffic_reg_wdata(page_wdata),
        .s_traffic_reg_ready(page_ready[PAGE_TRAFFIC]),
        .s_traffic_reg_error(page_error[PAGE_TRAFFIC]),
        .s_traffic_reg_rdata(page_rdata[PAGE_TRAFFIC*32 +: 32]),
        .ring_read_enable(ring_read_enable),
        .ring_read_row(ring_read_row),
        .ring_read_data(ring_read_data),
        .release_valid(release_valid),
        .release_ready(release_ready),
        .release_address(release_address),
        .release_bytes(release_bytes),
        .release_complete(release_complete),
        .m_axi_awaddr(m_axi_awaddr),
        .m_axi_awlen(m_axi_awlen),
        .m_axi_awsize(m_axi_awsize),
        .m_axi_awburst(m_axi_awburst),
        .m_axi_awvalid(m_axi_awvalid),
        .m_axi_awready(m_axi_awready),
        .m_axi_wdata(m_axi_wdata),
        .m_axi_wstrb(m_axi_wstrb),
        .m_axi_wlast(m_axi_wlast),
        .m_axi_wvalid(m_axi_wvalid),
        .m_axi_wready(m_axi_wready),
        .m_axi_bresp(m_axi_bresp),
        .m_axi_bvalid(m_axi_bvalid),
        .m_axi_bready(m_axi_bready),
        .m_axi_araddr(m_axi_araddr),
        .m_axi_arlen(m_axi_arlen),
        .m_axi_arsize(m_axi_arsize),
        .m_axi_arburst(m_axi_arburst),
        .m_axi_arvalid(m_axi_arvalid),
        .m_axi_arready(m_axi_arready),
        .m_axi_rdata(m_axi_rdata),
        .m_axi_rresp(m_axi_rresp),
        .m_axi_rlast(m_axi_rlast),
        .m_axi_rvalid(m_axi_rvalid),
        .m_axi_rready(m_axi_rready),
        .s_axis_host_tdata(s_axis_host_tdata),
        .s_axis_host_tkeep(s_axis_host_tkeep),
        .s_axis_host_tvalid(s_axis_host_tvalid),
        .s_axis_host_tready(s_axis_host_tready),
        .s_axis_host_tlast(s_axis_host_tlast),
        .m_axis_host_tdata(m_axis_host_tdata),
        .m_axis_host_tkeep(m_axis_host_tkeep),
        .m_axis_host_tvalid(m_axis_host_tvalid),
        .m_axis_host_tready(m_axis_host_tready),
        .m_axis_host_tlast(m_axis_host_tlast),
        // verilator lint_off PINCONNECTEMPTY
        // Software reads notices from registers.
        .m_notice_valid(),
        .m_notice_ready(1'b0),
        .m_notice(),
        // verilator lint_on PINCONNECTEMPTY
        .m_axis_mac_tdata(m_axis_mac_tdata),
        .m_axis_mac_tkeep(m_axis_mac_tkeep),
        .m_axis_mac_tvalid(m_axis_mac_tvalid),
        .m_axis_mac_tready(m_axis_mac_tready),
        .m_axis_mac_tlast(m_axis_mac_tlast),
        .s_axis_mac_tdata(s_axis_mac_tdata),
        .s_axis_mac_tkeep(s_axis_mac_tkeep),
        .s_axis_mac_tvalid(s_axis_mac_tvalid),
        .s_axis_mac_tlast(s_axis_mac_tlast),
        .s_axis_mac_tuser(s_axis_mac_tuser),
        .mac_pause_request(mac_pause_request),
        .mac_pause_send(mac_pause_send)
    );

    system_registers #(
        .LINKS(LINKS),
        .LANES(LANES),
        .RING_BYTES(RING_BYTES),
        .NUM_QP(NUM_QP),
        .CORE_CLOCK_KHZ(CORE_CLOCK_KHZ)
    ) identity (
        .clk(clk),
        .rst(rst),
        .s_reg_valid(page_valid[PAGE_SYSTEM]),
        .s_reg_write(page_write),
        .s_reg_addr(page_addr[12:0]),
        .s_reg_wdata(page_wdata),
        .s_reg_ready(page_ready[PAGE_SYSTEM]),
        .s_reg_error(page_error[PAGE_SYSTEM]),
        .s_reg_rdata(page_rdata[PAGE_SYSTEM*32 +: 32])
    );

    generate
        if (LINKS != 4 && LINKS != 8 && LINKS != 16) begin : check_links
            initial $fatal(1, "%m: LINKS must be 4, 8 or 16");
        end
        if (RING_BYTES < 65536 || (RING_BYTES & (RING_BYTES - 1)) != 0) begin : check_ring_bytes
            initial $fatal(1, "%m: RING_BYTES must be a power of two of at least 65536");
        end
        if (NUM_QP < 2 || NUM_QP > 255) begin : check_num_qp
            initial $fatal(1, "%m: NUM_QP must be 2 to 255");
        end
    endgenerate

endmodule

`default_nettype wire
