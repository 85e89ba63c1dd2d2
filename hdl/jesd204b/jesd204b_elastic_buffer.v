// Elastic buffer of one lane: takes up the skew between lanes until all are released together.
//
// Writing starts with the first beat after the alignment sequence, reading with the release. Marks of errors travel with the
// data. Both sides run on one clock and never pause, so that the fill at release is the lane's share of the latency.

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_elastic_buffer #(
    // Beats of four octets, a power of two. At least two multiframes (of up to 128 beats) and the largest skew.
    parameter DEPTH = 512,
    // Width of the marks beside each beat.
    parameter KINDS_WIDTH = 6
) (
    input  wire                   clk,
    input  wire                   rst,
    // Write side.
    input  wire                   write,
    input  wire [31:0]            write_data,
    input  wire [KINDS_WIDTH-1:0] write_kinds,
    // There is something to read.
    output reg                    ready,
    // Read side: data follows by a cycle, zero when not reading.
    input  wire                   read,
    output reg  [31:0]            read_data,
    output reg  [KINDS_WIDTH-1:0] read_kinds,
    // Fill, which stays what it is at the first read; one cycle of each violation.
    output wire [15:0]            latency,
    output reg                    overflow,
    output reg                    underflow
);

    localparam ADDRESS_WIDTH = $clog2(DEPTH);

    reg [31:0]              data_memory [0:DEPTH-1];
    reg [KINDS_WIDTH-1:0]   kinds_memory [0:DEPTH-1];
    reg [ADDRESS_WIDTH-1:0] write_pointer;
    reg [ADDRESS_WIDTH-1:0] read_pointer;
    // Written and not read; at rest while both sides run.
    reg [ADDRESS_WIDTH:0]   fill;
    wire                    full = fill[ADDRESS_WIDTH];
    wire                    empty = fill == {(ADDRESS_WIDTH+1){1'b0}};

    assign latency = {{(15-ADDRESS_WIDTH){1'b0}}, fill};

    always @(posedge clk) begin
        overflow <= 1'b0;
        underflow <= 1'b0;
        if (write) begin
            data_memory[write_pointer] <= write_data;
            kinds_memory[write_pointer] <= write_kinds;
        end
        if (read) begin
            read_data <= data_memory[read_pointer];
            read_kinds <= kinds_memory[read_pointer];
        end else begin
            read_data <= 32'd0;
            read_kinds <= {KINDS_WIDTH{1'b0}};
        end
        if (rst) begin
            write_pointer <= {ADDRESS_WIDTH{1'b0}};
            read_pointer <= {ADDRESS_WIDTH{1'b0}};
            fill <= {(ADDRESS_WIDTH+1){1'b0}};
            ready <= 1'b0;
        end else begin
            if (write) begin
                write_pointer <= write_pointer + 1'b1;
                ready <= 1'b1;
            end
            if (read) begin
                read_pointer <= read_pointer + 1'b1;
                underflow <= empty;
            end
            if (write && !read) begin
                overflow <= full;
                fill <= full ? fill : fill + 1'b1;
            end
            if (read && !write) begin
                fill <= empty ? fill : fill - 1'b1;
            end
        end
    end

    generate
        if (DEPTH < 256 || DEPTH > 16384 || (DEPTH & (DEPTH - 1)) != 0) begin : check_depth
            initial $fatal(1, "%m: DEPTH must be a power of two from 256 to 16384");
        end
    endgenerate

endmodule

`default_nettype wire
