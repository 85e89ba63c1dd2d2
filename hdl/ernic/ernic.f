ernic_control.f
ernic_transmit.f
ernic_receive.f
ernic_dispatch.v
ernic_receive_writer.f
ernic.v
