#!/usr/bin/env bash
# Filesystems of this machine's kernel for `scripts/validate filesystems`: made side by side and ranked.
#
#   filesystems.sh WORK    WORK: a directory for files on the disk that all of them lie on
#
# Leaves WORK/disk.json, filesystems on one loop device each, and WORK/btrfs.json, Btrfs over three with its own profiles.
set -uo pipefail
work=$1
# shellcheck source=/dev/null
source tools/validate/src/stacks/make.sh
mkdir -p "$work/leaf" "$work/mnt"

# rank RESULT NAME…: holds directories of WORK/mnt against each other. That two differ is an answer too.
rank() {
    local result=$work/$1
    shift
    cd "$work/mnt" || exit 2
    drivescope compare "$@" --tests SEQ1MQ8T1,RND4KQ32T1,RND4KQ1T1 --size 96MiB --runs 12 --duration 400ms \
        --warm-up 100ms --pause 0s --seed 1 --json --no-progress --no-record >"$result" || [[ $? = 1 ]] || exit 2
    cd "$OLDPWD" || exit 2
}

image_mib=512
ranked=()
# The second ext4 is a control: it differs from the first in its place on the disk, and in nothing else.
for name in ext4 ext4-again xfs btrfs jfs; do
    # A module that is there is loaded by the mount; whether it is, the kernel says only then.
    attach "disk-$name" on && make "${name%-again}" "$device" && ranked+=("$name") ||
        left "$name: this kernel does not mount it"
done
name=
rank disk.json "${ranked[@]}"
take_down
rm -f "$work"/leaf/disk-*

image_mib=320
ranked=()
for data in single raid0 raid1 raid5; do
    members=()
    for member in a b c; do
        attach "$data-$member" on && members+=("$device")
        [[ $data = single ]] && break
    done
    name=btrfs-$data
    make btrfs "${members[@]}" && ranked+=("$name") || left "$name: cannot be made here"
done
rank btrfs.json "${ranked[@]}"
take_down

left "RAID of md: over loop devices that share a disk it would be the array's code that is ranked; the lab has members with \
a speed of their own"
