#!/usr/bin/env bash
# Stacks of this machine's own kernel for `scripts/validate stacks`: each made, measured, and taken down.
#
#   stacks.sh WORK DISK    WORK: a directory for files on the filesystem of the disk DISK, which is traced
#
# Prints `cell …` lines and documents, as lab/scenarios/reached.sh does, whose functions it takes. Around each
# measurement the kernel's tracer records what DISK was asked for: WORK/1.parquet, 2.parquet and so on.
set -uo pipefail
work=$1 disk=$2
cached= number=0 recorder=
# shellcheck source=/dev/null
source lab/scenarios/reached.sh

# shellcheck source=/dev/null
source tools/validate/src/stacks/make.sh

# Begins to record what the disk is asked for, or ends it: the measurement lies between two counts.
lab-host() {
    if [[ -n $recorder ]]; then
        touch "$work/off"
        wait "$recorder"
        recorder=
        return
    fi
    number=$((number + 1))
    rm -f "$work/on" "$work/off"
    drivescope trace record "$disk" -o "$work/$number.parquet" --force --no-progress --json -- \
        sh -c 'touch "$0/on"; until test -e "$0/off"; do sleep 0.02; done' "$work" \
        >"$work/record.json" 2>"$work/record.txt" &
    recorder=$!
    until [[ -e $work/on ]]; do
        kill -0 "$recorder" 2>/dev/null || { cat "$work/record.txt" >&2; exit 2; }
        sleep 0.02
    done
}

# cells STACK FILESYSTEM FILE LOW HIGH FLAGS…: reads and writes of a file that is filled first.
cells() {
    fill "$3"
    reads "$1" "$2" "$3" "${@:6}"
    writes "$1" "$2" "$3" "$4" "$5" "${@:6}"
}

mkdir -p "$work/leaf" "$work/mnt"

cells disk "$(findmnt -no FSTYPE --target "$work")" "$work/leaf/file" 1 1
cached=cached
cat "$work/leaf/file" >/dev/null
reads page-cache "$(findmnt -no FSTYPE --target "$work")" "$work/leaf/file" --buffered
cached=

for kind in ext4 xfs btrfs; do
    attach a on && make $kind "$device" && cells loop-direct-on $kind "$work/mnt/$kind/file" 1 1
    take_down
done

options=compress-force=zstd
attach a on && make btrfs "$device" && {
    # What a user has there: a file that compresses. Of the test file's noise nothing would.
    yes "a line of text, like others" | head -c 16M >"$work/mnt/btrfs/file"
    cold
    reads loop-direct-on btrfs-compressed "$work/mnt/btrfs/file"
    writes loop-direct-on btrfs-compressed "$work/mnt/btrfs/file" 1 1
}
take_down
options=
attach a on && make btrfs "$device" && {
    mkdir "$work/mnt/btrfs/plain" && chattr +C "$work/mnt/btrfs/plain"
    cells loop-direct-on btrfs-nodatacow "$work/mnt/btrfs/plain/file" 1 1
}
take_down
for data in single raid0 raid1; do
    copies=1
    [[ $data = raid1 ]] && copies=2
    attach a on && one=$device && attach b on && make btrfs "$one" "$device" &&
        cells "two-loops-$data" btrfs "$work/mnt/btrfs/file" $copies $copies
    take_down
done
data=

attach a on && make ext4 "$device" && {
    mkdir -p "$work/mnt/ext4/"{lower,upper,work} "$work/mnt/overlay"
    fill "$work/mnt/ext4/lower/file"
    mount -t overlay overlay "$work/mnt/overlay" \
        -o "lowerdir=$work/mnt/ext4/lower,upperdir=$work/mnt/ext4/upper,workdir=$work/mnt/ext4/work" && {
        undo+=("umount '$work/mnt/overlay'")
        reads overlay-lower ext4 "$work/mnt/overlay/file"
        cells overlay-upper ext4 "$work/mnt/overlay/new" 1 1
    }
}
take_down

cached=cached
attach a off && make ext4 "$device" && {
    fill "$work/mnt/ext4/file"
    cat "$work/leaf/a" >/dev/null
    reads loop-direct-off ext4 "$work/mnt/ext4/file"
    writes loop-direct-off ext4 "$work/mnt/ext4/file" 1 1
}
take_down

mkdir -p "$work/mnt/tmpfs"
mount -t tmpfs -o size=64M tmpfs "$work/mnt/tmpfs" && undo+=("umount '$work/mnt/tmpfs'") && {
    cells memory tmpfs "$work/mnt/tmpfs/file" 1 1
}
take_down

# With what this machine has of memory that says it is a disk.
if zram=$(cat /sys/class/zram-control/hot_add 2>/dev/null); then
    undo+=("echo $zram >/sys/class/zram-control/hot_remove")
    echo 256M >"/sys/block/zram$zram/disksize" && make ext4 "/dev/zram$zram" &&
        cells zram ext4 "$work/mnt/ext4/file" 1 1
    take_down
else
    left "zram: this kernel has none"
fi

# A daemon's own page cache lies between: it may serve what it likes.
if command -v ntfs-3g >/dev/null && [[ -e /dev/fuse ]]; then
    attach a on && make ntfs "$device" && cells fuse-ntfs-3g ntfs "$work/mnt/ntfs/file" 1 1
    take_down
else
    left "ntfs-3g: not installed, or no /dev/fuse"
fi
if command -v bindfs >/dev/null && [[ -e /dev/fuse ]]; then
    mkdir -p "$work/mnt/bindfs"
    bindfs "$work/leaf" "$work/mnt/bindfs" && undo+=("umount '$work/mnt/bindfs'") &&
        cells fuse-bindfs "$(findmnt -no FSTYPE --target "$work")" "$work/mnt/bindfs/other" 1 1
    take_down
else
    left "bindfs: not installed, or no /dev/fuse"
fi

# ZFS through its daemon, the only one that needs no module of the kernel.
if command -v zfs-fuse >/dev/null && [[ -e /dev/fuse ]]; then
    image a
    zfs-fuse --no-daemon >"$work/zfs.txt" 2>&1 &
    daemon=$!
    undo+=("kill $daemon; wait $daemon")
    for _ in {1..50}; do zpool list >/dev/null 2>&1 && break || sleep 0.1; done
    # What a run that was killed left.
    zpool destroy -f drivescope-stacks 2>/dev/null
    if zpool create -f -m "$work/mnt/zfs" drivescope-stacks "$work/leaf/a" >&2; then
        # Its own writing may go on for a while.
        undo+=("for _ in {1..50}; do zpool destroy -f drivescope-stacks 2>/dev/null && break || sleep 0.2; done")
        cells zfs-fuse zfs "$work/mnt/zfs/file" 1 1
    else
        left "zfs-fuse: makes no pool here"
    fi
    take_down
else
    left "zfs-fuse: not installed, or no /dev/fuse"
fi
