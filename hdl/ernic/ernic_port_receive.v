// Copies the frames that are not RoCEv2 for the processing system, whole; the engine sees every frame itself, elsewhere.
//
// RoCEv2 is what the engine can take: IPv4 without options, not a fragment, UDP to port 4791. MAC control frames (pause) end at
// the port. Everything else is the processing system's: ARP, TCP, ICMP, IPv6, fragments, VLANs.

`timescale 1ns / 1fs
`default_nettype none

module ernic_port_receive #(
    // Beats of 64 octets for frames that wait. Power of two, 4 to 32768.
    parameter BEATS = 512,
    // Derived; do not override.
    parameter LEVEL_WIDTH = $clog2(BEATS) + 1
) (
    input  wire                   clk,
    input  wire                   rst,

    // Ethernet frames from the MAC, octet 0 in bits 7:0; tuser with tlast marks a bad FCS. Cannot be held back.
    input  wire [511:0]           s_axis_tdata,
    input  wire [63:0]            s_axis_tkeep,
    input  wire                   s_axis_tvalid,
    input  wire                   s_axis_tlast,
    input  wire                   s_axis_tuser,

    // To the processing system.
    output wire [511:0]           m_axis_host_tdata,
    output wire [63:0]            m_axis_host_tkeep,
    output wire                   m_axis_host_tvalid,
    input  wire                   m_axis_host_tready,
    output wire                   m_axis_host_tlast,

    // Frames kept, dropped for want of room; beats that wait.
    output wire                   host_in,
    output wire                   host_dropped,
    output wire [LEVEL_WIDTH-1:0] level
);

    localparam [15:0] ETHERTYPE_IPV4 = 16'h0800;
    localparam [15:0] ETHERTYPE_MAC_CONTROL = 16'h8808;
    localparam [7:0]  IPV4_NO_OPTIONS = 8'h45;
    localparam [7:0]  PROTOCOL_UDP = 8'd17;
    localparam [15:0] PORT_ROCE = 16'd4791;
    // Last octet of the UDP destination port.
    localparam PORT_LANE = 37;

    wire [15:0] ethertype = {s_axis_tdata[8*12 +: 8], s_axis_tdata[8*13 +: 8]};
    wire        whole = {s_axis_tdata[8*20 +: 6], s_axis_tdata[8*21 +: 8]} == 14'd0;
    wire        roce = ethertype == ETHERTYPE_IPV4 && s_axis_tdata[8*14 +: 8] == IPV4_NO_OPTIONS && whole
        && s_axis_tdata[8*23 +: 8] == PROTOCOL_UDP && s_axis_tkeep[PORT_LANE]
        && {s_axis_tdata[8*36 +: 8], s_axis_tdata[8*37 +: 8]} == PORT_ROCE;

    reg         at_start;
    reg         foreign;
    reg         beat_valid;
    reg [511:0] beat_data;
    reg [63:0]  beat_keep;
    reg         beat_last;
    reg         beat_bad;
    wire        mine = at_start ? !roce && ethertype != ETHERTYPE_MAC_CONTROL : foreign;

    always @(posedge clk) begin
        beat_valid <= s_axis_tvalid && mine;
        if (s_axis_tvalid) begin
            at_start <= s_axis_tlast;
            foreign <= mine;
            if (mine) begin
                beat_data <= s_axis_tdata;
                beat_keep <= s_axis_tkeep;
                beat_last <= s_axis_tlast;
                beat_bad <= s_axis_tuser;
            end
        end
        if (rst) begin
            at_start <= 1'b1;
            beat_valid <= 1'b0;
        end
    end

    // verilator lint_off PINCONNECTEMPTY
    // A lossy FIFO is always ready.
    frame_fifo #(
        .BEATS(BEATS),
        .LOSSY(1)
    ) waiting (
        .clk(clk),
        .rst(rst),
        .s_axis_tdata(beat_data),
        .s_axis_tkeep(beat_keep),
        .s_axis_tvalid(beat_valid),
        .s_axis_tready(),
        .s_axis_tlast(beat_last),
        .s_axis_tuser(beat_bad),
        .m_axis_tdata(m_axis_host_tdata),
        .m_axis_tkeep(m_axis_host_tkeep),
        .m_axis_tvalid(m_axis_host_tvalid),
        .m_axis_tready(m_axis_host_tready),
        .m_axis_tlast(m_axis_host_tlast),
        .kept(host_in),
        .dropped(host_dropped),
        .level(level)
    );
    // verilator lint_on PINCONNECTEMPTY

endmodule

`default_nettype wire
