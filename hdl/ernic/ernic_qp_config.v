// What software configures for each queue pair: one array a register, written by the register bus and read by whoever needs it.
//
// Each reader names a queue pair and loads; its fields are there one cycle later and stay. Pointers, PSNs and status live with
// the engines that move them.

`timescale 1ns / 1fs
`default_nettype none
`include "registers.vh"

module ernic_qp_config #(
    // Queue pairs. At least 2.
    parameter NUM_QP = 4,
    // Derived; do not override.
    parameter QP_WIDTH = $clog2(NUM_QP)
) (
    input  wire                clk,

    // After reset: all registers of one queue pair to 0.
    input  wire                sweep_valid,
    input  wire [QP_WIDTH-1:0] sweep_qp,
    // A queue pair is disabled: what belongs to its connection to 0.
    input  wire                clear_valid,
    input  wire [QP_WIDTH-1:0] clear_qp,

    // Register bus.
    input  wire                write_valid,
    input  wire [QP_WIDTH-1:0] write_qp,
    input  wire [7:0]          write_offset,
    input  wire [31:0]         write_data,
    input  wire                read_load,
    input  wire [QP_WIDTH-1:0] read_qp,
    input  wire [7:0]          read_offset,
    output reg  [31:0]         read_data,
    output reg  [15:0]         read_depth,

    // Requester.
    input  wire                send_load,
    input  wire [QP_WIDTH-1:0] send_qp,
    output reg  [2:0]          send_pmtu,
    output reg  [15:0]         send_pkey,
    output reg  [7:0]          send_ttl,
    output reg  [7:0]          send_traffic_class,
    output reg  [23:0]         send_dest_qpn,
    output reg  [47:0]         send_dest_mac,
    output reg  [31:0]         send_dest_ip,
    output reg  [31:0]         send_qkey,
    output reg                 send_write_each,
    output reg  [7:0]          send_reads,
    output reg  [63:5]         send_base,
    output reg  [15:0]         send_depth,
    // Service level (1 to 3) and transport (0 RC, 1 UC, 2 UD) of all queue pairs.
    output reg  [2*NUM_QP-1:0] qp_level,
    output reg  [2*NUM_QP-1:0] qp_transport,

    // Fetch of send queue entries.
    input  wire                fetch_load,
    input  wire [QP_WIDTH-1:0] fetch_qp,
    output reg  [63:5]         fetch_base,
    output reg  [15:0]         fetch_depth,

    // Entries before their doorbell.
    input  wire                look_load,
    input  wire [QP_WIDTH-1:0] look_qp,
    output reg  [63:5]         look_base,
    output reg  [15:0]         look_depth,

    // Acknowledgements.
    input  wire                ack_load,
    input  wire [QP_WIDTH-1:0] ack_qp,
    output reg  [2:0]          ack_pmtu,
    output reg  [14:0]         ack_pkey,
    output reg  [47:0]         ack_mac,
    output reg  [31:0]         ack_ip,
    output reg  [2:0]          ack_retry_limit,
    output reg  [2:0]          ack_rnr_limit,

    // Completions.
    input  wire                completion_load,
    input  wire [QP_WIDTH-1:0] completion_qp,
    output reg  [63:5]         completion_base,
    output reg  [63:0]         completion_doorbell,
    output reg  [15:0]         completion_depth,
    output reg                 completion_write,
    output reg                 completion_interrupt,

    // Shaper.
    input  wire                shape_load,
    input  wire [QP_WIDTH-1:0] shape_qp,
    output reg  [31:0]         shape_rate,
    output reg  [23:0]         shape_size,

    // Peer of a queue pair, for congestion notifications.
    input  wire                peer_load,
    input  wire [QP_WIDTH-1:0] peer_qp,
    output reg  [15:0]         peer_pkey,
    output reg  [7:0]          peer_ttl,
    output reg  [23:0]         peer_qpn,
    output reg  [47:0]         peer_mac,
    output reg  [31:0]         peer_ip,

    // Timers.
    input  wire                timer_load,
    input  wire [QP_WIDTH-1:0] timer_qp,
    output reg  [5:0]          timer_timeout,
    output reg  [15:0]         timer_tail_loss
);

    reg [31:0] qpconf      [0:NUM_QP-1];
    reg [31:0] qpadvconf   [0:NUM_QP-1];
    reg [31:0] rqba        [0:NUM_QP-1];
    reg [31:0] rqba_msb    [0:NUM_QP-1];
    reg [31:0] sqba        [0:NUM_QP-1];
    reg [31:0] sqba_msb    [0:NUM_QP-1];
    reg [31:0] cqba        [0:NUM_QP-1];
    reg [31:0] cqba_msb    [0:NUM_QP-1];
    reg [31:0] rqdb        [0:NUM_QP-1];
    reg [31:0] rqdb_msb    [0:NUM_QP-1];
    reg [31:0] cqdb        [0:NUM_QP-1];
    reg [31:0] cqdb_msb    [0:NUM_QP-1];
    reg [31:0] rqci        [0:NUM_QP-1];
    reg [31:0] qdepth      [0:NUM_QP-1];
    reg [31:0] lstrqreq    [0:NUM_QP-1];
    reg [31:0] destqpconf  [0:NUM_QP-1];
    reg [31:0] timeoutconf [0:NUM_QP-1];
    reg [31:0] mac_lsb     [0:NUM_QP-1];
    reg [31:0] mac_msb     [0:NUM_QP-1];
    reg [31:0] ip1         [0:NUM_QP-1];
    reg [31:0] ip2         [0:NUM_QP-1];
    reg [31:0] ip3         [0:NUM_QP-1];
    reg [31:0] ip4         [0:NUM_QP-1];
    reg [31:0] pd          [0:NUM_QP-1];
    reg [31:0] qpext       [0:NUM_QP-1];
    reg [31:0] qkey        [0:NUM_QP-1];
    reg [31:0] shape_rates [0:NUM_QP-1];
    reg [31:0] shape_sizes [0:NUM_QP-1];
    reg [31:0] tail_loss   [0:NUM_QP-1];

    localparam [1:0] IMAGE_DATA = 2'd2;
    localparam [1:0] DATAGRAM = 2'd2;
    // Of queue pair 1 (IBTA vol. 1, 3.5.3).
    localparam [31:0] MANAGEMENT_QKEY = 32'h80010000;
    // Default partition, 64 hops, best effort.
    localparam [31:0] MANAGEMENT_CONF = {16'hffff, 8'd64, 8'd0};

    // One write port an array: the register bus, or zero for all of a queue pair or for what belongs to its connection.
    wire                write = sweep_valid || clear_valid || write_valid;
    wire [QP_WIDTH-1:0] index = sweep_valid ? sweep_qp : clear_valid ? clear_qp : write_qp;
    wire [31:0]         data = sweep_valid || clear_valid ? 32'd0 : write_data;
    wire [19:0]         offset = clear_valid ? 20'hfffff : {12'd0, write_offset};

    always @(posedge clk) begin
        if (write) begin
            if (sweep_valid || offset == `EB_ERNIC_QP_QPCONF) qpconf[index] <= data & `EB_ERNIC_QP_QPCONF_MASK;
            if (sweep_valid || offset == `EB_ERNIC_QP_QPADVCONF) qpadvconf[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_RQBA) rqba[index] <= data & `EB_ERNIC_QP_RQBA_MASK;
            if (sweep_valid || offset == `EB_ERNIC_QP_RQBAMSB) rqba_msb[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_SQBA) sqba[index] <= data & `EB_ERNIC_QP_SQBA_MASK;
            if (sweep_valid || offset == `EB_ERNIC_QP_SQBAMSB) sqba_msb[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_CQBA) cqba[index] <= data & `EB_ERNIC_QP_CQBA_MASK;
            if (sweep_valid || offset == `EB_ERNIC_QP_CQBAMSB) cqba_msb[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_RQWPTRDBADD) rqdb[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_RQWPTRDBADDMSB) rqdb_msb[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_CQDBADD) cqdb[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_CQDBADDMSB) cqdb_msb[index] <= data;
            if (sweep_valid || clear_valid || offset == `EB_ERNIC_QP_RQCI) rqci[index] <= data & `EB_ERNIC_QP_RQCI_MASK;
            if (sweep_valid || offset == `EB_ERNIC_QP_QDEPTH) qdepth[index] <= data;
            if (sweep_valid || clear_valid || offset == `EB_ERNIC_QP_LSTRQREQ) lstrqreq[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_DESTQPCONF) destqpconf[index] <= data & `EB_ERNIC_QP_DESTQPCONF_MASK;
            if (sweep_valid || offset == `EB_ERNIC_QP_TIMEOUTCONF)
                timeoutconf[index] <= data & `EB_ERNIC_QP_TIMEOUTCONF_MASK;
            if (sweep_valid || offset == `EB_ERNIC_QP_MACDESADDLSB) mac_lsb[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_MACDESADDMSB) mac_msb[index] <= data & `EB_ERNIC_QP_MACDESADDMSB_MASK;
            if (sweep_valid || offset == `EB_ERNIC_QP_IPDESADDR1) ip1[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_IPDESADDR2) ip2[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_IPDESADDR3) ip3[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_IPDESADDR4) ip4[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_PD) pd[index] <= data & `EB_ERNIC_QP_PD_MASK;
            if (sweep_valid || offset == `EB_ERNIC_QP_QPEXT) begin
                qpext[index] <= data & `EB_ERNIC_QP_QPEXT_MASK;
                qp_level[2*index +: 2] <= data[1:0] == 2'd0 ? IMAGE_DATA : data[1:0];
                qp_transport[2*index +: 2] <= index == {QP_WIDTH{1'b0}} ? DATAGRAM : data[5:4];
            end
            if (sweep_valid || offset == `EB_ERNIC_QP_QKEY) qkey[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_SHAPER_RATE) shape_rates[index] <= data;
            if (sweep_valid || offset == `EB_ERNIC_QP_SHAPER_BURST) shape_sizes[index] <= data & `EB_ERNIC_QP_SHAPER_BURST_MASK;
            if (sweep_valid || offset == `EB_ERNIC_QP_TAIL_LOSS) tail_loss[index] <= data & `EB_ERNIC_QP_TAIL_LOSS_MASK;
        end
    end

    always @(posedge clk) begin
        if (read_load) begin
            read_depth <= qdepth[read_qp][15:0];
            case ({12'd0, read_offset})
                `EB_ERNIC_QP_QPCONF: read_data <= qpconf[read_qp];
                `EB_ERNIC_QP_QPADVCONF: read_data <= qpadvconf[read_qp];
                `EB_ERNIC_QP_RQBA: read_data <= rqba[read_qp];
                `EB_ERNIC_QP_RQBAMSB: read_data <= rqba_msb[read_qp];
                `EB_ERNIC_QP_SQBA: read_data <= sqba[read_qp];
                `EB_ERNIC_QP_SQBAMSB: read_data <= sqba_msb[read_qp];
                `EB_ERNIC_QP_CQBA: read_data <= cqba[read_qp];
                `EB_ERNIC_QP_CQBAMSB: read_data <= cqba_msb[read_qp];
                `EB_ERNIC_QP_RQWPTRDBADD: read_data <= rqdb[read_qp];
                `EB_ERNIC_QP_RQWPTRDBADDMSB: read_data <= rqdb_msb[read_qp];
                `EB_ERNIC_QP_CQDBADD: read_data <= cqdb[read_qp];
                `EB_ERNIC_QP_CQDBADDMSB: read_data <= cqdb_msb[read_qp];
                `EB_ERNIC_QP_RQCI: read_data <= rqci[read_qp];
                `EB_ERNIC_QP_QDEPTH: read_data <= qdepth[read_qp];
                `EB_ERNIC_QP_LSTRQREQ: read_data <= lstrqreq[read_qp];
                `EB_ERNIC_QP_DESTQPCONF: read_data <= destqpconf[read_qp];
                `EB_ERNIC_QP_TIMEOUTCONF: read_data <= timeoutconf[read_qp];
                `EB_ERNIC_QP_MACDESADDLSB: read_data <= mac_lsb[read_qp];
                `EB_ERNIC_QP_MACDESADDMSB: read_data <= mac_msb[read_qp];
                `EB_ERNIC_QP_IPDESADDR1: read_data <= ip1[read_qp];
                `EB_ERNIC_QP_IPDESADDR2: read_data <= ip2[read_qp];
                `EB_ERNIC_QP_IPDESADDR3: read_data <= ip3[read_qp];
                `EB_ERNIC_QP_IPDESADDR4: read_data <= ip4[read_qp];
                `EB_ERNIC_QP_PD: read_data <= pd[read_qp];
                `EB_ERNIC_QP_QPEXT: read_data <= qpext[read_qp];
                `EB_ERNIC_QP_QKEY: read_data <= qkey[read_qp];
                `EB_ERNIC_QP_SHAPER_RATE: read_data <= shape_rates[read_qp];
                `EB_ERNIC_QP_SHAPER_BURST: read_data <= shape_sizes[read_qp];
                `EB_ERNIC_QP_TAIL_LOSS: read_data <= tail_loss[read_qp];
                default: read_data <= 32'd0;
            endcase
        end
        if (send_load) begin
            send_pmtu <= qpconf[send_qp][10:8];
            // Queue pair 1 has no register for these.
            {send_pkey, send_ttl, send_traffic_class} <= send_qp == {QP_WIDTH{1'b0}} ? MANAGEMENT_CONF : qpadvconf[send_qp];
            send_dest_qpn <= destqpconf[send_qp][23:0];
            send_dest_mac <= {mac_msb[send_qp][15:0], mac_lsb[send_qp]};
            send_dest_ip <= ip1[send_qp];
            send_qkey <= send_qp == {QP_WIDTH{1'b0}} ? MANAGEMENT_QKEY : qkey[send_qp];
            send_write_each <= qpext[send_qp][6];
            send_reads <= qpext[send_qp][15:8];
            send_base <= {sqba_msb[send_qp], sqba[send_qp][31:5]};
            send_depth <= qdepth[send_qp][15:0];
        end
        if (shape_load) begin
            shape_rate <= shape_rates[shape_qp];
            shape_size <= shape_sizes[shape_qp][23:0];
        end
        if (peer_load) begin
            {peer_pkey, peer_ttl} <= peer_qp == {QP_WIDTH{1'b0}} ? MANAGEMENT_CONF[31:8] : qpadvconf[peer_qp][31:8];
            peer_qpn <= destqpconf[peer_qp][23:0];
            peer_mac <= {mac_msb[peer_qp][15:0], mac_lsb[peer_qp]};
            peer_ip <= ip1[peer_qp];
        end
        if (fetch_load) begin
            fetch_base <= {sqba_msb[fetch_qp], sqba[fetch_qp][31:5]};
            fetch_depth <= qdepth[fetch_qp][15:0];
        end
        if (look_load) begin
            look_base <= {sqba_msb[look_qp], sqba[look_qp][31:5]};
            look_depth <= qdepth[look_qp][15:0];
        end
        if (ack_load) begin
            ack_pmtu <= qpconf[ack_qp][10:8];
            ack_pkey <= qpadvconf[ack_qp][30:16];
            ack_mac <= {mac_msb[ack_qp][15:0], mac_lsb[ack_qp]};
            ack_ip <= ip1[ack_qp];
            ack_retry_limit <= timeoutconf[ack_qp][10:8];
            ack_rnr_limit <= timeoutconf[ack_qp][13:11];
        end
        if (completion_load) begin
            completion_base <= {cqba_msb[completion_qp], cqba[completion_qp][31:5]};
            completion_doorbell <= {cqdb_msb[completion_qp], cqdb[completion_qp]};
            completion_depth <= qdepth[completion_qp][15:0];
            completion_write <= qpconf[completion_qp][5];
            completion_interrupt <= qpconf[completion_qp][3];
        end
        // Only a reliable connection waits for anything.
        if (timer_load) begin
            timer_timeout <= qp_transport[2*timer_qp +: 2] == 2'd0 ? timeoutconf[timer_qp][5:0] : 6'd0;
            timer_tail_loss <= qp_transport[2*timer_qp +: 2] == 2'd0 ? tail_loss[timer_qp][15:0] : 16'd0;
        end
    end

endmodule

`default_nettype wire
