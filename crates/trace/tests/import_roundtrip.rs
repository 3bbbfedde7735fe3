//! Every format, both ways: random I/Os are printed as the format has them, found out without a word from the user, and
//! read back equal.

use std::fmt::Write as _;

use crate::common::{all, bytes};
use block::{Bytes, Nanos};
use drivescope_trace::import::{Format, Options, ReadFlag};
use drivescope_trace::{Io, Kind, Stamp, TraceInfo};
use proptest::prelude::*;

/// An I/O as a printer needs it: times in microseconds since the first, addresses in sectors.
#[derive(Clone, Debug)]
struct Drawn {
    us: u64,
    latency_us: u64,
    write: bool,
    sector: u64,
    sectors: u64,
    space: u32,
    pid: u32,
}

fn drawn(fewest: usize) -> impl Strategy<Value = Vec<Drawn>> {
    let one = (
        1..5_000_000u64,
        1..900_000u64,
        any::<bool>(),
        0..1u64 << 36,
        1..2_048u64,
        0..5u32,
        1..40_000u32,
    );
    prop::collection::vec(one, fewest..60).prop_map(|rows| {
        let mut us = 0;
        let mut first = true;
        rows.into_iter()
            .map(|(step, latency_us, write, sector, sectors, space, pid)| {
                us += if first { 0 } else { step };
                first = false;
                Drawn { us, latency_us, write, sector, sectors, space, pid }
            })
            .collect()
    })
}

/// Fields of an I/O that a format keeps.
#[derive(Clone, Copy, Default)]
struct Keeps {
    latency: bool,
    pid: bool,
}

fn reads_back(
    printed: &[u8],
    options: &Options,
    source: &str,
    rows: &[Drawn],
    keeps: Keeps,
    space: impl Fn(u32) -> String,
) -> Result<TraceInfo, TestCaseError> {
    let opened = bytes(printed, options);
    let Ok(opened) = opened else {
        return Err(TestCaseError::fail(format!(
            "{}\n{}",
            opened.err().unwrap(),
            String::from_utf8_lossy(printed)
        )));
    };
    let (ios, info) = all(opened);
    prop_assert_eq!(&info.source, source);
    prop_assert_eq!(ios.len(), rows.len());
    for (io, row) in ios.iter().zip(rows) {
        let arrival = Nanos::micros(row.us);
        let kind = if row.write { Kind::Write } else { Kind::Read };
        let expected = Io {
            completed: if keeps.latency {
                Stamp::at(arrival + Nanos::micros(row.latency_us))
            } else {
                Stamp::NONE
            },
            pid: if keeps.pid { row.pid } else { 0 },
            space: io.space,
            ..Io::arriving(arrival, kind, Bytes(row.sector * 512), Bytes(row.sectors * 512))
        };
        prop_assert_eq!(*io, expected);
        prop_assert_eq!(&info.spaces[io.space as usize].name, &space(row.space));
    }
    prop_assert_eq!((info.skipped_rows, info.ignored_rows), (0, 0));
    Ok(info)
}

fn print(rows: &[Drawn], line: impl Fn(&Drawn) -> String) -> Vec<u8> {
    rows.iter().fold(String::new(), |text, row| text + &line(row) + "\n").into_bytes()
}

/// `R` and `W`, or longer.
fn letter<'a>(row: &Drawn, read: &'a str, write: &'a str) -> &'a str {
    if row.write { write } else { read }
}

/// 2020-01-01 in seconds.
const NEW_YEAR: u64 = 1_577_836_800;

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn spc(rows in drawn(3)) {
        let text = print(&rows, |r| format!(
            "{},{},{},{},{}.{:06}", r.space, r.sector, r.sectors * 512, letter(r, "r", "W"),
            r.us / 1_000_000, r.us % 1_000_000
        ));
        reads_back(&text, &Options::default(), "SPC", &rows, Keeps::default(), |s| format!("ASU {s}"))?;
    }

    #[test]
    fn msr(rows in drawn(3)) {
        let text = print(&rows, |r| format!(
            "{},web,{},{},{},{},{}", 128_166_372_003_061_629 + r.us * 10, r.space, letter(r, "Read", "Write"),
            r.sector * 512, r.sectors * 512, r.latency_us * 10
        ));
        let info = reads_back(&text, &Options::default(), "MSR Cambridge", &rows,
            Keeps { latency: true, pid: false }, |s| format!("web_{s}"))?;
        // 2007-02-22 17:00:00.3061629 UTC, by Python's datetime.
        prop_assert_eq!(info.origin_unix_ns, Some(1_172_163_600_306_162_900));
    }

    #[test]
    fn systor(rows in drawn(3)) {
        let text = print(&rows, |r| format!(
            "{}.{:06}000,{}.{:06}000,{},{},{},{}", NEW_YEAR + r.us / 1_000_000, r.us % 1_000_000,
            r.latency_us / 1_000_000, r.latency_us % 1_000_000, letter(r, "R", "W"), r.space,
            r.sector * 512, r.sectors * 512
        ));
        let text = [&b"Timestamp,Response,IOType,LUN,Offset,Size\n"[..], &text].concat();
        let info = reads_back(&text, &Options::default(), "SYSTOR '17", &rows,
            Keeps { latency: true, pid: false }, |s| format!("LUN {s}"))?;
        prop_assert_eq!(info.origin_unix_ns, Some(NEW_YEAR as i64 * 1_000_000_000));
        prop_assert_eq!(info.resolution, Nanos::micros(1));
    }

    #[test]
    fn alibaba(rows in drawn(3)) {
        let text = print(&rows, |r| format!(
            "{},{},{},{},{}", r.space, letter(r, "R", "W"), r.sector * 512, r.sectors * 512,
            NEW_YEAR * 1_000_000 + r.us
        ));
        let info = reads_back(&text, &Options::default(), "Alibaba", &rows, Keeps::default(),
            |s| format!("device {s}"))?;
        prop_assert_eq!(info.origin_unix_ns, Some(NEW_YEAR as i64 * 1_000_000_000));
    }

    #[test]
    fn k5cloud(rows in drawn(3)) {
        let text = print(&rows, |r| format!(
            "{},{}.{:06},{},{},{}", r.space, r.us / 1_000_000, r.us % 1_000_000, letter(r, "R", "W"),
            r.sector * 512, r.sectors * 512
        ));
        reads_back(&text, &Options::default(), "K5cloud", &rows, Keeps::default(), |s| format!("volume {s}"))?;
    }

    /// Whole seconds: what is read back is the second, and the order; within a second arrivals are spread.
    #[test]
    fn tencent(rows in drawn(3)) {
        let text = print(&rows, |r| format!(
            "{},{},{},{},{}", NEW_YEAR + r.us / 1_000_000, r.sector, r.sectors, u8::from(r.write), r.space
        ));
        let (ios, info) = all(bytes(&text, &Options::default()).unwrap());
        prop_assert_eq!(&info.source, "Tencent CBS");
        prop_assert_eq!(info.resolution, Nanos::secs(1));
        prop_assert_eq!(ios.len(), rows.len());
        for (io, row) in ios.iter().zip(&rows) {
            prop_assert_eq!(io.arrival.0 / 1_000_000_000, row.us / 1_000_000);
            prop_assert_eq!((io.offset, io.length), (Bytes(row.sector * 512), Bytes(row.sectors * 512)));
            prop_assert_eq!(io.kind, if row.write { Kind::Write } else { Kind::Read });
        }
        // Evenly: the steps within a second differ by a nanosecond at most.
        for second in ios.chunk_by(|a, b| a.arrival.0 / 1_000_000_000 == b.arrival.0 / 1_000_000_000) {
            let step = 1_000_000_000 / second.len() as u64;
            for pair in second.windows(2) {
                prop_assert!((pair[1].arrival.0 - pair[0].arrival.0).abs_diff(step) <= 1);
            }
        }
    }

    #[test]
    fn fiu(rows in drawn(3)) {
        let text = print(&rows, |r| format!(
            "{} {} a process {} {} {} 6 {} 0123456789abcdef0123456789abcdef",
            89_966_483_333 + r.us * 1_000, r.pid, r.sector, r.sectors, letter(r, "R", "W"), r.space
        ));
        let info = reads_back(&text, &Options::default(), "FIU", &rows,
            Keeps { latency: false, pid: true }, |s| format!("6,{s}"))?;
        prop_assert_eq!(info.processes.get(&rows[0].pid).map(String::as_str), Some("a process"));
    }

    #[test]
    fn fio_v3(rows in drawn(3)) {
        let mut text = String::from("fio version 3 iolog\n7 /dev/sdx0 add\n8 /dev/sdx0 open\n");
        for r in &rows {
            let action = letter(r, "read", "write");
            let (offset, length) = (r.sector * 512, r.sectors * 512);
            writeln!(text, "{} /dev/sdx{} {action} {offset} {length}", 1_000 + r.us, r.space).unwrap();
        }
        text.push_str("90000000000 /dev/sdx0 close\n");
        reads_back(text.as_bytes(), &Options::default(), "fio iolog v3", &rows, Keeps::default(),
            |s| format!("/dev/sdx{s}"))?;
    }

    #[test]
    fn fio_v2_with_waits_since_the_last(rows in drawn(3)) {
        let mut text = String::from("fio version 2 iolog\n/dev/sdx0 add\n/dev/sdx0 open\n");
        let mut now = 0;
        for r in &rows {
            writeln!(text, "/dev/sdx{} wait {} 0", r.space, r.us - now).unwrap();
            now = r.us;
            let action = letter(r, "read", "write");
            writeln!(text, "/dev/sdx{} {action} {} {}", r.space, r.sector * 512, r.sectors * 512).unwrap();
        }
        let options = Options { time_unit: Some("us".parse().unwrap()), ..Options::default() };
        reads_back(text.as_bytes(), &options, "fio iolog v2", &rows, Keeps::default(), |s| format!("/dev/sdx{s}"))?;
    }

    #[test]
    fn vscsi(rows in drawn(3), second in any::<bool>()) {
        let mut file = Vec::new();
        for (number, r) in rows.iter().enumerate() {
            let command = if r.write { 0x2au16 } else { 0x88 };
            let (number, length) = ((number as u32).to_le_bytes(), (r.sectors as u32 * 512).to_le_bytes());
            let (block, time) = (r.sector.to_le_bytes(), (77 + r.us).to_le_bytes());
            if second {
                file.extend([&command.to_le_bytes()[..], &0x0200u16.to_le_bytes(), &number, &length, &[1, 0, 0, 0],
                    &block, &time, &r.latency_us.to_le_bytes()].concat());
            } else {
                file.extend([&number[..], &length, &[1, 0, 0, 0], &command.to_le_bytes(), &0x0100u16.to_le_bytes(),
                    &block, &time].concat());
            }
        }
        let source = if second { "vscsi v2" } else { "vscsi v1" };
        reads_back(&file, &Options::default(), source, &rows,
            Keeps { latency: second, pid: false }, |_| "trace: disk".to_owned())?;
    }

    /// Logged at completion, so that rows come in the order of that.
    #[test]
    fn etw(rows in drawn(3), with_cpu in any::<bool>()) {
        let (named, cpu) = if with_cpu { ("ThreadID, CPU", "11844, 1") } else { ("ThreadID", "11844") };
        let mut text = format!(
            "BeginHeader\n  DiskRead, TimeStamp, Process Name ( PID), {named}, IrpPtr, ByteOffset, IOSize, \
             ElapsedTime, DiskNum\n DiskWrite, TimeStamp, Process Name ( PID), {named}, IrpPtr, ByteOffset, IOSize, \
             ElapsedTime, DiskNum\n DiskReadInit, TimeStamp, Process Name ( PID), {named}, IrpPtr\nEndHeader\n"
        );
        let mut logged = rows.clone();
        logged.sort_by_key(|r| r.us + r.latency_us);
        for r in &logged {
            writeln!(
                text, "   {}, {}, app.exe ({:5}), {cpu}, 0xffff, 0x{:010x}, 0x{:08x}, {}, {}",
                letter(r, "DiskRead", "DiskWrite"), 1_000 + r.us + r.latency_us, r.pid, r.sector * 512, r.sectors * 512,
                r.latency_us, r.space
            ).unwrap();
        }
        let info = reads_back(text.as_bytes(), &Options::default(), "ETW", &rows,
            Keeps { latency: true, pid: true }, |s| format!("disk {s}"))?;
        prop_assert_eq!(info.processes.get(&rows[0].pid).map(String::as_str), Some("app.exe"));
    }

    #[test]
    fn disksim(rows in drawn(3)) {
        let text = print(&rows, |r| format!(
            "{}.{:03} {} {} {} {}", r.us / 1_000, r.us % 1_000, r.space, r.sector, r.sectors, u8::from(!r.write)
        ));
        reads_back(&text, &Options::default(), "DiskSim", &rows, Keeps::default(), |s| format!("device {s}"))?;
    }

    #[test]
    fn ssdsim_and_mqsim(rows in drawn(3), zero_reads in any::<bool>()) {
        let text = print(&rows, |r| format!(
            "{} {} {} {} {}", r.us * 1_000, r.space, r.sector, r.sectors, u8::from(r.write == zero_reads)
        ));
        prop_assert!(bytes(&text, &Options::default()).is_err(), "polarity was guessed");
        let options = if zero_reads {
            Options { format: Some(Format::SsdSim), read_flag: Some(ReadFlag::Zero), ..Options::default() }
        } else {
            Options { format: Some(Format::MqSim), ..Options::default() }
        };
        let source = if zero_reads { "SSDSim" } else { "MQSim" };
        reads_back(&text, &options, source, &rows, Keeps::default(), |s| format!("device {s}"))?;
    }

    #[test]
    fn a_table_with_a_head(rows in drawn(3)) {
        let text = print(&rows, |r| format!(
            "{};{};{};{};\"disk; {}\";{};{}", r.us, letter(r, "read", "WRITE"), r.sector, r.sectors * 512,
            r.space, r.pid, r.latency_us
        ));
        let text = [&b"time_us;op;sector;size_bytes;device;pid;latency (us)\n"[..], &text].concat();
        reads_back(&text, &Options::default(), "table", &rows,
            Keeps { latency: true, pid: true }, |s| format!("disk; {s}"))?;
    }

    #[test]
    fn a_table_with_a_map(rows in drawn(3), named in any::<bool>()) {
        let head = if named { "when,x,lbn,n,w\n" } else { "" };
        let text = print(&rows, |r| format!(
            "{}.{:06},x{},{},{},{}", r.us / 1_000_000, r.us % 1_000_000, r.space, r.sector, r.sectors, u8::from(r.write)
        ));
        let map = if named {
            "op:0-reads=w,time:s=when,space=x,offset:sectors=lbn,size:sectors=n"
        } else {
            "time:s,space,offset:sectors,size:sectors,op:0-reads"
        };
        let options = Options { columns: Some(map.parse().unwrap()), ..Options::default() };
        let text = [head.as_bytes(), &text].concat();
        reads_back(&text, &options, "table", &rows, Keeps::default(), |s| format!("x{s}"))?;
    }
}
