// Records a waveform of everything, in a window of simulated time, in both simulators alike.
//
// +waves=<path> names the file; +waves_from_ns=<n> and +waves_to_ns=<n> bound the window. The simulation ends with the window, so
// that a repetition made for its waveform alone costs no more than it must. Under Verilator only a build with traces records.

`timescale 1ns / 1fs
`default_nettype none

module waves;

    reg [8*512-1:0] path;
    reg [63:0] from_ns;
    reg [63:0] to_ns;

    initial begin
        if ($value$plusargs("waves=%s", path)) begin
            if ($value$plusargs("waves_from_ns=%d", from_ns) && from_ns != 0) #(from_ns);
            $dumpfile(path);
            $dumpvars;
            if ($value$plusargs("waves_to_ns=%d", to_ns)) begin
                #(to_ns - from_ns);
                $finish;
            end
        end
    end

endmodule

`default_nettype wire
