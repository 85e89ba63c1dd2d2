// Register page of what shares the Ethernet port: shaper, priorities, pause, congestion, processing system.
//
// An access takes three cycles: look up, act, answer.

`timescale 1ns / 1fs
`default_nettype none
`include "registers.vh"

module ernic_traffic_registers (
    input  wire         clk,
    input  wire         rst,

    // Register bus.
    input  wire         s_reg_valid,
    input  wire         s_reg_write,
    input  wire [12:0]  s_reg_addr,
    input  wire [31:0]  s_reg_wdata,
    output wire         s_reg_ready,
    output reg          s_reg_error,
    output reg  [31:0]  s_reg_rdata,

    // Control.
    output reg  [31:0]  port_rate,
    output reg  [23:0]  port_size,
    output reg  [7:0]   host_share,
    output reg  [23:0]  cnp_interval,
    output reg  [7:0]   cnp_class,
    output reg          starved_clear,
    // Priority of each DSCP, DSCP 0 in bits 2:0.
    output wire [191:0] priority_table,

    // Status.
    input  wire [31:0]  starved_clocks_2,
    input  wire [31:0]  starved_clocks_3,
    input  wire [31:0]  starved_longest_2,
    input  wire [31:0]  starved_longest_3,
    input  wire [8:0]   paused_now,

    // Events to be counted: at most one of each in a clock.
    input  wire         pause_frame_in,
    input  wire         roce_paused,
    input  wire         pause_roce_out,
    input  wire         pause_other_out,
    input  wire         marked_packet,
    input  wire         host_in,
    input  wire         host_in_dropped,
    input  wire         host_out,
    input  wire         host_out_dropped
);

    localparam [31:0] RESET_SIZE = `EB_TRAFFIC_PORT_BURST_RESET;
    localparam [31:0] RESET_SHARE = `EB_TRAFFIC_HOST_SHARE_RESET;
    localparam [31:0] RESET_INTERVAL = `EB_TRAFFIC_CNP_INTERVAL_RESET;
    localparam [31:0] RESET_CLASS = `EB_TRAFFIC_CNP_CLASS_RESET;

    reg          looked;
    reg          answered;
    reg          known;
    reg          stored;
    reg  [31:0]  value;
    wire [19:0]  offset = {7'd0, s_reg_addr};
    wire         act = looked && s_reg_valid;
    wire         is_table = (offset & 20'hfffe0) == `EB_TRAFFIC_DSCP_PRIORITY_0 && offset[1:0] == 2'b00;
    wire [31:0]  table_value;

    ernic_priority_map priorities (
        .clk(clk),
        .rst(rst),
        .write_valid(act && s_reg_write && is_table),
        .write_index(s_reg_addr[4:2]),
        .write_data(s_reg_wdata),
        .read_index(s_reg_addr[4:2]),
        .read_data(table_value),
        .table_bits(priority_table)
    );

    assign s_reg_ready = answered && s_reg_valid;

    reg [31:0] pause_frames;
    reg [31:0] paused_clocks;
    reg [31:0] pauses_out;
    reg [31:0] marked_packets;
    reg [31:0] frames_in;
    reg [31:0] frames_in_dropped;
    reg [31:0] frames_out;
    reg [31:0] frames_out_dropped;

    always @(posedge clk) begin
        if (pause_frame_in) pause_frames <= pause_frames + 32'd1;
        if (roce_paused) paused_clocks <= paused_clocks + 32'd1;
        if (pause_roce_out || pause_other_out) pauses_out <= pauses_out + {30'd0, pause_roce_out} + {31'd0, pause_other_out};
        if (marked_packet) marked_packets <= marked_packets + 32'd1;
        if (host_in) frames_in <= frames_in + 32'd1;
        if (host_in_dropped) frames_in_dropped <= frames_in_dropped + 32'd1;
        if (host_out) frames_out <= frames_out + 32'd1;
        if (host_out_dropped) frames_out_dropped <= frames_out_dropped + 32'd1;
        if (rst) begin
            pause_frames <= 32'd0;
            paused_clocks <= 32'd0;
            pauses_out <= 32'd0;
            marked_packets <= 32'd0;
            frames_in <= 32'd0;
            frames_in_dropped <= 32'd0;
            frames_out <= 32'd0;
            frames_out_dropped <= 32'd0;
        end
    end

    always @* begin
        known = 1'b1;
        stored = 1'b1;
        value = table_value;
        case (offset)
            `EB_TRAFFIC_PORT_RATE: value = port_rate;
            `EB_TRAFFIC_PORT_BURST: value = {8'd0, port_size};
            `EB_TRAFFIC_HOST_SHARE: value = {24'd0, host_share};
            `EB_TRAFFIC_CNP_INTERVAL: value = {8'd0, cnp_interval};
            `EB_TRAFFIC_CNP_CLASS: value = {24'd0, cnp_class};
            `EB_TRAFFIC_STARVED_CLEAR: value = 32'd0;
            default: begin
                stored = is_table;
                if (!is_table) begin
                    case (offset)
                        `EB_TRAFFIC_STARVED_IMAGE: value = starved_clocks_2;
                        `EB_TRAFFIC_STARVED_LOG: value = starved_clocks_3;
                        `EB_TRAFFIC_STARVED_IMAGE_LONGEST: value = starved_longest_2;
                        `EB_TRAFFIC_STARVED_LOG_LONGEST: value = starved_longest_3;
                        `EB_TRAFFIC_PAUSED: value = {23'd0, paused_now};
                        `EB_TRAFFIC_PAUSE_FRAMES_IN: value = pause_frames;
                        `EB_TRAFFIC_PAUSED_CLOCKS: value = paused_clocks;
                        `EB_TRAFFIC_PAUSES_OUT: value = pauses_out;
                        `EB_TRAFFIC_CE_PACKETS: value = marked_packets;
                        `EB_TRAFFIC_HOST_FRAMES_IN: value = frames_in;
                        `EB_TRAFFIC_HOST_FRAMES_IN_DROPPED: value = frames_in_dropped;
                        `EB_TRAFFIC_HOST_FRAMES_OUT: value = frames_out;
                        `EB_TRAFFIC_HOST_FRAMES_OUT_DROPPED: value = frames_out_dropped;
                        default: begin
                            known = 1'b0;
                            value = 32'd0;
                        end
                    endcase
                end
            end
        endcase
    end

    always @(posedge clk) begin
        starved_clear <= 1'b0;
        looked <= s_reg_valid && !looked && !answered;
        answered <= act;
        if (act) begin
            s_reg_rdata <= value;
            s_reg_error <= !known || (s_reg_write && !stored);
            if (s_reg_write) begin
                case (offset)
                    `EB_TRAFFIC_PORT_RATE: port_rate <= s_reg_wdata;
                    `EB_TRAFFIC_PORT_BURST: port_size <= s_reg_wdata[23:0];
                    `EB_TRAFFIC_HOST_SHARE: host_share <= s_reg_wdata[7:0];
                    `EB_TRAFFIC_CNP_INTERVAL: cnp_interval <= s_reg_wdata[23:0];
                    `EB_TRAFFIC_CNP_CLASS: cnp_class <= s_reg_wdata[7:0];
                    `EB_TRAFFIC_STARVED_CLEAR: starved_clear <= 1'b1;
                    default: ;
                endcase
            end
        end
        if (rst) begin
            looked <= 1'b0;
            answered <= 1'b0;
            starved_clear <= 1'b0;
            port_rate <= `EB_TRAFFIC_PORT_RATE_RESET;
            port_size <= RESET_SIZE[23:0];
            host_share <= RESET_SHARE[7:0];
            cnp_interval <= RESET_INTERVAL[23:0];
            cnp_class <= RESET_CLASS[7:0];
        end
    end

endmodule

`default_nettype wire
