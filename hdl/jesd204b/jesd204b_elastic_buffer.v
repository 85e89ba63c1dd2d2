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
    input  wire                   restart,
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
    // Fill at the first read; one cycle of each violation.
    output reg  [15:0]            latency,
    output reg                    overflow,
    output reg                    underflow
);

    localparam ADDRESS_WIDTH = $clog2(DEPTH);

    reg [31:0]              data_memory [0:DEPTH-1];
    reg [KINDS_WIDTH-1:0]   kinds_memory [0:DEPTH-1];
    reg [ADDRESS_WIDTH:0]   write_pointer;
    reg [ADDRESS_WIDTH:0]   read_pointer;
    reg                     reading;

    // The pointers' top bits tell full from empty.
    wire same_place = write_pointer[ADDRESS_WIDTH-1:0] == read_pointer[ADDRESS_WIDTH-1:0];
    wire same_lap = write_pointer[ADDRESS_WIDTH] == read_pointer[ADDRESS_WIDTH];
    wire [ADDRESS_WIDTH:0] fill = write_pointer - read_pointer;

    always @(posedge clk) begin
        overflow <= 1'b0;
        underflow <= 1'b0;
        if (write) begin
            data_memory[write_pointer[ADDRESS_WIDTH-1:0]] <= write_data;
            kinds_memory[write_pointer[ADDRESS_WIDTH-1:0]] <= write_kinds;
        end
        if (read) begin
            read_data <= data_memory[read_pointer[ADDRESS_WIDTH-1:0]];
            read_kinds <= kinds_memory[read_pointer[ADDRESS_WIDTH-1:0]];
        end else begin
            read_data <= 32'd0;
            read_kinds <= {KINDS_WIDTH{1'b0}};
        end
        if (rst || restart) begin
            write_pointer <= {(ADDRESS_WIDTH+1){1'b0}};
            read_pointer <= {(ADDRESS_WIDTH+1){1'b0}};
            ready <= 1'b0;
            reading <= 1'b0;
        end else begin
            if (write) begin
                write_pointer <= write_pointer + 1'b1;
                ready <= 1'b1;
                overflow <= same_place && !same_lap && !read;
            end
            if (read) begin
                read_pointer <= read_pointer + 1'b1;
                reading <= 1'b1;
                underflow <= same_place && same_lap;
                if (!reading) begin
                    latency <= {{(15-ADDRESS_WIDTH){1'b0}}, fill};
                end
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
