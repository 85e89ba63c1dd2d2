// Local multiframe clock, one for all links, so that all of them release on the same tick (JESD204B 6.3).
//
// The first SYSREF edge after reset sets the phase; later ones are only checked against it, since a clock that moves while
// samples flow would break what it is there for. `once`: they are not even looked at, for a SYSREF that is given once or
// that stops at any phase. Without SYSREF the LMFC runs free (subclass 0).

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_lmfc (
    input  wire       clk,
    input  wire       rst,
    // Synchronous to clk.
    input  wire       sysref,
    // Configuration, steady out of reset: beats of a multiframe less one; beats that the LMFC lags SYSREF by.
    input  wire [6:0] multiframe_last,
    input  wire [6:0] offset,
    input  wire       once,
    // Beats since the LMFC edge.
    output reg  [6:0] count,
    // A SYSREF has set the phase; a later one disagreed, one cycle.
    output reg        aligned,
    output reg        misaligned
);

    reg        sysref_now;
    reg        sysref_before;
    wire       rising = sysref_now && !sysref_before;
    wire [6:0] next = count == multiframe_last ? 7'd0 : count + 7'd1;
    wire [6:0] phase = offset == 7'd0 ? 7'd0 : multiframe_last - offset + 7'd1;

    always @(posedge clk) begin
        sysref_now <= sysref;
        sysref_before <= sysref_now;
        misaligned <= 1'b0;
        count <= next;
        if (rising) begin
            aligned <= 1'b1;
            misaligned <= aligned && !once && next != phase;
            if (!aligned) begin
                count <= phase;
            end
        end
        if (rst) begin
            // A SYSREF that is high already is not an edge.
            sysref_now <= 1'b1;
            sysref_before <= 1'b1;
            misaligned <= 1'b0;
            aligned <= 1'b0;
            count <= 7'd0;
        end
    end

endmodule

`default_nettype wire
