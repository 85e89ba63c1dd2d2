"""Credit from releases in any order: only an unbroken run of them helps a sender that takes slots in turn."""

from __future__ import annotations


class ReleaseOrder:
    """Count arrivals, take releases in any order, tell the length of the released run."""

    def __init__(self) -> None:
        self._arrived = 0
        self._ahead: set[int] = set()
        self.count = 0

    @property
    def total(self) -> int:
        """Frames so far."""
        return self._arrived

    def arrived(self) -> int:
        """Note a frame; return its index."""
        self._arrived += 1
        return self._arrived - 1

    def release(self, index: int) -> None:
        """Note that frame ``index`` is released; raise ``ValueError`` if it never arrived or was released before."""
        if not self.count <= index < self._arrived or index in self._ahead:
            raise ValueError(f"frame {index} is not held")
        self._ahead.add(index)
        while self.count in self._ahead:
            self._ahead.remove(self.count)
            self.count += 1
