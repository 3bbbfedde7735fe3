//! A replay before it begins: what will be issued, where, and whether the trace can give what the mode asks.

use block::{Bytes, DriveInfo, Nanos};
use serde::{Deserialize, Serialize};

use super::address::{AddressMap, space_name};
use super::options::{Clock, Fit, Layout, Mode, Options, Writes};
use super::survey::Survey;
use crate::{Kind, TraceError};

/// Longest request. A drive answers with a signed number of 32 bits, and no block layer takes so long a bio.
const LONGEST_MAX: Bytes = Bytes::gib(1);

/// A trace and a target, brought together by options that were checked against both.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// How.
    pub options: Options,
    /// Survey of the trace.
    pub survey: Survey,
    /// Map of its addresses to the target.
    pub map: AddressMap,
    /// The target as the user named it.
    pub target: String,
    /// Whether completions come from a reference replay.
    pub referred: bool,
}

/// Description of a plan, for people and for the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// As it was asked for.
    pub options: Options,
    /// Source of the original's completions.
    pub original: Origin,
    /// How the spaces of the trace lie on the target, one sentence.
    pub layout: String,
    /// Treatment of addresses, one sentence.
    pub addresses: String,
    /// First byte behind all that the trace uses, all spaces laid out.
    pub extent_bytes: Bytes,
    /// True when no two addresses of the trace come to lie on one of the target.
    pub injective: bool,
    /// Bytes that will be written, alignment repair apart, over all loops.
    pub write_bytes: Bytes,
    /// Bytes that will be discarded, over all loops.
    pub discard_bytes: Bytes,
    /// Differences from the original, one sentence each.
    pub notes: Vec<String>,
}

/// Source of the original's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The trace has completions.
    Completions,
    /// The trace has arrivals only.
    Arrivals,
    /// A timed replay on a reference drive.
    Reference,
}

impl Plan {
    /// Brings `survey` and `target` together. `referred` says that the stream will get the times of a reference replay
    /// ([`super::ReferenceReader`]).
    ///
    /// # Errors
    /// [`TraceError::Unsuited`] when an option is out of range, when the trace does not have what the mode asks for or
    /// does not fit the target.
    pub fn new(
        survey: Survey,
        target: &DriveInfo,
        options: Options,
        referred: bool,
    ) -> Result<Plan, TraceError> {
        check_options(&options)?;
        check_known(&survey, &options, referred)?;
        if survey.longest > LONGEST_MAX {
            return Err(TraceError::Unsuited(format!(
                "the trace has a request of {}, and none longer than {LONGEST_MAX} can be issued: were sectors taken \
                 for bytes?",
                survey.longest
            )));
        }
        let survey = if options.discards { survey.with_discards() } else { survey };
        let map = AddressMap::new(&survey, target, &options)?;
        let target = target.name.clone();
        Ok(Plan { options, survey, map, target, referred })
    }

    /// Longest transfer that will be asked for.
    pub fn block_bytes_max(&self) -> Bytes {
        // Repair adds less than a block at each end.
        let (_, window) = self.map.part();
        let longest = Bytes(self.survey.longest.0 + 2 * self.map.block().0);
        Bytes(longest.0.min(window.0).max(self.map.block().0))
    }

    /// Bytes that will be written, alignment repair apart, over all loops.
    pub fn write_bytes(&self) -> Bytes {
        match self.options.writes {
            Writes::Issue => self.all_loops(Kind::Write),
            Writes::LeaveOut | Writes::AsReads => Bytes::ZERO,
        }
    }

    /// Bytes that will be discarded, over all loops.
    pub fn discard_bytes(&self) -> Bytes {
        if self.options.discards { self.all_loops(Kind::Discard) } else { Bytes::ZERO }
    }

    fn all_loops(&self, kind: Kind) -> Bytes {
        let once = self.survey.bytes[kind as usize].0;
        Bytes(once.saturating_mul(self.options.loops.into()))
    }

    /// The first instant of the original on the clock that is replayed from.
    pub(super) fn first(&self) -> Nanos {
        match self.options.clock {
            Clock::Queue => self.survey.first_arrival,
            Clock::Issue => self.survey.first_issue.unwrap_or(self.survey.first_arrival),
        }
    }

    /// How far one loop's times lie behind those of the loop before: from the first arrival to the last, and one mean
    /// gap between arrivals, so that the rate goes on as it was.
    pub(super) fn period(&self) -> u64 {
        let span = self.survey.last_arrival.0 - self.survey.first_arrival.0;
        let gaps = self.survey.total().saturating_sub(1).max(1);
        span.saturating_add(span / gaps).max(1)
    }

    /// About how long the schedule is, for modes that have one.
    pub(super) fn span(&self) -> Nanos {
        let all = self.period().saturating_mul(self.options.loops.into());
        match self.options.mode {
            Mode::Scaled(scale) => Nanos((all as f64 * scale.factor) as u64),
            Mode::Timed | Mode::Outstanding(_) | Mode::Afap(_) => Nanos(all),
        }
    }

    /// How long the replay takes when nothing holds it up; `None` where the drive decides.
    pub fn planned(&self) -> Option<Nanos> {
        matches!(self.options.mode, Mode::Timed | Mode::Scaled(_)).then(|| self.span())
    }

    /// Returns the source of the original's times.
    pub fn original(&self) -> Origin {
        if self.referred {
            Origin::Reference
        } else if self.survey.has_completions() {
            Origin::Completions
        } else {
            Origin::Arrivals
        }
    }

    /// Returns the description of this plan.
    pub fn statement(&self) -> Statement {
        Statement {
            options: self.options.clone(),
            original: self.original(),
            layout: self.layout_sentence(),
            addresses: self.address_sentence(),
            extent_bytes: self.map.extent(),
            injective: self.map.injective(),
            write_bytes: self.write_bytes(),
            discard_bytes: self.discard_bytes(),
            notes: self.notes(),
        }
    }

    fn layout_sentence(&self) -> String {
        let used = self.survey.reaches.iter().flatten().count();
        match &self.options.layout {
            Layout::At(list) => {
                let each = list.iter().map(|(name, base)| format!("{name} at {base}"));
                format!(
                    "each address space at the byte named for it: {}",
                    each.collect::<Vec<_>>().join(", ")
                )
            }
            _ if used <= 1 => "one address space, from its own beginning".to_owned(),
            Layout::Packed => format!(
                "{used} address spaces one behind the other, each from its first used address to its last, in whole MiB"
            ),
            Layout::SideBySide => {
                format!("{used} address spaces one behind the other, each as large as it is")
            }
            Layout::Overlaid => {
                format!("{used} address spaces over each other, all from the same beginning")
            }
        }
    }

    fn address_sentence(&self) -> String {
        let (start, window) = self.map.part();
        let (extent, from) = (self.map.extent(), format!("from byte {} of the target", start.0));
        match self.options.fit {
            Fit::Identity => format!("as they are, {from}"),
            Fit::Wrap if extent <= window => format!("as they are, {from}: the trace fits"),
            Fit::Wrap => format!("{} bytes wrapped over {}, {from}", extent.0, window.0),
            Fit::Scale => {
                format!("{} bytes scaled to {}, a MiB at a time, {from}", extent.0, window.0)
            }
            Fit::Hash { seed } => {
                format!(
                    "{} bytes hashed over {}, a MiB at a time, by seed {seed}, {from}",
                    extent.0, window.0
                )
            }
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let ios = |kind: Kind| self.survey.ios[kind as usize];
        let mut tell = |count: u64, what: &str| {
            if count > 0 {
                notes.push(format!("{count} {what}"));
            }
        };
        match self.options.writes {
            Writes::Issue => {}
            Writes::LeaveOut => {
                tell(ios(Kind::Write) + ios(Kind::Flush), "writes and flushes are left out");
            }
            Writes::AsReads => {
                tell(ios(Kind::Write), "writes are issued as reads, which is another load");
                tell(ios(Kind::Flush), "flushes are left out");
            }
        }
        if !self.options.discards {
            tell(ios(Kind::Discard), "discards are left out");
        }
        tell(
            ios(Kind::WriteZeroes),
            "writes of zeroes are left out: a drive here has no such request",
        );
        tell(ios(Kind::Zone), "zone commands are left out: a drive here has no such request");
        tell(ios(Kind::Other), "other commands are left out: what they do is not known");
        if self.options.clock == Clock::Queue && self.original() == Origin::Completions {
            tell(
                self.survey.total() - self.survey.completed,
                "I/Os have no completion and count as done at once",
            );
        }
        notes
    }

    /// Names of the spaces that are used, by their number.
    pub fn spaces(&self) -> Vec<(usize, String)> {
        let used = (0..self.survey.reaches.len()).filter(|i| self.survey.reaches[*i].is_some());
        used.map(|i| (i, space_name(&self.survey, i))).collect()
    }
}

fn check_options(options: &Options) -> Result<(), TraceError> {
    let wrong = |text: String| Err(TraceError::Unsuited(text));
    if options.loops == 0 {
        return wrong("a trace is replayed at least once".to_owned());
    }
    match options.mode {
        Mode::Afap(0) => wrong("a depth of 0 issues nothing: name at least 1".to_owned()),
        Mode::Scaled(scale) if !(scale.factor > 0.0 && scale.factor <= 1e6) => wrong(format!(
            "time cannot be stretched by {}: name a factor above 0 and at most 1,000,000",
            scale.factor
        )),
        _ => Ok(()),
    }
}

/// Refuses a mode that asks for what the trace does not have.
fn check_known(survey: &Survey, options: &Options, referred: bool) -> Result<(), TraceError> {
    let (total, completed) = (survey.total(), survey.completed);
    let wrong = |text: String| Err(TraceError::Unsuited(text));
    if options.clock == Clock::Issue && survey.issued == 0 {
        return wrong(
            "the trace does not record when requests were issued to the driver (D): replay it from Q"
                .to_owned(),
        );
    }
    if survey.has_completions() {
        return Ok(());
    }
    let has = if completed == 0 {
        "the trace has arrivals only".to_owned()
    } else {
        format!("only {completed} of {total} I/Os of the trace have a completion")
    };
    match options.mode {
        Mode::Outstanding(_) if !referred => wrong(format!(
            "{has}, and what was outstanding before each request is unknown without completions: \
             name a reference drive on which a timed replay derives them (--reference), or replay timed"
        )),
        Mode::Scaled(scale) if scale.idle_only => wrong(format!(
            "{has}, and where the original was idle is unknown without completions: scale all times instead"
        )),
        _ => Ok(()),
    }
}
