ring_bank.v
ring_memory.v
