../lib/frame_fifo.v
ernic_port_transmit.v
ernic_port_receive.v
ernic_port.v
