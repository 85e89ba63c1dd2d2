ring_bank.v
ring_memory.v
ring_writer.v
ring_release.v
ring_blocks.v
ring_level.v
ring_registers.v
ring_buffer.v
