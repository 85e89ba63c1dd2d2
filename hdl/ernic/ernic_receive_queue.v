// Receive queues: how many elements are taken, filled and given back, and the index of the filled ones in memory.
//
// Three counts a queue pair, modulo 2^16: taken by the responder when a message is decided, filled when it is in memory, given
// back by software with RQCI, which is an index modulo the depth. One element always stays empty, so that equal indices mean an
// empty queue to everybody. The filled index is written to RQWPTRDBADD with the value it has by then; the interrupt waits for
// memory's answer.

`timescale 1ns / 1fs
`default_nettype none

module ernic_receive_queue #(
    // Queue pairs. At least 2.
    parameter NUM_QP = 4,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire                clk,
    input  wire                rst,

    // All counts of a queue pair to one value: after reset, when it is disabled, or by software.
    input  wire                set_valid,
    input  wire [QP_WIDTH-1:0] set_qp,
    input  wire [15:0]         set_index,

    // Software has given back elements. Held until done.
    input  wire                consumed_valid,
    input  wire [QP_WIDTH-1:0] consumed_qp,
    input  wire [15:0]         consumed_index,
    output wire                consumed_done,

    // Responder, one cycle after its load: next element, the one behind, and whether there is room. take_valid takes it.
    input  wire                take_load,
    input  wire [QP_WIDTH-1:0] take_qp,
    input  wire [15:0]         take_depth,
    output wire [15:0]         take_slot,
    output wire [15:0]         take_next_slot,
    output wire                take_room,
    input  wire                take_valid,

    // An element is filled.
    input  wire                filled_valid,
    input  wire [QP_WIDTH-1:0] filled_qp,

    // Configuration, one cycle after the load.
    output wire                queue_load,
    output wire [QP_WIDTH-1:0] queue_qp,
    input  wire [15:0]         queue_depth,
    input  wire [63:0]         queue_doorbell,
    input  wire                queue_interrupt,

    // What is filled is visible to software that asked for an interrupt.
    output reg                 interrupt_valid,
    output reg  [QP_WIDTH-1:0] interrupt_qp,
    output reg                 bus_error,

    // Nothing is under way.
    output wire                idle,

    // Reader, one cycle after its load: filled count.
    input  wire                status_load,
    input  wire [QP_WIDTH-1:0] status_qp,
    output reg  [15:0]         status_filled,
    output reg                 status_depth_for_zero,

    // AXI4 writes of four octets, one at a time.
    output reg  [63:0]         m_axi_awaddr,
    output reg                 m_axi_awvalid,
    input  wire                m_axi_awready,
    output wire [511:0]        m_axi_wdata,
    output wire [63:0]         m_axi_wstrb,
    output reg                 m_axi_wvalid,
    input  wire                m_axi_wready,
    // verilator lint_off UNUSEDSIGNAL
    // The low bit tells OKAY from EXOKAY.
    input  wire [1:0]          m_axi_bresp,
    // verilator lint_on UNUSEDSIGNAL
    input  wire                m_axi_bvalid,
    output wire                m_axi_bready
);

    localparam [15:0] ONE = 16'd1;

    reg  [15:0] taken    [0:NUM_QP-1];
    reg  [15:0] filled   [0:NUM_QP-1];
    reg  [15:0] consumed [0:NUM_QP-1];
    // Software writes indices from 1 to the depth.
    reg  [NUM_QP-1:0] depth_for_zero;

    // --------------------------------------------------------------------------------------------------------------- responder

    reg  [15:0] q_taken;
    reg  [15:0] q_consumed;
    wire [15:0] in_use = q_taken - q_consumed;

    assign take_slot = q_taken & (take_depth - ONE);
    assign take_next_slot = (q_taken + ONE) & (take_depth - ONE);
    assign take_room = take_depth != 16'd0 && in_use < take_depth - ONE;

    always @(posedge clk) begin
        if (take_load) begin
            q_taken <= taken[take_qp];
            q_consumed <= consumed[take_qp];
        end
        if (set_valid) taken[set_qp] <= set_index;
        else if (take_valid) taken[take_qp] <= q_taken + ONE;
        if (set_valid) filled[set_qp] <= set_index;
        else if (filled_valid) filled[filled_qp] <= filled[filled_qp] + ONE;
        if (status_load) begin
            status_filled <= filled[status_qp];
            status_depth_for_zero <= depth_for_zero[status_qp];
        end
    end

    // ------------------------------------------------------------------------------------------- given back, and index to memory

    localparam [2:0] IDLE = 3'd0;
    localparam [2:0] LOAD = 3'd1;
    localparam [2:0] CONSUME = 3'd2;
    localparam [2:0] INDEX = 3'd3;
    localparam [2:0] ANSWER = 3'd4;

    reg  [2:0]          state;
    reg                 consuming;
    reg  [QP_WIDTH-1:0] qp;
    reg  [15:0]         index;
    reg  [15:0]         c_filled;
    reg  [15:0]         c_consumed;
    reg  [NUM_QP-1:0]   due;
    wire                any_due;
    wire [QP_WIDTH-1:0] next_due;

    ernic_qp_arbiter #(
        .NUM_QP(NUM_QP)
    ) arbiter (
        .request(due),
        .last(qp),
        .any(any_due),
        .grant(next_due)
    );

    wire [15:0] mask = queue_depth - ONE;
    wire [15:0] given_back = (consumed_index - c_consumed) & mask;
    // More than there is cannot be given back.
    wire        believable = queue_depth != 16'd0 && given_back <= c_filled - c_consumed;
    wire        consume = state == CONSUME;
    wire [15:0] filled_slot = c_filled & mask;
    wire        on_bus = queue_doorbell != 64'd0;

    assign idle = state == IDLE && !any_due && !filled_valid;
    assign queue_load = state == LOAD;
    assign queue_qp = qp;
    assign consumed_done = consume;
    assign m_axi_bready = state == ANSWER;
    assign m_axi_wdata = {16{16'd0, index}};
    assign m_axi_wstrb = m_axi_wvalid ? {60'd0, 4'hf} << {m_axi_awaddr[5:2], 2'd0} : 64'd0;

    always @(posedge clk) begin
        if (m_axi_awready) m_axi_awvalid <= 1'b0;
        if (m_axi_wready) m_axi_wvalid <= 1'b0;
        interrupt_valid <= 1'b0;
        bus_error <= 1'b0;

        if (set_valid) consumed[set_qp] <= set_index;
        else if (consume && believable) consumed[qp] <= c_consumed + given_back;
        if (consume && queue_depth != 16'd0 && consumed_index == queue_depth) depth_for_zero[qp] <= 1'b1;
        if (set_valid) depth_for_zero[set_qp] <= 1'b0;

        case (state)
            IDLE:
                if (consumed_valid) begin
                    consuming <= 1'b1;
                    qp <= consumed_qp;
                    state <= LOAD;
                end else if (any_due) begin
                    consuming <= 1'b0;
                    qp <= next_due;
                    state <= LOAD;
                end
            LOAD: begin
                c_filled <= filled[qp];
                c_consumed <= consumed[qp];
                if (!consuming) due[qp] <= 1'b0;
                state <= consuming ? CONSUME : INDEX;
            end
            CONSUME: state <= IDLE;
            INDEX: begin
                index <= filled_slot == 16'd0 && depth_for_zero[qp] ? queue_depth : filled_slot;
                m_axi_awaddr <= {queue_doorbell[63:2], 2'd0};
                m_axi_awvalid <= on_bus;
                m_axi_wvalid <= on_bus;
                interrupt_valid <= !on_bus && queue_interrupt;
                interrupt_qp <= qp;
                state <= on_bus ? ANSWER : IDLE;
            end
            default:
                if (m_axi_bvalid) begin
                    interrupt_valid <= queue_interrupt;
                    bus_error <= m_axi_bresp[1];
                    state <= IDLE;
                end
        endcase
        if (filled_valid) due[filled_qp] <= 1'b1;
        if (set_valid) due[set_qp] <= 1'b0;
        if (rst) begin
            state <= IDLE;
            qp <= {QP_WIDTH{1'b0}};
            due <= {NUM_QP{1'b0}};
            depth_for_zero <= {NUM_QP{1'b0}};
            m_axi_awvalid <= 1'b0;
            m_axi_wvalid <= 1'b0;
            interrupt_valid <= 1'b0;
            bus_error <= 1'b0;
        end
    end

endmodule

`default_nettype wire
