"""What runs on the processing system beside the FPGA: registers, block pump, connection."""
