"""Unmodified RDMA programs as peers of the engine."""
