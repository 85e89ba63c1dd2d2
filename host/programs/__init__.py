"""The client's side of well-known RDMA programs, so that they serve as unmodified peers of the engine."""
