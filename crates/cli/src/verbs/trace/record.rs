//! `drivescope trace record`: what devices are asked to do, kept in a file.

mod command;
mod keep;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use bench::outputs;
use block::{Bounds, Nanos, WallClock as _};
use documents::trace_record::{Body, Ended, Recording};
use drives::TargetSpec;
use linux::sysfs::Roots;
use linux::tracer::{self, Options, Recorded, Subject, Tracer};
use record::{Announced, RunId};
use report::{Style, number};
use runner::announce;

use crate::args::TraceRecordArgs;
use crate::envelope::{SystemClock, arguments};
use crate::exit::Exit;
use crate::verbs::unrecorded;
use crate::{announcing, messages};

use command::Command;
use keep::{Keeper, Kept};

/// How often it is looked whether the recording is to end.
const LOOK: Duration = Duration::from_millis(20);
/// How often the line of progress is drawn, in looks.
const DRAW: u32 = 10;

/// Runs the verb.
///
/// # Errors
/// What makes recording impossible.
pub fn main(args: &TraceRecordArgs) -> Result<Exit> {
    let subjects = subjects(args)?;
    let announced = announcement(args, &subjects);
    if args.dry_run {
        return announcing::dry_run(&announced, false, args.json);
    }
    announce::say(&announced);
    let path = args.output.clone().unwrap_or_else(|| usual_name(&subjects));
    let existing = crate::trace_files::existing(args.force);
    outputs::check(&path, args.force)?;
    warn_of_own_writes(&path, &subjects);
    // Before anything is begun, so that no signal leaves it half-way.
    let cancel = Arc::new(AtomicBool::new(false));
    let _orderly = linux::signals::orderly(&cancel);
    let keeper = Keeper::create(&path, existing, &subjects)?;
    let broken = keeper.broken();
    let options = Options { backend: args.backend, buffer: args.buffer, ..Options::default() };
    let tracer = tracer::start(&subjects, &options, keeper)?;
    let begun = Instant::now();
    let watch = Watch { args, cancel: &cancel, broken: &broken, begun };
    // When it cannot be started, dropping the tracer takes that out of the kernel, and its file with it.
    let mut command = Command::start(&args.command, args.json)?;
    watch.until_the_end(&tracer, command.as_mut());
    let (keeper, recorder) = tracer.stop();
    let duration_ns = nanos(begun.elapsed());
    let kept = keeper.finish(recorder.backend)?;
    let ended = command.map(|command| command.wait(&cancel)).transpose()?;
    let mut body = body(path, &subjects, duration_ns, kept, recorder, ended);
    body.interrupted = cancel.load(Ordering::Relaxed);
    show(&body, args.json, announced)?;
    Ok(exit(&body))
}

/// Announcement of a recording, which reads and writes nothing on the devices.
fn announcement(args: &TraceRecordArgs, subjects: &[Subject]) -> Announced {
    let names: Vec<&str> = subjects.iter().map(|subject| subject.name.as_str()).collect();
    let end = match args.command.first() {
        Some(command) => format!(" of {}", command.to_string_lossy()),
        None if args.duration.is_some() => String::new(),
        None => " until Ctrl-C".to_owned(),
    };
    Announced {
        target: names.join(", "),
        drive: String::new(),
        work: format!("record the block I/O{end}"),
        time_ns: Bounds::up_to(args.duration.map(|span| span.0)),
        time_besides: Vec::new(),
        is_virtual: false,
        read_bytes: Bounds::of(0),
        written_bytes: Bounds::of(0),
        drive_bytes: None,
        warnings: Vec::new(),
    }
}

/// Refuses a command in the place of devices; the error would otherwise name only its first word.
fn refuse_command(args: &TraceRecordArgs) -> Result<()> {
    // A missing path below /dev is a device, not a command.
    let is_word = |path: &&PathBuf| !path.exists() && !path.starts_with("/dev");
    let command = args.devices.iter().skip(1).find(is_word).filter(|_| args.command.is_empty());
    let Some(command) = command.map(|path| path.display().to_string()) else { return Ok(()) };
    let mut words = vec!["drivescope".to_owned()];
    words.extend(arguments());
    let at = words.iter().position(|word| *word == command).unwrap_or(words.len());
    words.insert(at, "--".to_owned());
    bail!(
        "{command}: is neither device nor file; put a command to record after --: {}",
        block::command_line(&words)
    )
}

fn subjects(args: &TraceRecordArgs) -> Result<Vec<Subject>> {
    refuse_command(args)?;
    let roots = Roots::default();
    let mut subjects: Vec<Subject> = Vec::new();
    for path in &args.devices {
        let name = TargetSpec::of(&path.to_string_lossy());
        if !name.is_real() {
            bail!(
                "{name}: is not a device of the kernel, which is what is recorded; `drivescope sim serve` makes a file of a \
                 virtual drive, and `losetup` a device of that"
            );
        }
        let subject = Subject::find(&roots, path)?;
        if let Some(found) = &subject.found {
            messages::note(found);
        }
        // Two directories may well lie on one device.
        if !subjects.iter().any(|known| known.number == subject.number) {
            subjects.push(subject);
        }
    }
    Ok(subjects)
}

/// `trace-sdb-20261122T093000Z.parquet`
fn usual_name(subjects: &[Subject]) -> PathBuf {
    let names: Vec<_> = subjects.iter().map(|subject| subject.name.replace('!', "-")).collect();
    let id = RunId::new(SystemClock.now(), 0);
    let date = id.as_str().split('-').next().unwrap_or_default();
    format!("trace-{}-{date}.parquet", names.join("+")).into()
}

/// A recording on the device that is recorded records itself.
fn warn_of_own_writes(path: &Path, subjects: &[Subject]) {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let Ok(own) = Subject::find(&Roots::default(), directory) else { return };
    if let Some(subject) = subjects.iter().find(|subject| subject.disk == own.disk) {
        messages::note(&format!(
            "{}: lies on {}, which is recorded: writing it will be in it; -o names a file elsewhere",
            path.display(),
            subject.disk_name
        ));
    }
}

fn nanos(span: Duration) -> Nanos {
    Nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

/// Conditions for the end of a recording.
struct Watch<'a> {
    args: &'a TraceRecordArgs,
    cancel: &'a AtomicBool,
    broken: &'a AtomicBool,
    begun: Instant,
}

impl Watch<'_> {
    /// Returns when the command or the time has ended, at the user's wish, or if recording cannot continue.
    fn until_the_end(&self, tracer: &Tracer<Keeper>, mut command: Option<&mut Command>) {
        let bar = live::progress::timer("recording", !self.args.no_progress);
        let until = self.args.duration.map(|span| self.begun + Duration::from_nanos(span.0));
        for look in 0u32.. {
            let over = until.is_some_and(|until| Instant::now() >= until)
                || command.as_mut().is_some_and(|command| command.has_ended())
                || self.cancel.load(Ordering::Relaxed)
                || self.broken.load(Ordering::Relaxed)
                || tracer.is_over();
            if over {
                break;
            }
            if look.is_multiple_of(DRAW) {
                let (events, lost) = (tracer.events() as f64, tracer.lost() as f64);
                let lost = if lost > 0.0 { number::thousands(lost) } else { "none".to_owned() };
                let left = until.map(|until| until.saturating_duration_since(Instant::now()));
                bar.set_message(
                    left,
                    &format!("{} events, {lost} lost", number::thousands(events)),
                );
            }
            let left = until.map_or(LOOK, |until| until.saturating_duration_since(Instant::now()));
            thread::sleep(left.min(LOOK));
        }
        bar.finish_and_clear();
    }
}

fn body(
    file: PathBuf,
    subjects: &[Subject],
    duration_ns: Nanos,
    kept: Kept,
    recorder: Recorded,
    command: Option<Ended>,
) -> Body {
    let device = |subject: &Subject| Recording {
        name: subject.name.clone(),
        path: subject.path.clone(),
        number: subject.number.to_string(),
        capacity_bytes: subject.capacity.0,
    };
    Body {
        file,
        file_bytes: kept.written.bytes,
        devices: subjects.iter().map(device).collect(),
        duration_ns,
        ios: kept.written.ios,
        unfinished: kept.unpaired.unfinished,
        strays: kept.unpaired.strays,
        marks: kept.marks,
        interrupted: false,
        recorder,
        command,
    }
}

fn show(body: &Body, json: bool, announced: Announced) -> Result<()> {
    if json {
        let mut document = unrecorded("drivescope.trace.record/1", body);
        document.envelope.announced = Some(Box::new(announced));
        return messages::document(&document);
    }
    let listing = views::record::listing(body);
    messages::result(&report::render_listing(&listing, Style::default()))
}

/// A recording that broke off was made in vain; a command that failed may have been, unless Ctrl-C was to end it.
fn exit(body: &Body) -> Exit {
    let failed = body.command.as_ref().is_some_and(|command| !command.success);
    let failed = failed && !body.interrupted;
    if failed || body.recorder.fault.is_some() { Exit::No } else { Exit::Done }
}
