"""Frames on disk for users: HDF5 that h5py alone opens, with zea's names and shapes."""

from host.storage.reader import FrameFile, FrameFileError, Track
from host.storage.writer import FrameWriter

__all__ = ["FrameFile", "FrameFileError", "FrameWriter", "Track"]
