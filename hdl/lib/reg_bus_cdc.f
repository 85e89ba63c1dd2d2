cdc_sync.v
reg_bus_cdc.v
