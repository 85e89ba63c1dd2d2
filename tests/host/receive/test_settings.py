"""Settings are refused with the key and what is allowed, before anything is opened."""

from __future__ import annotations

import pytest

from host.receive.settings import DEFAULT_POOL_BYTES, ReceiverSettings


def settings(**changes: object) -> ReceiverSettings:
    return ReceiverSettings(**{"device": "rxe0", "controls": ("unix:/run/receiver",), **changes})


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"controls": ()}, "controls = (): at least one"),
        ({"controls": ("unix:/a", "unix:/a")}, "each front end needs its own"),
        ({"controls": ("/run/receiver",)}, "control = '/run/receiver': allowed unix:PATH, port:NAME"),
        ({"controls": ("unix:",)}, "allowed unix:PATH, port:NAME"),
        ({"slots": 0}, "slots = 0: allowed 1 to 4096"),
        ({"slots": 4097}, "slots = 4097: allowed 1 to 4096"),
        ({"queue_pairs": 0}, "queue_pairs = 0: allowed 1 to 256"),
        ({"slot_bytes": 4097}, "slot_bytes = 4097: must be a multiple of 4096"),
        ({"slot_bytes": 0}, "slot_bytes = 0: must be a multiple of 4096"),
        ({"slot_bytes": 8192, "pool_bytes": 1 << 20}, "leave one of them out"),
        ({"pool_bytes": 65535}, "pool_bytes = 65535: 16 slots need 65536 at least"),
        ({"pmtu": 4000}, "pmtu = 4000: allowed 256, 512, 1024, 2048, 4096"),
        ({"transport": "XRC"}, "transport = 'XRC': allowed RC, UC, UD"),
        ({"policy": "newest"}, "policy = 'newest': allowed lossless, latest"),
        ({"completion": "spin"}, "completion = 'spin': allowed event, poll"),
        ({"timeout_seconds": 0}, "timeout_seconds = 0: must be above 0, or None for ever"),
    ],
)
def test_refused(changes: dict[str, object], text: str):
    with pytest.raises(ValueError) as refusal:
        settings(**changes)
    assert text in str(refusal.value)


@pytest.mark.parametrize(
    ("changes", "available", "expected"),
    [
        ({"slot_bytes": 8192}, 1 << 40, 8192),
        ({}, 64 << 30, DEFAULT_POOL_BYTES // 16),
        ({}, 2 << 30, (1 << 30) // 16),
        ({"slots": 3, "queue_pairs": 2, "pool_bytes": 1 << 20}, 1 << 40, 172032),  # of 174,762 what pages make
        ({"controls": ("unix:/a", "unix:/b")}, 64 << 30, DEFAULT_POOL_BYTES // 32),
        ({"slots": 4096}, 1 << 20, 4096),
    ],
)
def test_slots_share_the_pool(changes: dict[str, object], available: int, expected: int):
    assert settings(**changes).bytes_of_slot(available) == expected
