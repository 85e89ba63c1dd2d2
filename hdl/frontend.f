lib/lib.f
jesd204b/jesd204b_receiver.f
acquisition/acquisition.f
ring/ring_buffer.f
ernic/ernic.f
poster/poster.f
system_registers.v
frontend.v
