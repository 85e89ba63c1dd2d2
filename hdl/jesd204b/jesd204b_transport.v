// Transport layer: from lanes that send their converters one after another to words of 64 channels.
//
// A lane brings two samples a beat, channels 2b and 2b+1 of its share in beat b of a frame; a word needs all of them at
// once. The turn is made of three steps, the first of them for nothing: lane group g is read g beats late from
// the elastic buffers (by the receiver), a rotation sends beat b of every group to column b, and column b waits until the last column is
// in. So four (F=16) or two (F=8) groups share one word a cycle:
//
//   F=16, groups of  8 lanes:  beat ──┬─► column 0 ─► 3 beats ─┐
//   F=8,  groups of 16 lanes          ├─► column 1 ─► 2 beats ─┤─► word
//                                     ├─► column 2 ─► 1 beat  ─┤
//                                     └─► column 3 ────────────┘

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_transport #(
    // Lanes of all links, 8, 16 or 32.
    parameter LANES = 32
) (
    input  wire                clk,
    input  wire                rst,
    // 0: F=16, 8 channels a lane. 1: F=8, 4 channels a lane.
    input  wire                eight_octets,
    // Level; the first beat of group 0 is its first cycle, those of group g follow g beats later. Low ends all output at once.
    input  wire                run,
    input  wire [LANES*32-1:0] s_data,
    input  wire [LANES*6-1:0]  s_kinds,
    // A moment that all channels should know of, one cycle.
    input  wire                sysref_misaligned,
    // Shown as m_axis_error_kinds while there is no run.
    input  wire [15:0]         down_kinds,
    // Words of 64 channels, lowest channels first; marks of the word's lanes.
    output reg  [1023:0]       m_axis_tdata,
    output reg                 m_axis_tvalid,
    output reg                 m_axis_first,
    output reg  [55:0]         m_axis_tick,
    output reg  [15:0]         m_axis_error_kinds,
    output reg  [LANES-1:0]    m_axis_error_lanes
);

    // Quarters of eight lanes: a word's worth for F=16, half of one for F=8.
    localparam QUARTERS = LANES / 8;

    // Beat of group 0 within its frame; words have begun to come out.
    reg  [1:0]    phase;
    reg           filled;
    wire [1:0]    last = eight_octets ? 2'd1 : 2'd3;
    wire [1:0]    slot = (phase - last) & last;
    wire [2:0]    words = eight_octets ? (QUARTERS > 2 ? 3'd2 : 3'd1) : QUARTERS[2:0];
    wire          word_out = run && (filled || phase == last) && {1'b0, slot} < words;
    wire [1023:0] lanes = {{(1024-LANES*32){1'b0}}, s_data};

    always @(posedge clk) begin
        m_axis_tvalid <= word_out;
        m_axis_first <= word_out && slot == 2'd0;
        if (rst || !run) begin
            phase <= 2'd0;
            filled <= 1'b0;
            m_axis_tvalid <= 1'b0;
            m_axis_first <= 1'b0;
            // One before the first sample.
            m_axis_tick <= {56{1'b1}};
        end else begin
            phase <= (phase + 2'd1) & last;
            filled <= filled || phase == last;
            if (word_out && slot == 2'd0) begin
                m_axis_tick <= m_axis_tick + 56'd1;
            end
        end
    end

    // Columns on their way: column 0 waits three beats, column 1 two, column 2 one (F=8: column 0 one, in column_0[511:0]).
    reg [255:0]  column_0a;
    reg [255:0]  column_0b;
    reg [255:0]  column_0c;
    reg [255:0]  column_1a;
    reg [255:0]  column_1b;
    reg [255:0]  column_2a;
    // Beat b of whichever group is at it goes to column b.
    reg [1023:0] rotated;
    // {column 3, column 2, column 1, column 0} of one group.
    reg [1023:0] columns;

    always @* begin
        rotated = lanes;
        if (eight_octets) begin
            if (phase[0]) begin
                rotated = {lanes[511:0], lanes[1023:512]};
            end
            columns = {rotated[1023:512], column_0b, column_0a};
        end else begin
            case (phase)
                2'd0: rotated = {lanes[511:256], lanes[767:512], lanes[1023:768], lanes[255:0]};
                2'd1: rotated = {lanes[767:512], lanes[1023:768], lanes[255:0], lanes[511:256]};
                2'd2: rotated = {lanes[1023:768], lanes[255:0], lanes[511:256], lanes[767:512]};
                default: rotated = {lanes[255:0], lanes[511:256], lanes[767:512], lanes[1023:768]};
            endcase
            columns = {rotated[1023:768], column_2a, column_1b, column_0c};
        end
    end

    integer l;
    integer b;

    always @(posedge clk) begin
        if (run) begin
            if (eight_octets) begin
                {column_0b, column_0a} <= rotated[511:0];
            end else begin
                column_0a <= rotated[255:0];
                column_0b <= column_0a;
                column_0c <= column_0b;
                column_1a <= rotated[511:256];
                column_1b <= column_1a;
                column_2a <= rotated[767:512];
            end
        end
        if (word_out) begin
            if (eight_octets) begin
                for (l = 0; l < 16; l = l + 1) begin
                    for (b = 0; b < 2; b = b + 1) begin
                        m_axis_tdata[(2*l+b)*32 +: 32] <= columns[b*512 + l*32 +: 32];
                    end
                end
            end else begin
                for (l = 0; l < 8; l = l + 1) begin
                    for (b = 0; b < 4; b = b + 1) begin
                        m_axis_tdata[(4*l+b)*32 +: 32] <= columns[b*256 + l*32 +: 32];
                    end
                end
            end
        end
    end

    // Marks are gathered over a quarter's frame and leave with the word that its samples are in.
    reg  [QUARTERS*6-1:0] kinds_so_far;
    reg  [LANES-1:0]    lanes_so_far;
    reg                 marks_pending;
    reg                 sysref_pending;

    reg  [1:0]          quarter_phase;
    reg  [5:0]          quarter_kinds;
    reg  [7:0]          quarter_lanes;
    reg  [5:0]          out_kinds;
    reg  [LANES-1:0]    out_lanes;
    reg  [QUARTERS*6-1:0] next_kinds;
    reg  [LANES-1:0]    next_lanes;

    integer q;
    integer n;

    always @* begin
        out_kinds = 6'd0;
        out_lanes = {LANES{1'b0}};
        next_lanes = {LANES{1'b0}};
        quarter_phase = 2'd0;
        quarter_kinds = 6'd0;
        quarter_lanes = 8'd0;
        next_kinds = {(QUARTERS*6){1'b0}};
        if (marks_pending || s_kinds != {(LANES*6){1'b0}}) begin
            for (q = 0; q < QUARTERS; q = q + 1) begin
                quarter_phase = (phase - (eight_octets ? {1'b0, q[1]} : q[1:0])) & last;
                quarter_kinds = quarter_phase == 2'd0 ? 6'd0 : kinds_so_far[6*q +: 6];
                quarter_lanes = quarter_phase == 2'd0 ? 8'd0 : lanes_so_far[8*q +: 8];
                for (n = 0; n < 8; n = n + 1) begin
                    quarter_kinds = quarter_kinds | s_kinds[6*(8*q+n) +: 6];
                    quarter_lanes[n] = quarter_lanes[n] || s_kinds[6*(8*q+n) +: 6] != 6'd0;
                end
                next_kinds[6*q +: 6] = quarter_kinds;
                next_lanes[8*q +: 8] = quarter_lanes;
                if (quarter_phase == last) begin
                    out_kinds = out_kinds | quarter_kinds;
                    out_lanes[8*q +: 8] = quarter_lanes;
                end
            end
        end
    end

    always @(posedge clk) begin
        if (rst || !run) begin
            marks_pending <= 1'b0;
            sysref_pending <= 1'b0;
            lanes_so_far <= {LANES{1'b0}};
            m_axis_error_kinds <= down_kinds;
            m_axis_error_lanes <= {LANES{1'b0}};
            kinds_so_far <= {(QUARTERS*6){1'b0}};
        end else begin
            if (marks_pending || s_kinds != {(LANES*6){1'b0}}) begin
                marks_pending <= next_lanes != {LANES{1'b0}};
                lanes_so_far <= next_lanes;
                kinds_so_far <= next_kinds;
            end
            sysref_pending <= sysref_misaligned || (sysref_pending && !word_out);
            m_axis_error_kinds <= {5'd0, sysref_pending, out_kinds[5], 4'd0, out_kinds[4:0]};
            m_axis_error_lanes <= out_lanes;
        end
    end

    generate
        if (LANES != 8 && LANES != 16 && LANES != 32) begin : check_lanes
            initial $fatal(1, "%m: LANES must be 8, 16 or 32");
        end
    endgenerate

endmodule

`default_nettype wire
