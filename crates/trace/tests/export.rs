//! Traces in the formats of others: to the letter, as their readers take them, and with a word for what is lost.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use block::{Bytes, Nanos};
use drivescope_trace::export::{Exported, fio, msr};
use drivescope_trace::{
    Existing, Flags, InMemory, Io, Kind, Mark, Source, Space, Stamp, TraceInfo,
};

fn io(us: u64, space: u32, kind: Kind, offset: u64, length: u64) -> Io {
    let mut io = Io::arriving(Nanos::micros(us), kind, Bytes(offset), Bytes(length));
    io.space = space;
    io
}

fn spaces(names: &[&str]) -> TraceInfo {
    let space = |name: &&str| Space { name: (*name).to_owned(), ..Space::default() };
    TraceInfo { spaces: names.iter().map(space).collect(), ..TraceInfo::default() }
}

type Export = fn(&mut dyn Source, &Path) -> Exported;

/// Exports a trace; returns the file's text and the result.
fn written(info: &TraceInfo, ios: &[Io], export: Export) -> (String, Exported) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    let said = export(&mut InMemory::new(info.clone(), ios.to_vec()), &path);
    (fs::read_to_string(path).unwrap(), said)
}

fn v2(source: &mut dyn Source, path: &Path) -> Exported {
    fio::write(source, path, Existing::Keep, fio::Version::Two).unwrap()
}

fn v3(source: &mut dyn Source, path: &Path) -> Exported {
    fio::write(source, path, Existing::Keep, fio::Version::Three).unwrap()
}

fn cambridge(source: &mut dyn Source, path: &Path) -> Exported {
    msr::write(source, path, Existing::Keep).unwrap()
}

fn mixed() -> Vec<Io> {
    vec![
        io(0, 0, Kind::Read, 0, 4096),
        io(1_500, 1, Kind::Write, 8192, 512),
        io(1_700, 1, Kind::Flush, 0, 0),
        io(3_000, 0, Kind::Discard, 0, 5 << 30),
        io(3_000, 0, Kind::WriteZeroes, 0, 4096),
    ]
}

#[test]
fn fio_of_version_3_has_a_time_on_each_line() {
    let (text, said) = written(&spaces(&["sda", "my disk"]), &mixed(), v3);
    assert_eq!(
        text,
        "fio version 3 iolog\n\
         1 sda add\n\
         1 sda open\n\
         1 sda read 0 4096\n\
         1501 my_disk add\n\
         1501 my_disk open\n\
         1501 my_disk write 8192 512\n\
         1701 my_disk sync 0 0\n\
         3001 sda trim 0 2147483648\n\
         3001 sda trim 2147483648 2147483648\n\
         3001 sda trim 4294967296 1073741824\n\
         3001 sda close\n\
         3001 my_disk close\n"
    );
    assert_eq!((said.ios, said.left_out), (4, 1));
    assert_eq!(
        said.lost,
        [
            "The format has no word for some I/Os, which are left out: 1 write_zeroes.",
            "1 I/Os of more than 2 GiB are several in the file."
        ]
    );
    assert_eq!(
        said.notes,
        [
            "fio takes no blanks in names: `my disk` is `my_disk`.",
            "fio takes sda, my_disk for files in its own directory, and makes them: --replay_redirect=/dev/sdX names a \
             drive, which is then written to where the log holds writes.",
            "fio 3.33 and before pass over `trim` in a log."
        ]
    );
}

#[test]
fn fio_of_version_2_waits_in_milliseconds_from_the_start() {
    let (text, said) = written(&spaces(&["a", "a"]), &mixed()[..3], v2);
    assert_eq!(
        text,
        "fio version 2 iolog\n\
         a add\n\
         a open\n\
         a read 0 4096\n\
         a.1 add\n\
         a.1 open\n\
         a.1 wait 1 0\n\
         a.1 write 8192 512\n\
         a.1 sync 0 0\n\
         a close\n\
         a.1 close\n"
    );
    assert_eq!(said.lost, ["Times are cut to milliseconds."]);
}

#[test]
fn msr_has_file_times_and_response_times() {
    let mut ios = mixed();
    ios[0].completed = Stamp::at(Nanos(149_960));
    ios[1].arrival = Nanos(1_500_099);
    let mut info = spaces(&["hm_1", "my disk"]);
    // The first line of SNIA's hm_0.csv has the tick 128166372003061629.
    info.origin_unix_ns = Some((128_166_372_003_061_629 - 116_444_736_000_000_000) * 100);
    let (text, said) = written(&info, &ios, cambridge);
    assert_eq!(
        text,
        "128166372003061629,hm,1,Read,0,4096,1500\n\
         128166372003076629,my_disk,1,Write,8192,512,0\n"
    );
    assert_eq!((said.ios, said.left_out), (2, 3));
    assert_eq!(
        said.lost,
        [
            "The format has no word for some I/Os, which are left out: 1 flush, 1 discard, 1 write_zeroes.",
            "Times are cut to 100 ns."
        ]
    );
    assert_eq!(
        said.notes,
        [
            "1 I/Os have no known completion; their response time is written as 0.",
            "Spaces are called by host and disk: `my disk` is my_disk,1."
        ]
    );
    // Without a date, the one that is stated.
    info.origin_unix_ns = None;
    let (text, said) = written(&info, &ios[..1], cambridge);
    assert_eq!(text, "128165760000000000,hm,1,Read,0,4096,1500\n");
    assert!(said.notes[0].contains("2007-02-22 00:00 UTC"), "{:?}", said.notes);
}

/// Two spaces that would have one name keep apart: merged, their addresses would mean nothing.
#[test]
fn spaces_keep_apart() {
    let ios: Vec<_> = (0..4).map(|space| io(0, space, Kind::Read, 0, 512)).collect();
    let (text, _) = written(&spaces(&["usr_1", "usr.1", ""]), &ios, cambridge);
    let disks: Vec<_> = text
        .lines()
        .map(|line| line.split(',').skip(1).take(2).collect::<Vec<_>>().join(","))
        .collect();
    assert_eq!(disks, ["usr,1", "usr_1,1", "space,2", "space,3"]);
    let (text, _) = written(&spaces(&["a b", "a\tb", ""]), &ios, v3);
    let files: Vec<_> = text.lines().filter_map(|line| line.strip_suffix(" add")).collect();
    assert_eq!(files, ["1 a_b", "1 a_b.1", "1 space2", "1 space3"]);
}

/// All that the trace knew and the format cannot hold is reported, and nothing else.
#[test]
fn only_what_was_there_is_lost() {
    let (_, said) = written(&spaces(&["a"]), &[io(5, 0, Kind::Read, 0, 512)], v3);
    assert_eq!(said.lost, [""; 0]);
    let mut full = io(5, 0, Kind::Read, 0, 512);
    full.issued = Stamp::at(Nanos(6_000));
    full.completed = Stamp::at(Nanos(7_000));
    full.flags = Flags::HEAD.with(Flags::SYNC);
    (full.pid, full.cpu, full.error, full.request_bytes) = (1, 1, 5, Bytes(512));
    let mut info = spaces(&["a"]);
    info.marks.push(Mark { at: Nanos(1), text: "go".to_owned() });
    info.origin_unix_ns = Some(0);
    let (_, said) = written(&info, &[full], v3);
    assert_eq!(
        said.lost,
        [
            "When I/Os completed is not kept: the log says what to issue.",
            "The date of the trace is not kept.",
            "When I/Os were allocated, inserted, merged and issued is not kept, only when they arrived.",
            "What was special about I/Os is not kept: sync, head.",
            "Not kept: tasks, CPUs, lengths of requests, errors, marks."
        ]
    );
}

/// fio itself replays what was exported: every I/O, on both files, and not before its time.
#[test]
fn fio_replays_it() {
    if Command::new("fio").arg("--version").output().is_err() {
        println!("skipped: fio is not installed");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let names: Vec<_> = ["first", "second"].map(|name| directory.path().join(name)).into();
    for name in &names {
        File::create(name).unwrap().set_len(1 << 20).unwrap();
    }
    let info = spaces(&[names[0].to_str().unwrap(), names[1].to_str().unwrap()]);
    let mut ios: Vec<_> = (0..20_u64)
        .map(|n| io(n * 20_000, n as u32 % 2, Kind::ALL[n as usize / 2 % 2], n << 13, 4096))
        .collect();
    ios.push(io(400_000, 0, Kind::Flush, 0, 0));
    ios.push(io(1_200_000, 1, Kind::Read, 4096, 8192));
    for (export, name) in [(v2 as Export, "v2"), (v3, "v3")] {
        let log = directory.path().join(name);
        let said = export(&mut InMemory::new(info.clone(), ios.clone()), &log);
        assert_eq!((said.ios, said.left_out), (22, 0));
        let out = Command::new("fio")
            .args(["--name=replay", "--ioengine=psync", "--output-format=json"])
            .arg(format!("--read_iolog={}", log.display()))
            .current_dir(directory.path())
            .output()
            .unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        let json = &text[text.find('{').unwrap_or_else(|| panic!("{name}: {text}"))..];
        let report: serde_json::Value = serde_json::from_str(json).unwrap();
        let job = &report["jobs"][0];
        let sums = |op: &str| (job[op]["total_ios"].as_u64(), job[op]["io_bytes"].as_u64());
        assert_eq!(job["error"], 0, "{name}: {text}");
        assert_eq!(sums("read"), (Some(11), Some(10 * 4096 + 8192)), "{name}");
        assert_eq!(sums("write"), (Some(10), Some(10 * 4096)), "{name}");
        assert_eq!(sums("sync").0, Some(1), "{name}");
        // fio counts version 2 from its own start, which is some 100 ms before that of its job.
        let at_least = if name == "v2" { 300 } else { 1_190 };
        let took = job["job_runtime"].as_u64().unwrap();
        assert!((at_least..30_000).contains(&took), "{name} took {took} ms");
    }
}
