// Packets about to leave: two places a service level, emptied by strict priority at the last moment.
//
//     0 responses  1 control  2 image data  3 log
//
// A packet whose payload is in memory waits in its place until the payload has been gathered into that place's area of the stage;
// lower levels do not wait for it. Packets of a paused class stay, and others of their level behind them. Within a level the
// order is kept. What belongs to a queue pair that is switched off, and requests of one that has had an error, are thrown away here.

`timescale 1ns / 1fs
`default_nettype none
`include "ernic_command.vh"

module ernic_launch_slots (
    input  wire                     clk,
    input  wire                     rst,

    // A queue pair is switched off: its packets are not to be sent.
    input  wire                     purge_valid,
    input  wire [7:0]               purge_qp,
    // A queue pair has had an error: its requests are not to be sent, but its responses are.
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

    // Payload to be gathered into an area of the stage; done, in order.
    output wire                     m_fetch_valid,
    input  wire                     m_fetch_ready,
    output wire [2:0]               m_fetch_area,
    output wire [63:0]              m_fetch_address,
    output wire [12:0]              m_fetch_bytes,
    input  wire                     s_fetched_valid,
    input  wire [2:0]               s_fetched_area,
    input  wire                     s_fetched_error,
    // The memory did not give a payload: the packet is thrown away.
    output wire                     failed_valid,
    output wire [7:0]               failed_qp,
    output wire                     failed_response,

    // To the datapath.
    output wire                     m_cmd_valid,
    input  wire                     m_cmd_ready,
    output wire [`EB_CMD_WIDTH-1:0] m_cmd,
    output wire [2:0]               m_cmd_area
);

    localparam [1:0] RESPONSES = 2'd0;

    // Place = level and one bit that alternates.
    reg  [`EB_CMD_WIDTH-1:0] command [0:7];
    reg  [7:0] occupied;
    // Payload to be asked for; asked for.
    reg  [7:0] wanted;
    reg  [7:0] fetching;
    reg  [7:0] failed;
    reg  [7:0] cancelled;
    reg  [5:0] class_of [0:7];
    reg  [7:0] queue_pair [0:7];
    reg  [3:0] write_turn;
    reg  [3:0] read_turn;

    // ------------------------------------------------------------------------------------------------------------------ arrivals

    wire       s_response = s_response_valid && s_response_ready;
    wire       arrival = s_request_valid || s_response;
    wire [1:0] arrival_level = s_request_valid ? s_request_level : RESPONSES;
    wire [2:0] arrival_place = {arrival_level, write_turn[arrival_level]};
    wire [`EB_CMD_WIDTH-1:0] arrival_cmd = s_request_valid ? s_request_cmd : s_response_cmd;
    // verilator lint_off UNUSEDSIGNAL
    // The class is in the upper six bits; of a packet to be gathered only address and length matter.
    wire [7:0] arrival_traffic_class = arrival_cmd[`EB_CMD_TRAFFIC_CLASS];

    reg  [2:0] fetch_place;
    wire [`EB_CMD_WIDTH-1:0] to_fetch = command[fetch_place];
    // verilator lint_on UNUSEDSIGNAL

    genvar level;
    generate
        for (level = 0; level < 4; level = level + 1) begin : room
            assign level_ready[level] = !occupied[{level[1:0], write_turn[level]}];
        end
    endgenerate

    assign s_response_ready = level_ready[RESPONSES] && !s_request_valid;

    // ------------------------------------------------------------------------------------------------------------------- choices

    reg        launch_found;
    reg  [2:0] launch_place;
    reg        drop_found;
    reg  [2:0] drop_place;
    reg        fetch_found;
    // Area that the datapath still reads.
    reg        reading;
    reg  [2:0] reading_area;

    integer    index;
    reg  [2:0] head;
    reg  [2:0] second;

    always @* begin
        launch_found = 1'b0;
        launch_place = 3'd0;
        drop_found = 1'b0;
        drop_place = 3'd0;
        fetch_found = 1'b0;
        fetch_place = 3'd0;
        head = 3'd0;
        second = 3'd0;
        for (index = 3; index >= 0; index = index - 1) begin
            head = {index[1:0], read_turn[index]};
            second = {index[1:0], !read_turn[index]};
            if (occupied[head] && (cancelled[head] || failed[head]) && !fetching[head]) begin
                drop_found = 1'b1;
                drop_place = head;
            end else if (occupied[head] && !wanted[head] && !fetching[head] && !paused_classes[class_of[head]]) begin
                launch_found = 1'b1;
                launch_place = head;
            end
            if (wanted[second] && !cancelled[second] && !(reading && reading_area == second)) begin
                fetch_found = 1'b1;
                fetch_place = second;
            end
            if (wanted[head] && !cancelled[head] && !(reading && reading_area == head)) begin
                fetch_found = 1'b1;
                fetch_place = head;
            end
        end
    end

    wire launch = m_cmd_valid && m_cmd_ready;
    wire fetch = m_fetch_valid && m_fetch_ready;

    assign m_cmd_valid = launch_found && !drop_found;
    assign m_cmd = command[launch_place];
    assign m_cmd_area = launch_place;

    assign m_fetch_valid = fetch_found;
    assign m_fetch_area = fetch_place;
    assign m_fetch_address = to_fetch[`EB_CMD_LOCAL_ADDRESS];
    assign m_fetch_bytes = to_fetch[`EB_CMD_PAYLOAD_BYTES];

    assign failed_valid = drop_found && failed[drop_place] && !cancelled[drop_place];
    assign failed_qp = queue_pair[drop_place];
    assign failed_response = drop_place[2:1] == RESPONSES;

    wire       gone = launch || drop_found;
    wire [2:0] gone_place = drop_found ? drop_place : launch_place;
    integer    place;

    always @(posedge clk) begin
        if (arrival) begin
            command[arrival_place] <= arrival_cmd;
            class_of[arrival_place] <= arrival_traffic_class[7:2];
            queue_pair[arrival_place] <= arrival_cmd[`EB_CMD_QP];
            occupied[arrival_place] <= 1'b1;
            wanted[arrival_place] <= arrival_cmd[`EB_CMD_FROM_MEMORY] && arrival_cmd[`EB_CMD_PAYLOAD_BYTES] != 13'd0;
            failed[arrival_place] <= 1'b0;
            cancelled[arrival_place] <= 1'b0;
            write_turn[arrival_level] <= !write_turn[arrival_level];
        end
        if (fetch) begin
            wanted[fetch_place] <= 1'b0;
            fetching[fetch_place] <= 1'b1;
        end
        if (s_fetched_valid) begin
            fetching[s_fetched_area] <= 1'b0;
            failed[s_fetched_area] <= s_fetched_error;
        end
        if (purge_valid) begin
            for (place = 0; place < 8; place = place + 1) begin
                if (queue_pair[place] == purge_qp && occupied[place]) cancelled[place] <= 1'b1;
            end
        end
        if (flush_valid) begin
            // Behind the places of responses.
            for (place = 2; place < 8; place = place + 1) begin
                if (queue_pair[place] == flush_qp && occupied[place]) cancelled[place] <= 1'b1;
            end
        end
        if (gone) begin
            occupied[gone_place] <= 1'b0;
            wanted[gone_place] <= 1'b0;
            read_turn[gone_place[2:1]] <= !read_turn[gone_place[2:1]];
        end
        // The datapath is ready again when it has read all of the packet before.
        if (m_cmd_ready) reading <= launch && m_cmd[`EB_CMD_FROM_MEMORY];
        if (launch) reading_area <= launch_place;

        if (rst) begin
            occupied <= 8'd0;
            wanted <= 8'd0;
            fetching <= 8'd0;
            failed <= 8'd0;
            cancelled <= 8'd0;
            write_turn <= 4'd0;
            read_turn <= 4'd0;
            reading <= 1'b0;
        end
    end

endmodule

`default_nettype wire
