// hdl/ring/ring_memory.v: every row has a place of its own, and a read returns what was written to its row last, the
// write of the same cycle included, three cycles later, whatever else is read and written meanwhile.
//
// Together with ring_space_properties.v: a word that was announced and is not released is read as it was offered.
// Nothing is assumed but a reset at the start.

`timescale 1ns / 1fs
`default_nettype none

module ring_memory_properties #(
    // Bytes of the ring.
    parameter RING_BYTES = 65536,
    // 0: without the helping invariants.
    parameter HELP = 1,
    // Derived; do not override.
    parameter WORD_WIDTH = $clog2(RING_BYTES / 128)
) (
    input wire                  clk,
    input wire                  rst,
    input wire                  write_enable,
    input wire [WORD_WIDTH-1:0] write_word,
    input wire [1023:0]         write_data,
    input wire                  read_enable,
    input wire [WORD_WIDTH:0]   read_row
);

    wire [511:0] read_data;

    ring_memory #(
        .RING_BYTES(RING_BYTES)
    ) dut (
        .clk(clk),
        .rst(rst),
        .write_enable(write_enable),
        .write_word(write_word),
        .write_data(write_data),
        .read_enable(read_enable),
        .read_row(read_row),
        .read_data(read_data)
    );

    // ------------------------------------------------------------------------------------------------------------- environment

    reg started = 1'b0;

    always @(posedge clk) started <= 1'b1;

    always @* if (!started) assume (rst);

    // ----------------------------------------------------------------------------------------------------------- specification

    // Any row, and any of its bits; what was written there last.
    (* anyconst *) wire [WORD_WIDTH:0] row;
    (* anyconst *) wire [8:0] place;
    reg          known = 1'b0;
    reg          content;
    wire         hit = write_enable && write_word == row[WORD_WIDTH:1];
    wire         latest = hit ? write_data[{row[0], place}] : content;

    // Reads of it under way, by the cycles since they were asked for.
    reg          due_1 = 1'b0;
    reg          due_2 = 1'b0;
    reg          due_3 = 1'b0;
    reg          expected_1;
    reg          expected_2;
    reg          expected_3;

    always @(posedge clk) begin
        if (hit) known <= 1'b1;
        content <= latest;
        due_1 <= read_enable && read_row == row && (known || hit) && !rst;
        due_2 <= due_1 && !rst;
        due_3 <= due_2 && !rst;
        expected_1 <= latest;
        expected_2 <= expected_1;
        expected_3 <= expected_2;
    end

    always @* begin
        if (due_3) assert (read_data[place] == expected_3);
    end

    // ------------------------------------------------------------------------------------------------------ helping invariants

    // lower_0_place, lower_0_word and so on: an address of each bank, any, and the word there.
    `include "words.vh"

    (* hierconn *) wire                  \dut.read_enable_1 ;
    (* hierconn *) wire                  \dut.read_enable_2 ;
    (* hierconn *) wire [WORD_WIDTH-1:0] \dut.read_word_1 ;
    (* hierconn *) wire                  \dut.odd_1 ;
    (* hierconn *) wire                  \dut.odd_2 ;
    (* hierconn *) wire                  \dut.upper_2 ;
    (* hierconn *) wire [1023:0]         \dut.lower_data ;
    (* hierconn *) wire [1023:0]         \dut.upper_data ;

    wire         upper = &row[WORD_WIDTH:WORD_WIDTH-1];
    wire [511:0] stored = upper ? (row[0] ? upper_1_word : upper_0_word) : (row[0] ? lower_1_word : lower_0_word);
    wire [1023:0] fetched = upper ? \dut.upper_data : \dut.lower_data ;

    always @* begin
        assume (lower_0_place == row[WORD_WIDTH:1] && lower_1_place == row[WORD_WIDTH:1]);
        assume (upper_0_place == row[WORD_WIDTH-2:1] && upper_1_place == row[WORD_WIDTH-2:1]);
        if (HELP != 0) begin
            if (known) assert (stored[place] == content);
            if (due_1) assert (\dut.read_enable_1 && {\dut.read_word_1 , \dut.odd_1 } == row && known && expected_1 == content);
            if (due_2) begin
                assert (\dut.read_enable_2 && \dut.odd_2 == row[0] && \dut.upper_2 == upper);
                assert (fetched[{row[0], place}] == expected_2);
            end
        end
    end

    // ------------------------------------------------------------------------------------------------------------ reachability

    reg overwritten = 1'b0;

    always @(posedge clk) if (hit && known) overwritten <= 1'b1;

    always @* begin
        cover (due_3 && due_2 && due_1 && upper && expected_3 != expected_2 && expected_2 != expected_1);
        cover (due_3 && !upper && row[0] && overwritten);
    end

endmodule

`default_nettype wire
