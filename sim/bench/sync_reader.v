// SYNC~ as converters read it: low for long is a request to begin anew, low for two frames is a report of errors and no more.

`timescale 1ns / 1fs
`default_nettype none

module sync_reader #(
    // Links, each with one SYNC~. 1 to 32.
    parameter LINKS = 16,
    // Link clocks that SYNC~ is low at least when it asks. More than two frames of 16 octets, fewer than five of 8. 1 to 15.
    parameter REQUEST_BEATS = 9
) (
    input  wire             link_clk,
    input  wire [LINKS-1:0] sync_n,
    // Low while the receiver asks.
    output wire [LINKS-1:0] request_n
);

    reg  [3:0]       low [0:LINKS-1];
    reg              busy;
    // Reports of all links so far. `reported` is theirs of this clock.
    /* verilator lint_off UNUSEDSIGNAL */ // read by Python
    reg  [31:0]      reports;
    /* verilator lint_on UNUSEDSIGNAL */
    reg  [31:0]      reported;

    integer          n;

    // At the start no link has ever been high.
    initial begin
        for (n = 0; n < LINKS; n = n + 1) low[n] = REQUEST_BEATS[3:0];
        busy = 1'b1;
        reports = 32'd0;
    end

    always @* begin
        reported = 32'd0;
        if (busy) begin
            for (n = 0; n < LINKS; n = n + 1) begin
                if (sync_n[n] && low[n] != 4'd0 && low[n] < REQUEST_BEATS[3:0]) reported = reported + 32'd1;
            end
        end
    end

    // Nearly always all are high.
    always @(posedge link_clk) begin
        busy <= sync_n != {LINKS{1'b1}};
        if (busy || sync_n != {LINKS{1'b1}}) begin
            reports <= reports + reported;
            for (n = 0; n < LINKS; n = n + 1) begin
                if (sync_n[n]) low[n] <= 4'd0;
                else if (low[n] < REQUEST_BEATS[3:0]) low[n] <= low[n] + 4'd1;
            end
        end
    end

    genvar k;
    generate
        for (k = 0; k < LINKS; k = k + 1) begin : each_link
            assign request_n[k] = sync_n[k] || low[k] < REQUEST_BEATS[3:0];
        end
        if (LINKS < 1 || LINKS > 32 || REQUEST_BEATS < 1 || REQUEST_BEATS > 15) begin : check
            initial $fatal(1, "%m: LINKS 1 to 32, REQUEST_BEATS 1 to 15");
        end
    endgenerate

endmodule

`default_nettype wire
