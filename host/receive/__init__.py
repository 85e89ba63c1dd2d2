"""The workstation's side: registered memory, the queue pairs that fill it, and the frames in it."""
