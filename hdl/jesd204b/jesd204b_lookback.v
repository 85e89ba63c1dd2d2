// Holds a lane's beats back while marks run ahead: a mark covers the beats before it, too.
//
// One flipped bit on the line may turn a character into another valid one, with only the running disparity wrong. That shows at
// the next character that is not balanced itself, on average half an octet later and with scrambled data after more than 16
// octets once in ten million; all of them must be marked.

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_lookback (
    input  wire        clk,
    input  wire        rst,
    input  wire        s_valid,
    input  wire [31:0] s_data,
    input  wire [5:0]  s_kinds,
    // Five beats later; the kinds of this beat, and those of the four after it that may have been this one's fault.
    output wire        m_valid,
    output wire [31:0] m_data,
    output wire [5:0]  m_kinds
);

    // Disparity; frame or multiframe misaligned, which may have begun at any time since the last frame's end.
    localparam [5:0] BACKWARD = 6'b011001;

    reg [31:0] data_1;
    reg [31:0] data_2;
    reg [31:0] data_3;
    reg [31:0] data_4;
    reg [31:0] data_5;
    reg [4:0]  valid;
    // Nearly always zero, and then left alone.
    reg [29:0] kinds;
    reg        marked;

    assign m_valid = valid[4];
    assign m_data = data_5;
    assign m_kinds = marked ? kinds[29:24] : 6'd0;

    always @(posedge clk) begin
        data_1 <= s_data;
        data_2 <= data_1;
        data_3 <= data_2;
        data_4 <= data_3;
        data_5 <= data_4;
        if (rst) begin
            valid <= 5'd0;
            marked <= 1'b0;
            kinds <= 30'd0;
        end else begin
            valid <= {valid[3:0], s_valid};
            if (marked || s_kinds != 6'd0) begin
                marked <= {kinds[23:0], s_kinds} != 30'd0;
                kinds <= {kinds[23:0], s_kinds} | {5{BACKWARD & s_kinds}};
            end
        end
    end

endmodule

`default_nettype wire
