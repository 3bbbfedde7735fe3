#!/usr/bin/env bash
# Default marks of filesystems and of a loop device on this machine's disk, for `scripts/validate decisive`.
#
#   stacks.sh WORK DISK    WORK: a directory for files on DISK, which all of them lie on
#
# Leaves WORK/NAME.json, a document of `drivescope mark`, for each.
set -uo pipefail
work=$1
# shellcheck source=/dev/null
source tools/validate/src/stacks/make.sh
mkdir -p "$work/leaf" "$work/mnt"

# measure NAME TARGET FLAG…: a number that is rejected is an answer too.
measure() {
    local result=$work/$1.json
    shift
    drivescope mark "$@" --seed 1 --json --no-progress --no-record >"$result" || [[ $? = 1 ]] || exit 2
}

# One at a time: none of them finds the files of another on the disk.
image_mib=3072
for name in ext4 xfs btrfs; do
    if attach "$name" on && make "$name" "$device"; then
        measure "$name" "$work/mnt/$name"
    else
        left "$name: this kernel does not mount it"
    fi
    take_down
    rm -f "$work/leaf/$name"
done
attach loop on || exit 2
measure loop "$device" --write --consent "${device##*/}"
