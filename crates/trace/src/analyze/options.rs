//! Scope of an analysis.

use std::fmt;
use std::str::FromStr;

use block::Nanos;

use crate::TraceInfo;

/// Parts of the trace to analyze, and figures to compute.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Leave out I/Os that arrive before this, since the trace's origin.
    pub from: Option<Nanos>,
    /// Leave out I/Os that arrive at this or later, since the trace's origin.
    pub until: Option<Nanos>,
    /// Devices by name or number (`8,0`); empty for all.
    pub devices: Vec<String>,
    /// Lenses to use, besides counts and phases, which are always reported; empty for everything.
    pub only: Vec<Lens>,
}

impl Options {
    /// True when `lens` is wanted.
    pub fn wants(&self, lens: Lens) -> bool {
        lens == Lens::Phases || self.only.is_empty() || self.only.contains(&lens)
    }

    /// Returns a flag for each known space of `info`, true for those to look at; `None` for all.
    pub(super) fn chosen(&self, info: &TraceInfo) -> Option<Vec<bool>> {
        if self.devices.is_empty() {
            return None;
        }
        let chosen = info.spaces.iter().map(|space| {
            let number = space.device.map(|device| device.to_string());
            self.devices.iter().any(|name| *name == space.name || Some(name) == number.as_ref())
        });
        Some(chosen.collect())
    }
}

/// Something to look for in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lens {
    /// Counts and phases; always.
    Phases,
    /// Distances between I/Os and between requests.
    Seeks,
    /// I/Os outstanding over time, and when devices are active.
    Depth,
    /// I/Os and bytes per second.
    Rates,
    /// Operations, flags, alignment.
    Mix,
    /// Lengths.
    Sizes,
    /// How sequential it is.
    Sequential,
    /// How unevenly I/Os arrive.
    Bursts,
    /// How much of the addresses is used.
    WorkingSet,
    /// How soon an address is used again.
    Reuse,
    /// Parts of the address space that get the most I/Os.
    Regions,
    /// Address by time.
    Heat,
    /// Load over time.
    Timeline,
}

impl Lens {
    /// All of them.
    pub const ALL: [Lens; 13] = [
        Lens::Phases,
        Lens::Seeks,
        Lens::Depth,
        Lens::Rates,
        Lens::Mix,
        Lens::Sizes,
        Lens::Sequential,
        Lens::Bursts,
        Lens::WorkingSet,
        Lens::Reuse,
        Lens::Regions,
        Lens::Heat,
        Lens::Timeline,
    ];

    /// Those on what was asked for, whatever became of it: in [`Lens::ALL`], all behind the four on its course.
    pub(super) fn on_load() -> impl Iterator<Item = Lens> {
        Lens::ALL.into_iter().skip(4)
    }

    /// As it is called on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Lens::Phases => "phases",
            Lens::Seeks => "seeks",
            Lens::Depth => "depth",
            Lens::Rates => "rates",
            Lens::Mix => "mix",
            Lens::Sizes => "sizes",
            Lens::Sequential => "sequential",
            Lens::Bursts => "bursts",
            Lens::WorkingSet => "working-set",
            Lens::Reuse => "reuse",
            Lens::Regions => "regions",
            Lens::Heat => "heat",
            Lens::Timeline => "timeline",
        }
    }
}

impl fmt::Display for Lens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Lens {
    type Err = String;

    fn from_str(word: &str) -> Result<Lens, String> {
        let words = || Lens::ALL.map(Lens::word).join(", ");
        Lens::ALL
            .into_iter()
            .find(|lens| lens.word() == word)
            .ok_or_else(|| format!("there is no `{word}`: one of {}", words()))
    }
}
