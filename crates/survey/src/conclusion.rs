//! A conclusion: what is said about one topic, how sure it is, and what it rests on.

use probe::Verdict;
use probe::advice::Advice;
use serde::{Deserialize, Serialize};
use stats::{Assessment, Lenient, Quantity};

/// Topic of a conclusion. The words are those of the JSON, and a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// Turning disk, memory card or stick, solid-state drive.
    DriveKind,
    /// Turns per minute.
    Rotation,
    /// Speed at the end over that at the beginning.
    OuterToInner,
    /// Places that are slower than those around them.
    SlowPlaces,
    /// Unit of erasing, in bytes.
    EraseBlock,
    /// Unit of programming, in bytes: the pages of all planes together. Reads seldom distinguish planes.
    Page,
    /// Erase blocks that may be open at once, each written in order.
    OpenUnits,
    /// Erase blocks that may be open at once, each written in any order.
    OpenUnitsRandom,
    /// Zone at the beginning for file allocation tables, in bytes.
    FatZone,
    /// Reads that are served at once.
    Parallelism,
    /// Partitions beside the grid of erase blocks.
    Partitions,
    /// Real capacity, in bytes.
    RealCapacity,
    /// Bits in a cell.
    CellType,
    /// Part that is written with one bit a cell, in bytes.
    SlcCache,
    /// Memory that takes writes before the medium does, in bytes.
    WriteBuffer,
    /// Speed classes of memory cards.
    SpeedClass,
    /// Rate of reads in sequence.
    SequentialRead,
    /// Rate of writes in sequence.
    SequentialWrite,
    /// Rate of reads at random places.
    RandomRead,
    /// Rate of writes at random places.
    RandomWrite,
    /// Gain from outstanding requests.
    QueueDepth,
    /// The slowest reads beside the usual ones.
    LatencyTail,
    /// Rate of random writes that can be kept up.
    SteadyWrite,
    /// Spare share of the medium.
    OverProvisioning,
    /// Health that the drive reports.
    Health,
    /// Whether the numbers can be trusted.
    Trust,
}

impl Topic {
    /// As in the JSON.
    pub fn word(self) -> &'static str {
        match self {
            Topic::DriveKind => "drive_kind",
            Topic::Rotation => "rotation",
            Topic::OuterToInner => "outer_to_inner",
            Topic::SlowPlaces => "slow_places",
            Topic::EraseBlock => "erase_block",
            Topic::Page => "page",
            Topic::OpenUnits => "open_units",
            Topic::OpenUnitsRandom => "open_units_random",
            Topic::FatZone => "fat_zone",
            Topic::Parallelism => "parallelism",
            Topic::Partitions => "partitions",
            Topic::RealCapacity => "real_capacity",
            Topic::CellType => "cell_type",
            Topic::SlcCache => "slc_cache",
            Topic::WriteBuffer => "write_buffer",
            Topic::SpeedClass => "speed_class",
            Topic::SequentialRead => "sequential_read",
            Topic::SequentialWrite => "sequential_write",
            Topic::RandomRead => "random_read",
            Topic::RandomWrite => "random_write",
            Topic::QueueDepth => "queue_depth",
            Topic::LatencyTail => "latency_tail",
            Topic::SteadyWrite => "steady_write",
            Topic::OverProvisioning => "over_provisioning",
            Topic::Health => "health",
            Topic::Trust => "trust",
        }
    }
}

/// Value of a conclusion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number with what is known about it.
    Number(Quantity),
    /// A word, such as `solid-state drive`.
    Word(String),
}

/// Evidence for a conclusion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The part of the survey: `identity`, `mark`, `probe`, `surface`, `wsat`, `health`.
    pub part: String,
    /// Observation, in one sentence without a full stop.
    pub seen: String,
}

/// Conclusion about one topic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// About what.
    pub topic: Topic,
    /// `found`; `none`, there is no such thing; `unknown`.
    pub verdict: Verdict,
    /// One sentence in plain words, without a full stop; of what is unknown, why.
    pub statement: String,
    /// The value; null unless found.
    pub value: Option<Value>,
    /// Probability that it is right, or the confidence of its interval, 0 to 1; `None` where nothing is claimed or the
    /// probability is not known.
    pub confidence: Option<f64>,
    /// Evidence for it.
    pub evidence: Vec<Evidence>,
    /// Advice about it.
    pub advice: Vec<Advice>,
    /// Whether it is good or bad for the user: `good`, `neutral`, `bad`.
    #[serde(default)]
    pub assessment: Assessment,
    /// True of a measured rate of which a proof is missing, or speaks against its value: it is not confirmed.
    #[serde(default)]
    pub provisional: bool,
}

impl Conclusion {
    /// It is not known, for this reason.
    pub fn unknown(topic: Topic, why: impl Into<String>) -> Conclusion {
        Conclusion {
            topic,
            verdict: Verdict::Unknown,
            statement: why.into(),
            value: None,
            confidence: None,
            evidence: Vec::new(),
            advice: Vec::new(),
            assessment: Assessment::Neutral,
            provisional: false,
        }
    }

    /// There is no such thing.
    pub fn none(topic: Topic, statement: impl Into<String>, confidence: f64) -> Conclusion {
        Conclusion {
            verdict: Verdict::None,
            confidence: Some(confidence),
            ..Conclusion::unknown(topic, statement)
        }
    }

    /// There is, and it is this.
    pub fn found(
        topic: Topic,
        statement: impl Into<String>,
        value: Value,
        confidence: impl Into<Option<f64>>,
    ) -> Conclusion {
        Conclusion {
            verdict: Verdict::Found,
            value: Some(value),
            confidence: confidence.into(),
            ..Conclusion::unknown(topic, statement)
        }
    }

    /// Adds what it rests on.
    #[must_use]
    pub fn seen(mut self, part: &str, seen: impl Into<String>) -> Conclusion {
        self.evidence.push(Evidence { part: part.to_owned(), seen: seen.into() });
        self
    }

    /// Says whether it is good or bad for the user.
    #[must_use]
    pub fn assessed(mut self, assessment: Assessment) -> Conclusion {
        self.assessment = assessment;
        self
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn advise(mut self, why: impl Into<String>) -> Conclusion {
        let topic = Lenient::Other(self.topic.word().to_owned());
        self.advice.push(Advice { topic, erases: None, command: None, why: why.into() });
        self
    }
}
