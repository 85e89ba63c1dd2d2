"""The newest view as metrics for Prometheus, on this machine's loopback address only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from host.monitor.view import View

LOOPBACK = "127.0.0.1"
_LABELS = ("source", "name", "clock")
_PREFIX = "echobench_"
_COUNTERS = {
    "interrupts": ("interrupts", "interrupts of the ring"),
    "completion_queue_overflows": ("completion_queue_overflows", "completion queues that ran over"),
    "retransmitted_packets": ("retransmitted_packets", "packets that were sent again"),
    "frames": ("frames", "frames that were delivered"),
    "flagged": ("frames_flagged", "frames that were delivered with something wrong"),
}
_GAUGES = {
    "ring_used_bytes": ("ring_used_bytes", "bytes in the ring"),
    "ring_peak_bytes": ("ring_peak_bytes", "most bytes in the ring so far"),
    "ring_bytes": ("ring_bytes", "size of the ring"),
    "pool_used_slots": ("pool_used_slots", "receive slots that hold frames"),
    "pool_slots": ("pool_slots", "all receive slots"),
    "latency_p50_us": ("latency_p50_microseconds", "median latency of recent frames"),
    "latency_p99_us": ("latency_p99_microseconds", "99th percentile of the latency of recent frames"),
    "time_s": ("time_seconds", "time on the stream's own clock"),
}


class ViewCollector(Collector):
    """Makes metrics of what ``views`` returns, whenever they are asked for. What is unknown has none."""

    def __init__(self, views: Callable[[], list[View]]) -> None:
        self._views = views

    def collect(self) -> Iterator[Any]:
        """Yield the metrics."""
        views = self._views()
        for kind, table in ((CounterMetricFamily, _COUNTERS), (GaugeMetricFamily, _GAUGES)):
            for field, (name, text) in table.items():
                family = kind(_PREFIX + name, text, labels=_LABELS)
                for view in views:
                    value = getattr(view.snapshot, field)
                    if value is not None:
                        family.add_metric(_labels(view), value)
                yield family
        age = GaugeMetricFamily(
            _PREFIX + "age_seconds", "wall time since the stream last said something", labels=_LABELS
        )
        drops = CounterMetricFamily(_PREFIX + "frames_dropped", "frames not delivered", labels=(*_LABELS, "cause"))
        labels = (*_LABELS, "queue_pair")
        octets = CounterMetricFamily(_PREFIX + "queue_pair_bytes", "bytes of frames", labels=labels)
        rate = GaugeMetricFamily(_PREFIX + "queue_pair_gbps", "throughput in the time of the clock", labels=labels)
        depth = GaugeMetricFamily(_PREFIX + "queue_pair_outstanding", "work requests not completed", labels=labels)
        for view in views:
            age.add_metric(_labels(view), max(0.0, time.time() - view.written_s))
            for cause, count in (view.snapshot.drops or {}).items():
                drops.add_metric([*_labels(view), cause], count)
            for pair, state in zip(view.queue_pairs, view.snapshot.queue_pairs, strict=True):
                where = [*_labels(view), str(pair.number)]
                octets.add_metric(where, state.bytes)
                if pair.throughput_gbps is not None:
                    rate.add_metric(where, pair.throughput_gbps)
                if pair.outstanding is not None:
                    depth.add_metric(where, pair.outstanding)
        yield from (age, drops, octets, rate, depth)


def _labels(view: View) -> list[str]:
    return [view.source, view.name, view.clock]


def serve(port: int, views: Callable[[], list[View]]) -> Callable[[], None]:
    """Answer ``http://127.0.0.1:port/metrics`` in a thread; return what ends it.

    Raise ``OSError`` if the port is taken.
    """
    registry = CollectorRegistry()
    registry.register(ViewCollector(views))
    server, thread = start_http_server(port, addr=LOOPBACK, registry=registry)

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return stop
