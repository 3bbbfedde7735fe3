# Shell functions that make filesystems over files on one disk, under the directory WORK, and take them down in the end.

undo=()
take_down() {
    [[ -n ${recorder:-} ]] && kill "$recorder" 2>/dev/null
    for ((at = ${#undo[@]} - 1; at >= 0; at--)); do eval "${undo[at]}" >&2 2>&1; done
    undo=()
}
trap take_down EXIT

# left REASON: a stack that this machine does not make.
left() {
    echo "left $*" >&2
}

# make FILESYSTEM DEVICE…: as lab/scenarios/reached.sh does, in WORK/mnt, under the name `name` or its own. Nothing is given
# back to the file underneath, whose places are known.
make() {
    local kind=$1 place=$work/mnt/${name:-$1}
    shift
    mkdir -p "$place"
    case $kind in
    ext4) mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$1" ;;
    xfs) mkfs.xfs -q -f -K "$1" ;;
    btrfs) mkfs.btrfs -q -f -K ${data:+-d "$data"} "$@" >/dev/null ;;
    jfs) mkfs.jfs -q "$1" >/dev/null ;;
    ntfs) mkfs.ntfs -q -F -Q "$1" >/dev/null ;;
    esac && case $kind in
    ext4 | xfs) mount -t "$kind" -o nodiscard "$1" "$place" ;;
    btrfs) mount -t btrfs -o "nodiscard${options:+,$options}" "$1" "$place" ;;
    ntfs) ntfs-3g "$1" "$place" ;;
    jfs) mount -t jfs "$1" "$place" ;;
    esac && undo+=("umount '$place'")
}

# image NAME: `image_mib` on the disk, 384 when nothing is said, all of it written.
image() {
    [[ -e $work/leaf/$1 ]] || dd if=/dev/zero of="$work/leaf/$1" bs=1M count="${image_mib:-384}" conv=fsync 2>/dev/null
}

# attach NAME DIRECT: a loop device over an image, in `device`.
attach() {
    image "$1"
    device=$(losetup --find --show --direct-io="$2" "$work/leaf/$1") && undo+=("losetup -d '$device'")
}
