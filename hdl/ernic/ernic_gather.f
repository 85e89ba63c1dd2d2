../lib/sync_fifo.v
ernic_gather.v
