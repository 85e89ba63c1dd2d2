// Checks the initial lane alignment sequence of one lane (JESD204B 5.3.3.5, 8.3): structure, configuration, check sum.
//
// Structure: four multiframes by count, /R/ first and /A/ last in each and nowhere else, /Q/ after the second /R/. The
// configuration is taken wherever /R/ /Q/ stand, so that a sender with another K still tells that it has one.

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_ilas (
    input  wire         clk,
    input  wire         rst,
    // A new sequence begins with the next checked beat.
    input  wire         restart,
    // Check this beat, and where it stands.
    input  wire         check,
    input  wire         multiframe_first,
    input  wire         multiframe_last,
    input  wire [1:0]   multiframe,
    input  wire [31:0]  data,
    input  wire [3:0]   charisk,
    // Configuration octets expected, octet 0 in bits 23:16 (two octets of /R/ /Q/ in front), and which of them to compare;
    // bit 16 of the mask: structure. The check sum is over fields, or over octets.
    input  wire [127:0] expected,
    input  wire [16:0]  compare,
    input  wire         sum_octets,
    // This beat's findings, bits as in LANE_ILAS_MISMATCH.
    output reg  [16:0]  mismatch,
    // Found since restart: a configuration octet differs; the structure is broken (this beat included).
    output reg          configuration_bad,
    output wire         structure_bad,
    // Configuration as received, for registers: words of four octets, the first with /R/ /Q/ in front.
    input  wire [1:0]   read_word,
    output wire [31:0]  read_data
);

    localparam [7:0] CHARACTER_R = 8'h1c;
    localparam [7:0] CHARACTER_A = 8'h7c;
    localparam [7:0] CHARACTER_Q = 8'h9c;

    reg [31:0] captured [0:3];
    reg        taking;
    reg [1:0]  word;
    reg [7:0]  sum;
    reg        structure_was_bad;

    assign read_data = captured[read_word];

    function [3:0] where_is(input [7:0] character, input [31:0] octets, input [3:0] k);
        where_is = k & {octets[31:24] == character, octets[23:16] == character,
                        octets[15:8] == character, octets[7:0] == character};
    endfunction

    // Sum of the fields in word `index` (JESD204B 8.3, link configuration octets).
    // verilator lint_off UNUSEDSIGNAL
    // Bits between the fields do not count.
    function [7:0] field_sum(input [1:0] index, input [31:0] w);
        case (index)
            2'd0: field_sum = w[23:16] + {4'd0, w[31:28]} + {4'd0, w[27:24]};
            2'd1: field_sum = {7'd0, w[6]} + {7'd0, w[5]} + {3'd0, w[4:0]} + {7'd0, w[15]} + {3'd0, w[12:8]} + w[23:16]
                              + {3'd0, w[28:24]};
            2'd2: field_sum = w[7:0] + {6'd0, w[15:14]} + {3'd0, w[12:8]} + {5'd0, w[23:21]} + {3'd0, w[20:16]}
                              + {5'd0, w[31:29]} + {3'd0, w[28:24]};
            default: field_sum = {7'd0, w[7]} + {3'd0, w[4:0]};
        endcase
    endfunction
    // verilator lint_on UNUSEDSIGNAL

    function [7:0] octet_sum(input [1:0] index, input [31:0] w);
        case (index)
            2'd0: octet_sum = w[23:16] + w[31:24];
            2'd3: octet_sum = w[7:0] + w[15:8] + w[23:16];
            default: octet_sum = w[7:0] + w[15:8] + w[23:16] + w[31:24];
        endcase
    endfunction

    function [3:0] differs(input [31:0] a, input [31:0] b);
        differs = {a[31:24] != b[31:24], a[23:16] != b[23:16], a[15:8] != b[15:8], a[7:0] != b[7:0]};
    endfunction

    // Evaluated in the few hundred beats of a sequence only.
    reg       structure_now;
    reg       config_here;
    reg [1:0] index;
    reg [7:0] sum_now;
    reg [3:0] octets_bad;

    always @* begin
        structure_now = 1'b0;
        config_here = 1'b0;
        index = 2'd0;
        sum_now = 8'd0;
        octets_bad = 4'd0;
        mismatch = 17'd0;
        if (check) begin
            structure_now = where_is(CHARACTER_R, data, charisk) != {3'd0, multiframe_first}
                            || where_is(CHARACTER_A, data, charisk) != {multiframe_last, 3'd0}
                            || where_is(CHARACTER_Q, data, charisk) != {2'd0, multiframe_first && multiframe == 2'd1, 1'b0};
            config_here = taking || (charisk[1:0] == 2'b11 && data[15:0] == {CHARACTER_Q, CHARACTER_R});
            index = taking ? word : 2'd0;
            if (config_here) begin
                sum_now = (taking ? sum : 8'd0) + (sum_octets ? octet_sum(index, data) : field_sum(index, data));
                octets_bad = differs(data, expected[index*32 +: 32]);
                case (index)
                    2'd0: mismatch[1:0] = octets_bad[3:2];
                    2'd1: mismatch[5:2] = octets_bad;
                    2'd2: mismatch[9:6] = octets_bad;
                    // The last octet is the check sum over what was received; the expected one follows from the fields.
                    default: mismatch[13:10] = {data[31:24] != sum_now, octets_bad[2:0]};
                endcase
            end
            mismatch[16] = structure_now;
            mismatch = mismatch & compare;
        end
    end

    assign structure_bad = structure_was_bad || mismatch[16];

    always @(posedge clk) begin
        if (rst || restart) begin
            taking <= 1'b0;
            word <= 2'd0;
            sum <= 8'd0;
            configuration_bad <= 1'b0;
            structure_was_bad <= 1'b0;
        end else if (check) begin
            structure_was_bad <= structure_bad;
            if (mismatch[15:0] != 16'd0) begin
                configuration_bad <= 1'b1;
            end
            if (config_here) begin
                captured[index] <= data;
                taking <= index != 2'd3;
                word <= index + 2'd1;
                sum <= sum_now;
            end
        end
    end

endmodule

`default_nettype wire
