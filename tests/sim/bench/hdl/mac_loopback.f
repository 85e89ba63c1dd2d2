../../../../sim/bench/bench_clocks.v
../../../../sim/bench/mac_port.f
mac_loopback.v
