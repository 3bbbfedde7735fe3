# After a scenario: what it made goes away, what lies on top first. Runs again while something is left.
cd /
exec 2>/dev/null
while read -r device _; do [ -b "$device" ] && swapoff "$device"; done </proc/swaps
awk '$2 ~ "^/(scenario|mnt|tmp/|run/)" && $2 != "/run/lab" {print $2}' /proc/mounts | sort -r |
    while read -r point; do umount "$point" || umount -l "$point"; done
for bcache in /sys/block/bcache*/bcache; do [ -e "$bcache/stop" ] && echo 1 >"$bcache/stop"; done
for set in /sys/fs/bcache/*-*-*; do [ -e "$set/stop" ] && echo 1 >"$set/stop"; done
command -v dmsetup >/dev/null && dmsetup --noudevsync remove_all --force
for state in /sys/block/md*/md/array_state; do [ -e "$state" ] && echo clear >"$state"; done
for loop in /sys/block/loop*/loop; do
    name=${loop%/loop}
    [ -e "$loop" ] && losetup -d "/dev/${name##*/}"
done
for point in /sys/kernel/config/nullb/*/; do [ -d "$point" ] && rmdir "$point"; done
for module in scsi_debug null_blk zram brd; do
    [ -d "/sys/module/$module" ] && [ -e "/sys/module/$module/initstate" ] && modprobe -r "$module"
done
sync
exit 0
