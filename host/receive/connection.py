"""One queue pair, RC or UC, that takes WRITEs with immediate, and its completions."""

from __future__ import annotations

import ipaddress
from collections import Counter
from typing import Any

from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ, CompChannel
from pyverbs.enums import (
    IBV_ACCESS_LOCAL_WRITE,
    IBV_ACCESS_REMOTE_WRITE,
    IBV_QP_STATE,
    IBV_QPS_ERR,
    IBV_QPS_RESET,
    IBV_QPT_RC,
    IBV_QPT_UC,
    IBV_QPT_UD,
    IBV_WC_WITH_IMM,
)
from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR

from host.exchange import PATH_MTUS
from host.receive.arrival import Arrival
from host.receive.device import PORT, Device
from host.receive.events import new_event_descriptors, only

SEND_DEPTH = 1024
RECEIVE_DEPTH = 128
COMPLETION_DEPTH = 128
SEND_ELEMENTS = 16
RECEIVE_ELEMENTS = 16
INLINE_BYTES = 256
RNR_TIMER_640_US = 12
_POLL_BATCH = 16
_QUEUE_PAIR_TYPES = {"RC": IBV_QPT_RC, "UC": IBV_QPT_UC, "UD": IBV_QPT_UD}
_ADDRESS_UNRESOLVED = 110  # ETIMEDOUT
_STATUS_NAMES = (
    "success",
    "local_length_error",
    "local_qp_operation_error",
    "local_eec_operation_error",
    "local_protection_error",
    "flushed",
    "memory_window_bind_error",
    "bad_response",
    "local_access_error",
    "remote_invalid_request",
    "remote_access_error",
    "remote_operation_error",
    "retries_exceeded",
    "rnr_retries_exceeded",
    "local_rdd_violation",
    "remote_invalid_rd_request",
    "remote_aborted",
    "invalid_eec",
    "invalid_eec_state",
    "fatal",
    "response_timeout",
    "general_error",
)


class ConnectionFailed(RuntimeError):
    """The queue pair cannot be set up or has failed; the text names the cause."""


class Connection:
    """A queue pair in three steps: construct it, :meth:`connect`, then :meth:`poll` and :meth:`repost`.

    Its number is known before it is connected.
    """

    def __init__(
        self, device: Device, transport: str = "RC", receives: int = RECEIVE_DEPTH, completions: int = COMPLETION_DEPTH
    ) -> None:
        self._device = device
        self.unreliable = transport != "RC"
        """Frames may be lost on their way."""
        try:
            with new_event_descriptors() as found:
                self._channel = CompChannel(device.context)
            self.event = only(found, "completion channel")
            self.completions = CQ(device.context, completions, None, self._channel, 0)
            caps = QPCap(SEND_DEPTH, receives, SEND_ELEMENTS, RECEIVE_ELEMENTS, INLINE_BYTES)
            self.pair: Any = QP(
                device.domain,
                QPInitAttr(qp_type=_QUEUE_PAIR_TYPES[transport], scq=self.completions, rcq=self.completions, cap=caps),
            )
        except PyverbsError as error:
            raise ConnectionFailed(f"cannot make a queue pair on {device.name}: {error}") from error
        self.qpn: int = self.pair.qp_num
        self.psn = 0
        self._limited = False
        self._connected: QPAttr | None = None
        self.failure: str | None = None
        # One receive, posted over and over: pyverbs leaks a little with every new one. No byte goes to its element.
        self._receive = RecvWR(wr_id=self.qpn, num_sge=1, sg=[SGE(0, 0, 0)])

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
        """Connect to queue pair ``qpn`` at ``ip``, whose first packet carries ``psn``, and post all receives.

        ``frame_bytes`` is for datagrams. With ``receives`` it gets so many and no more, until it is reset or more are
        :meth:`granted <grant>`. ``rnr_timer`` is the code of how long a sender that finds none is to wait.
        """
        attributes = QPAttr(port_num=PORT)
        attributes.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE
        attributes.path_mtu = PATH_MTUS.index(pmtu) + 1
        attributes.dest_qp_num = qpn
        attributes.rq_psn = psn
        attributes.sq_psn = self.psn
        attributes.max_dest_rd_atomic = 1
        attributes.max_rd_atomic = 1
        attributes.min_rnr_timer = rnr_timer
        attributes.timeout = 14
        attributes.retry_cnt = 7
        attributes.rnr_retry = 7
        attributes.ah_attr = AHAttr(
            is_global=1,
            port_num=PORT,
            gr=GlobalRoute(dgid=GID(mapped_gid(ip)), sgid_index=self._device.port.gid_index, hop_limit=64),
        )
        try:
            self.pair.to_rts(attributes)
        except PyverbsRDMAError as error:
            hint = ""
            if error.error_code == _ADDRESS_UNRESOLVED:
                hint = (
                    f"; nobody answered for {ip}: add a permanent neighbour "
                    f"('ip neighbour replace {ip} lladdr MAC nud permanent dev {self._device.port.netdev}')"
                )
            raise ConnectionFailed(f"cannot connect to queue pair 0x{qpn:x} at {ip}: {error}{hint}") from error
        self._connected = attributes
        self._post_receives(receives)

    def _post_receives(self, receives: int) -> None:
        self._limited = receives > 0
        for _ in range(min(receives or RECEIVE_DEPTH, RECEIVE_DEPTH)):
            self.pair.post_recv(self._receive)
        self.completions.req_notify(False)

    def reset(self, psn: int, receives: int = 0) -> None:
        """Take a connected queue pair, failed or not, to RESET and back: ``psn`` first, all receives posted anew.

        What has completed must have been polled: the rest is thrown away.
        """
        if self._connected is None:
            raise ConnectionFailed(f"queue pair 0x{self.qpn:x} has not been connected: it cannot be reset")
        self.disconnect()
        self._connected.rq_psn = psn
        try:
            self.pair.to_rts(self._connected)
        except PyverbsError as error:
            raise ConnectionFailed(f"cannot reset queue pair 0x{self.qpn:x}: {error}") from error
        self._post_receives(receives)

    def disconnect(self) -> None:
        """Take the queue pair to RESET, from where it can be connected anew; what has completed is thrown away."""
        attributes = QPAttr(port_num=PORT)
        attributes.qp_state = IBV_QPS_RESET
        try:
            self.pair.modify(attributes, IBV_QP_STATE)
        except PyverbsError as error:
            raise ConnectionFailed(f"cannot reset queue pair 0x{self.qpn:x}: {error}") from error
        while self.completions.poll(_POLL_BATCH)[0]:
            pass
        self.failure = None

    def repost(self) -> None:
        """Post one receive, for the next immediate."""
        if not self._limited:
            self.pair.post_recv(self._receive)

    def grant(self, receives: int) -> None:
        """Post so many receives more on a connection that got a limited number."""
        for _ in range(receives):
            self.pair.post_recv(self._receive)

    def released(self, total: int) -> None:
        """Note that the slots of the first ``total`` frames are free; WRITEs find them by themselves."""

    def finish(self) -> list[Arrival]:
        """Return what is left of frames when no more will come: with WRITEs, nothing."""
        return []

    def acknowledge_event(self) -> None:
        """Take a waiting completion event and arm the next one.

        Poll once more before waiting: a completion may have come between.
        """
        while self.event.waiting():
            self._channel.get_cq_event(self.completions)
            self.completions.ack_events(1)
        self.completions.req_notify(False)

    def poll(self) -> list[Arrival]:
        """Return what has completed.

        Completions with an error are summed up in ``failure``; nothing arrives after them.
        """
        arrivals: list[Arrival] = []
        statuses: Counter[str] = Counter()
        while True:
            count, completions = self.completions.poll(_POLL_BATCH)
            for completion in completions:
                if completion.status:
                    statuses[status_name(completion.status)] += 1
                else:
                    arrivals += self._arrived(completion)
            if count == 0:
                break
        if statuses and self.failure is None:
            counts = ", ".join(f"{count} x {name}" for name, count in sorted(statuses.items()))
            state = "in its error state" if self.in_error_state() else "not in its error state"
            self.failure = f"queue pair 0x{self.qpn:x} is {state}; completions: {counts}"
        return arrivals

    def _arrived(self, completion: Any) -> list[Arrival]:
        if completion.wc_flags & IBV_WC_WITH_IMM:
            return [Arrival(immediate_of(completion), completion.byte_len)]
        return []

    def in_error_state(self) -> bool:
        """Ask the device whether the queue pair is in its error state (it sends no event for that)."""
        state: int = self.pair.query(1)[0].qp_state
        return bool(state == IBV_QPS_ERR)

    def check(self) -> None:
        """Fill in ``failure`` if the queue pair has failed without a completion.

        That happens when its completion queue overflows.
        """
        if self.failure is None and self.in_error_state():
            self.failure = f"queue pair 0x{self.qpn:x} is in its error state; no completion tells why"

    def close(self) -> None:
        """Destroy the queue pair. The sender must have stopped."""
        self._receive.close()
        self.pair.close()
        self.completions.close()
        self._channel.close()


def immediate_of(completion: Any) -> int:
    """The immediate as the sender had it: verbs give the word as it was on the wire."""
    return int.from_bytes(completion.imm_data.to_bytes(4, "little"), "big")


def mapped_gid(ip: str) -> str:
    """Return the IPv4-mapped GID of an address.

    In eight groups of four digits: older pyverbs takes no shorter form.
    """
    value = int(ipaddress.IPv4Address(ip))
    return f"0000:0000:0000:0000:0000:ffff:{value >> 16:04x}:{value & 0xFFFF:04x}"


def status_name(status: int) -> str:
    """Return a readable name of a work completion status."""
    return _STATUS_NAMES[status] if status < len(_STATUS_NAMES) else f"status_{status}"
