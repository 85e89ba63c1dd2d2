// Reads the headers in a frame's first beat and checks all that can be checked without knowing the queue pairs.
//
// IPv4 without options puts every header at a fixed place. What lies behind the base transport header depends on the opcode;
// extension_words says how long it is, which is where RETH, ImmDt and payload are to be found. The first ten octets of it are in
// the first beat; what is in the second beat takes the same three cycles from there.

`timescale 1ns / 1fs
`default_nettype none
`include "ernic_ticket.vh"

module ernic_receive_parser (
    input  wire         clk,

    // Static configuration; first octet on the wire in the highest bits.
    input  wire [47:0]  local_mac,
    input  wire [31:0]  local_ip,

    // First beat of a frame, octet 0 in bits 7:0; s_next: its second beat.
    input  wire         s_valid,
    input  wire         s_next,
    input  wire         s_has_ports,
    input  wire [511:0] s_data,

    // Three cycles later. Not RoCEv2 (EtherType, protocol, port): no other output counts.
    output reg          m_foreign,
    // The place and length that the ICRC needs are known.
    output reg          m_has_icrc,
    output reg          m_has_options,
    // First header check that failed, bit of the error syndrome (PG332), in the order of the specification.
    output reg          m_bad,
    output reg  [4:0]   m_cause,
    // Congestion notification of RoCEv2, and the mark of congestion in the IP header.
    output reg          m_is_cnp,
    output reg          m_marked,
    // Fields; what lies in the second beat is valid with that beat's check.
    output wire [`EB_TICKET_WIDTH-1:0] m_ticket
);

    localparam [4:0] CAUSE_MAC = 5'd0;
    localparam [4:0] CAUSE_VERSION = 5'd2;
    localparam [4:0] CAUSE_OPTIONS = 5'd3;
    localparam [4:0] CAUSE_FLAGS = 5'd5;
    localparam [4:0] CAUSE_FRAGMENT = 5'd6;
    localparam [4:0] CAUSE_DEST_IP = 5'd8;
    localparam [4:0] CAUSE_CHECKSUM = 5'd9;
    localparam [4:0] CAUSE_IP_LENGTH = 5'd10;
    localparam [4:0] CAUSE_UDP_LENGTH = 5'd12;
    localparam [4:0] CAUSE_TVER = 5'd13;
    localparam [4:0] CAUSE_OPCODE = 5'd17;
    localparam [4:0] CAUSE_PAD = 5'd18;
    localparam [4:0] CAUSE_AETH = 5'd22;

    localparam [15:0] ETHERTYPE_IPV4 = 16'h0800;
    localparam [7:0]  PROTOCOL_UDP = 8'd17;
    localparam [15:0] PORT_ROCE = 16'd4791;
    localparam [2:0]  DONT_FRAGMENT = 3'b010;
    localparam [15:0] IP_OCTETS = 16'd20;
    // IPv4, UDP, base transport header and ICRC.
    localparam [15:0] LEAST_OCTETS = 16'd44;
    localparam [15:0] ACK_OCTETS = 16'd48;
    localparam [7:0]  OPCODE_ACK = 8'h11;
    localparam [7:0]  OPCODE_CNP = 8'h81;

    localparam [2:0]  TRANSPORT_UD = 3'b011;
    localparam [1:0]  ECN_CONGESTED = 2'b11;
    // Larger payloads are longer than any path allows; how much longer does not matter.
    localparam [12:0] MANY_OCTETS = 13'h1fff;

    // Octets of a field, in wire order.
    `define EB_FIELD(octet, count) in_order[8*(64-(octet)-(count)) +: 8*(count)]

    // IBTA vol. 1, table 38; reliable and unreliable connection, datagram, and the congestion notification of RoCEv2.
    function known(input [7:0] opcode);
        case (opcode[7:5])
            3'b000: known = opcode[4:0] <= 5'h14 || opcode[4:0] == 5'h16 || opcode[4:0] == 5'h17;
            3'b001: known = opcode[4:0] <= 5'h0b;
            3'b011: known = opcode[4:0] == 5'h04 || opcode[4:0] == 5'h05;
            default: known = opcode == OPCODE_CNP;
        endcase
    endfunction

    // Extension headers in words of four octets.
    function [2:0] extension_words(input [7:0] opcode);
        case (opcode[4:0])
            5'h03, 5'h09: extension_words = 3'd1;                           // ImmDt
            5'h04: extension_words = opcode[7:5] == 3'b011 ? 3'd2 : 3'd0;   // DETH of a datagram
            5'h05: extension_words = opcode[7:5] == 3'b011 ? 3'd3 : 3'd1;   // and ImmDt
            5'h06, 5'h0a, 5'h0c: extension_words = 3'd4;                    // RETH
            5'h0b: extension_words = 3'd5;                                  // RETH, ImmDt
            5'h0d, 5'h0f, 5'h10, 5'h11: extension_words = 3'd1;             // AETH
            5'h12: extension_words = 3'd3;                                  // AETH, AtomicAckETH
            5'h13, 5'h14: extension_words = 3'd7;                           // AtomicETH
            5'h16, 5'h17: extension_words = 3'd1;                           // IETH
            5'h01: extension_words = opcode[7] ? 3'd4 : 3'd0;               // reserved octets of a CNP
            default: extension_words = 3'd0;
        endcase
    endfunction

    // FIRST and MIDDLE packets are full, so they have no padding.
    function must_be_full(input [4:0] operation);
        case (operation)
            5'h00, 5'h01, 5'h06, 5'h07, 5'h0d, 5'h0e: must_be_full = 1'b1;
            default: must_be_full = 1'b0;
        endcase
    endfunction

    // Some fields carry nothing that is checked: identification, UDP source port and checksum, reserved bits, payload.
    // verilator lint_off UNUSEDSIGNAL
    reg [511:0] in_order;
    wire [7:0]  flags = `EB_FIELD(43, 1);
    // verilator lint_on UNUSEDSIGNAL
    integer     octet;

    always @* begin
        in_order = 512'h0;
        if (s_valid || s_next) begin
            for (octet = 0; octet < 64; octet = octet + 1) begin
                in_order[8*(63-octet) +: 8] = s_data[8*octet +: 8];
            end
        end
    end

    wire [15:0] ip_length = `EB_FIELD(16, 2);
    wire [15:0] udp_length = `EB_FIELD(38, 2);
    wire [7:0]  opcode = `EB_FIELD(42, 1);
    wire [1:0]  pad = flags[5:4];
    wire [2:0]  syndrome_kind = in_order[8*(63-54)+5 +: 3];
    wire        options = in_order[8*(63-14) +: 4] != 4'd5;

    // Stage 1: each check by itself.
    reg         first_valid;
    reg         first_foreign;
    reg         first_has_icrc;
    reg         first_mac;
    reg         first_version;
    reg         first_options;
    reg         first_flags;
    reg         first_fragment;
    reg         first_dest_ip;
    reg         first_ip_length;
    reg         first_udp_length;
    reg         first_tver;
    reg         first_opcode_bad;
    reg         first_short;
    reg         first_pad;
    reg         first_aeth;
    reg [7:0]   first_opcode;
    reg [23:0]  first_qpn;
    reg [23:0]  first_psn;
    reg [15:0]  first_pkey;
    reg         first_marked;
    reg [1:0]   first_flags_bth;
    reg [79:0]  first_extension;
    reg [15:0]  first_payload;
    reg [2:0]   first_words;
    reg [31:0]  first_source_ip;
    reg [47:0]  first_source_mac;
    reg [17:0]  first_sum_a;
    reg [17:0]  first_sum_b;
    reg [17:0]  first_sum_c;

    // Stage 2: order of the checks before and behind the header checksum, and the checksum's sum.
    reg         second_valid;
    reg         second_foreign;
    reg         second_has_icrc;
    reg         second_options;
    reg         second_before;
    reg [4:0]   second_before_cause;
    reg         second_behind;
    reg [4:0]   second_behind_cause;
    reg [7:0]   second_opcode;
    reg [23:0]  second_qpn;
    reg [23:0]  second_psn;
    reg [15:0]  second_pkey;
    reg         second_marked;
    reg [1:0]   second_flags_bth;
    reg [79:0]  second_extension;
    reg [12:0]  second_payload;
    reg [2:0]   second_words;
    reg [31:0]  second_source_ip;
    reg [47:0]  second_source_mac;
    reg [19:0]  second_sum;

    // Stage 3 beside the outputs, and the second beat's way through all stages.
    reg [7:0]   t_opcode;
    reg [1:0]   t_flags;
    reg [23:0]  t_qpn;
    reg [23:0]  t_psn;
    reg [15:0]  t_pkey;
    reg [79:0]  t_extension;
    reg [79:0]  t_tail;
    reg [12:0]  t_payload;
    reg [2:0]   t_words;
    reg         t_stored;
    reg [31:0]  t_source_ip;
    reg [47:0]  t_source_mac;
    reg [1:0]   tail_valid;
    reg [79:0]  first_tail;
    reg [79:0]  second_tail;

    // A right header sums up to all ones; a sum of ten words needs one carry at most.
    wire [16:0] second_folded = {1'b0, second_sum[15:0]} + {13'h0, second_sum[19:16]};
    wire        checksum_bad = second_folded != 17'h0ffff && !second_options;

    always @(posedge clk) begin
        first_valid <= s_valid;
        second_valid <= first_valid;

        if (s_valid) begin
            first_foreign <= !s_has_ports || `EB_FIELD(12, 2) != ETHERTYPE_IPV4 || `EB_FIELD(23, 1) != PROTOCOL_UDP
                || (!options && `EB_FIELD(36, 2) != PORT_ROCE);
            first_has_icrc <= ip_length >= LEAST_OCTETS;
            first_mac <= `EB_FIELD(0, 6) != local_mac;
            first_version <= in_order[8*(63-14)+4 +: 4] != 4'd4;
            first_options <= options;
            first_flags <= in_order[8*(63-20)+5 +: 3] != DONT_FRAGMENT;
            first_fragment <= in_order[8*(62-20) +: 13] != 13'd0;
            first_dest_ip <= `EB_FIELD(30, 4) != local_ip;
            first_ip_length <= ip_length[1:0] != 2'd0;
            first_udp_length <= udp_length + IP_OCTETS != ip_length;
            first_tver <= flags[3:0] != 4'd0;
            first_opcode_bad <= !known(opcode);
            first_short <= {1'b0, ip_length} < {1'b0, LEAST_OCTETS} + {12'h0, extension_words(opcode), 2'b00} + {15'h0, pad};
            first_pad <= pad != 2'd0 && must_be_full(opcode[4:0]) && !opcode[7];
            first_aeth <= opcode == OPCODE_ACK
                && (ip_length != ACK_OCTETS || pad != 2'd0 || syndrome_kind[2] || syndrome_kind[1:0] == 2'b10);
            first_opcode <= opcode;
            first_pkey <= `EB_FIELD(44, 2);
            first_qpn <= `EB_FIELD(47, 3);
            first_psn <= `EB_FIELD(51, 3);
            first_marked <= in_order[8*(63-15) +: 2] == ECN_CONGESTED;
            first_flags_bth <= {in_order[8*(63-50)+7], flags[7]};
            first_extension <= `EB_FIELD(54, 10);
            first_payload <= ip_length - LEAST_OCTETS - {11'h0, extension_words(opcode), 2'b00} - {14'h0, pad};
            first_words <= extension_words(opcode);
            first_source_mac <= `EB_FIELD(6, 6);
            first_source_ip <= `EB_FIELD(26, 4);
            first_sum_a <= {2'h0, `EB_FIELD(14, 2)} + {2'h0, ip_length} + {2'h0, `EB_FIELD(18, 2)} + {2'h0, `EB_FIELD(20, 2)};
            first_sum_b <= {2'h0, `EB_FIELD(22, 2)} + {2'h0, `EB_FIELD(24, 2)} + {2'h0, `EB_FIELD(26, 2)};
            first_sum_c <= {2'h0, `EB_FIELD(28, 2)} + {2'h0, `EB_FIELD(30, 2)} + {2'h0, `EB_FIELD(32, 2)};
        end

        if (first_valid) begin
            second_foreign <= first_foreign;
            second_has_icrc <= first_has_icrc;
            second_options <= first_options;
            second_before <= first_mac || first_version;
            second_before_cause <= first_mac ? CAUSE_MAC : CAUSE_VERSION;
            second_behind <= first_options || first_flags || first_fragment || first_dest_ip || first_ip_length
                || first_udp_length || first_tver || first_opcode_bad || first_short || first_pad || first_aeth;
            if (first_options) begin
                second_behind_cause <= CAUSE_OPTIONS;
            end else if (first_flags) begin
                second_behind_cause <= CAUSE_FLAGS;
            end else if (first_fragment) begin
                second_behind_cause <= CAUSE_FRAGMENT;
            end else if (first_dest_ip) begin
                second_behind_cause <= CAUSE_DEST_IP;
            end else if (first_ip_length) begin
                second_behind_cause <= CAUSE_IP_LENGTH;
            end else if (first_udp_length) begin
                second_behind_cause <= CAUSE_UDP_LENGTH;
            end else if (first_tver) begin
                second_behind_cause <= CAUSE_TVER;
            end else if (first_opcode_bad) begin
                second_behind_cause <= CAUSE_OPCODE;
            end else if (first_short) begin
                second_behind_cause <= CAUSE_IP_LENGTH;
            end else if (first_pad) begin
                second_behind_cause <= CAUSE_PAD;
            end else begin
                second_behind_cause <= CAUSE_AETH;
            end
            second_opcode <= first_opcode;
            second_qpn <= first_qpn;
            second_psn <= first_psn;
            second_pkey <= first_pkey;
            second_marked <= first_marked;
            second_flags_bth <= first_flags_bth;
            second_extension <= first_extension;
            second_payload <= first_payload >= {3'h0, MANY_OCTETS} ? MANY_OCTETS : first_payload[12:0];
            second_words <= first_words;
            second_source_ip <= first_source_ip;
            second_source_mac <= first_source_mac;
            second_sum <= {2'h0, first_sum_a} + {2'h0, first_sum_b} + {2'h0, first_sum_c};
        end

        if (second_valid) begin
            m_foreign <= second_foreign;
            m_has_icrc <= second_has_icrc;
            m_has_options <= second_options;
            m_bad <= second_before || checksum_bad || second_behind;
            if (second_before) begin
                m_cause <= second_before_cause;
            end else begin
                m_cause <= checksum_bad ? CAUSE_CHECKSUM : second_behind_cause;
            end
            m_is_cnp <= second_opcode == OPCODE_CNP;
            m_marked <= second_marked;
            t_opcode <= second_opcode;
            t_flags <= second_flags_bth;
            t_qpn <= second_qpn;
            t_psn <= second_psn;
            t_pkey <= second_pkey;
            t_extension <= second_extension;
            t_payload <= second_payload;
            t_words <= second_words;
            // A datagram's headers are delivered too.
            t_stored <= second_payload != 13'd0 || second_opcode[7:5] == TRANSPORT_UD;
            t_source_ip <= second_source_ip;
            t_source_mac <= second_source_mac;
        end

        // Second beat, in the same stages.
        tail_valid <= {tail_valid[0], s_next};
        if (s_next) first_tail <= `EB_FIELD(0, 10);
        if (tail_valid[0]) second_tail <= first_tail;
        if (tail_valid[1]) t_tail <= second_tail;
    end

    // Ten octets of extension headers and the ten behind them. RETH comes before ImmDt, DETH too, everything else comes alone.
    wire [159:0] extension = {t_extension, t_tail};
    wire         reth = t_words >= 3'd4;
    wire         is_datagram = t_opcode[7:5] == TRANSPORT_UD;
    wire [31:0]  word = is_datagram ? extension[95:64] : reth ? extension[31:0] : extension[159:128];
    wire [63:0]  remote_address = is_datagram ? {40'd0, extension[119:96]} : extension[159:96];
    wire [31:0]  key = is_datagram ? extension[159:128] : extension[95:64];

    assign m_ticket = {
        t_stored, t_words, t_payload, word, extension[63:32], key, remote_address, t_source_mac, t_source_ip, t_pkey,
        t_psn, t_qpn, t_flags, t_opcode
    };

    `undef EB_FIELD

endmodule

`default_nettype wire
