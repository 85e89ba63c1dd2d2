// Stand-in for a memory in proofs: of all its words only one is kept, at a place that the solver chooses; all others read as
// anything at all. What is proved for the word kept is proved for every word, and the size of the memory costs nothing.
//
// yosys replaces every `$mem_v2` cell by this module; properties see `place` and `word` (see Memory in prover.py). It is made
// for memories with write ports on one clock, of which the last one wins, and read ports without registers, as they are before yosys
// merges registers into them.

(* techmap_celltype = "$mem_v2" *)
module one_word_memory (RD_CLK, RD_EN, RD_ARST, RD_SRST, RD_ADDR, RD_DATA, WR_CLK, WR_EN, WR_ADDR, WR_DATA);

    parameter MEMID = "";
    parameter SIZE = 4;
    parameter OFFSET = 0;
    parameter ABITS = 2;
    parameter WIDTH = 8;
    parameter INIT = 0;
    parameter RD_PORTS = 1;
    parameter RD_CLK_ENABLE = 0;
    parameter RD_CLK_POLARITY = 0;
    parameter RD_TRANSPARENCY_MASK = 0;
    parameter RD_COLLISION_X_MASK = 0;
    parameter RD_WIDE_CONTINUATION = 0;
    parameter RD_CE_OVER_SRST = 0;
    parameter RD_ARST_VALUE = 0;
    parameter RD_SRST_VALUE = 0;
    parameter RD_INIT_VALUE = 0;
    parameter WR_PORTS = 1;
    parameter [WR_PORTS-1:0] WR_CLK_ENABLE = 1;
    parameter [WR_PORTS-1:0] WR_CLK_POLARITY = 1;
    parameter WR_PRIORITY_MASK = 0;
    parameter WR_WIDE_CONTINUATION = 0;

    input  [RD_PORTS-1:0]       RD_CLK;
    input  [RD_PORTS-1:0]       RD_EN;
    input  [RD_PORTS-1:0]       RD_ARST;
    input  [RD_PORTS-1:0]       RD_SRST;
    input  [RD_PORTS*ABITS-1:0] RD_ADDR;
    output [RD_PORTS*WIDTH-1:0] RD_DATA;
    input  [WR_PORTS-1:0]       WR_CLK;
    input  [WR_PORTS*WIDTH-1:0] WR_EN;
    input  [WR_PORTS*ABITS-1:0] WR_ADDR;
    input  [WR_PORTS*WIDTH-1:0] WR_DATA;

    // Anything else is left as it is, and then refused.
    wire _TECHMAP_FAIL_ = RD_CLK_ENABLE != 0 || !(&WR_CLK_ENABLE[WR_PORTS-1:0]) || !(&WR_CLK_POLARITY[WR_PORTS-1:0]) || OFFSET != 0;

    (* keep *) (* anyconst *) wire [ABITS-1:0] place;
    (* keep *) reg [WIDTH-1:0] word;
    wire [ABITS-1:0] \_TECHMAP_REPLACE_.place = place;
    wire [WIDTH-1:0] \_TECHMAP_REPLACE_.word = word;

    integer i;
    integer p;

    always @(posedge WR_CLK[0]) begin
        for (p = 0; p < WR_PORTS; p = p + 1) begin
            for (i = 0; i < WIDTH; i = i + 1) begin
                if (WR_EN[p*WIDTH+i] && WR_ADDR[p*ABITS +: ABITS] == place) word[i] <= WR_DATA[p*WIDTH+i];
            end
        end
    end

    genvar g;
    generate
        for (g = 0; g < RD_PORTS; g = g + 1) begin : port
            (* anyseq *) wire [WIDTH-1:0] anything;
            assign RD_DATA[g*WIDTH +: WIDTH] = RD_ADDR[g*ABITS +: ABITS] == place ? word : anything;
        end
    endgenerate

endmodule
