"""Everything that exists only in simulation: bench, ADC model, link model, peers, runner."""
