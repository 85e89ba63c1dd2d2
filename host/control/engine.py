"""Driver of the RDMA engine: identity, queue pairs, doorbells, completions. Register names and flows of PG332 v3.1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from ipaddress import IPv4Address

from host.control.platform import Platform
from host.control.receive_queue import ReceiveQueue
from host.control.registers import Register, register_map
from host.control.work_queue import CQE_BYTES, INLINE_BYTES, WQE_BYTES, Completion, WorkRequest

_PMTU_CODES = {256: 0, 512: 1, 1024: 2, 2048: 3, 4096: 4}
_ROCE_SOURCE_PORT = 0xC000
_LAST_RECEIVED_OPCODE = 0x0A  # an ONLY opcode, so that the first packet passes the opcode sequence check
_DEFAULT_PKEY = 0xFFFF
_UNUSED_DEPTH = 16
_TIME_TO_LIVE = 64
TRANSPORTS = {"RC": 0, "UC": 1, "UD": 2}
"""Transports and their codes in QPEXT."""
_WRITE_EACH = 1 << 6
_UNDER_RECOVERY = 1 << 6
_MANAGEMENT = 1
_NOT_OF_MANAGEMENT = ("SQPSN", "STATRESPSN", "STATSSN")
"""Registers that the queue pair of management datagrams does not have (PG332)."""


@dataclass(frozen=True)
class Identity:
    """Addresses of one end of the link; ``mac`` has the first octet on the wire in bits 47:40."""

    mac: int
    ip: IPv4Address

    @classmethod
    def parse(cls, mac: str, ip: str) -> Identity:
        """Read ``aa:bb:cc:dd:ee:ff`` and ``a.b.c.d``."""
        return cls(int(mac.replace(":", ""), 16), IPv4Address(ip))


@dataclass(frozen=True)
class QueueSettings:
    """One connection, as the engine needs it. Times-out are 4.096 us x 2^``timeout``; UC has none, and no retries."""

    pmtu: int
    sq_depth: int
    start_psn: int
    remote: Identity
    remote_qpn: int
    timeout: int
    retry_count: int
    rnr_retry: int = 7
    traffic_class: int = 0
    level: int = 2
    """Service level: 1 control, 2 image data, 3 log."""
    transport: str = "RC"
    hardware_doorbell: bool = False
    """Doorbells come from the poster, not from :meth:`QueuePair.post`."""
    write_each: bool = False
    """UC: each packet of a WRITE is a WRITE of its own."""
    receive_psn: int = 0
    """First PSN of the other end."""
    queue_key: int = 0
    """UD: of both ends."""
    protection_domain: int = 0
    """Whose memory regions the other end may use."""


@dataclass(frozen=True)
class QueueMemory:
    """Where a queue pair's send queue, completion queue and completion doorbell lie in shared memory."""

    send_queue: int
    completion_queue: int
    completion_doorbell: int
    inline: int | None = None
    """Room for the inline data of each entry; ``None``: there is none, only what fits into entries goes inline."""

    @classmethod
    def place(
        cls, base: int, sq_depth: int, send_queue: int | None = None, *, inline: bool = False
    ) -> tuple[QueueMemory, int]:
        """Lay the queues out from ``base`` (aligned to 64); return them and the first free address behind.

        A ``send_queue`` elsewhere, such as in the memory on the chip, takes no room here. ``inline`` makes room for
        inline data, 256 bytes an entry.
        """
        completion_queue = base + sq_depth * WQE_BYTES if send_queue is None else base
        doorbell = completion_queue + -(-sq_depth * CQE_BYTES // 64) * 64
        end = doorbell + 64
        memory = cls(base if send_queue is None else send_queue, completion_queue, doorbell, end if inline else None)
        return memory, end + (sq_depth * INLINE_BYTES if inline else 0)


class QueuePair:
    """One queue pair of the engine; ``number`` 1 is that of management datagrams, which are UD."""

    def __init__(
        self, platform: Platform, number: int, memory: QueueMemory, receive_queue: ReceiveQueue | None = None
    ) -> None:
        self._platform = platform
        self._memory = memory
        self._receive_queue = receive_queue
        self._block = register_map()["ERNIC_QP"]
        self._depth = 0
        self._posted = 0
        self._completed = 0
        self.number = number
        self.remote_qpn = 0
        """The queue pair at the other end; 0 until it is connected."""

    def _address(self, name: str) -> int:
        return self._block[name].address(self.number - 1)

    async def _write(self, name: str, value: int) -> None:
        await self._platform.registers.write(self._address(name), value)

    async def _read(self, name: str) -> int:
        return await self._platform.registers.read(self._address(name))

    async def connect(self, settings: QueueSettings) -> None:
        """Program and enable the queue pair; everything that an earlier connection left is overwritten."""
        if settings.pmtu not in _PMTU_CODES:
            raise ValueError(f"PMTU {settings.pmtu} is not one of {', '.join(map(str, _PMTU_CODES))}")
        if settings.transport not in TRANSPORTS:
            raise ValueError(f"transport {settings.transport} is not one of {', '.join(TRANSPORTS)}")
        self._depth, self._posted, self._completed = settings.sq_depth, 0, 0
        self.remote_qpn = settings.remote_qpn
        await self._write("QPCONF", 0)
        for name, address in (
            ("SQBA", self._memory.send_queue),
            ("CQBA", self._memory.completion_queue),
            ("CQDBADD", self._memory.completion_doorbell),
        ):
            await self._write(name, address & 0xFFFFFFFF)
            await self._write(f"{name}MSB", address >> 32)
        receives = self._receive_queue
        buffer_units = 0 if receives is None else await receives.prepare()
        await self._write("QDEPTH", (_UNUSED_DEPTH if receives is None else receives.depth) << 16 | settings.sq_depth)
        await self._write("MACDESADDLSB", settings.remote.mac & 0xFFFFFFFF)
        await self._write("MACDESADDMSB", settings.remote.mac >> 32)
        await self._write("IPDESADDR1", int(settings.remote.ip))
        await self._write("DESTQPCONF", settings.remote_qpn)
        each = _WRITE_EACH if settings.write_each else 0
        await self._write("QPEXT", each | TRANSPORTS[settings.transport] << 4 | settings.level)
        await self._write("QKEY", settings.queue_key)
        if self.number != _MANAGEMENT:
            await self._write("SQPSN", settings.start_psn)
            await self._write("LSTRQREQ", _LAST_RECEIVED_OPCODE << 24 | settings.receive_psn - 1 & 0xFFFFFF)
            await self._write("QPADVCONF", _DEFAULT_PKEY << 16 | _TIME_TO_LIVE << 8 | settings.traffic_class)
        await self._write("PD", settings.protection_domain)
        await self._write("TIMEOUTCONF", settings.rnr_retry << 11 | settings.retry_count << 8 | settings.timeout)
        self._platform.memory.write(self._memory.completion_doorbell, bytes(64))
        enable, completion_interrupt, software_doorbell, write_completions = 1 << 0, 1 << 3, 1 << 4, 1 << 5
        path_mtu = _PMTU_CODES[settings.pmtu] << 8
        doorbell = 0 if settings.hardware_doorbell else software_doorbell
        bits = path_mtu | write_completions | doorbell | completion_interrupt | enable
        await self._write("QPCONF", buffer_units << 16 | bits)

    async def under_recovery(self) -> None:
        """Say that software is about to reset the queue pair: PG332's flow after a fatal error begins so."""
        await self._write("QPCONF", await self._read("QPCONF") | _UNDER_RECOVERY)

    async def disable(self) -> None:
        """Switch it off; the engine forgets its pointers, PSNs, counts and errors."""
        await self._write("QPCONF", (await self._read("QPCONF")) & ~1 | _UNDER_RECOVERY)

    @property
    def depth(self) -> int:
        """Entries of its queues."""
        return self._depth

    @property
    def send_queue(self) -> int:
        """Address of the send queue, as the engine sees it."""
        return self._memory.send_queue

    @property
    def completion_range(self) -> tuple[int, int]:
        """First and end address of the completion queue."""
        return self._memory.completion_queue, self._memory.completion_queue + self._depth * CQE_BYTES

    async def post(self, requests: list[WorkRequest]) -> None:
        """Store work requests in the send queue and ring the doorbell once. The caller keeps them within the depth."""
        for request in requests:
            slot = self._posted % self._depth
            entry = self._with_inline_data(request, slot).pack()
            self._platform.memory.write(self._memory.send_queue + slot * WQE_BYTES, entry)
            self._posted += 1
        await self._write("SQPI", self._posted % self._depth)

    def _with_inline_data(self, request: WorkRequest, slot: int) -> WorkRequest:
        """Copy inline data to where the engine finds them; the entry's place keeps them until it has completed."""
        if not request.inline or request.in_entry:
            return request
        if self._memory.inline is None:
            raise ValueError(
                f"{len(request.inline)} bytes inline: queue pair {self.number} has no room for more than entries hold; "
                "place its memory with inline=True"
            )
        address = self._memory.inline + slot * INLINE_BYTES
        self._platform.memory.write(address, request.inline)
        return replace(request, local_address=address, inline=b"")

    async def completions(self) -> list[Completion]:
        """Return what has completed since the last call, in order."""
        head = await self._read("CQHEAD")
        fresh = (head - self._completed) % self._depth
        found = []
        for index in range(self._completed, self._completed + fresh):
            address = self._memory.completion_queue + index % self._depth * CQE_BYTES
            found.append(Completion.unpack(self._platform.memory.read(address, CQE_BYTES)))
        self._completed += fresh
        return found

    async def status(self) -> dict[str, int]:
        """Registers that explain why a queue pair does not move."""
        names = ("QPCONF", "SQPI", "CQHEAD", "STATCURSQPTR", "SQPSN", "STATRESPSN", "STATQP", "STATSSN")
        absent = _NOT_OF_MANAGEMENT if self.number == _MANAGEMENT else ()
        return {name: await self._read(name) for name in names if name not in absent}


class Engine:
    """What all queue pairs share."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._block = register_map()["ERNIC"]

    def register(self, name: str) -> Register:
        """A global register by its PG332 name."""
        return self._block[name]

    async def read(self, name: str) -> int:
        """Read a global register by name."""
        return await self._platform.registers.read(self._block[name].address())

    async def write(self, name: str, value: int) -> None:
        """Write a global register by name."""
        await self._platform.registers.write(self._block[name].address(), value)

    async def start(self, local: Identity, queue_pairs: int, acknowledge_every: int) -> None:
        """Set addresses and enable the engine; bring-up order of PG332."""
        await self.write("INTEN", 0)
        await self.write("MACXADDLSB", local.mac & 0xFFFFFFFF)
        await self.write("MACXADDMSB", local.mac >> 32)
        await self.write("IPV4XADD", int(local.ip))
        await self.write("ACKREQ_INTERVAL", acknowledge_every)
        await self.write("XRNICCONF", _ROCE_SOURCE_PORT << 16 | queue_pairs << 8 | 1)

    async def completion_interrupt(self, enabled: bool) -> None:
        """Let completions raise the engine's interrupt, or not."""
        await self.write("INTEN", 1 << 4 | 1 << 7 if enabled else 1 << 7)

    async def acknowledge_interrupts(self) -> int:
        """Clear what is raised and return it."""
        raised = await self.read("INTSTS")
        if raised:
            await self.write("INTSTS", raised)
        return raised
