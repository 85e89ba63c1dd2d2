poster_registers.v
poster_entry.v
poster.v
