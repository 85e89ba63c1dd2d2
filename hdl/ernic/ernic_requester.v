// Turns send queue entries into packets: chooses a queue pair, then gives the datapath one packet's command, every four cycles.
//
// A queue pair stands at (entry, byte offset in it, PSN). Sending moves it on; a retry moves it back to the oldest packet that
// is not acknowledged, which may lie in the middle of a message, and what was sent before is then sent again by the same steps.
// Nothing is copied: the payload is read from the ring again.
//
// A queue pair is looked at when its bit in `ready` is set, by whatever may have given it work, and loses the bit when there is
// none. After an error its entries are started without a packet, so that all of them complete (with an error) in order.

`timescale 1ns / 1fs
`default_nettype none

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
    input  wire [15:0]            send_filled,
    input  wire [15:0]            send_done,
    input  wire [23:0]            send_oldest_psn,
    input  wire [23:0]            send_acked_offset,
    // Its present entry, one cycle after the load.
    output wire                   wqe_load,
    output wire [15:0]            wqe_number,
    input  wire                   wqe_good,
    input  wire [15:0]            wqe_identifier,
    input  wire [31:0]            wqe_local_address,
    input  wire [31:0]            wqe_length,
    input  wire [7:0]             wqe_opcode,
    input  wire [63:0]            wqe_remote_address,
    input  wire [31:0]            wqe_remote_key,
    input  wire [31:0]            wqe_immediate,
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
    output wire [31:0]            started_address,
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

    // Packets for the datapath.
    output reg                    m_cmd_valid,
    input  wire                   m_cmd_ready,
    output reg  [7:0]             m_cmd_opcode,
    output wire                   m_cmd_solicited,
    output wire                   m_cmd_migreq,
    output reg                    m_cmd_ack_request,
    output reg  [15:0]            m_cmd_pkey,
    output reg  [23:0]            m_cmd_dest_qpn,
    output reg  [23:0]            m_cmd_psn,
    output reg  [63:0]            m_cmd_remote_address,
    output reg  [31:0]            m_cmd_remote_key,
    output reg  [31:0]            m_cmd_dma_length,
    output reg  [31:0]            m_cmd_immediate,
    output reg  [31:0]            m_cmd_local_address,
    output reg  [12:0]            m_cmd_payload_bytes,
    output reg  [47:0]            m_cmd_dest_mac,
    output reg  [31:0]            m_cmd_dest_ip,
    output reg  [7:0]             m_cmd_traffic_class,
    output reg  [7:0]             m_cmd_ttl
);

    // Queue entry opcodes (PG332) and packet opcodes (IBTA vol. 1, 9.2.1).
    localparam [7:0] WQE_WRITE = 8'h00;
    localparam [7:0] WQE_WRITE_IMMEDIATE = 8'h01;
    localparam [7:0] RC_WRITE_FIRST = 8'h06;
    localparam [7:0] RC_WRITE_MIDDLE = 8'h07;
    localparam [7:0] RC_WRITE_LAST = 8'h08;
    localparam [7:0] RC_WRITE_LAST_IMMEDIATE = 8'h09;
    localparam [7:0] RC_WRITE_ONLY = 8'h0a;
    localparam [7:0] RC_WRITE_ONLY_IMMEDIATE = 8'h0b;
    // Longest message: 8 MiB.
    localparam [31:0] MAX_LENGTH = 32'd8388608;
    localparam [23:0] MAX_PACKETS = PACKETS_IN_FLIGHT;
    // PSNs that far on are behind.
    localparam [23:0] PSN_HALF = 24'h800000;
    localparam [15:0] MAX_MESSAGES = OUTSTANDING;
    localparam [31:0] RING_MASK = RING_BYTES - 1;

    // --------------------------------------------------------------------------------------------- position of each queue pair

    reg [15:0]       current    [0:NUM_QP-1];
    reg [15:0]       started    [0:NUM_QP-1];
    reg [23:0]       offset     [0:NUM_QP-1];
    reg [23:0]       psn        [0:NUM_QP-1];
    reg [23:0]       next_psn   [0:NUM_QP-1];
    reg [23:0]       ssn        [0:NUM_QP-1];
    reg [7:0]        since_ack  [0:NUM_QP-1];
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

    ernic_qp_arbiter #(
        .NUM_QP(NUM_QP)
    ) arbiter (
        .request(choosing_again ? ready | ({{(NUM_QP-1){1'b0}}, 1'b1} << qp) : ready),
        .last(qp),
        .any(any_ready),
        .grant(choice)
    );

    // What was loaded of the queue pair in hand.
    reg [15:0] q_current;
    reg [15:0] q_started;
    reg [23:0] q_offset;
    reg [23:0] q_psn;
    reg [23:0] q_next_psn;
    reg [23:0] q_ssn;
    reg [7:0]  q_since_ack;
    reg        q_enabled;
    reg        q_fatal;
    reg        q_waiting;
    reg        q_halted;
    reg        q_retry;

    assign send_load = state == LOAD;
    assign send_qp = qp;
    assign wqe_load = state == DECIDE;
    assign wqe_number = q_current;
    assign idle = state == IDLE && !any_ready;

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
    wire [12:0] pmtu_bytes = 13'd256 << send_pmtu;
    wire [23:0] left = wqe_length[23:0] - q_offset;
    wire        last = left <= {11'd0, pmtu_bytes};
    wire        first = q_offset == 24'd0;
    wire        immediate = wqe_opcode == WQE_WRITE_IMMEDIATE;
    // Management datagrams (queue pair 1) are not sent by this queue.
    wire        executable = wqe_good && wqe_length <= MAX_LENGTH && (wqe_opcode == WQE_WRITE || immediate)
        && qp != {QP_WIDTH{1'b0}};
    // Packets of the message less one.
    wire [23:0] length_less_one = wqe_length[23:0] - 24'd1;
    wire [23:0] packets_less_one = wqe_length[23:0] == 24'd0 ? 24'd0 : length_less_one >> (4'd8 + {1'b0, send_pmtu});

    reg         q_last;
    reg  [7:0]  q_opcode;
    reg  [12:0] q_bytes;

    // ------------------------------------------------------------------------------------------------------------------ issue

    wire        issue = state == ISSUE && (action != SEND || !m_cmd_valid || m_cmd_ready);
    wire        issue_send = issue && action == SEND;
    // The last packet that may be in flight asks too: nothing more would leave until it is answered.
    wire        fills = q_psn - send_oldest_psn >= MAX_PACKETS - 24'd1;
    wire        ask = q_last || fills || (ack_interval != 8'd0 && q_since_ack + 8'd1 >= ack_interval);
    // Without a packet the entry counts as done with, too.
    wire        next_entry = q_last || action != SEND;
    wire        moved = (state == MOVE && target_buffered) || (state == REWIND && rewind_ready);

    // A command comes in between two passes, or while another queue pair's packet waits for the datapath.
    wire        between = state == IDLE || (state == ISSUE && !issue && command_qp != qp);
    assign      command_done = command_valid && between && !sweep_valid;

    assign rewind_valid = state == REWIND;
    assign rewind_number = target_number;
    assign consumed_valid = (issue && next_entry) || moved;
    assign consumed_qp = qp;
    assign started_valid = issue && starting;
    assign started_qp = qp;
    assign started_index = q_started[INDEX_WIDTH-1:0];
    assign started_first_psn = q_psn;
    assign started_address = wqe_local_address & RING_MASK;
    assign started_length = wqe_length[23:0];
    assign started_identifier = wqe_identifier;
    assign started_opcode = wqe_opcode;
    assign flushed_valid = issue && (action == FLUSH || qp_fatal[qp]);
    assign illegal_valid = issue && action == ILLEGAL;
    assign timed_valid = issue_send && q_psn == send_oldest_psn;
    assign sent_valid = issue_send;
    assign sent_again = !fresh;
    assign m_cmd_solicited = 1'b0;
    assign m_cmd_migreq = migreq;

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
            store_numbers = sweep_valid || !command_sets_psn;
            store_psns = sweep_valid || !command_sets_number;
        end else if (issue) begin
            store = 1'b1;
            store_current = next_entry ? q_current + 16'd1 : q_current;
            store_offset = next_entry ? 24'd0 : q_offset + {11'd0, q_bytes};
            if (starting) begin
                store_started = q_started + 16'd1;
                store_ssn = q_ssn + 24'd1;
            end
            if (action == SEND) begin
                store_psn = q_psn + 24'd1;
                if (fresh) store_next_psn = q_psn + 24'd1;
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
        if (state == LOAD) begin
            ready[qp] <= 1'b0;
            retry[qp] <= 1'b0;
        end
        if ((issue && action != ILLEGAL) || moved) ready[qp] <= 1'b1;
        if (filled_valid) ready[filled_qp] <= 1'b1;
        if (progress_valid) ready[progress_qp] <= 1'b1;
        if (retry_valid) begin
            ready[retry_qp] <= 1'b1;
            retry[retry_qp] <= 1'b1;
        end
        if (illegal_valid) halted[qp] <= 1'b1;
        if (command_done && !command_sets_psn && !command_sets_number) begin
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
        if (m_cmd_ready) m_cmd_valid <= 1'b0;

        case (state)
            IDLE:
                if ((filled_valid || any_ready) && engine_enabled && !command_valid) begin
                    qp <= any_ready ? choice : filled_qp;
                    state <= LOAD;
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
                if (q_enabled && q_fatal) begin
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
                following_valid <= engine_enabled;
                q_last <= last;
                q_bytes <= last ? left[12:0] : pmtu_bytes;
                started_last_psn <= q_psn + packets_less_one;
                case ({first, last, immediate})
                    3'b100, 3'b101: q_opcode <= RC_WRITE_FIRST;
                    3'b010: q_opcode <= RC_WRITE_LAST;
                    3'b011: q_opcode <= RC_WRITE_LAST_IMMEDIATE;
                    3'b110: q_opcode <= RC_WRITE_ONLY;
                    3'b111: q_opcode <= RC_WRITE_ONLY_IMMEDIATE;
                    default: q_opcode <= RC_WRITE_MIDDLE;
                endcase
                state <= ISSUE;
                if (action == SEND && !executable) begin
                    // What was posted before it comes to its end first.
                    action <= ILLEGAL;
                    if (starting && !alone) state <= IDLE;
                end
            end
            ISSUE:
                if (issue) begin
                    qp <= following;
                    state <= following_valid && !command_valid ? LOAD : IDLE;
                    if (action == SEND) begin
                        m_cmd_valid <= 1'b1;
                        m_cmd_opcode <= q_opcode;
                        m_cmd_ack_request <= ask;
                        m_cmd_pkey <= send_pkey;
                        m_cmd_dest_qpn <= send_dest_qpn;
                        m_cmd_psn <= q_psn;
                        m_cmd_remote_address <= wqe_remote_address;
                        m_cmd_remote_key <= wqe_remote_key;
                        m_cmd_dma_length <= wqe_length;
                        m_cmd_immediate <= wqe_immediate;
                        m_cmd_local_address <= (wqe_local_address + {8'd0, q_offset}) & RING_MASK;
                        m_cmd_payload_bytes <= q_bytes;
                        m_cmd_dest_mac <= send_dest_mac;
                        m_cmd_dest_ip <= send_dest_ip;
                        m_cmd_traffic_class <= send_traffic_class;
                        m_cmd_ttl <= send_ttl;
                    end
                end else if (!qp_enabled[qp]) begin
                    // Disabled meanwhile: not to be waited for.
                    state <= IDLE;
                end
            MOVE: state <= target_buffered ? IDLE : REWIND;
            default: if (rewind_ready) state <= IDLE;
        endcase
        if (rst) begin
            state <= IDLE;
            qp <= {QP_WIDTH{1'b0}};
            m_cmd_valid <= 1'b0;
        end
    end

    generate
        if (PACKETS_IN_FLIGHT < 1 || PACKETS_IN_FLIGHT > 4194304) begin : check_packets_in_flight
            initial $fatal(1, "%m: PACKETS_IN_FLIGHT must be 1 to 4194304");
        end
    endgenerate

endmodule

`default_nettype wire
