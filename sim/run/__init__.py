"""A run from scenario to verdict: build, start, watch, stop, verify, report."""
