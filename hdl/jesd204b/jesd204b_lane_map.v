// Which physical lane is which lane of the links: boards route them as it suits the layout.

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_lane_map #(
    // Lanes of all links, 8, 16 or 32.
    parameter LANES = 32
) (
    input  wire                clk,
    // Five bits a lane: the physical lane that it is. straight: each is itself (the rule, and then cheap to simulate).
    input  wire [LANES*5-1:0]  map,
    input  wire                straight,
    // Characters by physical lane; by lane of the links a cycle later.
    input  wire [LANES*32-1:0] s_data,
    input  wire [LANES*4-1:0]  s_charisk,
    input  wire [LANES*4-1:0]  s_notintable,
    input  wire [LANES*4-1:0]  s_disperr,
    output reg  [LANES*32-1:0] m_data,
    output reg  [LANES*4-1:0]  m_charisk,
    output reg  [LANES*4-1:0]  m_notintable,
    output reg  [LANES*4-1:0]  m_disperr
);

    integer n;

    always @(posedge clk) begin
        m_data <= s_data;
        m_charisk <= s_charisk;
        m_notintable <= s_notintable;
        m_disperr <= s_disperr;
        if (!straight) begin
            for (n = 0; n < LANES; n = n + 1) begin
                m_data[32*n +: 32] <= s_data[32*map[5*n +: 5] +: 32];
                m_charisk[4*n +: 4] <= s_charisk[4*map[5*n +: 5] +: 4];
                m_notintable[4*n +: 4] <= s_notintable[4*map[5*n +: 5] +: 4];
                m_disperr[4*n +: 4] <= s_disperr[4*map[5*n +: 5] +: 4];
            end
        end
    end

    generate
        if (LANES != 8 && LANES != 16 && LANES != 32) begin : check_lanes
            initial $fatal(1, "%m: LANES must be 8, 16 or 32");
        end
    endgenerate

endmodule

`default_nettype wire
