"""What arrived against what was played: no wrong sample passes unflagged, no frame is taken twice or from elsewhere."""

import google_crc32c
import numpy as np
import pytest

from host.frame_layout import (
    HEADER,
    HEADER_BYTES,
    HEADER_MAGIC,
    TRAILER,
    TRAILER_MAGIC,
    FrameShape,
    LinkError,
    immediate,
)
from host.receive.capture import Record
from sim.adc.sources import make_shots
from sim.run.verify import check_frame, verify
from sim.session.shot import Shot

SHAPE = FrameShape(samples=32, channels=64)
SHOTS = make_shots("prbs", 3, SHAPE.samples, SHAPE.channels, 80e6, 1)
PLAYED = [Shot(index, 1, 1000 * index + 1, 0, 100 * index, 1, 9 << 8, 0) for index in range(3)]


def seal(record):
    record["crc"] = google_crc32c.value(record.tobytes()[:60])
    return record.tobytes()


def frame(sequence, *, samples=None, trigger=None, link_errors=0, trailer_sequence=None, mode=None):
    samples = SHOTS.shot(sequence) if samples is None else samples
    shot = PLAYED[min(sequence, 2)]
    header = np.zeros((), HEADER)
    header["magic"], header["version"], header["header_bytes"] = HEADER_MAGIC, 1, HEADER_BYTES
    header["mode"], header["sample_format"], header["sequence"] = 1, 1, sequence
    header["trigger"] = shot.seen_time if trigger is None else trigger
    if mode is not None:
        header["mode"] = mode
    header["samples"], header["channels"], header["payload_bytes"] = SHAPE.samples, SHAPE.channels, SHAPE.payload_bytes
    trailer = np.zeros((), TRAILER)
    trailer["magic"], trailer["samples"], trailer["link_errors"] = TRAILER_MAGIC, SHAPE.samples, link_errors
    trailer["sequence"] = sequence if trailer_sequence is None else trailer_sequence
    trailer["payload_crc"] = google_crc32c.value(samples.tobytes())
    return Record(0, immediate(0, sequence), 0, seal(header) + samples.tobytes() + seal(trailer))


def judged(*records):
    return verify([check_frame(record, {1: SHOTS}, PLAYED) for record in records], PLAYED)


def test_all_frames_exact():
    result = judged(frame(0), frame(1), frame(2))
    assert (result.received, result.flagged, result.bit_exact, result.complaints, result.missing) == (
        3,
        0,
        True,
        [],
        [],
    )


def test_one_wrong_sample_fails_although_its_check_sum_is_right():
    samples = SHOTS.shot(1).copy()
    samples[5, 7] ^= 1
    result = judged(frame(0), frame(1, samples=samples), frame(2))
    assert not result.bit_exact
    assert result.complaints == ["frame 1: 1 samples differ from what was played, unflagged"]


def test_wrong_samples_of_a_flagged_frame_are_no_lie():
    samples = SHOTS.shot(1).copy()
    samples[5, 7] ^= 1
    result = judged(frame(0), frame(1, samples=samples, link_errors=LinkError.DISPARITY), frame(2))
    assert (result.bit_exact, result.flagged, result.complaints) == (True, 1, [])


def test_a_frame_of_another_shot_is_wrong():
    assert not judged(frame(0), frame(1, samples=SHOTS.shot(2)), frame(2)).bit_exact


def test_a_missing_frame_is_named():
    assert judged(frame(0), frame(2)).missing == [1]


def test_a_frame_that_comes_twice_is_a_complaint():
    result = judged(frame(0), frame(0), frame(1), frame(2))
    assert result.complaints == ["frame 0: arrived twice"]
    assert result.received == 3


def test_a_sequence_that_was_never_triggered_is_wrong():
    assert not judged(frame(0), frame(1), frame(2), frame(7, samples=SHOTS.shot(2))).bit_exact


@pytest.mark.parametrize("change", [{"trailer_sequence": 2}, {"trigger": 0x6480}, {"mode": 2}])
def test_torn_frames_and_misplaced_triggers_are_complaints(change):
    assert judged(frame(0), frame(1, **change), frame(2)).complaints


def test_a_damaged_payload_is_wrong():
    record = frame(1)
    data = bytearray(record.data)
    data[HEADER_BYTES + 100] ^= 4
    result = judged(frame(0), Record(0, record.immediate, 0, bytes(data)), frame(2))
    assert not result.bit_exact
    assert "payload_crc" in result.complaints[0]


def test_an_incomplete_frame_is_damaged_where_the_connection_may_lose_packets_and_wrong_where_not():
    broken = frame(1)
    samples = bytearray(broken.data)
    samples[200] ^= 1
    broken = Record(broken.slot, broken.immediate, broken.wall_time_ns, bytes(samples))
    checked = [check_frame(record, {1: SHOTS}, PLAYED) for record in (frame(0), broken, frame(2))]
    loose = verify(checked, PLAYED, reliable=False)
    assert (loose.received, loose.damaged, loose.bit_exact, loose.complaints, loose.missing) == (2, 1, True, [], [1])
    strict = verify(checked, PLAYED)
    assert (strict.received, strict.damaged, strict.bit_exact) == (3, 0, False)


def test_samples_that_differ_under_a_right_check_sum_are_wrong_on_any_connection():
    other = frame(1, samples=SHOTS.shot(2))
    result = verify([check_frame(other, {1: SHOTS}, PLAYED)], PLAYED, reliable=False)
    assert (result.damaged, result.bit_exact) == (0, False)
