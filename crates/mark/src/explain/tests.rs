use block::{DriveInfo, DriveKind};
use proptest::prelude::*;
use workload::plan::{Plan, Region};

use super::*;

fn explained(line: &str) -> Explained {
    let given = read("job.fio", line).unwrap();
    explain(&given, &BTreeMap::new(), None).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn refused(line: &str) -> String {
    let given = match read("job.fio", line) {
        Ok(given) => given,
        Err(error) => return error.to_string(),
    };
    explain(&given, &BTreeMap::new(), None).expect_err(line).to_string()
}

fn codes(line: &str) -> Vec<String> {
    explained(line).caveats.into_iter().map(|caveat| caveat.code).collect()
}

const MIB: u64 = 1 << 20;

// Each of these was run with fio 3.33: what differed from it would be a prediction of another program.
#[test]
fn fios_totals_and_addresses_are_those_that_it_logs() {
    let shared = "fio --filename=f --rw=read --bs=64k --size=4m --numjobs=3 --name=x";
    // Command, bytes in all, I/Os, different bytes.
    let cases = [
        (shared.to_owned(), 12 * MIB, 192, 4 * MIB),
        (shared.replace("--filename=f ", ""), 12 * MIB, 192, 12 * MIB),
        (format!("{shared} --offset_increment=1m"), 12 * MIB, 192, 6 * MIB),
        ("fio --name=x --rw=randread --size=4m --io_size=10m".to_owned(), 10 * MIB, 2560, 4 * MIB),
        ("fio --name=x --rw=read --size=10001".to_owned(), 8192, 2, 8192),
        (
            "fio --name=x --rw=read --bs=64k --size=4m --nrfiles=3".to_owned(),
            63 << 16,
            63,
            63 << 16,
        ),
        ("fio --name=x --rw=read:-4k --bs=4k --size=1m".to_owned(), MIB, 256, 4096),
        ("fio --name=x --bs=64k --size=1m --loops=3 --io_size=2m".to_owned(), 3 * MIB, 48, MIB),
        ("fio --name=x --bs=64k --size=1m --loops=3 --io_size=512k".to_owned(), 3 << 19, 24, MIB),
        (
            "fio --name=x --bs=64k --filesize=4m --size=6m --filename=a:b".to_owned(),
            6 * MIB,
            96,
            6 * MIB,
        ),
        ("fio --name=x --bs=4k --size=100k --io_size=250k".to_owned(), 63 << 12, 63, 100 << 10),
        ("fio --name=x --bs=4k --filesize=4m --offset=1m".to_owned(), 3 * MIB, 768, 3 * MIB),
        ("fio --name=x --rw=write --bs=4k --size=1m --verify=crc32c".to_owned(), 2 * MIB, 512, MIB),
        ("fio --name=x --rw=read --size=4m --number_ios=10".to_owned(), 40_960, 10, 40_960),
    ];
    for (line, bytes, ios, unique) in cases {
        let job = &explained(&line).jobs[0];
        let (reads, writes) = (job.read_bytes.exact().unwrap(), job.write_bytes.exact().unwrap());
        let found = (reads + writes, job.ios.exact(), job.unique_bytes.exact());
        assert_eq!(found, (bytes, Some(ios), Some(unique)), "{line}");
        assert_eq!(job.ends_by, EndsBy::Size, "{line}");
    }
}

// Breaks when the section `global` of a command line is taken for a job, or what it says is lost to those behind it.
#[test]
fn a_section_global_is_for_the_jobs_that_follow() {
    let line = "fio --size=2m --name=job1 --name=global --rw=randread --size=1m --name=job2";
    let jobs = explained(line).jobs;
    let of = |job: &Job| (job.name.clone(), job.read_bytes.exact(), job.order);
    assert_eq!(jobs.len(), 2);
    assert_eq!(of(&jobs[0]), ("job1".to_owned(), Some(2 * MIB), Order::Sequential));
    assert_eq!(of(&jobs[1]), ("job2".to_owned(), Some(MIB), Order::RandomOnce));
    // fio runs nothing of a section `global` alone.
    assert!(refused("fio --name=global --rw=read --size=1m").contains("no job"));
}

// Breaks when the line to run instead goes over another part of a device than the command does.
#[test]
fn of_a_device_the_same_part_is_used_instead() {
    let of = |rest: &str| {
        let line = format!("fio --name=x --filename=/dev/sdb --direct=1 --runtime=9 {rest}");
        explained(&line).equivalent.commands.join("; ")
    };
    assert!(of("--offset=100G --size=10G").contains("--span 100GiB+10GiB"));
    assert!(of("--size=10G").contains("--span 10GiB"));
    assert!(of("--rw=randread").contains("--span all"));
    // All of it is what a plan without a region goes over.
    assert_eq!(of("--rw=randrw"), "drivescope run PLAN.toml /dev/sdb --write --consent SERIAL");
}

// Breaks when a regular file is taken to end where it ends now, although fio makes it larger; a device cannot grow.
#[test]
fn a_size_is_cut_off_at_the_end_of_devices_only() {
    let of = |name: &str| {
        let given = read("", &format!("fio --name=x --filename={name} --size=8m")).unwrap();
        let found = explain(&given, &BTreeMap::new(), Some(Bytes::mib(4))).unwrap();
        found.jobs[0].read_bytes.exact()
    };
    assert_eq!((of("f"), of("/dev/sdb")), (Some(8 * MIB), Some(4 * MIB)));
}

// Breaks when threads that begin apart and go through what the next one has been through get no warning of repetition.
#[test]
fn threads_that_begin_apart_run_into_each_other() {
    let of = |line: &str| {
        let found =
            explain(&read("", line).unwrap(), &BTreeMap::new(), Some(Bytes::gib(1))).unwrap();
        found.caveats.iter().any(|caveat| caveat.cause.contains("goes on into what the next"))
    };
    assert!(of("diskspd -b64K -t4 -T256M -o1 -Sd f"));
    assert!(!of("diskspd -b64K -t1 -T256M -o1 -Sd f"));
}

// Breaks when copies that begin further on are taken to go beyond a file whose size is given.
#[test]
fn copies_that_begin_further_on_end_with_the_file() {
    let line = "fio --name=x --filename=g --filesize=16m --numjobs=4 --offset_increment=2m --bs=64k --rw=write";
    let jobs = explained(line).jobs;
    let bytes: Vec<_> = jobs.iter().filter_map(|job| job.write_bytes.exact()).collect();
    assert_eq!(bytes, [16 * MIB, 14 * MIB, 12 * MIB, 10 * MIB]);
    assert!(!codes(line).contains(&"same_addresses".to_owned()));
    assert!(!codes(&line.replace("filesize", "size")).contains(&"same_addresses".to_owned()));
}

// fio 3.33 drew 80% writes, covered all with lfsr, and issued nothing: breaks when the prediction for one of them differs.
#[test]
fn small_print_of_fio_is_kept() {
    let mix = "fio --name=x --rw=randrw --size=8m --rwmixread=90 --rwmixwrite=80";
    assert!(explained(mix).jobs[0].write_bytes.holds(6_815_744));
    let lfsr = "fio --name=x --rw=randread --size=8m --random_generator=lfsr --norandommap";
    assert_eq!(explained(lfsr).jobs[0].unique_bytes.exact(), Some(8 * MIB));
    let made = "fio --name=x --rw=read --size=8m --create_only=1";
    assert_eq!(explained(made).jobs[0].read_bytes.exact(), Some(0));
    assert!(refused("fio --readonly --name=x --rw=write --size=8m").contains("--readonly"));
    assert!(refused("fio --name=x --rw=read --size=8m --zonesize=1m").contains("zonemode"));
    // 6,529,024 bytes were written, and not 8 MiB.
    for rest in ["--rw=randwrite --bs=4k,8k", "--rw=read --zonemode=strided --zonesize=1m"] {
        let job = &explained(&format!("fio --name=x --size=8m {rest}")).jobs[0];
        let both = (job.read_bytes.exact(), job.write_bytes.exact());
        assert!(both.0.is_none() || both.1.is_none(), "{rest}: {both:?}");
        assert_eq!(job.ios.exact(), None, "{rest}");
    }
}

// Draws without a map: fio's own count of 2,617,344 different bytes lies within.
#[test]
fn what_is_drawn_has_bounds() {
    let job = &explained("fio --name=x --rw=randread --size=4m --norandommap").jobs[0];
    assert!(
        job.unique_bytes.holds(2_617_344) && !job.unique_bytes.holds(4 * MIB),
        "{:?}",
        job.unique_bytes
    );
    // Steps of twice the block: 1 MiB where the file is larger than that, 2 MiB where it ends there; half of it is touched.
    let job = &explained("fio --name=x --rw=read:4k --bs=4k --size=2m").jobs[0];
    assert!(job.read_bytes.holds(MIB) && job.read_bytes.holds(2 * MIB), "{:?}", job.read_bytes);
    assert_eq!(job.unique_bytes.min, MIB);
    let job = &explained("fio --name=x --rw=randrw --rwmixread=75 --size=4m").jobs[0];
    assert!(
        job.read_bytes.holds(3_072_000) && !job.read_bytes.holds(2 * MIB),
        "{:?}",
        job.read_bytes
    );
    assert_eq!(job.unique_bytes.exact(), Some(4 * MIB));
    let job = &explained("fio --name=x --rw=rw --rwmixread=75 --size=4m").jobs[0];
    assert!(job.unique_bytes.holds(3_072_000) && !job.unique_bytes.holds(4 * MIB));
}

// Breaks when the share of reads is taken of bytes where fio draws it for each I/O: with one size for reads and another for
// writes, fio 3.33 read 1.656 MiB and wrote 2.344 of these 4.
#[test]
fn a_mix_of_two_sizes_is_of_ios() {
    let line = "fio --name=x --rw=rw --bs=4k,16k --size=8m --rwmixwrite=25 --io_size=4m";
    let job = &explained(line).jobs[0];
    let mib = |bytes: f64| (bytes * MIB as f64) as u64;
    assert!(
        job.read_bytes.holds(mib(1.656)) && !job.read_bytes.holds(3 * MIB),
        "{:?}",
        job.read_bytes
    );
    assert!(
        job.write_bytes.holds(mib(2.344)) && !job.write_bytes.holds(MIB),
        "{:?}",
        job.write_bytes
    );
}

// Breaks when addresses that are partly random are said to come once, because blocks are of several sizes.
#[test]
fn partly_random_addresses_of_several_sizes_are_not_each_once() {
    let line = "fio --name=x --rw=randread --bssplit=4k/50:64k/50 --size=8m --percentage_random";
    let order = |share: &str| explained(&format!("{line}={share}")).jobs[0].order;
    assert_ne!(order("100"), Order::Other);
    assert_eq!(order("50"), Order::Other);
}

// Breaks when a trap of fio's is no longer reported.
#[test]
fn traps_of_fio_are_named() {
    let base = "fio --name=x --filename=f --size=1g --direct=1";
    let traps = [
        ("--rw=read --numjobs=4", "same_addresses"),
        ("--rw=randread --iodepth=32", "depth_not_kept"),
        ("--rw=randread --ioengine=libaio --iodepth=32 --direct=0", "depth_not_kept"),
        ("--rw=randread", "same_each_time"),
        ("--rw=randwrite --loops=3", "replayed_order"),
        ("--rw=read --runtime=60", "ends_early"),
        ("--rw=read --time_based", "time_based_without_runtime"),
        ("--rw=read --runtime=60 --ramp_time=5", "ramp_uses_size"),
        ("--rw=write --direct=0", "writes_to_memory"),
        ("--rw=write", "volatile_cache"),
        ("--rw=write --zero_buffers", "zeros"),
        ("--rw=read --bs=16KiB", "units_reversed"),
        ("--rw=randread --norandommap", "not_all_touched"),
        ("--rw=read --zonemode=strided", "not_predicted"),
        ("--rw=read --iodpth=32", "no_such_option"),
        ("--ioengine=null", "no_drive"),
        ("--name=y --rw=write --size=1g", "at_the_same_time"),
        ("--rw=rw", "mix_on_two_cursors"),
    ];
    for (options, code) in traps {
        let found = codes(&format!("{base} {options}"));
        assert!(found.iter().any(|found| found == code), "{options}: {found:?}");
    }
    let sound = "fio --name=x --filename=/dev/sdb --rw=read --bs=1m --iodepth=8 --ioengine=io_uring --direct=1 \
                 --time_based --runtime=30 --size=8g";
    assert_eq!(codes(sound), ["direct_is_a_request", "one_run"]);
}

// Breaks when a section inherits nothing, or does not wait for those before it: that is another load.
#[test]
fn job_files_are_read_as_fio_reads_them() {
    let text = "; a comment\n[global]\nbs=64k   # and here\nsize = 4m\n[a]\nrw=read\n[b]\nstonewall\nrw=write\nbs=8k\n\
                [global]\nsize=2m\n[c]\nstonewall\n";
    let jobs = explained(text).jobs;
    let facts: Vec<_> = jobs
        .iter()
        .map(|j| (j.group, j.block_bytes_max.0, j.read_bytes.min + j.write_bytes.min))
        .collect();
    assert_eq!(facts, [(0, 65_536, 4 * MIB), (1, 8192, 4 * MIB), (2, 65_536, 2 * MIB)]);
    let files = BTreeMap::from([("x.fio".to_owned(), "[a]\nsize=1m\n[b]\nsize=2m\n".to_owned())]);
    let given = read("", "fio --section=b --bs=1k x.fio").unwrap();
    assert_eq!(job_files(&given), ["x.fio"]);
    let jobs = explain(&given, &files, None).unwrap().jobs;
    assert_eq!((jobs.len(), jobs[0].ios.exact()), (1, Some(2048)));
}

// diskspd's N cursors with one stride: the cause of rates that no disk has.
#[test]
fn diskspds_cursors_and_seeds_repeat_addresses() {
    let job = &explained("diskspd -b1M -o8 -t1 -d10 -W5 -Sd -w0 f").jobs[0];
    assert_eq!(job.order, Order::PrivateCursors { cursors: 8 });
    assert_eq!(job.duplicate_share.expected, Some(0.875));
    assert_eq!(job.reuse, Reuse::AtOnce { within_bytes: 8 * MIB });
    let job = &explained("diskspd -c1G -b4K -o1 -t32 -r -Sd f").jobs[0];
    assert_eq!(job.order, Order::RandomFree { align_bytes: 65_536 });
    assert_eq!(job.unique_bytes.max, Some(64 * MIB));
    let found = codes("diskspd -Zr -c1G -b4K -o32 -t16 -W0 -Sd -L -r f");
    for code in ["same_addresses", "aligned_to_64k", "latency_of_garbage", "same_each_time"] {
        assert!(found.iter().any(|found| found == code), "{code}: {found:?}");
    }
    assert!(!codes("diskspd -c1G -b1M -o1 -t1 -Sd f").contains(&"same_addresses".to_owned()));
}

// Breaks when a stride is taken for random order, threads leave the file, or one cursor is said to repeat data.
#[test]
fn diskspds_strides_and_beginnings_are_its_own() {
    let line = "diskspd -c1G -b64K -s1M -o4 -t2 -Sd f";
    let job = &explained(line).jobs[0];
    assert_eq!(job.order, Order::Strided { step_bytes: MIB });
    assert_eq!(job.duplicate_share.expected, Some(0.875));
    let told = explained(line).caveats;
    assert!(told.iter().any(|told| told.cause.contains("transferred 8 times")), "{told:?}");
    let apart = "diskspd -c1G -b1M -o1 -t4 -T256M -Sd f";
    let whole = explained(apart);
    assert_eq!(whole.jobs[0].span_bytes.map(|bytes| bytes.0), Some(1 << 30));
    let untrue = |cause: &str| cause.contains("1 times") || cause.contains("the 1 I/Os");
    assert!(!whole.caveats.iter().any(|told| untrue(&told.cause)), "{:?}", whole.caveats);
    let commands = whole.equivalent.commands;
    assert!(commands[0].contains("--size 1GiB"), "{commands:?}");
}

// Without its offset the line that is printed measures another place of the disk.
#[test]
fn where_a_read_begins_is_kept() {
    for (line, expected) in [
        ("dd if=/dev/sdb bs=1M skip=102400 count=1024", "--span 100GiB+1GiB"),
        ("dd if=/dev/sdb bs=1M skip=1073741824B count=1024 of=/dev/null", "--span 1GiB+1GiB"),
        ("dd if=/dev/zero of=/dev/sdb bs=1M seek=1024 count=1024", "--span 1GiB+1GiB"),
        ("hdparm -t --offset 500 /dev/sda", "--span 500GiB+16GiB"),
    ] {
        let commands = explained(line).equivalent.commands;
        assert!(commands[0].contains(expected), "{line}: {commands:?}");
    }
    let plan = explained("dd if=/dev/sdb bs=1M skip=1024 count=64").equivalent.plan.unwrap();
    assert_eq!(plan.region.map(|part| (part.offset.0, part.length.0)), Some((1 << 30, 64 * MIB)));
    let away = explained("hdparm -t --offset 500 /dev/sda");
    assert!(away.jobs[0].what.contains("from 500 GiB on"), "{}", away.jobs[0].what);
    assert!(!away.caveats.iter().any(|caveat| caveat.cause.contains("the first gigabytes")));
}

// Each of these was run with dd of coreutils 9: another count of bytes is a prediction of another program.
#[test]
fn dds_last_block_and_largest_read_are_its_own() {
    for (line, bytes, ios) in [
        ("dd if=/dev/zero of=f bs=1M count=16MB iflag=count_bytes", 16_000_000, 16),
        ("dd if=/dev/zero of=f bs=1M count=4B", 4, 1),
        ("dd if=/dev/zero of=f bs=2G count=1", 2_147_479_552, 1),
        ("dd if=/dev/zero of=f bs=2G count=1 iflag=fullblock", 1 << 31, 2),
        ("dd if=/dev/zero of=/dev/null bs=1M count=4", 4 * MIB, 4),
    ] {
        let whole = explained(line);
        let job = &whole.jobs[0];
        let exact = job.read_bytes.exact().unwrap() + job.write_bytes.exact().unwrap();
        let found = (exact, job.ios.exact(), job.unique_bytes.exact());
        assert_eq!(found, (bytes, Some(ios), Some(bytes)), "{line}");
        assert_eq!(job.reuse, Reuse::Never, "{line}");
    }
    let small = "small_blocks".to_owned();
    assert!(codes("dd if=/dev/zero of=f bs=512 count=1000").contains(&small));
    for flag in ["dsync", "direct"] {
        let line = format!("dd if=/dev/zero of=f bs=512 count=1000 oflag={flag}");
        assert!(!codes(&line).contains(&small), "{line}");
    }
    assert!(codes("dd if=/dev/zero of=/dev/null").contains(&"no_drive".to_owned()));
}

// Refused, the commands of most guides could not be explained; unsaid, what follows would seem to be a part of it.
#[test]
fn a_command_is_found_in_a_line() {
    let whole = explained("sync; time dd if=/dev/zero of=f bs=1M count=4 2>&1 | tail -1 && sync");
    assert_eq!(whole.jobs[0].write_bytes.exact(), Some(4 * MIB));
    assert!(whole.caveats.iter().any(|caveat| caveat.code == "not_all_of_the_line"));
    assert!(!codes("time dd if=/dev/zero of=f").contains(&"not_all_of_the_line".to_owned()));
}

// Faults of diskspd for Linux do not apply to commands of CrystalDiskMark, which runs the one for Windows.
#[test]
fn crystaldiskmarks_commands_are_those_of_windows() {
    let line = "diskspd -b4K -o32 -t16 -W0 -S -w0 -r -Z4K -ag -d5 -L f";
    let job = &explained(line).jobs[0];
    assert_eq!((job.way, job.depth_effective, job.threads), (Way::Direct, 32, 16));
    assert_eq!(job.order, Order::RandomFree { align_bytes: 4096 });
    let found = codes(line);
    assert!(found.contains(&"of_windows".to_owned()), "{found:?}");
    for code in ["aligned_to_64k", "latency_of_garbage", "same_addresses", "same_content"] {
        assert!(!found.contains(&code.to_owned()), "{code}: {found:?}");
    }
    assert!(codes(&line.replace("-w0", "-w100")).contains(&"same_content".to_owned()));
    for program in ["diskspd.exe", "DISKSPD.EXE", "C:\\tools\\diskspd.exe", "DiskSpd64.exe"] {
        let job = &explained(&format!("{program} -b1M -o8 -t1 -Sh -d5 -c1G C:\\t\\f.dat")).jobs[0];
        assert_eq!(job.order, Order::Sequential, "{program}");
        assert_eq!(job.targets, ["C:\\t\\f.dat"]);
    }
    // The same without a name or an option of Windows's is the one for Linux.
    let job = &explained("diskspd -b1M -o8 -t1 -Sh -d5 -c1G f").jobs[0];
    assert_eq!(job.order, Order::PrivateCursors { cursors: 8 });
}

#[test]
fn dd_hdparm_and_kdiskmark_are_read() {
    let dd = explained("dd if=/dev/zero of=f bs=1M count=1024 conv=fdatasync");
    assert_eq!(dd.jobs[0].write_bytes.exact(), Some(1 << 30));
    assert_eq!(dd.jobs[0].flushes.exact(), Some(1));
    let found: Vec<_> = dd.caveats.iter().map(|c| c.code.as_str()).collect();
    assert!(found.contains(&"zeros") && !found.contains(&"writes_to_memory"), "{found:?}");
    let both = explained("dd if=a of=b bs=1MB count=10 iflag=direct");
    assert_eq!(
        (both.jobs.len(), both.jobs[0].way, both.jobs[1].way),
        (2, Way::Direct, Way::PageCache)
    );
    assert_eq!(both.jobs[0].read_bytes.exact(), Some(10_000_000));
    let timings = explained("hdparm -tT --direct /dev/sda");
    assert_eq!(timings.jobs[0].order, Order::SameBlock);
    assert_eq!(timings.jobs[1].time_max_ns.unwrap().0, 3_000_000_000);
    let marks = explained("kdiskmark SEQ1MQ8T1 RND4KQ32T16 1GiB");
    assert_eq!(marks.jobs.len(), 4);
    assert_eq!(marks.jobs[0].early_above_bytes_per_s, Some((1u64 << 30) as f64 / 5.0));
    assert_eq!(explained("SEQ1MQ1T1").tool, Tool::Kdiskmark);
}

// The user has to find the place of the error.
#[test]
fn errors_name_the_place_and_what_to_do() {
    for (line, parts) in [
        ("", &["no command"][..]),
        ("iozone -a", &["`iozone`", "fio, diskspd"]),
        ("fio --name=x --rw=raed --size=1g", &["--rw", "`raed`", "randread"]),
        ("fio --name=x --size=1.5g", &["--size", "1 bytes", "1536m"]),
        ("fio --name=x --size=$SIZE", &["--size", "not expanded"]),
        ("fio --name=x --size=50%", &["--size", "--target-size"]),
        ("fio --name=x --size=1g --bs", &["--bs", "missing"]),
        ("fio --name=x --rw=trim --size=1g", &["--rw", "discards"]),
        ("fio --output=x", &["no job", "--name"]),
        ("[x]\nbs=4k\nsize=what", &["job.fio, line 3", "size", "`what`"]),
        ("[global\n", &["job.fio, line 1", "]"]),
        ("dd if=x of=y bs=1.5M", &["bs", "1MB"]),
        ("hdparm -I /dev/sda", &["-I", "-t"]),
        ("diskspd -q f", &["diskspd", "-q"]),
        ("kdiskmark SEQ1M", &["SEQ1M", "SEQ1MQ8T1"]),
        ("iozone -a | tee log", &["`|`"]),
        ("fio --name=x\nfio --name=y", &["line 2"]),
    ] {
        let said = refused(line);
        for part in parts {
            assert!(said.contains(part), "{line}: {said}");
        }
    }
}

// A path that becomes another would be measured, and perhaps written to.
#[test]
fn places_stay_what_they_are() {
    for (file, place) in [
        ("/mnt/a/f", "mark /mnt/a --tests"),
        ("/mnt/TESTS/f", "mark /mnt/TESTS --tests SEQ4KQ1T1 --read-only"),
        ("'/mnt/a b/f'", "mark '/mnt/a b' --tests"),
        ("'-x y/f'", "mark './-x y' --tests"),
        ("f", "mark . --tests"),
        ("/f", "mark / --tests"),
        ("/dev/sdb", "mark /dev/sdb --tests"),
    ] {
        let commands =
            explained(&format!("fio --name=x --size=1g --filename={file}")).equivalent.commands;
        assert!(commands[0].contains(place), "{file}: {commands:?}");
    }
    let mixed = explained("fio --name=x --rw=randrw --size=1g --filename=/mnt/a/f").equivalent;
    assert_eq!(mixed.commands, ["drivescope run PLAN.toml /mnt/a"]);
}

#[test]
fn plans_can_be_read_back() {
    for line in [
        "fio --name=x --rw=randrw --rwmixread=70 --bs=8k --size=1g --iodepth=16 --ioengine=libaio --runtime=30 --time_based --ramp_time=5",
        "fio --name=x --rw=write --rate_iops=100 --size=1g --fsync=1",
        "diskspd -c1G -b4K -o32 -t16 -r -w100 f",
        "dd if=/dev/zero of=f bs=1M count=64",
    ] {
        let plan = explained(line).equivalent.plan.unwrap();
        assert_eq!(Plan::from_toml(&plan.to_toml().unwrap()).unwrap(), plan, "{line}");
    }
}

// Without it the plan measures a gigabyte, or all of a disk, where the command goes over a part.
#[test]
fn a_plan_goes_over_what_the_command_does() {
    let drive = DriveInfo {
        name: "a disk".to_owned(),
        kind: DriveKind::Null,
        model: None,
        serial: None,
        capacity_bytes: Bytes::gib(4096),
        logical_block_bytes: Bytes(512),
        physical_block_bytes: Bytes(4096),
        rotational: None,
        write_cache: None,
        cache_bytes: None,
        link_bytes_per_s: None,
    };
    let two = "fio --filename=/dev/sdb --size=64m --name=a --bs=4k --name=b --offset=1g --size=256m --bs=1m";
    for (line, whole, parts) in [
        ("fio --name=x --filename=/mnt/a/f --bs=4k --size=64m", Some((0, 64 * MIB)), [None, None]),
        ("fio --name=x --filename=/dev/sdb --bs=4k --size=64m", Some((0, 64 * MIB)), [None, None]),
        ("fio --name=x --filename=/dev/sdb --bs=4k", None, [None, None]),
        (two, Some((0, 1280 * MIB)), [Some((0, 64 * MIB)), Some((1 << 30, 256 * MIB))]),
        (
            "fio --name=x --rw=read --bs=64k --numjobs=4 --size=8m",
            Some((0, 32 * MIB)),
            [None, None],
        ),
        ("diskspd -c1G -b4K -o32 -t16 -r -w100 f", Some((0, 1 << 30)), [None, None]),
    ] {
        let plan = explained(line).equivalent.plan.unwrap();
        let bytes = |part: Region| (part.offset.0, part.length.0);
        assert_eq!(plan.region.map(bytes), whole, "{line}");
        for (step, part) in plan.steps.iter().zip(parts) {
            assert!(step.phases.iter().all(|phase| phase.region.map(bytes) == part), "{line}");
        }
        plan.fit(&drive).unwrap();
    }
}

/// If it failed, files larger than any storage would end `explain` with an arithmetic error.
#[test]
fn more_bytes_than_can_be_counted_are_no_error() {
    let job = &explained("fio --name=x --numjobs=4 --filesize=4300000000g --bs=4k").jobs[0];
    assert_eq!(job.read_bytes.min, u64::MAX, "{job:?}");
    let job = &explained("fio --name=x --filesize=400000000000000 --nrfiles=46120").jobs[0];
    assert_eq!(job.unique_bytes.max, Some(u64::MAX), "{job:?}");
}

proptest! {
    /// Any input gets an explanation or an error, and the explanation does not contradict itself.
    #[test]
    fn nothing_that_is_typed_breaks_it(
        program in prop::sample::select(vec!["fio", "dd", "hdparm -t", "diskspd", "kdiskmark"]),
        words in prop::collection::vec(
            prop_oneof![
                "(--|-|)(bs|size|io_size|rw|numjobs|iodepth|loops|offset_increment|filesize|nrfiles|runtime|rate|number_ios|fsync|name|bssplit|time_based|norandommap|filename)(=[0-9a-z%:/,.$-]{0,6})?",
                "--(size|bs|io_size|numjobs|loops|filesize|nrfiles|rate|number_ios|fsync|offset_increment)=[0-9]{1,20}[kmgtp]?",
                "--rw=(rand)?(read|write|rw)(:[0-9]{1,4})?",
                "(if|of|bs|count|skip|seek)=[0-9]{1,18}[kMGTBx]{0,2}",
                "-[a-zA-Z][0-9]{0,19}[KMGb]?",
                "(SEQ|RND)[0-9]{1,3}[KM]Q[0-9]{1,4}T[0-9]{1,3}",
                ".{0,8}",
            ],
            0..8
        )
    ) {
        let line = words.iter().fold(program.to_owned(), |line, word| line + " " + word);
        let given = Given::Words(line.split_whitespace().map(str::to_owned).collect());
        if let Ok(explained) = explain(&given, &BTreeMap::new(), None) {
            for job in explained.jobs {
                for amount in [job.read_bytes, job.write_bytes, job.ios, job.unique_bytes, job.flushes] {
                    let within = amount.expected.is_none_or(|expected| amount.holds(expected));
                    prop_assert!(within && amount.max.is_none_or(|max| max >= amount.min), "{line}: {amount:?}");
                }
                let share = job.duplicate_share;
                prop_assert!(0.0 <= share.min && share.min <= share.max && share.max <= 1.0, "{line}: {share:?}");
            }
        }
        let _ = read("x", &line);
    }
}
