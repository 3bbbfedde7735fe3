//! Files that say again, in forms that other programs read, what the journal says.

use std::fmt::Write as _;
use std::path::Path;

pub use block::text::csv_field;
use block::text::harmless;

use crate::files::Files;
use crate::journal::{Lines, Said};
use crate::store::{HISTOGRAMS, JOURNAL, SERIES};
use crate::{Envelope, RecordError, StepEntry};

/// One of these files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Derived {
    /// The interval series of all steps, as CSV: `at_ns` is the end of a slice.
    Series,
    /// The histograms of all steps as an HdrHistogram log, version 1.3, as its own tools write and read
    /// it: start and length in seconds, maximum in milliseconds. A tag is
    /// `position/step/run/phase/operation`, with underscores for what a tag cannot hold.
    Histograms,
}

impl Derived {
    /// All of them.
    pub const ALL: [Derived; 2] = [Derived::Series, Derived::Histograms];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Derived::Series => SERIES,
            Derived::Histograms => HISTOGRAMS,
        }
    }

    /// Passes the file to `write` piece by piece, made from the journal in `dir`, of which it holds
    /// one line at a time. Returns the number of entries in the journal.
    ///
    /// # Errors
    /// As the journal is read, and whatever `write` says.
    pub fn make<F: Files>(
        self,
        files: &F,
        dir: &Path,
        envelope: &Envelope,
        write: &mut dyn FnMut(&[u8]) -> Result<(), RecordError>,
    ) -> Result<u64, RecordError> {
        let head = match self {
            Derived::Series => {
                "position,step,run,phase,measured,at_ns,length_ns,ios,bytes\n".to_owned()
            }
            Derived::Histograms => log_head(envelope),
        };
        write(head.as_bytes())?;
        let mut lines = Lines::open(files, &dir.join(JOURNAL))?;
        while let Some(said) = lines.next_said()? {
            if let Said::Step(step) = said {
                let rows = match self {
                    Derived::Series => series(&step),
                    Derived::Histograms => histograms(&step),
                };
                write(rows.as_bytes())?;
            }
        }
        Ok(lines.entries())
    }
}

fn series(step: &StepEntry) -> String {
    let mut out = String::new();
    let name = csv_field(&step.step);
    for phase in &step.series {
        let (measured, phase_name) = (phase.measured, csv_field(&phase.phase));
        let head = format!("{},{name},{},{phase_name},{measured}", step.position, step.run);
        let mut at = phase.began_ns;
        for (index, ios) in phase.ios.iter().enumerate() {
            at = at.saturating_add(phase.slice_ns);
            let bytes = phase.bytes.get(index).copied().unwrap_or(0);
            // Writing into a String does not fail.
            let _ = writeln!(out, "{head},{at},{},{ios},{bytes}", phase.slice_ns);
        }
    }
    out
}

fn log_head(envelope: &Envelope) -> String {
    let start = crate::run_id::seconds_of(&envelope.date).unwrap_or(0);
    format!(
        "#[Histogram log format version 1.3]\n\
         #[drivescope {}, run {}; latencies in nanoseconds]\n\
         #[StartTime: {start}.000 (seconds since epoch), {}]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
        one_line(&envelope.version),
        envelope.run_id,
        one_line(&envelope.date),
    )
}

fn histograms(step: &StepEntry) -> String {
    let mut out = String::new();
    for h in &step.histograms {
        let tag = format!("{:04}/{}/{}/{}/{}", step.position, step.step, step.run, h.phase, h.op);
        let _ = writeln!(
            out,
            "Tag={},{},{},{},{}",
            harmless(&tag.replace([',', ' ', '\t', '\r', '\n'], "_")),
            Decimal(h.began_ns, 1_000_000_000),
            Decimal(h.window_ns, 1_000_000_000),
            Decimal(h.max_ns, 1_000_000),
            // A payload with a line break or comma is invalid, and must not become lines of its
            // own.
            h.encoded.replace([',', ' ', '\t', '\r', '\n'], ""),
        );
    }
    out
}

/// An integer divided by a power of ten, exactly.
struct Decimal(u64, u64);

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = self.1.ilog10() as usize;
        write!(f, "{}.{:0digits$}", self.0 / self.1, self.0 % self.1)
    }
}

fn one_line(text: &str) -> String {
    harmless(&text.replace(['\r', '\n'], " ")).into_owned()
}
