// hdl/jesd204b/jesd204b_elastic_buffer.v: what is read is what was written, in order, with its marks; the fill is what is
// inside; overflow and underflow are reported when they happen and at no other time.
//
// Writing, reading and resets are free, but for a reset at the beginning. Behind a violation nothing is claimed until the next
// reset (the lane falls and restarts the buffer).

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_elastic_buffer_properties #(
    // Beats, bits of marks: as of the buffer.
    parameter DEPTH = 256,
    parameter KINDS_WIDTH = 2,
    // 1: writes zeros from the start on, and reads always, from the third beat on, or never, so that cover statements hundreds of
    // steps away are reached quickly.
    parameter REGULAR = 0,
    // 0: without the helping invariants.
    parameter HELP = 1
) (
    input wire                   clk,
    input wire                   rst,
    input wire                   write,
    input wire [31:0]            write_data,
    input wire [KINDS_WIDTH-1:0] write_kinds,
    input wire                   read
);

    localparam ADDRESS_WIDTH = $clog2(DEPTH);
    localparam COUNT_WIDTH = ADDRESS_WIDTH + 2;

    wire [31:0]            data = REGULAR != 0 ? 32'd0 : write_data;
    wire [KINDS_WIDTH-1:0] kinds = REGULAR != 0 ? {KINDS_WIDTH{1'b0}} : write_kinds;
    wire                   ready;
    wire [31:0]            read_data;
    wire [KINDS_WIDTH-1:0] read_kinds;
    wire [15:0]            latency;
    wire                   overflow;
    wire                   underflow;

    jesd204b_elastic_buffer #(
        .DEPTH(DEPTH),
        .KINDS_WIDTH(KINDS_WIDTH)
    ) dut (
        .clk(clk),
        .rst(rst),
        .write(write),
        .write_data(data),
        .write_kinds(kinds),
        .ready(ready),
        .read(read),
        .read_data(read_data),
        .read_kinds(read_kinds),
        .latency(latency),
        .overflow(overflow),
        .underflow(underflow)
    );

    // ------------------------------------------------------------------------------------------------------------- environment

    reg started = 1'b0;
    reg [COUNT_WIDTH-1:0] written;
    (* anyconst *) wire [1:0] reads;
    (* anyseq *) wire note;

    always @(posedge clk) started <= 1'b1;

    always @* begin
        if (!started) assume (rst);
        if (REGULAR != 0 && started) begin
            assume (!rst && write && read == (reads[1] || (reads[0] && written >= 3)));
            assume (reads[0] || !note);
        end
    end

    // ----------------------------------------------------------------------------------------------------------- specification

    // data_place, data_word, kinds_place, kinds_word: an address of both memories, any, and the words there.
    `include "words.vh"

    always @* assume (data_place == kinds_place);

    // Beats written and read since the last reset. Any one that is stored there is noted.
    reg  [COUNT_WIDTH-1:0] taken;
    reg                    any;
    reg                    noted;
    reg                    seen;
    reg  [COUNT_WIDTH-1:0] noted_number;
    reg  [31:0]            noted_data;
    reg  [KINDS_WIDTH-1:0] noted_kinds;

    wire [COUNT_WIDTH-1:0] inside = written - taken;
    wire                   due = noted && !seen && noted_number == taken;
    wire                   overflows = write && !read && inside == DEPTH;
    wire                   underflows = read && inside == {COUNT_WIDTH{1'b0}};

    // What is due in the next cycle.
    reg                    valid;
    reg                    violated;
    reg                    overflow_due;
    reg                    underflow_due;
    reg                    nothing_due;
    reg                    noted_due;

    always @(posedge clk) begin
        if (write) begin
            written <= written + 1'b1;
            any <= 1'b1;
            if (note && !noted && written[ADDRESS_WIDTH-1:0] == data_place) begin
                noted <= 1'b1;
                noted_number <= written;
                noted_data <= data;
                noted_kinds <= kinds;
            end
        end
        if (read) begin
            taken <= taken + 1'b1;
            if (due) seen <= 1'b1;
        end
        nothing_due <= !read;
        noted_due <= read && due && !violated && !rst;
        overflow_due <= overflows;
        underflow_due <= underflows;
        if (overflows || underflows) violated <= 1'b1;
        valid <= started && !violated && !rst;
        if (rst) begin
            written <= {COUNT_WIDTH{1'b0}};
            taken <= {COUNT_WIDTH{1'b0}};
            any <= 1'b0;
            noted <= 1'b0;
            seen <= 1'b0;
            violated <= 1'b0;
        end
    end

    initial valid = 1'b0;

    always @* begin
        if (valid) begin
            assert (overflow == overflow_due);
            assert (underflow == underflow_due);
        end
        if (started && !violated) begin
            assert (latency == {{(16-COUNT_WIDTH){1'b0}}, inside});
            assert (inside <= DEPTH);
            assert (ready == any);
            if (noted && !seen) assert (noted_number - taken < inside);
        end
        if (started && nothing_due) assert (read_data == 32'd0 && read_kinds == {KINDS_WIDTH{1'b0}});
        if (started && noted_due && valid) assert (read_data == noted_data && read_kinds == noted_kinds);
    end

    // ------------------------------------------------------------------------------------------------------ helping invariants

    (* hierconn *) wire [ADDRESS_WIDTH-1:0] \dut.write_pointer ;
    (* hierconn *) wire [ADDRESS_WIDTH-1:0] \dut.read_pointer ;

    always @* begin
        if (HELP != 0 && started && !violated) begin
            assert (\dut.write_pointer == written[ADDRESS_WIDTH-1:0]);
            assert (\dut.read_pointer == taken[ADDRESS_WIDTH-1:0]);
            if (noted) assert (noted_number[ADDRESS_WIDTH-1:0] == data_place);
            if (noted && !seen) assert (data_word == noted_data && kinds_word == noted_kinds);
        end
    end

    // ------------------------------------------------------------------------------------------------------------ reachability

    reg read_before;

    always @(posedge clk) read_before <= read && !rst;

    always @* begin
        cover (started && noted_due && read_before && taken == 5 && inside == 3);
        cover (valid && underflow);
        cover (valid && overflow);
    end

endmodule

`default_nettype wire
