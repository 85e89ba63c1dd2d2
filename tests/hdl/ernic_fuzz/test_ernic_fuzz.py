"""Hostile frames against the engine's receive side, among good ones: only what the rules say comes of any of them.

``make test-faults`` plays more than 10^5; here a short draw. ``make test-faults FAULTS=engine FAULT_SEED=n`` plays the
case that a failure has named.
"""

from __future__ import annotations

import random

import cocotb
import pytest

from sim.bench.design import Body
from tests.hdl.ernic_datapath.reference import encode
from tests.hdl.ernic_fuzz.bench import FuzzBench
from tests.hdl.ernic_fuzz.build import run
from tests.hdl.ernic_fuzz.hostile import frame
from tests.hdl.ernic_fuzz.world import GOOD, SENDING, World
from tests.hdl.fault_seeds import seeds

FRAMES, ROUNDS = 60, 3
"""Frames of a case, and in how many rounds; behind each software gives back what it was given."""
BLOCK = 125
SHORT_DRAW = 12
SPACING = 14
"""Clocks that a request takes at the least; without them the FIFO would fill, and frames be lost in it."""
END_GAP = 600
READ_GAP = 700


def draw(world: World, rng: random.Random, count: int, share: float) -> list[tuple[bytes, bool, int]]:
    """Frames with the clocks to be left free behind each; the world takes them as they are drawn."""
    frames = []
    for _ in range(count):
        octets, bad = frame(world, rng, share)
        lasting = world.receive(octets, bad_fcs=bad)
        ended = bool(world.fatals) and lasting
        gap = END_GAP if ended else READ_GAP if lasting else SPACING + rng.choice((0, 0, rng.randrange(40)))
        frames.append((octets, bad, gap))
    return frames


async def play(bench: FuzzBench, world: World) -> None:
    rng = world.rng
    bench.sent = []
    await bench.start(world)
    await bench.post(world, GOOD, world.works(GOOD, 5))
    await bench.post(world, SENDING, world.works(SENDING, 7))
    share = rng.choice((0.3, 0.6, 0.9))
    for _ in range(ROUNDS):
        await bench.play(draw(world, rng, FRAMES // ROUNDS, share))
        await bench.consume(world)
    # Good traffic goes on, whatever there was.
    assert not world.qps[GOOD].dead
    await answer_all(bench, world)
    await bench.post(world, GOOD, world.works(GOOD, 2))
    await answer_all(bench, world)
    await bench.post(world, SENDING, world.works(SENDING, 1))
    await bench.check(world)
    assert [error for _, _, error in world.senders[GOOD].completions] == [0] * 7


async def answer_all(bench: FuzzBench, world: World) -> None:
    """The peer of the good queue pair answers all that it was sent."""
    frames = []
    while (answer := world.answer(GOOD)) is not None:
        octets = encode(answer)
        world.receive(octets)
        frames.append((octets, False, SPACING))
    await bench.play(frames)


@cocotb.test()
async def hostile_frames(dut):
    bench = FuzzBench(dut)
    frames = 0
    failures = []
    for seed in seeds(SHORT_DRAW):
        world = World(random.Random(seed))
        try:
            await play(bench, world)
        # Whatever goes wrong, the seed must be named.
        except Exception as error:
            failures.append(f"{error!r}\nmake test-faults FAULTS=engine FAULT_SEED={seed}")
        frames += len(world.frames)
    dut._log.info("%d frames", frames)
    assert not failures, "\n\n".join(failures)


def blocks() -> list[tuple[int, int]]:
    chosen = seeds(SHORT_DRAW)
    return [(chosen[at], len(chosen[at : at + BLOCK])) for at in range(0, len(chosen), BLOCK)]


def play_block(simulator: str, body: Body, first: int, count: int) -> None:
    run(simulator, body, __name__, seed=first, environment={"FAULT_BLOCK": f"{first} {count}"})


@pytest.mark.parametrize(("first", "count"), blocks())
def test_hostile_frames(first: int, count: int) -> None:
    play_block("verilator", Body.DPI, first, count)


@pytest.mark.icarus
def test_hostile_frames_on_icarus() -> None:
    play_block("icarus", Body.VPI, 900_001, 1)
