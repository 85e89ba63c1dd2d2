sync_fifo.v
axi_write_mux.v
