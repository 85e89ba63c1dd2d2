"""Entry of ``python -m sim``."""

import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)  # until a run takes over, nothing needs cleaning up

from sim.commands import application  # noqa: E402 - loading takes a while, and Ctrl-C may come meanwhile

if __name__ == "__main__":
    sys.exit(application())
