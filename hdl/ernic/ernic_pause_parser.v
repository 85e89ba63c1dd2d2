// Finds pause frames among the frames received: global pause (IEEE 802.3 annex 31B) and PFC (802.1Qbb).
//
// All that counts is in the first 64 octets. The frame takes effect at its end, where a bad FCS is known.

`timescale 1ns / 1fs
`default_nettype none

module ernic_pause_parser (
    input  wire         clk,
    input  wire         rst,

    // Ethernet frames from the MAC, octet 0 in bits 7:0; tuser with tlast marks a bad FCS. Cannot be held back.
    input  wire [511:0] s_axis_tdata,
    input  wire [63:0]  s_axis_tkeep,
    input  wire         s_axis_tvalid,
    input  wire         s_axis_tlast,
    input  wire         s_axis_tuser,

    // One cycle behind a frame's end: priorities 0 to 7 and, as 8, the whole link;
    // quanta of each that is set, priority 0 in bits 15:0.
    output wire         m_valid,
    output reg  [8:0]   m_set,
    output reg  [143:0] m_quanta
);

    localparam [47:0] PAUSE_MAC = 48'h0180c2000001;
    localparam [15:0] ETHERTYPE_MAC_CONTROL = 16'h8808;
    localparam [15:0] OPCODE_PAUSE = 16'h0001;
    localparam [15:0] OPCODE_PFC = 16'h0101;
    // Octets that each kind needs: up to the quanta of priority 7.
    localparam PAUSE_LANE = 17;
    localparam PFC_LANE = 33;

    reg at_start;
    reg found;
    reg ended;
    reg good;

    // Octets in wire order, as far as PFC goes. Upper half of the class vector: reserved.
    // verilator lint_off UNUSEDSIGNAL
    reg [8*34-1:0] in_order;
    // verilator lint_on UNUSEDSIGNAL
    integer        octet;
    integer        priority_number;

    wire first = s_axis_tvalid && at_start;

    always @* begin
        in_order = {(8*34){1'b0}};
        if (first) begin
            for (octet = 0; octet < 34; octet = octet + 1) in_order[8*(33-octet) +: 8] = s_axis_tdata[8*octet +: 8];
        end
    end

    wire [47:0] dest_mac = in_order[8*28 +: 48];
    wire [15:0] ethertype = in_order[8*20 +: 16];
    wire [15:0] opcode = in_order[8*18 +: 16];
    wire [7:0]  classes = in_order[8*16 +: 8];
    wire        control = dest_mac == PAUSE_MAC && ethertype == ETHERTYPE_MAC_CONTROL;
    wire        pause = control && opcode == OPCODE_PAUSE && s_axis_tkeep[PAUSE_LANE];
    wire        pfc = control && opcode == OPCODE_PFC && s_axis_tkeep[PFC_LANE];

    always @(posedge clk) begin
        ended <= s_axis_tvalid && s_axis_tlast;
        good <= !s_axis_tuser;
        if (s_axis_tvalid) at_start <= s_axis_tlast;
        if (first) begin
            found <= pause || pfc;
            m_set <= pfc ? {1'b0, classes} : 9'h100;
            for (priority_number = 0; priority_number < 8; priority_number = priority_number + 1)
                m_quanta[16*priority_number +: 16] <= in_order[8*(14-2*priority_number) +: 16];
            m_quanta[143:128] <= in_order[8*16 +: 16];
        end
        if (rst) begin
            at_start <= 1'b1;
            ended <= 1'b0;
        end
    end

    assign m_valid = ended && good && found;

endmodule

`default_nettype wire
