// Writes the payload of received packets to memory, or throws it away, as decided by who asked for it.
//
// Each line of the order waits for its decision; lines, decisions and beats come in the same order. An accepted packet becomes
// one AXI4 burst, or two if it crosses a 4 KiB page. It counts as written when memory has answered for all of it; a packet
// without payload counts in its turn.

`timescale 1ns / 1fs
`default_nettype none

module ernic_receive_writer #(
    // Packets that wait for their decision, and packets that wait for memory's answer. Power of two, at least 2.
    parameter PACKETS = 16
) (
    input  wire         clk,
    input  wire         rst,

    // Order of the packets: whose decision to wait for, and where the payload is.
    input  wire         s_order_valid,
    output wire         s_order_ready,
    input  wire         s_order_discard,
    input  wire         s_order_is_read,
    input  wire         s_order_stored,
    input  wire         s_order_datagram,
    input  wire [2:0]   s_order_words,
    input  wire [12:0]  s_order_bytes,

    // Decisions about READ responses, and about requests; held until ready.
    input  wire         s_read_valid,
    output wire         s_read_ready,
    input  wire         s_read_accept,
    input  wire [63:0]  s_read_address,
    input  wire         s_request_valid,
    output wire         s_request_ready,
    input  wire         s_request_accept,
    input  wire [63:0]  s_request_address,

    // Accepted packets that are written, modulo 256; errors come with the count's step.
    output reg  [7:0]   m_read_written,
    output reg          m_read_error,
    output reg  [7:0]   m_request_written,
    output reg          m_request_error,

    // Beats of stored frames.
    input  wire         s_beat_valid,
    output wire         s_beat_ready,
    input  wire         s_beat_end,
    input  wire [511:0] s_beat_data,

    // AXI4 write master.
    output reg  [63:0]  m_axi_awaddr,
    output reg  [7:0]   m_axi_awlen,
    output wire [2:0]   m_axi_awsize,
    output wire [1:0]   m_axi_awburst,
    output reg          m_axi_awvalid,
    input  wire         m_axi_awready,
    output wire [511:0] m_axi_wdata,
    output wire [63:0]  m_axi_wstrb,
    output wire         m_axi_wlast,
    output wire         m_axi_wvalid,
    input  wire         m_axi_wready,
    // verilator lint_off UNUSEDSIGNAL
    // The low bit tells OKAY from EXOKAY.
    input  wire [1:0]   m_axi_bresp,
    // verilator lint_on UNUSEDSIGNAL
    input  wire         m_axi_bvalid,
    output wire         m_axi_bready
);

    // Ethernet, IPv4, UDP and base transport header.
    localparam [6:0]  HEADER_OCTETS = 7'd54;
    localparam [12:0] DATAGRAM_ROW = 13'd64;

    // ------------------------------------------------------------------------------------------------------------------- order

    wire        order_valid;
    wire        order_take;
    wire        discard;
    wire        is_read;
    wire        stored;
    wire        datagram;
    wire [2:0]  header_words;
    wire [12:0] bytes;

    sync_fifo #(
        .WIDTH(20),
        .DEPTH(PACKETS)
    ) order (
        .clk(clk),
        .rst(rst),
        .s_data({s_order_discard, s_order_is_read, s_order_stored, s_order_datagram, s_order_words, s_order_bytes}),
        .s_valid(s_order_valid),
        .s_ready(s_order_ready),
        .m_data({discard, is_read, stored, datagram, header_words, bytes}),
        .m_valid(order_valid),
        .m_ready(order_take),
        // verilator lint_off PINCONNECTEMPTY
        // How full it is does not matter here.
        .level()
        // verilator lint_on PINCONNECTEMPTY
    );

    wire        decided = discard || (is_read ? s_read_valid : s_request_valid);
    wire        accept = !discard && (is_read ? s_read_accept : s_request_accept);

    // ------------------------------------------------------------------------------------------------------- the packet in work

    reg         job_valid;
    reg         job_discard;
    reg         job_is_read;
    reg         job_stored;
    reg         job_datagram;
    reg  [6:0]  job_start;
    reg  [63:0] job_address;
    reg  [12:0] job_bytes;
    reg  [12:0] job_total;

    wire        job_take;

    assign order_take = order_valid && decided && (!job_valid || job_take);
    assign s_read_ready = order_take && !discard && is_read;
    assign s_request_ready = order_take && !discard && !is_read;

    always @(posedge clk) begin
        if (job_take) job_valid <= 1'b0;
        if (order_take) begin
            job_valid <= accept || stored;
            job_discard <= !accept;
            job_is_read <= is_read;
            job_stored <= stored;
            job_datagram <= datagram;
            job_start <= HEADER_OCTETS + {2'd0, header_words, 2'd0};
            job_address <= is_read ? s_read_address : s_request_address;
            job_bytes <= bytes;
            job_total <= datagram ? bytes + DATAGRAM_ROW : bytes;
        end
        if (rst) job_valid <= 1'b0;
    end

    // Words from the first to the last octet; those of the first page, and the rest.
    wire [12:0] last_octet = {7'd0, job_address[5:0]} + job_total - 13'd1;
    wire [6:0]  words = last_octet[12:6] + 7'd1;
    wire [6:0]  to_page = 7'd64 - {1'b0, job_address[11:6]};
    wire        crosses = words > to_page;
    wire [6:0]  first_words = crosses ? to_page : words;

    // -------------------------------------------------------------------------------------------- addresses, data and tracking

    reg         second_due;
    reg  [51:0] second_page;
    reg  [6:0]  second_words;
    wire        address_free = (!m_axi_awvalid || m_axi_awready) && !second_due;
    wire        realign_ready;
    wire        realign_free;
    wire        track_ready;
    wire        writes = job_stored && !job_discard;

    assign job_take = job_valid && (!job_stored || realign_free) && (!writes || address_free) && (job_discard || track_ready);
    assign m_axi_awsize = 3'd6;
    assign m_axi_awburst = 2'b01;

    always @(posedge clk) begin
        if (m_axi_awready) m_axi_awvalid <= 1'b0;
        if (job_take && writes) begin
            m_axi_awvalid <= 1'b1;
            m_axi_awaddr <= {job_address[63:6], 6'd0};
            m_axi_awlen <= {1'b0, first_words - 7'd1};
            second_due <= crosses;
            second_page <= job_address[63:12] + 52'd1;
            second_words <= words - to_page;
        end else if (second_due && (!m_axi_awvalid || m_axi_awready)) begin
            m_axi_awvalid <= 1'b1;
            m_axi_awaddr <= {second_page, 12'd0};
            m_axi_awlen <= {1'b0, second_words - 7'd1};
            second_due <= 1'b0;
        end
        if (rst) begin
            m_axi_awvalid <= 1'b0;
            second_due <= 1'b0;
        end
    end

    reg         move_valid;
    reg         move_discard;
    reg         move_datagram;
    reg  [6:0]  move_start;
    reg  [5:0]  move_lane;
    reg  [12:0] move_bytes;
    reg  [5:0]  move_word;
    reg  [6:0]  move_words;
    reg  [5:0]  move_last_lane;

    assign realign_free = !move_valid || realign_ready;

    always @(posedge clk) begin
        if (realign_ready) move_valid <= 1'b0;
        if (job_take && job_stored) begin
            move_valid <= 1'b1;
            move_discard <= job_discard;
            move_datagram <= job_datagram;
            move_start <= job_start;
            move_lane <= job_address[5:0];
            move_bytes <= job_bytes;
            move_word <= job_address[11:6];
            move_words <= words;
            move_last_lane <= last_octet[5:0];
        end
        if (rst) move_valid <= 1'b0;
    end

    ernic_receive_realign realign (
        .clk(clk),
        .rst(rst),
        .s_job_valid(move_valid),
        .s_job_ready(realign_ready),
        .s_job_discard(move_discard),
        .s_job_datagram(move_datagram),
        .s_job_start(move_start),
        .s_job_lane(move_lane),
        .s_job_bytes(move_bytes),
        .s_job_word(move_word),
        .s_job_words(move_words),
        .s_job_last_lane(move_last_lane),
        .s_beat_valid(s_beat_valid),
        .s_beat_ready(s_beat_ready),
        .s_beat_end(s_beat_end),
        .s_beat_data(s_beat_data),
        .m_axi_wdata(m_axi_wdata),
        .m_axi_wstrb(m_axi_wstrb),
        .m_axi_wlast(m_axi_wlast),
        .m_axi_wvalid(m_axi_wvalid),
        .m_axi_wready(m_axi_wready)
    );

    // ---------------------------------------------------------------------------------------------------------------- answers

    wire        track_valid;
    wire        track_is_read;
    wire [1:0]  track_bursts;
    reg         answered_once;
    reg         failed_once;

    // The last answer of the packet at the head.
    wire        complete = track_valid && (track_bursts == 2'd0 || (m_axi_bvalid && (track_bursts == 2'd1 || answered_once)));
    wire        failed = m_axi_bready && m_axi_bvalid && m_axi_bresp[1];

    assign m_axi_bready = track_valid && track_bursts != 2'd0;

    sync_fifo #(
        .WIDTH(3),
        .DEPTH(PACKETS)
    ) track (
        .clk(clk),
        .rst(rst),
        .s_data({job_is_read, writes ? {crosses, !crosses} : 2'd0}),
        .s_valid(job_take && !job_discard),
        .s_ready(track_ready),
        .m_data({track_is_read, track_bursts}),
        .m_valid(track_valid),
        .m_ready(complete),
        // verilator lint_off PINCONNECTEMPTY
        // How full it is does not matter here.
        .level()
        // verilator lint_on PINCONNECTEMPTY
    );

    always @(posedge clk) begin
        if (m_axi_bready && m_axi_bvalid) begin
            answered_once <= !complete;
            failed_once <= !complete && failed;
        end
        m_read_error <= complete && track_is_read && (failed || failed_once);
        m_request_error <= complete && !track_is_read && (failed || failed_once);
        if (complete && track_is_read) m_read_written <= m_read_written + 8'd1;
        if (complete && !track_is_read) m_request_written <= m_request_written + 8'd1;
        if (rst) begin
            answered_once <= 1'b0;
            failed_once <= 1'b0;
            m_read_written <= 8'd0;
            m_request_written <= 8'd0;
            m_read_error <= 1'b0;
            m_request_error <= 1'b0;
        end
    end

endmodule

`default_nettype wire
