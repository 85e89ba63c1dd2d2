// Brings all links up together and takes them down together (JESD204B 5.3.3.1, 6.4).
//
// All enabled links share one life: SYNC~ is released on one LMFC edge when every lane is synchronised, and the elastic
// buffers on one LMFC edge (plus RELEASE_DELAY) when every lane has samples, so that sample n is the same instant on
// every channel. Any failure sends all of them back: a front end with channels missing has no frame to deliver.
//
// A lane tells its place by counting from its alignment sequence, so a converter that began a multiframe after the others would be
// wrong by just that. Lanes that arrive farther apart than `skew_limit` are therefore not delivered.

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_sync #(
    // Links.
    parameter LINKS = 16
) (
    input  wire             clk,
    input  wire             rst,
    // Configuration, steady while enabled.
    input  wire             enable,
    input  wire [LINKS-1:0] link_enable,
    input  wire             subclass,
    input  wire             error_report,
    input  wire [1:0]       frame_last,
    input  wire [6:0]       release_delay,
    // Beats between the first and the last lane's first sample.
    input  wire [8:0]       skew_limit,
    // Local multiframe clock.
    input  wire [6:0]       lmfc_count,
    input  wire             lmfc_aligned,
    // State of the links.
    input  wire [LINKS-1:0] synchronised,
    input  wire [LINKS-1:0] started,
    input  wire [LINKS-1:0] ready,
    input  wire [LINKS-1:0] erroneous,
    input  wire [LINKS-1:0] failed,
    // Control of the links: fall back (one cycle); SYNC~ is released; samples are read; all of that has come to pass.
    output reg              restart,
    output reg              armed,
    output reg              up,
    output reg  [LINKS-1:0] sync_n,
    // Lanes were too far apart; no lane began; the links fall back for whatever reason. One cycle each.
    output reg              skewed,
    output reg              timed_out,
    output wire             falls,
    // Times the links have fallen back.
    input  wire             clear,
    output reg  [31:0]      reinitialisations
);

    // SYNC~ low for at least five frames and nine octets asks for re-initialisation.
    wire [4:0] low_beats = frame_last == 2'd3 ? 5'd23 : 5'd13;
    reg  [4:0] low_count;

    wire       frame_edge = (lmfc_count[1:0] & frame_last) == 2'd0;
    wire       sync_edge = subclass ? lmfc_aligned && lmfc_count == 7'd0 : frame_edge;
    wire       release_edge = !subclass || lmfc_count == release_delay;

    // Beats that all lanes have been awaited for with none begun (13 multiframes of the longest and more), and with some begun.
    reg  [12:0] silent;
    reg  [8:0]  skew;
    wire        all_ready = ready == {LINKS{1'b1}};
    wire        any_started = started != {LINKS{1'b0}};

    assign falls = armed && (failed != {LINKS{1'b0}} || skewed || timed_out);

    // Errors are reported by SYNC~ low for two frames, then high for two, so that reports do not run into a request.
    reg [LINKS-1:0] pending;
    reg [LINKS-1:0] reported;
    reg [1:0]       slot;

    always @(posedge clk) begin
        restart <= 1'b0;
        skewed <= 1'b0;
        timed_out <= 1'b0;
        if (low_count != 5'd0) begin
            low_count <= low_count - 5'd1;
        end
        if (rst || !enable) begin
            restart <= 1'b1;
            armed <= 1'b0;
            up <= 1'b0;
            sync_n <= {LINKS{1'b0}};
            low_count <= low_beats;
        end else if (!armed) begin
            // Code group synchronisation. `restart` has not yet reached the lanes in its own cycle.
            silent <= 13'd0;
            skew <= 9'd0;
            pending <= {LINKS{1'b0}};
            reported <= {LINKS{1'b0}};
            slot <= 2'd0;
            if (low_count == 5'd0 && !restart && synchronised == {LINKS{1'b1}} && sync_edge) begin
                armed <= 1'b1;
                sync_n <= link_enable;
            end
        end else if (falls) begin
            restart <= 1'b1;
            armed <= 1'b0;
            up <= 1'b0;
            sync_n <= {LINKS{1'b0}};
            low_count <= low_beats;
        end else if (!up) begin
            up <= all_ready && release_edge;
            silent <= any_started ? silent : silent + 13'd1;
            timed_out <= silent == 13'h1fff && !any_started;
            if (any_started && !all_ready) begin
                skew <= skew + 9'd1;
                skewed <= skew == skew_limit;
            end
        end else if (error_report) begin
            pending <= pending | erroneous;
            if (frame_edge) begin
                slot <= reported == {LINKS{1'b0}} ? 2'd0 : slot + 2'd1;
                if (slot == 2'd0 && reported == {LINKS{1'b0}}) begin
                    reported <= pending;
                    pending <= erroneous;
                    sync_n <= link_enable & ~pending;
                end else if (slot == 2'd1) begin
                    sync_n <= link_enable;
                end else if (slot == 2'd3) begin
                    reported <= {LINKS{1'b0}};
                end
            end
        end
        if (rst || clear) begin
            reinitialisations <= 32'd0;
        end else if (enable && falls) begin
            reinitialisations <= reinitialisations + 32'd1;
        end
    end

endmodule

`default_nettype wire
