"""Runs the cases in the micro-VM: ``python -m tests.host.live.machine FOLDER``; results are in results.jsonl there.

The device stands on a TAP interface that this process holds open; queue pairs of one device reach each other without
a frame leaving it. Cases are forked from here, where nothing of verbs was opened yet.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

_TAP_REQUEST = 0x400454CA
_TAP_WITHOUT_HEADER = 0x1002
LIMIT_SECONDS = 120.0


def set_up() -> int:
    """Make the network and the RDMA device; return the descriptor that keeps the link up."""
    tap = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tap, _TAP_REQUEST, struct.pack("16sH22x", b"tap0", _TAP_WITHOUT_HEADER))
    for command in (
        "ip link set tap0 mtu 4200 up",
        "ip address add 10.77.0.2/24 dev tap0",
        "rdma link add rxe0 type rxe netdev tap0",
    ):
        subprocess.run(command.split(), check=True)
    return tap


def run(name: str) -> dict[str, object]:
    """Run one case in a process of its own, with a limit; return its result."""
    from tests.host.live.cases import CASES

    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        text = ""
        with tempfile.TemporaryDirectory() as folder:
            try:
                CASES[name](Path(folder))
            except BaseException:
                text = traceback.format_exc()
        os.write(write_end, text.encode()[-60000:])
        os._exit(0)
    os.close(write_end)
    started = time.monotonic()
    timer = started + LIMIT_SECONDS
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > timer:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(read_end)
            return {"case": name, "failure": f"not done within {LIMIT_SECONDS:.0f} s"}
        time.sleep(0.02)
    with os.fdopen(read_end) as pipe:
        failure = pipe.read()
    return {"case": name, "failure": failure, "seconds": round(time.monotonic() - started, 2)}


def main() -> int:
    """Run all cases, or those that are named."""
    from tests.host.live.cases import CASES

    folder, *names = sys.argv[1:]
    tap = set_up()
    with (Path(folder) / "results.jsonl").open("w") as results:
        for name in names or CASES:
            print(name, flush=True)
            results.write(json.dumps(run(name)) + "\n")
            results.flush()
    os.close(tap)
    return 0


if __name__ == "__main__":
    sys.exit(main())
