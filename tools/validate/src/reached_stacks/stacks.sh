#!/usr/bin/env bash
# Stacks of this machine for `scripts/validate reached-stacks`: each made, measured as root and as nobody, and taken down.
#
#   stacks.sh WORK DISK    WORK: a directory for files on the filesystem of the disk DISK
#
# Prints `cell …` lines and documents as tools/lab/src/reached.rs reads them. Around each measurement the text of the
# kernel's own events of DISK goes to WORK/N.trace, and what lies under the target to WORK/N.chain, from the top, a word a line:
# a file, whose extents go to WORK/N.K.before and WORK/N.K.after (K is the line, from 0); `all` or `all+OFFSET`, a device that
# is its image from OFFSET on; `-`, a layer whose addresses are its own, so that what lies below it counts as a whole; `@`,
# where another chain begins.
set -uo pipefail
work=$1 disk=$2
number=0 beside= instance=/sys/kernel/tracing/instances/validate-$$
# shellcheck source=/dev/null
source tools/validate/src/stacks/make.sh

mkdir -p "$work/leaf" "$work/mnt" "$work/bin"
cp "$(command -v drivescope)" "$work/bin/"
chmod 755 "$work" "$work/leaf" "$work/mnt"

# The recorder: events of requests that completed on DISK, as text.
mkdir "$instance" || exit 2
forget() {
    take_down
    [[ -n $beside ]] && kill "$beside" 2>/dev/null
    echo 0 >"$instance/events/enable"
    rmdir "$instance"
}
trap forget EXIT
number_of=$(stat -c '%Hr %Lr' "$disk")
read -r major minor <<<"$number_of"
echo 16384 >"$instance/buffer_size_kb"
echo "dev == $((major << 20 | minor))" >"$instance/events/block/block_rq_complete/filter"
echo 1 >"$instance/events/block/block_rq_complete/enable"

# layout WHEN WORD…: the extents of each file of the chain.
layout() {
    local when=$1 at=0 word
    shift
    printf '%s\n' "$@" >"$work/$number.chain"
    for word in "$@"; do
        [[ $word = /* ]] && filefrag -v -b1 "$word" >"$work/$number.$at.$when" 2>/dev/null
        at=$((at + 1))
    done
}

# measure WHO STACK FILESYSTEM DIRECTION LOW HIGH TARGET FLAGS…: a cell. `chain` has the files from the target down.
measure() {
    local who=$1 stack=$2 filesystem=$3 direction=$4 low=$5 high=$6 as=() reader
    shift 6
    [[ $who = user ]] && as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    number=$((number + 1))
    echo "cell $who/$stack $filesystem $direction $low $high $cached"
    layout before "${chain[@]}"
    echo >"$instance/trace"
    cat "$instance/trace_pipe" >"$work/$number.trace" &
    reader=$!
    "${as[@]}" "$work/bin/drivescope" mark "$@" --anyway --duration "${duration:-300ms}" --warm-up 0s --pause 0s --runs 1 \
        --cache-probe 0s --json --no-progress --no-record || test $? = 1 || echo "failed $number: $*" >&2
    # What completed has been written to the pipe when it is empty.
    sleep 0.05
    kill "$reader"
    wait "$reader" 2>/dev/null
    layout after "${chain[@]}"
}

cold() {
    sync
    echo 3 >/proc/sys/vm/drop_caches
}

# fill FILE [MIB]: data, on the disk and nowhere else.
fill() {
    dd if=/dev/urandom of="$1" bs=1M count="${2:-16}" conv=fsync 2>/dev/null
    give "$1"
    cold
}

# give FILE: to nobody, who may write to it then, and take a lease on it. Root may as well.
give() {
    chown 65534:65534 "$1"
}

# reads STACK FILESYSTEM TARGET FLAGS…; writes STACK FILESYSTEM TARGET LOW HIGH FLAGS…: as root and as nobody, long and short.
reads() {
    local stack=$1 filesystem=$2 target=$3 who test
    shift 3
    for who in ${people:-root user}; do
        for test in SEQ1MQ2T1 RND4KQ4T1; do
            [[ -n ${again:-} ]] && eval "$again"
            measure "$who" "$stack" "$filesystem" read 1 1 "$target" --tests $test --read-only "$@"
        done
    done
}
writes() {
    local stack=$1 filesystem=$2 target=$3 low=$4 high=$5 who test allow
    shift 5
    for who in ${people:-root user}; do
        for test in SEQ1MQ2T1 RND4KQ4T1; do
            # Nobody may not see who else has a device open.
            allow=()
            [[ $who = user && -b $target ]] && allow=(--allow unknown:users)
            measure "$who" "$stack" "$filesystem" write "$low" "$high" "$target" --tests $test \
                --write-only --write --consent "${target##*/}" "${allow[@]}" "$@"
        done
    done
}
both() {
    reads "$1" "$2" "$3" "${@:6}"
    writes "$1" "$2" "$3" "$4" "$5" "${@:6}"
}

# Images on the disk: written, with holes, preallocated, every other MiB punched out.
written() { dd if=/dev/urandom of="$1" bs=1M count="${2:-192}" conv=fsync 2>/dev/null; }
sparse() { truncate -s "${2:-320}M" "$1"; }
preallocated() { fallocate -l "${2:-320}M" "$1"; }
punched() {
    written "$1" 128
    for ((at = 0; at < 128; at += 2)); do fallocate -p -o ${at}M -l 1M "$1"; done
    sync
}

# over IMAGE [FLAGS…]: a loop device over it, in `device`, for all to use.
over() {
    local image=$1
    shift
    chmod 644 "$image"
    device=$(losetup --find --show --direct-io="${direct:-on}" "$@" "$image") && undo+=("losetup -d '$device'") &&
        give "$device"
}

# fresh KIND NAME [MIB]: an image of that kind, in `image`.
fresh() {
    image=$work/leaf/$2
    rm -f "$image"
    "$1" "$image" "${3:-320}"
}

# other reads|writes: another program that uses the same disk, in a file of its own, until `alone`.
other() {
    local file=$work/leaf/other
    [[ -e $file ]] || written "$file" 64
    if [[ $1 = reads ]]; then
        while dd if="$file" of=/dev/null bs=1M iflag=direct 2>/dev/null; do :; done &
    else
        while dd if="$file" of="$file" bs=256k iflag=direct oflag=direct conv=notrunc 2>/dev/null; do :; done &
    fi
    beside=$!
}
alone() {
    kill "$beside"
    wait "$beside" 2>/dev/null
    beside=
}

cached=

# A file of the disk's own filesystem.
own=$(findmnt -no FSTYPE --target "$work")
file=$work/leaf/file
fill "$file" 32
chain=("$file")
both plain:disk "$own" "$file" 1 1
other reads
both plain:disk+reader "$own" "$file" 1 1
alone
other writes
both plain:disk+writer "$own" "$file" 1 1
alone
cached=cached
reads cache:page-cache "$own" "$file" --buffered
cached=
truncate -s 64M "$work/leaf/hollow" && give "$work/leaf/hollow"
fallocate -l 64M "$work/leaf/unwritten" && give "$work/leaf/unwritten"
for what in hollow unwritten; do
    chain=("$work/leaf/$what")
    reads "zeros:file-$what" "$own" "$work/leaf/$what"
done
other reads
chain=("$work/leaf/hollow")
reads zeros:file-hollow+reader "$own" "$work/leaf/hollow"
alone

# Filesystems in images.
for kind in ext4 xfs btrfs; do
    for how in written sparse preallocated; do
        fresh $how image && over "$image" && make $kind "$device" && {
            target=$work/mnt/$kind/file
            fill "$target"
            chain=("$target" "$image")
            [[ $kind = btrfs ]] && chain=(- "$image")
            both "plain:loop-$how" $kind "$target" 1 1
            if [[ $how = written ]]; then
                writes plain:loop-$how-dsync $kind "$target" 1 2 --dsync
            fi
            if [[ $how != preallocated ]]; then
                other reads
                both "plain:loop-$how+reader" $kind "$target" 1 1
                alone
                other writes
                both "plain:loop-$how+writer" $kind "$target" 1 1
                alone
            fi
        }
        take_down
    done
done

# Btrfs that packs, and that does not.
fresh written image && over "$image" && make btrfs "$device" && {
    mkdir "$work/mnt/btrfs/plain" && chattr +C "$work/mnt/btrfs/plain"
    target=$work/mnt/btrfs/plain/file
    fill "$target"
    chain=(- "$image")
    both plain:btrfs-nodatacow btrfs "$target" 1 1
}
take_down
options=compress-force=zstd
fresh written image && over "$image" && make btrfs "$device" && {
    target=$work/mnt/btrfs/file
    yes "a line of text, like others" | head -c 32M >"$target"
    give "$target"
    cold
    chain=(- "$image")
    reads packed:btrfs-text btrfs "$target"
    other reads
    reads packed:btrfs-text+reader btrfs "$target"
    alone
    other writes
    writes packed:btrfs-text+writer btrfs "$target" 1 1 --compressible 100
    alone
    writes packed:btrfs-text btrfs "$target" 1 1 --compressible 100
}
take_down
options=
for data in single raid0 raid1; do
    copies=1
    [[ $data = raid1 ]] && copies=2
    fresh written a && first=$image && over "$first" && one=$device &&
        fresh written b && over "$image" && make btrfs "$one" "$device" && {
        fill "$work/mnt/btrfs/file"
        chain=(- "$first" @ "$image")
        both "two:btrfs-$data" btrfs "$work/mnt/btrfs/file" $copies $copies
    }
    take_down
done
data=
rm -f "$work/leaf/a" "$work/leaf/b"

# Images as devices.
for how in written sparse preallocated punched; do
    fresh $how image 128 && over "$image" && {
        chain=(all "$image")
        case $how in
        written) both plain:raw-$how raw "$device" 1 1 --span all ;;
        *)
            reads zeros:raw-$how raw "$device" --span all
            other reads
            reads zeros:raw-$how+reader raw "$device" --span all
            alone
            writes plain:raw-$how raw "$device" 1 1 --span all
            ;;
        esac
    }
    take_down
done
fresh written image 128 && over "$image" --offset 1048576 && {
    chain=(all+1048576 "$image")
    both plain:raw-offset raw "$device" 1 1 --span all
}
take_down

# Images within filesystems within images.
for kind in xfs ext4 btrfs; do
    fresh written outer 448 && over "$image" && outer=$image && make $kind "$device" && {
        for how in written sparse preallocated punched; do
            inner=$work/mnt/$kind/inner
            rm -f "$inner"
            $how "$inner" 128
            cold
            over "$inner" && {
                chain=(all "$inner" "$outer")
                [[ $kind = btrfs ]] && chain=(all - "$outer")
                case $how in
                written)
                    both "nested:raw-$how" $kind "$device" 1 1 --span all
                    ;;
                *)
                    reads "zeros:nested-$how" $kind "$device" --span all
                    other reads
                    reads "zeros:nested-$how+reader" $kind "$device" --span all
                    alone
                    ;;
                esac
                losetup -d "$device"
                undo=("${undo[@]:0:${#undo[@]}-1}")
            }
        done
    }
    take_down
done
rm -f "$work/leaf/outer"

# A page cache between.
direct=off
fresh written image && over "$image" && make ext4 "$device" && {
    target=$work/mnt/ext4/file
    fill "$target" 160
    chain=("$target" "$image")
    again=cold duration=60ms reads cache:loop-buffered-cold ext4 "$target"
    again=
    writes cache:loop-buffered-dsync ext4 "$target" 1 2 --dsync
    cached=cached
    writes cache:loop-buffered ext4 "$target" 1 1
    cat "$image" >/dev/null
    reads cache:loop-buffered-warm ext4 "$target"
    other reads
    reads cache:loop-buffered-warm+reader ext4 "$target"
    alone
    cached=
}
take_down
direct=on

cached=cached
mkdir -p "$work/mnt/tmpfs"
mount -t tmpfs -o size=64M tmpfs "$work/mnt/tmpfs" && undo+=("umount '$work/mnt/tmpfs'") && {
    fill "$work/mnt/tmpfs/file"
    chain=(-)
    both memory:tmpfs tmpfs "$work/mnt/tmpfs/file" 1 1
}
take_down
cached=
