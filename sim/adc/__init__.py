"""The analogue front end as the lanes see it: sample sources and the JESD204B transmitter."""
