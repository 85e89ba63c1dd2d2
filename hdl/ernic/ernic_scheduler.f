ernic_round_robin.v
ernic_scheduler.v
