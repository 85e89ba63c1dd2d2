// Brings payload from memory into the stage: one packet's worth at a time and area, over AXI4 in bursts that end at 4 KiB
// boundaries. An octet at memory address a stands in the stage at a modulo 4096 of its area, so nothing has to be moved later.
//
// 4096 octets that do not begin at a word take 65 words: the last one shares its place with the first and fills up what the
// first has left.

`timescale 1ns / 1fs
`default_nettype none

module ernic_gather (
    input  wire         clk,
    input  wire         rst,

    // Payload wanted: 1 to 4096 octets.
    input  wire         s_fetch_valid,
    output wire         s_fetch_ready,
    input  wire [2:0]   s_fetch_area,
    input  wire [63:0]  s_fetch_address,
    input  wire [12:0]  s_fetch_bytes,
    // It is there, in order.
    output reg          m_fetched_valid,
    output reg  [2:0]   m_fetched_area,
    output reg          m_fetched_error,

    // Stage, write port.
    output reg          m_write_valid,
    output reg  [8:0]   m_write_row,
    output reg  [63:0]  m_write_octets,
    output reg  [511:0] m_write_data,

    // AXI4 read channels.
    output reg  [63:0]  m_axi_araddr,
    output reg  [7:0]   m_axi_arlen,
    output wire [2:0]   m_axi_arsize,
    output wire [1:0]   m_axi_arburst,
    output reg          m_axi_arvalid,
    input  wire         m_axi_arready,
    input  wire [511:0] m_axi_rdata,
    // verilator lint_off UNUSEDSIGNAL
    // OKAY or EXOKAY make no difference; words are counted.
    input  wire [1:0]   m_axi_rresp,
    input  wire         m_axi_rlast,
    // verilator lint_on UNUSEDSIGNAL
    input  wire         m_axi_rvalid,
    output wire         m_axi_rready
);

    // Payloads under way. Each asks for one or two bursts.
    localparam JOBS = 4;
    localparam [6:0] ROWS = 7'd64;

    assign m_axi_arsize = 3'd6;
    assign m_axi_arburst = 2'b01;
    assign m_axi_rready = 1'b1;

    // ------------------------------------------------------------------------------------------------------------------- asking

    reg         rest;
    reg  [6:0]  rest_words;
    reg  [51:0] rest_page;
    wire        jobs_ready;
    wire        asking_free = !m_axi_arvalid || m_axi_arready;
    wire        take = s_fetch_valid && s_fetch_ready;

    wire [13:0] span = {8'd0, s_fetch_address[5:0]} + {1'b0, s_fetch_bytes} + 14'd63;
    wire [6:0]  words = span[12:6];
    wire [6:0]  to_boundary = ROWS - {1'b0, s_fetch_address[11:6]};
    wire        split = words > to_boundary;
    wire [6:0]  first_words = split ? to_boundary : words;
    wire [5:0]  end_octet = s_fetch_address[5:0] + s_fetch_bytes[5:0];

    assign s_fetch_ready = asking_free && !rest && jobs_ready;

    always @(posedge clk) begin
        if (m_axi_arready) m_axi_arvalid <= 1'b0;
        if (take) begin
            m_axi_arvalid <= 1'b1;
            m_axi_araddr <= {s_fetch_address[63:6], 6'd0};
            m_axi_arlen <= {1'b0, first_words} - 8'd1;
            rest <= split;
            rest_words <= words - first_words;
            rest_page <= s_fetch_address[63:12] + 52'd1;
        end else if (rest && asking_free) begin
            m_axi_arvalid <= 1'b1;
            m_axi_araddr <= {rest_page, 12'd0};
            m_axi_arlen <= {1'b0, rest_words} - 8'd1;
            rest <= 1'b0;
        end
        if (rst) begin
            m_axi_arvalid <= 1'b0;
            rest <= 1'b0;
        end
    end

    // ------------------------------------------------------------------------------------------------------------------ answers

    wire       job_valid;
    wire [2:0] job_area;
    wire [5:0] job_row;
    wire [6:0] job_words;
    wire [5:0] job_end;
    reg  [6:0] word;
    reg        error;
    wire       beat = m_axi_rvalid && job_valid;
    wire       last = word + 7'd1 == job_words;
    wire       done = beat && last;

    sync_fifo #(
        .WIDTH(3 + 6 + 7 + 6),
        .DEPTH(JOBS)
    ) jobs (
        .clk(clk),
        .rst(rst),
        .s_data({s_fetch_area, s_fetch_address[11:6], words, end_octet}),
        .s_valid(take),
        .s_ready(jobs_ready),
        .m_data({job_area, job_row, job_words, job_end}),
        .m_valid(job_valid),
        .m_ready(done),
        // verilator lint_off PINCONNECTEMPTY
        // How full it is does not matter here.
        .level()
        // verilator lint_on PINCONNECTEMPTY
    );

    always @(posedge clk) begin
        m_write_valid <= beat;
        m_fetched_valid <= done;
        if (beat) begin
            m_write_row <= {job_area, job_row + word[5:0]};
            m_write_octets <= word == ROWS ? ~(64'hffff_ffff_ffff_ffff << job_end) : 64'hffff_ffff_ffff_ffff;
            m_write_data <= m_axi_rdata;
            word <= last ? 7'd0 : word + 7'd1;
            error <= !last && (error || m_axi_rresp[1]);
        end
        if (done) begin
            m_fetched_area <= job_area;
            m_fetched_error <= error || m_axi_rresp[1];
        end
        if (rst) begin
            m_write_valid <= 1'b0;
            m_fetched_valid <= 1'b0;
            word <= 7'd0;
            error <= 1'b0;
        end
    end

    // Word 65 is the most there is.
    // verilator lint_off UNUSEDSIGNAL
    wire [6:0] span_rest = {span[13], span[5:0]};
    // verilator lint_on UNUSEDSIGNAL

endmodule

`default_nettype wire
