bench_clocks.v
mac_port.f
lane_player.f
axi_memory.f
probe.v
waves.v
../../hdl/frontend.f
bench_top.v
