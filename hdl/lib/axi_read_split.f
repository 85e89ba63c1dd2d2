sync_fifo.v
axi_read_split.v
