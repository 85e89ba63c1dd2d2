// Headers of one packet, Ethernet to the last extension header, in wire order.
//
// The header checksum takes two additions, so the result is there three cycles after the command; it stays until the next.

`timescale 1ns / 1fs
`default_nettype none
`include "ernic_command.vh"

module ernic_header (
    input  wire         clk,
    input  wire         rst,

    // Static configuration.
    input  wire [47:0]  local_mac,
    input  wire [31:0]  local_ip,
    input  wire [15:0]  udp_source_port,

    // Packet, taken when s_valid is high: which extension headers it has, IPv4 total length in octets, padding, all else.
    input  wire         s_valid,
    input  wire         s_has_reth,
    input  wire         s_has_deth,
    input  wire         s_has_word,
    input  wire         s_is_key,
    input  wire [12:0]  s_ip_length,
    input  wire [1:0]   s_pad,
    // verilator lint_off UNUSEDSIGNAL
    // Where the payload is does not show in the headers.
    input  wire [`EB_CMD_WIDTH-1:0] s_cmd,
    // verilator lint_on UNUSEDSIGNAL

    // 74 octets, octet 0 in bits 7:0; zero behind the last header.
    output reg  [591:0] m_header
);

    localparam [7:0]  PROTOCOL_UDP = 8'd17;
    localparam [15:0] PORT_ROCE = 16'd4791;
    localparam [15:0] DONT_FRAGMENT = 16'h4000;
    localparam [15:0] UDP_OFFSET = 16'd20;

    // Fixed part of the header checksum; the local address is static, so this sum has settled long before it is used.
    reg [18:0] fixed_sum;

    reg         given_valid;
    reg [95:0]  given_bth;
    reg [159:0] given_extension;
    reg [47:0]  given_mac;
    reg [31:0]  given_ip;
    reg [15:0]  given_ttl_class;
    reg [15:0]  given_length;
    reg [16:0]  given_ip_sum;

    reg         summed_valid;
    reg [95:0]  summed_bth;
    reg [159:0] summed_extension;
    reg [47:0]  summed_mac;
    reg [31:0]  summed_ip;
    reg [15:0]  summed_ttl_class;
    reg [15:0]  summed_length;
    reg [15:0]  summed_udp_length;
    reg [19:0]  summed_sum;

    wire [31:0]  remote_key = s_cmd[`EB_CMD_REMOTE_KEY];
    wire [31:0]  dest_ip = s_cmd[`EB_CMD_DEST_IP];
    wire [127:0] reth = {s_cmd[`EB_CMD_REMOTE_ADDRESS], remote_key, s_cmd[`EB_CMD_DMA_LENGTH]};
    wire [63:0]  deth = {s_cmd[`EB_CMD_QKEY], 8'h0, s_cmd[`EB_CMD_SOURCE_QPN]};
    wire [31:0]  word = !s_has_word ? 32'h0 : s_is_key ? remote_key : s_cmd[`EB_CMD_IMMEDIATE];

    wire [16:0]  folded_once = {1'b0, summed_sum[15:0]} + {13'h0, summed_sum[19:16]};
    wire [15:0]  checksum = ~(folded_once[15:0] + {15'h0, folded_once[16]});

    wire [591:0] in_order = {
        summed_mac, local_mac, 16'h0800,
        8'h45, summed_ttl_class[7:0], summed_length, 16'h0, DONT_FRAGMENT, summed_ttl_class[15:8], PROTOCOL_UDP, checksum,
        local_ip, summed_ip,
        udp_source_port, PORT_ROCE, summed_udp_length, 16'h0,
        summed_bth, summed_extension
    };

    integer octet;

    always @(posedge clk) begin
        fixed_sum <= {3'h0, 16'h4500} + {3'h0, DONT_FRAGMENT} + {11'h0, PROTOCOL_UDP}
            + {3'h0, local_ip[31:16]} + {3'h0, local_ip[15:0]};
        given_valid <= s_valid;
        summed_valid <= given_valid;
        if (s_valid) begin
            given_bth <= {
                s_cmd[`EB_CMD_OPCODE], s_cmd[`EB_CMD_SOLICITED], s_cmd[`EB_CMD_MIGREQ], s_pad, 4'h0, s_cmd[`EB_CMD_PKEY],
                1'b0, s_cmd[`EB_CMD_BECN], 6'h0, s_cmd[`EB_CMD_DEST_QPN], s_cmd[`EB_CMD_ACK_REQUEST], 7'h0, s_cmd[`EB_CMD_PSN]
            };
            case ({s_has_reth, s_has_deth})
                2'b00: given_extension <= {word, 128'h0};
                2'b01: given_extension <= {deth, word, 64'h0};
                default: given_extension <= {reth, word};
            endcase
            given_mac <= s_cmd[`EB_CMD_DEST_MAC];
            given_ip <= dest_ip;
            given_ttl_class <= {s_cmd[`EB_CMD_TTL], s_cmd[`EB_CMD_TRAFFIC_CLASS]};
            given_length <= {3'h0, s_ip_length};
            given_ip_sum <= {1'b0, dest_ip[31:16]} + {1'b0, dest_ip[15:0]};
        end
        if (given_valid) begin
            summed_bth <= given_bth;
            summed_extension <= given_extension;
            summed_mac <= given_mac;
            summed_ip <= given_ip;
            summed_ttl_class <= given_ttl_class;
            summed_length <= given_length;
            summed_udp_length <= given_length - UDP_OFFSET;
            summed_sum <= {1'b0, fixed_sum} + {3'h0, given_ip_sum} + {4'h0, given_ttl_class} + {4'h0, given_length};
        end
        if (summed_valid) begin
            for (octet = 0; octet < 74; octet = octet + 1) begin
                m_header[8*octet +: 8] <= in_order[8*(73-octet) +: 8];
            end
        end
        if (rst) begin
            given_valid <= 1'b0;
            summed_valid <= 1'b0;
        end
    end

endmodule

`default_nettype wire
