../lib/sync_fifo.v
ernic_notices.v
