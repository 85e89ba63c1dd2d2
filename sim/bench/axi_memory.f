handshake_checker.v
axi_memory_dpi.v
axi_memory_vpi.v
axi_memory.v
