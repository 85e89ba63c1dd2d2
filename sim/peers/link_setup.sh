# Sourced by vm_guest.sh and host_start.sh: give $1 its address and make the RDMA device $EB_DEVICE on it. Says which step failed.
# Needs EB_MTU, EB_PEER_IP, EB_PREFIX, EB_FPGA_IP, EB_FPGA_MAC.

set_link_up() {
	# No IPv6: its router solicitations would appear on the link as frames that nobody asked for.
	if [ -e "/proc/sys/net/ipv6/conf/$1/disable_ipv6" ]; then echo 1 > "/proc/sys/net/ipv6/conf/$1/disable_ipv6"; fi
	if ! ip -batch - <<-BATCH
		link set dev $1 mtu $EB_MTU up
		address add $EB_PEER_IP/$EB_PREFIX dev $1
		neighbour replace $EB_FPGA_IP lladdr $EB_FPGA_MAC nud permanent dev $1
	BATCH
	then
		echo "cannot set network device $1 up"
		return 1
	fi
	stage network
	if ! rdma link add "$EB_DEVICE" type rxe netdev "$1"; then
		echo "cannot make the software RDMA device $EB_DEVICE on $1; is the module rdma_rxe loaded?"
		return 1
	fi
	stage rxe
}
