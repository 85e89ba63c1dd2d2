../../../sim/bench/bench_clocks.v
../../../sim/bench/mac_port.f
../../../sim/bench/axi_memory.f
../../../hdl/ernic/ernic.f
fuzz_bench.v
