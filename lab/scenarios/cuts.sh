# Shell functions of the scenario cut-volatile: work that promises, and what holds it to its promises.

export DRIVESCOPE_RUNS_DIR=/mnt/a/runs

# attach: $A with the store, whose cache loses what was not flushed; $B with the promises, which loses nothing.
attach() {
    mkdir -p /mnt/a /mnt/b
    mount -t ext4 -o noatime $A /mnt/a
    mount -t ext4 -o noatime $B /mnt/b
}

# promise KIND NAME FILE: what was reported, with the content that it has. Only $B is flushed by it.
promise() {
    n=$(ls /mnt/b/promises | wc -l)
    echo "$1 $2 $(sha256sum <"$3" | cut -d' ' -f1)" | dd of=/mnt/b/promises/$n conv=fsync 2>/dev/null
}

# made: the run that out.json is of
made() {
    sed -n 's/.*"run_id": "\([^"]*\)".*/\1/p' out.json | head -n 1
}

# mark FLAGS...: a short one; 1 says that a number was refuted.
mark() {
    drivescope mark "$@" --duration 50ms --warm-up 10ms --pause 1ms --no-progress --json >out.json || test $? = 1
}

# work: until the power goes.
work() {
    while true; do
        i=$(ls /mnt/b/promises | wc -l)
        mark sim:hdd-7200 --tests RND4KQ4T1 --runs 2 --size 64MiB --samples /mnt/a/samples-$i.csv
        promise run $(made) $DRIVESCOPE_RUNS_DIR/$(made)/document.json
        promise file samples-$i.csv /mnt/a/samples-$i.csv
        drivescope runs export $(made) --output /mnt/a/run-$i.tar.gz --json >/dev/null
        promise file run-$i.tar.gz /mnt/a/run-$i.tar.gz
        mark /mnt/a/measured --tests RND4KQ4T1 --runs 20 --size 4MiB
        promise run $(made) $DRIVESCOPE_RUNS_DIR/$(made)/document.json
    done
}

# kept: every promise, by what is there now.
kept() {
    count=0
    cat /mnt/b/promises/* >promises
    while read -r kind name sum; do
        case $kind in
        run) file=$DRIVESCOPE_RUNS_DIR/$name/document.json ;;
        file) file=/mnt/a/$name ;;
        esac
        test "$(sha256sum <"$file" | cut -d' ' -f1)" = $sum || { echo "lost: $kind $name"; exit 1; }
        test $kind = file || drivescope runs show $name --json >/dev/null
        count=$((count + 1))
    done <promises
    echo "$count promises kept"
}
