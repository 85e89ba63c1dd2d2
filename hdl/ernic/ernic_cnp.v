// Congestion notifications: a packet that arrives with ECN "congestion experienced" makes one for its sender, at most one a
// queue pair in each interval.
//
// All queue pairs are visited in turn, one a clock. A visit takes NUM_QP clocks off the time that the queue pair must still wait, or
// sends what is due. So an interval is never short, and at most two rounds long. The 16 reserved octets of the packet
// (RoCEv2, annex A17) are a RETH of zeros to the datapath; PSN 0 and BECN belong to the opcode.

`timescale 1ns / 1fs
`default_nettype none

module ernic_cnp #(
    // Queue pairs. 2 to 255.
    parameter NUM_QP = 4,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire                clk,
    input  wire                rst,

    input  wire [NUM_QP-1:0]   qp_enabled,
    // Least clocks between two of a queue pair.
    input  wire [23:0]         interval,
    // Traffic class of the packets.
    input  wire [7:0]          traffic_class,

    // Packet received, checked: its traffic class, opcode and queue pair (number, from 1).
    input  wire                s_valid,
    input  wire [1:0]          s_ecn,
    input  wire [7:0]          s_opcode,
    input  wire [23:0]         s_qpn,

    // The peer, one cycle after the load.
    output wire                peer_load,
    output wire [QP_WIDTH-1:0] peer_qp,
    input  wire [15:0]         peer_pkey,
    input  wire [7:0]          peer_ttl,
    input  wire [23:0]         peer_qpn,
    input  wire [47:0]         peer_mac,
    input  wire [31:0]         peer_ip,

    // Packet command, as far as it is not the same for all of them.
    output reg                 m_cmd_valid,
    input  wire                m_cmd_ready,
    output wire [7:0]          m_cmd_opcode,
    output wire [7:0]          m_cmd_traffic_class,
    output wire [QP_WIDTH-1:0] m_cmd_qp,
    output reg  [15:0]         m_cmd_pkey,
    output reg  [7:0]          m_cmd_ttl,
    output reg  [23:0]         m_cmd_dest_qpn,
    output reg  [47:0]         m_cmd_dest_mac,
    output reg  [31:0]         m_cmd_dest_ip,

    // Queue pairs with one to be sent; one is scheduled; a marked packet has come.
    output reg  [NUM_QP-1:0]   scheduled,
    output wire                schedule_valid,
    output wire                marked_valid
);

    localparam [1:0] ECN_CONGESTION = 2'b11;
    localparam [7:0] OPCODE_CNP = 8'h81;
    localparam [QP_WIDTH-1:0] QP_ONE = 1;
    localparam [31:0] LAST_QP = NUM_QP - 1;
    localparam [31:0] ROUND = NUM_QP;

    // ---------------------------------------------------------------------------------------------------------------- arrivals

    wire [23:0]         index = s_qpn - 24'd1;
    wire [QP_WIDTH-1:0] marked_qp = index[QP_WIDTH-1:0];
    // A notification is not answered by another one.
    wire                marked = s_valid && s_ecn == ECN_CONGESTION && s_opcode != OPCODE_CNP && index < ROUND[23:0];

    assign marked_valid = marked && qp_enabled[marked_qp];
    assign schedule_valid = marked_valid && !scheduled[marked_qp];

    // ------------------------------------------------------------------------------------------------------------------ visits

    // Clocks that a queue pair must still wait.
    reg  [24:0]         left [0:(1<<QP_WIDTH)-1];
    reg  [QP_WIDTH-1:0] visited;
    reg                 fresh;
    reg                 loading;
    reg  [QP_WIDTH-1:0] qp;
    wire                busy = loading || m_cmd_valid;
    wire [24:0]         now = fresh ? 25'd0 : left[visited];
    wire                send = scheduled[visited] && qp_enabled[visited] && now == 25'd0 && !busy && !fresh;
    // The interval begins when the packet is taken, which may be up to a round after the last visit that saw it wait.
    wire                waits = busy && visited == qp;

    assign peer_load = send;
    assign peer_qp = visited;
    assign m_cmd_opcode = OPCODE_CNP;
    assign m_cmd_traffic_class = traffic_class;
    assign m_cmd_qp = qp;

    always @(posedge clk) begin
        left[visited] <= send || waits ? {1'b0, interval} + ROUND[24:0] : now > ROUND[24:0] ? now - ROUND[24:0] : 25'd0;
        visited <= visited == LAST_QP[QP_WIDTH-1:0] ? {QP_WIDTH{1'b0}} : visited + QP_ONE;
        if (visited == LAST_QP[QP_WIDTH-1:0]) fresh <= 1'b0;
        loading <= send;
        if (send) qp <= visited;
        if (m_cmd_ready) m_cmd_valid <= 1'b0;
        if (loading) begin
            m_cmd_valid <= 1'b1;
            m_cmd_pkey <= peer_pkey;
            m_cmd_ttl <= peer_ttl;
            m_cmd_dest_qpn <= peer_qpn;
            m_cmd_dest_mac <= peer_mac;
            m_cmd_dest_ip <= peer_ip;
        end
        if (rst) begin
            visited <= {QP_WIDTH{1'b0}};
            fresh <= 1'b1;
            loading <= 1'b0;
            m_cmd_valid <= 1'b0;
        end
    end

    integer i;

    always @(posedge clk) begin
        if (send) scheduled[visited] <= 1'b0;
        if (marked_valid) scheduled[marked_qp] <= 1'b1;
        for (i = 0; i < NUM_QP; i = i + 1) if (!qp_enabled[i]) scheduled[i] <= 1'b0;
        if (rst) scheduled <= {NUM_QP{1'b0}};
    end

    generate
        if (NUM_QP < 2 || NUM_QP > 255) begin : check_num_qp
            initial $fatal(1, "%m: NUM_QP must be 2 to 255");
        end
    endgenerate

endmodule

`default_nettype wire
