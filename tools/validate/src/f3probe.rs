//! `f3probe`: fakes and honest drives in service, asked for their size by `probe capacity` and by f3probe.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result};
use clap::Args;

use crate::binary::Binary;
use crate::full::f3;
use crate::loop_device::{LoopDevice, read_trimmed};
use crate::provenance::{self, Machine};
use crate::serve::server::Server;
use crate::sheet;

const MIB: u64 = 1 << 20;
/// Stated size of the drives that are not small; larger ones take f3probe no other steps.
const CLAIMED: u64 = 8192 * MIB;

/// Options of `f3probe`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Only the first N drives [default: all]
    #[arg(long)]
    drives: Option<usize>,
    /// Output directory of the table [default: docs/validation; target/validate for trials of less than all]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// A drive: what it does with addresses beyond its end, its sizes, and its cache.
#[derive(Clone, Copy, Debug)]
struct Spec {
    name: &'static str,
    claimed: u64,
    real: u64,
    beyond: &'static str,
    cache: u64,
    rule: &'static str,
}

const fn drive(name: &'static str, real: u64, beyond: &'static str) -> Spec {
    Spec { name, claimed: CLAIMED, real, beyond, cache: 0, rule: "beyond" }
}

impl Spec {
    /// With a cache of what is written beyond the end.
    const fn caches(self, cache: u64) -> Spec {
        Spec { cache, ..self }
    }

    /// With a cache that all writes pass.
    const fn passes(self, cache: u64) -> Spec {
        Spec { cache, rule: "all", ..self }
    }

    const fn of(self, claimed: u64) -> Spec {
        Spec { claimed, ..self }
    }

    fn is_fake(&self) -> bool {
        self.real < self.claimed
    }

    fn model(&self) -> String {
        let Spec { claimed, real, beyond, cache, rule, .. } = self;
        let mut model = format!("optane?capacity={claimed}");
        if self.is_fake() {
            let _ = write!(
                model,
                "&faults.real_capacity_bytes={real}&faults.beyond={beyond}&faults.cache_bytes={cache}\
                 &faults.cache_rule={rule}&faults.error_after_ns=100000"
            );
        }
        model
    }
}

/// Half, an odd eighth and nearly all of what is stated.
const HALF: u64 = 4096 * MIB;
const ODD: u64 = 1021 * MIB + 12288;
const MOST: u64 = 8150 * MIB + 4096;

const DRIVES: [Spec; 20] = [
    drive("lost beyond", HALF, "lose"),
    drive("lost beyond, odd size", ODD, "lose"),
    drive("lost beyond, 0.5% missing", MOST, "lose"),
    drive("lost beyond, cache", ODD, "lose").caches(3 * MIB),
    drive("lost beyond, cache", HALF, "lose").caches(63 * MIB),
    drive("lost beyond, cache", ODD, "lose").caches(300 * MIB),
    drive("lost beyond, all pass a cache", HALF, "lose").passes(3 * MIB),
    drive("lost beyond, all pass a cache", ODD, "lose").passes(63 * MIB),
    drive("lost beyond, all pass a cache", HALF, "lose").passes(300 * MIB),
    drive("wraps", HALF, "wrap"),
    drive("wraps, odd size", ODD, "wrap"),
    drive("wraps, 0.5% missing", MOST, "wrap"),
    drive("wraps, all pass a cache", HALF, "wrap").passes(63 * MIB),
    drive("wraps, odd size, all pass a cache", ODD, "wrap").passes(63 * MIB),
    drive("small, lost beyond", 16 * MIB - 4096, "lose").of(32 * MIB),
    drive("small, lost beyond, cache", 40 * MIB, "lose").of(64 * MIB).caches(3 * MIB),
    drive("honest, small", 64 * MIB, "lose").of(64 * MIB),
    drive("honest", CLAIMED, "lose"),
    drive("I/O errors beyond", HALF, "fail"),
    drive("I/O errors beyond, odd size", ODD, "fail"),
];

/// Answer of a program.
#[derive(Clone, Debug)]
struct Answer {
    value: Option<u64>,
    written: u64,
    seconds: f64,
}

impl Answer {
    fn verdict(&self, spec: &Spec) -> String {
        match self.value {
            Some(value) if value == spec.real => "exact".to_owned(),
            Some(value) if value == spec.claimed => "**genuine**".to_owned(),
            Some(value) => format!("**{:+} bytes**", i128::from(value) - i128::from(spec.real)),
            None => "unknown".to_owned(),
        }
    }
}

struct Row {
    spec: Spec,
    ours: Answer,
    theirs: Answer,
}

/// Asks both about each drive, and writes the table; false where ours gives a size that is wrong.
///
/// # Errors
/// When a program cannot be run, or the table not be written.
pub fn run(options: &Options) -> Result<bool> {
    let out = sheet::table_dir(options.out.as_deref(), options.drives.is_some())?;
    let (commit, binary) = (provenance::commit()?, Binary::find()?);
    let mut rows = Vec::new();
    for (at, spec) in DRIVES.iter().take(options.drives.unwrap_or(DRIVES.len())).enumerate() {
        let row = row(spec, &binary, at % 2 == 0)?;
        let said = |answer: &Answer| format!("{} in {:.1} s", answer.verdict(spec), answer.seconds);
        eprintln!("{}: {}; f3probe {}", spec.name, said(&row.ours), said(&row.theirs));
        rows.push(row);
    }
    let path = out.join("f3probe.csv");
    fs::write(&path, csv(&rows))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let head = sheet::provenance(&commit, &Machine::here(), "f3probe.csv", &[]);
    sheet::write(&out.join("f3probe.md"), &page(&head, &rows))?;
    Ok(rows.iter().all(|row| row.ours.value.is_none_or(|value| value == row.spec.real)))
}

fn row(spec: &Spec, binary: &Binary, is_ours_first: bool) -> Result<Row> {
    let server = Server::with(binary, &spec.model(), &["--memory", "4GiB"])?;
    let device = LoopDevice::attach_writable(server.file())?;
    let (mut ours, mut theirs) = (None, None);
    for is_ours in [is_ours_first, !is_ours_first] {
        match is_ours {
            true => ours = Some(ask(binary, &device)?),
            false => {
                let before = written(&device)?;
                let began = Instant::now();
                let said = f3::size(&device.path().to_string_lossy(), spec.claimed)?;
                let seconds = began.elapsed().as_secs_f64();
                theirs = Some(Answer { value: said, written: written(&device)? - before, seconds });
            }
        }
    }
    drop(device);
    server.stop()?;
    let (ours, theirs) = ours.zip(theirs).context("not both were asked")?;
    Ok(Row { spec: *spec, ours, theirs })
}

/// `probe capacity` on a device.
fn ask(binary: &Binary, device: &LoopDevice) -> Result<Answer> {
    let path = device.path().to_string_lossy().into_owned();
    let word = path.trim_start_matches("/dev/").to_owned();
    // Those that fail beyond their end cannot be read there.
    let allow = "--allow=unknown:content";
    let words = ["probe", "capacity", &path, "--write", "--consent", &word, allow];
    let before = written(device)?;
    let began = Instant::now();
    let body = binary.body(&words.map(str::to_owned))?;
    let seconds = began.elapsed().as_secs_f64();
    let value = body["findings"][0]["value"].as_u64();
    Ok(Answer { value, written: written(device)? - before, seconds })
}

/// Bytes written to a device so far, by the kernel's count (Documentation/block/stat.rst).
fn written(device: &LoopDevice) -> Result<u64> {
    let name = device.path().file_name().unwrap_or_default();
    let text = read_trimmed(&std::path::Path::new("/sys/block").join(name).join("stat"))?;
    let sectors = text.split_ascii_whitespace().nth(6).and_then(|word| word.parse::<u64>().ok());
    Ok(512 * sectors.context("no sectors in stat")?)
}

fn csv(rows: &[Row]) -> String {
    let mut text = "drive,claimed_bytes,real_bytes,cache_bytes,cache_rule,program,answer_bytes,\
                    written_bytes,seconds\n"
        .to_owned();
    for Row { spec, ours, theirs } in rows {
        for (program, answer) in [("drivescope", ours), ("f3probe", theirs)] {
            let Spec { name, claimed, real, cache, rule, .. } = spec;
            let value = answer.value.map_or(String::new(), |value| value.to_string());
            let _ = writeln!(
                text,
                "\"{name}\",{claimed},{real},{cache},{rule},{program},{value},{},{:.2}",
                answer.written, answer.seconds
            );
        }
    }
    text
}

fn page(head: &str, rows: &[Row]) -> String {
    let mib = |bytes: u64| format!("{:.1}", bytes as f64 / MIB as f64);
    let cells = |answer: &Answer, spec: &Spec| {
        let (written, seconds) = (answer.written as f64 / 1e6, answer.seconds);
        [answer.verdict(spec), format!("{written:.0}"), format!("{seconds:.1}")]
    };
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|Row { spec, ours, theirs }| {
            let Spec { name, claimed, real, cache, .. } = spec;
            let mut line =
                vec![(*name).to_owned(), mib(*claimed), mib(*real), (cache / MIB).to_string()];
            line.extend(cells(ours, spec));
            line.extend(cells(theirs, spec));
            line
        })
        .collect();
    let exact = |of: fn(&Row) -> &Answer| {
        rows.iter().filter(|row| of(row).value == Some(row.spec.real)).count()
    };
    let columns = [
        "drive",
        "states MiB",
        "has MiB",
        "cache MiB",
        "probe capacity",
        "MB written",
        "s",
        "f3probe",
        "MB written",
        "s",
    ];
    format!(
        "# Fakes asked by f3probe too\n\nOf {} drives, `probe capacity` gave the exact size of {}, and f3probe of {}.\n\n{head}\
         Virtual drives in service, behind FUSE and a loop device, as fast as the machine serves them; each is asked by both \
         programs, every other one by f3probe first. f3probe runs with `--destructive --reset-type=2`: a loop device cannot be \
         reset, which it needs to see past a cache of a drive that keeps it while it has power, and it refuses devices that \
         are not USB otherwise. `probe capacity` restores what it overwrote, and its bytes are those of both. Bytes are \
         those that the kernel counted. A size that is neither exact nor unknown is given as its error.\n\n{}",
        rows.len(),
        exact(|row| &row.ours),
        exact(|row| &row.theirs),
        sheet::table(1, &columns, &lines),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a drive of the table is honest by mistake, or its cache holds all that is missing, which cannot be found.
    #[test]
    fn drives_are_what_the_table_says() {
        for spec in &DRIVES {
            assert_eq!(spec.is_fake(), !spec.name.starts_with("honest"), "{spec:?}");
            assert_eq!(spec.cache > 0, spec.name.contains("cache"), "{spec:?}");
            assert!(!spec.is_fake() || spec.claimed - spec.real > spec.cache, "{spec:?}");
        }
        let answer = |value| Answer { value, written: 0, seconds: 0.0 };
        let spec = &DRIVES[0];
        assert_eq!(answer(Some(spec.real)).verdict(spec), "exact");
        assert_eq!(answer(Some(spec.real - 512)).verdict(spec), "**-512 bytes**");
        assert_eq!(answer(Some(spec.claimed)).verdict(spec), "**genuine**");
    }
}
