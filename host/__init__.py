"""Software that runs with the board and with the simulation alike: control, receiver, imaging, storage, reports."""
