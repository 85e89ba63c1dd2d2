ernic_control.f
ernic_transmit.f
ernic_receive.f
ernic.v
