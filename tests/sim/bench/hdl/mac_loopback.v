// What comes from the MAC goes back to it through a FIFO; `misbehave` breaks a rule of the stream on purpose.

`timescale 1ns / 1fs
`default_nettype none

module mac_loopback #(
    // Beats that the FIFO holds. Power of two.
    parameter DEPTH = 4096
) (
`ifdef EB_COCOTB_CLOCK
    input wire clk,
    input wire link_clk,
`endif
    input wire rst
);

`ifdef EB_COCOTB_CLOCK
    reg [63:0] cycle = 64'd0;
    always @(posedge clk) cycle <= cycle + 64'd1;
    reg [31:0] link_half_fs = 32'd0;
`else
    wire        clk;
    wire        link_clk;
    wire [63:0] cycle;

    bench_clocks clocks (
        .clk(clk),
        .link_clk(link_clk),
        .cycle(cycle),
        .link_half_fs()
    );
`endif

    // A second clock domain with something to do, as in the bench.
    reg [31:0] link_edges = 32'd0;
    always @(posedge link_clk) link_edges <= link_edges + 32'd1;

    wire [511:0] rx_tdata;
    wire [63:0]  rx_tkeep;
    wire         rx_tvalid;
    wire         rx_tlast;
    wire         rx_tuser;
    wire [511:0] tx_tdata;
    wire [63:0]  tx_tkeep;
    wire         tx_tvalid;
    wire         tx_tready;
    wire         tx_tlast;

    // 0 nothing; 1 withdraw a waiting beat; 2 change its data; 3 a hole in tkeep; 4 an empty beat; 5 no tlast; 6 undefined valid.
    reg [2:0] misbehave = 3'd0;

    // Core cycle, modulo 2^16, of each first received beat, in bits 15:0; whether the received frame had gaps.
    reg [15:0] arrival [0:255];
    reg [7:0]  arrivals = 8'd0;
    reg        gap = 1'b0;
    reg [7:0]  bad_frames = 8'd0;
    reg        in_frame = 1'b0;

    always @(posedge clk) begin
        if (rx_tvalid) begin
            if (!in_frame) begin
                arrival[arrivals] <= cycle[15:0];
                arrivals <= arrivals + 8'd1;
            end
            in_frame <= !rx_tlast;
            if (rx_tlast && rx_tuser) bad_frames <= bad_frames + 8'd1;
        end
        if (in_frame && !rx_tvalid) gap <= 1'b1;
    end

    localparam BITS = $clog2(DEPTH);

    reg [576:0]    beats [0:DEPTH-1];
    reg [BITS:0]   head = {BITS + 1{1'b0}};
    reg [BITS:0]   tail = {BITS + 1{1'b0}};
    reg [576:0]    beat;
    reg            valid = 1'b0;
    reg            waited = 1'b0;
    reg            overflow = 1'b0;

    wire           more = head != tail;
    wire           busy = more || valid;

    always @(posedge clk) begin
        if (rx_tvalid) begin
            beats[head[BITS-1:0]] <= {rx_tlast, rx_tkeep, rx_tdata};
            head <= head + 1'b1;
            if (head - tail >= DEPTH) overflow <= 1'b1;
        end
        if (!valid || tx_tready) begin
            valid <= more;
            if (more) begin
                beat <= beats[tail[BITS-1:0]];
                tail <= tail + 1'b1;
            end
        end
        waited <= valid && !tx_tready;
    end

    assign tx_tvalid = misbehave == 3'd6 ? 1'bx : valid && !(misbehave == 3'd1 && waited);
    assign tx_tdata = misbehave == 3'd2 && waited ? ~beat[511:0] : beat[511:0];
    assign tx_tkeep = misbehave == 3'd3 ? beat[575:512] & ~64'd2 : misbehave == 3'd4 ? 64'd0 : beat[575:512];
    assign tx_tlast = misbehave == 3'd5 ? 1'b0 : beat[576];

    mac_port mac (
        .clk(clk),
        .rst(rst),
        .cycle(cycle),
        .s_axis_tdata(tx_tdata),
        .s_axis_tkeep(tx_tkeep),
        .s_axis_tvalid(tx_tvalid),
        .s_axis_tready(tx_tready),
        .s_axis_tlast(tx_tlast),
        .m_axis_tdata(rx_tdata),
        .m_axis_tkeep(rx_tkeep),
        .m_axis_tvalid(rx_tvalid),
        .m_axis_tlast(rx_tlast),
        .m_axis_tuser(rx_tuser)
    );

endmodule

`default_nettype wire
