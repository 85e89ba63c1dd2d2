"""The cable between MAC and peer: frames, time, faults, capture. State machines without socket or simulator."""
