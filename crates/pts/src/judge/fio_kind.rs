//! Kinds of fio's logs, and what their lines are about.

/// Quantity that the values of a log are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// KiB a second.
    Bandwidth,
    /// I/Os a second, or 1 for each I/O.
    Iops,
    /// Nanoseconds from submission to completion, with what it took to submit.
    Latency,
    /// Nanoseconds from submission to completion.
    CompletionLatency,
    /// Nanoseconds that it took to submit.
    SubmissionLatency,
}

impl Kind {
    /// The part of the file's name for it.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Bandwidth => "bw",
            Kind::Iops => "iops",
            Kind::Latency => "lat",
            Kind::CompletionLatency => "clat",
            Kind::SubmissionLatency => "slat",
        }
    }

    pub(super) const ALL: [Kind; 5] = [
        Kind::Bandwidth,
        Kind::Iops,
        Kind::CompletionLatency,
        Kind::SubmissionLatency,
        Kind::Latency,
    ];
}

/// Direction of an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the drive.
    Read,
    /// To the drive.
    Write,
    /// Given up.
    Trim,
}

/// From here on, stamps count from 1970 and not from the beginning of a job.
pub(super) const DATES_MS: u64 = 1 << 40;
