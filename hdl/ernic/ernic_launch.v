// Packets about to leave: the next of each service level, with its payload at hand.
//
//     responses ──┐                    ┌── command ──► datapath
//     requests ───┴── launch_slots ────┤
//                      │ fetch         └── area
//                      ▼                     ▲ rows
//     memory ───────► gather ─────────► stage

`timescale 1ns / 1fs
`default_nettype none
`include "ernic_command.vh"

module ernic_launch (
    input  wire                     clk,
    input  wire                     rst,

    // A queue pair is switched off: its packets are not to be sent.
    input  wire                     purge_valid,
    input  wire [7:0]               purge_qp,
    // A queue pair has had an error: its requests are not to be sent.
    input  wire                     flush_valid,
    input  wire [7:0]               flush_qp,
    // Classes (bits 7:2 of the traffic class) that must not start a packet.
    input  wire [63:0]              paused_classes,

    // Responses.
    input  wire                     s_response_valid,
    output wire                     s_response_ready,
    input  wire [`EB_CMD_WIDTH-1:0] s_response_cmd,
    // Requests, level 1 to 3; only given while that level has room.
    input  wire                     s_request_valid,
    input  wire [1:0]               s_request_level,
    input  wire [`EB_CMD_WIDTH-1:0] s_request_cmd,
    output wire [3:0]               level_ready,
    // The memory did not give a payload: the packet is thrown away.
    output wire                     failed_valid,
    output wire [7:0]               failed_qp,
    output wire                     failed_response,

    // To the datapath: the packet, the area of the stage where its payload is, and that area's read port.
    output wire                     m_cmd_valid,
    input  wire                     m_cmd_ready,
    output wire [`EB_CMD_WIDTH-1:0] m_cmd,
    output wire [2:0]               m_cmd_area,
    input  wire                     stage_read_enable,
    input  wire [8:0]               stage_read_row,
    output wire [511:0]             stage_read_data,

    // AXI4 read channels.
    output wire [63:0]              m_axi_araddr,
    output wire [7:0]               m_axi_arlen,
    output wire [2:0]               m_axi_arsize,
    output wire [1:0]               m_axi_arburst,
    output wire                     m_axi_arvalid,
    input  wire                     m_axi_arready,
    input  wire [511:0]             m_axi_rdata,
    input  wire [1:0]               m_axi_rresp,
    input  wire                     m_axi_rlast,
    input  wire                     m_axi_rvalid,
    output wire                     m_axi_rready
);

    wire         fetch_valid;
    wire         fetch_ready;
    wire [2:0]   fetch_area;
    wire [63:0]  fetch_address;
    wire [12:0]  fetch_bytes;
    wire         fetched_valid;
    wire [2:0]   fetched_area;
    wire         fetched_error;
    wire         write_valid;
    wire [8:0]   write_row;
    wire [63:0]  write_octets;
    wire [511:0] write_data;

    ernic_launch_slots slots (
        .clk(clk),
        .rst(rst),
        .purge_valid(purge_valid),
        .purge_qp(purge_qp),
        .flush_valid(flush_valid),
        .flush_qp(flush_qp),
        .paused_classes(paused_classes),
        .s_response_valid(s_response_valid),
        .s_response_ready(s_response_ready),
        .s_response_cmd(s_response_cmd),
        .s_request_valid(s_request_valid),
        .s_request_level(s_request_level),
        .s_request_cmd(s_request_cmd),
        .level_ready(level_ready),
        .m_fetch_valid(fetch_valid),
        .m_fetch_ready(fetch_ready),
        .m_fetch_area(fetch_area),
        .m_fetch_address(fetch_address),
        .m_fetch_bytes(fetch_bytes),
        .s_fetched_valid(fetched_valid),
        .s_fetched_area(fetched_area),
        .s_fetched_error(fetched_error),
        .failed_valid(failed_valid),
        .failed_qp(failed_qp),
        .failed_response(failed_response),
        .m_cmd_valid(m_cmd_valid),
        .m_cmd_ready(m_cmd_ready),
        .m_cmd(m_cmd),
        .m_cmd_area(m_cmd_area)
    );

    ernic_gather gather (
        .clk(clk),
        .rst(rst),
        .s_fetch_valid(fetch_valid),
        .s_fetch_ready(fetch_ready),
        .s_fetch_area(fetch_area),
        .s_fetch_address(fetch_address),
        .s_fetch_bytes(fetch_bytes),
        .m_fetched_valid(fetched_valid),
        .m_fetched_area(fetched_area),
        .m_fetched_error(fetched_error),
        .m_write_valid(write_valid),
        .m_write_row(write_row),
        .m_write_octets(write_octets),
        .m_write_data(write_data),
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
        .m_axi_rready(m_axi_rready)
    );

    ernic_stage stage (
        .clk(clk),
        .s_write_valid(write_valid),
        .s_write_row(write_row),
        .s_write_octets(write_octets),
        .s_write_data(write_data),
        .read_enable(stage_read_enable),
        .read_row(stage_read_row),
        .read_data(stage_read_data)
    );

endmodule

`default_nettype wire
