//! One run of one contender.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::setting::{Contender, Setting};
use crate::binary::{Binary, number};
use crate::children::{self, Cpu};
use crate::engine::Engine;
use crate::fio;

/// Figures of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figures {
    /// I/Os a second in the measured window.
    pub(super) iops: f64,
    /// Mean latency by the program's own account: ours from just before the request is handed over,
    /// fio's `lat` from when it has been made ready. 0 where none is recorded.
    pub(super) latency_ns: f64,
    /// CPU time per I/O in the window, user and kernel, by the program's own account; 0 if it has none.
    pub(super) window_cpu_ns: f64,
    /// User part of it; 0 where the program does not report it.
    pub(super) window_user_ns: f64,
    /// CPU time of the whole process, from its start to its end.
    pub(super) cpu: Cpu,
}

/// How long a run takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Length {
    pub(super) ramp_ms: u32,
    pub(super) window_ms: u32,
}

impl Length {
    /// So short that little but a program's start and end is left. Its figures mean nothing, but for
    /// the CPU time.
    pub(super) const START_UP: Length = Length { ramp_ms: 0, window_ms: 1 };

    fn has_ramp(self) -> bool {
        self.ramp_ms > 0
    }

    /// The whole load, in windows: what relates the I/Os of the window to all that were done.
    pub(super) fn windows(self) -> f64 {
        1.0 + f64::from(self.ramp_ms) / f64::from(self.window_ms)
    }
}

/// The programs, and what they share.
#[derive(Debug)]
pub(super) struct Programs {
    pub(super) binary: Binary,
    /// fio's `t/io_uring`, if it takes part.
    pub(super) t_io_uring: Option<PathBuf>,
    /// Directory of the plans.
    pub(super) dir: PathBuf,
}

impl Programs {
    /// Runs `contender` on `target`. `seed` varies the addresses from run to run.
    ///
    /// # Errors
    /// When it fails, or did not do what it was asked to do.
    pub(super) fn run(
        &self,
        contender: Contender,
        setting: Setting,
        target: &Path,
        length: Length,
        seed: u64,
    ) -> Result<Figures> {
        let before = children::cpu()?;
        let figures = match contender {
            Contender::Drivescope(engine) => self.ours(engine, setting, target, length, seed)?,
            Contender::FioDefaults(engine) => beside(engine, setting, target, length, &[])?,
            Contender::Fio(engine) => {
                beside(engine, setting, target, length, &[NO_MAP.to_owned()])?
            }
            Contender::FioTuned(engine) => {
                let mut more = fio::tuning(engine, setting.depth);
                more.push(NO_MAP.to_owned());
                beside(engine, setting, target, length, &more)?
            }
            Contender::TIoUring => self.bare(setting, target, length)?,
        };
        Ok(Figures { cpu: children::cpu()? - before, ..figures })
    }

    fn ours(
        &self,
        engine: Engine,
        setting: Setting,
        target: &Path,
        length: Length,
        seed: u64,
    ) -> Result<Figures> {
        let plan = self.dir.join(format!("{setting}.toml"));
        let stop = |ms: u32| format!("after = \"{ms}ms\"");
        let (ramp, window) = (stop(length.ramp_ms), stop(length.window_ms));
        let ramp = length.has_ramp().then_some(&ramp);
        let text = crate::plan::random_reads(setting.block(), setting.depth, ramp, &window);
        std::fs::write(&plan, text)
            .with_context(|| format!("{}: cannot be written", plan.display()))?;
        let seed = seed.to_string();
        let mut flags = vec!["--engine", engine.name(), "--seed", &seed, "--span", "all"];
        if !setting.direct() {
            flags.push("--buffered");
        }
        let flags: Vec<String> = flags.into_iter().map(str::to_owned).collect();
        read(&self.binary.run_plan(&plan, target, &flags)?, setting, length)
    }

    /// `t/io_uring` draws random offsets by default; it takes whole seconds and one target.
    fn bare(&self, setting: Setting, target: &Path, length: Length) -> Result<Figures> {
        let program = self.t_io_uring.as_ref().context("t/io_uring was not named")?;
        // One second more, for the first one is left out.
        let seconds = length.window_ms.div_ceil(1000) + 1;
        let depth = setting.depth;
        let output = Command::new(program)
            .args([format!("-d{depth}"), format!("-s{depth}"), format!("-c{depth}")])
            .args([format!("-b{}", setting.block().0), format!("-r{seconds}")])
            .args(["-p0", "-B1", "-F1", if setting.direct() { "-O1" } else { "-O0" }])
            .arg(target)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let iops = bare_iops(&text).with_context(|| {
            let said = String::from_utf8_lossy(&output.stderr);
            format!("{} told no IOPS: {} {}", program.display(), text.trim(), said.trim())
        })?;
        Ok(Figures { iops, ..NOTHING })
    }
}

const NOTHING: Figures = Figures {
    iops: 0.0,
    latency_ns: 0.0,
    window_cpu_ns: 0.0,
    window_user_ns: 0.0,
    cpu: Cpu { user_ns: 0, system_ns: 0 },
};

/// Share of the cached reads that may come from the device before the page cache counts as cold.
const COLD: f64 = 0.01;

/// Reads the body of one of our runs.
fn read(body: &Value, setting: Setting, length: Length) -> Result<Figures> {
    let test = body.pointer("/tests/0").context("no test was run")?;
    let run = test.pointer("/runs/0").context("no run was made")?;
    // Of a start-up, the program's own pages are all that is read.
    if !setting.direct() && length.has_ramp() {
        // Share charged to this process by the kernel: the device's own count includes others.
        let share = number(test, "/proofs/reached/evidence/task_read_ratio")?;
        if share > COLD {
            bail!("{:.1}% of the reads were not in the page cache", 100.0 * share);
        }
    }
    let evidence = |name: &str| test.pointer(&format!("/proofs/unhindered/evidence/{name}"));
    Ok(Figures {
        iops: number(run, "/iops")?,
        latency_ns: number(run, "/clat_ns")?,
        window_cpu_ns: evidence("cpu_ns_per_io").and_then(Value::as_f64).unwrap_or(0.0),
        ..NOTHING
    })
}

/// One run of fio.
fn beside(
    engine: Engine,
    setting: Setting,
    target: &Path,
    length: Length,
    more: &[String],
) -> Result<Figures> {
    let mut arguments = fio_arguments(engine, setting, target, length);
    arguments.extend_from_slice(more);
    let job = fio::run(&arguments)?;
    let ios = job.ios as f64;
    Ok(Figures {
        iops: ios * 1e9 / job.duration_ns as f64,
        latency_ns: job.latency_ns,
        window_cpu_ns: (job.user_ns + job.system_ns) / ios,
        window_user_ns: job.user_ns / ios,
        ..NOTHING
    })
}

/// Our offsets are drawn with replacement, and so are fio's when it keeps no map of what it has read.
const NO_MAP: &str = "--norandommap";

/// Arguments of fio in any case. `--randrepeat=0`: other offsets each time, as ours. `--invalidate=0`: otherwise fio
/// would empty the page cache first. A job is a process, as by fio's default; all its latencies are recorded, and
/// `json+` prints them.
pub(super) fn fio_arguments(
    engine: Engine,
    setting: Setting,
    target: &Path,
    length: Length,
) -> Vec<String> {
    let mut arguments = vec![
        "--name=loop".to_owned(),
        "--output-format=json+".to_owned(),
        format!("--filename={}", target.display()),
        "--readonly".to_owned(),
        "--rw=randread".to_owned(),
        format!("--bs={}", setting.block().0),
        format!("--iodepth={}", setting.depth),
        format!("--ioengine={}", engine.name()),
        format!("--direct={}", u8::from(setting.direct())),
        format!("--size={}", super::SIZE.0),
        "--time_based".to_owned(),
        format!("--runtime={}ms", length.window_ms),
        "--randrepeat=0".to_owned(),
        "--invalidate=0".to_owned(),
    ];
    arguments.extend(length.has_ramp().then(|| format!("--ramp_time={}ms", length.ramp_ms)));
    arguments
}

/// The mean of the IOPS that `t/io_uring` printed each second, without the first, in which it gets going. A line
/// begins `IOPS=1.40M, `; the last, of the maximum, does not.
fn bare_iops(text: &str) -> Option<f64> {
    let told: Vec<f64> = text
        .lines()
        .filter_map(|line| {
            let number = line.trim_start().strip_prefix("IOPS=")?.split(',').next()?;
            let (digits, unit) = match number.strip_suffix(['K', 'M']) {
                Some(digits) => (digits, if number.ends_with('M') { 1e6 } else { 1e3 }),
                None => (number, 1.0),
            };
            Some(digits.parse::<f64>().ok()? * unit)
        })
        .collect();
    let counted = told.get(1..).filter(|rest| !rest.is_empty()).unwrap_or(&told);
    (!counted.is_empty()).then(|| counted.iter().sum::<f64>() / counted.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hot_loop::setting::Place;
    use serde_json::json;

    const CACHED: Setting = Setting::new(Place::Cached, 32);
    const LENGTH: Length = Length { ramp_ms: 300, window_ms: 1000 };

    fn body(share: f64) -> Value {
        json!({ "tests": [{
            "runs": [{ "iops": 3_016_666.0, "clat_ns": 9434.9, "slat_ns": 1172.9 }],
            "proofs": {
                "reached": { "evidence": { "task_read_ratio": share, "device_read_ratio": 7.0 } },
                "unhindered": { "evidence": { "cpu_ns_per_io": 356.2 } },
            },
        }] })
    }

    // Reads of a cold cache would measure the disk under a heading that says loop.
    #[test]
    fn a_cold_page_cache_is_refused_where_a_warm_one_is_meant() {
        let figures = read(&body(0.001), CACHED, LENGTH).unwrap();
        assert_eq!((figures.iops, figures.window_cpu_ns), (3_016_666.0, 356.2));
        assert!(read(&body(0.02), CACHED, LENGTH).is_err());
        assert!(read(&body(0.02), CACHED, Length::START_UP).is_ok());
        let direct = Setting::new(Place::Zram, 32);
        assert!(read(&body(1.0), direct, LENGTH).is_ok());
    }

    #[test]
    fn what_the_bare_loop_tells_is_read_with_its_unit() {
        let text = "submitter=0, tid=7, file=x, nfiles=1, node=-1\n\
             IOPS=900.00K, BW=439MiB/s, IOS/call=32/31\nIOPS=1.40M, BW=683MiB/s, IOS/call=32/32\n\
             IOPS=1.30M, BW=683MiB/s, IOS/call=32/32\nExiting on timeout\nMaximum IOPS=1.40M\n";
        assert!((bare_iops(text).unwrap() - 1.35e6).abs() < 1.0);
        assert_eq!(bare_iops("IOPS=51234, BW=2MiB/s\n"), Some(51234.0));
        assert_eq!(bare_iops("Maximum IOPS=0\n"), None);
    }

    // With defaults of its own, fio would empty the cache, or not record what we record.
    #[test]
    fn fio_keeps_the_cache_and_records_every_latency() {
        let arguments = fio_arguments(Engine::IoUring, CACHED, Path::new("f"), LENGTH);
        for wanted in ["--invalidate=0", "--output-format=json+", "--randrepeat=0", "--direct=0"] {
            assert!(arguments.iter().any(|a| a == wanted), "{wanted}");
        }
        let forbidden = ["gtod_reduce", "disable_"];
        assert!(!arguments.iter().any(|a| forbidden.iter().any(|f| a.contains(f))));
        assert!((LENGTH.windows() - 1.3).abs() < 1e-12);
        let start = fio_arguments(Engine::IoUring, CACHED, Path::new("f"), Length::START_UP);
        assert!(!start.iter().any(|a| a.contains("ramp")), "a ramp would leave no I/O to count");
    }
}
