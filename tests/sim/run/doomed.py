"""A run whose receiver, in the micro-VM, is killed once a file called ``die`` is in the run's folder.

``python -m tests.sim.run.doomed run ...`` is ``python -m sim run ...`` with that receiver.
"""

from sim.commands import application
from sim.peers.lifecycle import PeerSettings

POLL_SECONDS = 0.2
_real_arguments = PeerSettings.receiver_arguments


def _doomed_arguments(settings: PeerSettings, device: str, control: str) -> list[str]:
    folder = settings.status_file.parent
    return ["-c", _WAIT_AND_KILL, str(folder / "die"), *_real_arguments(settings, device, control)]


_WAIT_AND_KILL = f"""
import os, signal, sys, time
receiver = os.getpid()
if os.fork() == 0:
    while not os.path.exists(sys.argv[1]):
        time.sleep({POLL_SECONDS})
    os.kill(receiver, signal.SIGKILL)
    os._exit(0)
os.execv(sys.executable, [sys.executable, "-S", *sys.argv[2:]])
"""


if __name__ == "__main__":
    PeerSettings.receiver_arguments = _doomed_arguments
    application()
