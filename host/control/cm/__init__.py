"""Connections by the communication management protocol (IBTA volume 1, chapter 12), as ``librdmacm`` listeners take."""
