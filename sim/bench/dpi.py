"""The C++ bodies of the bench, as this process sees them.

Under Verilator Python runs inside the simulator, so the functions of the DPI bodies are in the running program itself.
"""

from __future__ import annotations

import ctypes
from functools import cache

_u8 = ctypes.POINTER(ctypes.c_uint8)
_u32 = ctypes.POINTER(ctypes.c_uint32)
_u64 = ctypes.POINTER(ctypes.c_uint64)

_SIGNATURES: dict[str, tuple[object, list[object]]] = {
    "eb_mac_pending": (ctypes.c_uint, [ctypes.c_int]),
    "eb_mac_take": (ctypes.c_void_p, [ctypes.c_int, _u64, _u32]),
    "eb_mac_inject": (None, [ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int]),
    "eb_mac_waiting": (ctypes.c_uint, [ctypes.c_int]),
    "eb_lane_supply": (
        ctypes.c_int,
        [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32],
    ),
    "eb_lane_stop": (None, [ctypes.c_int]),
    "eb_memory_buffer": (ctypes.c_void_p, [ctypes.c_int]),
    "eb_memory_bytes": (ctypes.c_uint64, [ctypes.c_int]),
}


@cache
def library(probe: str) -> ctypes.CDLL | None:
    """Return this program's symbols if the DPI body with function ``probe`` is in it, else ``None`` (VPI body)."""
    program = ctypes.CDLL(None)
    if not hasattr(program, probe):
        return None
    for name, (result, arguments) in _SIGNATURES.items():
        if hasattr(program, name):
            function = getattr(program, name)
            function.restype = result
            function.argtypes = arguments
    return program
