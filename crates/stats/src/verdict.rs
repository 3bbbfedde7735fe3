//! Verdicts with reasons, and doubts as data.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Answer of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The evidence shows that it holds.
    Proven,
    /// The evidence shows that it does not hold.
    Refuted,
    /// The evidence is absent or does not decide.
    Unprovable,
}

impl Verdict {
    /// Its name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Proven => "proven",
            Verdict::Refuted => "refuted",
            Verdict::Unprovable => "unprovable",
        }
    }
}

/// A verdict with its reason and the figures that it was reached from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The answer.
    pub verdict: Verdict,
    /// Why, in one sentence without a full stop.
    pub reason: String,
    /// The figures, by name; names end in their unit.
    pub evidence: BTreeMap<String, Evidence>,
}

/// One figure or word behind a [`Proof`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Evidence {
    /// A count, or an exact amount.
    Count(u64),
    /// A measured value.
    Value(f64),
    /// Yes or no.
    Flag(bool),
    /// A name or a sentence.
    Text(String),
    /// Least and most.
    Range([f64; 2]),
}

impl Proof {
    /// A proof without evidence yet; see [`Proof::with`].
    pub fn new(verdict: Verdict, reason: impl Into<String>) -> Proof {
        Proof { verdict, reason: reason.into(), evidence: BTreeMap::new() }
    }

    /// Adds a figure.
    #[must_use]
    pub fn with(mut self, name: &str, evidence: impl Into<Evidence>) -> Proof {
        self.evidence.insert(name.to_owned(), evidence.into());
        self
    }
}

impl From<u64> for Evidence {
    fn from(count: u64) -> Evidence {
        Evidence::Count(count)
    }
}

impl From<f64> for Evidence {
    fn from(value: f64) -> Evidence {
        Evidence::Value(value)
    }
}

impl From<[f64; 2]> for Evidence {
    fn from(range: [f64; 2]) -> Evidence {
        Evidence::Range(range)
    }
}

impl From<bool> for Evidence {
    fn from(flag: bool) -> Evidence {
        Evidence::Flag(flag)
    }
}

impl From<&str> for Evidence {
    fn from(text: &str) -> Evidence {
        Evidence::Text(text.to_owned())
    }
}

impl From<String> for Evidence {
    fn from(text: String) -> Evidence {
        Evidence::Text(text)
    }
}

/// Whether an answer is good or bad for the user, beside whether it is known: that a card holds less than it reports is well known
/// and bad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assessment {
    /// As the user would wish.
    Good,
    /// A plain fact.
    #[default]
    Neutral,
    /// Speaks against the drive or the result.
    Bad,
}
