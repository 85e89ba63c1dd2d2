ernic_pause_parser.v
ernic_pause_timer.v
ernic_pause_level.v
ernic_pause.v
