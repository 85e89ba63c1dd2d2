../lib/sync_fifo.v
ernic_launch_slots.v
ernic_gather.v
ernic_stage.v
ernic_launch.v
