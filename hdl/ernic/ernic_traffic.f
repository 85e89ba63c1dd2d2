ernic_traffic_registers.f
ernic_starvation.v
ernic_pause.f
ernic_port.f
ernic_traffic.v
