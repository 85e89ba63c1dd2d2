// Keeps the beats of received frames until somebody has decided what becomes of them, and a ticket for each good frame.
//
// Beats are written as they come. At the frame's end they count, together with its ticket, or are taken back: because the
// frame is bad, or because beats or ticket did not find room. So nothing of a dropped frame is ever seen behind this.

`timescale 1ns / 1fs
`default_nettype none
`include "ernic_ticket.vh"

module ernic_receive_fifo #(
    // Beats of 512 bits. Power of two, at least 4.
    parameter BEATS = 1024,
    // Tickets. Power of two, at least 2.
    parameter TICKETS = 256,
    // Derived; do not override.
    parameter ADDRESS_WIDTH = $clog2(BEATS)
) (
    input  wire                        clk,
    input  wire                        rst,

    // Beat to be kept, s_end with the last one of its packet. Cannot be held back.
    input  wire                        s_store,
    input  wire                        s_end,
    input  wire [511:0]                s_data,
    // A frame ends with this beat, kept or not; it is good and here is its ticket.
    input  wire                        s_last,
    input  wire                        s_good,
    input  wire [`EB_TICKET_WIDTH-1:0] s_ticket,
    // The good frame is lost for lack of room, in the same cycle.
    output wire                        m_overflow,
    // Beats inside.
    output wire [ADDRESS_WIDTH:0]      level,

    // Tickets in order.
    output wire                        m_ticket_valid,
    input  wire                        m_ticket_ready,
    output wire [`EB_TICKET_WIDTH-1:0] m_ticket,
    // Beats of the frames whose ticket says that they are stored, in the same order.
    output reg                         m_beat_valid,
    input  wire                        m_beat_ready,
    output reg                         m_beat_end,
    output reg  [511:0]                m_beat_data
);

    localparam [ADDRESS_WIDTH:0] ONE = 1;

    generate
        if (BEATS < 4 || BEATS != 1 << $clog2(BEATS)) begin : check_beats
            initial $fatal(1, "%m: BEATS must be a power of two of at least 4");
        end
    endgenerate

    reg  [512:0]           memory [0:BEATS-1];
    // One bit more than an address, so that full and empty differ.
    reg  [ADDRESS_WIDTH:0] write_address;
    reg  [ADDRESS_WIDTH:0] commit_address;
    reg  [ADDRESS_WIDTH:0] read_address;
    reg                    spilled;

    wire                   full = write_address == {~read_address[ADDRESS_WIDTH], read_address[ADDRESS_WIDTH-1:0]};
    wire                   write = s_store && !full && !spilled;
    wire                   spills = spilled || (s_store && full);
    wire [ADDRESS_WIDTH:0] next_address = write ? write_address + ONE : write_address;
    wire                   ticket_room;
    wire                   commit = s_last && s_good && !spills && ticket_room;
    wire                   waiting = read_address != commit_address;

    assign m_overflow = s_last && s_good && !commit;
    assign level = write_address - read_address;

    always @(posedge clk) begin
        if (write) memory[write_address[ADDRESS_WIDTH-1:0]] <= {s_end, s_data};
        write_address <= s_last && !commit ? commit_address : next_address;
        if (commit) commit_address <= next_address;
        spilled <= !s_last && spills;

        if (waiting && (!m_beat_valid || m_beat_ready)) begin
            {m_beat_end, m_beat_data} <= memory[read_address[ADDRESS_WIDTH-1:0]];
            m_beat_valid <= 1'b1;
            read_address <= read_address + ONE;
        end else if (m_beat_ready) begin
            m_beat_valid <= 1'b0;
        end
        if (rst) begin
            write_address <= {(ADDRESS_WIDTH+1){1'b0}};
            commit_address <= {(ADDRESS_WIDTH+1){1'b0}};
            read_address <= {(ADDRESS_WIDTH+1){1'b0}};
            spilled <= 1'b0;
            m_beat_valid <= 1'b0;
        end
    end

    sync_fifo #(
        .WIDTH(`EB_TICKET_WIDTH),
        .DEPTH(TICKETS),
        .BLOCK_MEMORY(1)
    ) tickets (
        .clk(clk),
        .rst(rst),
        .s_data(s_ticket),
        .s_valid(commit),
        .s_ready(ticket_room),
        .m_data(m_ticket),
        .m_valid(m_ticket_valid),
        .m_ready(m_ticket_ready),
        // verilator lint_off PINCONNECTEMPTY
        // How full it is does not matter here.
        .level()
        // verilator lint_on PINCONNECTEMPTY
    );

endmodule

`default_nettype wire
