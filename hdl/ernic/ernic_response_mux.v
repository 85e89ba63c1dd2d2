// Two sources of packets of level 0 at one port: congestion notifications, which are rare, before the responder's.

`timescale 1ns / 1fs
`default_nettype none
`include "ernic_command.vh"

module ernic_response_mux (
    input  wire                     clk,
    input  wire                     rst,

    // Sources; the first goes before.
    input  wire                     s0_cmd_valid,
    output wire                     s0_cmd_ready,
    input  wire [`EB_CMD_WIDTH-1:0] s0_cmd,
    input  wire                     s1_cmd_valid,
    output wire                     s1_cmd_ready,
    input  wire [`EB_CMD_WIDTH-1:0] s1_cmd,

    // One clock later; stays until it is taken.
    output reg                      m_cmd_valid,
    input  wire                     m_cmd_ready,
    output reg  [`EB_CMD_WIDTH-1:0] m_cmd
);

    wire free = !m_cmd_valid || m_cmd_ready;

    assign s0_cmd_ready = free;
    assign s1_cmd_ready = free && !s0_cmd_valid;

    always @(posedge clk) begin
        if (free) begin
            m_cmd_valid <= s0_cmd_valid || s1_cmd_valid;
            if (s0_cmd_valid || s1_cmd_valid) m_cmd <= s0_cmd_valid ? s0_cmd : s1_cmd;
        end
        if (rst) m_cmd_valid <= 1'b0;
    end

endmodule

`default_nettype wire
