//! `drivescope sim serve`: a virtual drive as a file, until somebody ends it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use bench::opening;
use block::{Bytes, DriveInfo, Nanos, Target as _, Time, WallClock as _};
use report::Style;
use serde::Serialize;
use serve::{Backing, Ended, Options, RealTime, Served, Tally};

use crate::args::ServeArgs;
use crate::envelope::SystemClock;
use crate::exit::Exit;
use crate::messages;
use crate::verbs::print_json;

/// How often it is looked whether service is to end.
const LOOK: Duration = Duration::from_millis(50);

/// Time within which a second signal is ignored, so that it does not leave a dead mount: unmounting takes
/// up to a second while a program has the drive open.
const PATIENCE: Duration = Duration::from_secs(3);

/// The machine's monotonic clock.
struct Monotonic(Instant);

impl RealTime for Monotonic {
    fn now(&self) -> Time {
        Time(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// The served drive, printed at the start.
#[derive(Serialize)]
struct Beginning<'a> {
    file: PathBuf,
    pid: u32,
    drive: &'a DriveInfo,
    /// Most memory for content; `None` when it lies in a directory.
    memory_bytes: Option<Bytes>,
    store: Option<PathBuf>,
}

/// Totals, printed at the end.
#[derive(Serialize)]
struct End<'a> {
    file: PathBuf,
    served_ns: Nanos,
    /// True when some program had the drive open still.
    was_busy: bool,
    #[serde(flatten)]
    tally: &'a Tally,
}

/// Runs the verb: returns when somebody has unmounted the drive, or has asked this process to end.
///
/// # Errors
/// When there is no such model, or the drive cannot be put up or fails as a whole.
pub fn main(args: &ServeArgs) -> Result<Exit> {
    let target = args.model.open()?;
    opening::note_rounding(&args.model, target.info().capacity_bytes);
    let info = target.info().clone();
    let backing = match &args.store {
        Some(directory) => Backing::Directory(directory.clone()),
        None => Backing::Memory(args.memory),
    };
    let options = Options {
        mountpoint: args.mountpoint.clone(),
        backing,
        source: args.model.to_string(),
        date: SystemClock.now(),
    };
    // Before the drive is up, so that no signal ends the process and leaves a dead mount.
    let cancel = Arc::new(AtomicBool::new(false));
    let _orderly = linux::signals::orderly_within(&cancel, PATIENCE);
    let clock = Arc::new(Monotonic(Instant::now()));
    let served = serve::serve(target, clock.clone(), &options)?;
    let file = served.file();
    if let Err(error) = begin(args, &info, &file) {
        served.stop()?;
        return Err(error);
    }
    watch(&served, &cancel, args);
    let span = clock.now().since(Time::ZERO);
    let Ended { tally, was_busy } = served.stop()?;
    if was_busy {
        messages::note(&format!(
            "{}: some program has it open still, which now loses its drive",
            file.display()
        ));
    }
    if args.json {
        let end = End { file, served_ns: span, was_busy, tally: &tally };
        print_json("drivescope.sim.served/1", &end)?;
    } else {
        let listing = super::served::listing(args.model.as_str(), span, &tally);
        messages::result(&report::render_listing(&listing, Style::default()))?;
    }
    Ok(Exit::Done)
}

/// Says where the drive is.
fn begin(args: &ServeArgs, info: &DriveInfo, file: &std::path::Path) -> Result<()> {
    if args.json {
        let beginning = Beginning {
            file: file.to_owned(),
            pid: std::process::id(),
            drive: info,
            memory_bytes: args.store.is_none().then_some(args.memory),
            store: args.store.clone(),
        };
        return print_json("drivescope.sim.serve/1", &beginning);
    }
    messages::note(&format!(
        "{} is {}, {}; Ctrl-C or umount ends it",
        file.display(),
        info.name,
        report::number::bytes(info.capacity_bytes.0 as f64)
    ));
    Ok(())
}

/// Waits for the end, and says once when there is no more room for content.
fn watch(served: &Served, cancel: &AtomicBool, args: &ServeArgs) {
    let mut is_full = false;
    while !cancel.load(Ordering::Relaxed) && !served.is_over() {
        thread::sleep(LOOK);
        if !is_full && served.writes_without_room() > 0 {
            is_full = true;
            let room = match &args.store {
                Some(directory) => {
                    format!("{} has no more room; make some", directory.display())
                }
                None => format!(
                    "the {} of memory for it are full; serve it with more (--memory) or with a \
                     directory (--store)",
                    args.memory
                ),
            };
            messages::note(&format!("writes fail, since what was written is kept: {room}"));
        }
    }
}
