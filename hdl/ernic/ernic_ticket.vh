// A received packet that is right so far, as one vector from the receive FIFO to those who act on it.
//
// REMOTE_ADDRESS, KEY and LENGTH are the RETH; of a datagram, KEY is the Q_Key and the low bits of REMOTE_ADDRESS are the
// source queue pair. WORD is ImmDt, AETH or IETH. BYTES counts payload octets and stays at 8191 beyond. WORDS is the length of
// the extension headers in units of four octets. STORED says that the frame's beats are in the receive FIFO.

`ifndef EB_TICKET
`define EB_TICKET
`define EB_TICKET_WIDTH 331
`define EB_TICKET_OPCODE 7:0
`define EB_TICKET_SOLICITED 8
`define EB_TICKET_ACK_REQUEST 9
`define EB_TICKET_QPN 33:10
`define EB_TICKET_PSN 57:34
`define EB_TICKET_PKEY 73:58
`define EB_TICKET_SOURCE_IP 105:74
`define EB_TICKET_SOURCE_MAC 153:106
`define EB_TICKET_REMOTE_ADDRESS 217:154
`define EB_TICKET_SOURCE_QPN 177:154
`define EB_TICKET_KEY 249:218
`define EB_TICKET_LENGTH 281:250
`define EB_TICKET_WORD 313:282
`define EB_TICKET_SYNDROME 313:306
`define EB_TICKET_BYTES 326:314
`define EB_TICKET_WORDS 329:327
`define EB_TICKET_STORED 330
`endif
