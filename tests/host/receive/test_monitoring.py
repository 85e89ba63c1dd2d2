"""What a receiver tells of itself, from a made-up receiver."""

from types import SimpleNamespace

from host.monitor import Clock, Snapshot
from host.receive.account import Statistics
from host.receive.monitoring import ReceiverMonitor


def made_up(**change):
    settings = SimpleNamespace(device="rxe0", queue_pairs=2, controls=("unix:a", "unix:b"), all_slots=64)
    return SimpleNamespace(settings=settings, statistics=Statistics(), held=0, events=(), **change)


def frame(front_end, queue_pair, octets=1000):
    shape = SimpleNamespace(frame_bytes=octets) if octets else None
    return SimpleNamespace(front_end=front_end, queue_pair=queue_pair, shape=shape)


def lines(path):
    return [Snapshot.parse(line) for line in path.read_text().splitlines()]


def test_first_and_last_snapshots_and_what_is_between(tmp_path):
    receiver = made_up()
    with ReceiverMonitor(receiver, tmp_path / "x") as monitor:
        for number, place in enumerate([(0, 0), (1, 1), (1, 1), (0, 1)]):
            monitor.frame(frame(*place, octets=0 if number == 3 else 1000))
        receiver.statistics = Statistics(frames=4, flagged=1, dropped=2, lost=3)
        receiver.held = 5
        receiver.events = ("device_event: rxe0: cq_err", "device_event: rxe0: port_err", "connection_lost: cq_err")
    first, *_, last = lines(tmp_path / "x")
    assert (first.frames, first.ended, first.clock, first.name) == (0, False, Clock.WALL, "rxe0")
    assert first.latency_p50_us is None
    assert [(pair.number, pair.bytes, pair.frames) for pair in last.queue_pairs] == [
        (0, 1000, 1),
        (1, 0, 1),
        (2, 0, 0),
        (3, 2000, 2),
    ]
    assert (last.frames, last.flagged, last.ended) == (4, 1, True)
    assert (last.pool_used_slots, last.pool_slots) == (5, 64)
    assert last.drops == {"dropped_by_front_end": 2, "lost": 3}
    assert last.completion_queue_overflows == 1
    assert last.latency_p50_us is not None and last.latency_p50_us <= last.latency_p99_us
    assert last.ring_bytes is None and last.interrupts is None


def test_it_does_not_speak_for_every_frame_nor_think_of_what_to_say(tmp_path, monkeypatch):
    asked = []
    with ReceiverMonitor(made_up(), tmp_path / "x") as monitor:
        say = monitor.snapshot
        monkeypatch.setattr(monitor, "snapshot", lambda **options: asked.append(1) or say(**options))
        for _ in range(200):
            monitor.frame(frame(0, 0))
    assert len(lines(tmp_path / "x")) < 20
    assert len(asked) < 20


def test_a_place_that_cannot_be_written_does_not_stop_the_receiver(tmp_path):
    with ReceiverMonitor(made_up(), tmp_path / "missing" / "x") as monitor:
        monitor.frame(frame(0, 0))
