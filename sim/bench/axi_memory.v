// Memory of the processing system: an AXI4 slave whose content Python reads and writes at no simulated time.
//
// INCR bursts of any size up to the bus width, in order, each direction with up to 16 bursts outstanding. The first data beat
// of a read is offered READ_LATENCY clocks after its address was taken, the response of a write WRITE_LATENCY clocks after its
// last beat. What a design must not do (other burst types, 4 KiB crossings, WLAST at a wrong beat, addresses outside, unstable
// offers) sets `errors`; accesses outside are answered with DECERR, other bad ones with SLVERR. The content is in
// `axi_memory_dpi` (EB_DPI defined) or `axi_memory_vpi`.

`timescale 1ns / 1fs
`default_nettype none

module axi_memory #(
    // Number of this memory among those of the simulation, 0 to 3.
    parameter MEMORY = 0,
    // First address, a multiple of BYTES.
    parameter [63:0] BASE = 64'h0,
    // Size in bytes. Power of two, at least 4096.
    parameter BYTES = 1048576,
    // Clocks from a read address to its first data beat. At least 2.
    parameter READ_LATENCY = 30,
    // Clocks from a write's last beat to its response. At least 2.
    parameter WRITE_LATENCY = 20
) (
    input  wire         clk,
    input  wire         rst,

    input  wire [63:0]  s_axi_awaddr,
    input  wire [7:0]   s_axi_awlen,
    input  wire [2:0]   s_axi_awsize,
    input  wire [1:0]   s_axi_awburst,
    input  wire         s_axi_awvalid,
    output wire         s_axi_awready,
    input  wire [511:0] s_axi_wdata,
    input  wire [63:0]  s_axi_wstrb,
    input  wire         s_axi_wlast,
    input  wire         s_axi_wvalid,
    output wire         s_axi_wready,
    output reg  [1:0]   s_axi_bresp,
    output reg          s_axi_bvalid,
    input  wire         s_axi_bready,
    input  wire [63:0]  s_axi_araddr,
    input  wire [7:0]   s_axi_arlen,
    input  wire [2:0]   s_axi_arsize,
    input  wire [1:0]   s_axi_arburst,
    input  wire         s_axi_arvalid,
    output wire         s_axi_arready,
    output wire [511:0] s_axi_rdata,
    output reg  [1:0]   s_axi_rresp,
    output reg          s_axi_rlast,
    output reg          s_axi_rvalid,
    input  wire         s_axi_rready
);

    localparam WORD_BITS = $clog2(BYTES / 64);
    localparam DEPTH = 16;
    localparam [1:0] OKAY = 2'd0;
    localparam [1:0] SLVERR = 2'd2;
    localparam [1:0] DECERR = 2'd3;

    localparam ERROR_UNSTABLE = 0;
    localparam ERROR_UNKNOWN = 1;
    localparam ERROR_BURST = 2;
    localparam ERROR_BOUNDARY = 3;
    localparam ERROR_ADDRESS = 4;
    localparam ERROR_LAST = 5;

    // Read by Python. `events` changes in the cycle after a write burst has reached the memory or an error was found.
    reg [31:0] events;
    reg [7:0]  errors;
    // Address of the last write burst.
    /* verilator lint_off UNUSEDSIGNAL */ // read by Python
    reg [63:0] written;
    /* verilator lint_on UNUSEDSIGNAL */

    reg        news;
    reg [31:0] now;
    reg [7:0]  fault;
    wire [7:0] fresh = fault & ~errors;

    // Response to a burst. The last octet decides on the 4 KiB boundary.
    function [1:0] verdict(input [63:0] addr, input [7:0] len, input [2:0] size, input [1:0] burst);
        verdict = addr < BASE || addr - BASE >= BYTES ? DECERR :
                  (bad_burst(len, size, burst) || crossing(addr[11:0], len, size)) ? SLVERR : OKAY;
    endfunction

    function bad_burst(input [7:0] len, input [2:0] size, input [1:0] burst);
        bad_burst = size == 3'd7 || (burst != 2'b01 && len != 8'd0);
    endfunction

    function crossing(input [11:0] addr, input [7:0] len, input [2:0] size);
        crossing = {4'd0, addr & ~((12'd1 << size) - 12'd1)} + (({8'd0, len} + 16'd1) << size) > 16'd4096;
    endfunction

    // Only the word counts, so an unaligned first address may stay unaligned.
    function [63:0] following(input [63:0] addr, input [2:0] size);
        following = addr + (64'd1 << size);
    endfunction

    // Reads: addresses wait in a queue with the time at which their data is due.
    reg [63:0] ar_addr [0:DEPTH-1];
    reg [7:0]  ar_len [0:DEPTH-1];
    reg [2:0]  ar_size [0:DEPTH-1];
    reg [1:0]  ar_resp [0:DEPTH-1];
    reg [31:0] ar_due [0:DEPTH-1];
    reg [4:0]  ar_head;
    reg [4:0]  ar_tail;
    reg        read_busy;
    reg [63:0] read_addr;
    reg [7:0]  read_left;

    wire [3:0]  ar_front = ar_tail[3:0];
    wire        read_start = ar_head != ar_tail && $signed(now - ar_due[ar_front]) >= 0;
    wire        read_room = !s_axi_rvalid || s_axi_rready;
    wire        read_beat = read_room && (read_busy || read_start);
    wire [63:0] read_at = read_busy ? read_addr : ar_addr[ar_front];
    wire [7:0]  read_len = read_busy ? read_left : ar_len[ar_front];

    assign s_axi_arready = ar_head - ar_tail != DEPTH;

    // Writes: addresses wait for their data; responses wait for their time.
    reg [63:0] aw_addr [0:DEPTH-1];
    reg [7:0]  aw_len [0:DEPTH-1];
    reg [2:0]  aw_size [0:DEPTH-1];
    reg [1:0]  aw_resp [0:DEPTH-1];
    reg [4:0]  aw_head;
    reg [4:0]  aw_tail;
    reg        write_busy;
    reg [63:0] write_addr;
    reg [7:0]  write_left;
    reg [1:0]  b_resp [0:DEPTH-1];
    reg [31:0] b_due [0:DEPTH-1];
    reg [4:0]  b_head;
    reg [4:0]  b_tail;

    wire [3:0]  aw_front = aw_tail[3:0];
    wire        write_beat = s_axi_wvalid && s_axi_wready;
    wire [63:0] write_at = write_busy ? write_addr : aw_addr[aw_front];
    wire [7:0]  write_len = write_busy ? write_left : aw_len[aw_front];
    wire        write_end = write_beat && write_len == 8'd0;

    assign s_axi_awready = aw_head - aw_tail != DEPTH;
    assign s_axi_wready = aw_head != aw_tail && b_head - b_tail != DEPTH;

    wire [2:0] unstable;
    wire [2:0] unknown;

    handshake_checker #(
        .WIDTH(77)
    ) aw_checker (
        .clk(clk),
        .rst(rst),
        .valid(s_axi_awvalid),
        .ready(s_axi_awready),
        .payload({s_axi_awaddr, s_axi_awlen, s_axi_awsize, s_axi_awburst}),
        .unstable(unstable[0]),
        .unknown(unknown[0])
    );

    handshake_checker #(
        .WIDTH(577)
    ) w_checker (
        .clk(clk),
        .rst(rst),
        .valid(s_axi_wvalid),
        .ready(s_axi_wready),
        .payload({s_axi_wlast, s_axi_wstrb, s_axi_wdata}),
        .unstable(unstable[1]),
        .unknown(unknown[1])
    );

    handshake_checker #(
        .WIDTH(77)
    ) ar_checker (
        .clk(clk),
        .rst(rst),
        .valid(s_axi_arvalid),
        .ready(s_axi_arready),
        .payload({s_axi_araddr, s_axi_arlen, s_axi_arsize, s_axi_arburst}),
        .unstable(unstable[2]),
        .unknown(unknown[2])
    );

    always @* begin
        fault = 8'd0;
        fault[ERROR_UNSTABLE] = unstable != 3'd0;
        fault[ERROR_UNKNOWN] = unknown != 3'd0;
        if (s_axi_arvalid && s_axi_arready) begin
            fault[ERROR_BURST] = bad_burst(s_axi_arlen, s_axi_arsize, s_axi_arburst);
            fault[ERROR_BOUNDARY] = crossing(s_axi_araddr[11:0], s_axi_arlen, s_axi_arsize);
            fault[ERROR_ADDRESS] = verdict(s_axi_araddr, 8'd0, 3'd0, 2'b01) == DECERR;
        end
        if (s_axi_awvalid && s_axi_awready) begin
            fault[ERROR_BURST] = fault[ERROR_BURST] || bad_burst(s_axi_awlen, s_axi_awsize, s_axi_awburst);
            fault[ERROR_BOUNDARY] = fault[ERROR_BOUNDARY] || crossing(s_axi_awaddr[11:0], s_axi_awlen, s_axi_awsize);
            fault[ERROR_ADDRESS] = fault[ERROR_ADDRESS] || verdict(s_axi_awaddr, 8'd0, 3'd0, 2'b01) == DECERR;
        end
        fault[ERROR_LAST] = write_beat && s_axi_wlast != (write_len == 8'd0);
    end

    initial begin
        events = 32'd0;
        errors = 8'd0;
        written = 64'd0;
        news = 1'b0;
        now = 32'd0;
        ar_head = 5'd0;
        ar_tail = 5'd0;
        read_busy = 1'b0;
        s_axi_rvalid = 1'b0;
        aw_head = 5'd0;
        aw_tail = 5'd0;
        write_busy = 1'b0;
        b_head = 5'd0;
        b_tail = 5'd0;
        s_axi_bvalid = 1'b0;
    end

    always @(posedge clk) begin
        now <= now + 32'd1;
        news <= !rst && (write_end || fresh != 8'd0);
        if (news) events <= events + 32'd1;
        if (!rst && fresh != 8'd0) begin
            errors <= errors | fresh;
            $display("%m: protocol error, bits %b, at %0t", fresh, $time);
        end

        // Reads.
        if (s_axi_arvalid && s_axi_arready) begin
            ar_addr[ar_head[3:0]] <= s_axi_araddr;
            ar_len[ar_head[3:0]] <= s_axi_arlen;
            ar_size[ar_head[3:0]] <= s_axi_arsize;
            ar_resp[ar_head[3:0]] <= verdict(s_axi_araddr, s_axi_arlen, s_axi_arsize, s_axi_arburst);
            ar_due[ar_head[3:0]] <= now + READ_LATENCY - 1;
            ar_head <= ar_head + 5'd1;
        end
        if (read_room) s_axi_rvalid <= 1'b0;
        if (read_beat) begin
            s_axi_rvalid <= 1'b1;
            s_axi_rlast <= read_len == 8'd0;
            s_axi_rresp <= ar_resp[ar_front];
            read_addr <= following(read_at, ar_size[ar_front]);
            read_left <= read_len - 8'd1;
            read_busy <= read_len != 8'd0;
            if (read_len == 8'd0) ar_tail <= ar_tail + 5'd1;
        end

        // Writes.
        if (s_axi_awvalid && s_axi_awready) begin
            aw_addr[aw_head[3:0]] <= s_axi_awaddr;
            aw_len[aw_head[3:0]] <= s_axi_awlen;
            aw_size[aw_head[3:0]] <= s_axi_awsize;
            aw_resp[aw_head[3:0]] <= verdict(s_axi_awaddr, s_axi_awlen, s_axi_awsize, s_axi_awburst);
            aw_head <= aw_head + 5'd1;
        end
        if (write_beat) begin
            write_addr <= following(write_at, aw_size[aw_front]);
            write_left <= write_len - 8'd1;
            write_busy <= write_len != 8'd0;
        end
        if (write_end) begin
            written <= aw_addr[aw_front];
            b_resp[b_head[3:0]] <= aw_resp[aw_front];
            b_due[b_head[3:0]] <= now + WRITE_LATENCY - 1;
            b_head <= b_head + 5'd1;
            aw_tail <= aw_tail + 5'd1;
        end
        if (s_axi_bready) s_axi_bvalid <= 1'b0;
        if ((!s_axi_bvalid || s_axi_bready) && b_head != b_tail && $signed(now - b_due[b_tail[3:0]]) >= 0) begin
            s_axi_bvalid <= 1'b1;
            s_axi_bresp <= b_resp[b_tail[3:0]];
            b_tail <= b_tail + 5'd1;
        end

        if (rst) begin
            ar_head <= 5'd0;
            ar_tail <= 5'd0;
            read_busy <= 1'b0;
            s_axi_rvalid <= 1'b0;
            aw_head <= 5'd0;
            aw_tail <= 5'd0;
            write_busy <= 1'b0;
            b_head <= 5'd0;
            b_tail <= 5'd0;
            s_axi_bvalid <= 1'b0;
        end
    end

`ifdef EB_DPI
    axi_memory_dpi #(
        .MEMORY(MEMORY),
`else
    axi_memory_vpi #(
`endif
        .WORDS(BYTES / 64)
    ) body (
        .clk(clk),
        .read_enable(read_beat),
        .read_word(read_at[6 +: WORD_BITS]),
        .read_data(s_axi_rdata),
        .write_enable(!rst && write_beat && aw_resp[aw_front] == OKAY),
        .write_word(write_at[6 +: WORD_BITS]),
        .write_data(s_axi_wdata),
        .write_strobes(s_axi_wstrb)
    );

    generate
        if ((BYTES & (BYTES - 1)) != 0 || BYTES < 4096 || BASE % BYTES != 0) begin : check_size
            initial $fatal(1, "%m: BYTES must be a power of two of at least 4096, BASE a multiple of it");
        end
        if (MEMORY < 0 || MEMORY > 3) begin : check_memory
            initial $fatal(1, "%m: MEMORY must be 0 to 3");
        end
        if (READ_LATENCY < 2 || WRITE_LATENCY < 2) begin : check_latency
            initial $fatal(1, "%m: READ_LATENCY and WRITE_LATENCY must be at least 2");
        end
    endgenerate

endmodule

`default_nettype wire
