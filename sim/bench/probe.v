// Writes what the report needs to a text file, without Python: lines of `cycle,kind,value` (see probe.py for the kinds).
//
// The file is named by the plusarg +probe=<path>; without it nothing is recorded. `cycle` is the core cycle of the edge that
// sampled the event.

`timescale 1ns / 1fs
`default_nettype none

module probe #(
    // Doorbells: the register addresses FIRST, FIRST + STRIDE, ... up to LAST.
    parameter [19:0] DOORBELL_FIRST = 20'h20238,
    parameter [19:0] DOORBELL_LAST = 20'h2ff38,
    parameter [19:0] DOORBELL_STRIDE = 20'h00100,
    // Core cycles between two samples of the ring's fill. At least 1.
    parameter RING_INTERVAL = 64
) (
    input  wire        clk,
    input  wire        rst,
    input  wire [63:0] cycle,

    // Control bus of the design: writes.
    input  wire [19:0] axil_awaddr,
    input  wire        axil_awvalid,
    input  wire        axil_awready,
    input  wire [31:0] axil_wdata,
    input  wire        axil_wvalid,
    input  wire        axil_wready,

    // Doorbells by hardware.
    input  wire        doorbell_valid,
    input  wire        doorbell_ready,
    input  wire [31:0] doorbell_address,
    input  wire [15:0] doorbell_index,

    // Frames to and from the MAC.
    input  wire        mac_tx_tvalid,
    input  wire        mac_tx_tready,
    input  wire        mac_tx_tlast,
    input  wire        mac_rx_tvalid,
    input  wire        mac_rx_tlast,

    // Frames into the ring: a word, the last of its frame; bytes in use.
    input  wire        ring_write_valid,
    input  wire        ring_write_last,
    input  wire [31:0] ring_used,

    input  wire        irq_ring,
    input  wire        irq_ernic,

    // Memory master of the design: writes.
    input  wire [63:0] axi_awaddr,
    input  wire        axi_awvalid,
    input  wire        axi_awready,
    input  wire        axi_wvalid,
    input  wire        axi_wready,
    input  wire        axi_wlast
);

    integer        file;
    reg [1023:0]   path;
    // A change writes out what is buffered.
    reg            flush;

    reg            have_addr;
    reg            have_data;
    reg [19:0]     addr;
    reg [31:0]     data;
    reg [31:0]     tx_frames;
    reg [31:0]     rx_frames;
    reg [31:0]     committed;
    reg            tx_within;
    reg            rx_within;
    reg            last_irq_ring;
    reg            last_irq_ernic;
    reg [31:0]     interval;
    reg [31:0]     last_used;

    // Addresses of memory writes whose data has not ended. Sixteen is more than the memory accepts.
    reg [63:0]     addresses [0:31];
    reg [4:0]      address_head;
    reg [4:0]      address_tail;

    wire           addr_beat = axil_awvalid && axil_awready;
    wire           data_beat = axil_wvalid && axil_wready;
    wire [19:0]    write_addr = addr_beat ? axil_awaddr : addr;
    wire [31:0]    write_data = data_beat ? axil_wdata : data;
    wire           write_done = (addr_beat || have_addr) && (data_beat || have_data);
    wire           doorbell = write_addr >= DOORBELL_FIRST && write_addr <= DOORBELL_LAST &&
                              (write_addr - DOORBELL_FIRST) % DOORBELL_STRIDE == 20'd0;
    wire           mac_tx_beat = mac_tx_tvalid && mac_tx_tready;

    initial begin
        file = 0;
        flush = 1'b0;
        have_addr = 1'b0;
        have_data = 1'b0;
        tx_frames = 32'd0;
        rx_frames = 32'd0;
        committed = 32'd0;
        tx_within = 1'b0;
        rx_within = 1'b0;
        last_irq_ring = 1'b0;
        last_irq_ernic = 1'b0;
        interval = 32'd0;
        last_used = 32'd0;
        address_head = 5'd0;
        address_tail = 5'd0;
        if ($value$plusargs("probe=%s", path)) begin
            file = $fopen(path, "w");
            if (file == 0) $fatal(1, "%m: cannot write %0s", path);
            $fwrite(file, "cycle,kind,value\n");
        end
    end

    always @(flush) if (file != 0) $fflush(file);

    always @(posedge clk) begin
        if (file != 0 && !rst) begin
            // A register write counts when both its address and its data have been taken.
            have_addr <= (addr_beat || have_addr) && !write_done;
            have_data <= (data_beat || have_data) && !write_done;
            if (addr_beat) addr <= axil_awaddr;
            if (data_beat) data <= axil_wdata;
            if (write_done && doorbell) $fwrite(file, "%0d,doorbell,%0d\n", cycle, {12'd0, write_addr, write_data});

            if (doorbell_valid && doorbell_ready) $fwrite(file, "%0d,doorbell,%0d\n", cycle, {doorbell_address, 16'd0, doorbell_index});

            if (mac_tx_beat) begin
                if (!tx_within) $fwrite(file, "%0d,tx_first,%0d\n", cycle, tx_frames);
                if (mac_tx_tlast) begin
                    $fwrite(file, "%0d,tx_last,%0d\n", cycle, tx_frames);
                    tx_frames <= tx_frames + 32'd1;
                end
                tx_within <= !mac_tx_tlast;
            end
            if (mac_rx_tvalid) begin
                if (!rx_within) $fwrite(file, "%0d,rx_first,%0d\n", cycle, rx_frames);
                if (mac_rx_tlast) rx_frames <= rx_frames + 32'd1;
                rx_within <= !mac_rx_tlast;
            end

            if (ring_write_valid && ring_write_last) begin
                $fwrite(file, "%0d,frame_committed,%0d\n", cycle, committed);
                committed <= committed + 32'd1;
            end

            // Only changes are written; the first sample is against zero.
            interval <= interval + 32'd1;
            if (interval == RING_INTERVAL - 1) begin
                interval <= 32'd0;
                last_used <= ring_used;
                if (ring_used != last_used) $fwrite(file, "%0d,ring_used,%0d\n", cycle, ring_used);
            end

            last_irq_ring <= irq_ring;
            last_irq_ernic <= irq_ernic;
            if (irq_ring != last_irq_ring) $fwrite(file, "%0d,irq_ring,%0d\n", cycle, irq_ring);
            if (irq_ernic != last_irq_ernic) $fwrite(file, "%0d,irq_ernic,%0d\n", cycle, irq_ernic);

            if (axi_awvalid && axi_awready) begin
                addresses[address_head] <= axi_awaddr;
                address_head <= address_head + 5'd1;
            end
            if (axi_wvalid && axi_wready && axi_wlast) begin
                $fwrite(file, "%0d,memory_write,%0d\n", cycle,
                        address_head == address_tail ? axi_awaddr : addresses[address_tail]);
                address_tail <= address_tail + 5'd1;
            end
        end
        if (rst) begin
            have_addr <= 1'b0;
            have_data <= 1'b0;
            tx_within <= 1'b0;
            rx_within <= 1'b0;
            interval <= 32'd0;
            address_head <= 5'd0;
            address_tail <= 5'd0;
        end
    end

    generate
        if (RING_INTERVAL < 1 || DOORBELL_STRIDE == 20'd0) begin : check_parameters
            initial $fatal(1, "%m: RING_INTERVAL and DOORBELL_STRIDE must be at least 1");
        end
    endgenerate

endmodule

`default_nettype wire
