handshake_checker.v
mac_pacer.v
mac_port_dpi.v
mac_port_vpi.v
mac_port.v
