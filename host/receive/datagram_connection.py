"""A queue pair of datagrams. Apart from :mod:`host.receive.connection`, because it needs numpy, which loads slowly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyverbs.enums import IBV_WC_WITH_IMM
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QPAttr
from pyverbs.wr import SGE, RecvWR

from host.exchange import PATH_MTUS, QUEUE_KEY
from host.receive import datagrams
from host.receive.arrival import Arrival
from host.receive.connection import RNR_TIMER_640_US, Connection, ConnectionFailed, immediate_of
from host.receive.datagrams import DatagramFrames
from host.receive.device import PORT, Device

_ROUTE_HEADER = 40
"""Octets that the device puts before a datagram's own."""


class DatagramConnection(Connection):
    """A UD queue pair that fills ``slots``, which lie in memory registered with ``key``."""

    def __init__(self, device: Device, slots: Sequence[NDArray[np.uint8]], key: int) -> None:
        super().__init__(device, "UD", datagrams.RECEIVE_DEPTH, datagrams.RECEIVE_DEPTH)
        self._slots = slots
        self._key = key
        self._source = 0
        self._spares = self._buffer(datagrams.SPARES * PATH_MTUS[-1])
        self._header = self._buffer(_ROUTE_HEADER)
        self._frames: DatagramFrames | None = None
        self._receives: dict[int, RecvWR] = {}

    def _buffer(self, octets: int) -> tuple[NDArray[np.uint8], int, int]:
        """Return registered memory, its address and its key."""
        memory = np.zeros(octets, np.uint8)
        return memory, memory.ctypes.data, self._device.register_buffer(memory.ctypes.data, octets).lkey

    def connect(
        self,
        qpn: int,
        psn: int,
        ip: str,
        pmtu: int,
        frame_bytes: int = 0,
        receives: int = 0,
        rnr_timer: int = RNR_TIMER_640_US,
    ) -> None:
        """Take datagrams of queue pair ``qpn``, ``pmtu`` octets each but for the last of a frame."""
        del psn, ip, receives, rnr_timer  # datagrams come from anywhere, in any order, and are never refused
        attributes = QPAttr(port_num=PORT)
        attributes.qkey = QUEUE_KEY
        attributes.sq_psn = self.psn
        try:
            self.pair.to_rts(attributes)
        except PyverbsRDMAError as error:
            raise ConnectionFailed(f"cannot make queue pair 0x{self.qpn:x} ready: {error}") from error
        self._source = qpn
        spares = self._spares[0][: datagrams.SPARES * pmtu]
        self._frames = DatagramFrames(self._slots, pmtu, frame_bytes or self._slots[0].size, self._post, spares=spares)
        self._frames.fill()
        self.completions.req_notify(False)

    def repost(self) -> None:
        """Receives are posted as slots come free."""

    def released(self, total: int) -> None:
        """Post receives for the slots that are free."""
        if self._frames is not None:
            self._frames.release(total)

    def finish(self) -> list[Arrival]:
        """Give up the frames that are not complete."""
        return [] if self._frames is None else self._as_arrivals(self._frames.finish())

    def close(self) -> None:
        """Destroy the queue pair. The sender must have stopped."""
        for receive in self._receives.values():
            receive.close()
        super().close()

    def _post(self, token: int, memory: NDArray[np.uint8]) -> None:
        address = memory.ctypes.data
        receive = self._receives.get(address)
        if receive is None:  # one a place, posted over and over: pyverbs leaks a little with every new one
            spares, first, spare_key = self._spares
            key = spare_key if first <= address < first + spares.size else self._key
            elements = [SGE(self._header[1], _ROUTE_HEADER, self._header[2]), SGE(address, memory.size, key)]
            receive = RecvWR(wr_id=token, num_sge=2, sg=elements)
            self._receives[address] = receive
            for element in elements:
                element.close()
        receive.wr_id = token
        self.pair.post_recv(receive)

    def _arrived(self, completion: Any) -> list[Arrival]:
        assert self._frames is not None
        known = completion.src_qp == self._source and completion.wc_flags & IBV_WC_WITH_IMM
        carried = immediate_of(completion) if known else None
        return self._as_arrivals(self._frames.arrived(completion.wr_id, carried, completion.byte_len - _ROUTE_HEADER))

    @staticmethod
    def _as_arrivals(found: Sequence[datagrams.Assembled]) -> list[Arrival]:
        return [Arrival(frame.immediate, frame.octets, frame.number, frame.memory, frame.problems) for frame in found]
