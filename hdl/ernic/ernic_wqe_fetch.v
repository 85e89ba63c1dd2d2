// Reads send queue entries ahead of the requester: memory (AXI4, bursts of up to eight) -> a small buffer a queue pair.
//
// Entries are named by their number since the queue pair was enabled, modulo 2^16; the slot in memory is the number modulo the
// depth, the place in the buffer the number modulo WQE_BUFFER. Three numbers a queue pair describe everything:
//
//     current (requester) <= filled (in the buffer) <= fetched (asked for) <= posted (doorbell)
//
// An entry may also come from elsewhere, read before its doorbell (ernic_arm): it is the requester's to send at once, and goes into
// the buffer as if it had been fetched.
//
// Going back is a rewind: filled and fetched become the wanted number, and reads under way for the queue pair are discarded.
// A queue may start at half a bus word (PG332 aligns it to 32 bytes); then each entry is put together from two words.

`timescale 1ns / 1fs
`default_nettype none

module ernic_wqe_fetch #(
    // Queue pairs. At least 2.
    parameter NUM_QP = 4,
    // Entries buffered a queue pair. Power of two, at least 8. To stream without a gap, memory latency in clocks / 4 or more.
    parameter WQE_BUFFER = 32,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire                clk,
    input  wire                rst,
    input  wire [NUM_QP-1:0]   qp_enabled,

    // Set a queue pair's numbers: after reset, when it is disabled (0), or by software.
    input  wire                sweep_valid,
    input  wire [QP_WIDTH-1:0] sweep_qp,
    input  wire                command_valid,
    input  wire [QP_WIDTH-1:0] command_qp,
    input  wire [15:0]         command_number,
    output wire                command_done,

    // Something may have become possible: entries posted, queue pair enabled, buffer space freed.
    input  wire                posted_valid,
    input  wire [QP_WIDTH-1:0] posted_qp,
    input  wire                enabled_valid,
    input  wire [QP_WIDTH-1:0] enabled_qp,
    input  wire                consumed_valid,
    input  wire [QP_WIDTH-1:0] consumed_qp,

    // Where the queue pair stands, one cycle after the load.
    output wire                fetch_load,
    output wire [QP_WIDTH-1:0] fetch_qp,
    input  wire [15:0]         fetch_posted,
    input  wire [15:0]         fetch_current,
    input  wire [63:5]         fetch_base,
    input  wire [15:0]         fetch_depth,

    // Requester: go back, or ahead of what is buffered; held until ready.
    input  wire                rewind_valid,
    input  wire [QP_WIDTH-1:0] rewind_qp,
    input  wire [15:0]         rewind_number,
    output wire                rewind_ready,
    // Requester: an entry came.
    output reg                 filled_valid,
    output reg  [QP_WIDTH-1:0] filled_qp,
    // Requester: how far the buffer is filled, one cycle after the load.
    input  wire                send_load,
    input  wire [QP_WIDTH-1:0] send_qp,
    output reg  [15:0]         send_filled,
    // Requester: one entry, one cycle after the load. `good` is cleared by a bus error.
    input  wire                wqe_load,
    input  wire [QP_WIDTH-1:0] wqe_qp,
    // verilator lint_off UNUSEDSIGNAL
    // The buffer is as deep as some low bits of the number can tell.
    input  wire [15:0]         wqe_number,
    // verilator lint_on UNUSEDSIGNAL
    // Instead, the entry that was read before its doorbell.
    input  wire                wqe_armed,
    input  wire [248:0]        armed_entry,
    // It is posted and being sent: all before it of its queue pair has left the buffer. Only while nothing is under way here.
    input  wire                armed_valid,
    input  wire [QP_WIDTH-1:0] armed_qp,
    input  wire [15:0]         armed_number,
    output wire                calm,
    output wire                wqe_good,
    output wire [15:0]         wqe_identifier,
    output wire [63:0]         wqe_local_address,
    output wire [31:0]         wqe_length,
    output wire [7:0]          wqe_opcode,
    output wire [63:0]         wqe_remote_address,
    output wire [31:0]         wqe_remote_key,
    output wire [31:0]         wqe_immediate,

    output wire                idle,
    output reg                 bus_error,

    // AXI4 read channels.
    output reg  [63:0]         m_axi_araddr,
    output reg  [7:0]          m_axi_arlen,
    output wire [2:0]          m_axi_arsize,
    output wire [1:0]          m_axi_arburst,
    output reg                 m_axi_arvalid,
    input  wire                m_axi_arready,
    // verilator lint_off UNUSEDSIGNAL
    // Inline data (gathered later) and reserved fields are not used here, nor are the low bit of the response (OKAY or EXOKAY) and the
    // end of a burst (words are counted).
    input  wire [511:0]        m_axi_rdata,
    input  wire [1:0]          m_axi_rresp,
    input  wire                m_axi_rlast,
    // verilator lint_on UNUSEDSIGNAL
    input  wire                m_axi_rvalid,
    output wire                m_axi_rready
);

    localparam BUFFER_WIDTH = $clog2(WQE_BUFFER);
    localparam [15:0] BUFFER_ENTRIES = WQE_BUFFER;
    localparam [15:0] BURST = 16'd8;
    // Less than this is not worth a read while more is to come.
    localparam [15:0] WORTHWHILE = 16'd4;
    localparam ENTRY_WIDTH = 1 + 16 + 64 + 32 + 8 + 64 + 32 + 32;
    // Reads under way.
    localparam JOBS = 8;

    assign m_axi_arsize = 3'd6;
    assign m_axi_arburst = 2'b01;

    // ------------------------------------------------------------------------------------------------ choice of a queue pair

    reg  [NUM_QP-1:0]   pending;
    reg  [QP_WIDTH-1:0] qp;
    wire                any_pending;
    wire [QP_WIDTH-1:0] next_qp;

    ernic_qp_arbiter #(
        .NUM_QP(NUM_QP)
    ) arbiter (
        .request(pending),
        .last(qp),
        .any(any_pending),
        .grant(next_qp)
    );

    // ------------------------------------------------------------------------------------------------------------------ state

    localparam [2:0] IDLE = 3'd0;
    localparam [2:0] LOAD = 3'd1;
    localparam [2:0] MEASURE = 3'd2;
    localparam [2:0] DECIDE = 3'd3;
    localparam [2:0] ASK = 3'd4;
    localparam [2:0] ASK_REST = 3'd5;

    reg [15:0] filled  [0:NUM_QP-1];
    reg [15:0] fetched [0:NUM_QP-1];

    reg [2:0]  state;
    reg [15:0] fetch_fetched;
    reg [15:0] posted_left;
    reg [15:0] space;
    reg [15:0] to_wrap;
    reg [15:0] slot;
    reg        buffer_empty;
    reg [63:5] address;
    reg [3:0]  entries;
    reg [3:0]  beats;
    reg [3:0]  beats_rest;

    // Jobs: entries asked for, in the order of the answers.
    reg  [QP_WIDTH-1:0] job_qp     [0:JOBS-1];
    reg  [15:0]         job_number [0:JOBS-1];
    reg  [3:0]          job_entries[0:JOBS-1];
    reg  [JOBS-1:0]     job_split;
    reg  [JOBS-1:0]     job_stale;
    reg  [3:0]          job_head;
    reg  [3:0]          job_tail;
    wire                jobs_full = job_tail[2:0] == job_head[2:0] && job_tail[3] != job_head[3];
    wire [2:0]          job = job_head[2:0];

    assign fetch_load = state == LOAD;
    assign fetch_qp = qp;
    assign idle = state == IDLE && job_head == job_tail && !any_pending;

    // ------------------------------------------------------------------------------------------------------- rewinds, commands

    // They wait until neither a choice nor an answer is half done; answers pause meanwhile.
    reg                 answer_valid;
    wire                quiet = state == IDLE && !answer_valid && !sweep_valid;
    wire                set_wanted = command_valid || rewind_valid;
    assign              command_done = command_valid && quiet;
    assign              rewind_ready = rewind_valid && quiet && !command_valid;
    wire                set = command_done || rewind_ready;
    wire [QP_WIDTH-1:0] set_qp = command_valid ? command_qp : rewind_qp;
    wire [15:0]         set_number = command_valid ? command_number : rewind_number;

    // -------------------------------------------------------------------------------------------------------------- decisions

    wire [15:0] smaller_space = space < to_wrap ? space : to_wrap;
    wire [15:0] smaller_left = posted_left < BURST ? posted_left : BURST;
    wire [15:0] chosen = smaller_space < smaller_left ? smaller_space : smaller_left;
    wire        worthwhile = chosen == posted_left || chosen >= WORTHWHILE || chosen == to_wrap || buffer_empty;
    // Words of the burst before the next 4 KiB boundary, which a burst must not cross.
    wire [6:0]  to_boundary = 7'd64 - {1'b0, address[11:6]};
    wire [3:0]  all_beats = entries + {3'd0, address[5]};

    always @(posedge clk) begin
        if (m_axi_arready) m_axi_arvalid <= 1'b0;
        if (sweep_valid || set) fetched[sweep_valid ? sweep_qp : set_qp] <= sweep_valid ? 16'd0 : set_number;
        else if (armed_valid) fetched[armed_qp] <= armed_number + 16'd1;

        case (state)
            IDLE:
                if ((posted_valid || any_pending) && !set_wanted && !jobs_full) begin
                    // A doorbell goes first.
                    qp <= posted_valid ? posted_qp : next_qp;
                    state <= LOAD;
                end
            LOAD: begin
                fetch_fetched <= fetched[qp];
                state <= MEASURE;
            end
            MEASURE: begin
                posted_left <= fetch_posted - fetch_fetched;
                space <= BUFFER_ENTRIES - (fetch_fetched - fetch_current);
                slot <= fetch_fetched & (fetch_depth - 16'd1);
                to_wrap <= fetch_depth - (fetch_fetched & (fetch_depth - 16'd1));
                buffer_empty <= fetch_fetched == fetch_current;
                state <= qp_enabled[qp] && fetch_posted != fetch_fetched ? DECIDE : IDLE;
            end
            DECIDE: begin
                entries <= chosen[3:0];
                address <= fetch_base[63:5] + {42'd0, slot, 1'b0};
                state <= chosen != 16'd0 && worthwhile ? ASK : IDLE;
            end
            ASK:
                if (!m_axi_arvalid || m_axi_arready) begin
                    m_axi_araddr <= {address[63:6], 6'd0};
                    m_axi_arvalid <= 1'b1;
                    m_axi_arlen <= {4'd0, beats} - 8'd1;
                    fetched[qp] <= fetch_fetched + {12'd0, entries};
                    job_qp[job_tail[2:0]] <= qp;
                    job_number[job_tail[2:0]] <= fetch_fetched;
                    job_entries[job_tail[2:0]] <= entries;
                    job_split[job_tail[2:0]] <= address[5];
                    state <= beats_rest != 4'd0 ? ASK_REST : IDLE;
                end
            default:
                if (m_axi_arready) begin
                    m_axi_araddr <= {address[63:12] + 52'd1, 12'd0};
                    m_axi_arvalid <= 1'b1;
                    m_axi_arlen <= {4'd0, beats_rest} - 8'd1;
                    state <= IDLE;
                end
        endcase
        if (rst) begin
            state <= IDLE;
            qp <= {QP_WIDTH{1'b0}};
            m_axi_arvalid <= 1'b0;
        end
    end

    always @* begin
        beats = all_beats;
        beats_rest = 4'd0;
        if ({3'd0, all_beats} > to_boundary) begin
            beats = to_boundary[3:0];
            beats_rest = all_beats - to_boundary[3:0];
        end
    end

    // A queue pair is examined again when something changed, or when it was served and may have more.
    wire job_added = state == ASK && (!m_axi_arvalid || m_axi_arready);

    always @(posedge clk) begin
        if (state == LOAD) pending[qp] <= 1'b0;
        if (job_added) pending[qp] <= 1'b1;
        if (posted_valid) pending[posted_qp] <= 1'b1;
        if (enabled_valid) pending[enabled_qp] <= 1'b1;
        if (consumed_valid) pending[consumed_qp] <= 1'b1;
        if (set) pending[set_qp] <= 1'b1;
        if (rst) pending <= {NUM_QP{1'b0}};
    end

    // ---------------------------------------------------------------------------------------------------------------- answers

    reg  [255:0]             upper_half;
    reg                      upper_error;
    reg  [3:0]               answers;
    reg                      half_taken;
    reg                      answer_stale;
    reg  [QP_WIDTH-1:0]      answer_qp;
    reg  [15:0]              answer_number;
    reg  [ENTRY_WIDTH-1:0]   answer;
    reg  [ENTRY_WIDTH-1:0]   memory [0:NUM_QP*WQE_BUFFER-1];
    reg  [ENTRY_WIDTH-1:0]   entry;

    wire         beat = m_axi_rvalid && m_axi_rready;
    wire         only_half = job_split[job] && !half_taken;
    wire         complete = beat && !only_half;
    wire         last_entry = answers + 4'd1 == job_entries[job];
    // verilator lint_off UNUSEDSIGNAL
    // Reserved fields.
    wire [255:0] lower = job_split[job] ? upper_half : m_axi_rdata[255:0];
    // verilator lint_on UNUSEDSIGNAL
    wire [31:0]  immediate = job_split[job] ? m_axi_rdata[159:128] : m_axi_rdata[415:384];
    wire         error = m_axi_rresp[1] || (job_split[job] && upper_error);
    wire         keep = answer_valid && !answer_stale;

    wire [QP_WIDTH+BUFFER_WIDTH-1:0] keep_place = keep ? {answer_qp, answer_number[BUFFER_WIDTH-1:0]}
        : {armed_qp, armed_number[BUFFER_WIDTH-1:0]};

    assign calm = idle && quiet && !set_wanted;
    assign m_axi_rready = !(set_wanted && state == IDLE);
    assign {
        wqe_good, wqe_identifier, wqe_local_address, wqe_length, wqe_opcode, wqe_remote_address, wqe_remote_key, wqe_immediate
    } = entry;

    integer i;

    always @(posedge clk) begin
        answer_valid <= complete;
        bus_error <= complete && error;
        if (beat) begin
            upper_half <= m_axi_rdata[511:256];
            upper_error <= m_axi_rresp[1];
            half_taken <= !(complete && last_entry);
        end
        if (complete) begin
            answer <= {!error, lower[15:0], lower[95:32], lower[127:96], lower[135:128], lower[223:160], lower[255:224], immediate};
            answer_qp <= job_qp[job];
            answer_number <= job_number[job] + {12'd0, answers};
            answer_stale <= job_stale[job];
            answers <= last_entry ? 4'd0 : answers + 4'd1;
            if (last_entry) job_head <= job_head + 4'd1;
        end
        if (job_added) begin
            job_tail <= job_tail + 4'd1;
            job_stale[job_tail[2:0]] <= 1'b0;
        end
        if (set) begin
            for (i = 0; i < JOBS; i = i + 1) begin
                if (job_qp[i] == set_qp) job_stale[i] <= 1'b1;
            end
        end

        if (keep || armed_valid) memory[keep_place] <= keep ? answer : armed_entry;
        if (sweep_valid || set) filled[sweep_valid ? sweep_qp : set_qp] <= sweep_valid ? 16'd0 : set_number;
        else if (keep || armed_valid) filled[keep ? answer_qp : armed_qp] <= (keep ? answer_number : armed_number) + 16'd1;
        filled_valid <= keep;
        filled_qp <= answer_qp;
        if (send_load) send_filled <= filled[send_qp];
        if (wqe_load) entry <= wqe_armed ? armed_entry : memory[{wqe_qp, wqe_number[BUFFER_WIDTH-1:0]}];

        if (rst) begin
            answer_valid <= 1'b0;
            bus_error <= 1'b0;
            answers <= 4'd0;
            half_taken <= 1'b0;
            job_head <= 4'd0;
            job_tail <= 4'd0;
            filled_valid <= 1'b0;
        end
    end

    generate
        if (WQE_BUFFER < 8 || WQE_BUFFER != 1 << $clog2(WQE_BUFFER)) begin : check_wqe_buffer
            initial $fatal(1, "%m: WQE_BUFFER must be a power of two of at least 8");
        end
    endgenerate

endmodule

`default_nettype wire
