//! fio, as a program beside ours.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::binary::number;
use crate::engine::Engine;

/// Returns the output of `fio --version`.
///
/// # Errors
/// Returns an error if fio is missing, with how to get it.
pub fn version() -> Result<String> {
    let output = Command::new("fio").arg("--version").output().context(
        "fio is missing; install it (apt-get install fio), or run scripts/validate as root, which does",
    )?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Arguments that make fio issue I/O as drivescope does: with io_uring, file and buffers registered; above
/// depth 1, everything that was reaped is replaced in one system call, and a call takes all that has completed,
/// but waits for one only (by default fio makes one call for each submission). Leaves out what fio does by
/// default. Both programs have their buffers in small pages.
pub fn tuning(engine: Engine, depth: u16) -> Vec<String> {
    let mut more = Vec::new();
    if engine == Engine::IoUring {
        more.extend(["--registerfiles".to_owned(), "--fixedbufs".to_owned()]);
    }
    if depth > 1 {
        more.push(format!("--iodepth_batch_submit={depth}"));
        more.push("--iodepth_batch_complete_min=1".to_owned());
        more.push(format!("--iodepth_batch_complete_max={depth}"));
    }
    more
}

/// Results of one fio job that reads, all of the measured window: fio resets its figures after the ramp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// Bytes read.
    pub bytes: u64,
    /// Length of the window; fio rounds it to milliseconds.
    pub duration_ns: u64,
    /// I/Os completed.
    pub ios: u64,
    /// Mean of fio's `lat`: from when the request has been made ready to its reaping.
    pub latency_ns: f64,
    /// CPU time of the job's thread in user space.
    pub user_ns: f64,
    /// CPU time of the job's thread in the kernel.
    pub system_ns: f64,
}

/// One run of fio with one job.
///
/// # Errors
/// fio's own, and what it reports of failed I/O.
pub fn run(arguments: &[String]) -> Result<Job> {
    let output = Command::new("fio")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .context("cannot start fio")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("fio {} ended with {}: {}", arguments.join(" "), output.status, said.trim());
    }
    read(&String::from_utf8_lossy(&output.stdout))
}

/// Reads the one job that `text`, fio's output, reports. fio writes its warnings into the same
/// stream, before the JSON.
fn read(text: &str) -> Result<Job> {
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
    let share_ns = number(job, "/job_runtime")? * 1e6 / 100.0;
    Ok(Job {
        bytes: bytes as u64,
        duration_ns: runtime_ms as u64 * 1_000_000,
        ios: ios as u64,
        latency_ns: number(job, "/read/lat_ns/mean")?,
        user_ns: number(job, "/usr_cpu")? * share_ns,
        system_ns: number(job, "/sys_cpu")? * share_ns,
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

    // Reading `bw` for bytes would make fio 2.4% slower than it is.
    #[test]
    fn bandwidth_comes_from_bytes_and_runtime() {
        let job = read(SAMPLE).unwrap();
        assert_eq!((job.bytes, job.ios), (684_822_528, 167_162));
        assert_eq!(job.duration_ns, 2_001_000_000);
        let bytes_per_s = job.bytes as f64 / (job.duration_ns as f64 / 1e9);
        assert!((bytes_per_s - 342_240_143.0).abs() < 1.0, "{bytes_per_s}");
        assert!((job.latency_ns - 370_776.6).abs() < 0.1);
        // 1.4% and 4.7% of 2 s.
        assert!((job.user_ns - 28e6).abs() < 1.0 && (job.system_ns - 94e6).abs() < 1.0);
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
            assert!(read(&SAMPLE.replace(good, bad)).is_err(), "{bad}");
        }
        assert!(read("fio: no such engine").is_err());
    }
}
