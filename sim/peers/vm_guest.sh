#!/bin/sh
# Second stage of the micro-VM's start, on this machine's own programs (read-only): network, software RDMA device, then the receiver
# (EB_MODE=serve) or any command (EB_MODE=exec). What it says goes to the console, where vm.py reads it.

stage() {
	read -r uptime idle < /proc/uptime
	echo "echobench: stage=$1 uptime=$uptime"
}

finish() { # key=value
	echo "echobench: $1"
	busybox poweroff -f
}

cd "$EB_CHECKOUT" || finish failed="no checkout at $EB_CHECKOUT"
stage guest
mkdir -p /dev/shm /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
export TMPDIR=/dev/shm HOME=/dev/shm
ip link set lo up

if [ "$EB_MODE" = exec ]; then
	mount -t devpts devpts /dev/pts
	mount -t tmpfs tmpfs /run
	stage command
	sh -c "$EB_COMMAND" > "$EB_RUN/output.log" 2>&1 < /dev/null
	finish "exit=$?"
fi

. "$EB_CHECKOUT/sim/peers/link_setup.sh"
set_link_up eth0 || finish failed="no RDMA device, see above"
sh -c "exec $EB_RECEIVER" > "$EB_RUN/receiver.log" 2>&1
code=$?
echo "receiver ended with exit code $code" >> "$EB_RUN/receiver.log"
finish "exit=$code"
