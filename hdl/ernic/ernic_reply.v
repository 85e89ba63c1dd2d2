// What the responder sends: one acknowledgement a queue pair waits at most, and READ responses, a packet at a time.
//
// A newer acknowledgement replaces the one that waits, since it says all that the older one said; but none older than a negative
// one replaces that. Acknowledgements of a queue pair wait for its READ responses, so PSNs of responses only rise. READs are
// answered in the order in which they came; acknowledgements of other queue pairs go between their packets.

`timescale 1ns / 1fs
`default_nettype none
`include "ernic_command.vh"

module ernic_reply #(
    // Queue pairs. At least 2.
    parameter NUM_QP = 4,
    // READs waiting or being answered. Power of two, 2 to 64.
    parameter READ_JOBS = 4,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire                      clk,
    input  wire                      rst,

    input  wire                      migreq,
    // Queue pairs whose READs are still to be answered.
    input  wire [NUM_QP-1:0]         qp_alive,
    // A queue pair is disabled.
    input  wire                      clear_valid,
    input  wire [QP_WIDTH-1:0]       clear_qp,

    // Acknowledgement to be sent, or (s_is_read) READ to be answered, for which there is room.
    input  wire                      s_valid,
    input  wire                      s_is_read,
    input  wire [QP_WIDTH-1:0]       s_qp,
    input  wire [23:0]               s_psn,
    input  wire [23:0]               s_msn,
    input  wire [7:0]                s_syndrome,
    input  wire [63:0]               s_address,
    input  wire [31:0]               s_length,
    // Queue pairs with a READ that is not answered to its end; one has come to its end.
    output wire [NUM_QP-1:0]         reads_open,
    output wire                      read_done,
    // Nothing is on its way to a command, or waits as one.
    output wire                      idle,

    // Configuration, one cycle after the load.
    output wire                      reply_load,
    output wire [QP_WIDTH-1:0]       reply_qp,
    input  wire [2:0]                reply_pmtu,
    input  wire [15:0]               reply_pkey,
    input  wire [7:0]                reply_ttl,
    input  wire [7:0]                reply_traffic_class,
    input  wire [23:0]               reply_dest_qpn,
    input  wire [47:0]               reply_dest_mac,
    input  wire [31:0]               reply_dest_ip,

    // Packet commands.
    output reg                       m_cmd_valid,
    input  wire                      m_cmd_ready,
    output wire [`EB_CMD_WIDTH-1:0]  m_cmd,
    // A command was made, of this kind.
    output reg                       sent_valid,
    output reg  [QP_WIDTH-1:0]       sent_qp,
    output reg                       sent_is_read,
    output reg  [1:0]                sent_ack_type
);

    localparam [7:0]  READ_FIRST = 8'h0d;
    localparam [7:0]  READ_MIDDLE = 8'h0e;
    localparam [7:0]  READ_LAST = 8'h0f;
    localparam [7:0]  READ_ONLY = 8'h10;
    localparam [7:0]  ACKNOWLEDGE = 8'h11;
    // An acknowledgement that says nothing about credits.
    localparam [7:0]  SYNDROME_ACK = 8'h1f;
    localparam        JOB_WIDTH = QP_WIDTH + 24 + 24 + 64 + 32;
    localparam        COUNT_WIDTH = $clog2(READ_JOBS) + 1;
    localparam [COUNT_WIDTH-1:0] COUNT_ONE = 1;

    generate
        if (READ_JOBS < 2 || READ_JOBS > 64 || READ_JOBS != 1 << $clog2(READ_JOBS)) begin : check_read_jobs
            initial $fatal(1, "%m: READ_JOBS must be a power of two of 2 to 64");
        end
    endgenerate

    // --------------------------------------------------------------------------------------------- acknowledgements that wait

    reg  [55:0]       waiting [0:NUM_QP-1];
    reg  [NUM_QP-1:0] due;
    // verilator lint_off UNUSEDSIGNAL
    // Only its PSN and kind count.
    wire [55:0]       present = waiting[s_qp];
    // verilator lint_on UNUSEDSIGNAL
    // The one that waits is about a later PSN.
    // verilator lint_off UNUSEDSIGNAL
    // Only the sign counts.
    wire [23:0]       ahead = s_psn - present[23:0];
    // verilator lint_on UNUSEDSIGNAL
    wire              present_is_nak = present[54:53] != 2'b00;
    wire              keeps = due[s_qp] && present_is_nak && s_syndrome[6:5] == 2'b00 && ahead[23];
    wire              store = s_valid && !s_is_read && !keeps;

    // ---------------------------------------------------------------------------------------------------------------- READs

    wire                job_valid;
    wire                job_take;
    wire [QP_WIDTH-1:0] job_qp;
    wire [23:0]         job_psn;
    wire [23:0]         job_msn;
    wire [63:0]         job_address;
    wire [31:0]         job_length;

    sync_fifo #(
        .WIDTH(JOB_WIDTH),
        .DEPTH(READ_JOBS)
    ) jobs (
        .clk(clk),
        .rst(rst),
        .s_data({s_qp, s_psn, s_msn, s_address, s_length}),
        .s_valid(s_valid && s_is_read),
        // verilator lint_off PINCONNECTEMPTY
        // Room was reserved before, and how full it is does not matter.
        .s_ready(),
        .m_data({job_qp, job_psn, job_msn, job_address, job_length}),
        .m_valid(job_valid),
        .m_ready(job_take),
        .level()
        // verilator lint_on PINCONNECTEMPTY
    );

    genvar index;
    generate
        for (index = 0; index < NUM_QP; index = index + 1) begin : count
            localparam [QP_WIDTH-1:0] MINE = index;
            reg  [COUNT_WIDTH-1:0] open;
            wire comes = s_valid && s_is_read && s_qp == MINE;
            wire goes = job_take && job_qp == MINE;

            assign reads_open[index] = open != {COUNT_WIDTH{1'b0}};

            always @(posedge clk) begin
                if (comes && !goes) open <= open + COUNT_ONE;
                if (goes && !comes) open <= open - COUNT_ONE;
                if (rst) open <= {COUNT_WIDTH{1'b0}};
            end
        end
    endgenerate

    // ------------------------------------------------------------------------------------------------------------ what is next

    localparam [1:0] IDLE = 2'd0;
    localparam [1:0] LOAD = 2'd1;
    localparam [1:0] MAKE = 2'd2;

    reg  [1:0]          state;
    reg                 reading;
    reg  [QP_WIDTH-1:0] qp;
    reg  [55:0]         chosen;
    // Progress of the READ at the head.
    reg                 begun;
    reg  [23:0]         psn;
    reg  [63:0]         address;
    reg  [31:0]         left;

    wire                any_ack;
    wire [QP_WIDTH-1:0] next_ack;

    ernic_qp_arbiter #(
        .NUM_QP(NUM_QP)
    ) arbiter (
        .request(due & ~reads_open),
        .last(qp),
        .any(any_ack),
        .grant(next_ack)
    );

    wire        choose_read = job_valid && !(any_ack && reading);
    wire        alive = qp_alive[qp];
    wire [12:0] path_bytes = 13'd256 << reply_pmtu;
    wire [31:0] present_left = begun ? left : job_length;
    wire        last = present_left <= {19'd0, path_bytes};
    wire [12:0] bytes = last ? present_left[12:0] : path_bytes;
    wire [63:0] present_address = begun ? address : job_address;
    wire [23:0] present_psn = begun ? psn : job_psn;
    wire        slot_free = !m_cmd_valid || m_cmd_ready;
    wire        make = state == MAKE && slot_free;

    assign idle = state == IDLE && !m_cmd_valid;
    assign reply_load = state == LOAD;
    assign reply_qp = qp;
    // Of a queue pair that has stopped nothing more is sent.
    assign job_take = make && reading && (last || !alive);
    assign read_done = job_take;

    reg  [7:0]  cmd_opcode;
    reg  [23:0] cmd_psn;
    reg  [31:0] cmd_word;
    reg  [12:0] cmd_bytes;
    reg  [63:0] cmd_address;
    reg  [15:0] cmd_pkey;
    reg  [23:0] cmd_dest_qpn;
    reg  [47:0] cmd_dest_mac;
    reg  [31:0] cmd_dest_ip;
    reg  [7:0]  cmd_traffic_class;
    reg  [7:0]  cmd_ttl;
    reg  [7:0]  cmd_qp;
    reg  [`EB_CMD_WIDTH-1:0] fields;

    always @* begin
        fields = {`EB_CMD_WIDTH{1'b0}};
        fields[`EB_CMD_OPCODE] = cmd_opcode;
        fields[`EB_CMD_MIGREQ] = migreq;
        fields[`EB_CMD_PKEY] = cmd_pkey;
        fields[`EB_CMD_DEST_QPN] = cmd_dest_qpn;
        fields[`EB_CMD_PSN] = cmd_psn;
        fields[`EB_CMD_IMMEDIATE] = cmd_word;
        fields[`EB_CMD_PAYLOAD_BYTES] = cmd_bytes;
        fields[`EB_CMD_LOCAL_ADDRESS] = cmd_address;
        fields[`EB_CMD_FROM_MEMORY] = cmd_bytes != 13'd0;
        fields[`EB_CMD_DEST_MAC] = cmd_dest_mac;
        fields[`EB_CMD_DEST_IP] = cmd_dest_ip;
        fields[`EB_CMD_TRAFFIC_CLASS] = cmd_traffic_class;
        fields[`EB_CMD_TTL] = cmd_ttl;
        fields[`EB_CMD_QP] = cmd_qp;
    end

    assign m_cmd = fields;

    always @(posedge clk) begin
        if (store) begin
            waiting[s_qp] <= {s_syndrome, s_msn, s_psn};
            due[s_qp] <= 1'b1;
        end
        // A READ response acknowledges all that came before it.
        if (s_valid && s_is_read && (ahead == 24'd0 || !ahead[23])) due[s_qp] <= 1'b0;

        if (m_cmd_ready) m_cmd_valid <= 1'b0;
        sent_valid <= 1'b0;

        case (state)
            IDLE:
                if (choose_read || any_ack) begin
                    reading <= choose_read;
                    qp <= choose_read ? job_qp : next_ack;
                    state <= LOAD;
                end
            LOAD: begin
                chosen <= waiting[qp];
                // Taken; what comes from now on waits for its own turn. It may have gone in the meantime.
                if (!reading) due[qp] <= store && s_qp == qp;
                state <= reading || due[qp] ? MAKE : IDLE;
            end
            default:
                if (slot_free) begin
                    state <= IDLE;
                    m_cmd_valid <= alive || !reading;
                    sent_valid <= alive || !reading;
                    sent_qp <= qp;
                    sent_is_read <= reading;
                    sent_ack_type <= chosen[54:53];
                    cmd_opcode <= !reading ? ACKNOWLEDGE : last ? (begun ? READ_LAST : READ_ONLY)
                        : (begun ? READ_MIDDLE : READ_FIRST);
                    cmd_psn <= reading ? present_psn : chosen[23:0];
                    cmd_word <= reading ? {SYNDROME_ACK, job_msn} : chosen[55:24];
                    cmd_bytes <= reading ? bytes : 13'd0;
                    cmd_address <= present_address;
                    cmd_pkey <= reply_pkey;
                    cmd_dest_qpn <= reply_dest_qpn;
                    cmd_dest_mac <= reply_dest_mac;
                    cmd_dest_ip <= reply_dest_ip;
                    cmd_traffic_class <= reply_traffic_class;
                    cmd_ttl <= reply_ttl;
                    cmd_qp <= {{(8-QP_WIDTH){1'b0}}, qp};
                    if (reading) begin
                        begun <= !job_take;
                        psn <= present_psn + 24'd1;
                        address <= present_address + {51'd0, bytes};
                        left <= present_left - {19'd0, bytes};
                    end
                end
        endcase
        if (clear_valid) due[clear_qp] <= 1'b0;
        if (rst) begin
            state <= IDLE;
            reading <= 1'b0;
            qp <= {QP_WIDTH{1'b0}};
            due <= {NUM_QP{1'b0}};
            begun <= 1'b0;
            m_cmd_valid <= 1'b0;
            sent_valid <= 1'b0;
        end
    end

endmodule

`default_nettype wire
