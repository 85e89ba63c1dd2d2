// Saturating event counter, up to four events a cycle.

`timescale 1ns / 1fs
`default_nettype none

module jesd204b_counter (
    input  wire        clk,
    input  wire        rst,
    // One bit an event.
    input  wire [3:0]  events,
    output reg  [15:0] count
);

    // The sum stands inside the condition: nearly always there is nothing to count. Within three of the end counts as full.
    always @(posedge clk) begin
        if (rst) begin
            count <= 16'd0;
        end else if (events != 4'd0) begin
            count <= count >= 16'hfffc ? 16'hffff
                     : count + {15'd0, events[0]} + {15'd0, events[1]} + {15'd0, events[2]} + {15'd0, events[3]};
        end
    end

endmodule

`default_nettype wire
