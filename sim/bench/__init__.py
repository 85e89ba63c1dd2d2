"""The simulation bench: HDL players and collectors around the design, and the Python side of each."""
