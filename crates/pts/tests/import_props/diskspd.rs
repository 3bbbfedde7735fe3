//! The text and the XML of diskspd: of Windows before and since 2.2, and of Linux.

use std::fmt::Write as _;

use drivescope_pts::judge::measured::Way;
use drivescope_pts::judge::{Format, Recorded};
use proptest::prelude::*;

use super::{cut_is_no_part, ended, near, read_one, shares};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Version {
    /// Sizes in bytes.
    Windows2_0,
    /// Sizes with a unit, and the mix of orders.
    Windows2_2,
    Linux,
    Xml,
}

/// One direction: I/Os of each thread, and latencies in microseconds.
#[derive(Clone, Debug)]
struct Side {
    ios: Vec<u64>,
    mean_us: u64,
    min_us: u64,
    percentiles_us: [u64; 13],
    max_us: u64,
}

/// The names in the text and in the XML, of which the reader makes the same percentiles.
const PERCENTILES: [(&str, &str, f64); 13] = [
    ("25th", "25", 25.0),
    ("50th", "50", 50.0),
    ("75th", "75", 75.0),
    ("90th", "90", 90.0),
    ("95th", "95", 95.0),
    ("99th", "99", 99.0),
    ("3-nines", "99.9", 99.9),
    ("4-nines", "99.99", 99.99),
    ("5-nines", "99.999", 99.999),
    ("6-nines", "99.9999", 99.9999),
    ("7-nines", "99.99999", 99.99999),
    ("8-nines", "99.999999", 99.999_999),
    ("9-nines", "99.9999999", 99.999_999_9),
];

#[derive(Clone, Debug)]
struct Span {
    block: u64,
    /// Share of I/Os that go anywhere, in percent.
    random: u8,
    depth: u16,
    writes: u8,
    seed: u64,
    warm_up_s: u64,
    time_ms: u64,
    has_latency: bool,
    path: String,
    read: Side,
    write: Side,
}

fn sides(threads: usize) -> impl Strategy<Value = Side> {
    let ios = prop::collection::vec(1..10_000_000_u64, threads);
    let steps = prop::array::uniform15(0..1_000_000_u64);
    (ios, 1..10_000_000_u64, steps).prop_map(|(ios, mean_us, steps)| {
        let mut at = 0;
        let times = steps.map(|step| {
            at += step + 1;
            at
        });
        let mut percentiles_us = [0; 13];
        percentiles_us.copy_from_slice(&times[1..14]);
        Side { ios, mean_us, min_us: times[0], percentiles_us, max_us: times[14] }
    })
}

fn spans() -> impl Strategy<Value = Span> {
    let random = prop_oneof![Just(0_u8), Just(100), 1..100_u8];
    let writes = prop_oneof![Just(0_u8), Just(100), 1..100_u8];
    let load = (0..16_u32, 1..4_u64, random, 1..1024_u16, writes);
    let rest = (0..1_000_000_u64, 0..600_u64, 50..600_000_u64, any::<bool>());
    let path = prop::sample::select(&["C:\\a b\\f.dat", "/dev/sdz", "#1", "d&e<f>"]);
    let each = (1..6_usize).prop_flat_map(|threads| (sides(threads), sides(threads)));
    (load, rest, path, each).prop_map(|(load, rest, path, (read, write))| Span {
        block: (load.1 * 512) << load.0,
        random: load.2,
        depth: load.3,
        writes: load.4,
        seed: rest.0,
        warm_up_s: rest.1,
        time_ms: rest.2,
        has_latency: rest.3,
        path: path.to_owned(),
        read,
        write,
    })
}

/// Milliseconds of whole microseconds, as all versions print them.
fn ms(us: u64) -> String {
    format!("{}.{:03}", us / 1000, us % 1000)
}

impl Span {
    /// As a version can have it: mixed orders came with 2.1.
    fn of(&self, version: Version) -> Span {
        let random = match version {
            Version::Windows2_0 | Version::Linux => self.random / 100 * 100,
            _ => self.random,
        };
        // Linux prints whole seconds.
        let time_ms = match version {
            Version::Linux => self.time_ms.div_ceil(1000) * 1000,
            _ => self.time_ms,
        };
        Span { random, time_ms, ..self.clone() }
    }

    fn sides(&self) -> [(Way, &'static str, &Side, bool); 2] {
        [
            (Way::Read, "Read", &self.read, self.writes < 100),
            (Way::Write, "Write", &self.write, self.writes > 0),
        ]
    }

    fn text(&self, version: Version) -> String {
        let is_linux = version == Version::Linux;
        let size = |bytes: u64| match (version, bytes) {
            (Version::Windows2_2, b) if b % (1 << 20) == 0 => format!("{}MiB", b >> 20),
            (Version::Windows2_2, b) if b % (1 << 10) == 0 => format!("{}KiB", b >> 10),
            (_, b) => b.to_string(),
        };
        let (block, threads) = (size(self.block), self.read.ios.len());
        let order = match self.random {
            0 => format!("using sequential I/O (stride: {block})"),
            100 => format!("using random I/O (alignment: {block})"),
            share => format!(
                "using mixed random/sequential I/O ({share}% random) (alignment/stride: {block})"
            ),
        };
        let test = match (is_linux, self.writes) {
            (false, 0) => "performing read test".to_owned(),
            (false, 100) => "performing write test".to_owned(),
            (_, w) => format!("performing mix test (read/write ratio: {}/{w})", 100 - w),
        };
        let (cache, depth) = match is_linux {
            true => {
                ("using O_DIRECT", format!("number of outstanding I/O operations: {})", self.depth))
            }
            false => {
                let depth =
                    format!("number of outstanding I/O operations per thread: {}", self.depth);
                ("software cache disabled", depth)
            }
        };
        let (seed, path) = (self.seed, &self.path);
        let seconds = self.time_ms as f64 / 1e3;
        let mut text = format!(
            "\nCommand Line: diskspd.exe x\n\nInput parameters:\n\n\tduration: 30s\n\twarm up time: {}s\n\
             \tcool down time: 0s\n\trandom seed: {seed}\n\tpath: '{path}'\n\t\tthink time: 0ms\n\t\t{cache}\n\
             \t\t{test}\n\t\tblock size: {block}\n\t\t{order}\n\t\t{depth}\n\t\tthread stride size: 0\n\
             \t\tthreads per file: {threads}\n\t\tIO priority: normal\n\nResults for timespan 1:\n",
            self.warm_up_s
        );
        let time = match is_linux {
            true => format!("test time:         {seconds}s\n"),
            false => format!("actual test time:\t{seconds:.2}s\nthread count:\t\t{threads}\n"),
        };
        text += &format!("{time}\n CPU |  Usage\n-----\n   0|  12.50%\n avg.|  12.50%\n\n");
        for head in ["Total", "Read", "Write"] {
            text += &self.table(head, is_linux);
        }
        if self.has_latency {
            let title = if is_linux { "\n\n" } else { "\n\ntotal:\n" };
            text += &format!("{title}{}", self.percentiles());
        }
        text
    }

    /// A table of all threads of a direction, or of both.
    fn table(&self, head: &str, is_linux: bool) -> String {
        let (unit, lat) = if is_linux { ("MB/s", "AvgLat(ms)") } else { ("MiB/s", "AvgLat") };
        let lat_head =
            if self.has_latency { format!(" {lat} | LatStdDev |") } else { String::new() };
        let mut text = format!(
            "{head} IO\nthread |  bytes  |  I/Os  |  {unit}  |  I/O per s |{lat_head}  file\n----\n"
        );
        let seconds = self.time_ms as f64 / 1e3;
        let mut row = |name: &str, ios: u64, mean_us: u64, file: &str| {
            let bytes = ios * self.block;
            let rates = [bytes as f64 / 1_048_576.0 / seconds, ios as f64 / seconds];
            let _ = write!(
                text,
                "{name} {bytes:>15} | {ios:>12} | {:10.2} | {:10.2}",
                rates[0], rates[1]
            );
            if self.has_latency {
                let deviation = if ios == 0 { "N/A".to_owned() } else { ms(7) };
                let _ = write!(text, " | {:>8} | {deviation:>9}", ms(mean_us));
            }
            text += file;
        };
        let of = |at: Option<usize>| {
            let sides =
                self.sides().into_iter().filter(|(_, name, ..)| head == "Total" || head == *name);
            let of = |side: &Side| at.map_or_else(|| side.ios.iter().sum(), |at| side.ios[at]);
            sides.map(|(.., side, ran)| if ran { of(side) } else { 0 }).sum::<u64>()
        };
        let mean = match head {
            "Write" if self.writes > 0 => self.write.mean_us,
            "Write" => 0,
            _ if self.writes < 100 => self.read.mean_us,
            _ => 0,
        };
        for thread in 0..self.read.ios.len() {
            let file = format!(" | {} (1GiB)\n", self.path);
            row(&format!("{thread:>6} |"), of(Some(thread)), mean, &file);
        }
        row("total:", of(None), mean, if is_linux { " \n\n" } else { "\n\n" });
        text
    }

    fn percentiles(&self) -> String {
        let cell = |way: Way, of: &dyn Fn(&Side) -> u64| {
            let (.., side, ran) = self.sides()[usize::from(way == Way::Write)];
            if ran { ms(of(side)) } else { "N/A".to_owned() }
        };
        let row = |name: &str, of: &dyn Fn(&Side) -> u64| {
            let [read, write] = [Way::Read, Way::Write].map(|way| cell(way, of));
            format!("{name:>7} | {read:>10} | {write:>10} | {read:>10}\n")
        };
        let mut text = "  %-ile |  Read (ms) | Write (ms) | Total (ms)\n----\n".to_owned();
        text += &row("min", &|side| side.min_us);
        for (at, (name, ..)) in PERCENTILES.iter().enumerate() {
            text += &row(name, &|side| side.percentiles_us[at]);
        }
        text + &row("max", &|side| side.max_us)
    }

    fn xml(&self, more: &str) -> String {
        let path = self.path.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let order = match self.random {
            0 => format!("<StrideSize>{}</StrideSize>", self.block),
            100 => format!("<Random>{}</Random>", self.block),
            share => format!("<Random>{}</Random>\n<RandomRatio>{share}</RandomRatio>", self.block),
        };
        let threads = self.read.ios.len();
        let mut text = format!(
            "<Results>\n<System><Tool><Name>DISKSPD</Name><Version>2.2.0</Version></Tool>{more}</System>\n<Profile>\n\
             <TimeSpans><TimeSpan><Warmup>{}</Warmup><RandSeed>{}</RandSeed>\n<ThreadCount>0</ThreadCount><Targets><Target>\
             <Path>{path}</Path>\n<BlockSize>{}</BlockSize><DisableOSCache>true</DisableOSCache>{order}\n{more}\
             <RequestCount>{}</RequestCount><WriteRatio>{}</WriteRatio><ThreadsPerFile>{threads}</ThreadsPerFile></Target>\
             </Targets></TimeSpan></TimeSpans></Profile>\n<TimeSpan>\n<TestTimeSeconds>{:.2}</TestTimeSeconds>{more}\n",
            self.warm_up_s,
            self.seed,
            self.block,
            self.depth,
            self.writes,
            self.time_ms as f64 / 1e3
        );
        if self.has_latency {
            text += "<Latency>\n";
            let mut bucket = |name: &str, of: &dyn Fn(&Side) -> u64| {
                text += &format!("<Bucket><Percentile>{name}</Percentile>");
                for (_, side, times, _) in self.sides().into_iter().filter(|side| side.3) {
                    text += &format!("<{side}Milliseconds>{}</{side}Milliseconds>", ms(of(times)));
                }
                text += "</Bucket>\n";
            };
            bucket("0", &|side| side.min_us);
            for (at, (_, name, _)) in PERCENTILES.iter().enumerate() {
                bucket(name, &|side| side.percentiles_us[at]);
            }
            bucket("100", &|side| side.max_us);
            for (_, side, times, _) in self.sides().into_iter().filter(|side| side.3) {
                text += &format!(
                    "<Average{side}Milliseconds>{}</Average{side}Milliseconds>\n",
                    ms(times.mean_us)
                );
            }
            text += "</Latency>\n";
        }
        for thread in 0..threads {
            text += &format!(
                "<Thread>\n<Id>{thread}</Id><Target><Path>{path}</Path><FileSize>65536</FileSize>\n"
            );
            for (_, side, times, ran) in self.sides() {
                let ios = if ran { times.ios[thread] } else { 0 };
                text += &format!(
                    "<{side}Bytes>{}</{side}Bytes><{side}Count>{ios}</{side}Count>\n",
                    ios * self.block
                );
            }
            text += "</Target></Thread>\n";
        }
        text + "</TimeSpan>\n</Results>\n"
    }

    fn check(&self, version: Version, result: &Recorded) -> Result<(), TestCaseError> {
        let asked = &result.asked;
        // Neither in order nor anywhere: no test of ours has such a load.
        let random = match self.random {
            0 => Some(false),
            100 => Some(true),
            _ => None,
        };
        prop_assert_eq!(asked.random, random);
        prop_assert_eq!(result.load.block_bytes, Some(self.block));
        let threads = self.read.ios.len();
        prop_assert_eq!((asked.depth, asked.threads), (Some(self.depth), Some(threads as u16)));
        let is_mix = (1..100).contains(&self.writes);
        let reads = asked.reads_percent.filter(|reads| (1..100).contains(reads));
        prop_assert_eq!(reads, is_mix.then(|| 100 - self.writes));
        prop_assert_eq!(asked.target.as_deref(), Some(self.path.as_str()));
        prop_assert_eq!(
            (asked.direct, asked.seed),
            (Some(true), (self.random == 100).then_some(self.seed))
        );
        prop_assert_eq!(asked.warm_up.map(|time| time.0), Some(self.warm_up_s * 1_000_000_000));
        // Printed in hundredths of a second, as its printf rounds them.
        let hundredths: u64 =
            format!("{:.2}", self.time_ms as f64 / 1e3).replace('.', "").parse().unwrap();
        prop_assert_eq!(asked.duration.map(|time| time.0), Some(hundredths * 10_000_000));
        let sides: Vec<_> = self.sides().into_iter().filter(|side| side.3).collect();
        prop_assert_eq!(result.measured.len(), sides.len());
        for ((way, _, side, _), found) in sides.into_iter().zip(&result.measured) {
            let ios: u64 = side.ios.iter().sum();
            let bytes = ios * self.block;
            prop_assert_eq!(found.way, way);
            prop_assert_eq!((found.bytes, found.ios), (Some(bytes), Some(ios)));
            // Tolerance for the hundredths: of a printed figure, or of the time from which others are computed.
            let seconds = self.time_ms as f64 / 1e3;
            let open = if version == Version::Xml { 0.0051 / (seconds - 0.0051) } else { 0.0 };
            let (rate, iops) = (bytes as f64 / seconds, ios as f64 / seconds);
            let off = (found.bytes_per_s - rate).abs();
            prop_assert!(off <= 0.0102 * 1_048_576.0 + rate * open, "{off} of {rate}");
            prop_assert!((found.iops.unwrap() - iops).abs() <= 0.0051 + iops * open);
            let latency = &found.latency;
            let ns = |us: u64| self.has_latency.then_some(us * 1000);
            prop_assert_eq!((latency.min_ns, latency.max_ns), (ns(side.min_us), ns(side.max_us)));
            let mean = latency.mean_ns;
            prop_assert_eq!(mean.is_some(), self.has_latency);
            prop_assert!(mean.is_none_or(|mean| near(mean, side.mean_us as f64 * 1e3)));
            prop_assert_eq!(latency.percentiles.len(), if self.has_latency { 13 } else { 0 });
            for ((percent, found), ((.., expected), us)) in
                latency.percentiles.iter().zip(PERCENTILES.iter().zip(side.percentiles_us))
            {
                prop_assert!((percent - expected).abs() < 1e-10);
                prop_assert_eq!(*found, us * 1000);
            }
        }
        Ok(())
    }
}

fn versions() -> impl Strategy<Value = Version> {
    use Version::{Linux, Windows2_0, Windows2_2, Xml};
    prop::sample::select(&[Windows2_0, Windows2_2, Linux, Xml])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    // A figure of the other direction, of one thread or in another unit is a result that was never measured.
    #[test]
    fn a_text_is_read_as_it_was_printed(
        version in versions(),
        span in spans(),
        more in prop::sample::select(&["", "<zz/>", "<Zz unit='IOPS'>\n<Read>9</Read></Zz>", "<!-- a > b -->"]),
        is_windows in any::<bool>(),
    ) {
        let span = span.of(version);
        let text = match version {
            Version::Xml => span.xml(more),
            _ => span.text(version),
        };
        let results = read_one("d.txt", &ended(&text, is_windows)).unwrap();
        prop_assert_eq!(results.len(), 1, "{}", text);
        span.check(version, &results[0])?;
    }

    // A table that is missing is a direction that was not measured, and half a number is another number.
    #[test]
    fn a_text_that_was_cut_off_is_refused_with_its_line(
        version in versions(),
        span in spans(),
        is_windows in any::<bool>(),
        share in shares(),
    ) {
        let span = span.of(version);
        let (text, format) = match version {
            Version::Xml => (span.xml(""), Format::DiskspdXml),
            _ => (span.text(version), Format::Diskspd),
        };
        cut_is_no_part("d.txt", format, &ended(&text, is_windows), share)?;
    }
}
