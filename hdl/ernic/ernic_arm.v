// Reads a send queue entry in the memory on the chip when it has been written, before its doorbell, so that the doorbell finds a packet
// ready to leave.
//
// Each row that is written is looked for among the queue pairs: is it where the next entry that they will post belongs? If so it
// is read and held, `m_valid`, until something makes it doubtful: the row is written again, the queue pair posts, is switched off or
// reconfigured. Doubt costs nothing but time: the entry is then read after its doorbell, as all others are.

`timescale 1ns / 1fs
`default_nettype none
`include "registers.vh"

module ernic_arm #(
    // Queue pairs. At least 2.
    parameter NUM_QP = 4,
    // Size of the memory on the chip in bytes. Power of two, 4096 to 65536.
    parameter MEMORY_BYTES = 32768,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire                clk,
    input  wire                rst,
    input  wire [NUM_QP-1:0]   qp_enabled,

    // A row of the memory was written, the cycle before.
    input  wire                touched_valid,
    input  wire [9:0]          touched_row,
    // It was an entry, with its queue pair and number, that hardware gave: known without search.
    input  wire                given_valid,
    input  wire [QP_WIDTH-1:0] given_qp,
    input  wire [15:0]         given_number,
    input  wire [9:0]          given_row,
    // verilator lint_off UNUSEDSIGNAL
    // Inline data (gathered later) and reserved fields.
    input  wire [511:0]        given_data,
    // verilator lint_on UNUSEDSIGNAL
    // Entries were posted; registers of a queue pair were written.
    input  wire                posted_valid,
    input  wire [QP_WIDTH-1:0] posted_qp,
    input  wire                changed_valid,
    input  wire [QP_WIDTH-1:0] changed_qp,

    // Where a queue pair stands, one cycle after the load.
    output wire                look_load,
    output wire [QP_WIDTH-1:0] look_qp,
    // verilator lint_off UNUSEDSIGNAL
    // The memory on the chip has 1024 rows.
    input  wire [63:5]         look_base,
    // verilator lint_on UNUSEDSIGNAL
    input  wire [15:0]         look_depth,
    input  wire [15:0]         look_posted,
    // A row; its data is there one cycle after it was granted.
    output wire                read_valid,
    input  wire                read_ready,
    output wire [9:0]          read_row,
    // verilator lint_off UNUSEDSIGNAL
    // Likewise.
    input  wire [511:0]        read_data,
    // verilator lint_on UNUSEDSIGNAL

    // The entry that its queue pair's next doorbell posts first.
    output wire                m_valid,
    // It has just come in the place of another, or of an older one of the same number.
    output wire                m_renewed,
    output reg  [QP_WIDTH-1:0] m_qp,
    output reg  [15:0]         m_number,
    // Good, identifier, local address, length, opcode, remote address, remote key, immediate.
    output reg  [248:0]        m_entry
);

    // The memory repeats itself.
    localparam ROWS_LESS_ONE = MEMORY_BYTES / 64 - 1;
    localparam [9:0] ROW_MASK = ROWS_LESS_ONE[9:0];
    localparam [2:0] IDLE = 3'd0;
    localparam [2:0] LOOK = 3'd1;
    localparam [2:0] COMPARE = 3'd2;
    localparam [2:0] READ = 3'd3;
    localparam [2:0] TAKE = 3'd4;
    localparam QPS_LESS_ONE = NUM_QP - 1;
    localparam [QP_WIDTH-1:0] LAST_QP = QPS_LESS_ONE[QP_WIDTH-1:0];

    reg  [2:0]          state;
    reg                 known;
    reg  [9:0]          held_row;
    // A row that was written, and the search for its queue pair, which begins where one was found before; the next row.
    reg  [9:0]          row;
    reg                 waiting;
    reg  [9:0]          waiting_row;
    reg  [QP_WIDTH-1:0] qp;
    reg  [QP_WIDTH-1:0] tries;
    reg  [15:0]         number;
    // verilator lint_off UNUSEDSIGNAL
    // Likewise.
    wire [15:0]         slot = look_posted & (look_depth - 16'd1);
    // verilator lint_on UNUSEDSIGNAL
    wire [9:0]          slot_row = look_base[15:6] + slot[9:0];
    wire                found = qp_enabled[qp] && look_base[63] && !look_base[5] && (slot_row & ROW_MASK) == row;
    reg                 given_before;
    wire                touched = touched_valid && !given_before;
    wire                doubt = (touched && touched_row == held_row) || (posted_valid && posted_qp == m_qp)
        || (changed_valid && changed_qp == m_qp) || !qp_enabled[m_qp];
    // What is being looked at changes meanwhile.
    wire                moves = (posted_valid && posted_qp == qp) || (changed_valid && changed_qp == qp);

    // Fields of an entry, in the order of `m_entry`.
    function [248:0] fields_of;
        // verilator lint_off UNUSEDSIGNAL // Likewise.
        input [511:0] data;
        // verilator lint_on UNUSEDSIGNAL
        fields_of = {
            1'b1, data[15:0], data[95:32], data[127:96], data[135:128], data[223:160], data[255:224], data[415:384]
        };
    endfunction

    assign look_load = state == LOOK;
    assign look_qp = qp;
    assign read_valid = state == READ;
    assign read_row = row;
    assign m_valid = known;
    assign m_renewed = given_before;

    always @(posedge clk) begin
        if (doubt) known <= 1'b0;
        case (state)
            LOOK: state <= COMPARE;
            COMPARE: begin
                number <= look_posted;
                tries <= tries + 1'b1;
                if (found) begin
                    state <= READ;
                end else begin
                    qp <= qp == LAST_QP ? {QP_WIDTH{1'b0}} : qp + 1'b1;
                    state <= tries == LAST_QP ? IDLE : LOOK;
                end
            end
            READ: if (read_ready) state <= TAKE;
            TAKE: begin
                m_qp <= qp;
                m_number <= number;
                m_entry <= fields_of(read_data);
                held_row <= row;
                known <= 1'b1;
                state <= IDLE;
            end
            default: ;
        endcase
        // One row after the other. A doorbell may make the row of the last search the next one.
        if (touched && touched_row != row) begin
            waiting <= 1'b1;
            waiting_row <= touched_row;
        end
        if (state == IDLE && waiting) begin
            waiting <= touched && touched_row != row;
            row <= waiting_row;
        end
        if ((state == IDLE && (waiting || (touched && touched_row == row) || posted_valid)) || (state != IDLE && moves)) begin
            tries <= {QP_WIDTH{1'b0}};
            state <= LOOK;
            if (state == TAKE) known <= 1'b0;
        end else if (state == TAKE && touched && touched_row == row) begin
            // It was written while it was read.
            state <= READ;
            known <= 1'b0;
        end
        given_before <= given_valid;
        if (given_valid) begin
            m_qp <= given_qp;
            m_number <= given_number;
            m_entry <= fields_of(given_data);
            held_row <= given_row & ROW_MASK;
            known <= !(changed_valid && changed_qp == given_qp) && !(posted_valid && posted_qp == given_qp);
            state <= IDLE;
        end
        if (rst) begin
            state <= IDLE;
            given_before <= 1'b0;
            known <= 1'b0;
            row <= 10'd0;
            waiting <= 1'b0;
            qp <= {QP_WIDTH{1'b0}};
            m_qp <= {QP_WIDTH{1'b0}};
        end
    end

endmodule

`default_nettype wire
