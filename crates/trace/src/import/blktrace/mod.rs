//! blktrace's binary recordings: files for each CPU, of version 1 or 2 and either byte order, and the single file that
//! `blkparse -d` makes of them.
//!
//! Three threads share the work: one reads and decodes, one pairs, and the caller does what it does with the I/Os.

mod files;
mod merge;
mod stream;

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use block::trace::TraceSink as _;
use block::trace::record::Form;

use crate::import::compressed::Input;
use crate::import::records::FAULTS_TOLD;
use crate::pair::{Limits, Pairer};
use crate::{Io, Source, Space, TraceError, TraceInfo};

pub use files::siblings;

use merge::{Batch, Merge};

/// Records in a batch: as many as stay in a core's cache until they are paired.
const RECORDS: usize = 2 << 10;

/// Batches that one thread may be ahead of the next.
const AHEAD: usize = 8;

/// True when a file that begins with `head` is a binary recording of blktrace's.
pub fn begins(head: &[u8]) -> bool {
    head.first_chunk().is_some_and(|magic| Form::of(*magic).is_some())
}

/// Reads the files of one recording. [`siblings`] finds them.
///
/// With `lenient`, bytes that are not a record are skipped up to the next record, and counted.
///
/// # Errors
/// [`TraceError`] when the threads cannot be started. [`Source::next`] reports faults of a file.
pub fn open(inputs: Vec<Input>, lenient: bool) -> Result<Blktrace, TraceError> {
    let info = TraceInfo {
        source: "blktrace".to_owned(),
        files: inputs.iter().map(|input| input.name().to_owned()).collect(),
        ..TraceInfo::default()
    };
    let (to_pair, decoded) = sync_channel(AHEAD);
    let (to_caller, paired) = sync_channel(AHEAD);
    let (spent_ios, ios_back) = channel();
    let (spent_batches, batches_back) = channel();
    let merge = Merge::new(inputs, lenient);
    let pairing = Pairing { info: info.clone(), decoded, spent_batches, to_caller, ios_back };
    let started = thread::Builder::new()
        .name("trace-decode".to_owned())
        .spawn(move || decode(merge, &to_pair, &batches_back))
        .and_then(|_| {
            thread::Builder::new().name("trace-pair".to_owned()).spawn(move || pairing.run())
        });
    match started {
        Ok(_) => Ok(Blktrace { info, paired, spent_ios, over: false }),
        Err(source) => {
            Err(TraceError::Io { file: info.files.first().cloned().unwrap_or_default(), source })
        }
    }
}

/// Message from the decoding thread.
enum Decoded {
    Batch(Batch),
    /// The end, or why it ends before.
    End(Result<(), TraceError>, Told),
}

/// Information from all records together.
struct Told {
    lost: u64,
    missing: u64,
    version: Option<u8>,
}

/// Message from the pairing thread.
enum Paired {
    Ios(Vec<Io>),
    /// The address spaces that are known by now, before the first I/O of the last of them.
    Spaces(Vec<Space>),
    /// The end, or why it ends before.
    End(Box<TraceInfo>, Result<(), TraceError>),
}

fn decode(mut merge: Merge, to_pair: &SyncSender<Decoded>, back: &Receiver<Batch>) {
    loop {
        let mut batch = back.try_recv().unwrap_or_default();
        batch.clear();
        let result = merge.read(RECORDS, &mut batch);
        // It is not an error when the caller has gone away.
        if to_pair.send(Decoded::Batch(batch)).is_err() {
            return;
        }
        let end = match result {
            Ok(true) => continue,
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        let told = Told { lost: merge.lost(), missing: merge.missing(), version: merge.version() };
        let _gone = to_pair.send(Decoded::End(end, told));
        return;
    }
}

/// The pairing thread's.
struct Pairing {
    info: TraceInfo,
    decoded: Receiver<Decoded>,
    spent_batches: Sender<Batch>,
    to_caller: SyncSender<Paired>,
    ios_back: Receiver<Vec<Io>>,
}

impl Pairing {
    fn run(self) {
        let mut pairer = Pairer::new(&self.info.source, Limits::default());
        pairer.info_mut().files.clone_from(&self.info.files);
        let mut ios = Vec::new();
        let mut spaces = 0;
        // Without an end when the decoding thread has died, which it does not.
        while let Ok(decoded) = self.decoded.recv() {
            match decoded {
                Decoded::Batch(mut batch) => {
                    for note in batch.notes.drain(..) {
                        pairer.note(note);
                    }
                    pairer.events(&batch.events);
                    pairer.info_mut().skipped_rows += batch.skipped;
                    let room = FAULTS_TOLD.saturating_sub(pairer.info().faults.len());
                    pairer.info_mut().faults.extend(batch.faults.drain(..).take(room));
                    pairer.info_mut().ignored_rows += batch.unknown;
                    let _gone = self.spent_batches.send(batch);
                    pairer.drain(&mut ios);
                }
                Decoded::End(result, told) => {
                    pairer.finish(&mut ios);
                    tell(&mut pairer, &told);
                    if self.to_caller.send(Paired::Ios(ios)).is_ok() {
                        let info = Box::new(pairer.info().clone());
                        let _gone = self.to_caller.send(Paired::End(info, result));
                    }
                    return;
                }
            }
            if pairer.info().spaces.len() > spaces {
                spaces = pairer.info().spaces.len();
                let known = pairer.info().spaces.clone();
                if self.to_caller.send(Paired::Spaces(known)).is_err() {
                    return;
                }
            }
            if ios.len() >= RECORDS {
                let mut next = self.ios_back.try_recv().unwrap_or_default();
                next.clear();
                let full = std::mem::replace(&mut ios, next);
                if self.to_caller.send(Paired::Ios(full)).is_err() {
                    return;
                }
            }
        }
    }
}

/// Adds what is known at the end.
fn tell(pairer: &mut Pairer, told: &Told) {
    let unpaired = pairer.unpaired();
    let info = pairer.info_mut();
    if let Some(version) = told.version {
        info.source = format!("blktrace v{version}");
    }
    info.lost_events = info.lost_events.saturating_add(told.lost).saturating_add(told.missing);
    if told.missing > 0 {
        info.settled.push(format!(
            "the numbers of {} events are missing: they were lost, or left out when the file was made",
            told.missing
        ));
    }
    if unpaired.disordered > 0 {
        info.settled.push(format!(
            "{} arrivals came more than a millisecond after later ones, and were moved there",
            unpaired.disordered
        ));
    }
}

/// A recording of blktrace's, as I/Os.
#[derive(Debug)]
pub struct Blktrace {
    info: TraceInfo,
    paired: Receiver<Paired>,
    spent_ios: Sender<Vec<Io>>,
    over: bool,
}

impl Source for Blktrace {
    fn next(&mut self, batch: &mut Vec<Io>) -> Result<(), TraceError> {
        while !self.over {
            match self.paired.recv() {
                Ok(Paired::Ios(ios)) => {
                    batch.extend_from_slice(&ios);
                    let some = !ios.is_empty();
                    let _gone = self.spent_ios.send(ios);
                    if some {
                        return Ok(());
                    }
                }
                Ok(Paired::Spaces(spaces)) => self.info.spaces = spaces,
                Ok(Paired::End(info, result)) => {
                    self.over = true;
                    self.info = *info;
                    return result;
                }
                Err(_) => {
                    self.over = true;
                    return Err(TraceError::Unsuited(
                        "the thread that reads the recording has died".to_owned(),
                    ));
                }
            }
        }
        Ok(())
    }

    fn info(&self) -> &TraceInfo {
        &self.info
    }
}
