// Takes frames at the rate of an Ethernet line: a credit of octets grows every clock, each beat spends what it takes on the wire.
//
// The last beat of a frame also spends preamble (8), FCS (4) and gap (12), and the padding of a frame below 60 octets. A beat is
// taken while the credit is not negative, and an idle line saves at most BURST_OCTETS; so the frames are never more than
// BURST_OCTETS + one beat and its 24 octets ahead of the line, and an always-ready source has exactly its rate.

`timescale 1ns / 1fs
`default_nettype none

module mac_pacer #(
    // Credit that an idle line can save, in octets: what the FIFO of a MAC takes at once. 0 to 1024.
    parameter BURST_OCTETS = 128
) (
    input  wire        clk,
    input  wire        rst,
    // Octets a clock, 16.16 fixed point; 0 stops the line at once.
    input  wire [31:0] rate,
    input  wire        tvalid,
    input  wire        tlast,
    // Octets of the beat, 1 to 64.
    input  wire [6:0]  octets,
    output reg         tready
);

    localparam OVERHEAD_OCTETS = 24;
    localparam SHORTEST_OCTETS = 60;
    localparam signed [31:0] BURST = BURST_OCTETS * 65536;

    reg signed [31:0] credit;
    reg signed [31:0] next_credit;
    // Octets of the frame before this beat, saturating at SHORTEST_OCTETS.
    reg [7:0] length;
    reg [7:0] total;
    reg [15:0] cost;

    initial begin
        credit = BURST;
        length = 8'd0;
        tready = 1'b0;
    end

    always @* begin
        total = length + {1'b0, octets};
        cost = {9'd0, octets};
        if (tlast) begin
            cost = cost + OVERHEAD_OCTETS;
            if (total < SHORTEST_OCTETS) cost = cost + {8'd0, SHORTEST_OCTETS[7:0] - total};
        end
        next_credit = credit + $signed(rate);
        if (tvalid && tready) next_credit = next_credit - $signed({cost, 16'd0});
        if (next_credit > BURST) next_credit = BURST;
    end

    always @(posedge clk) begin
        credit <= next_credit;
        tready <= next_credit >= 0 && rate != 32'd0;
        if (tvalid && tready) length <= tlast ? 8'd0 : (total < SHORTEST_OCTETS ? total : SHORTEST_OCTETS[7:0]);
        if (rst) begin
            credit <= BURST;
            length <= 8'd0;
            tready <= 1'b0;
        end
    end

    generate
        if (BURST_OCTETS < 0 || BURST_OCTETS > 1024) begin : check_burst_octets
            initial $fatal(1, "%m: BURST_OCTETS must be 0 to 1024");
        end
    endgenerate

endmodule

`default_nettype wire
