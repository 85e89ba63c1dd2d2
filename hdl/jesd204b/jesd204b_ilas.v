// Checks the initial lane alignment sequence of one lane (JESD204B 5.3.3.5, 8.3): structure, configuration, check sum.
//
// Structure: four multiframes by count, /R/ first and /A/ last in each and nowhere else, /Q/ after the second /R/. The
// configuration is taken wherever /R/ /Q/ stand, so that a sender with another K still tells that it has one; it is compared
// field by field, since several fields share an octet.

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_ilas (
    input  wire         clk,
    input  wire         rst,
    // Check this beat, and where it stands.
    input  wire         check,
    input  wire         multiframe_first,
    input  wire         multiframe_last,
    input  wire [1:0]   multiframe,
    input  wire [31:0]  data,
    input  wire [3:0]   charisk,
    // Configuration octets expected, octet 0 in bits 23:16 (two octets of /R/ /Q/ in front), and which findings count. The check
    // sum is over fields, or over octets.
    input  wire [127:0] expected,
    input  wire [21:0]  compare,
    input  wire         sum_octets,
    // This beat's findings, bits as in LANE_ILAS_MISMATCH.
    output reg  [21:0]  mismatch,
    // Found since reset: a configuration field differs; the structure is broken (this beat included).
    output reg          configuration_bad,
    output wire         structure_bad,
    // Configuration as received, for registers: words of four octets, the first with /R/ /Q/ in front.
    input  wire [1:0]   read_word,
    output wire [31:0]  read_data
);

    localparam [7:0] CHARACTER_R = 8'h1c;
    localparam [7:0] CHARACTER_A = 8'h7c;
    localparam [7:0] CHARACTER_Q = 8'h9c;

    // Bits of the findings: fields in the order in which they are sent (a bit each), then the two below.
    localparam CHECK_SUM = 20;
    localparam STRUCTURE = 21;

    reg [31:0] captured [0:3];
    reg        taking;
    reg [1:0]  word;
    reg [7:0]  sum;
    reg        structure_was_bad;

    assign read_data = captured[read_word];

    // Evaluated in the few hundred beats of a sequence only.
    reg       structure_now;
    reg       config_here;
    reg [1:0] index;
    reg [7:0] sum_now;
    reg [7:0] octets;
    reg [7:0] fields;
    reg [3:0] is_r;
    reg [3:0] is_a;
    reg [3:0] is_q;
    reg [31:0] difference;

    integer i;

    always @* begin
        structure_now = 1'b0;
        config_here = 1'b0;
        index = 2'd0;
        sum_now = 8'd0;
        octets = 8'd0;
        fields = 8'd0;
        is_r = 4'd0;
        is_a = 4'd0;
        is_q = 4'd0;
        difference = 32'd0;
        mismatch = 22'd0;
        if (check) begin
            for (i = 0; i < 4; i = i + 1) begin
                is_r[i] = charisk[i] && data[8*i +: 8] == CHARACTER_R;
                is_a[i] = charisk[i] && data[8*i +: 8] == CHARACTER_A;
                is_q[i] = charisk[i] && data[8*i +: 8] == CHARACTER_Q;
            end
            structure_now = is_r != {3'd0, multiframe_first} || is_a != {multiframe_last, 3'd0}
                            || is_q != {2'd0, multiframe_first && multiframe == 2'd1, 1'b0};
            config_here = taking || (is_r[0] && is_q[1]);
            index = taking ? word : 2'd0;
            if (config_here) begin
                difference = expected[32*index +: 32] ^ data;
                // What the word adds to the check sum (JESD204B 8.3, link configuration octets).
                case (index)
                    2'd0: begin
                        octets = data[23:16] + data[31:24];
                        fields = data[23:16] + {4'd0, data[31:28]} + {4'd0, data[27:24]};
                        // DID; ADJCNT, BID.
                        mismatch[0] = difference[23:16] != 8'd0;
                        mismatch[1] = difference[31:28] != 4'd0;
                        mismatch[2] = difference[27:24] != 4'd0;
                    end
                    2'd1: begin
                        octets = data[7:0] + data[15:8] + data[23:16] + data[31:24];
                        fields = {7'd0, data[6]} + {7'd0, data[5]} + {3'd0, data[4:0]} + {7'd0, data[15]} + {3'd0, data[12:8]}
                                 + data[23:16] + {3'd0, data[28:24]};
                        // ADJDIR, PHADJ, LID; SCR, L; F; K; bits that are always zero.
                        mismatch[3] = difference[6];
                        mismatch[4] = difference[5];
                        mismatch[5] = difference[4:0] != 5'd0;
                        mismatch[6] = difference[15];
                        mismatch[7] = difference[12:8] != 5'd0;
                        mismatch[8] = difference[23:16] != 8'd0;
                        mismatch[9] = difference[28:24] != 5'd0;
                        mismatch[19] = {difference[7], difference[14:13], difference[31:29]} != 6'd0;
                    end
                    2'd2: begin
                        octets = data[7:0] + data[15:8] + data[23:16] + data[31:24];
                        fields = data[7:0] + {6'd0, data[15:14]} + {3'd0, data[12:8]} + {5'd0, data[23:21]}
                                 + {3'd0, data[20:16]} + {5'd0, data[31:29]} + {3'd0, data[28:24]};
                        // M; CS, N; SUBCLASSV, N'; JESDV, S.
                        mismatch[10] = difference[7:0] != 8'd0;
                        mismatch[11] = difference[15:14] != 2'd0;
                        mismatch[12] = difference[12:8] != 5'd0;
                        mismatch[13] = difference[23:21] != 3'd0;
                        mismatch[14] = difference[20:16] != 5'd0;
                        mismatch[15] = difference[31:29] != 3'd0;
                        mismatch[16] = difference[28:24] != 5'd0;
                        mismatch[19] = difference[13];
                    end
                    default: begin
                        octets = data[7:0] + data[15:8] + data[23:16];
                        fields = {7'd0, data[7]} + {3'd0, data[4:0]};
                        // HD, CF; two octets that are reserved.
                        mismatch[17] = difference[7];
                        mismatch[18] = difference[4:0] != 5'd0;
                        mismatch[19] = {difference[6:5], difference[23:8]} != 18'd0;
                    end
                endcase
                sum_now = (taking ? sum : 8'd0) + (sum_octets ? octets : fields);
                // The last octet is the sum over what was received; the expected one follows from the fields.
                mismatch[CHECK_SUM] = index == 2'd3 && data[31:24] != sum_now;
            end
            mismatch[STRUCTURE] = structure_now;
            mismatch = mismatch & compare;
        end
    end

    assign structure_bad = structure_was_bad || mismatch[STRUCTURE];

    always @(posedge clk) begin
        if (rst) begin
            taking <= 1'b0;
            word <= 2'd0;
            sum <= 8'd0;
            configuration_bad <= 1'b0;
            structure_was_bad <= 1'b0;
        end else if (check) begin
            structure_was_bad <= structure_bad;
            if (mismatch[CHECK_SUM:0] != 21'd0) begin
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
