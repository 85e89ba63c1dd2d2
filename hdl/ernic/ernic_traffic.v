// All that stands between the engine and the Ethernet MAC, with its register page: the port shared with the processing system,
// pause both ways, the priorities of packets, and the counters of what had to wait.

`timescale 1ns / 1fs
`default_nettype none

module ernic_traffic #(
    // Beats of 64 octets for the processing system's frames, in each direction. Power of two, 4 to 32768; a frame must fit.
    parameter HOST_BEATS = 512,
    // Clocks in PAUSE_QUANTA quanta of 512 bit times. 1 to 32767, at least PAUSE_QUANTA.
    parameter PAUSE_CLOCKS = 33,
    // Quanta in PAUSE_CLOCKS clocks. 1 to 32767.
    parameter PAUSE_QUANTA = 20
) (
    input  wire         clk,
    input  wire         rst,

    // Register bus: page TRAFFIC.
    input  wire         s_reg_valid,
    input  wire         s_reg_write,
    input  wire [12:0]  s_reg_addr,
    input  wire [31:0]  s_reg_wdata,
    output wire         s_reg_ready,
    output wire         s_reg_error,
    output wire [31:0]  s_reg_rdata,

    // PAUSE_CONF and thresholds (page ERNIC); beats in the engine's receive buffer.
    // verilator lint_off UNUSEDSIGNAL // Bits 3:2 are reserved.
    input  wire [13:0]  pause_conf,
    // verilator lint_on UNUSEDSIGNAL
    input  wire [31:0]  threshold_roce,
    input  wire [31:0]  threshold_other,
    input  wire [15:0]  receive_level,

    // For the shaper, congestion notifications, and whoever starts packets.
    output wire [31:0]  port_rate,
    output wire [23:0]  port_size,
    output wire [23:0]  cnp_interval,
    output wire [7:0]   cnp_class,
    // DSCPs of which no packet may start.
    output reg  [63:0]  paused_classes,
    // Of the scheduler; a marked packet has come.
    input  wire [3:1]   waiting,
    input  wire         busy_valid,
    input  wire [1:0]   busy_level,
    input  wire         served_valid,
    input  wire         marked_valid,

    // The engine's frames to be sent.
    input  wire [511:0] s_axis_roce_tdata,
    input  wire [63:0]  s_axis_roce_tkeep,
    input  wire         s_axis_roce_tvalid,
    output wire         s_axis_roce_tready,
    input  wire         s_axis_roce_tlast,

    // The processing system's Ethernet frames, without preamble and FCS, octet 0 in bits 7:0.
    input  wire [511:0] s_axis_host_tdata,
    input  wire [63:0]  s_axis_host_tkeep,
    input  wire         s_axis_host_tvalid,
    output wire         s_axis_host_tready,
    input  wire         s_axis_host_tlast,
    output wire [511:0] m_axis_host_tdata,
    output wire [63:0]  m_axis_host_tkeep,
    output wire         m_axis_host_tvalid,
    input  wire         m_axis_host_tready,
    output wire         m_axis_host_tlast,

    // MAC. Frames received go to the engine as well, unchanged; tuser with tlast marks a bad FCS.
    output wire [511:0] m_axis_mac_tdata,
    output wire [63:0]  m_axis_mac_tkeep,
    output wire         m_axis_mac_tvalid,
    input  wire         m_axis_mac_tready,
    output wire         m_axis_mac_tlast,
    input  wire [511:0] s_axis_mac_tdata,
    input  wire [63:0]  s_axis_mac_tkeep,
    input  wire         s_axis_mac_tvalid,
    input  wire         s_axis_mac_tlast,
    input  wire         s_axis_mac_tuser,
    // Priorities 0 to 7, and 8 for the whole link; level.
    input  wire [8:0]   mac_pause_request,
    output wire [8:0]   mac_pause_send
);

    wire [191:0] priority_table;
    wire [7:0]  paused;
    wire [7:0]  host_share;
    wire        starved_clear;
    wire [31:0] starved_clocks_2;
    wire [31:0] starved_clocks_3;
    wire [31:0] starved_longest_2;
    wire [31:0] starved_longest_3;
    wire        host_paused;
    wire        pause_frame_in;
    wire [8:0]  paused_now;
    wire        pause_roce_out;
    wire        pause_other_out;
    wire        host_in;
    wire        host_in_dropped;
    wire        host_out;
    wire        host_out_dropped;
    wire [15:0] host_level;

    integer dscp;

    always @(posedge clk) begin
        for (dscp = 0; dscp < 64; dscp = dscp + 1) paused_classes[dscp] <= paused[priority_table[3*dscp +: 3]];
        if (rst) paused_classes <= 64'd0;
    end

    ernic_traffic_registers registers (
        .clk(clk),
        .rst(rst),
        .s_reg_valid(s_reg_valid),
        .s_reg_write(s_reg_write),
        .s_reg_addr(s_reg_addr),
        .s_reg_wdata(s_reg_wdata),
        .s_reg_ready(s_reg_ready),
        .s_reg_error(s_reg_error),
        .s_reg_rdata(s_reg_rdata),
        .port_rate(port_rate),
        .port_size(port_size),
        .host_share(host_share),
        .cnp_interval(cnp_interval),
        .cnp_class(cnp_class),
        .starved_clear(starved_clear),
        .priority_table(priority_table),
        .starved_clocks_2(starved_clocks_2),
        .starved_clocks_3(starved_clocks_3),
        .starved_longest_2(starved_longest_2),
        .starved_longest_3(starved_longest_3),
        .paused_now(paused_now),
        .pause_frame_in(pause_frame_in),
        .roce_paused(paused != 8'd0),
        .pause_roce_out(pause_roce_out),
        .pause_other_out(pause_other_out),
        .marked_packet(marked_valid),
        .host_in(host_in),
        .host_in_dropped(host_in_dropped),
        .host_out(host_out),
        .host_out_dropped(host_out_dropped)
    );

    ernic_starvation starvation (
        .clk(clk),
        .rst(rst),
        .waiting(waiting),
        .busy_valid(busy_valid),
        .busy_level(busy_level),
        .served_valid(served_valid),
        .clear(starved_clear),
        .clocks_2(starved_clocks_2),
        .clocks_3(starved_clocks_3),
        .longest_2(starved_longest_2),
        .longest_3(starved_longest_3)
    );

    ernic_pause #(
        .CLOCKS(PAUSE_CLOCKS),
        .QUANTA(PAUSE_QUANTA)
    ) pause (
        .clk(clk),
        .rst(rst),
        .enable_roce(pause_conf[0]),
        .enable_other(pause_conf[1]),
        .priority_roce(pause_conf[7:4]),
        .priority_other(pause_conf[11:8]),
        // Bit 12 in the product guide, bit 13 in a driver.
        .no_priority_check(pause_conf[13:12] != 2'b00),
        .threshold_roce(threshold_roce),
        .threshold_other(threshold_other),
        .s_axis_tdata(s_axis_mac_tdata),
        .s_axis_tkeep(s_axis_mac_tkeep),
        .s_axis_tvalid(s_axis_mac_tvalid),
        .s_axis_tlast(s_axis_mac_tlast),
        .s_axis_tuser(s_axis_mac_tuser),
        .mac_pause_request(mac_pause_request),
        .mac_pause_send(mac_pause_send),
        .level_roce(receive_level),
        .level_other(host_level),
        .paused_roce(paused),
        .paused_other(host_paused),
        .frame_seen(pause_frame_in),
        .paused_now(paused_now),
        .sent_roce(pause_roce_out),
        .sent_other(pause_other_out)
    );

    ernic_port #(
        .HOST_BEATS(HOST_BEATS)
    ) port (
        .clk(clk),
        .rst(rst),
        .host_share(host_share),
        .host_paused(host_paused),
        .s_axis_roce_tdata(s_axis_roce_tdata),
        .s_axis_roce_tkeep(s_axis_roce_tkeep),
        .s_axis_roce_tvalid(s_axis_roce_tvalid),
        .s_axis_roce_tready(s_axis_roce_tready),
        .s_axis_roce_tlast(s_axis_roce_tlast),
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
        .host_in(host_in),
        .host_in_dropped(host_in_dropped),
        .host_out(host_out),
        .host_out_dropped(host_out_dropped),
        .level(host_level)
    );

endmodule

`default_nettype wire
