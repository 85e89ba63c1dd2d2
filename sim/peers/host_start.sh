#!/bin/sh
# The host peer: a TAP device with the software RDMA device on it, and the receiver. Runs under sim.peers.supervise, which deletes
# $EB_NETDEV at the end, and with it the RDMA device.

stage() { :; }

. "$EB_CHECKOUT/sim/peers/link_setup.sh"
ip tuntap add dev "$EB_NETDEV" mode tap && ip link set dev "$EB_NETDEV" address "$EB_PEER_MAC" || exit 1
set_link_up "$EB_NETDEV" || exit 1
eval "exec $EB_RECEIVER"
