sync_fifo.v
axi_read_mux.v
