cdc_sync.v
cdc_pulse.v
