//! A trace of our own: an instance in tracefs that other tracing neither sees nor disturbs.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::ring::{self, Format};
use crate::loop_device::read_trimmed;

const MOUNT: &str = "/sys/kernel/tracing";
/// The events that are recorded, in the order of an I/O's life.
const EVENTS: [(&str, Step); 3] = [
    ("block_bio_queue", Step::Queued),
    ("block_rq_issue", Step::Issued),
    ("block_rq_complete", Step::Completed),
];
/// Buffer of each CPU: room for several trials.
const BUFFER_KIB: u32 = 8192;
/// Larger than any page of the buffer.
const PAGE_MAX: usize = 1 << 16;

/// Steps of an I/O through the block layer, with btt's letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Q: handed to the block layer.
    Queued,
    /// D: handed to the driver.
    Issued,
    /// C: completed by the driver.
    Completed,
}

/// One step of one I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) step: Step,
    /// `CLOCK_MONOTONIC`.
    pub(crate) at_ns: u64,
    /// First sector, of 512 bytes.
    pub(crate) sector: u64,
    /// Count of sectors.
    pub(crate) sectors: u64,
}

/// Events that a trial left in the buffers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recording {
    pub(crate) events: Vec<Event>,
    /// Events that found no room.
    pub(crate) lost: u64,
}

/// tracefs, unmounted when dropped if it was not mounted before.
#[derive(Debug)]
struct Mounted(bool);

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.0 {
            let _ = Command::new("umount").arg(MOUNT).status();
        }
    }
}

/// Block events of one device. Removed when dropped, which ends the recording as well.
#[derive(Debug)]
pub(crate) struct Trace {
    dir: PathBuf,
    formats: Vec<(Format, Step)>,
    device: u32,
    /// Dropped after the instance is gone.
    _mounted: Mounted,
}

/// How the names of instances begin; the rest is the process's number.
const INSTANCE: &str = "drivescope-validate-";

/// Removes instances of processes that were killed: their events would slow down the machine for ever.
fn sweep(instances: &Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let dead = |pid: &&str| !Path::new("/proc").join(pid).exists();
        if name.strip_prefix(INSTANCE).filter(dead).is_some() {
            let _ = fs::write(entry.path().join("events/enable"), "0");
            let _ = fs::remove_dir(entry.path());
        }
    }
}

impl Trace {
    /// An instance that is ready to record events of the device with the kernel's number `device`.
    ///
    /// # Errors
    /// Without root or tracefs, or when the kernel lacks the events.
    pub(crate) fn of(device: u32) -> Result<Trace> {
        let instances = Path::new(MOUNT).join("instances");
        let mounted = Mounted(!instances.is_dir());
        if mounted.0 {
            let done = Command::new("mount").args(["-t", "tracefs", "tracefs", MOUNT]).status();
            if !done.is_ok_and(|status| status.success()) {
                bail!("{MOUNT}: cannot be mounted; the kernel needs tracing, and this needs root");
            }
        }
        sweep(&instances);
        let dir = instances.join(format!("{INSTANCE}{}", std::process::id()));
        fs::create_dir(&dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
        let mut trace = Trace { dir, formats: Vec::new(), device, _mounted: mounted };
        trace.write("tracing_on", "0")?;
        // The testers' clock, so that differences are in the same nanoseconds.
        trace.write("trace_clock", "mono")?;
        trace.write("buffer_size_kb", &BUFFER_KIB.to_string())?;
        for (name, step) in EVENTS {
            let event = Path::new("events/block").join(name);
            let format = trace.read(event.join("format"))?;
            trace.formats.push((Format::read(&format).with_context(|| name.to_owned())?, step));
            trace.write(event.join("filter"), &format!("dev == {device}"))?;
            trace.write(event.join("enable"), "1")?;
        }
        Ok(trace)
    }

    /// Records while `what` runs.
    ///
    /// # Errors
    /// Those of `what`, and of the recording.
    pub(crate) fn during<T>(&self, what: impl FnOnce() -> Result<T>) -> Result<(T, Recording)> {
        // Anything written empties the buffers.
        self.write("trace", "0")?;
        let before = self.lost()?;
        self.write("tracing_on", "1")?;
        let done = what();
        self.write("tracing_on", "0")?;
        let mut recording = Recording::default();
        for cpu in self.cpus()? {
            self.drain(&cpu, &mut recording)?;
        }
        recording.lost += self.lost()?.saturating_sub(before);
        recording.events.sort_by_key(|event| event.at_ns);
        Ok((done?, recording))
    }

    fn cpus(&self) -> Result<Vec<PathBuf>> {
        let dir = self.dir.join("per_cpu");
        let entries = fs::read_dir(&dir).with_context(|| format!("{}", dir.display()))?;
        entries.map(|entry| Ok(entry?.path())).collect()
    }

    /// Reads what the buffer of one CPU holds.
    fn drain(&self, cpu: &Path, recording: &mut Recording) -> Result<()> {
        let path = cpu.join("trace_pipe_raw");
        let mut file: File = OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
            .open(&path)
            .with_context(|| format!("{}", path.display()))?;
        let mut page = vec![0u8; PAGE_MAX];
        loop {
            match file.read(&mut page) {
                // A read gives one page, also one that is not full.
                Ok(length) if length > 0 => {
                    self.take(&page[..length], recording)
                        .with_context(|| format!("{}", path.display()))?;
                }
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context(path.display().to_string()),
            }
        }
    }

    fn take(&self, page: &[u8], recording: &mut Recording) -> Result<()> {
        let page = ring::read(page)?;
        recording.lost += u64::from(page.missed);
        for (at_ns, event) in page.events {
            let Some(kind) = ring::kind(event) else { continue };
            let Some((format, step)) = self.formats.iter().find(|(f, _)| f.id == kind) else {
                continue;
            };
            if format.number(event, "dev")? == u64::from(self.device) {
                let sector = format.number(event, "sector")?;
                let sectors = format.number(event, "nr_sector")?;
                recording.events.push(Event { step: *step, at_ns, sector, sectors });
            }
        }
        Ok(())
    }

    /// Events that the kernel has dropped so far, on all CPUs.
    fn lost(&self) -> Result<u64> {
        let stats = self.cpus()?.into_iter().map(|cpu| read_trimmed(&cpu.join("stats")));
        stats.map(|text| Ok(lost(&text?))).sum()
    }

    fn read(&self, name: impl AsRef<Path>) -> Result<String> {
        read_trimmed(&self.dir.join(name))
    }

    fn write(&self, name: impl AsRef<Path>, text: &str) -> Result<()> {
        let path = self.dir.join(name);
        fs::write(&path, text).with_context(|| format!("{}: cannot be set", path.display()))
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.dir) {
            eprintln!("warning: {}: cannot be removed: {error}", self.dir.display());
        }
    }
}

/// The events lost according to a CPU's `stats`: those overwritten, and those that came while the
/// buffer was being written or was full.
fn lost(text: &str) -> u64 {
    let of = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value.and_then(|value| value.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    of("overrun") + of("commit overrun") + of("dropped events")
}

#[cfg(test)]
mod tests {
    use super::*;

    // An I/O whose event was lost could be matched with another one's.
    #[test]
    fn every_kind_of_loss_is_counted() {
        let text = "entries: 9\noverrun: 20\ncommit overrun: 3\nbytes: 0\n\
             oldest event ts: 11306.007914\nnow ts: 11306.030807\ndropped events: 400\nread events: 9\n";
        assert_eq!(lost(text), 423);
        assert_eq!(lost("entries: 9\n"), 0);
    }
}
