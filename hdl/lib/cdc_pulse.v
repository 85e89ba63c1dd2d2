// One-cycle pulses into another clock domain, none lost and none doubled.
//
// Pulses must be four cycles of the slower clock apart. Either reset, held for four cycles of the slower clock, resets both
// sides without making a pulse.

`timescale 1ns / 1fs
`default_nettype none

module cdc_pulse (
    input  wire s_clk,
    input  wire s_rst,
    input  wire s_pulse,

    input  wire m_clk,
    input  wire m_rst,
    output wire m_pulse
);

    reg  s_toggle;
    wire m_toggle;
    wire m_source_reset;
    reg  m_seen;

    always @(posedge s_clk) begin
        if (s_rst) s_toggle <= 1'b0;
        else if (s_pulse) s_toggle <= !s_toggle;
    end

    // One stage more than the reset: so the toggle that the reset itself makes is never taken for a pulse.
    cdc_sync #(
        .STAGES(3)
    ) toggle_crossing (
        .clk(m_clk),
        .d(s_toggle),
        .q(m_toggle)
    );

    cdc_sync reset_crossing (
        .clk(m_clk),
        .d(s_rst),
        .q(m_source_reset)
    );

    wire m_reset = m_rst || m_source_reset;

    always @(posedge m_clk) m_seen <= m_toggle;

    assign m_pulse = m_toggle != m_seen && !m_reset;

endmodule

`default_nettype wire
