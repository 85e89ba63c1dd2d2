"""A front end in software: it agrees on queue pairs as control software does, and WRITEs frames over verbs."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.enums import (
    IBV_ACCESS_LOCAL_WRITE,
    IBV_ACCESS_REMOTE_WRITE,
    IBV_QP_STATE,
    IBV_QPS_RESET,
    IBV_QPT_RC,
    IBV_SEND_SIGNALED,
    IBV_WR_RDMA_WRITE,
    IBV_WR_RDMA_WRITE_WITH_IMM,
)
from pyverbs.mr import MR
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

from host.exchange import (
    VERSION,
    Connect,
    Event,
    Exchange,
    Finish,
    FrameReceived,
    Hello,
    Message,
    Ready,
    Released,
    Reset,
    ResetDone,
    SenderQueuePair,
    SocketStream,
    Summary,
)
from host.frame_layout import immediate
from host.receive.connection import mapped_gid, status_name
from host.receive.device import PORT, Device
from tests.sim.peers.hand_made import ultrasound_frame

LIMIT_SECONDS = 30.0
SAMPLES, CHANNELS = 120, 16
MAC = "02:eb:00:00:00:01"
BLOCK_BYTES = 2048
"""A frame goes out in several WRITEs, as from the ring."""


def samples_of(sequence: int) -> np.ndarray:
    """The samples that frame ``sequence`` has, int16 ``[SAMPLES, CHANNELS]``."""
    return np.random.default_rng(sequence).integers(-(1 << 15), 1 << 15, (SAMPLES, CHANNELS), np.int16)


def frame_of(sequence: int) -> bytes:
    """The bytes of frame ``sequence``."""
    return ultrasound_frame(sequence, samples_of(sequence).tobytes(), CHANNELS)


class SoftwareFrontEnd:
    """One front end, connected; frames go to the slots of each queue pair in turn."""

    def __init__(self, device: Device, control: Path, *, queue_pairs: int = 1, recovers: bool = False) -> None:
        self._device = device
        self._recovers = recovers
        self.messages: list[Message] = []
        self.released = [0] * queue_pairs
        self.sent = [0] * queue_pairs
        self._exchange = Exchange(SocketStream(connect_to(control)))
        self.hello = self._exchange.expect(Hello, LIMIT_SECONDS)
        self._completions = CQ(device.context, 255, None, None, 0)
        self._pairs: list[Any] = [
            QP(
                device.domain,
                QPInitAttr(
                    qp_type=IBV_QPT_RC,
                    scq=self._completions,
                    rcq=self._completions,
                    cap=QPCap(128, 1, 1, 1, 0),
                    sq_sig_all=0,
                ),
            )
            for _ in range(queue_pairs)
        ]
        self._memory = np.zeros(1 << 20, np.uint8)
        self._region = MR(device.domain, self._memory.size, IBV_ACCESS_LOCAL_WRITE, address=self._memory.ctypes.data)
        self._psn = 0xFFFFF0
        self._exchange.send(self._connect())
        self._exchange.expect(Ready, LIMIT_SECONDS)
        for index in range(queue_pairs):
            self._to_ready(index)

    def _connect(self) -> Connect:
        pairs = tuple(SenderQueuePair(pair.qp_num, self._psn) for pair in self._pairs)
        return Connect(VERSION, self._device.port.ip, MAC, self.hello.pmtu, pairs, recovers=self._recovers)

    def _to_ready(self, index: int) -> None:
        attributes = QPAttr(port_num=PORT)
        attributes.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE
        attributes.path_mtu = 5
        attributes.dest_qp_num = self.hello.queue_pairs[index].qpn
        attributes.rq_psn = self.hello.queue_pairs[index].psn
        attributes.sq_psn = self._psn
        attributes.max_dest_rd_atomic = attributes.max_rd_atomic = 1
        attributes.min_rnr_timer = 1
        attributes.timeout, attributes.retry_cnt, attributes.rnr_retry = 10, 7, 7
        route = GlobalRoute(dgid=GID(mapped_gid(self.hello.ip)), sgid_index=self._device.port.gid_index, hop_limit=64)
        attributes.ah_attr = AHAttr(is_global=1, port_num=PORT, gr=route)
        self._pairs[index].to_rts(attributes)

    def send(self, sequence: int, queue_pair: int = 0, *, data: bytes | None = None, outside: bool = False) -> str:
        """WRITE one frame to the next slot, with no regard to credit; return the status of the last WRITE by name.

        ``outside`` sends it behind the registered memory.
        """
        offered = self.hello.queue_pairs[queue_pair]
        slot = self.sent[queue_pair] % offered.slots
        content = frame_of(sequence) if data is None else data
        base = offered.address + (offered.slots * self.hello.slot_bytes if outside else slot * self.hello.slot_bytes)
        self._memory[: len(content)] = np.frombuffer(content, np.uint8)
        for start in range(0, len(content), BLOCK_BYTES):
            octets = min(BLOCK_BYTES, len(content) - start)
            last = start + octets == len(content)
            element = SGE(self._memory.ctypes.data + start, octets, self._region.lkey)
            request = SendWR(
                wr_id=sequence,
                opcode=IBV_WR_RDMA_WRITE_WITH_IMM if last else IBV_WR_RDMA_WRITE,
                num_sge=1,
                sg=[element],
                imm_data=int.from_bytes(immediate(slot, sequence).to_bytes(4, "big"), "little"),
                send_flags=IBV_SEND_SIGNALED if last else 0,
            )
            request.set_wr_rdma(self.hello.rkey, base + start)
            self._pairs[queue_pair].post_send(request)
            request.close()
            element.close()
        status = self._completed()
        if status == "success":
            self.sent[queue_pair] += 1
        return status

    def _completed(self) -> str:
        deadline = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < deadline:
            _, completions = self._completions.poll(1)
            for completion in completions:
                return status_name(completion.status)
            time.sleep(0.0005)
        raise AssertionError(f"no completion within {LIMIT_SECONDS:.0f} s")

    def stream(self, sequences: Sequence[int], queue_pair: int = 0) -> None:
        """Send frames, each when there is a slot for it."""
        for sequence in sequences:
            self.wait_credit(queue_pair)
            assert self.send(sequence, queue_pair) == "success"

    def wait_credit(self, queue_pair: int = 0, seconds: float = LIMIT_SECONDS) -> None:
        """Return when a slot is free; fail if none becomes so."""
        deadline = time.monotonic() + seconds
        while self.sent[queue_pair] - self.released[queue_pair] >= self.hello.queue_pairs[queue_pair].slots:
            message = self._exchange.receive(max(0.0, deadline - time.monotonic()))
            assert message is not None, f"no slot of queue pair {queue_pair} was released within {seconds:.0f} s"
            self._note(message)

    def recover(self, queue_pair: int = 0) -> None:
        """Reset both ends of a queue pair that has failed, with a new PSN."""
        attributes = QPAttr(port_num=PORT)
        attributes.qp_state = IBV_QPS_RESET
        self._pairs[queue_pair].modify(attributes, IBV_QP_STATE)
        while self._completions.poll(16)[0]:
            pass
        self._psn = (self._psn + 0x1234) & 0xFFFFFF
        self._exchange.send(Reset(queue_pair, self._psn))
        self.expect(ResetDone)
        self._to_ready(queue_pair)

    def expect(self, kind: type[Any]) -> Any:
        """Return the next message of a kind; others are noted."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while (message := self._exchange.receive(max(0.0, deadline - time.monotonic()))) is not None:
            self._note(message)
            if isinstance(message, kind):
                return message
        raise AssertionError(f"no {kind.__name__} within {LIMIT_SECONDS:.0f} s; {Counter(map(type, self.messages))}")

    def finish(self) -> Summary:
        """Say that no more will come; return the receiver's account."""
        self._exchange.send(Finish())
        summary: Summary = self.expect(Summary)
        return summary

    def close(self) -> None:
        """Give everything back."""
        for pair in self._pairs:
            pair.close()
        self._completions.close()
        self._region.close()
        self._exchange.close()

    def _note(self, message: Message) -> None:
        if isinstance(message, Released):
            self.released[message.queue_pair] = message.count
        elif not isinstance(message, FrameReceived):
            self.messages.append(message)

    @property
    def events(self) -> list[Event]:
        """Events that the receiver has told of."""
        return [message for message in self.messages if isinstance(message, Event)]


def connect_to(path: Path) -> socket.socket:
    """Connect to a receiver's socket, which may come into being a moment later."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(path))
        except OSError:
            connection.close()
            assert time.monotonic() < deadline, f"nobody listens at {path}"
            time.sleep(0.01)
        else:
            return connection
