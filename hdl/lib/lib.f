cdc_sync.v
cdc_pulse.v
cdc_fifo.v
sync_fifo.v
axil_to_reg_bus.v
reg_bus_decoder.v
reg_bus_cdc.v
crc32c.v
