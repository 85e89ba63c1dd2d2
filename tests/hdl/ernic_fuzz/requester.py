"""The sending side of a queue pair whose packets have all left: what each acknowledgement, true or forged, does to it.

Written from IBTA vol. 1, 9.7.5, and the tables of ``hdl/ernic/README.md``; retries never run out (``NO_FATAL``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.hdl.ernic.model import READ, Work
from tests.hdl.ernic_datapath.verdict import Ticket

PSN = 0xFFFFFF
HALF = 0x800000
REFUSED, WRONG_RESPONSE, FLUSHED = 0x0A, 0x1B, 0x80
ACKNOWLEDGE = 0x11
LAST_RESPONSES = (0x0F, 0x10)
MIDDLE_RESPONSE = 0x0E


@dataclass
class Message:
    """An entry that has been sent, with the PSNs that it takes."""

    work: Work
    first: int
    last: int


@dataclass
class Sender:
    """State of one queue pair's sending side."""

    number: int
    remote_ip: int
    remote_mac: int
    pkey: int
    pmtu: int
    psn: int
    """Oldest PSN that is not acknowledged."""
    write: Callable[[int, bytes], None]
    """Puts data of a READ into memory."""
    connected: bool = True
    messages: list[Message] = field(default_factory=list)
    completions: list[tuple[int, int, int]] = field(default_factory=list)
    """(identifier, opcode, error)"""
    fatal: int | None = None
    posted_psn: int | None = None

    @property
    def next_psn(self) -> int:
        return self.psn if self.posted_psn is None else self.posted_psn

    @property
    def open(self) -> list[Message]:
        """What is not complete."""
        return self.messages[len(self.completions) :]

    def post(self, works: list[Work]) -> list[Message]:
        """All packets of these entries leave."""
        new = []
        for work in works:
            first = self.next_psn
            last = first + work.packets(self.pmtu) - 1 & PSN
            new.append(Message(work, first, last))
            self.posted_psn = last + 1 & PSN
        self.messages += new
        return new

    def end(self, code: int, *, own: bool) -> None:
        """Everything that is open completes with an error; ``own``: the oldest has failed itself."""
        if self.fatal is not None:
            return
        self.fatal = code
        for index, message in enumerate(self.open):
            error = code if own and index == 0 else FLUSHED | code
            self.completions.append((message.work.identifier, message.work.opcode, error))

    def acceptable(self, ticket: Ticket) -> bool:
        """Whether it is about something in flight, and from the peer."""
        syndrome = 0x1F if ticket.opcode == MIDDLE_RESPONSE else ticket.word >> 24
        kind, value = syndrome >> 5 & 3, syndrome & 0x1F
        formed = not syndrome & 0x80 and (kind in (0, 1) or (kind == 3 and value <= 3))
        peer = (ticket.source_ip, ticket.source_mac) == (self.remote_ip, self.remote_mac)
        peer = peer and (ticket.pkey ^ self.pkey) & 0x7FFF == 0
        in_flight = (ticket.psn - self.psn & PSN) < (self.next_psn - self.psn & PSN)
        answers = ticket.opcode == ACKNOWLEDGE or kind == 0
        return self.connected and self.fatal is None and formed and peer and in_flight and answers

    def take(self, ticket: Ticket, payload: bytes) -> bool:
        """Take an acknowledgement or READ response; return False if it means nothing."""
        if not self.acceptable(ticket):
            return False
        response = ticket.opcode != ACKNOWLEDGE
        syndrome = 0x1F if ticket.opcode == MIDDLE_RESPONSE else ticket.word >> 24
        # Everything before this PSN is acknowledged.
        reach = ticket.psn if response or syndrome >> 5 & 3 else ticket.psn + 1 & PSN
        wrong = self._respond(ticket, payload) if response else self._acknowledge(reach)
        if syndrome >> 5 & 3 == 3 and syndrome & 0x1F:
            self.end(REFUSED, own=True)
        elif wrong:
            self.end(WRONG_RESPONSE, own=True)
        return True

    def _complete(self) -> None:
        work = self.open[0].work
        self.psn = self.open[0].last + 1 & PSN
        self.completions.append((work.identifier, work.opcode, 0))

    def _acknowledge(self, reach: int) -> bool:
        """Messages before ``reach`` are done; nothing but its own responses goes past a READ."""
        while self.psn != reach:
            message = self.open[0]
            if message.work.opcode == READ:
                return False
            if (reach - message.last - 1 & PSN) < HALF:
                self._complete()
            else:
                self.psn = reach
        return False

    def _respond(self, ticket: Ticket, payload: bytes) -> bool:
        """A READ response; return whether it fits no READ."""
        while True:
            message = self.open[0]
            owns = (ticket.psn - message.first & PSN) <= (message.last - message.first & PSN)
            if message.work.opcode != READ:
                if owns:
                    return True
                self._complete()
                continue
            if not owns or ticket.psn != self.psn:
                # One before it is missing, or was taken already.
                return False
            offset = (ticket.psn - message.first & PSN) * self.pmtu
            last = ticket.psn == message.last
            size = message.work.length - offset if last else self.pmtu
            if ticket.payload_bytes != size or (ticket.opcode in LAST_RESPONSES) != last:
                return True
            self.write(message.work.local_address + offset, payload)
            if last:
                self._complete()
            else:
                self.psn = ticket.psn + 1 & PSN
            return False
