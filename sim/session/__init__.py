"""What runs inside the simulator's process during a run: control software, ADC, link and peer around the design."""
