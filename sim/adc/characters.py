"""Control characters of JESD204B (5.3.3, table of control characters): octets that are sent with the K flag."""

R = 0x1C
"""K28.0, first octet of each multiframe of the initial lane alignment sequence."""
A = 0x7C
"""K28.3, last octet of a multiframe."""
Q = 0x9C
"""K28.4, link configuration follows."""
K = 0xBC
"""K28.5, comma of code group synchronisation."""
F = 0xFC
"""K28.7, last octet of a frame."""

K_WORD = 0xBCBCBCBC
"""Four commas, as a beat."""
