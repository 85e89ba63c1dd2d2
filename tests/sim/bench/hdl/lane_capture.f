../../../../sim/bench/bench_clocks.v
../../../../sim/bench/lane_player.f
lane_capture.v
