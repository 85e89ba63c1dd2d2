// The two clocks of the bench and the core cycle number.
//
// Clocks are made here and not in Python: no call into cocotb an edge, and a run without Python has them too. A simulator pays
// for each point of time at which anything happens, so a clock falls where the other one rises; only where it rises twice in a
// row it falls half way between. Rising edges are exact, duty cycles vary. With SQUARE both are 50 %, for waveforms; nothing but
// their look depends on it.

`timescale 1fs / 1fs
`default_nettype none

module bench_clocks #(
    // Half a period of the core clock in fs; 1551515 is 322.265657 MHz. Fixed, so that a cycle number and a time say the same.
    parameter CORE_HALF_FS = 1551515,
    // Half a period of the link clock in fs at the start; 1562500 is 320 MHz.
    parameter LINK_HALF_FS = 1562500,
    // 1: equal high and low times.
    parameter SQUARE = 0
) (
    output reg         clk,
    output reg         link_clk,
    // Number of rising edges of clk before the one that samples it: edge n is at (2 n + 1) * CORE_HALF_FS.
    output reg  [63:0] cycle,
    // Written by cocotb to change the link clock; taken over at its next rising edge.
    output reg  [31:0] link_half_fs
);

    initial begin
        clk = 1'b0;
        link_clk = 1'b0;
        cycle = 64'd0;
        link_half_fs = LINK_HALF_FS;
    end

    always @(posedge clk) cycle <= cycle + 64'd1;

    generate
        if (SQUARE != 0) begin : square
            always begin
                #(CORE_HALF_FS);
                clk = ~clk;
            end

            always begin
                #(link_half_fs);
                link_clk = ~link_clk;
            end
        end else begin : shared
            // Time to the next rising edge of either clock, and to the nearer one.
            reg [31:0] core_in;
            reg [31:0] link_in;
            reg [31:0] step;

            initial begin
                core_in = CORE_HALF_FS;
                link_in = LINK_HALF_FS;
            end

            always begin
                step = core_in < link_in ? core_in : link_in;
                if ((core_in == step && clk) || (link_in == step && link_clk)) begin
                    #(step / 2);
                    clk = 1'b0;
                    link_clk = 1'b0;
                    #(step - step / 2);
                end else begin
                    #(step);
                end
                clk = core_in == step;
                link_clk = link_in == step;
                core_in = clk ? 2 * CORE_HALF_FS : core_in - step;
                link_in = link_clk ? 2 * link_half_fs : link_in - step;
            end
        end
        if (CORE_HALF_FS < 1 || LINK_HALF_FS < 1) begin : check_half_periods
            initial $fatal(1, "%m: half periods must be at least 1 fs");
        end
    endgenerate

endmodule

`default_nettype wire
