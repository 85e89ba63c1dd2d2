// Turns send queue entries into packets: chooses a queue pair, then gives one packet's command, every four cycles.
//
// A queue pair stands at (entry, byte offset in it, PSN). Sending moves it on; a retry moves it back to the oldest packet that
// is not acknowledged, which may lie in the middle of a message, and what was sent before is then sent again by the same steps.
// Nothing is copied: the payload is read from ring or memory again. A READ takes one packet here and the PSNs of its responses.
//
// While nobody has anything to send, the packet of an entry that is not posted yet, but is there to be seen (ernic_arm), is made up to
// its last step; its doorbell then sends it at once. Whatever happens meanwhile makes that pass void.
//
// A queue pair is looked at when its bit in `ready` is set, by whatever may have given it work, and loses the bit when there is
// none. After an error its entries are started without a packet, so that all of them complete (with an error) in order.

`timescale 1ns / 1fs
`default_nettype none
`include "ernic_command.vh"

module ernic_requester #(
    // Queue pairs. At least 2.
    parameter NUM_QP = 4,
    // Ring size in bytes. Power of two.
    parameter RING_BYTES = 4194304,
    // Messages in flight a queue pair. Power of two.
    parameter OUTSTANDING = 1024,
    // Packets in flight a queue pair. 1 to 4194304, half of what PSN comparison could bear.
    parameter PACKETS_IN_FLIGHT = 4194304,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP),
    parameter INDEX_WIDTH = $clog2(OUTSTANDING)
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire                   engine_enabled,
    input  wire [NUM_QP-1:0]      qp_enabled,
    input  wire [NUM_QP-1:0]      qp_fatal,
    input  wire [NUM_QP-1:0]      qp_waiting,
    // Queue pairs whose rate lets them start a packet.
    input  wire [NUM_QP-1:0]      shaped_ok,
    // Service level (1 to 3) and transport (0 RC, 1 UC, 2 UD) of each queue pair.
    input  wire [2*NUM_QP-1:0]    qp_level,
    input  wire [2*NUM_QP-1:0]    qp_transport,
    input  wire [7:0]             ack_interval,
    input  wire                   migreq,

    // Set a queue pair's position: after reset, when it is disabled, or by software.
    input  wire                   sweep_valid,
    input  wire [QP_WIDTH-1:0]    sweep_qp,
    input  wire                   command_valid,
    input  wire [QP_WIDTH-1:0]    command_qp,
    // Which of the values below it sets; none: all to 0.
    input  wire                   command_sets_psn,
    input  wire                   command_sets_number,
    input  wire [23:0]            command_psn,
    input  wire [15:0]            command_number,
    output wire                   command_done,

    // Something may have become possible: an entry came; an acknowledgement or an error; go back.
    input  wire                   filled_valid,
    input  wire [QP_WIDTH-1:0]    filled_qp,
    input  wire                   progress_valid,
    input  wire [QP_WIDTH-1:0]    progress_qp,
    input  wire                   retry_valid,
    input  wire [QP_WIDTH-1:0]    retry_qp,

    // All about one queue pair, one cycle after the load: configuration, buffer, acknowledged position.
    output wire                   send_load,
    output wire [QP_WIDTH-1:0]    send_qp,
    input  wire [2:0]             send_pmtu,
    input  wire [15:0]            send_pkey,
    input  wire [7:0]             send_ttl,
    input  wire [7:0]             send_traffic_class,
    input  wire [23:0]            send_dest_qpn,
    input  wire [47:0]            send_dest_mac,
    input  wire [31:0]            send_dest_ip,
    input  wire [31:0]            send_qkey,
    input  wire                   send_write_each,
    input  wire [7:0]             send_reads,
    input  wire [63:5]            send_base,
    input  wire [15:0]            send_depth,
    input  wire [15:0]            send_filled,
    input  wire [15:0]            send_done,
    input  wire [23:0]            send_oldest_psn,
    input  wire [23:0]            send_acked_offset,
    input  wire [7:0]             send_reads_done,
    // Its present entry, one cycle after the load.
    output wire                   wqe_load,
    output wire [15:0]            wqe_number,
    input  wire                   wqe_good,
    input  wire [15:0]            wqe_identifier,
    input  wire [63:0]            wqe_local_address,
    input  wire [31:0]            wqe_length,
    input  wire [7:0]             wqe_opcode,
    input  wire [63:0]            wqe_remote_address,
    input  wire [31:0]            wqe_remote_key,
    input  wire [31:0]            wqe_immediate,
    // An entry whose doorbell has not come: it is loaded instead of the present one, and told when it is sent.
    input  wire                   armed_valid,
    input  wire                   armed_renewed,
    input  wire [QP_WIDTH-1:0]    armed_qp,
    input  wire [15:0]            armed_number,
    output wire                   wqe_armed,
    output wire                   armed_sent,
    input  wire                   fetch_calm,
    input  wire                   posted_valid,
    input  wire [QP_WIDTH-1:0]    posted_qp,
    // Entries wanted from another place of the queue; held until ready.
    output wire                   rewind_valid,
    output wire [15:0]            rewind_number,
    input  wire                   rewind_ready,
    // The present entry has moved on: the buffer has space.
    output wire                   consumed_valid,
    output wire [QP_WIDTH-1:0]    consumed_qp,

    // A message is started.
    output wire                   started_valid,
    output wire [QP_WIDTH-1:0]    started_qp,
    output wire [INDEX_WIDTH-1:0] started_index,
    output wire [23:0]            started_first_psn,
    output reg  [23:0]            started_last_psn,
    output wire                   started_in_ring,
    output wire [63:0]            started_address,
    output wire [23:0]            started_length,
    output wire [15:0]            started_identifier,
    output wire [7:0]             started_opcode,
    // The queue pair has had an error, and what was started will not be acknowledged; or it cannot be sent at all.
    output wire                   flushed_valid,
    output wire                   illegal_valid,
    // The oldest packet that is not acknowledged leaves: its time runs.
    output wire                   timed_valid,
    // A packet leaves.
    output wire                   sent_valid,
    output wire                   sent_again,
    output wire                   idle,
    // Levels in which somebody waits; the level that is being served.
    output wire [3:1]             level_waiting,
    output wire                   level_busy,
    output wire [1:0]             level_served,

    // Readers, one cycle after their load.
    input  wire                   fetch_load,
    input  wire [QP_WIDTH-1:0]    fetch_qp,
    output reg  [15:0]            fetch_current,
    input  wire                   ack_load,
    input  wire [QP_WIDTH-1:0]    ack_qp,
    output reg  [15:0]            ack_started,
    output reg  [23:0]            ack_next_psn,
    input  wire                   timer_load,
    input  wire [QP_WIDTH-1:0]    timer_qp,
    output reg  [23:0]            timer_next_psn,
    input  wire                   status_load,
    input  wire [QP_WIDTH-1:0]    status_qp,
    output reg  [15:0]            status_current,
    output reg  [15:0]            status_started,
    output reg  [23:0]            status_next_psn,
    output reg  [23:0]            status_ssn,

    // Packets, each at a level that has room.
    input  wire [3:0]             level_ready,
    output wire                   m_cmd_valid,
    output wire [1:0]             m_cmd_level,
    output wire [`EB_CMD_WIDTH-1:0] m_cmd
);

    // Queue entry opcodes (PG332).
    localparam [7:0] WQE_WRITE = 8'h00;
    localparam [7:0] WQE_WRITE_IMMEDIATE = 8'h01;
    localparam [7:0] WQE_SEND = 8'h02;
    localparam [7:0] WQE_SEND_IMMEDIATE = 8'h03;
    localparam [7:0] WQE_READ = 8'h04;
    localparam [7:0] WQE_SEND_INVALIDATE = 8'h0c;
    // Packet opcodes: transport and operation (IBTA vol. 1, 9.2.1). An operation is a kind's first one plus its place.
    localparam [4:0] SEND_FIRST = 5'h00;
    localparam [4:0] WRITE_FIRST = 5'h06;
    localparam [4:0] PLACE_MIDDLE = 5'd1;
    localparam [4:0] PLACE_LAST = 5'd2;
    localparam [4:0] PLACE_ONLY = 5'd4;
    localparam [4:0] READ_REQUEST = 5'h0c;
    localparam [4:0] SEND_LAST_INVALIDATE = 5'h16;
    localparam [4:0] SEND_ONLY_INVALIDATE = 5'h17;
    localparam [1:0] RC = 2'd0;
    localparam [1:0] UC = 2'd1;
    localparam [1:0] UD = 2'd2;
    // A SEND of no more octets has them in the entry, from this octet on.
    localparam [31:0] INLINE_LENGTH = 32'd16;
    localparam [5:0] INLINE_OFFSET = 6'd32;
    // Longest message: 8 MiB.
    localparam [31:0] MAX_LENGTH = 32'd8388608;
    localparam [23:0] MAX_PACKETS = PACKETS_IN_FLIGHT;
    // PSNs that far on are behind.
    localparam [23:0] PSN_HALF = 24'h800000;
    localparam [15:0] MAX_MESSAGES = OUTSTANDING;
    localparam RING_WIDTH = $clog2(RING_BYTES);
    localparam [63:0] RING_MASK = RING_BYTES - 1;

    // --------------------------------------------------------------------------------------------- position of each queue pair

    reg [15:0]       current    [0:NUM_QP-1];
    reg [15:0]       started    [0:NUM_QP-1];
    reg [23:0]       offset     [0:NUM_QP-1];
    reg [23:0]       psn        [0:NUM_QP-1];
    reg [23:0]       next_psn   [0:NUM_QP-1];
    reg [23:0]       ssn        [0:NUM_QP-1];
    reg [7:0]        since_ack  [0:NUM_QP-1];
    reg [7:0]        reads      [0:NUM_QP-1];
    // Which connection of the queue pair it is, so that late reports of the one before are known.
    reg [1:0]        epoch      [0:NUM_QP-1];
    // Met an entry that cannot be executed: stops until the error is known everywhere.
    reg [NUM_QP-1:0] halted;
    reg [NUM_QP-1:0] ready;
    reg [NUM_QP-1:0] retry;

    // --------------------------------------------------------------------------------------------------------- state of a pass

    localparam [2:0] IDLE = 3'd0;
    localparam [2:0] LOAD = 3'd1;
    localparam [2:0] DECIDE = 3'd2;
    localparam [2:0] CALCULATE = 3'd3;
    localparam [2:0] ISSUE = 3'd4;
    localparam [2:0] MOVE = 3'd5;
    localparam [2:0] REWIND = 3'd6;
    // All is ready but the doorbell.
    localparam [2:0] ARMED = 3'd7;

    localparam [1:0] SEND = 2'd0;
    localparam [1:0] FLUSH = 2'd1;
    localparam [1:0] ILLEGAL = 2'd2;

    reg  [2:0]          state;
    reg  [1:0]          action;
    reg  [QP_WIDTH-1:0] qp;
    reg  [QP_WIDTH-1:0] following;
    reg                 following_valid;
    wire                any_ready;
    wire [QP_WIDTH-1:0] choice;
    wire                choosing_again = state == CALCULATE;
    wire [NUM_QP-1:0]   in_hand = choosing_again ? {{(NUM_QP-1){1'b0}}, 1'b1} << qp : {NUM_QP{1'b0}};
    wire [1:0]          q_level = qp_level[2*qp +: 2];
    wire                issue;

    // What is only to be completed with an error needs neither room nor tokens. Whoever found no room keeps its turn.
    // verilator lint_off PINCONNECTEMPTY
    ernic_scheduler #(
        .NUM_QP(NUM_QP)
    ) scheduler (
        .clk(clk),
        .rst(rst),
        .ready(ready | in_hand),
        .shaped_ok(shaped_ok),
        .exempt(qp_fatal),
        .service_level(qp_level),
        .level_ready(level_ready[3:1]),
        .hand_qp(qp),
        .hand_level(q_level),
        .served(issue),
        .ahead(choosing_again),
        .any(any_ready),
        .grant(choice),
        .grant_level(),
        .waiting(level_waiting)
    );
    // verilator lint_on PINCONNECTEMPTY


    // What was loaded of the queue pair in hand.
    reg [15:0] q_current;
    reg [15:0] q_started;
    reg [23:0] q_offset;
    reg [23:0] q_psn;
    reg [23:0] q_next_psn;
    reg [23:0] q_ssn;
    reg [7:0]  q_since_ack;
    reg [7:0]  q_reads;
    reg        q_enabled;
    reg        q_fatal;
    reg        q_waiting;
    reg        q_halted;
    reg        q_retry;

    // A pass for an entry that is not posted yet; one has led to nothing, and nothing has happened since.
    reg                 arming;
    reg                 futile;
    wire                disturbed = any_ready || command_valid || !engine_enabled || !armed_valid || armed_renewed || armed_qp != qp
        || armed_number != q_current;

    assign level_busy = (state != IDLE && !arming) || armed_sent;
    assign level_served = q_level;

    assign send_load = state == LOAD;
    assign send_qp = qp;
    assign wqe_load = state == DECIDE;
    assign wqe_armed = arming;
    assign wqe_number = q_current;
    assign idle = (state == IDLE || arming) && ready == {NUM_QP{1'b0}};

    // ----------------------------------------------------------------------------------------------------------------- decide

    wire        starting = q_offset == 24'd0 && q_current == q_started;
    wire        fresh = q_psn == q_next_psn;
    wire        have = send_filled != q_current;
    wire        behind = q_psn - send_oldest_psn >= PSN_HALF;
    wire [23:0] packets_in_flight = q_next_psn - send_oldest_psn;
    wire [15:0] messages_in_flight = q_started - send_done;
    wire        messages_full = starting && messages_in_flight >= MAX_MESSAGES;
    wire        packets_full = fresh && packets_in_flight >= MAX_PACKETS;

    // Where to go back (or ahead) to.
    reg  [15:0] target_number;
    reg  [23:0] target_psn;
    reg  [23:0] target_offset;
    // The target's entry is in the buffer, or will be the next to come there.
    wire [15:0] target_distance = target_number - q_current;
    wire [15:0] buffered = send_filled - q_current;
    wire        target_buffered = target_distance <= buffered;

    // -------------------------------------------------------------------------------------------------------------- calculate

    reg         alone;
    reg         reads_full;
    reg  [63:0] inline_address;
    wire [1:0]  transport = qp_transport[2*qp +: 2];
    wire [12:0] pmtu_bytes = 13'd256 << send_pmtu;
    wire [23:0] left = wqe_length[23:0] - q_offset;
    wire        fits = left <= {11'd0, pmtu_bytes};
    wire        is_read = wqe_opcode == WQE_READ;
    wire        is_write = wqe_opcode == WQE_WRITE || wqe_opcode == WQE_WRITE_IMMEDIATE;
    wire        is_send = wqe_opcode == WQE_SEND || wqe_opcode == WQE_SEND_IMMEDIATE || wqe_opcode == WQE_SEND_INVALIDATE;
    wire        immediate = wqe_opcode == WQE_WRITE_IMMEDIATE || wqe_opcode == WQE_SEND_IMMEDIATE;
    wire        invalidate = wqe_opcode == WQE_SEND_INVALIDATE;
    wire        each = send_write_each && transport == UC && is_write;
    wire        first = q_offset == 24'd0 || each;
    wire        last = fits || is_read;
    wire        in_entry = is_send && wqe_length <= INLINE_LENGTH;
    wire        in_ring = wqe_local_address[63:RING_WIDTH] == {(64-RING_WIDTH){1'b0}} && !in_entry;
    // Where a message may go depends on the transport; what is read must not overwrite samples.
    wire        carried = transport == RC ? is_send || is_write || (is_read && !in_ring)
        : transport == UC ? (is_send && !invalidate) || is_write : is_send && !invalidate && fits;
    wire        executable = wqe_good && wqe_length <= MAX_LENGTH && carried;
    // Packets to the end of the message less one.
    wire [23:0] left_less_one = left - 24'd1;
    wire [23:0] packets_less_one = left == 24'd0 ? 24'd0 : left_less_one >> (4'd8 + {1'b0, send_pmtu});

    reg  [4:0]  operation;

    always @* begin
        case ({first, fits})
            2'b11: operation = PLACE_ONLY;
            2'b10: operation = each ? PLACE_ONLY : 5'd0;
            2'b01: operation = PLACE_LAST;
            default: operation = PLACE_MIDDLE;
        endcase
        operation = operation + (is_write ? WRITE_FIRST : SEND_FIRST) + {4'd0, immediate && fits};
        if (invalidate && fits) operation = first ? SEND_ONLY_INVALIDATE : SEND_LAST_INVALIDATE;
        if (is_read) operation = READ_REQUEST;
    end

    reg         q_last;
    reg  [4:0]  q_operation;
    reg  [12:0] q_bytes;
    reg  [23:0] q_span;
    reg         q_read;
    reg         q_each;
    reg         q_in_ring;
    reg  [63:0] q_address;

    // ------------------------------------------------------------------------------------------------------------------ issue

    wire        reliable = transport == RC;
    assign      armed_sent = state == ARMED && !disturbed && posted_valid && posted_qp == qp && fetch_calm && level_ready[q_level]
        && shaped_ok[qp] && qp_enabled[qp] && !qp_fatal[qp] && !qp_waiting[qp];
    // Once there is an error not even the packet in hand leaves; its queue pair is then looked at again.
    assign      issue = (state == ISSUE && (action != SEND || (level_ready[q_level] && !qp_fatal[qp]))) || armed_sent;
    wire        issue_send = issue && action == SEND;
    // The last packet that may be in flight asks too: nothing more would leave until it is answered.
    wire        fills = q_psn - send_oldest_psn >= MAX_PACKETS - 24'd1;
    wire        ask = reliable && !q_read && (q_last || fills || (ack_interval != 8'd0 && q_since_ack + 8'd1 >= ack_interval));
    // Without a packet the entry counts as done with, too.
    wire        next_entry = q_last || action != SEND;
    wire        moved = (state == MOVE && target_buffered) || (state == REWIND && rewind_ready);

    // A command comes in between two passes.
    wire        between = state == IDLE;
    assign      command_done = command_valid && between && !sweep_valid;

    assign rewind_valid = state == REWIND;
    assign rewind_number = target_number;
    assign consumed_valid = (issue && next_entry) || moved;
    assign consumed_qp = qp;
    assign started_valid = issue && starting;
    assign started_qp = qp;
    assign started_index = q_started[INDEX_WIDTH-1:0];
    assign started_first_psn = q_psn;
    assign started_in_ring = q_in_ring;
    assign started_address = q_address;
    assign started_length = wqe_length[23:0];
    assign started_identifier = wqe_identifier;
    assign started_opcode = wqe_opcode;
    assign flushed_valid = issue && (action == FLUSH || qp_fatal[qp]);
    assign illegal_valid = issue && action == ILLEGAL;
    assign timed_valid = issue_send && reliable && q_psn == send_oldest_psn;
    assign sent_valid = issue_send;
    assign sent_again = !fresh;

    // ---------------------------------------------------------------------------------------------------------------- command

    wire [63:0] packet_address = q_address + {40'd0, q_offset};
    wire [63:0] remote_offset = q_read || q_each ? {40'd0, q_offset} : 64'd0;
    reg  [`EB_CMD_WIDTH-1:0] command;

    always @* begin
        command = {`EB_CMD_WIDTH{1'b0}};
        command[`EB_CMD_OPCODE] = {transport == UD ? 3'b011 : {2'b00, transport == UC}, q_operation};
        command[`EB_CMD_MIGREQ] = migreq;
        command[`EB_CMD_ACK_REQUEST] = ask;
        command[`EB_CMD_PKEY] = send_pkey;
        command[`EB_CMD_DEST_QPN] = send_dest_qpn;
        command[`EB_CMD_PSN] = q_psn;
        command[`EB_CMD_REMOTE_ADDRESS] = wqe_remote_address + remote_offset;
        command[`EB_CMD_REMOTE_KEY] = wqe_remote_key;
        command[`EB_CMD_DMA_LENGTH] = q_each ? {19'd0, q_bytes} : wqe_length - remote_offset[31:0];
        command[`EB_CMD_IMMEDIATE] = wqe_immediate;
        command[`EB_CMD_QKEY] = send_qkey;
        command[`EB_CMD_SOURCE_QPN] = {{(24-QP_WIDTH){1'b0}}, qp} + 24'd1;
        command[`EB_CMD_PAYLOAD_BYTES] = q_read ? 13'd0 : q_bytes;
        command[`EB_CMD_LOCAL_ADDRESS] = q_in_ring ? packet_address & RING_MASK : packet_address;
        command[`EB_CMD_FROM_MEMORY] = !q_in_ring;
        command[`EB_CMD_DEST_MAC] = send_dest_mac;
        command[`EB_CMD_DEST_IP] = send_dest_ip;
        command[`EB_CMD_TRAFFIC_CLASS] = send_traffic_class;
        command[`EB_CMD_TTL] = send_ttl;
        command[`EB_CMD_QP] = {{(8-QP_WIDTH){1'b0}}, qp};
        command[`EB_CMD_REPORT] = !reliable;
        command[`EB_CMD_EPOCH] = epoch[qp];
    end

    assign m_cmd_valid = issue_send;
    assign m_cmd_level = q_level;
    assign m_cmd = command;

    // ------------------------------------------------------------------------------------------------- one write port for each

    reg                store;
    reg [QP_WIDTH-1:0] store_qp;
    reg [15:0]         store_current;
    reg [15:0]         store_started;
    reg [23:0]         store_offset;
    reg [23:0]         store_psn;
    reg [23:0]         store_next_psn;
    reg [23:0]         store_ssn;
    reg [7:0]          store_since_ack;
    reg [7:0]          store_reads;
    // Software may set a part only.
    reg                store_numbers;
    reg                store_psns;

    always @* begin
        store = 1'b0;
        store_qp = qp;
        store_current = q_current;
        store_started = q_started;
        store_offset = q_offset;
        store_psn = q_psn;
        store_next_psn = q_next_psn;
        store_ssn = q_ssn;
        store_since_ack = q_since_ack;
        store_reads = q_reads;
        store_numbers = 1'b1;
        store_psns = 1'b1;
        if (sweep_valid || command_done) begin
            store = 1'b1;
            store_qp = sweep_valid ? sweep_qp : command_qp;
            store_current = sweep_valid || !command_sets_number ? 16'd0 : command_number;
            store_started = store_current;
            store_offset = 24'd0;
            store_psn = sweep_valid || !command_sets_psn ? 24'd0 : command_psn;
            store_next_psn = store_psn;
            store_ssn = 24'd0;
            store_since_ack = 8'd0;
            store_reads = 8'd0;
            store_numbers = sweep_valid || !command_sets_psn;
            store_psns = sweep_valid || !command_sets_number;
        end else if (issue) begin
            store = 1'b1;
            store_current = next_entry ? q_current + 16'd1 : q_current;
            store_offset = next_entry ? 24'd0 : q_offset + {11'd0, q_bytes};
            if (starting) begin
                store_started = q_started + 16'd1;
                store_ssn = q_ssn + 24'd1;
                store_reads = q_reads + {7'd0, wqe_opcode == WQE_READ};
            end
            if (action == SEND) begin
                store_psn = q_psn + q_span;
                if (fresh) store_next_psn = q_psn + q_span;
                store_since_ack = ask ? 8'd0 : q_since_ack + 8'd1;
            end
        end else if (moved) begin
            store = 1'b1;
            store_current = target_number;
            store_offset = target_offset;
            store_psn = target_psn;
            store_since_ack = 8'd0;
        end
    end

    always @(posedge clk) begin
        if (store && store_numbers) begin
            current[store_qp] <= store_current;
            started[store_qp] <= store_started;
            offset[store_qp] <= store_offset;
            ssn[store_qp] <= store_ssn;
            reads[store_qp] <= store_reads;
        end
        if (store && store_psns) begin
            psn[store_qp] <= store_psn;
            next_psn[store_qp] <= store_next_psn;
            since_ack[store_qp] <= store_since_ack;
        end
        if (state == LOAD) begin
            q_current <= current[qp];
            q_started <= started[qp];
            q_offset <= offset[qp];
            q_psn <= psn[qp];
            q_next_psn <= next_psn[qp];
            q_ssn <= ssn[qp];
            q_since_ack <= since_ack[qp];
            q_reads <= reads[qp];
        end
        if (fetch_load) fetch_current <= current[fetch_qp];
        if (ack_load) begin
            ack_started <= started[ack_qp];
            ack_next_psn <= next_psn[ack_qp];
        end
        if (timer_load) timer_next_psn <= next_psn[timer_qp];
        if (status_load) begin
            status_current <= current[status_qp];
            status_started <= started[status_qp];
            status_next_psn <= next_psn[status_qp];
            status_ssn <= ssn[status_qp];
        end
    end

    // ----------------------------------------------------------------------------------------------------------------- events

    // A retry asked for while a queue pair is being looked at must not be lost: bits are taken at the load, and set wins.
    always @(posedge clk) begin
        if (state == LOAD && !arming) begin
            ready[qp] <= 1'b0;
            retry[qp] <= 1'b0;
        end
        if ((state == ISSUE && action != ILLEGAL) || moved || armed_sent) ready[qp] <= 1'b1;
        if (filled_valid) ready[filled_qp] <= 1'b1;
        if (progress_valid) ready[progress_qp] <= 1'b1;
        if (retry_valid) begin
            ready[retry_qp] <= 1'b1;
            retry[retry_qp] <= 1'b1;
        end
        if (illegal_valid) halted[qp] <= 1'b1;
        if (sweep_valid) epoch[sweep_qp] <= 2'd0;
        if (command_done && !command_sets_psn && !command_sets_number) begin
            epoch[command_qp] <= epoch[command_qp] + 2'd1;
            halted[command_qp] <= 1'b0;
            retry[command_qp] <= 1'b0;
        end
        if (rst) begin
            ready <= {NUM_QP{1'b0}};
            retry <= {NUM_QP{1'b0}};
            halted <= {NUM_QP{1'b0}};
        end
    end

    // ------------------------------------------------------------------------------------------------------------------ passes

    always @(posedge clk) begin
        if (filled_valid || progress_valid || retry_valid || command_valid || !armed_valid || armed_renewed
            || (state == LOAD && !arming)) futile <= 1'b0;
        case (state)
            IDLE: begin
                arming <= 1'b0;
                if (any_ready && engine_enabled && !command_valid) begin
                    qp <= choice;
                    state <= LOAD;
                end else if (armed_valid && !futile && engine_enabled && !command_valid) begin
                    qp <= armed_qp;
                    arming <= 1'b1;
                    state <= LOAD;
                end
            end
            LOAD: begin
                q_enabled <= qp_enabled[qp];
                q_fatal <= qp_fatal[qp];
                q_waiting <= qp_waiting[qp];
                q_halted <= halted[qp];
                q_retry <= retry[qp];
                state <= DECIDE;
            end
            DECIDE: begin
                state <= IDLE;
                action <= SEND;
                target_number <= send_done;
                target_psn <= send_oldest_psn;
                target_offset <= send_acked_offset;
                alone <= q_started == send_done;
                reads_full <= starting && q_reads - send_reads_done >= (send_reads == 8'd0 ? 8'd1 : send_reads);
                inline_address <= {send_base, 5'd0} + {42'd0, q_current & (send_depth - 16'd1), INLINE_OFFSET};
                if (arming) begin
                    if (q_enabled && !q_fatal && !q_halted && !q_waiting && !q_retry && !behind && starting && !have
                        && !messages_full && !packets_full && !disturbed) state <= CALCULATE;
                    else futile <= 1'b1;
                end else if (q_enabled && q_fatal) begin
                    action <= FLUSH;
                    target_number <= q_started;
                    target_psn <= q_next_psn;
                    target_offset <= 24'd0;
                    if (!starting) state <= MOVE;
                    else if (have && !messages_full) state <= CALCULATE;
                end else if (q_enabled && !q_halted && !q_waiting) begin
                    if (q_retry || behind) state <= MOVE;
                    else if (have && !messages_full && !packets_full) state <= CALCULATE;
                end
            end
            CALCULATE: begin
                following <= choice;
                following_valid <= engine_enabled && any_ready;
                q_last <= last;
                q_bytes <= fits ? left[12:0] : pmtu_bytes;
                started_last_psn <= q_psn + packets_less_one;
                q_operation <= operation;
                q_span <= is_read ? packets_less_one + 24'd1 : 24'd1;
                q_read <= is_read;
                q_each <= each;
                q_in_ring <= in_ring;
                q_address <= in_entry ? inline_address : wqe_local_address;
                state <= ISSUE;
                if (action == SEND && !executable) begin
                    // What was posted before it comes to its end first.
                    action <= ILLEGAL;
                    if (starting && !alone) state <= IDLE;
                    if (arming) begin
                        state <= IDLE;
                        futile <= 1'b1;
                    end
                end else if (action == SEND && is_read && reads_full) begin
                    // Goes on when one of those before it has got all its data.
                    state <= IDLE;
                    futile <= arming;
                end else if (arming) begin
                    // The entry was loaded the cycle before.
                    state <= armed_renewed ? IDLE : ARMED;
                end
            end
            ARMED: if (disturbed || posted_valid) state <= IDLE;
            ISSUE: begin
                // Without room after all the queue pair is chosen again later; others are not to wait for it.
                if (issue) begin
                    qp <= following;
                end
                state <= issue && following_valid && !command_valid ? LOAD : IDLE;
            end
            MOVE: state <= target_buffered ? IDLE : REWIND;
            default: if (rewind_ready) state <= IDLE;
        endcase
        if (rst) begin
            state <= IDLE;
            arming <= 1'b0;
            futile <= 1'b0;
            qp <= {QP_WIDTH{1'b0}};
        end
    end

    generate
        if (PACKETS_IN_FLIGHT < 1 || PACKETS_IN_FLIGHT > 4194304) begin : check_packets_in_flight
            initial $fatal(1, "%m: PACKETS_IN_FLIGHT must be 1 to 4194304");
        end
    endgenerate

endmodule

`default_nettype wire
