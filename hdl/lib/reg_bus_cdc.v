// Register bus into another clock domain, by a four-phase handshake: request up, answer up, request down, answer down.
//
// Levels, not toggles, so that a reset of one side alone leaves no access behind. An access that the master gives up (the
// decoder's time-out while the far clock stands) may still happen when the far clock comes back; its answer is dropped and
// the next access waits for it.

`timescale 1ns / 1fs
`default_nettype none

module reg_bus_cdc #(
    // Bits of a byte address.
    parameter ADDR_WIDTH = 13
) (
    input  wire                  clk,
    input  wire                  rst,
    // Near side.
    input  wire                  s_reg_valid,
    input  wire                  s_reg_write,
    input  wire [ADDR_WIDTH-1:0] s_reg_addr,
    input  wire [31:0]           s_reg_wdata,
    output wire                  s_reg_ready,
    output reg                   s_reg_error,
    output reg  [31:0]           s_reg_rdata,

    input  wire                  m_clk,
    input  wire                  m_rst,
    // Far side.
    output reg                   m_reg_valid,
    output reg                   m_reg_write,
    output reg  [ADDR_WIDTH-1:0] m_reg_addr,
    output reg  [31:0]           m_reg_wdata,
    input  wire                  m_reg_ready,
    input  wire                  m_reg_error,
    input  wire [31:0]           m_reg_rdata
);

    // Near side: the access is held in these while the request is up.
    reg                  request;
    reg                  held_write;
    reg [ADDR_WIDTH-1:0] held_addr;
    reg [31:0]           held_wdata;
    reg                  given_up;
    reg                  answered;
    wire                 s_answer;

    // Far side: held while the answer is up.
    reg                  answer;
    reg                  held_error;
    reg [31:0]           held_rdata;
    wire                 m_request;
    wire                 m_near_reset;

    cdc_sync answer_crossing (
        .clk(clk),
        .d(answer),
        .q(s_answer)
    );

    cdc_sync request_crossing (
        .clk(m_clk),
        .d(request),
        .q(m_request)
    );

    cdc_sync reset_crossing (
        .clk(m_clk),
        .d(rst),
        .q(m_near_reset)
    );

    assign s_reg_ready = answered && s_reg_valid;

    always @(posedge clk) begin
        answered <= 1'b0;
        if (!request) begin
            if (s_reg_valid && !answered && !s_answer) begin
                request <= 1'b1;
                given_up <= 1'b0;
                held_write <= s_reg_write;
                held_addr <= s_reg_addr;
                held_wdata <= s_reg_wdata;
            end
        end else begin
            if (!s_reg_valid) given_up <= 1'b1;
            if (s_answer) begin
                request <= 1'b0;
                answered <= s_reg_valid && !given_up;
                s_reg_error <= held_error;
                s_reg_rdata <= held_rdata;
            end
        end
        if (rst) begin
            request <= 1'b0;
            given_up <= 1'b0;
            answered <= 1'b0;
        end
    end

    always @(posedge m_clk) begin
        if (m_reg_valid) begin
            if (m_reg_ready) begin
                m_reg_valid <= 1'b0;
                answer <= 1'b1;
                held_error <= m_reg_error;
                held_rdata <= m_reg_rdata;
            end
        end else if (answer) begin
            if (!m_request) answer <= 1'b0;
        end else if (m_request) begin
            m_reg_valid <= 1'b1;
            m_reg_write <= held_write;
            m_reg_addr <= held_addr;
            m_reg_wdata <= held_wdata;
        end
        if (m_rst || m_near_reset) begin
            m_reg_valid <= 1'b0;
            answer <= 1'b0;
        end
    end

endmodule

`default_nettype wire
