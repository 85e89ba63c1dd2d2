../lib/sync_fifo.v
ernic_receive_fifo.v
