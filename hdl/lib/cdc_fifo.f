cdc_sync.v
cdc_fifo.v
