// Two sources of whole frames on one wire: the engine first, the processing system with a guaranteed share.
//
// A frame of the processing system goes when the engine has none, or when the engine has sent `share` beats for each beat of the
// last frame that was let through so. So the processing system gets at least 1 / (share + 1) of the beats while it has
// frames, whatever their sizes (share 0 counts as 1). The choice is made for the frame that comes next while the present
// one ends, and frames of the engine pass combinationally: no clock is lost or added.

`timescale 1ns / 1fs
`default_nettype none

module ernic_port_transmit (
    input  wire         clk,
    input  wire         rst,

    input  wire [7:0]   share,
    // Frames of the processing system may not start.
    input  wire         host_paused,

    // The engine's frames.
    input  wire [511:0] s_axis_roce_tdata,
    input  wire [63:0]  s_axis_roce_tkeep,
    input  wire         s_axis_roce_tvalid,
    output wire         s_axis_roce_tready,
    input  wire         s_axis_roce_tlast,

    // The processing system's, each whole: valid until its end.
    input  wire [511:0] s_axis_host_tdata,
    input  wire [63:0]  s_axis_host_tkeep,
    input  wire         s_axis_host_tvalid,
    output wire         s_axis_host_tready,
    input  wire         s_axis_host_tlast,

    // To the MAC.
    output wire [511:0] m_axis_tdata,
    output wire [63:0]  m_axis_tkeep,
    output wire         m_axis_tvalid,
    input  wire         m_axis_tready,
    output wire         m_axis_tlast,

    // A frame of the processing system has left.
    output wire         host_out
);

    // A frame of 32768 beats at the largest share fits, and a sign.
    localparam DEBT_WIDTH = 25;
    localparam [DEBT_WIDTH-1:0] DEBT_ONE = 1;
    // What the engine sends beyond its due, because a frame of it must end first, counts for the next time: a frame of 16 KiB.
    localparam signed [DEBT_WIDTH-1:0] DEBT_LEAST = -256;

    // Whose frame is on its way, or was the last.
    reg                   host_turn;
    reg                   engaged;
    // The host's frame goes ahead of the engine's, and costs.
    reg                   forced;
    // Beats that the engine may still send before the host's next frame goes ahead; below zero: sent already.
    reg  [DEBT_WIDTH-1:0] debt;

    // Between frames the choice is free in every cycle until a beat has been offered: an offer stays (AXI4-Stream).
    reg  offered;
    wire host_ready = s_axis_host_tvalid && !host_paused;
    wire host_first = host_ready && (!s_axis_roce_tvalid || debt[DEBT_WIDTH-1] || debt == {DEBT_WIDTH{1'b0}});
    wire select_host = engaged || offered ? host_turn : host_first;
    wire roce_beat = m_axis_tvalid && m_axis_tready && !select_host;
    wire host_beat = m_axis_tvalid && m_axis_tready && select_host;

    assign m_axis_tdata = select_host ? s_axis_host_tdata : s_axis_roce_tdata;
    assign m_axis_tkeep = select_host ? s_axis_host_tkeep : s_axis_roce_tkeep;
    assign m_axis_tvalid = select_host ? s_axis_host_tvalid : s_axis_roce_tvalid;
    assign m_axis_tlast = select_host ? s_axis_host_tlast : s_axis_roce_tlast;
    assign s_axis_roce_tready = m_axis_tready && !select_host;
    assign s_axis_host_tready = m_axis_tready && select_host;
    assign host_out = host_beat && s_axis_host_tlast;

    wire forcing = engaged || offered ? forced : s_axis_roce_tvalid;

    always @(posedge clk) begin
        if (m_axis_tvalid) begin
            offered <= !m_axis_tready;
            engaged <= m_axis_tready ? !m_axis_tlast : engaged;
            host_turn <= select_host;
            forced <= forcing;
        end
        if (roce_beat && debt != DEBT_LEAST) debt <= debt - DEBT_ONE;
        if (host_beat && forcing) debt <= debt + {{(DEBT_WIDTH-8){1'b0}}, share == 8'd0 ? 8'd1 : share};
        if (rst) begin
            offered <= 1'b0;
            engaged <= 1'b0;
            host_turn <= 1'b0;
            forced <= 1'b0;
            debt <= {DEBT_WIDTH{1'b0}};
        end
    end

endmodule

`default_nettype wire
