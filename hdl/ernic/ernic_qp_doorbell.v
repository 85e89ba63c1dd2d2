// Send doorbells: turns what software writes to SQPI into a count of posted entries, one a queue pair.
//
// Both habits of drivers are understood: an index modulo the depth, and one that runs 1 to depth and then starts at 1 again.
// They differ for index 0, which the second writes as the depth, and so wants to read from CQHEAD. A doorbell that would post
// more than the queue holds is not taken: SQPI keeps its value.

`timescale 1ns / 1fs
`default_nettype none

module ernic_qp_doorbell #(
    // Queue pairs. At least 2.
    parameter NUM_QP = 4,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire                clk,
    input  wire                rst,

    // A queue pair's pointers to 0.
    input  wire                clear_valid,
    input  wire [QP_WIDTH-1:0] clear_qp,

    // Status of one queue pair, one cycle after the load; a write refers to the one loaded last.
    input  wire                status_load,
    input  wire [QP_WIDTH-1:0] status_qp,
    output reg  [15:0]         status_index,
    output reg  [15:0]         status_posted,
    // SQPI is written: as a doorbell, or (plain) as a register.
    input  wire                write_valid,
    input  wire                write_plain,
    input  wire [QP_WIDTH-1:0] write_qp,
    input  wire [15:0]         write_index,
    input  wire [15:0]         write_depth,
    input  wire [15:0]         write_done,
    // It would post more than the queue holds.
    output wire                beyond,
    // Entries were posted.
    output reg                 posted_valid,
    output reg  [QP_WIDTH-1:0] posted_qp,

    // Reader: fetch.
    input  wire                fetch_load,
    input  wire [QP_WIDTH-1:0] fetch_qp,
    output reg  [15:0]         fetch_posted,
    // Reader: entries before their doorbell.
    input  wire                look_load,
    input  wire [QP_WIDTH-1:0] look_qp,
    output reg  [15:0]         look_posted,
    // Reader: completions. Set when software writes the depth where others write 0.
    input  wire                completion_load,
    input  wire [QP_WIDTH-1:0] completion_qp,
    output reg                 completion_depth_for_zero
);

    // Index as written, and the count of entries posted since the queue pair was enabled, modulo 2^16.
    reg [15:0]       last_index [0:NUM_QP-1];
    reg [15:0]       posted     [0:NUM_QP-1];
    reg [NUM_QP-1:0] depth_for_zero;

    wire [15:0] distance = (write_index - status_posted) & (write_depth - 16'd1);
    // The same place in the queue by another name: the whole queue at once, which only an empty one can take.
    wire        whole = distance == 16'd0 && write_index > status_index && status_posted == write_done;
    wire [15:0] fresh = whole ? write_depth : distance;
    wire [15:0] waiting = status_posted - write_done;
    wire        taken = write_depth != 16'd0 && {1'b0, fresh} + {1'b0, waiting} <= {1'b0, write_depth};

    assign beyond = write_valid && !write_plain && !taken;

    wire                store = clear_valid || (write_valid && (write_plain || taken));
    wire [QP_WIDTH-1:0] store_qp = clear_valid ? clear_qp : write_qp;

    always @(posedge clk) begin
        posted_valid <= 1'b0;
        if (store) begin
            last_index[store_qp] <= clear_valid ? 16'd0 : write_index;
            posted[store_qp] <= clear_valid ? 16'd0 : write_plain ? write_index : status_posted + fresh;
            if (clear_valid || write_plain || write_index == 16'd0) depth_for_zero[store_qp] <= 1'b0;
            else if (write_index == write_depth) depth_for_zero[store_qp] <= 1'b1;
            posted_valid <= !clear_valid && !write_plain && fresh != 16'd0;
            posted_qp <= store_qp;
        end
        if (status_load) begin
            status_index <= last_index[status_qp];
            status_posted <= posted[status_qp];
        end
        if (fetch_load) fetch_posted <= posted[fetch_qp];
        if (look_load) look_posted <= posted[look_qp];
        if (completion_load) completion_depth_for_zero <= depth_for_zero[completion_qp];
        if (rst) begin
            posted_valid <= 1'b0;
            depth_for_zero <= {NUM_QP{1'b0}};
        end
    end

endmodule

`default_nettype wire
