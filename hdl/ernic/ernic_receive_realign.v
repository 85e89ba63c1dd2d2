// Moves the payload of one frame after the other from where it lies behind the headers to where it lies in memory's words.
//
// A beat is rotated so that its octets stand in their lanes of memory; each word is then made from two neighbouring beats. Three
// stages, one word a cycle. What a datagram's buffer begins with, its headers, is a word of its own in front of the payload.

`timescale 1ns / 1fs
`default_nettype none

module ernic_receive_realign (
    input  wire         clk,
    input  wire         rst,

    // What to do with the next stored frame; held until ready.
    input  wire         s_job_valid,
    output wire         s_job_ready,
    // Throw it away: no other field counts.
    input  wire         s_job_discard,
    // Header octets in front; the payload then begins in lane 0 of the second word.
    input  wire         s_job_datagram,
    // First payload octet of the frame, and the lane it goes to.
    input  wire [6:0]   s_job_start,
    input  wire [5:0]   s_job_lane,
    // Payload octets.
    input  wire [12:0]  s_job_bytes,
    // Word of a 4 KiB page that the first word is, words in all, lane of the last octet.
    input  wire [5:0]   s_job_word,
    input  wire [6:0]   s_job_words,
    input  wire [5:0]   s_job_last_lane,

    // Beats of stored frames.
    input  wire         s_beat_valid,
    output wire         s_beat_ready,
    input  wire         s_beat_end,
    input  wire [511:0] s_beat_data,

    // AXI4 write data; bursts end at 4 KiB pages.
    output reg  [511:0] m_axi_wdata,
    output reg  [63:0]  m_axi_wstrb,
    output reg          m_axi_wlast,
    output reg          m_axi_wvalid,
    input  wire         m_axi_wready
);

    localparam [5:0] HEADER_LAST_LANE = 6'd61;

    wire       move = !m_axi_wvalid || m_axi_wready;

    // ---------------------------------------------------------------------------------------------------- stage 0: which word

    reg        fresh;
    reg  [6:0] beat;
    reg  [5:0] word;
    reg  [6:0] words_left;
    reg        flush_due;
    reg        frame_ended;

    wire [6:0] present_beat = fresh ? 7'd0 : beat;
    wire [6:0] present_left = fresh ? s_job_words : words_left;
    wire [5:0] present_word = fresh ? s_job_word : word;
    // First and last beat that hold payload.
    wire       begins_late = s_job_start[6];
    // verilator lint_off UNUSEDSIGNAL
    // Only the beat of this octet counts.
    wire [12:0] last_octet = {6'd0, s_job_start} + s_job_bytes - 13'd1;
    // verilator lint_on UNUSEDSIGNAL
    wire [6:0] last_beat = last_octet[12:6];
    wire       forward = s_job_lane >= s_job_start[5:0];

    wire       take = move && s_job_valid && s_beat_valid && !flush_due;
    wire       at_header = s_job_datagram && present_beat == 7'd0;
    wire       at_first = present_beat == {6'd0, begins_late};
    wire       useful = !s_job_discard && (present_beat != 7'd0 || !begins_late) && present_beat <= last_beat;
    wire       emits = !s_job_discard && (at_header || (useful && (!at_first || forward)));
    wire       flushes = move && flush_due;
    wire [6:0] left_behind = present_left - {6'd0, emits};
    wire       needs_flush = useful && present_beat == last_beat && left_behind != 7'd0;

    assign s_beat_ready = take;
    assign s_job_ready = (take && s_beat_end && !needs_flush) || (flushes && frame_ended);

    always @(posedge clk) begin
        if (take) begin
            fresh <= s_beat_end && !needs_flush;
            beat <= present_beat + 7'd1;
            words_left <= left_behind;
            word <= present_word + {5'd0, emits};
            flush_due <= needs_flush;
            frame_ended <= s_beat_end;
        end
        if (flushes) begin
            flush_due <= 1'b0;
            fresh <= frame_ended;
            words_left <= words_left - 7'd1;
            word <= word + 6'd1;
        end
        if (rst) begin
            fresh <= 1'b1;
            flush_due <= 1'b0;
        end
    end

    // ------------------------------------------------------------------------------------------------ stages 1 and 2: rotation

    reg         coarse_load;
    reg         coarse_emit;
    reg         coarse_header;
    reg         coarse_last;
    reg  [5:0]  coarse_rotate;
    reg  [5:0]  coarse_from;
    reg  [5:0]  coarse_to;
    reg  [511:0] coarse_data;
    reg         fine_load;
    reg         fine_emit;
    reg         fine_header;
    reg         fine_last;
    reg  [5:0]  fine_rotate;
    reg  [5:0]  fine_from;
    reg  [5:0]  fine_to;
    reg  [511:0] fine_data;

    wire [5:0]  rotate = at_header ? 6'd0 : s_job_lane - s_job_start[5:0];
    wire [6:0]  emitted_left = flushes ? words_left : present_left;
    wire [5:0]  emitted_word = flushes ? word : present_word;
    wire        is_last = emitted_left == 7'd1;
    wire        is_first = emitted_left == s_job_words;

    always @(posedge clk) begin
        if (move) begin
            coarse_load <= take && useful;
            coarse_emit <= (take && emits) || flushes;
            if (take || flushes) begin
                coarse_header <= at_header && !flushes;
                coarse_last <= is_last || emitted_word == 6'd63;
                coarse_rotate <= flushes ? s_job_lane - s_job_start[5:0] : rotate;
                coarse_from <= is_first && !s_job_datagram ? s_job_lane : 6'd0;
                coarse_to <= is_last ? s_job_last_lane : 6'd63;
                coarse_data <= take ? rotated_coarse[511:0] : coarse_data;
            end
            fine_load <= coarse_load;
            fine_emit <= coarse_emit;
            if (coarse_load || coarse_emit) begin
                fine_header <= coarse_header;
                fine_last <= coarse_last;
                fine_rotate <= coarse_rotate;
                fine_from <= coarse_from;
                fine_to <= coarse_to;
                fine_data <= rotated_fine[511:0];
            end
        end
        if (rst) begin
            coarse_load <= 1'b0;
            coarse_emit <= 1'b0;
            fine_load <= 1'b0;
            fine_emit <= 1'b0;
        end
    end

    // Towards higher lanes: by multiples of eight, then the rest.
    // verilator lint_off UNUSEDSIGNAL
    // A rotation is the low half of a double word that is shifted down.
    reg  [1023:0] rotated_coarse;
    reg  [1023:0] rotated_fine;
    // verilator lint_on UNUSEDSIGNAL

    always @* begin
        rotated_coarse = 1024'h0;
        rotated_fine = 1024'h0;
        if (take) rotated_coarse = {s_beat_data, s_beat_data} >> (10'd512 - {1'b0, rotate[5:3], 6'd0});
        if (coarse_load || coarse_emit) rotated_fine = {coarse_data, coarse_data} >> (10'd512 - {4'd0, coarse_rotate[2:0], 3'd0});
    end

    // --------------------------------------------------------------------------------------------------- stage 3: the word

    reg  [511:0] previous;
    reg  [511:0] merged;
    integer      lane;

    always @* begin
        merged = 512'h0;
        if (fine_emit) begin
            for (lane = 0; lane < 64; lane = lane + 1) begin
                merged[8*lane +: 8] = lane[5:0] < fine_rotate ? previous[8*lane +: 8] : fine_data[8*lane +: 8];
                if (fine_header && lane[5:0] > HEADER_LAST_LANE) merged[8*lane +: 8] = 8'h0;
            end
        end
    end

    always @(posedge clk) begin
        if (move) begin
            m_axi_wvalid <= fine_emit;
            if (fine_emit) begin
                m_axi_wdata <= merged;
                m_axi_wstrb <= ({64{1'b1}} << fine_from) & ({64{1'b1}} >> (6'd63 - fine_to));
                m_axi_wlast <= fine_last;
            end
            // The two octets behind the headers are the payload's first, if it begins there.
            if (fine_load) previous <= fine_header ? {496'h0, fine_data[511:496]} : fine_data;
        end
        if (rst) m_axi_wvalid <= 1'b0;
    end

endmodule

`default_nettype wire
