//! Output of tools that watch a machine's I/Os, and tables of such tools: lines of our own, and published files with
//! values that were reckoned by hand.

use std::path::PathBuf;

use crate::common::{all, bytes, rest, text};
use block::{Bytes, Nanos};
use drivescope_trace::import::{Format, Options, open};
use drivescope_trace::{Flags, Io, Kind, TraceInfo};
use proptest::prelude::*;

/// Traces that others published, beside the repository.
const TRACES: &str = "../shared/cases/public-2026-11/trace";

/// The I/Os of a published file, and what is said of it; none on a machine without them.
fn published(name: &str, options: &Options) -> Option<(Vec<Io>, TraceInfo)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !root.join(TRACES).is_dir() {
        println!("skipped: this machine has no {TRACES}");
        return None;
    }
    Some(all(open(&[root.join(TRACES).join(name)], options).unwrap()))
}

/// How long each took, in nanoseconds.
fn q2c(ios: &[Io]) -> Vec<u64> {
    ios.iter().map(|io| io.q2c().unwrap().0).collect()
}

fn bytes_of(ios: &[Io], kind: Kind) -> (usize, u64) {
    let of_kind: Vec<&Io> = ios.iter().filter(|io| io.kind == kind).collect();
    (of_kind.len(), of_kind.iter().map(|io| io.length.0).sum())
}

#[test]
fn biosnoop_has_the_time_of_the_completion() {
    let Some((ios, info)) = published("biosnoop.txt", &Options::default()) else { return };
    assert_eq!((info.source.as_str(), info.spaces.len()), ("biosnoop", 2));
    assert_eq!(bytes_of(&ios, Kind::Write), (14, 1_698_816));
    assert_eq!((ios.len(), ios[0].arrival), (14, Nanos::ZERO));
    // 0.61 ms before the time that it counts from, on a clock that is set forward by 1 s.
    assert_eq!(info.origin, Nanos(999_390_000));
    assert!(info.settled.iter().any(|said| said.contains("set forward")), "{:?}", info.settled);
    assert_eq!(q2c(&ios).iter().sum::<u64>() / 14, 445_000);
    assert_eq!(info.resolution, Nanos::micros(1));
}

#[test]
fn biosnoop_without_a_disk_keeps_its_columns() {
    let Some((ios, info)) = published("biosnoop_unknown.txt", &Options::default()) else { return };
    let names: Vec<&str> =
        ios.iter().map(|io| info.spaces[io.space as usize].name.as_str()).collect();
    let (unknown, sda) = ("unknown", "sda");
    assert_eq!(names, [unknown, unknown, sda, sda, unknown, unknown, unknown, sda, sda]);
    assert_eq!(bytes_of(&ios, Kind::Read), (5, 40));
    assert_eq!(bytes_of(&ios, Kind::Write), (4, 57_344));
    assert_eq!(ios[2].offset, Bytes(2_694_656 * 512));
    assert_eq!(info.processes[&184], "jbd2/sda1-8");
}

/// Names of tasks with blanks, words of flags, time in the queue, and what a tool says besides.
#[test]
fn biosnoop_is_read_with_other_columns() {
    let lines = "Tracing block device I/O. Hit Ctrl-C to end.\n\
        TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   QUE(ms) LAT(ms)\n\
        10.000500   Web Content 2  77      sdb     WS   1000       4096    0.250   0.125\n\
        10.001000   ?              0               RA   8          512     0.000   0.500\n\
        10.002000   kworker/0:1H   9       sdb     FF   0          0       0.000   1.000\n\
        10.003000   fstrim         8       sdb     DS   64         65536   0.000   1.000\n";
    let (ios, info) = all(text(lines, &Options::default()).unwrap());
    assert_eq!((ios.len(), info.skipped_rows, info.origin), (4, 0, Nanos(10_000_125_000)));
    let kinds: Vec<Kind> = ios.iter().map(|io| io.kind).collect();
    assert_eq!(kinds, [Kind::Write, Kind::Read, Kind::Flush, Kind::Discard]);
    assert_eq!(q2c(&ios), [375_000, 500_000, 1_000_000, 1_000_000]);
    assert_eq!(ios[0].d2c(), Some(Nanos::micros(125)));
    assert_eq!((ios[0].flags, ios[1].flags), (Flags::SYNC, Flags::AHEAD));
    assert_eq!((ios[0].pid, info.processes[&77].as_str()), (77, "Web Content 2"));
    let cut = lines.replace("sdb     WS   1000       4096", "sdb     WS   1000");
    let lenient = Options { lenient: true, ..Options::default() };
    assert_eq!(all(text(&cut, &lenient).unwrap()).1.skipped_rows, 1);
}

#[test]
fn iosnoop_has_start_and_end() {
    let Some((ios, info)) = published("iosnoop.txt", &Options::default()) else { return };
    assert_eq!((ios.len(), info.source.as_str()), (8, "iosnoop"));
    assert!(ios.iter().all(|io| io.flags == Flags::SYNC && io.length == Bytes(4096)));
    assert_eq!(bytes_of(&ios, Kind::Write), (8, 8 * 4096));
    assert_eq!(info.spaces[0].name, "8,160");
    let mut took = q2c(&ios);
    took.sort_unstable();
    let us = [2_336, 4_890, 7_127, 12_251, 16_046, 16_716, 21_685, 23_747];
    assert_eq!(took, us.map(|us| us * 1_000));
}

#[test]
fn iosnoop_without_times_has_an_order() {
    let lines = "Tracing block I/O. Ctrl-C to end.\n\
        COMM         PID    TYPE DEV      BLOCK        BYTES     LATms\n\
        dd           12     R    8,0      100          8192      0.50\n\
        <idle>       0      WM   8,16     200          4096      1.25\n\
        Ending tracing...\n";
    let (ios, info) = all(text(lines, &Options::default()).unwrap());
    assert_eq!(q2c(&ios), [500_000, 1_250_000]);
    assert!(ios.iter().all(|io| io.arrival == Nanos::ZERO));
    assert_eq!((info.spaces.len(), ios[1].flags), (2, Flags::META));
    assert!(info.settled.iter().any(|said| said.contains("only an order")), "{:?}", info.settled);
    let ends = lines.replace("COMM  ", "ENDs     COMM  ").replace("dd   ", "5.0000 dd   ");
    let ends = ends.replace("<idle> ", "6.000000 <idle> ");
    let (ios, _) = all(text(&ends, &Options::default()).unwrap());
    assert_eq!(ios[1].arrival, Nanos(6_000_000_000 - 1_250_000 - 5_000_000_000 + 500_000));
}

/// Without their head, rows do not say what their columns are.
#[test]
fn rows_without_a_head_are_refused() {
    let options = Options { format: Some(Format::Biosnoop), ..Options::default() };
    let said = text("0.5 dd 1 sda R 8 512 0.5\n", &options).err().unwrap().to_string();
    assert!(said.contains("begins with a head"), "{said}");
}

#[test]
fn ftrace_has_a_flush_that_failed() {
    let Some((ios, info)) = published("ftrace_text.txt", &Options::default()) else { return };
    assert_eq!((ios.len(), info.source.as_str()), (1, "ftrace text"));
    assert_eq!((ios[0].kind, ios[0].error, ios[0].pid), (Kind::Flush, 5, 306_069));
    assert_eq!(q2c(&ios), [261_000]);
    let tally = &info.spaces[0].tally;
    assert_eq!((tally.drive_flushes, tally.drive_flushing), (1, Nanos::micros(210)));
}

#[test]
fn perf_script_has_requests_without_bios() {
    let Some((ios, info)) = published("perf_script.txt", &Options::default()) else { return };
    let whole: Vec<(u64, Option<Nanos>)> =
        ios.iter().map(|io| (io.offset.0 / 512, io.d2c())).collect();
    assert_eq!(whole, [(2_564_656, Some(Nanos::micros(72))), (3_191_272, Some(Nanos::micros(61)))]);
    assert_eq!(bytes_of(&ios, Kind::Read), (2, 4096 + 131_072));
    assert_eq!(info.lost_events, 0);
}

#[test]
fn blkparse_may_print_no_names_of_tasks() {
    let Some((ios, _)) = published("blkparse_without_process.txt", &Options::default()) else {
        return;
    };
    assert_eq!(q2c(&ios), [244_608, 154_600]);
    assert_eq!(bytes_of(&ios, Kind::Write), (1, 4096));
    assert_eq!(bytes_of(&ios, Kind::Read), (1, 32_768));
}

/// Other events, a lost stretch, and an error between the I/Os.
#[test]
fn events_as_text_are_paired_as_binary_ones_are() {
    let lines = "# tracer: nop\n\
        <idle>-0 [001] d.h. 80.000001: sched_wakeup: comm=dd\n\
        dd-9 [001] .... 80.000010: block_bio_queue: 8,0 WS 2048 + 16 [dd]\n\
        dd-9 [001] .... 80.000012: block_getrq: 8,0 WS 2048 + 16 [dd]\n\
        dd-9 [001] .... 80.000013: block_rq_insert: 8,0 WS 8192 () 2048 + 16 none,0,0 [dd]\n\
        CPU:0 [LOST 4 EVENTS]\n\
        kworker/1:1H-30 [001] .... 80.000020: block_rq_issue: 8,0 WS 8192 () 2048 + 16 none,0,0 [kworker/1:1H]\n\
        <idle>-0 [001] d.h. 80.000120: block_rq_complete: 8,0 WS () 2048 + 16 none,0,0 [-121]\n";
    let (ios, info) = all(text(lines, &Options::default()).unwrap());
    assert_eq!((ios.len(), ios[0].error, ios[0].pid), (1, 121, 9));
    assert_eq!((q2c(&ios), ios[0].d2c()), (vec![110_000], Some(Nanos::micros(100))));
    assert_eq!((info.lost_events, info.resolution), (4, Nanos::micros(1)));
    assert_eq!(info.processes[&9], "dd");
    assert_eq!(info.origin, Nanos(80_000_010_000));
}

/// In the form that blkparse has with names left out.
#[test]
fn lines_of_blkparse_without_names_are_events() {
    let lines = "8,0 1 1 0.000000100 7 Q R 64 + 8\n8,0 1 2 0.000000200 7 G R 64 + 8\n\
        8,0 1 3 0.000000300 7 P N\n8,0 1 4 0.000000400 7 D R 64 + 8\n8,0 1 5 0.000001100 0 C R 64 + 8\n";
    let (ios, info) = all(text(lines, &Options::default()).unwrap());
    assert_eq!((q2c(&ios), info.processes.len(), ios[0].error), (vec![1_000], 0, 0));
    // If the previous line has a name, a line without one is cut off.
    let cut = "8,0 1 1 0.000000100 7 Q R 64 + 8 [dd]\n8,0 1 2 0.000000200 7 G R 64 + 8\n";
    let said = rest(text(cut, &Options::default()).unwrap().as_mut()).unwrap_err().to_string();
    assert!(said.contains("line 2") && said.contains("breaks off"), "{said}");
}

#[test]
fn wpaexporter_writes_decimal_commas() {
    let Some((ios, info)) = published("wpaexporter_comma.csv", &Options::default()) else { return };
    assert_eq!(bytes_of(&ios, Kind::Read), (52, 6_597_120));
    assert_eq!(bytes_of(&ios, Kind::Write), (15, 135_168));
    assert_eq!(bytes_of(&ios, Kind::Flush), (5, 0));
    assert_eq!(info.origin, Nanos(1_079_943_800));
    let last = ios.iter().filter_map(|io| io.completed.get()).max();
    assert_eq!(last, Some(Nanos(763_440_800)));
    let (flushes, others): (Vec<Io>, Vec<Io>) = ios.iter().partition(|io| io.kind == Kind::Flush);
    let (flushes, others) = (q2c(&flushes), q2c(&others));
    assert_eq!(flushes.iter().sum::<u64>() / 5, 1_429_340);
    assert_eq!((others.iter().sum::<u64>() / 67, others.iter().max()), (200_017, Some(&1_360_300)));
}

fn columns(map: &str) -> Options {
    Options { columns: Some(map.parse().unwrap()), ..Options::default() }
}

#[test]
fn dates_are_times_and_a_zone_is_heeded() {
    let map = "time,pid,process,offset:sectors,op,size:bytes,latency:ms,-,cpu,-,space";
    let Some((ios, info)) = published("datetime_ops.csv", &columns(map)) else { return };
    let kinds: Vec<Kind> = ios.iter().map(|io| io.kind).collect();
    assert_eq!(kinds, [Kind::Write, Kind::Read, Kind::Flush, Kind::Discard]);
    let lengths: Vec<u64> = ios.iter().map(|io| io.length.0).collect();
    assert_eq!(lengths, [8_192, 16_384, 0, 1_048_576]);
    assert_eq!(ios[3].arrival, Nanos::micros(16_545));
    assert_eq!(q2c(&ios), [412_000, 102_000, 3_900_000, 800_000]);
    assert_eq!(info.origin_unix_ns, Some(1_762_078_530_123_456_000));
    assert_eq!(info.resolution, Nanos::micros(1));

    let rows = "2024-02-29T23:59:59.25+01:00,R,8,1\n2024-02-29T22:59:59.75Z,WFS,16,1\n";
    let (ios, info) = all(text(rows, &columns("time,op,offset:sectors,size:sectors")).unwrap());
    assert_eq!((ios[1].arrival, info.resolution), (Nanos::millis(500), Nanos::millis(10)));
    assert_eq!((ios[1].kind, ios[1].flags), (Kind::Write, Flags::SYNC.with(Flags::FUA)));
    assert_eq!(info.origin_unix_ns, Some(1_709_247_599_250_000_000));
}

#[test]
fn the_time_may_be_that_of_the_completion_alone() {
    let rows = "0.000000,WS,8,4096,1.5\n0.004000,FF,0,0,0.25\n0.006000,DS,64,8192,1\n0.007000,RAM,8,512,\n";
    let map = "completed:s,op,offset:sectors,size:bytes,latency:ms";
    let lenient = Options { lenient: true, ..columns(map) };
    let (ios, info) = all(text(rows, &lenient).unwrap());
    assert_eq!((info.skipped_rows, info.origin), (1, Nanos(998_500_000)), "{:?}", info.faults);
    let found: Vec<(u64, Kind)> = ios.iter().map(|io| (io.arrival.0, io.kind)).collect();
    let us = |us: u64| us * 1_000;
    let wanted = [(0, Kind::Write), (us(5_250), Kind::Flush), (us(6_500), Kind::Discard)];
    assert_eq!(found, wanted);
    assert_eq!(q2c(&ios), [us(1_500), us(250), us(1_000)]);
    // A completion without a latency says nothing of the arrival.
    assert!("completed:s,op,offset,size".parse::<drivescope_trace::import::Columns>().is_err());
    assert!(format!("time,{map}").parse::<drivescope_trace::import::Columns>().is_err());
}

#[test]
fn codes_are_operations_when_that_is_said() {
    let ops = |text: &str| Some(text.parse().unwrap());
    let map = columns("-,time:s,op,size:bytes,offset:sectors");
    let said = Options { ops: ops("2a=write,28=read"), ..map.clone() };
    if let Some((ios, info)) = published("libcachesim_scsi_op.csv", &said) {
        assert_eq!(bytes_of(&ios, Kind::Write), (39, 224_768));
        assert_eq!(ios[38].arrival, Nanos::millis(6_000));
        assert!(info.settled.iter().any(|said| said.contains("--op")), "{:?}", info.settled);
    }
    let map = columns("offset:sectors,-,size:bytes,op,time:s,-,issued:s,completed:s");
    let said = Options { ops: ops("1=write,5=write,0=read,4=read"), ..map.clone() };
    if let Some((ios, _)) = published("nexus5_bits.txt", &said) {
        assert_eq!(q2c(&ios), [1_644_000, 544_000, 3_544_000]);
        assert_eq!(bytes_of(&ios, Kind::Read), (1, 8_192));
        assert_eq!(bytes_of(&ios, Kind::Write), (2, 8_192));
    }
    let rows = "1.5,2A,512,8\n1.6,88,512,8\n1.7,12,36,0\n1.8,35,0,0\n";
    let map = columns("time:s,op,size:bytes,offset:sectors");
    let said = Options { ops: ops("2a=write,88=read,12=-,35=flush"), ..map.clone() };
    let (ios, info) = all(text(rows, &said).unwrap());
    let kinds: Vec<Kind> = ios.iter().map(|io| io.kind).collect();
    assert_eq!(kinds, [Kind::Write, Kind::Read, Kind::Flush]);
    assert_eq!(info.ignored_rows, 1);
    let said = Options { ops: ops("2a=write"), ..map };
    let said = rest(text(rows, &said).unwrap().as_mut()).unwrap_err().to_string();
    assert!(said.contains("`88`") && said.contains("--op 2a=write"), "{said}");
    for wrong in ["2a", "2a=copy", "2a=write,2A=read"] {
        assert!(wrong.parse::<drivescope_trace::import::Ops>().is_err(), "{wrong}");
    }
}

/// The kept files of each format that has a head, an event or a magic.
fn kept() -> Vec<Vec<u8>> {
    let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus");
    [
        "biosnoop/good.txt",
        "iosnoop/good.txt",
        "ftrace/good.txt",
        "blkparse/good.txt",
        "wpa/good.csv",
    ]
    .map(|name| std::fs::read(corpus.join(name)).unwrap())
    .to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    /// Files with bytes that are others, or not there, are read or refused.
    #[test]
    fn damage_makes_no_reader_fall(
        mut content in prop::sample::select(kept()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), "[ -~]|[\n\t0-9]|[0-9]{18}", any::<bool>()), 1..6),
        lenient in any::<bool>(),
    ) {
        for (at, put, over) in changes {
            let at = at.index(content.len());
            let until = if over { (at + put.len()).min(content.len()) } else { at };
            content.splice(at..until, put.bytes());
        }
        let options = Options { lenient, ..Options::default() };
        if let Ok(mut source) = bytes(&content, &options) {
            let _read_or_refused = rest(source.as_mut());
        }
    }
}
