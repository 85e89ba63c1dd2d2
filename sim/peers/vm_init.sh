#!/bin/sh
# First process of the micro-VM, in its initramfs: load modules, mount this machine's root read-only over 9p (and what may be written
# on top), then hand over to vm_guest.sh there. Replaces udev and a full init, which cost seconds in an emulated machine.
# /settings comes with every start (see vm.py) and is plain shell.
busybox=/bin/busybox

stage() {
	read -r uptime idle < /proc/uptime
	echo "echobench: stage=$1 uptime=$uptime"
}

fail() {
	echo "echobench: failed=$1"
	$busybox poweroff -f
}

share() { # tag, directory, options
	$busybox mount -t 9p -o "$3,version=9p2000.L,trans=virtio,access=any,msize=524288" "$1" "$2" || fail "cannot mount $2"
}

$busybox mount -t proc proc /proc
stage kernel
set -a
. /settings
set +a
while read -r module; do
	case "$module" in # what not every start needs costs time
	tun.ko) [ "$EB_MODE" = exec ] || continue ;;
	ib_cm.ko | iw_cm.ko | rdma_cm.ko | rdma_ucm.ko) [ "$EB_MODE" = exec ] || [ "$EB_CONNECTION_MANAGER" = 1 ] || continue ;;
	esac
	$busybox insmod "/modules/$module" || fail "cannot load module $module"
done < /modules/order
stage modules
$busybox mount -t devtmpfs devtmpfs /dev
$busybox mount -t sysfs sysfs /sys
share root /host ro,cache=loose
if [ -n "$EB_WRITABLE" ]; then share writable "/host$EB_WRITABLE" rw,cache=mmap; fi
share run "/host$EB_RUN" rw,cache=none
$busybox mount --move /dev /host/dev
$busybox mount --move /sys /host/sys
$busybox mount --move /proc /host/proc
exec $busybox switch_root /host /bin/sh "$EB_CHECKOUT/sim/peers/vm_guest.sh"
