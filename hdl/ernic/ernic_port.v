// The Ethernet port shared by the engine and the processing system, between them and the MAC.
//
//     engine ──────────────────────────────┐
//     processing system ─► whole frames ───┴─► MAC        transmit: engine first, a share for the processing system
//     MAC ─┬─► engine, every frame
//          └─► what is not RoCEv2 ─► whole frames ─► processing system

`timescale 1ns / 1fs
`default_nettype none

module ernic_port #(
    // Beats of 64 octets for the processing system's frames, in each direction. Power of two, 4 to 32768; a frame must fit.
    parameter HOST_BEATS = 512
) (
    input  wire         clk,
    input  wire         rst,

    // Beats of the engine for one of the processing system, when both want to send; its frames may not start.
    input  wire [7:0]   host_share,
    input  wire         host_paused,

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

    // MAC.
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

    // Frames to and from the processing system; those that found no room (received) or were too long (to be sent).
    output wire         host_in,
    output wire         host_in_dropped,
    output wire         host_out,
    output wire         host_out_dropped,
    // Beats that wait for the processing system.
    output wire [15:0]  level
);

    localparam LEVEL_WIDTH = $clog2(HOST_BEATS) + 1;

    wire [511:0]           host_tdata;
    wire [63:0]            host_tkeep;
    wire                   host_tvalid;
    wire                   host_tready;
    wire                   host_tlast;
    wire [LEVEL_WIDTH-1:0] receive_level;

    assign level = {{(16-LEVEL_WIDTH){1'b0}}, receive_level};

    // verilator lint_off PINCONNECTEMPTY
    // Only the receive side has thresholds, and sent frames are counted as they leave.
    frame_fifo #(
        .BEATS(HOST_BEATS),
        .LOSSY(0)
    ) waiting (
        .clk(clk),
        .rst(rst),
        .s_axis_tdata(s_axis_host_tdata),
        .s_axis_tkeep(s_axis_host_tkeep),
        .s_axis_tvalid(s_axis_host_tvalid),
        .s_axis_tready(s_axis_host_tready),
        .s_axis_tlast(s_axis_host_tlast),
        .s_axis_tuser(1'b0),
        .m_axis_tdata(host_tdata),
        .m_axis_tkeep(host_tkeep),
        .m_axis_tvalid(host_tvalid),
        .m_axis_tready(host_tready),
        .m_axis_tlast(host_tlast),
        .kept(),
        .dropped(host_out_dropped),
        .level()
    );
    // verilator lint_on PINCONNECTEMPTY

    ernic_port_transmit transmit (
        .clk(clk),
        .rst(rst),
        .share(host_share),
        .host_paused(host_paused),
        .s_axis_roce_tdata(s_axis_roce_tdata),
        .s_axis_roce_tkeep(s_axis_roce_tkeep),
        .s_axis_roce_tvalid(s_axis_roce_tvalid),
        .s_axis_roce_tready(s_axis_roce_tready),
        .s_axis_roce_tlast(s_axis_roce_tlast),
        .s_axis_host_tdata(host_tdata),
        .s_axis_host_tkeep(host_tkeep),
        .s_axis_host_tvalid(host_tvalid),
        .s_axis_host_tready(host_tready),
        .s_axis_host_tlast(host_tlast),
        .m_axis_tdata(m_axis_mac_tdata),
        .m_axis_tkeep(m_axis_mac_tkeep),
        .m_axis_tvalid(m_axis_mac_tvalid),
        .m_axis_tready(m_axis_mac_tready),
        .m_axis_tlast(m_axis_mac_tlast),
        .host_out(host_out)
    );

    ernic_port_receive #(
        .BEATS(HOST_BEATS)
    ) receive (
        .clk(clk),
        .rst(rst),
        .s_axis_tdata(s_axis_mac_tdata),
        .s_axis_tkeep(s_axis_mac_tkeep),
        .s_axis_tvalid(s_axis_mac_tvalid),
        .s_axis_tlast(s_axis_mac_tlast),
        .s_axis_tuser(s_axis_mac_tuser),
        .m_axis_host_tdata(m_axis_host_tdata),
        .m_axis_host_tkeep(m_axis_host_tkeep),
        .m_axis_host_tvalid(m_axis_host_tvalid),
        .m_axis_host_tready(m_axis_host_tready),
        .m_axis_host_tlast(m_axis_host_tlast),
        .host_in(host_in),
        .host_dropped(host_in_dropped),
        .level(receive_level)
    );

endmodule

`default_nettype wire
