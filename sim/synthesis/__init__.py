"""Synthesis of the front end by yosys for UltraScale+: area a subsystem, longest path, as a table and a file."""
