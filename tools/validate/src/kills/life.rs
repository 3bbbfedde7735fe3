//! The life of a run that is not killed, and moments in it.

use std::fmt;
use std::fs;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::trial::Bench;
use super::{STEPS, below, drivescope};

/// Lives that are measured.
const LIVES: u32 = 5;
/// How often the journal is looked at while a line is waited for.
const LOOK: Duration = Duration::from_micros(100);
/// Around the end of a step: before the step that is being measured goes on, and into its beginning.
const AROUND: Duration = Duration::from_millis(4);

/// How long a run takes when it is left alone.
#[derive(Clone, Debug)]
pub(super) struct Life {
    /// From exec to exit.
    pub(super) whole: Duration,
    /// From exec to the run's being in its directory.
    pub(super) begun: Duration,
    /// From the last step's being in the journal to exit.
    pub(super) end: Duration,
}

/// Classes of moments, by which the table has them: two in five anywhere, two in five around the end of a
/// step, and one in five in the short times in which a run comes into being and is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Anywhere,
    Beginning,
    StepEnd,
    End,
}

impl Class {
    pub(super) const ALL: [Class; 4] =
        [Class::Beginning, Class::Anywhere, Class::StepEnd, Class::End];

    pub(super) fn draw(dice: &mut Xoshiro256PlusPlus) -> Class {
        match below(dice, 10) {
            0..=3 => Class::Anywhere,
            4..=7 => Class::StepEnd,
            8 => Class::Beginning,
            _ => Class::End,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Class::Anywhere => "anywhere",
            Class::Beginning => "beginning",
            Class::StepEnd => "around the end of a step",
            Class::End => "after the last step",
        }
    }
}

/// When a run is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// So long after exec.
    Anywhere(Duration),
    /// So long after exec, around the time when the run comes to be in its directory.
    Beginning(Duration),
    /// So long after this many steps are in the journal: the sync of a step, the pause, the beginning of
    /// the next.
    StepEnd(u64, Duration),
    /// So long after the last step is in the journal: document, checksums, end, index, exit.
    End(Duration),
}

impl Life {
    /// Makes the run a few times to learn how long it takes, and returns the last one's document. The
    /// shortest life counts: moments drawn over a longer one would come when the process is gone.
    pub(super) fn measure(bench: &Bench, arguments: &[String]) -> Result<(Life, String)> {
        let (mut life, mut document) = live(bench, arguments)?;
        for _ in 1..LIVES {
            let (other, text) = live(bench, arguments)?;
            life.whole = life.whole.min(other.whole);
            life.begun = life.begun.min(other.begun);
            life.end = life.end.min(other.end);
            document = text;
        }
        Ok((life, document))
    }

    /// A moment of this class.
    pub(super) fn draw(&self, class: Class, dice: &mut Xoshiro256PlusPlus) -> Moment {
        let mut within = |span: Duration| {
            Duration::from_micros(below(dice, u64::try_from(span.as_micros()).unwrap_or(u64::MAX)))
        };
        match class {
            Class::Anywhere => Moment::Anywhere(within(self.whole)),
            // Most of the beginning is the writing of a test file, when nothing is recorded yet.
            Class::Beginning => Moment::Beginning(self.begun / 2 + within(self.begun)),
            Class::End => Moment::End(within(self.end)),
            Class::StepEnd => {
                let after = within(AROUND);
                Moment::StepEnd(1 + below(dice, STEPS - 1), after)
            }
        }
    }
}

/// Makes the run once.
fn live(bench: &Bench, arguments: &[String]) -> Result<(Life, String)> {
    bench.clear()?;
    let mut command = drivescope(bench, arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let mut child = command.spawn().context("cannot start drivescope")?;
    let (mut begun, mut last) = (None, None);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begun.is_none() {
            begun = bench.run()?.map(|_| began.elapsed());
        } else if last.is_none() && lines_in_journal(bench)? >= STEPS {
            last = Some(began.elapsed());
        }
        sleep(LOOK);
    };
    let whole = began.elapsed();
    if !matches!(status.code(), Some(0 | 1)) {
        bail!("drivescope {} ended with {status}", arguments.join(" "));
    }
    let run = bench.run()?.context("the run was not recorded")?;
    let document = fs::read_to_string(run.join("document.json")).context("document.json")?;
    // Both were seen, unless they came within the last look.
    let (begun, last) = (begun.unwrap_or(whole), last.unwrap_or(whole));
    Ok((Life { whole, begun, end: whole.saturating_sub(last) }, document))
}

impl Moment {
    /// Waits for it, or until `child` has ended.
    pub(super) fn wait(self, bench: &Bench, child: &mut Child, began: Instant) -> Result<()> {
        let (lines, after) = match self {
            Moment::Anywhere(after) | Moment::Beginning(after) => {
                sleep(after.saturating_sub(began.elapsed()));
                return Ok(());
            }
            Moment::StepEnd(lines, after) => (lines, after),
            Moment::End(after) => (STEPS, after),
        };
        while lines_in_journal(bench)? < lines && child.try_wait()?.is_none() {
            sleep(LOOK);
        }
        sleep(after);
        Ok(())
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moment::Anywhere(after) | Moment::Beginning(after) => write!(f, "{after:?} after exec"),
            Moment::StepEnd(lines, after) => write!(f, "{after:?} after line {lines}"),
            Moment::End(after) => write!(f, "{after:?} after the last line"),
        }
    }
}

/// Whole lines, whatever they say; a resumed run has one more.
fn lines_in_journal(bench: &Bench) -> Result<u64> {
    let Some(run) = bench.run()? else { return Ok(0) };
    let text = fs::read(run.join("journal.jsonl")).unwrap_or_default();
    Ok(text.iter().filter(|byte| **byte == b'\n').count() as u64)
}
