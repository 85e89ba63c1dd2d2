"""A pretended FPGA that is connected to a peer: sends packets, collects replies and messages."""

from __future__ import annotations

import time
from types import TracebackType

from host.exchange import VERSION, Connect, Hello, Message, Ready, SenderQueuePair
from sim.peers.lifecycle import ControlAddress, Network, WireAddress, open_control, open_wire
from tests.sim.peers.hand_made import Reply, Writer

FPGA_QPN = 0x11
LIMIT_SECONDS = 60.0


class Session:
    """Connection to one peer, from Hello to Ready."""

    def __init__(self, wire: WireAddress, control: ControlAddress, network: Network, psn: int = 0xFFFFFE) -> None:
        self.exchange = open_control(control)
        self.wire = open_wire(wire)
        self.hello = self.exchange.expect(Hello, LIMIT_SECONDS)
        self.writer = Writer(network, FPGA_QPN, self.hello.queue_pairs[0].qpn, self.hello.rkey, psn=psn)
        self.exchange.send(Connect(VERSION, network.fpga_ip, network.fpga_mac, 4096, (SenderQueuePair(FPGA_QPN, psn),)))
        self.exchange.expect(Ready, LIMIT_SECONDS)

    def send(self, packets: list[bytes]) -> None:
        """Put packets on the wire."""
        for packet in packets:
            self.wire.send(packet)

    def replies(self, count: int) -> list[Reply]:
        """Return the next ``count`` replies; fail if they do not come."""
        found: list[Reply] = []
        deadline = time.monotonic() + LIMIT_SECONDS
        while len(found) < count:
            frame = self.wire.receive(1.0)
            if frame is not None:
                found.append(Reply.parse(frame))
            assert time.monotonic() < deadline, f"{len(found)} of {count} replies: {found}"
        return found

    def message(self) -> Message:
        """Return the next message of the receiver; fail if none comes."""
        message = self.exchange.receive(LIMIT_SECONDS)
        assert message is not None, "the receiver is silent"
        return message

    def close(self) -> None:
        """Give descriptors back."""
        self.wire.close()
        self.exchange.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
