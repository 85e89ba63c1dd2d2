// Pause, both ways: which priorities may start no frame now, and what the MAC is to ask of the other side.
//
// A priority is paused by a pause frame that has arrived or by the MAC (which may keep such frames for itself), as configured in
// PAUSE_CONF (PG332). Whoever starts frames looks at the outputs once, before the first beat: so a pause is honoured behind the
// frame that is on its way.

`timescale 1ns / 1fs
`default_nettype none

module ernic_pause #(
    // Clocks in QUANTA quanta of 512 bit times. 1 to 32767, at least QUANTA.
    parameter CLOCKS = 33,
    // Quanta in CLOCKS clocks. 1 to 32767.
    parameter QUANTA = 20
) (
    input  wire         clk,
    input  wire         rst,

    // PAUSE_CONF and thresholds.
    input  wire         enable_roce,
    input  wire         enable_other,
    // 0 to 7; 8: the whole link.
    input  wire [3:0]   priority_roce,
    input  wire [3:0]   priority_other,
    // Every pause stops everybody.
    input  wire         no_priority_check,
    input  wire [31:0]  threshold_roce,
    input  wire [31:0]  threshold_other,

    // Frames from the MAC.
    input  wire [511:0] s_axis_tdata,
    input  wire [63:0]  s_axis_tkeep,
    input  wire         s_axis_tvalid,
    input  wire         s_axis_tlast,
    input  wire         s_axis_tuser,
    // What the MAC knows itself: priorities 0 to 7, and 8 for the whole link. Level.
    input  wire [8:0]   mac_pause_request,
    // To the MAC: keep the other side paused. Level.
    output reg  [8:0]   mac_pause_send,

    // What receive buffers hold, in beats of 64 octets.
    input  wire [15:0]  level_roce,
    input  wire [15:0]  level_other,

    // RoCE frames of these priorities may not start; frames of the processing system may not.
    output reg  [7:0]   paused_roce,
    output reg          paused_other,

    // A pause frame has come (also one that ends a pause); all that is paused, configured or not; a pause asked for begins.
    output wire         frame_seen,
    output wire [8:0]   paused_now,
    output wire         sent_roce,
    output wire         sent_other
);

    wire         frame_valid;
    wire [8:0]   frame_set;
    wire [143:0] frame_quanta;
    wire [8:0]   timed;

    ernic_pause_parser parser (
        .clk(clk),
        .rst(rst),
        .s_axis_tdata(s_axis_tdata),
        .s_axis_tkeep(s_axis_tkeep),
        .s_axis_tvalid(s_axis_tvalid),
        .s_axis_tlast(s_axis_tlast),
        .s_axis_tuser(s_axis_tuser),
        .m_valid(frame_valid),
        .m_set(frame_set),
        .m_quanta(frame_quanta)
    );

    ernic_pause_timer #(
        .CLOCKS(CLOCKS),
        .QUANTA(QUANTA)
    ) timer (
        .clk(clk),
        .rst(rst),
        .s_valid(frame_valid),
        .s_set(frame_set),
        .s_quanta(frame_quanta),
        .paused(timed)
    );

    wire pausing_roce;
    wire pausing_other;

    ernic_pause_level fill_roce (
        .clk(clk),
        .rst(rst),
        .enabled(enable_roce),
        .threshold(threshold_roce),
        .level(level_roce),
        .pausing(pausing_roce)
    );

    ernic_pause_level fill_other (
        .clk(clk),
        .rst(rst),
        .enabled(enable_other),
        .threshold(threshold_other),
        .level(level_other),
        .pausing(pausing_other)
    );

    wire [8:0] paused = timed | mac_pause_request;
    wire       everybody = paused[8] || (no_priority_check && paused != 9'd0);
    wire [8:0] send_roce = pausing_roce ? 9'd1 << (priority_roce[3] ? 4'd8 : priority_roce) : 9'd0;
    wire [8:0] send_other = pausing_other ? 9'd1 << (priority_other[3] ? 4'd8 : priority_other) : 9'd0;
    reg        was_roce;
    reg        was_other;

    assign frame_seen = frame_valid;
    assign paused_now = paused;
    assign sent_roce = pausing_roce && !was_roce;
    assign sent_other = pausing_other && !was_other;

    always @(posedge clk) begin
        paused_roce <= !enable_roce ? 8'd0 : everybody ? 8'hff : paused[7:0];
        paused_other <= enable_other && (everybody || (!priority_other[3] && paused[priority_other]));
        mac_pause_send <= send_roce | send_other;
        was_roce <= pausing_roce;
        was_other <= pausing_other;
        if (rst) begin
            paused_roce <= 8'd0;
            paused_other <= 1'b0;
            mac_pause_send <= 9'd0;
            was_roce <= 1'b0;
            was_other <= 1'b0;
        end
    end

endmodule

`default_nettype wire
