"""Driver of the acquisition side: receive link, acquisition window, ring."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum

from host.control.block_pump import Block
from host.control.modes import Mode
from host.control.platform import Platform
from host.control.registers import register_map

MAGIC = 0x45424645
_MASK32 = 0xFFFFFFFF
_LANE_COUNTERS = (
    "LANE_DISPARITY",
    "LANE_NOT_IN_TABLE",
    "LANE_UNEXPECTED_K",
    "LANE_REPLACEMENTS",
    "LANE_CGS_LOSSES",
)
"""Of each lane, one a register."""
_LANE_FLAGS = {"LANE_ILAS_MISMATCH": ("FCHK",), "LANE_STATUS": ("OVERFLOW", "UNDERFLOW")}
"""Bits of each lane that say that something has happened, and in which register."""
_INCREMENT_UNITS_A_NS = 1 << 24


class NotAFrontEnd(RuntimeError):
    """What answers at the address is not this front end, or a version that this software does not know."""


@dataclass(frozen=True)
class Capabilities:
    """What was built into the FPGA."""

    links: int
    lanes: int
    ring_bytes: int
    queue_pairs: int
    core_clock_khz: int

    def core_clocks(self, nanoseconds: float) -> int:
        """Core clocks in a time, at least one."""
        return max(1, round(nanoseconds * self.core_clock_khz / 1e6))


@dataclass(frozen=True)
class LinkSettings:
    """JESD204B parameters; ``release_delay`` in link clocks after the LMFC edge."""

    links: int
    frames_per_multiframe: int
    octets_per_frame: int
    scrambling: bool
    subclass: int
    release_delay: int = 0
    error_report: bool = False
    """Errors in samples are told to the converters by SYNC~ low for two frames."""


@dataclass(frozen=True)
class Wiring:
    """How a board's lanes run from the converters to the transceivers.

    ``lane_map[n]`` is the physical lane that is lane ``n`` of the links; ``inverted`` are the physical lanes whose two
    wires are exchanged. ``devices_count``: the converters' device identifiers count up from 0 with the links, and are
    compared, so that a converter at another's place is told.
    """

    lane_map: tuple[int, ...]
    inverted: frozenset[int] = frozenset()
    devices_count: bool = False


class Source(IntEnum):
    """What opens windows."""

    TRIGGER = 0
    LASER = 1
    GENERATOR = 2


@dataclass(frozen=True)
class AcquisitionSettings:
    """The window and the identity of the frames.

    ``window_delay`` in 1/256 sample, the receive link's latency included; ``laser_period_ns`` and ``prf_hz`` 0: laser
    pulses are not missed, the generator is not used.
    """

    mode: Mode
    samples: int
    channels: int
    window_delay: int
    configuration: int
    shots_per_sequence: int = 0
    laser_period_ns: float = 0.0
    prf_hz: float = 0.0


@dataclass(frozen=True)
class RingSettings:
    """Blocks and interrupt coalescing; ``irq_timeout_ns`` 0 switches the timer off."""

    block_bytes: int
    irq_threshold: int
    irq_timeout_ns: int
    flush_on_frame_end: bool = True


class FrontEnd:
    """Configuration, status and the block table of one front end."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._taken = 0
        self._ring_control = 0

    async def read(self, block: str, register: str, index: int = 0) -> int:
        """Read a register by block and name."""
        return await self._platform.registers.read(register_map()[block][register].address(index))

    async def write(self, block: str, register: str, value: int, index: int = 0) -> None:
        """Write a register by block and name."""
        await self._platform.registers.write(register_map()[block][register].address(index), value)

    async def identify(self) -> Capabilities:
        """Read what the front end is; raise :class:`NotAFrontEnd` if it is none."""
        magic = await self.read("SYSTEM", "MAGIC")
        version = await self.read("SYSTEM", "VERSION")
        if magic != MAGIC:
            raise NotAFrontEnd(
                f"magic 0x{magic:08x} instead of 0x{MAGIC:08x}: wrong address, or no front end in the FPGA"
            )
        if version >> 16 != 1:
            raise NotAFrontEnd(f"register map version {version >> 16}.{version & 0xFFFF}; this software knows 1.x")
        names = ("LINKS", "LANES", "RING_BYTES", "QUEUE_PAIRS", "CORE_CLOCK_KHZ")
        return Capabilities(*[await self.read("SYSTEM", name) for name in names])

    async def configure_wiring(self, wiring: Wiring) -> None:
        """Set which transceiver is which lane, and which lines are inverted. The links must be disabled."""
        for lane, physical in enumerate(wiring.lane_map):
            await self.write("JESD204B", "LANE_MAP", physical, lane)
        await self.write("JESD204B", "POLARITY", sum(1 << lane for lane in wiring.inverted))
        if wiring.devices_count:
            identity = register_map()["JESD204B"]["ILAS_EXPECTED"]
            check = register_map()["JESD204B"]["ILAS_CHECK"]
            await self.write("JESD204B", "ILAS_EXPECTED", identity["DID_COUNTS"].put(1))
            device = register_map()["JESD204B"]["LANE_ILAS_MISMATCH"]["DID"]
            await self.write("JESD204B", "ILAS_CHECK", check.reset | device.mask)

    async def configure_link(self, settings: LinkSettings) -> None:
        """Set the link up and enable it; it comes up by itself when the converters answer."""
        control = register_map()["JESD204B"]["CTRL"]
        await self.write("JESD204B", "CTRL", 0)
        await self.write("JESD204B", "FRAMES_PER_MULTIFRAME", settings.frames_per_multiframe)
        await self.write("JESD204B", "OCTETS_PER_FRAME", settings.octets_per_frame)
        await self.write("JESD204B", "RELEASE_DELAY", settings.release_delay)
        await self.write("JESD204B", "LINK_ENABLE", (1 << settings.links) - 1)
        await self.write("JESD204B", "ERROR_CLEAR", 1)
        value = control["SCRAMBLING"].put(int(settings.scrambling)) | control["SUBCLASS"].put(settings.subclass)
        value |= control["ERROR_REPORT"].put(int(settings.error_report))
        await self.write("JESD204B", "CTRL", value | control["ENABLE"].put(1))

    async def enable_link_interrupt(self, causes: int) -> None:
        """Let ``causes``, bits of ``IRQ_STATUS``, raise the link's interrupt."""
        await self.write("JESD204B", "IRQ_ENABLE", causes)

    async def link_events(self) -> int:
        """What has happened on the link since it was last acknowledged, bits of ``IRQ_STATUS``."""
        return await self.read("JESD204B", "IRQ_STATUS")

    async def acknowledge_link_events(self, causes: int) -> None:
        """Forget ``causes``."""
        await self.write("JESD204B", "IRQ_STATUS", causes)

    async def lane_counters(self, lanes: int) -> dict[str, int]:
        """What the lanes of the receive link have counted, added up, and by lane (``NAME[lane]``) where it is not zero.

        ``LANE_FCHK``, ``LANE_OVERFLOW`` and ``LANE_UNDERFLOW`` count lanes. ``LANE_ILAS_MISMATCH`` is the union of the
        lanes' bits. ``FILL_LEAST`` and ``FILL_MOST`` are the beats that the last and the first lane were early at the
        release (0 while the links are down).
        """
        block = register_map()["JESD204B"]
        total: Counter[str] = Counter()
        by_lane: dict[str, int] = {}
        mismatches, fills = 0, []
        for lane in range(lanes):
            found = {name: await self.read("JESD204B", name, lane) for name in _LANE_COUNTERS}
            misaligned = await self.read("JESD204B", "LANE_MISALIGNED", lane)
            for field in ("FRAME", "MULTIFRAME"):
                found[f"LANE_{field}_MISALIGNED"] = block["LANE_MISALIGNED"][field].get(misaligned)
            values = {name: await self.read("JESD204B", name, lane) for name in _LANE_FLAGS}
            for name, flags in _LANE_FLAGS.items():
                found |= {f"LANE_{flag}": block[name][flag].get(values[name]) for flag in flags}
            total.update(found)
            mismatches |= values["LANE_ILAS_MISMATCH"]
            fills.append(block["LANE_STATUS"]["LATENCY"].get(values["LANE_STATUS"]))
            found["LANE_ILAS_MISMATCH"] = values["LANE_ILAS_MISMATCH"]
            by_lane |= {f"{name}[{lane}]": value for name, value in found.items() if value}
        return {
            **total,
            "LANE_ILAS_MISMATCH": mismatches,
            "FILL_LEAST": min(fills, default=0),
            "FILL_MOST": max(fills, default=0),
            **by_lane,
        }

    async def link_up(self) -> bool:
        """All enabled links deliver samples."""
        return bool(await self.read("JESD204B", "STATUS") & 1)

    async def configure_acquisition(self, settings: AcquisitionSettings) -> None:
        """Set window, identity and the times that depend on the link clock. No window may be open."""
        mode = settings.mode
        link_clock = mode.link_clock_hz
        await self.write("ACQUISITION", "MODE", mode.identifier)
        await self.write("ACQUISITION", "SAMPLES", settings.samples)
        await self.write("ACQUISITION", "CHANNELS", settings.channels)
        await self.write("ACQUISITION", "WINDOW_DELAY", settings.window_delay)
        await self.write("ACQUISITION", "CONFIGURATION_ID", settings.configuration)
        await self.write("ACQUISITION", "SAMPLE_RATE", mode.sample_rate_hz // 10_000)
        await self.write("ACQUISITION", "SHOTS_PER_SEQUENCE", settings.shots_per_sequence)
        await self.write("ACQUISITION", "TIME_INCREMENT", round(1e9 / link_clock * _INCREMENT_UNITS_A_NS))
        await self.write("ACQUISITION", "LASER_PERIOD", round(settings.laser_period_ns * link_clock / 1e9))
        await self.write("ACQUISITION", "PRF_PERIOD", round(link_clock / settings.prf_hz) if settings.prf_hz else 0)

    async def accept_triggers(self, source: Source, *, generate: bool = False) -> None:
        """Let ``source`` open windows; ``generate`` runs the generator of shots."""
        control = register_map()["ACQUISITION"]["CTRL"]
        value = control["ENABLE"].put(1) | control["SOURCE"].put(source) | control["GENERATE"].put(int(generate))
        await self.write("ACQUISITION", "CTRL", value)

    async def hold_triggers(self, source: Source) -> None:
        """Count triggers of ``source`` and drop them, until they are accepted; an open window ends as it should."""
        control = register_map()["ACQUISITION"]["CTRL"]
        value = control["ENABLE"].put(1) | control["SOURCE"].put(source) | control["HOLD"].put(1)
        await self.write("ACQUISITION", "CTRL", value)

    async def window_closed(self) -> bool:
        """No window is open, and none can open while triggers are held."""
        return not register_map()["ACQUISITION"]["STATUS"]["WINDOW_OPEN"].get(await self.read("ACQUISITION", "STATUS"))

    async def disable_link(self) -> None:
        """Take all links down: SYNC~ low, until :meth:`configure_link`."""
        await self.write("JESD204B", "CTRL", 0)

    async def stop_triggers(self) -> None:
        """Ignore triggers from now on; an open window ends as it should, and shots will count from 0 again."""
        await self.write("ACQUISITION", "CTRL", 0)

    async def configure_ring(self, settings: RingSettings, capabilities: Capabilities) -> None:
        """Set blocks and interrupt coalescing, and let the ring admit frames."""
        timeout = capabilities.core_clocks(settings.irq_timeout_ns) if settings.irq_timeout_ns else 0
        await self.write("RING", "BLOCK_BYTES", settings.block_bytes)
        await self.write("RING", "IRQ_THRESHOLD", settings.irq_threshold)
        await self.write("RING", "IRQ_TIMEOUT", timeout)
        control = register_map()["RING"]["CTRL"]
        self._ring_control = control["FLUSH_ON_FRAME_END"].put(int(settings.flush_on_frame_end)) | 1
        await self.write("RING", "CTRL", self._ring_control)
        self._taken = await self.read("RING", "BLOCK_COUNT")
        await self.write("RING", "BLOCK_ACK", self._taken)

    async def blocks_completed(self) -> int:
        """Blocks that the ring has completed since it was configured."""
        return (await self.read("RING", "BLOCK_COUNT") - self._taken) & _MASK32

    async def host_stalled(self, stalled: bool) -> None:
        """Say whether frames wait for the receiving host, so that frames refused meanwhile are counted as its doing."""
        bit = register_map()["RING"]["CTRL"]["HOST_STALLED"].put(int(stalled))
        await self.write("RING", "CTRL", self._ring_control | bit)

    async def take_blocks(self) -> list[Block]:
        """Read the table entries of all new blocks and acknowledge them, which also lowers the interrupt."""
        count = await self.read("RING", "BLOCK_COUNT")
        length_register = register_map()["RING"]["BLOCK_LENGTH"]
        entries = length_register.count
        blocks = []
        for number in range(self._taken, self._taken + ((count - self._taken) & _MASK32)):
            index = number % entries
            length = await self.read("RING", "BLOCK_LENGTH", index)
            blocks.append(
                Block(
                    address=await self.read("RING", "BLOCK_ADDRESS", index),
                    length=length_register["BYTES"].get(length),
                    first=bool(length_register["FIRST"].get(length)),
                    last=bool(length_register["LAST"].get(length)),
                    sequence=await self.read("RING", "BLOCK_SEQUENCE", index),
                )
            )
        self._taken = count
        await self.write("RING", "BLOCK_ACK", count)
        return blocks
