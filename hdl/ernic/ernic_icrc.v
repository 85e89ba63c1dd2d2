// CRC register of the invariant CRC (IBTA vol. 1, 7.8.1; RoCEv2 annex A17.4.4.1), 64 octets a clock.
//
// Takes the beats of an Ethernet frame as they are on the wire, the last one filled with zeros behind the last octet that
// counts, and returns the register after the 64 octets of that beat. The register is linear, which makes three things cheap:
// * Started at zero it does not see leading zeros, so the Ethernet header is zeroed instead of being shifted out. The real
//   start, all ones and then the eight octets FF that stand for the local route header, is XORed into the first four octets.
// * A beat is 32 parities over constant masks, in a pipeline; only 32 bits are fed back.
// * Zeros that were fed too much can be undone (ernic_icrc_rewind) or be expected (ernic_receive).
// Fields that routers change count as ones, so they are set here: nobody else needs to know them.

`timescale 1ns / 1fs
`default_nettype none

module ernic_icrc (
    input  wire         clk,
    input  wire         rst,

    // Beats of a frame from its first octet; first and last beat marked. Octets behind the end are zero.
    input  wire         s_valid,
    input  wire         s_first,
    input  wire         s_last,
    input  wire [511:0] s_data,

    // Three cycles after a last beat: register behind its 64 octets, neither complemented nor swapped.
    output reg          m_valid,
    output reg  [31:0]  m_state
);

    localparam [31:0] POLYNOMIAL = 32'hedb88320;
    // Register after eight octets FF, started with all ones.
    localparam [31:0] SEED = 32'hdebb20e3;

    function [31:0] step(input [31:0] state);
        step = {1'b0, state[31:1]} ^ (state[0] ? POLYNOMIAL : 32'h0);
    endfunction

    // The bits of a beat that reach a given bit of the register. Bit 0 of octet 0 comes first, so it is stepped most often.
    function [511:0] row_of(input [4:0] index);
        integer      position;
        reg [31:0]   column;
        reg [511:0]  row;
        begin
            column = POLYNOMIAL;
            row = 512'h0;
            for (position = 511; position >= 0; position = position - 1) begin
                row[position] = column[index];
                column = step(column);
            end
            row_of = row;
        end
    endfunction

    // What each bit of the register becomes 64 octets later: the same as a bit in the first four octets.
    function [1023:0] feedback_columns(input integer unused);
        integer      position;
        reg [31:0]   column;
        reg [1023:0] columns;
        begin
            column = POLYNOMIAL;
            columns = 1024'h0;
            for (position = 511; position >= 0; position = position - 1) begin
                if (position < 32) begin
                    columns[32*position +: 32] = column;
                end
                column = step(column);
            end
            feedback_columns = columns;
        end
    endfunction

    localparam [1023:0] FEEDBACK = feedback_columns(0);

    // Octets 0..13 Ethernet; IPv4: 15 TOS, 22 TTL, 24-25 checksum; UDP: 40-41 checksum; BTH: 46 FECN, BECN, reserved.
    function [511:0] covered(input [511:0] data);
        begin
            covered = data;
            covered[0 +: 112] = 112'h0;
            covered[8*15 +: 8] = 8'hff;
            covered[8*22 +: 8] = 8'hff;
            covered[8*24 +: 16] = 16'hffff;
            covered[8*40 +: 16] = 16'hffff;
            covered[8*46 +: 8] = 8'hff;
            covered[8*14 +: 32] = covered[8*14 +: 32] ^ SEED;
        end
    endfunction

    reg         beat_valid;
    reg         beat_first;
    reg         beat_last;
    reg [511:0] beat_data;
    reg         parity_valid;
    reg         parity_first;
    reg         parity_last;
    reg [31:0]  parity_low;
    reg [31:0]  parity_high;

    always @(posedge clk) begin
        beat_valid <= s_valid;
        parity_valid <= beat_valid;
        m_valid <= parity_valid && parity_last;
        if (s_valid) begin
            beat_first <= s_first;
            beat_last <= s_last;
            beat_data <= s_first ? covered(s_data) : s_data;
        end
        if (beat_valid) begin
            parity_first <= beat_first;
            parity_last <= beat_last;
        end
        if (rst) begin
            beat_valid <= 1'b0;
            parity_valid <= 1'b0;
            m_valid <= 1'b0;
        end
    end

    // Two partial parities a bit, of about 128 inputs each; the feedback cycle joins them.
    genvar index;
    generate
        for (index = 0; index < 32; index = index + 1) begin : parity
            localparam [511:0] ROW = row_of(index[4:0]);
            always @(posedge clk) begin
                if (beat_valid) begin
                    parity_low[index] <= ^(beat_data[255:0] & ROW[255:0]);
                    parity_high[index] <= ^(beat_data[511:256] & ROW[511:256]);
                end
            end
        end
    endgenerate

    function [31:0] fed_back(input [31:0] state);
        integer column;
        begin
            fed_back = 32'h0;
            for (column = 0; column < 32; column = column + 1) begin
                if (state[column]) begin
                    fed_back = fed_back ^ FEEDBACK[32*column +: 32];
                end
            end
        end
    endfunction

    always @(posedge clk) begin
        if (parity_valid) begin
            m_state <= parity_low ^ parity_high ^ (parity_first ? 32'h0 : fed_back(m_state));
        end
    end

endmodule

`default_nettype wire
