"""Made-up figures of a run, complete and good, for tests of the report."""

import numpy as np

from host.report import (
    Configuration,
    Expectation,
    Fault,
    Frames,
    Packet,
    Peer,
    RunFigures,
    Simulated,
    Spread,
    Wall,
    WallSplit,
)

MEBI = 1 << 20


def timeline(shots=4, period_us=200.0):
    """Occupancy as the published rates would make it: filled at 327.68 Gb/s, drained at 97.9 Gb/s."""
    points = []
    for shot in range(shots):
        start, held, filled = shot * period_us, 0, 0
        time = 0.0
        while filled < 2 * MEBI or held > 0:
            filled = min(2 * MEBI, time * 1e-6 * 327.68e9 / 8)
            held = max(0, filled - max(0.0, time - 0.6) * 1e-6 * 97.9e9 / 8)
            points.append((start + time, int(held) // 64 * 64))
            time += 0.5
    return points


def packets(shots=1):
    """Data packets of a shot every third of a microsecond, an acknowledgement for every 16th, a drop and its repair."""
    result = []
    for psn in range(513 * shots):
        time = psn * 0.336
        fate = "dropped" if psn == 200 else "delivered"
        result.append(Packet(time_us=time, direction="tx", opcode="WRITE_MIDDLE", psn=psn, bytes=4174, fate=fate))
        if psn % 16 == 15:
            result.append(Packet(time_us=time + 1.5, direction="rx", opcode="ACK", psn=psn))
    for psn in range(200, 212):
        time = 70 + (psn - 200) * 0.336
        result.append(
            Packet(time_us=time, direction="tx", opcode="WRITE_MIDDLE", psn=psn, bytes=4174, retransmission=True)
        )
    return sorted(result, key=lambda packet: packet.time_us)


def figures(**changes):
    """Return complete figures of a run that passes; keyword arguments replace top-level fields."""
    latencies = [float(value) for value in np.round(1.02 + 0.05 * np.abs(np.random.default_rng(1).normal(size=4)), 4)]
    values = {
        "scenario": "default",
        "scenario_text": 'name = "default"\nseed = 1\n[acquisition]\nchannels = 256\nsamples = 4096\n',
        "seed": 1,
        "configuration": Configuration(
            mode="ultrasound",
            source="phantom",
            simulator="verilator",
            transport="RC",
            channels=256,
            samples=4096,
            shots=4,
            sample_rate_hz=80e6,
            prf_hz=5000.0,
            pmtu=4096,
            block_bytes=262144,
            interrupt_threshold=8,
            batch=8,
            sq_depth=1024,
            rq_depth=128,
            cq_depth=128,
            inline_bytes=256,
            sge=16,
            ring_bytes=4 * MEBI,
            rate_gbps=100.0,
        ),
        "peer": Peer(kind="vm", kernel="6.1.0-57-amd64", device="rxe0", counters={"rcvd_pkts": 2052, "sent_pkts": 132}),
        "frames": Frames(sent=4, received=4, lost=0),
        "bit_exact": True,
        "expectations": [
            Expectation(name="frames_lost", relation="<=", limit=0, actual=0),
            Expectation(name="min_goodput_gbps", relation=">=", limit=95.6, actual=97.93, unit="Gb/s"),
            Expectation(name="max_latency_us", relation="<=", limit=8.0, actual=max(latencies), unit="µs"),
        ],
        "faults": [Fault(where="link tx", what="drop PSN 200", times=1)],
        "simulated": Simulated(
            time_us=812.4,
            goodput_gbps=97.93,
            average_gbps=82.6,
            latency_us=Spread.of(latencies),
            latencies_us=latencies,
            doorbell_to_wire_ns=21.7,
            trigger_to_first_sample_ns=Spread(min=58.0, p50=60.0, p99=62.0, max=62.0),
            trigger_to_completion_us=Spread(min=180.1, p50=180.3, p99=181.0, max=181.0),
            ring_peak_bytes=1_476_608,
            ring_timeline=timeline(),
            blocks=33,
            interrupts=8,
            doorbells=8,
            retransmitted_packets=12,
            link_counters={"LANE_DISPARITY": 3, "LANE_FCHK": 0, "REINITIALISATIONS": 1, "LANE_DISPARITY[5]": 3},
            rdma_counters={"acks": 132, "naks": 1, "timeouts": 0},
            packets=packets(),
        ),
        "wall": Wall(
            seconds=7.92,
            cycles_per_second=412_000.0,
            payload_mb_per_second=1.06,
            split=WallSplit(rtl=5.1, python=1.3, peer=1.1),
        ),
    }
    return RunFigures(**(values | changes))
