// Completions into memory (AXI4 writes of 4 bytes), then the completion index, then the interrupt: each only when memory has
// answered for what comes before it.
//
// Entries are written one after the other without waiting; answers come back in the same order, and each then moves the head of
// its queue. The index at CQDBADD is written with whatever value the head has by then, so that a burst of completions costs few
// such writes. Records of fatal errors go the same way.

`timescale 1ns / 1fs
`default_nettype none

module ernic_completion #(
    // Queue pairs. At least 2.
    parameter NUM_QP = 4,
    // Writes under way. Power of two, at least 2.
    parameter WRITES = 16,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire                clk,
    input  wire                rst,

    // Queue of fatal errors; size 0: none.
    input  wire [63:3]         fatal_base,
    input  wire [15:0]         fatal_size,
    output reg  [15:0]         fatal_pointer,

    // Set the head: after reset, when the queue pair is disabled (0), or by software. Takes its turn behind all completions.
    input  wire                sweep_valid,
    input  wire [QP_WIDTH-1:0] sweep_qp,
    input  wire                command_valid,
    input  wire [QP_WIDTH-1:0] command_qp,
    input  wire [15:0]         command_number,
    output wire                command_done,

    // Completions, or (fatal) records for the queue of fatal errors.
    input  wire                s_completion_valid,
    output wire                s_completion_ready,
    input  wire                s_completion_fatal,
    input  wire [QP_WIDTH-1:0] s_completion_qp,
    input  wire [15:0]         s_completion_number,
    input  wire [15:0]         s_completion_identifier,
    input  wire [7:0]          s_completion_opcode,
    input  wire [7:0]          s_completion_error,
    // It is not to be seen before so many writes of received data are done, of how many are; modulo 256.
    input  wire                s_completion_waits,
    input  wire [7:0]          s_completion_writes,
    input  wire [7:0]          writes_done,
    // Memory has refused data of this message, in the cycle of the count's step: in time for the completion that waits for it.
    input  wire                unwritten_valid,
    input  wire [QP_WIDTH-1:0] unwritten_qp,
    input  wire [15:0]         unwritten_number,

    // About one queue pair, one cycle after the load.
    output wire                completion_load,
    output wire [QP_WIDTH-1:0] completion_qp,
    input  wire [63:5]         completion_base,
    input  wire [63:0]         completion_doorbell,
    input  wire [15:0]         completion_depth,
    input  wire                completion_write,
    input  wire                completion_interrupt,
    input  wire                completion_depth_for_zero,

    // A completion is visible to software that asked for an interrupt.
    output reg                 interrupt_valid,
    output reg  [QP_WIDTH-1:0] interrupt_qp,
    output reg                 bus_error,

    // Reader, one cycle after its load.
    input  wire                status_load,
    input  wire [QP_WIDTH-1:0] status_qp,
    output reg  [15:0]         status_head,

    // AXI4 write channels.
    output reg  [63:0]         m_axi_awaddr,
    output wire [7:0]          m_axi_awlen,
    output reg  [2:0]          m_axi_awsize,
    output wire [1:0]          m_axi_awburst,
    output reg                 m_axi_awvalid,
    input  wire                m_axi_awready,
    output wire [511:0]        m_axi_wdata,
    output wire [63:0]         m_axi_wstrb,
    output wire                m_axi_wlast,
    output reg                 m_axi_wvalid,
    input  wire                m_axi_wready,
    // verilator lint_off UNUSEDSIGNAL
    // The low bit tells OKAY from EXOKAY.
    input  wire [1:0]          m_axi_bresp,
    // verilator lint_on UNUSEDSIGNAL
    input  wire                m_axi_bvalid,
    output wire                m_axi_bready
);

    localparam QUEUE = 16;
    localparam WIDTH = 2 + QP_WIDTH + 16 + 16 + 8 + 8 + 1 + 8;

    // Fatal code of a READ whose data memory refused; mark of what comes behind an error.
    localparam [7:0] ERROR_UNWRITTEN = 8'h06;
    localparam [7:0] ERROR_FLUSHED = 8'h80;

    localparam [1:0] KIND_ENTRY = 2'd0;
    localparam [1:0] KIND_INDEX = 2'd1;
    localparam [1:0] KIND_FATAL = 2'd2;
    localparam [1:0] KIND_SET = 2'd3;

    // ------------------------------------------------------------------------------------------------------------------- input

    wire                queue_any;
    wire                queue_waits;
    wire [7:0]          queue_writes;
    // verilator lint_off UNUSEDSIGNAL
    // The top bit says whether the count has been reached.
    wire [7:0]          writes_ahead = writes_done - queue_writes;
    // verilator lint_on UNUSEDSIGNAL
    wire                queue_valid = queue_any && !(queue_waits && writes_ahead[7]);
    wire                queue_take;
    wire [1:0]          queue_kind;
    wire [QP_WIDTH-1:0] queue_qp;
    wire [15:0]         queue_number;
    wire [15:0]         queue_identifier;
    wire [7:0]          queue_opcode;
    wire [7:0]          queue_error;

    // Commands pass through as markers, so that nothing of an earlier connection can come after them.
    reg                 command_under_way;
    wire                queue_ready;
    wire                command_push = command_valid && !command_under_way && !s_completion_valid && queue_ready;
    wire [1:0]          input_kind = command_push ? KIND_SET : s_completion_fatal ? KIND_FATAL : KIND_ENTRY;

    assign s_completion_ready = queue_ready;

    sync_fifo #(
        .WIDTH(WIDTH),
        .DEPTH(QUEUE)
    ) queue (
        .clk(clk),
        .rst(rst),
        .s_data({
            input_kind, command_push ? command_qp : s_completion_qp, command_push ? command_number : s_completion_number,
            s_completion_identifier, s_completion_opcode, s_completion_error, s_completion_waits && !command_push,
            s_completion_writes
        }),
        .s_valid(s_completion_valid || command_push),
        .s_ready(queue_ready),
        .m_data({
            queue_kind, queue_qp, queue_number, queue_identifier, queue_opcode, queue_error, queue_waits, queue_writes
        }),
        .m_valid(queue_any),
        .m_ready(queue_take),
        // verilator lint_off PINCONNECTEMPTY
        // How full it is does not matter here.
        .level()
        // verilator lint_on PINCONNECTEMPTY
    );

    // ----------------------------------------------------------------------------------------------------------------- writing

    localparam [1:0] IDLE = 2'd0;
    localparam [1:0] LOAD = 2'd1;
    localparam [1:0] WRITE = 2'd2;

    reg  [15:0]         head [0:NUM_QP-1];
    reg  [15:0]         q_head;
    reg  [NUM_QP-1:0]   index_due;
    reg  [1:0]          state;
    reg  [1:0]          kind;
    reg  [QP_WIDTH-1:0] qp;
    reg                 index_last;
    wire                any_index;
    // Between a marker and its effect no index of that queue pair is written.
    wire [NUM_QP-1:0]   held_back = command_under_way ? {{(NUM_QP-1){1'b0}}, 1'b1} << command_qp : {NUM_QP{1'b0}};
    wire [QP_WIDTH-1:0] next_index;

    ernic_qp_arbiter #(
        .NUM_QP(NUM_QP)
    ) arbiter (
        .request(index_due & ~held_back),
        .last(qp),
        .any(any_index),
        .grant(next_index)
    );

    // The first message of each queue pair whose data memory refused. Its completion was made when its data came in, and so may
    // have been those of messages behind it, which do not count any more.
    reg  [NUM_QP-1:0] unwritten;
    reg  [15:0]       refused [0:NUM_QP-1];
    reg               q_unwritten;
    reg  [15:0]       q_refused;
    // verilator lint_off UNUSEDSIGNAL
    // The top bit says which of the two comes first.
    wire [15:0]       behind = queue_number - q_refused;
    // verilator lint_on UNUSEDSIGNAL
    wire [7:0]        entry_error = queue_error != 8'd0 || !q_unwritten || behind[15] ? queue_error
        : behind == 16'd0 ? ERROR_UNWRITTEN : ERROR_FLUSHED | ERROR_UNWRITTEN;

    always @(posedge clk) begin
        if (state == LOAD) begin
            q_unwritten <= unwritten[qp];
            q_refused <= refused[qp];
        end
        if (unwritten_valid) begin
            unwritten[unwritten_qp] <= 1'b1;
            if (!unwritten[unwritten_qp]) refused[unwritten_qp] <= unwritten_number;
        end
        if (command_done) unwritten[track_qp] <= 1'b0;
        if (rst) unwritten <= {NUM_QP{1'b0}};
    end

    // Turns: an index after each completion, if one is due.
    wire        choose_index = any_index && (!queue_valid || !index_last);
    wire        track_ready;
    wire        bus_free = (!m_axi_awvalid || m_axi_awready) && (!m_axi_wvalid || m_axi_wready);
    wire [15:0] slot = queue_number & (completion_depth - 16'd1);
    wire [15:0] next_fatal_pointer = fatal_pointer + 16'd1;
    wire        needs_bus = kind == KIND_INDEX || (kind == KIND_ENTRY && completion_write)
        || (kind == KIND_FATAL && fatal_size != 16'd0);
    wire        write = state == WRITE && track_ready && (bus_free || !needs_bus);
    reg  [63:0] data;
    reg  [63:2] address;

    assign completion_load = state == LOAD;
    assign completion_qp = qp;
    assign queue_take = write && kind != KIND_INDEX;
    assign m_axi_awlen = 8'd0;
    assign m_axi_awburst = 2'b01;
    assign m_axi_wlast = 1'b1;
    // The word stands in every lane; the strobes choose one.
    reg  [63:0] written;
    reg  [7:0]  strobes;
    reg  [3:0]  lane;
    assign m_axi_wdata = {8{written}};
    assign m_axi_wstrb = m_axi_wvalid ? {56'd0, strobes} << {lane, 2'd0} : 64'd0;

    always @* begin
        case (kind)
            KIND_INDEX: begin
                address = completion_doorbell[63:2];
                data = {2{16'd0, q_head}};
            end
            KIND_ENTRY: begin
                address = {completion_base, 3'd0} + {46'd0, slot};
                data = {2{entry_error, queue_opcode, queue_identifier}};
            end
            default: begin
                address = {fatal_base + {45'd0, fatal_pointer}, 1'b0};
                data = {32'd0, {(16-QP_WIDTH){1'b0}}, qp, 8'd0, queue_error} + 64'h10000;
            end
        endcase
    end

    always @(posedge clk) begin
        if (m_axi_awready) m_axi_awvalid <= 1'b0;
        if (m_axi_wready) m_axi_wvalid <= 1'b0;
        if (state == LOAD) q_head <= head[qp];

        case (state)
            IDLE: begin
                kind <= choose_index ? KIND_INDEX : queue_kind;
                if (choose_index) qp <= next_index;
                else if (queue_valid) qp <= queue_qp;
                if (choose_index || queue_valid) begin
                    index_last <= choose_index;
                    state <= LOAD;
                end
            end
            LOAD: state <= WRITE;
            default:
                if (write) begin
                    state <= IDLE;
                    if (needs_bus) begin
                        m_axi_awvalid <= 1'b1;
                        m_axi_awaddr <= {address, 2'd0};
                        m_axi_awsize <= kind == KIND_FATAL ? 3'd3 : 3'd2;
                        m_axi_wvalid <= 1'b1;
                        written <= data;
                        strobes <= kind == KIND_FATAL ? 8'hff : 8'h0f;
                        lane <= address[5:2];
                    end
                    if (kind == KIND_FATAL && fatal_size != 16'd0) begin
                        fatal_pointer <= next_fatal_pointer == fatal_size ? 16'd0 : next_fatal_pointer;
                    end
                end
        endcase
        if (rst) begin
            state <= IDLE;
            qp <= {QP_WIDTH{1'b0}};
            index_last <= 1'b0;
            fatal_pointer <= 16'd0;
            m_axi_awvalid <= 1'b0;
            m_axi_wvalid <= 1'b0;
        end
    end

    // ---------------------------------------------------------------------------------------------------------------- answers

    // What was written, in order; an entry without a write of its own waits for those before it.
    localparam TRACK_WIDTH = 2 + 1 + 1 + 1 + 1 + QP_WIDTH + 16;

    wire                track_valid;
    wire                track_take;
    wire [1:0]          track_kind;
    wire                track_bus;
    wire                track_interrupt;
    wire                track_index;
    wire                track_depth_for_zero;
    wire [QP_WIDTH-1:0] track_qp;
    wire [15:0]         track_depth;

    sync_fifo #(
        .WIDTH(TRACK_WIDTH),
        .DEPTH(WRITES)
    ) track (
        .clk(clk),
        .rst(rst),
        .s_data({
            kind, needs_bus, completion_interrupt, completion_doorbell != 64'd0, completion_depth_for_zero, qp,
            kind == KIND_SET ? queue_number : completion_depth
        }),
        .s_valid(write),
        .s_ready(track_ready),
        .m_data({
            track_kind, track_bus, track_interrupt, track_index, track_depth_for_zero, track_qp, track_depth
        }),
        .m_valid(track_valid),
        .m_ready(track_take),
        // verilator lint_off PINCONNECTEMPTY
        // How full it is does not matter here.
        .level()
        // verilator lint_on PINCONNECTEMPTY
    );

    // The head moves in two steps: its present value is read, then the next one written.
    reg         moving;
    reg  [15:0] present;
    wire        answered = track_valid && (!track_bus || m_axi_bvalid);
    wire        move = moving && answered;
    wire [15:0] plus_one = present == track_depth ? 16'd1 : present + 16'd1;
    wire [15:0] next_head = plus_one == track_depth && !track_depth_for_zero ? 16'd0 : plus_one;

    assign track_take = answered && (track_kind != KIND_ENTRY || moving);
    assign m_axi_bready = track_take && track_bus;

    assign              command_done = track_take && track_kind == KIND_SET;
    wire                store = sweep_valid || command_done || move;
    wire [QP_WIDTH-1:0] store_qp = sweep_valid ? sweep_qp : track_qp;
    wire [15:0]         store_head = sweep_valid ? 16'd0 : command_done ? track_depth : next_head;

    always @(posedge clk) begin
        moving <= answered && track_kind == KIND_ENTRY && !moving;
        if (answered && !moving) present <= head[track_qp];
        if (store) head[store_qp] <= store_head;
        if (status_load) status_head <= head[status_qp];

        // When the index goes to memory too, the interrupt waits for it.
        interrupt_valid <= track_take && track_interrupt
            && (track_kind == KIND_INDEX || (track_kind == KIND_ENTRY && !track_index));
        interrupt_qp <= track_qp;
        bus_error <= track_take && track_bus && m_axi_bresp[1];

        if (state == LOAD && kind == KIND_INDEX) index_due[qp] <= 1'b0;
        if (move && track_index) index_due[track_qp] <= 1'b1;
        if (command_done) index_due[track_qp] <= 1'b0;
        if (command_push) command_under_way <= 1'b1;
        if (command_done) command_under_way <= 1'b0;
        if (rst) begin
            moving <= 1'b0;
            interrupt_valid <= 1'b0;
            bus_error <= 1'b0;
            command_under_way <= 1'b0;
            index_due <= {NUM_QP{1'b0}};
        end
    end

endmodule

`default_nettype wire
