../lib/sync_fifo.v
ernic_receive_realign.v
ernic_receive_writer.v
