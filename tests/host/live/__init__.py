"""The receiver on a real RDMA device, in one micro-VM for all cases: both ends are verbs, no RTL is needed."""
