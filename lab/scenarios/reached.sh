# Shell functions of the scenarios reached-*, cells of the proof *reached*, see docs/lab.md; and of the scenarios rank-*.

# measure STACK FILESYSTEM DIRECTION LOW HIGH FLAGS...: a cell. A verdict of no is an answer too. `cached=cached` says
# that a cache was put between, so that nothing is to be proven whatever the drives moved. What asks the drive for its
# cache reads between the runs, where the emulator counts and a run does not: it is left out.
measure() {
    echo "cell $1 $2 $3 $4 $5 $cached"
    shift 5
    lab-host count
    drivescope mark "$@" --anyway --duration 500ms --warm-up 0s --pause 0s --runs 1 \
        --cache-probe 0s --json --no-progress --no-record || test $? = 1
    lab-host count
}

# fill FILE: 16 MiB of it, on the drives and nowhere else.
fill() {
    dd if=/dev/urandom of="$1" bs=1M count=16 conv=fsync 2>/dev/null
    cold
}

# What the kernel holds of any file is let go.
cold() {
    sync
    echo 3 >/proc/sys/vm/drop_caches
}

# reads STACK FILESYSTEM FILE FLAGS...: long and short ones.
reads() {
    stack=$1 filesystem=$2 file=$3
    shift 3
    for test in SEQ1MQ2T1 RND4KQ4T1; do
        measure $stack $filesystem read 1 1 $file --tests $test --read-only "$@"
    done
}

# writes STACK FILESYSTEM FILE LOW HIGH FLAGS...: long and short ones.
writes() {
    stack=$1 filesystem=$2 file=$3 low=$4 high=$5
    shift 5
    for test in SEQ1MQ2T1 RND4KQ4T1; do
        measure $stack $filesystem write $low $high \
            $file --tests $test --write-only --write --consent ${file##*/} "$@"
    done
}

# make FILESYSTEM DEVICE [PLACE]: makes it, with nothing left to be done in the background, and mounts it.
make() {
    place=${3:-/mnt/$1}
    case $1 in
    ext4) mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 $2 ;;
    xfs) mkfs.xfs -q -f $2 ;;
    btrfs) mkfs.btrfs -q -f $2 >/dev/null ;;
    jfs) mkfs.jfs -q $2 >/dev/null ;;
    esac
    mkdir -p $place
    mount -t $1 $2 $place
}

# filesystems STACK DEVICE LOW HIGH: each of them, or those in $kinds, on a device that makes of a byte written LOW to HIGH.
filesystems() {
    for made in ${kinds:-ext4 xfs btrfs jfs}; do
        make $made $2
        fill /mnt/$made/file
        reads $1 $made /mnt/$made/file
        writes $1 $made /mnt/$made/file $3 $4
        umount /mnt/$made
    done
}

# rank TEST DIRECTORY...: holds them against each other, reads and writes, in twelve blocks. What a drive that is held back
# gives above its speed at the beginning of a run is over with the warm-up.
rank() {
    test=$1
    shift
    drivescope compare "$@" --tests $test --size 32MiB --runs 12 --duration 300ms --warm-up 150ms --pause 0s \
        --seed 1 --json --no-progress --no-record || test $? = 1
}
