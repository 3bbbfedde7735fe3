//! flashbench's tests as the face issues them: command lines, places and order, rows, and what is refused.

use std::sync::atomic::AtomicBool;

use block::{Bytes, Event, Nanos, Op, RunSink, Target as _};
use drivescope_probe as probe;
use engine::{Sample, TargetBench};
use probe::flashbench::face::{Done, FaceError, HELP, Options, Row, Test, UsageError, run};
use probe::flashbench::tables::Table;
use probe::{Desk, Halt, Keeper, Spent, Terms};
use workload::plan::Region;

const MIB: u64 = 1 << 20;

fn parse(line: &str) -> Result<Options, UsageError> {
    Options::parse(line.split_whitespace())
}

/// Keeps what was issued.
#[derive(Default)]
struct Issued(Vec<(Op, u64, u64)>);

impl RunSink for Issued {
    fn event(&mut self, _: &Event) {}
}

impl Keeper for Issued {
    fn samples(&mut self, _: &str, samples: &[Sample]) {
        self.0.extend(samples.iter().map(|s| (s.op, s.offset.0, s.len.0)));
    }
}

/// Everything about one run.
struct Ran {
    result: Result<Done, FaceError>,
    rows: Vec<Row>,
    issued: Vec<(Op, u64, u64)>,
    spent: Spent,
}

fn on(spec: &str, may_write: bool, line: &str) -> Ran {
    let options = parse(line).unwrap();
    let mut target = sim::open(spec).unwrap();
    let mut environment = target.environment();
    let terms = Terms {
        region: Region { offset: Bytes::ZERO, length: target.info().capacity_bytes },
        may_write,
        time_budget: Nanos::secs(1 << 30),
        write_budget: Bytes::gib(1 << 20),
        seed: 1,
    };
    let (mut issued, mut rows) = (Issued::default(), Vec::new());
    let going = AtomicBool::new(false);
    let mut bench = TargetBench::new(&mut target, &mut environment, &going);
    let mut desk = Desk::new(&mut bench, terms, &mut issued);
    let result = run(&mut desk, &options, &mut |row| rows.push(row.clone()));
    let spent = desk.spent();
    Ran { result, rows, issued: issued.0, spent }
}

// Breaks when a command that people copy from a guide is refused, or means something else.
#[test]
fn command_lines_of_published_guides_mean_what_they_meant() {
    let align = parse("-o result -a /dev/sdb --blocksize=1024").unwrap();
    let expected = Options {
        device: "/dev/sdb".into(),
        out: Some("result".into()),
        align: true,
        blocksize: 1024,
        ..Options::default()
    };
    assert_eq!(align, expected);
    assert_eq!(align.writes(), None);

    let scatter =
        "-s /dev/sdb --scatter-span=4 --blocksize=8192 --scatter-order=12 -o scatter_result";
    let expected = Options {
        device: "/dev/sdb".into(),
        out: Some("scatter_result".into()),
        scatter: true,
        scatter_span: 4,
        scatter_order: 12,
        blocksize: 8192,
        ..Options::default()
    };
    assert_eq!(parse(scatter).unwrap(), expected);

    let open_au = |nr: u64, find_fat: bool| Options {
        device: "/dev/sdb".into(),
        out: Some("openau".into()),
        open_au: true,
        open_au_nr: nr,
        find_fat,
        erasesize: 8 * MIB,
        blocksize: 8192,
        ..Options::default()
    };
    for (nr, more) in [(1, ""), (2, "-f "), (3, "")] {
        let sizes = "--erasesize=8388608 --blocksize=8192";
        let line = format!("-o openau -O {sizes} {more}/dev/sdb --open-au-nr={nr}");
        assert_eq!(parse(&line).unwrap(), open_au(nr, !more.is_empty()));
    }

    let readme = "-O --erasesize=4194304 --blocksize=262144 /dev/mmcblk0  --open-au-nr=2";
    let options = parse(readme).unwrap();
    assert_eq!((options.erasesize, options.blocksize), (4 * MIB, 256 << 10));
    assert_eq!((options.open_au_nr, options.out.as_deref()), (2, None));
    let synopses = [
        ("-a /dev/mmcblk0", Test::Align),
        ("-s /dev/sdb --scatter-order=10 --scatter-span=2 -o file", Test::Scatter),
        ("--open-au /dev/sdb --open-au-nr=5 --erasesize=4194304 --random", Test::OpenAu),
    ];
    for (line, test) in synopses {
        assert_eq!(parse(line).unwrap().tests(), [test]);
    }
}

// Breaks when options are read other than getopt_long reads them.
#[test]
fn options_may_be_joined_cut_and_anywhere() {
    let options = parse("-arvvb 1024 -c4 --erases 2097152 dev -F3 -e1048576").unwrap();
    assert!(options.align && options.random);
    assert_eq!((options.verbose, options.blocksize, options.count), (2, 1024, 4));
    assert_eq!((options.erasesize, options.fat_nr, options.device.as_str()), (MIB, 3, "dev"));
    assert_eq!(parse("-a -- -dev").unwrap().device, "-dev");
    assert_eq!(parse("-a -").unwrap().device, "-");
    assert!(parse("--findfat dev").unwrap().find_fat && parse("--find dev").unwrap().find_fat);
    let offset = |value| parse(&format!("-O dev --offset {value}")).unwrap().first_au();
    assert_eq!([offset("33554432"), offset("0x2000000"), offset("0200000000")], [32 * MIB; 3]);
    assert_eq!(parse("-O dev -e 3145728").unwrap().first_au(), 18 * MIB);
    let all = parse("-piOafs dev").unwrap();
    assert_eq!(all.tests(), Test::ALL);
    assert_eq!(all.writes().unwrap().tests, [Test::FindFat, Test::OpenAu, Test::Program]);
}

// Breaks when the user gets no error for what flashbench takes for 0, cuts or reads past its arrays.
#[test]
fn what_cannot_be_is_refused_with_the_option() {
    for (line, words) in [
        ("dev", "no test"),
        ("-a", "no device"),
        ("-a dev other", "two devices"),
        ("-x dev", "-x: there is no such option"),
        ("-S 9 -s dev", "-S: there is no such option"),
        ("--scat dev", "--scatter or --scatter-order or --scatter-span"),
        ("--scatter=9 dev", "--scatter: takes no value"),
        ("-a dev -b", "-b: its value is missing"),
        ("-a dev --blocksize", "--blocksize: its value is missing"),
        ("-a dev -b 1K", "--blocksize=1K"),
        ("-a dev -b -1024", "--blocksize=-1024"),
        ("-a dev -b 1000", "multiple of 512"),
        ("-a dev -b 512", "halves"),
        ("-a dev -c 0", "--count=0"),
        ("-s dev --scatter-order=7", "8 to 16"),
        ("-O dev -e 4194304 -b 8388608", "more than the erase block"),
        ("-O dev --open-au-nr=0", "1 to 65535"),
        ("-O dev --offset=1000", "--offset=1000"),
        ("-O dev --offset=08", "--offset=08"),
        ("-Or dev -e 33554432 -b 512", "fewer than 65536"),
        ("-i dev --interval-order=17", "1 to 16"),
    ] {
        let error = parse(line).expect_err(line).to_string();
        assert!(error.contains(words), "{line}: {error}");
    }
    assert_eq!(parse("-a dev --help"), Err(UsageError::Help));
    assert_eq!(parse("-h"), Err(UsageError::Help));
    for option in ["--out", "--scatter-order", "--fat-nr", "--open-au-nr", "--offset", "--program"]
    {
        assert!(HELP.contains(option), "{option} is missing from the help");
    }
    assert!(HELP.lines().all(|line| line.len() <= 80));
}

// Breaks when rows are written in another order than flashbench's: the third line of what is compared is taken from
// the calls of Debian's flashbench with these options.
#[test]
fn erase_blocks_take_turns_as_in_flashbench() {
    let ran = on("sim:sdcard-4m", true, "-O --open-au-nr=3 -b 1048576 dev");
    ran.result.unwrap();
    let of = |len: u64| -> Vec<u64> {
        ran.issued.iter().filter(|(_, _, l)| *l == len).map(|(_, at, _)| *at / MIB).collect()
    };
    assert_eq!(of(4 * MIB), [112, 64, 16]);
    assert_eq!(of(2 * MIB), [112, 64, 16, 114, 66, 18]);
    assert_eq!(of(MIB).len(), 12);
    assert!(ran.issued.iter().all(|(op, _, _)| *op == Op::Write));
    let ran = on("sim:sdcard-4m", true, "-O -r --open-au-nr=1 -b 262144 dev");
    ran.result.unwrap();
    let places: Vec<u64> = ran
        .issued
        .iter()
        .filter(|(_, _, len)| *len == 256 << 10)
        .map(|(_, at, len)| at / len)
        .collect();
    assert_eq!(places, [72, 76, 70, 74, 79, 75, 69, 66, 65, 78, 71, 67, 73, 68, 77, 64]);
}

// Breaks when the safety gate gets less than what is written, or another place.
#[test]
fn what_will_be_written_is_told_before() {
    for line in
        ["-O --open-au-nr=2", "-Or --open-au-nr=5 -e 2097152", "-f --fat-nr=3", "-p", "-pfO"]
    {
        let line = format!("{line} -b 65536 dev");
        let told = parse(&line).unwrap().writes().unwrap();
        let ran = on("sim:usb-8m", true, &line);
        ran.result.unwrap();
        assert_eq!(ran.spent.written_bytes, told.bytes, "{line}");
        let writes = || ran.issued.iter().filter(|(op, _, _)| *op == Op::Write);
        assert_eq!(writes().map(|(_, at, _)| *at).min(), Some(told.span.start), "{line}");
        assert_eq!(writes().map(|(_, at, len)| at + len).max(), Some(told.span.end), "{line}");
    }
}

// Breaks when the steps are at other rows than the model's, which is that of the card in flashbench's README.
#[test]
fn steps_of_a_known_card_are_at_their_rows() {
    let ran = on("sim:sdcard-4m", false, "-a -b 1024 dev");
    let done = ran.result.unwrap();
    let [Table::Align(table)] = &done.tables[..] else { panic!("{:?}", done.tables) };
    let aligns: Vec<u64> = table.rows.iter().map(|row| row.align_bytes).collect();
    let expected: Vec<u64> = (11..=27).rev().map(|order| 1 << order).collect();
    assert_eq!(aligns, expected);
    let diff = |align: u64| {
        let row = table.rows.iter().find(|row| row.align_bytes == align).unwrap();
        row.diff_ns.unwrap() / 1e3
    };
    // Published: 317 and 171 µs, 148 and 53 µs.
    assert!((250.0..380.0).contains(&diff(4 * MIB)) && (130.0..220.0).contains(&diff(2 * MIB)));
    assert!((110.0..200.0).contains(&diff(16 << 10)) && (20.0..80.0).contains(&diff(8 << 10)));
    // Of 7 places 128 MiB apart, three fit into 488 MiB; flashbench reads others in their stead.
    let Row::Align { places, .. } = ran.rows[0] else { panic!("{:?}", ran.rows[0]) };
    assert_eq!(places, 3);
    assert_eq!(done.caveats.len(), 1);
    // Before all boundaries, then across, then after; as in the calls of Debian's flashbench.
    let first: Vec<u64> = ran.issued.iter().take(9).map(|(_, at, _)| *at).collect();
    let row = |back: u64| (1..=3).map(move |place| place * 128 * MIB - back);
    assert_eq!(first, row(1024).chain(row(512)).chain(row(0)).collect::<Vec<_>>());
    assert_eq!(ran.issued[9].1, first[0], "and all of it 8 times");
    assert!(ran.issued.iter().all(|(op, at, len)| *op == Op::Read && at + len <= 511_705_088));
}

// Breaks when the cliff of a known stick is not where its open units end.
#[test]
fn the_cliff_of_a_known_stick_is_beyond_its_first_unit() {
    let fall = |nr: u32| {
        let line = format!("-O -e 8388608 -b 8192 --open-au-nr={nr} dev");
        let ran = on("sim:usb-8m", true, &line);
        let done = ran.result.unwrap();
        let [Table::OpenAu(table)] = &done.tables[..] else { panic!("{:?}", done.tables) };
        assert_eq!((table.nr, table.rows.len(), ran.rows.len()), (Some(nr), 11, 11));
        table.rows[0].rate.bytes_per_s / table.rows[10].rate.bytes_per_s
    };
    assert!(fall(1) < 2.0, "{}", fall(1));
    assert!(fall(2) > 4.0, "{}", fall(2));
}

// Breaks when a place is read twice or left out, or a row carries another place's time.
#[test]
fn scatter_reads_every_place_and_tells_them_in_order() {
    let ran = on("sim:usb-8m", false, "-s --scatter-order=9 --scatter-span=4 -b 8192 -c 2 dev");
    ran.result.unwrap();
    assert_eq!(ran.issued.len(), 1024);
    assert!(ran.issued.iter().all(|(_, _, len)| *len == 32 << 10));
    let offsets: Vec<u64> = ran
        .rows
        .iter()
        .map(|row| match row {
            Row::Scatter { offset, .. } => *offset,
            other => panic!("{other:?}"),
        })
        .collect();
    let expected: Vec<u64> = (0..512).map(|place| place * 8192).collect();
    assert_eq!(offsets, expected);
    let first: Vec<u64> = ran.issued.iter().take(2).map(|(_, at, _)| *at / 8192).collect();
    // 0, and the register one step after its start of 225.
    assert_eq!(first, [0, 0xe1 >> 1 | 1 << 8]);
}

// Breaks when reads by size do not give the link's rate and the access time, or columns of -p lose their order.
#[test]
fn the_lesser_tests_give_their_rows() {
    let ran = on("sim:sdcard-4m", false, "-i --interval-order=10 dev");
    ran.result.unwrap();
    let line = ran.rows.iter().find_map(|row| match row {
        Row::Line { bytes_per_s, access_ns } => Some((*bytes_per_s, *access_ns)),
        _ => None,
    });
    let (bytes_per_s, access_ns) = line.unwrap();
    // The link has 12.5 MB/s; arrays and codewords come on top.
    assert!((3e6..12.5e6).contains(&bytes_per_s), "{bytes_per_s}");
    assert!((4e5..1e6).contains(&access_ns), "{access_ns}");
    assert_eq!(ran.rows.len(), 10 + 1 + 10);
    let ran = on("sim:usb-8m", true, "-p dev");
    ran.result.unwrap();
    assert_eq!(ran.rows.len(), 13);
    let Row::Program { len, bytes_per_s } = &ran.rows[0] else { panic!("{:?}", ran.rows[0]) };
    assert_eq!((*len, bytes_per_s.len()), (2 * MIB, 8));
    // As in the calls of Debian's flashbench: three times written and once read in order, then the same out of order.
    let all: Vec<(Op, u64)> =
        ran.issued.iter().take(16).map(|(op, at, _)| (*op, (*at / MIB - 16) / 2)).collect();
    let column = |op, random: bool| if random { [(op, 1), (op, 0)] } else { [(op, 0), (op, 1)] };
    let half =
        |random| [[column(Op::Write, random); 3].concat(), column(Op::Read, random).to_vec()];
    assert_eq!(all, [half(false).concat(), half(true).concat()].concat());
    let reads = [bytes_per_s[3], bytes_per_s[7]];
    assert!(reads.iter().all(|read| *read > bytes_per_s[0]), "{bytes_per_s:?}");
}

// Breaks when a test wraps around at the end of the device, or begins and then finds that it does not fit.
#[test]
fn what_does_not_fit_is_refused_before_anything_is_issued() {
    let refused = |spec: &str, line: &str| {
        let ran = on(spec, true, line);
        assert_eq!(ran.spent.ios, 0, "{line}");
        match ran.result {
            Err(FaceError::Unfit { test, what }) => (test, what),
            other => panic!("{line}: {other:?}"),
        }
    };
    let (test, what) = refused("sim:sdcard-4m", "-O --open-au-nr=12 dev");
    assert_eq!(test, Test::OpenAu);
    assert!(what.contains("--open-au-nr"), "{what}");
    assert_eq!(refused("sim:sdcard-4m", "-s --scatter-order=16 dev").0, Test::Scatter);
    assert_eq!(refused("sim:sdcard-4m", "-af --fat-nr=200 dev").0, Test::FindFat);
    assert_eq!(refused("sim:sdcard-4m", "-i --interval-order=16 -c 30 dev").0, Test::Interval);
    let (_, what) = refused("sim:enterprise-28op", "-a -b 1024 dev");
    assert!(what.contains("multiple of 8192"), "{what}");
    assert_eq!(refused("sim:enterprise-28op", "-O -b 512 dev").0, Test::OpenAu);
    assert!(on("sim:enterprise-28op", true, "-ip -b 8192 --interval-order=8 dev").result.is_ok());
}

// Breaks when a destructive test writes without consent.
#[test]
fn nothing_is_written_without_consent() {
    for line in ["-O dev", "-f dev", "-p dev"] {
        let ran = on("sim:sdcard-4m", false, line);
        assert!(matches!(ran.result, Err(FaceError::Halt(Halt::NoConsent))), "{line}");
        assert_eq!(ran.spent.written_bytes, Bytes::ZERO);
    }
}
