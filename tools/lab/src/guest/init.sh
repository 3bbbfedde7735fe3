#!/bin/sh
# First process of the guest.
/bin/busybox mkdir -p /busybox
/bin/busybox --install -s /busybox
export PATH=/lab:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin:/busybox
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
mount -t configfs configfs /sys/kernel/config 2>/dev/null
ip link set lo up 2>/dev/null
for module in $(cat /etc/lab-modules); do modprobe "$module" || echo "lab: module $module: not loaded"; done
exec /lab/lab-agent
