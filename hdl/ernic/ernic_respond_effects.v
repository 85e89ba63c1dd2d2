// What a request brings about once its data is in memory: receive queue element, notice, acknowledgement, READ, in the order of
// arrival.
//
// The responder decides ahead of memory. Each decision that has an effect, or data to be written, stands here in line until the
// writer has counted its data as written. If memory refuses, the requester hears of an operational error and the queue pair stops.
// It also stops, without a word, when memory does not give what a READ asked for.

`timescale 1ns / 1fs
`default_nettype none

module ernic_respond_effects #(
    // Queue pairs. At least 2.
    parameter NUM_QP = 4,
    // Decisions that wait. Power of two, 2 to 64; data of no more than 64 packets may wait for memory.
    parameter EFFECTS = 32,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire                clk,
    input  wire                rst,

    // Decision. s_waits: there is data, or at least a count of the writer to wait for. s_reply: 1 acknowledgement, 2 READ.
    // s_word is the notice's data or the length of the READ, s_index the receive queue's index behind the element it fills.
    input  wire                s_valid,
    output wire                s_ready,
    input  wire [QP_WIDTH-1:0] s_qp,
    input  wire                s_waits,
    input  wire                s_connected,
    input  wire                s_fills,
    input  wire [1:0]          s_notice,
    input  wire [7:0]          s_index,
    input  wire [1:0]          s_reply,
    input  wire [7:0]          s_syndrome,
    input  wire [23:0]         s_psn,
    input  wire [23:0]         s_msn,
    input  wire [63:0]         s_address,
    input  wire [31:0]         s_word,
    input  wire                s_fatal,
    input  wire [4:0]          s_fatal_code,

    // Packets written, modulo 256; an error comes with the step.
    input  wire [7:0]          written,
    input  wire                written_error,

    // Memory did not give data that a READ of this queue pair asked for.
    input  wire                unread_valid,
    input  wire [QP_WIDTH-1:0] unread_qp,

    // A queue pair is disabled.
    input  wire                clear_valid,
    input  wire [QP_WIDTH-1:0] clear_qp,
    output wire                idle,

    // Memory refused data of this queue pair, or did not give it.
    output reg  [NUM_QP-1:0]   qp_failed,
    output reg  [NUM_QP-1:0]   qp_unread,
    output reg                 bus_error,

    // A receive queue element is filled.
    output wire                filled_valid,
    output wire [QP_WIDTH-1:0] filled_qp,
    // Notice.
    output wire                notice_valid,
    output wire [63:0]         notice,
    // To be sent.
    output wire                reply_valid,
    output wire                reply_is_read,
    output wire [QP_WIDTH-1:0] reply_qp,
    output wire [23:0]         reply_psn,
    output wire [23:0]         reply_msn,
    output wire [7:0]          reply_syndrome,
    output wire [63:0]         reply_address,
    output wire [31:0]         reply_length,
    // A READ that was reserved is not answered, since its queue pair has failed.
    output wire                read_dropped,

    // The queue pair has come to an end by what its peer asked for. Held until ready.
    output reg                 m_fatal_valid,
    input  wire                m_fatal_ready,
    output reg  [QP_WIDTH-1:0] m_fatal_qp,
    output reg  [4:0]          m_fatal_code
);

    localparam [1:0] REPLY_READ = 2'd2;
    localparam [7:0] NAK_OPERATIONAL = 8'h63;
    localparam [4:0] FATAL_MEMORY = 5'h06;
    localparam       WIDTH = QP_WIDTH + 1 + 1 + 1 + 2 + 8 + 2 + 8 + 24 + 24 + 64 + 32 + 1 + 5;

    wire                head_valid;
    wire                head_take;
    wire [QP_WIDTH-1:0] qp;
    wire                waits;
    wire                connected;
    wire                fills;
    wire [1:0]          kind;
    wire [7:0]          index;
    wire [1:0]          reply;
    wire [7:0]          syndrome;
    wire [23:0]         psn;
    wire [23:0]         msn;
    wire [63:0]         address;
    wire [31:0]         word;
    wire                fatal;
    wire [4:0]          fatal_code;

    sync_fifo #(
        .WIDTH(WIDTH),
        .DEPTH(EFFECTS)
    ) line (
        .clk(clk),
        .rst(rst),
        .s_data({
            s_qp, s_waits, s_connected, s_fills, s_notice, s_index, s_reply, s_syndrome, s_psn, s_msn, s_address, s_word, s_fatal,
            s_fatal_code
        }),
        .s_valid(s_valid),
        .s_ready(s_ready),
        .m_data({
            qp, waits, connected, fills, kind, index, reply, syndrome, psn, msn, address, word, fatal, fatal_code
        }),
        .m_valid(head_valid),
        .m_ready(head_take),
        // verilator lint_off PINCONNECTEMPTY
        // How full it is does not matter here.
        .level()
        // verilator lint_on PINCONNECTEMPTY
    );

    // Which of the last 64 packets memory refused.
    reg  [63:0] errors;
    reg  [7:0]  last_written;
    reg  [7:0]  done;
    // The count's step is seen here a cycle later, together with its error bit.
    wire        counted = last_written != done;
    wire        failed = waits && errors[done[5:0]];
    wire        silent = qp_failed[qp] || qp_unread[qp];

    wire        silent_unread = qp_failed[unread_qp] || qp_unread[unread_qp];

    // Queue pairs whose end by a READ is still to be told.
    reg  [NUM_QP-1:0]   unread_due;
    wire                any_unread;
    wire [QP_WIDTH-1:0] next_unread;

    ernic_qp_arbiter #(
        .NUM_QP(NUM_QP)
    ) arbiter (
        .request(unread_due),
        .last(m_fatal_qp),
        .any(any_unread),
        .grant(next_unread)
    );

    wire        fails = failed && !silent;
    wire        ends = fails || (fatal && !silent);

    assign head_take = head_valid && (!waits || counted) && (!ends || !m_fatal_valid || m_fatal_ready);
    assign idle = !head_valid && !m_fatal_valid && !any_unread;

    assign filled_valid = head_take && fills && !failed && !silent;
    assign filled_qp = qp;
    assign notice_valid = filled_valid && kind != 2'd0;
    wire [7:0] number = {{(8-QP_WIDTH){1'b0}}, qp} + 8'd1;

    assign notice = {8'd0, index, number, 6'd0, kind, word};
    assign reply_valid = head_take && !silent && ((failed && connected) || (!failed && reply != 2'd0));
    assign reply_is_read = reply == REPLY_READ && !failed;
    assign reply_qp = qp;
    assign reply_psn = psn;
    assign reply_msn = msn;
    assign reply_syndrome = failed ? NAK_OPERATIONAL : syndrome;
    assign reply_address = address;
    assign reply_length = word;
    assign read_dropped = head_take && reply == REPLY_READ && (silent || failed);

    always @(posedge clk) begin
        last_written <= written;
        if (written != last_written) errors[last_written[5:0]] <= written_error;
        if (head_take && waits) done <= done + 8'd1;
        bus_error <= (head_take && failed) || unread_valid;
        if (head_take && fails) qp_failed[qp] <= 1'b1;
        if (clear_valid) qp_failed[clear_qp] <= 1'b0;
        if (m_fatal_ready) m_fatal_valid <= 1'b0;
        if (head_take && ends) begin
            m_fatal_valid <= 1'b1;
            m_fatal_qp <= qp;
            m_fatal_code <= fails ? FATAL_MEMORY : fatal_code;
        end
        if (any_unread && !(head_take && ends) && (!m_fatal_valid || m_fatal_ready)) begin
            m_fatal_valid <= 1'b1;
            m_fatal_qp <= next_unread;
            m_fatal_code <= FATAL_MEMORY;
            unread_due[next_unread] <= 1'b0;
        end
        if (unread_valid) begin
            qp_unread[unread_qp] <= 1'b1;
            if (!silent_unread) unread_due[unread_qp] <= 1'b1;
        end
        if (clear_valid) begin
            qp_unread[clear_qp] <= 1'b0;
            unread_due[clear_qp] <= 1'b0;
        end
        if (rst) begin
            qp_unread <= {NUM_QP{1'b0}};
            unread_due <= {NUM_QP{1'b0}};
            errors <= 64'd0;
            last_written <= 8'd0;
            done <= 8'd0;
            bus_error <= 1'b0;
            qp_failed <= {NUM_QP{1'b0}};
            m_fatal_valid <= 1'b0;
        end
    end

    generate
        if (EFFECTS > 64) begin : check_effects
            initial $fatal(1, "%m: EFFECTS must be at most 64");
        end
    endgenerate

endmodule

`default_nettype wire
