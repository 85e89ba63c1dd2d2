// What the responder side knows of each queue pair's configuration: its own copy of the registers, with three readers.
//
// Each reader names a queue pair and loads; its fields are there one cycle later and stay.

`timescale 1ns / 1fs
`default_nettype none
`include "registers.vh"

module ernic_respond_config #(
    // Queue pairs. At least 2.
    parameter NUM_QP = 4,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire                clk,

    // After reset: all registers of one queue pair to 0. Then writes by the register bus.
    input  wire                sweep_valid,
    input  wire [QP_WIDTH-1:0] sweep_qp,
    input  wire                write_valid,
    input  wire [QP_WIDTH-1:0] write_qp,
    input  wire [7:0]          write_offset,
    input  wire [31:0]         write_data,

    // Judgement of requests. Transport: 0 RC, 1 UC, 2 UD; element in units of 256 octets.
    input  wire                judge_load,
    input  wire [QP_WIDTH-1:0] judge_qp,
    output reg  [1:0]          judge_transport,
    output reg  [2:0]          judge_pmtu,
    output reg  [14:0]         judge_pkey,
    output reg  [47:0]         judge_mac,
    output reg  [31:0]         judge_ip,
    output reg  [31:0]         judge_qkey,
    output reg  [23:0]         judge_domain,
    output reg  [15:0]         judge_element,
    output reg  [63:8]         judge_rq_base,
    output reg  [15:0]         judge_rq_depth,
    output reg  [4:0]          judge_rnr_code,

    // Answers.
    input  wire                reply_load,
    input  wire [QP_WIDTH-1:0] reply_qp,
    output reg  [2:0]          reply_pmtu,
    output reg  [15:0]         reply_pkey,
    output reg  [7:0]          reply_ttl,
    output reg  [7:0]          reply_traffic_class,
    output reg  [23:0]         reply_dest_qpn,
    output reg  [47:0]         reply_dest_mac,
    output reg  [31:0]         reply_dest_ip,

    // Receive queues.
    input  wire                queue_load,
    input  wire [QP_WIDTH-1:0] queue_qp,
    output reg  [15:0]         queue_depth,
    output reg  [63:0]         queue_doorbell,
    output reg                 queue_interrupt,

    // Register bus: depth of the receive queue.
    input  wire                status_load,
    input  wire [QP_WIDTH-1:0] status_qp,
    output reg  [15:0]         status_depth
);

    // The largest path MTU that there is.
    localparam [2:0] PMTU_4096 = 3'd4;

    // verilator lint_off UNUSEDSIGNAL
    // Fields that matter to the sending side only.
    reg [31:0] qpconf      [0:NUM_QP-1];
    reg [31:0] rqba        [0:NUM_QP-1];
    reg [31:0] qdepth      [0:NUM_QP-1];
    reg [31:0] destqpconf  [0:NUM_QP-1];
    reg [31:0] timeoutconf [0:NUM_QP-1];
    reg [31:0] mac_msb     [0:NUM_QP-1];
    reg [31:0] pd          [0:NUM_QP-1];
    reg [31:0] qpext       [0:NUM_QP-1];
    // verilator lint_on UNUSEDSIGNAL
    reg [31:0] qpadvconf   [0:NUM_QP-1];
    reg [31:0] rqba_msb    [0:NUM_QP-1];
    reg [31:0] rqdb        [0:NUM_QP-1];
    reg [31:0] rqdb_msb    [0:NUM_QP-1];
    reg [31:0] mac_lsb     [0:NUM_QP-1];
    reg [31:0] ip1         [0:NUM_QP-1];
    reg [31:0] qkey        [0:NUM_QP-1];

    wire                write = sweep_valid || write_valid;
    wire [QP_WIDTH-1:0] index = sweep_valid ? sweep_qp : write_qp;
    wire [31:0]         data = sweep_valid ? 32'd0 : write_data;
    wire [19:0]         offset = {12'd0, write_offset};

    always @(posedge clk) begin
        if (write) begin
            if (sweep_valid || offset == `EB_ERNIC_QP_QPCONF) qpconf[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_QPADVCONF) qpadvconf[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_RQBA) rqba[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_RQBAMSB) rqba_msb[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_RQWPTRDBADD) rqdb[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_RQWPTRDBADDMSB) rqdb_msb[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_QDEPTH) qdepth[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_DESTQPCONF) destqpconf[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_TIMEOUTCONF) timeoutconf[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_MACDESADDLSB) mac_lsb[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_MACDESADDMSB) mac_msb[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_IPDESADDR1) ip1[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_PD) pd[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_QPEXT) qpext[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_QKEY) qkey[index] <= data;
        end
        if (judge_load) begin
            judge_transport <= qpext[judge_qp][5:4];
            judge_pmtu <= qpconf[judge_qp][10:8] > PMTU_4096 ? PMTU_4096 : qpconf[judge_qp][10:8];
            judge_pkey <= qpadvconf[judge_qp][30:16];
            judge_mac <= {mac_msb[judge_qp][15:0], mac_lsb[judge_qp]};
            judge_ip <= ip1[judge_qp];
            judge_qkey <= qkey[judge_qp];
            judge_domain <= pd[judge_qp][23:0];
            judge_element <= qpconf[judge_qp][31:16];
            judge_rq_base <= {rqba_msb[judge_qp], rqba[judge_qp][31:8]};
            judge_rq_depth <= qdepth[judge_qp][31:16];
            judge_rnr_code <= timeoutconf[judge_qp][20:16];
        end
        if (reply_load) begin
            reply_pmtu <= qpconf[reply_qp][10:8] > PMTU_4096 ? PMTU_4096 : qpconf[reply_qp][10:8];
            {reply_pkey, reply_ttl, reply_traffic_class} <= qpadvconf[reply_qp];
            reply_dest_qpn <= destqpconf[reply_qp][23:0];
            reply_dest_mac <= {mac_msb[reply_qp][15:0], mac_lsb[reply_qp]};
            reply_dest_ip <= ip1[reply_qp];
        end
        if (queue_load) begin
            queue_depth <= qdepth[queue_qp][31:16];
            queue_doorbell <= {rqdb_msb[queue_qp], rqdb[queue_qp]};
            queue_interrupt <= qpconf[queue_qp][2];
        end
        if (status_load) status_depth <= qdepth[status_qp][31:16];
    end

endmodule

`default_nettype wire
