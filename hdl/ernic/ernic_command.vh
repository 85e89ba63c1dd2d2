// One packet to be sent, as a vector: `cmd[`EB_CMD_PSN]` is its sequence number. What no header of the opcode carries is ignored.
`ifndef EB_ERNIC_COMMAND_VH
`define EB_ERNIC_COMMAND_VH
// BTH opcode; it says which extension headers there are.
`define EB_CMD_OPCODE 7:0
// BTH solicited event.
`define EB_CMD_SOLICITED 8
// BTH migration request.
`define EB_CMD_MIGREQ 9
// BTH backward congestion notification.
`define EB_CMD_BECN 10
// BTH acknowledge request.
`define EB_CMD_ACK_REQUEST 11
// BTH partition key.
`define EB_CMD_PKEY 27:12
// BTH destination queue pair.
`define EB_CMD_DEST_QPN 51:28
// BTH packet sequence number.
`define EB_CMD_PSN 75:52
// RETH virtual address.
`define EB_CMD_REMOTE_ADDRESS 139:76
// RETH key; key of an IETH.
`define EB_CMD_REMOTE_KEY 171:140
// RETH length.
`define EB_CMD_DMA_LENGTH 203:172
// ImmDt, or AETH as syndrome and message number.
`define EB_CMD_IMMEDIATE 235:204
// DETH queue key.
`define EB_CMD_QKEY 267:236
// DETH source queue pair.
`define EB_CMD_SOURCE_QPN 291:268
// Octets of payload, 0 to 4096.
`define EB_CMD_PAYLOAD_BYTES 304:292
// Where the payload is: in the ring (modulo its size) or in memory.
`define EB_CMD_LOCAL_ADDRESS 368:305
// The payload is in memory.
`define EB_CMD_FROM_MEMORY 369
// Ethernet destination.
`define EB_CMD_DEST_MAC 417:370
// IPv4 destination.
`define EB_CMD_DEST_IP 449:418
// IPv4 type of service.
`define EB_CMD_TRAFFIC_CLASS 457:450
// IPv4 time to live.
`define EB_CMD_TTL 465:458
// Index of the queue pair that sends it.
`define EB_CMD_QP 473:466
// Its queue pair wants to know when it has left.
`define EB_CMD_REPORT 474
// Connection of the queue pair that the packet belongs to, modulo 4.
`define EB_CMD_EPOCH 476:475
// Bits of the whole.
`define EB_CMD_WIDTH 477
`endif
