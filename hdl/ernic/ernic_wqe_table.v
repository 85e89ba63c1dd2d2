// Messages in flight: where each began, how far it reaches, and what its completion must say.
//
// Written when a message is first started, read when it is acknowledged; so neither needs its queue entry again.

`timescale 1ns / 1fs
`default_nettype none

module ernic_wqe_table #(
    // Queue pairs. At least 2.
    parameter NUM_QP = 4,
    // Messages in flight a queue pair. Power of two, at least 2.
    parameter OUTSTANDING = 1024,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP),
    parameter INDEX_WIDTH = $clog2(OUTSTANDING)
) (
    input  wire                   clk,

    input  wire                   write_valid,
    input  wire [QP_WIDTH-1:0]    write_qp,
    input  wire [INDEX_WIDTH-1:0] write_index,
    input  wire [23:0]            write_first_psn,
    input  wire [23:0]            write_last_psn,
    input  wire                   write_in_ring,
    input  wire [63:0]            write_address,
    input  wire [23:0]            write_length,
    input  wire [15:0]            write_identifier,
    input  wire [7:0]             write_opcode,

    // One cycle after the load.
    input  wire                   read_load,
    input  wire [QP_WIDTH-1:0]    read_qp,
    input  wire [INDEX_WIDTH-1:0] read_index,
    output wire [23:0]            read_first_psn,
    output wire [23:0]            read_last_psn,
    output wire                   read_in_ring,
    output wire [63:0]            read_address,
    output wire [23:0]            read_length,
    output wire [15:0]            read_identifier,
    output wire [7:0]             read_opcode
);

    localparam WIDTH = 24 + 24 + 1 + 64 + 24 + 16 + 8;

    reg [WIDTH-1:0] memory [0:NUM_QP*OUTSTANDING-1];
    reg [WIDTH-1:0] entry;

    assign {
        read_first_psn, read_last_psn, read_in_ring, read_address, read_length, read_identifier, read_opcode
    } = entry;

    always @(posedge clk) begin
        if (write_valid) begin
            memory[{write_qp, write_index}] <= {
                write_first_psn, write_last_psn, write_in_ring, write_address, write_length, write_identifier, write_opcode
            };
        end
        if (read_load) entry <= memory[{read_qp, read_index}];
    end

    generate
        if (OUTSTANDING < 2 || OUTSTANDING != 1 << $clog2(OUTSTANDING)) begin : check_outstanding
            initial $fatal(1, "%m: OUTSTANDING must be a power of two of at least 2");
        end
    endgenerate

endmodule

`default_nettype wire
