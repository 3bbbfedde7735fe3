//! fio, as a program beside ours.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::Figures;
use super::case::Case;
use super::round::Setup;
use crate::binary::number;

/// What `fio --version` says.
///
/// # Errors
/// Without fio, with how to get it.
pub(super) fn version() -> Result<String> {
    let output = Command::new("fio").arg("--version").output().context(
        "fio is missing; install it (apt-get install fio), or run scripts/validate as root, which does",
    )?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// One run of fio, with the settings that match drivescope's, or as it comes.
///
/// # Errors
/// fio's own, and what it reports of failed I/O.
pub(super) fn run(case: &Case, setup: &Setup, device: &Path, matching: bool) -> Result<Figures> {
    let mut arguments = case.fio_arguments(setup, device);
    let mut command = Command::new("fio");
    if matching {
        arguments.extend(case.fio_matching());
    }
    let output =
        command.args(&arguments).stdin(Stdio::null()).output().context("cannot start fio")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("fio {} ended with {}: {}", arguments.join(" "), output.status, said.trim());
    }
    figures(&String::from_utf8_lossy(&output.stdout))
}

/// Reads the figures of the one job that `text`, fio's output, reports. fio writes its warnings into
/// the same stream, before the JSON.
fn figures(text: &str) -> Result<Figures> {
    let json = text.find('{').and_then(|at| text.get(at..)).context("fio printed no JSON")?;
    let value: Value = serde_json::from_str(json).context("fio's JSON cannot be read")?;
    let job = value.pointer("/jobs/0").context("fio reports no job")?;
    let error = number(job, "/error")?;
    let short = number(job, "/read/short_ios")? + number(job, "/read/drop_ios")?;
    if error != 0.0 || short != 0.0 {
        bail!("fio reports error {error} and {short} short or dropped I/Os");
    }
    let (bytes, ios) = (number(job, "/read/io_bytes")?, number(job, "/read/total_ios")?);
    let runtime_ms = number(job, "/read/runtime")?;
    if bytes <= 0.0 || ios <= 0.0 || runtime_ms <= 0.0 {
        bail!("fio reports {bytes} bytes in {runtime_ms} ms");
    }
    // Shares of the job's runtime, in hundredths. `bw` is not used: it counts KiB, and
    // `bw_bytes` is the quotient of the two figures below.
    let cpu = number(job, "/usr_cpu")? + number(job, "/sys_cpu")?;
    Ok(Figures {
        bytes: bytes as u64,
        duration_ns: runtime_ms as u64 * 1_000_000,
        ios: ios as u64,
        latency_ns: number(job, "/read/lat_ns/mean")?,
        cpu_ns_per_io: cpu / 100.0 * number(job, "/job_runtime")? * 1e6 / ios,
        request_bytes: 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shortened from a run of fio 3.33 (randread, 4 KiB, depth 32) on a loop device.
    const SAMPLE: &str = r#"fio: this text stands for a warning
{
  "fio version" : "fio-3.33",
  "jobs" : [
    {
      "jobname" : "round",
      "error" : 0,
      "read" : {
        "io_bytes" : 684822528,
        "io_kbytes" : 668772,
        "bw_bytes" : 342240143,
        "bw" : 334218,
        "iops" : 83539.230385,
        "runtime" : 2001,
        "total_ios" : 167162,
        "short_ios" : 0,
        "drop_ios" : 0,
        "clat_ns" : { "mean" : 338663.833635 },
        "lat_ns" : { "mean" : 370776.636414 }
      },
      "write" : { "io_bytes" : 0, "runtime" : 0, "total_ios" : 0 },
      "job_runtime" : 2000,
      "usr_cpu" : 1.400000,
      "sys_cpu" : 4.700000
    }
  ]
}
"#;

    // Reading `bw` for bytes would make fio 2.4 % slower than it is.
    #[test]
    fn bandwidth_comes_from_bytes_and_runtime() {
        let figures = figures(SAMPLE).unwrap();
        assert_eq!((figures.bytes, figures.ios), (684_822_528, 167_162));
        assert_eq!(figures.duration_ns, 2_001_000_000);
        let bytes_per_s = figures.bytes as f64 / (figures.duration_ns as f64 / 1e9);
        assert!((bytes_per_s - 342_240_143.0).abs() < 1.0, "{bytes_per_s}");
        assert!((figures.latency_ns - 370_776.6).abs() < 0.1);
        // 6.1 % of 2 s over 167162 I/Os.
        assert!((figures.cpu_ns_per_io - 729.8).abs() < 0.1, "{}", figures.cpu_ns_per_io);
    }

    // A run that failed in part must not enter the comparison as a slow one.
    #[test]
    fn runs_with_errors_or_without_data_are_refused() {
        for (good, bad) in [
            (r#""error" : 0"#, r#""error" : 5"#),
            (r#""short_ios" : 0"#, r#""short_ios" : 3"#),
            (r#""io_bytes" : 684822528"#, r#""io_bytes" : 0"#),
            (r#""runtime" : 2001"#, r#""runtime" : 0"#),
            (r#""total_ios" : 167162,"#, ""),
        ] {
            assert!(SAMPLE.contains(good));
            assert!(figures(&SAMPLE.replace(good, bad)).is_err(), "{bad}");
        }
        assert!(figures("fio: no such engine").is_err());
    }
}
