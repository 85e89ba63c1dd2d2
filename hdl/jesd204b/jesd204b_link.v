// One link (one AFE): its lanes, and their state as a whole. A disabled link is held still and never awaited.

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_link #(
    // Serial lanes, 1 to 8.
    parameter LANES = 2
) (
    input  wire                clk,
    input  wire                rst,
    // Characters from the transceivers, first octet of a lane in its bits 7:0.
    input  wire [LANES*32-1:0] data,
    input  wire [LANES*4-1:0]  charisk,
    input  wire [LANES*4-1:0]  notintable,
    input  wire [LANES*4-1:0]  disperr,
    // Control, see jesd204b_lane.
    input  wire                enable,
    input  wire                restart,
    input  wire                armed,
    input  wire                read,
    // Configuration, steady while enabled.
    input  wire                scrambling,
    input  wire                no_replacement,
    input  wire [1:0]          frame_last,
    input  wire [6:0]          multiframe_last,
    input  wire [127:0]        ilas_expected,
    input  wire                ilas_per_die,
    input  wire [21:0]         ilas_compare,
    input  wire                ilas_sum_octets,
    // State of the lanes together: all synchronised; one has samples; all have; an error among them (one cycle); one has failed
    // (one cycle), because of.
    output wire                synchronised,
    output wire                started,
    output wire                ready,
    output wire                erroneous,
    output wire                failed,
    output reg  [15:0]         failed_kinds,
    // Samples and marks of each lane.
    output wire [LANES*32-1:0] m_data,
    output wire [LANES*6-1:0]  m_kinds,
    // Registers of the lanes.
    input  wire                error_clear,
    input  wire [LANES-1:0]    reg_select,
    input  wire [3:0]          reg_word,
    output wire [LANES*32-1:0] reg_rdata
);

    wire [LANES-1:0]    lane_synchronised;
    wire [LANES-1:0]    lane_ready;
    wire [LANES-1:0]    lane_erroneous;
    wire [LANES-1:0]    lane_failed;
    wire [LANES*16-1:0] lane_failed_kinds;

    assign synchronised = !enable || lane_synchronised == {LANES{1'b1}};
    assign started = enable && lane_ready != {LANES{1'b0}};
    assign erroneous = lane_erroneous != {LANES{1'b0}};
    assign ready = !enable || lane_ready == {LANES{1'b1}};
    assign failed = lane_failed != {LANES{1'b0}};

    integer i;

    always @* begin
        failed_kinds = 16'd0;
        if (failed) begin
            for (i = 0; i < LANES; i = i + 1) begin
                if (lane_failed[i]) begin
                    failed_kinds = failed_kinds | lane_failed_kinds[16*i +: 16];
                end
            end
        end
    end

    // A register: all state of the lanes hangs on it.
    reg restart_lanes;

    always @(posedge clk) begin
        restart_lanes <= rst || restart || !enable;
    end

    genvar n;
    generate
        for (n = 0; n < LANES; n = n + 1) begin : lanes
            // A converter of several dies with a link of one lane each counts from 0 on every die.
            localparam [4:0] LANE_ID = n;
            jesd204b_lane lane (
                .clk(clk),
                .rst(rst),
                .data(data[n*32 +: 32]),
                .charisk(charisk[n*4 +: 4]),
                .notintable(notintable[n*4 +: 4]),
                .disperr(disperr[n*4 +: 4]),
                .enable(enable),
                .restart(restart_lanes),
                .armed(armed),
                .read(read && enable),
                .scrambling(scrambling),
                .no_replacement(no_replacement),
                .frame_last(frame_last),
                .multiframe_last(multiframe_last),
                .ilas_expected(ilas_expected | (ilas_per_die ? 128'd0 : {91'd0, LANE_ID, 32'd0})),
                .ilas_compare(ilas_compare),
                .ilas_sum_octets(ilas_sum_octets),
                .synchronised(lane_synchronised[n]),
                .ready(lane_ready[n]),
                .erroneous(lane_erroneous[n]),
                .failed(lane_failed[n]),
                .failed_kinds(lane_failed_kinds[n*16 +: 16]),
                .m_data(m_data[n*32 +: 32]),
                .m_kinds(m_kinds[n*6 +: 6]),
                .error_clear(error_clear),
                .reg_select(reg_select[n]),
                .reg_word(reg_word),
                .reg_rdata(reg_rdata[n*32 +: 32])
            );
        end
        if (LANES < 1 || LANES > 8) begin : check_lanes
            initial $fatal(1, "%m: LANES must be 1 to 8");
        end
    endgenerate

endmodule

`default_nettype wire
