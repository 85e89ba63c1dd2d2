// The bench without Python and without a peer: a recorded run is played back by C++ and a small register master.
//
// Run with +recording=<folder>; ends by itself, with an error if the design sent other frames than when the recording was made.

`timescale 1ns / 1fs
`default_nettype none

`ifdef EB_DPI

module free_run #(
    // As in bench_top; must be those of the recording.
    parameter LINKS = 16,
    parameter LANES_PER_LINK = 2,
    parameter RING_BYTES = 4194304,
    parameter NUM_QP = 4,
    parameter CORE_CLOCK_KHZ = 322266,
    parameter CHUNK_BEATS = 512
);

    import "DPI-C" function int eb_replay_open(input string path);
    import "DPI-C" function int eb_replay_step(
        input longint cycle, output int resets, output int rate, output int link_half_fs
    );
    import "DPI-C" function int eb_replay_access(
        input longint cycle, output int write, output int address, output int value
    );

    localparam UNCHANGED = -1;
    localparam ENDED = 1;

    reg         rst;
    wire        axil_clk;
    reg  [19:0] awaddr;
    reg         awvalid;
    wire        awready;
    reg  [31:0] wdata;
    reg         wvalid;
    wire        wready;
    wire        bvalid;
    reg  [19:0] araddr;
    reg         arvalid;
    wire        arready;
    wire        rvalid;

    /* verilator lint_off PINCONNECTEMPTY */ // the recorded software knows the answers
    bench_top #(
        .LINKS(LINKS),
        .LANES_PER_LINK(LANES_PER_LINK),
        .RING_BYTES(RING_BYTES),
        .NUM_QP(NUM_QP),
        .CORE_CLOCK_KHZ(CORE_CLOCK_KHZ),
        .CHUNK_BEATS(CHUNK_BEATS)
    ) bench (
        .rst(rst),
        .link_rst(rst),
        .axil_clk(axil_clk),
        .s_axil_awaddr(awaddr),
        .s_axil_awprot(3'd0),
        .s_axil_awvalid(awvalid),
        .s_axil_awready(awready),
        .s_axil_wdata(wdata),
        .s_axil_wstrb(4'hf),
        .s_axil_wvalid(wvalid),
        .s_axil_wready(wready),
        .s_axil_bresp(),
        .s_axil_bvalid(bvalid),
        .s_axil_bready(1'b1),
        .s_axil_araddr(araddr),
        .s_axil_arprot(3'd0),
        .s_axil_arvalid(arvalid),
        .s_axil_arready(arready),
        .s_axil_rdata(),
        .s_axil_rresp(),
        .s_axil_rvalid(rvalid),
        .s_axil_rready(1'b1),
        .irq_link(),
        .irq_ring(),
        .irq_ernic(),
        .lane_polarity()
    );
    /* verilator lint_on PINCONNECTEMPTY */

    string path;
    int    outcome;
    int    resets;
    int    rate;
    int    link_half_fs;

    initial begin
        rst = 1'b1;
        if (!$value$plusargs("recording=%s", path)) $fatal(1, "+recording=<folder> is missing");
        if (eb_replay_open(path) == 0) $fatal(1, "no recording in %s", path);
    end

    // Half way between core edges, as Python acts too.
    /* verilator lint_off BLKSEQ */ // values of this process only
    always @(posedge axil_clk) begin
        outcome = eb_replay_step(bench.cycle, resets, rate, link_half_fs);
        if (resets != UNCHANGED) rst <= resets != 0;
        if (rate != UNCHANGED) bench.mac.rate = rate;
        if (link_half_fs != UNCHANGED) bench.clocks.link_half_fs = link_half_fs;
        if (bench.mac.errors != 8'd0 || bench.memory.errors != 8'd0) $fatal(1, "a bus rule was broken");
        if (outcome == ENDED) $finish;
        if (outcome > ENDED) $fatal(1, "not the run that was recorded");
    end
    /* verilator lint_on BLKSEQ */

    // One register access at a time.
    reg  busy;
    int  write;
    /* verilator lint_off UNUSEDSIGNAL */ // the bus has 20 address bits
    int  address;
    /* verilator lint_on UNUSEDSIGNAL */
    int  value;

    initial begin
        busy = 1'b0;
        awvalid = 1'b0;
        wvalid = 1'b0;
        arvalid = 1'b0;
    end

    /* verilator lint_off BLKSEQ */ // values of this process only
    always @(posedge axil_clk) begin
        if (awready) awvalid <= 1'b0;
        if (wready) wvalid <= 1'b0;
        if (arready) arvalid <= 1'b0;
        if (bvalid || rvalid) busy = 1'b0;
        if (!busy && !rst && eb_replay_access(bench.cycle, write, address, value) != 0) begin
            busy = 1'b1;
            if (write != 0) begin
                awaddr <= address[19:0];
                awvalid <= 1'b1;
                wdata <= value;
                wvalid <= 1'b1;
            end else begin
                araddr <= address[19:0];
                arvalid <= 1'b1;
            end
        end
    end
    /* verilator lint_on BLKSEQ */

endmodule

`endif

`default_nettype wire
