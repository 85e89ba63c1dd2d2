../../../../sim/bench/axi_memory.f
memory_bus.v
