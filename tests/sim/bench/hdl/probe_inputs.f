../../../../sim/bench/bench_clocks.v
../../../../sim/bench/probe.v
probe_inputs.v
