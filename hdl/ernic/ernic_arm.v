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
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire                clk,
    input  wire                rst,
    input  wire [NUM_QP-1:0]   qp_enabled,

    // A row of the memory was written.
    input  wire                touched_valid,
    input  wire [9:0]          touched_row,
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
    // Inline data (gathered later) and reserved fields.
    input  wire [511:0]        read_data,
    // verilator lint_on UNUSEDSIGNAL

    // The entry that its queue pair's next doorbell posts first.
    output wire                m_valid,
    output reg  [QP_WIDTH-1:0] m_qp,
    output reg  [15:0]         m_number,
    // Good, identifier, local address, length, opcode, remote address, remote key, immediate.
    output reg  [248:0]        m_entry
);

    localparam [2:0] IDLE = 3'd0;
    localparam [2:0] LOOK = 3'd1;
    localparam [2:0] COMPARE = 3'd2;
    localparam [2:0] READ = 3'd3;
    localparam [2:0] TAKE = 3'd4;
    localparam [QP_WIDTH-1:0] LAST_QP = NUM_QP - 1;

    reg  [2:0]          state;
    reg                 known;
    reg  [9:0]          held_row;
    // The row that was written last, and the search for its queue pair: it begins where one was found before.
    reg  [9:0]          row;
    reg                 row_known;
    reg  [QP_WIDTH-1:0] qp;
    reg  [QP_WIDTH-1:0] tries;
    reg  [15:0]         number;
    wire [15:0]         slot = look_posted & (look_depth - 16'd1);
    wire [15:0]         slot_row = {6'd0, look_base[15:6]} + slot;
    wire                found = qp_enabled[qp] && look_base[63] && !look_base[5] && slot_row[9:0] == row;
    wire                doubt = (touched_valid && touched_row == held_row) || (posted_valid && posted_qp == m_qp)
        || (changed_valid && changed_qp == m_qp) || !qp_enabled[m_qp];
    // What is being looked at changes meanwhile.
    wire                moves = (posted_valid && posted_qp == qp) || (changed_valid && changed_qp == qp);

    assign look_load = state == LOOK;
    assign look_qp = qp;
    assign read_valid = state == READ;
    assign read_row = row;
    assign m_valid = known;

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
                m_entry <= {
                    1'b1, read_data[15:0], read_data[95:32], read_data[127:96], read_data[135:128], read_data[223:160],
                    read_data[255:224], read_data[415:384]
                };
                held_row <= row;
                known <= 1'b1;
                state <= IDLE;
            end
            default: ;
        endcase
        // A new row, or a doorbell after which the row may be the next one: the search begins anew.
        if (touched_valid || (row_known && (posted_valid || moves))) begin
            if (touched_valid) row <= touched_row;
            row_known <= 1'b1;
            tries <= {QP_WIDTH{1'b0}};
            state <= LOOK;
            if (state == TAKE) known <= 1'b0;
        end
        if (rst) begin
            state <= IDLE;
            known <= 1'b0;
            row_known <= 1'b0;
            qp <= {QP_WIDTH{1'b0}};
            m_qp <= {QP_WIDTH{1'b0}};
        end
    end

endmodule

`default_nettype wire
