// Acquisition: on a trigger, a window of samples becomes a frame in the ring.
//
//   link clock                                                │ core clock
//   samples ─► acquisition_delay ─► acquisition_window ─ words ─► cdc_fifo ─► acquisition_packer ─► ring
//   trigger ─► acquisition_trigger ───────┘ begin, end ──────► cdc_fifo ──┘
//   laser ──┘  acquisition_laser, acquisition_generator       │
//   register bus ─► acquisition_registers, acquisition_clock  │
//
// A reset of the core also resets the link side, registers excepted: a window that the packer has forgotten must end.

`timescale 1ns / 1fs
`default_nettype none

module acquisition #(
    // Lanes. 1 to 64.
    parameter LANES = 32,
    // Words of 128 bytes in the crossing. Power of two, at least 32: the packer takes a dozen cycles a frame for itself.
    parameter CROSSING_DEPTH = 64,
    // Windows that may wait for the packer. Power of two, at least 4.
    parameter WINDOWS = 8
) (
    input  wire             link_clk,
    input  wire             link_rst,
    // Shot and laser pulse, synchronous to nothing, at least a link clock long.
    input  wire             trigger,
    input  wire             laser,
    // The generator's shots (link_clk), for pulser and laser.
    output wire             fire,

    // Stream from the link receiver. While it is down, s_axis_error_kinds says why.
    input  wire             link_up,
    input  wire [1023:0]    s_axis_tdata,
    input  wire             s_axis_tvalid,
    input  wire             s_axis_first,
    input  wire [55:0]      s_axis_tick,
    input  wire [15:0]      s_axis_error_kinds,
    input  wire [LANES-1:0] s_axis_error_lanes,

    // Register bus (link_clk).
    input  wire             s_reg_valid,
    input  wire             s_reg_write,
    input  wire [12:0]      s_reg_addr,
    input  wire [31:0]      s_reg_wdata,
    output wire             s_reg_ready,
    output wire             s_reg_error,
    output wire [31:0]      s_reg_rdata,

    input  wire             clk,
    input  wire             rst,
    // Frames to the ring.
    output wire             frame_request,
    output wire [31:0]      frame_bytes,
    output wire [31:0]      frame_sequence,
    output wire [7:0]       frame_mode,
    input  wire             frame_grant,
    input  wire             frame_deny,
    input  wire [3:0]       frame_deny_cause,
    input  wire [31:0]      ring_high_water,
    output wire             ring_high_water_taken,
    output wire [1023:0]    m_write_data,
    output wire             m_write_valid,
    output wire             m_write_last
);

    generate
        if (CROSSING_DEPTH < 32 || WINDOWS < 4) begin : check_parameters
            initial $fatal(1, "acquisition: CROSSING_DEPTH must be at least 32 and WINDOWS at least 4");
        end
    endgenerate

    wire core_reset;

    cdc_sync core_reset_crossing (
        .clk(link_clk),
        .d(rst),
        .q(core_reset)
    );

    wire link_reset = link_rst || core_reset;

    // Registers and clock.
    wire        enable;
    wire [1:0]  source;
    wire        hold;
    wire        generate_shots;
    wire [7:0]  mode;
    wire [15:0] samples;
    wire [1:0]  words_last;
    wire [31:0] window_delay;
    wire [31:0] configuration;
    wire [15:0] sample_rate;
    wire [31:0] shots_per_sequence;
    wire [31:0] load_seconds;
    wire [31:0] load_quarters;
    wire        load;
    wire [31:0] increment;
    wire [31:0] laser_period;
    wire [31:0] prf_period;
    wire [31:0] triggers;
    wire [31:0] frames;
    wire [31:0] dropped_early;
    wire [31:0] dropped_link_down;
    wire [31:0] dropped_held;
    wire [31:0] overflows;
    wire        busy;
    wire        ready;
    wire [31:0] laser_missing;
    wire [31:0] shots_fired;
    wire [63:0] now;

    acquisition_registers registers (
        .clk(link_clk),
        .rst(link_rst),
        .s_reg_valid(s_reg_valid),
        .s_reg_write(s_reg_write),
        .s_reg_addr(s_reg_addr),
        .s_reg_wdata(s_reg_wdata),
        .s_reg_ready(s_reg_ready),
        .s_reg_error(s_reg_error),
        .s_reg_rdata(s_reg_rdata),
        .enable(enable),
        .source(source),
        .hold(hold),
        .generate_shots(generate_shots),
        .mode(mode),
        .samples(samples),
        .words_last(words_last),
        .window_delay(window_delay),
        .configuration(configuration),
        .sample_rate(sample_rate),
        .shots_per_sequence(shots_per_sequence),
        .load_seconds(load_seconds),
        .load_quarters(load_quarters),
        .load(load),
        .increment(increment),
        .laser_period(laser_period),
        .prf_period(prf_period),
        .triggers(triggers),
        .frames(frames),
        .dropped_early(dropped_early),
        .dropped_link_down(dropped_link_down),
        .dropped_held(dropped_held),
        .overflows(overflows),
        .window_open(busy),
        .link_steady(ready),
        .laser_missing(laser_missing),
        .shots_fired(shots_fired),
        .timestamp(now)
    );

    acquisition_clock time_of_day (
        .clk(link_clk),
        .rst(link_rst),
        .increment(increment),
        .load(load),
        .load_seconds(load_seconds),
        .load_quarters(load_quarters),
        .timestamp(now)
    );

    // What may open a window.
    localparam SYNCHRONISER = 2;
    localparam [1:0] SOURCE_LASER = 2'd1;
    localparam [1:0] SOURCE_GENERATOR = 2'd2;

    wire        trigger_seen;
    wire        laser_seen;
    wire        fire_seen;
    wire        missing;
    reg         chosen;

    // The generator's shots take the same way, so that one latency holds for all.
    cdc_sync #(
        .WIDTH(3),
        .STAGES(SYNCHRONISER)
    ) trigger_crossing (
        .clk(link_clk),
        .d({fire, laser, trigger}),
        .q({fire_seen, laser_seen, trigger_seen})
    );

    always @* begin
        case (source)
            SOURCE_LASER: chosen = laser_seen;
            SOURCE_GENERATOR: chosen = fire_seen;
            default: chosen = trigger_seen;
        endcase
    end

    acquisition_generator generator (
        .clk(link_clk),
        .rst(link_reset),
        .run(generate_shots),
        .period(prf_period),
        .fire(fire),
        .count(shots_fired)
    );

    acquisition_laser pulses (
        .clk(link_clk),
        .rst(link_reset),
        .laser(laser_seen),
        .watch(enable && !hold && source == SOURCE_LASER),
        .period(laser_period),
        .missing(missing),
        .count(laser_missing)
    );

    // Trigger.
    wire        begin_room;
    wire        steady;
    wire        open;
    wire [55:0] start_tick;
    wire [63:0] trigger_time;
    wire [63:0] sequence_number;
    wire [31:0] shot;
    wire [3:0]  causes;

    acquisition_trigger #(
        .LATENCY(SYNCHRONISER)
    ) shots (
        .clk(link_clk),
        .rst(link_reset),
        .trigger(chosen),
        .exact(source == SOURCE_GENERATOR),
        .enable(enable && samples != 16'd0),
        .hold(hold),
        .window_delay(window_delay),
        .shots_per_sequence(shots_per_sequence),
        .busy(busy || !begin_room),
        .steady(steady),
        .link_up(link_up),
        .missing(missing),
        .s_valid(s_axis_tvalid),
        .s_first(s_axis_first),
        .s_tick(s_axis_tick),
        .open(open),
        .start_tick(start_tick),
        .trigger_time(trigger_time),
        .sequence_number(sequence_number),
        .shot(shot),
        .causes(causes),
        .ready(ready),
        .triggers(triggers),
        .frames(frames),
        .dropped_early(dropped_early),
        .dropped_link_down(dropped_link_down),
        .dropped_held(dropped_held)
    );

    // Window.
    wire             late_up;
    wire             late_valid;
    wire [1023:0]    late_data;
    wire             late_first;
    wire [55:0]      late_tick;
    wire [15:0]      late_error_kinds;
    wire [LANES-1:0] late_error_lanes;
    wire [63:0]      late_stamp;

    acquisition_delay #(
        .DEPTH(8),
        .LANES(LANES)
    ) delay (
        .clk(link_clk),
        .rst(link_reset),
        .link_up(link_up),
        .s_data(s_axis_tdata),
        .s_valid(s_axis_tvalid),
        .s_first(s_axis_first),
        .s_tick(s_axis_tick),
        .s_error_kinds(s_axis_error_kinds),
        .s_error_lanes(s_axis_error_lanes),
        .s_time(now),
        .steady(steady),
        .wanted(busy),
        .up(late_up),
        .valid(late_valid),
        .data(late_data),
        .first(late_first),
        .tick(late_tick),
        .error_kinds(late_error_kinds),
        .error_lanes(late_error_lanes),
        .stamp(late_stamp)
    );

    // What is known at the trigger and goes into the header; later triggers and settings must not change it.
    reg  [63:0]  held_sequence;
    reg  [31:0]  held_shot;
    reg  [63:0]  held_trigger;
    reg  [7:0]   held_mode;
    reg  [15:0]  held_samples;
    reg  [1:0]   held_words_last;
    reg  [31:0]  held_configuration;
    reg  [15:0]  held_sample_rate;
    reg  [3:0]   held_causes;

    always @(posedge link_clk) begin
        if (open) begin
            held_sequence <= sequence_number;
            held_shot <= shot;
            held_trigger <= trigger_time;
            held_mode <= mode;
            held_samples <= samples;
            held_words_last <= words_last;
            held_configuration <= configuration;
            held_sample_rate <= sample_rate;
            held_causes <= causes;
        end
    end

    wire         word_valid;
    wire         word_filled;
    wire         word_tag;
    wire         word_room;
    wire         begin_write;
    wire [63:0]  begin_time;
    wire         end_write;
    wire [17:0]  end_words;
    wire [15:0]  end_kinds;
    wire [63:0]  end_lanes;
    wire [63:0]  end_time;

    acquisition_window #(
        .LANES(LANES)
    ) window (
        .clk(link_clk),
        .rst(link_reset),
        .open(open),
        .start_tick(start_tick),
        .samples(samples),
        .words_last(words_last),
        .busy(busy),
        .up(late_up),
        .valid(late_valid),
        .first(late_first),
        .tick(late_tick),
        .error_kinds(late_error_kinds),
        .error_lanes(late_error_lanes),
        .stamp(late_stamp),
        .now(now),
        .down_kinds(link_up || s_axis_tvalid ? 16'd0 : s_axis_error_kinds),
        .word_valid(word_valid),
        .word_filled(word_filled),
        .word_tag(word_tag),
        .word_ready(word_room),
        .begin_valid(begin_write),
        .begin_time(begin_time),
        .end_valid(end_write),
        .end_words(end_words),
        .end_kinds(end_kinds),
        .end_lanes(end_lanes),
        .end_time(end_time),
        .overflows(overflows)
    );

    // Crossing. A begin record has room because a trigger is dropped while there is none; an end record because its queue
    // is twice as long.
    localparam BEGIN_WIDTH = 4 + 1 + 64 + 32 + 32 + 64 + 64 + 16 + 2 + 16 + 8;
    localparam END_WIDTH = 18 + 16 + 64 + 64;

    wire                   packed_begin_valid;
    wire                   packed_begin_ready;
    wire [BEGIN_WIDTH-1:0] packed_begin;
    wire                   packed_word_valid;
    wire                   packed_word_ready;
    wire [1025:0]          packed_word;
    wire                   packed_end_valid;
    wire                   packed_end_ready;
    wire [END_WIDTH-1:0]   packed_end;

    // verilator lint_off PINCONNECTEMPTY // Nobody asks for levels, and end records always have room.
    cdc_fifo #(
        .WIDTH(BEGIN_WIDTH),
        .DEPTH(WINDOWS)
    ) begin_crossing (
        .s_clk(link_clk),
        .s_rst(link_reset),
        .s_data({
            held_causes, word_tag, held_sequence, held_shot, held_configuration, begin_time, held_trigger, held_samples,
            held_words_last, held_sample_rate, held_mode
        }),
        .s_valid(begin_write),
        .s_ready(begin_room),
        .s_level(),
        .m_clk(clk),
        .m_rst(rst),
        .m_data(packed_begin),
        .m_valid(packed_begin_valid),
        .m_ready(packed_begin_ready)
    );

    cdc_fifo #(
        .WIDTH(1026),
        .DEPTH(CROSSING_DEPTH)
    ) word_crossing (
        .s_clk(link_clk),
        .s_rst(link_reset),
        .s_data({word_tag, word_filled, late_data}),
        .s_valid(word_valid),
        .s_ready(word_room),
        .s_level(),
        .m_clk(clk),
        .m_rst(rst),
        .m_data(packed_word),
        .m_valid(packed_word_valid),
        .m_ready(packed_word_ready)
    );

    cdc_fifo #(
        .WIDTH(END_WIDTH),
        .DEPTH(2 * WINDOWS)
    ) end_crossing (
        .s_clk(link_clk),
        .s_rst(link_reset),
        .s_data({end_words, end_kinds, end_lanes, end_time}),
        .s_valid(end_write),
        .s_ready(),
        .s_level(),
        .m_clk(clk),
        .m_rst(rst),
        .m_data(packed_end),
        .m_valid(packed_end_valid),
        .m_ready(packed_end_ready)
    );

    // verilator lint_on PINCONNECTEMPTY

    wire source_reset;

    cdc_sync source_reset_crossing (
        .clk(clk),
        .d(link_reset),
        .q(source_reset)
    );

    acquisition_packer packer (
        .clk(clk),
        .rst(rst),
        .source_reset(source_reset),
        .begin_valid(packed_begin_valid),
        .begin_ready(packed_begin_ready),
        .begin_causes(packed_begin[302:299]),
        .begin_tag(packed_begin[298]),
        .begin_sequence(packed_begin[297:234]),
        .begin_shot(packed_begin[233:202]),
        .begin_configuration(packed_begin[201:170]),
        .begin_time(packed_begin[169:106]),
        .begin_trigger(packed_begin[105:42]),
        .begin_samples(packed_begin[41:26]),
        .begin_words_last(packed_begin[25:24]),
        .begin_sample_rate(packed_begin[23:8]),
        .begin_mode(packed_begin[7:0]),
        .word_valid(packed_word_valid),
        .word_ready(packed_word_ready),
        .word_data(packed_word[1023:0]),
        .word_filled(packed_word[1024]),
        .word_tag(packed_word[1025]),
        .end_valid(packed_end_valid),
        .end_ready(packed_end_ready),
        .end_words(packed_end[161:144]),
        .end_kinds(packed_end[143:128]),
        .end_lanes(packed_end[127:64]),
        .end_time(packed_end[63:0]),
        .frame_request(frame_request),
        .frame_bytes(frame_bytes),
        .frame_sequence(frame_sequence),
        .frame_mode(frame_mode),
        .frame_grant(frame_grant),
        .frame_deny(frame_deny),
        .frame_deny_cause(frame_deny_cause),
        .ring_high_water(ring_high_water),
        .ring_high_water_taken(ring_high_water_taken),
        .m_write_data(m_write_data),
        .m_write_valid(m_write_valid),
        .m_write_last(m_write_last)
    );

endmodule

`default_nettype wire
