// Alignment characters in user data of one lane (JESD204B 5.3.3.4): put back what they replaced, judge where they stand.
//
// /F/ belongs to the last octet of a frame, /A/ to the last one of a multiframe. With scrambling they stand for their own
// octet value; without, for the last octet of the frame before. Every octet of the beat is looked at, not only the
// last. A character at a wrong place makes the lane suspect until one of its kind stands right: all samples in between
// are marked; a second wrong one in a row gives the lane up.
//
// A sender must replace where the rule says so. An octet left as it is where one was due, or one replaced out of turn, is
// marked as well: data are right if the sender is careless, and wrong if the lane has slipped.

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_replacement (
    input  wire        clk,
    input  wire        rst,
    input  wire        scrambling,
    // The sender never replaces: do not miss what it leaves out.
    input  wire        never,
    // A beat of user data, and where it stands.
    input  wire        valid,
    input  wire        multiframe_first,
    input  wire        frame_end,
    input  wire        multiframe_end,
    input  wire [31:0] s_data,
    input  wire [3:0]  s_charisk,
    input  wire [3:0]  s_notintable,
    input  wire [3:0]  s_disperr,
    // The beat as it was before replacement; what may be wrong with it (bits 4:0 of LinkError).
    output reg  [31:0] m_data,
    output reg  [4:0]  m_kinds,
    // Something in this very beat is wrong.
    output wire        erroneous,
    // For each octet: a control character that is none of the two; /F/ misplaced; /A/ misplaced or missed.
    output reg  [3:0]  unexpected,
    output reg  [3:0]  frame_misplaced,
    output reg  [3:0]  multiframe_misplaced,
    // A frame's end breaks the rule of replacement.
    output reg         broken,
    // The sender has left user data for commas or an alignment sequence; alignment is lost. One cycle each.
    output reg         left,
    output reg         misaligned
);

    localparam [7:0] CHARACTER_F = 8'hfc;
    localparam [7:0] CHARACTER_A = 8'h7c;
    localparam [7:0] COMMA = 8'hbc;
    localparam [7:0] CHARACTER_R = 8'h1c;

    reg [7:0] last_octet;
    reg       last_replaced;
    reg       last_known;
    reg [4:0] last_kinds;
    reg       frame_suspect;
    reg       multiframe_suspect;
    // The last frame's end broke the rule: this frame may still be wrong until its own end is right.
    reg       doubt;

    // This beat's own errors; those of the beat before reach into this one through the descrambler's memory of 15 bits.
    reg [4:0] now;
    reg [4:0] earlier;
    reg       is_f;
    reg       is_a;
    reg       frame_placed;
    reg       multiframe_placed;
    reg       repeats;
    reg       end_clean;

    assign erroneous = now != 5'd0;

    integer i;

    always @* begin
        m_data = s_data;
        now = 5'd0;
        unexpected = 4'd0;
        frame_misplaced = 4'd0;
        multiframe_misplaced = 4'd0;
        left = 1'b0;
        is_f = 1'b0;
        is_a = 1'b0;
        frame_placed = 1'b0;
        multiframe_placed = 1'b0;
        end_clean = !s_charisk[3] && !s_notintable[3] && !s_disperr[3];
        repeats = last_known && s_data[31:24] == last_octet;
        broken = 1'b0;
        if (valid && frame_end && !never && end_clean) begin
            // Left as it is. At a multiframe's end /A/ is due even behind a replaced octet, elsewhere /F/ is not.
            if (scrambling) begin
                broken = s_data[31:24] == (multiframe_end ? CHARACTER_A : CHARACTER_F);
            end else begin
                broken = repeats && (multiframe_end || !last_replaced);
            end
        end
        if (valid && {s_charisk, s_notintable, s_disperr} != 12'd0) begin
            for (i = 0; i < 4; i = i + 1) begin
                is_f = s_charisk[i] && s_data[8*i +: 8] == CHARACTER_F;
                is_a = s_charisk[i] && s_data[8*i +: 8] == CHARACTER_A;
                unexpected[i] = s_charisk[i] && !is_f && !is_a;
                // A frame slip of whole frames shows at the ends of multiframes only, by either character.
                frame_misplaced[i] = is_f && !(i == 3 && frame_end);
                multiframe_misplaced[i] = (is_a && !(i == 3 && multiframe_end)) || (is_f && i == 3 && multiframe_end);
            end
            // is_f, is_a are now those of octet 3.
            if (frame_end && (is_f || is_a)) begin
                frame_placed = 1'b1;
                multiframe_placed = is_a && multiframe_end;
                if (!scrambling) begin
                    m_data[31:24] = last_octet;
                    now = last_kinds | {4'd0, s_disperr != 4'd0};
                    // Two in a row, or before there was anything to repeat.
                    broken = !last_known || (is_f && last_replaced);
                end
            end
            left = s_charisk == 4'hf && s_data == {4{COMMA}} && {s_notintable, s_disperr} == 8'd0;
            if (multiframe_first && s_charisk[0] && s_data[7:0] == CHARACTER_R && !s_notintable[0] && !s_disperr[0]) begin
                left = 1'b1;
            end
            now = now | {multiframe_misplaced != 4'd0, frame_misplaced != 4'd0, unexpected != 4'd0, s_notintable != 4'd0,
                         s_disperr != 4'd0};
        end
        if (broken) begin
            now = now | {multiframe_end, !multiframe_end, 3'd0};
        end
        m_kinds = now | earlier | {multiframe_suspect, frame_suspect || doubt, 3'd0};
        misaligned = (frame_suspect && frame_misplaced != 4'd0) || (multiframe_suspect && multiframe_misplaced != 4'd0);
    end

    always @(posedge clk) begin
        if (rst) begin
            earlier <= 5'd0;
            last_kinds <= 5'd0;
            frame_suspect <= 1'b0;
            multiframe_suspect <= 1'b0;
            last_known <= 1'b0;
            last_replaced <= 1'b0;
            doubt <= 1'b0;
        end else if (valid) begin
            earlier <= scrambling ? now : 5'd0;
            if (frame_end) begin
                doubt <= broken;
            end
            if (frame_end && !scrambling) begin
                last_octet <= m_data[31:24];
                last_kinds <= now;
                last_replaced <= frame_placed;
                // After an octet that was hit, nobody knows what the sender compared the next one with.
                last_known <= end_clean || (last_known && frame_placed);
            end
            // A wrong octet that was valid shows by the disparity of a later character: repeats of it must know.
            if (s_disperr != 4'd0 && !(frame_end && !scrambling)) begin
                last_kinds[0] <= 1'b1;
            end
            if (s_charisk != 4'd0) begin
                frame_suspect <= frame_misplaced != 4'd0 || (frame_suspect && !frame_placed);
                multiframe_suspect <= multiframe_misplaced != 4'd0 || (multiframe_suspect && !multiframe_placed);
            end
        end
    end

endmodule

`default_nettype wire
