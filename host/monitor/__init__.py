"""Watch a running stream: snapshots from whoever runs it, shown to whoever looks."""

from host.monitor.snapshot import Clock, Publisher, QueuePairState, Snapshot, SnapshotError, percentile

__all__ = ["Clock", "Publisher", "QueuePairState", "Snapshot", "SnapshotError", "percentile"]
