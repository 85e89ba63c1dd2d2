// A pulse of two link clocks that comes at any time, not only with the clock: a laser knows nothing of it.

`timescale 1fs / 1fs
`default_nettype none

module bench_pulse (
    // Rises with a beat; another pulse is taken when this one is over.
    input  wire        start,
    // From there to the pulse, 1/32 link clock.
    input  wire [4:0]  delay,
    // Half a link clock in fs.
    input  wire [31:0] link_half_fs,
    output reg         pulse
);

    wire [63:0] delay_fs = {32'd0, link_half_fs} * {59'd0, delay} / 64'd16;
    wire [63:0] length_fs = {32'd0, link_half_fs} * 64'd4;

    initial pulse = 1'b0;

    always @(posedge start) begin
        if (delay_fs != 64'd0) #(delay_fs);
        pulse = 1'b1;
        #(length_fs);
        pulse = 1'b0;
    end

endmodule

`default_nettype wire
