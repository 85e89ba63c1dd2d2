../lib/sync_fifo.v
ernic_icrc.v
ernic_icrc_check.v
ernic_receive_framer.v
ernic_receive_parser.v
ernic_receive_verdict.v
ernic_receive_fifo.v
ernic_receive.v
