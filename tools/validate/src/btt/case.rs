//! Recordings to compare: loop devices with and without a scheduler, with a filesystem and without, and loads that
//! merge, flush, discard and are split.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// One recording.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// Schedulers of its devices: as many devices as there are.
    pub schedulers: &'static [&'static str],
    /// Its load, in words.
    pub what: &'static str,
    /// True with ext4 on the device.
    pub filesystem: bool,
    /// fio's jobs, the same on each device; `{s}` are the seconds.
    pub jobs: &'static str,
    /// Most bytes of a request, where it is not the device's own: longer bios are split.
    pub request_max_kib: Option<u32>,
}

/// Jobs that are recorded with a scheduler and without.
const RANDOM: &str = "--name=a --rw=randrw --bs=4k --iodepth=8";
const BATCHES: &str = "--name=w --rw=write --bs=4k --iodepth=32 --iodepth_batch=16 --iodepth_batch_complete_min=16 \
     --size=24m --name=r --rw=read --bs=4k --iodepth=32 --iodepth_batch=16 \
     --iodepth_batch_complete_min=16 --offset=24m --size=24m";
const EXT4: &str = "--name=b --direct=0 --ioengine=psync --rw=randwrite --bs=4k-32k --size=16m --fsync=16 \
     --name=d --rw=read --bs=64k --iodepth=8 --size=24m";

/// All recordings.
pub const CASES: [Case; 8] = [
    Case {
        name: "random",
        schedulers: &["none"],
        what: "4 KiB reads and writes at random, depth 8, direct",
        filesystem: false,
        jobs: RANDOM,
        request_max_kib: None,
    },
    Case {
        name: "random-deadline",
        schedulers: &["mq-deadline"],
        what: "the same through mq-deadline",
        filesystem: false,
        jobs: RANDOM,
        request_max_kib: None,
    },
    Case {
        name: "batches",
        schedulers: &["none"],
        what: "sequential 4 KiB, submitted 16 at a time: merged in plugs",
        filesystem: false,
        jobs: BATCHES,
        request_max_kib: None,
    },
    Case {
        name: "batches-bfq",
        schedulers: &["bfq"],
        what: "the same through bfq",
        filesystem: false,
        jobs: BATCHES,
        request_max_kib: None,
    },
    Case {
        name: "two-devices",
        schedulers: &["none", "mq-deadline"],
        what: "mixed sizes on two devices at once",
        filesystem: false,
        jobs: "--name=a --rw=randrw --bsrange=4k-64k --iodepth=4",
        request_max_kib: None,
    },
    Case {
        name: "ext4",
        schedulers: &["mq-deadline"],
        what: "ext4: buffered writes with fsync, direct reads, then deletion and fstrim",
        filesystem: true,
        jobs: EXT4,
        request_max_kib: None,
    },
    Case {
        name: "ext4-none",
        schedulers: &["none"],
        what: "the same without a scheduler",
        filesystem: true,
        jobs: EXT4,
        request_max_kib: None,
    },
    Case {
        name: "splits",
        schedulers: &["mq-deadline"],
        what: "256 KiB at random where a request holds 64 KiB: split; and 16 KiB beside it",
        filesystem: false,
        jobs: "--name=s --rw=randrw --bs=256k --iodepth=4 --size=128m \
               --name=t --rw=randread --bs=16k --iodepth=4 --offset=192m --size=32m",
        request_max_kib: Some(64),
    },
];

/// Size of each device.
const SIZE: u64 = 256 << 20;

/// A loop device with direct I/O over a sparse file, both of which go when it is dropped.
#[derive(Debug)]
pub struct Device {
    /// Under `/dev`.
    pub path: PathBuf,
    file: PathBuf,
}

impl Device {
    /// Makes one in `dir`.
    ///
    /// # Errors
    /// Without root, or where loop devices have no direct I/O.
    pub fn make(dir: &Path, number: usize) -> Result<Device> {
        let file = dir.join(format!("drivescope-btt-{}-{number}.img", std::process::id()));
        let made = fs::File::create(&file).and_then(|file| file.set_len(SIZE));
        made.with_context(|| format!("{}: cannot be made", file.display()))?;
        let name = file.to_string_lossy();
        let path = ran("losetup", &["--find", "--show", "--direct-io=on", &name])
            .inspect_err(|_| drop(fs::remove_file(&file)))?;
        Ok(Device { path: path.trim().into(), file })
    }

    /// Under `/sys/block`.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn set(&self, attribute: &str, value: &str) -> Result<()> {
        let path = Path::new("/sys/block").join(self.name()).join("queue").join(attribute);
        fs::write(&path, value).with_context(|| format!("{}: cannot write {value}", path.display()))
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if let Err(error) = ran("losetup", &["--detach", &self.path.to_string_lossy()]) {
            eprintln!("warning: {error:#}");
        }
        let _ = fs::remove_file(&self.file);
    }
}

/// A mounted filesystem, unmounted when dropped.
#[derive(Debug)]
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Err(error) = ran("umount", &[&self.0.to_string_lossy()]) {
            eprintln!("warning: {error:#}");
        }
        let _ = fs::remove_dir(&self.0);
    }
}

/// Makes the devices of a case.
///
/// # Errors
/// When they cannot be made, or have no such scheduler.
pub fn devices(case: &Case, dir: &Path) -> Result<Vec<Device>> {
    let mut devices = Vec::new();
    for (number, scheduler) in case.schedulers.iter().enumerate() {
        let device = Device::make(dir, number)?;
        device.set("scheduler", scheduler)?;
        if let Some(kib) = case.request_max_kib {
            device.set("max_sectors_kb", &kib.to_string())?;
        }
        if case.filesystem {
            ran("mkfs.ext4", &["-q", "-F", &device.path.to_string_lossy()])?;
        }
        devices.push(device);
    }
    Ok(devices)
}

/// Does what a case does.
///
/// # Errors
/// When a program is missing or fails.
pub fn load(case: &Case, devices: &[Device], dir: &Path, seconds: u32) -> Result<()> {
    let mounted = match case.filesystem {
        true => {
            let point = dir.join(format!("drivescope-btt-{}", std::process::id()));
            fs::create_dir_all(&point)?;
            ran("mount", &[&devices[0].path.to_string_lossy(), &point.to_string_lossy()])?;
            Some(Mounted(point))
        }
        false => None,
    };
    let time = format!("--runtime={seconds}");
    let common = ["--output=/dev/null", "--time_based", &time, "--ioengine=libaio", "--direct=1"];
    let mut arguments: Vec<String> = common.map(str::to_owned).to_vec();
    for device in devices {
        let target = match &mounted {
            Some(Mounted(point)) => format!("--directory={}", point.display()),
            None => format!("--filename={}", device.path.display()),
        };
        // An option before a job's name is for all jobs, one behind for this job.
        for word in case.jobs.split_whitespace() {
            arguments.push(word.to_owned());
            if word.starts_with("--name=") {
                arguments.push(target.clone());
            }
        }
    }
    ran("fio", &arguments.iter().map(String::as_str).collect::<Vec<_>>())?;
    if let Some(Mounted(point)) = &mounted {
        for entry in fs::read_dir(point)? {
            let path = entry?.path();
            if path.is_file() {
                fs::remove_file(path)?;
            }
        }
        ran("fstrim", &[&point.to_string_lossy()])?;
    }
    drop(mounted);
    Ok(())
}

/// Runs a program and gives what it printed.
///
/// # Errors
/// When it is missing or fails, with what it said.
pub fn ran(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .with_context(|| format!("{program} is missing"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} {}: {}", arguments.join(" "), said.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
