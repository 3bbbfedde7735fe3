//! Evidence of a scatter, for tables and plots.

use serde::{Deserialize, Serialize};

/// Set of places that a point belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// One after the other from the beginning of the region.
    Beginning,
    /// Spread over the whole region.
    Whole,
    /// In a window: a run of places that are read most often, for bands.
    Window,
    /// Around the possible end of a zone.
    Edge,
}

/// A place that was read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Set of places that it belongs to.
    pub part: Part,
    /// Byte at which its reads begin.
    pub offset: u64,
    /// Bytes of one read.
    pub len: u64,
    /// Reads made.
    pub n: u64,
    /// Least time, ns.
    pub min_ns: u64,
    /// Median of the times, ns.
    pub median_ns: u64,
    /// Mean of the times that are not far from the median, ns.
    pub mean_ns: f64,
    /// Band that it lies in, from 0 for the fastest; `None` where bands were not distinguished.
    pub band: Option<u32>,
    /// Index in the zones that it lies in; null in none.
    pub zone: Option<u32>,
}

/// A run of places in which bands were looked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Set of places that it belongs to.
    pub part: Part,
    /// First byte.
    pub from: u64,
    /// One beyond the last byte.
    pub to: u64,
    /// Places in it.
    pub places: u64,
    /// Number of its bands; `None` if it is not known.
    pub count: Option<u32>,
    /// Its bands, the fastest first.
    pub bands: Vec<Band>,
}

/// A band of access times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Its centre, ns.
    pub center_ns: f64,
    /// Share of the places that lie in it, 0 to 1.
    pub share: f64,
}

/// A range of addresses in which the same number of bands appears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// First byte.
    pub from: u64,
    /// One beyond the last byte.
    pub to: u64,
    /// Bands in its windows.
    pub count: u32,
    /// Windows that show them.
    pub windows: u64,
}

/// A range of addresses whose reads are unlike those elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Zone {
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// Least length that the reads allow.
    pub length_min: u64,
    /// Greatest length that they allow.
    pub length_max: u64,
    /// By how much its reads take longer than those elsewhere, ns; negative where they are faster.
    pub slower_ns: f64,
    /// Number of its bands; `None` if it is not known.
    pub bands: Option<u32>,
    /// Probability that there is such a zone.
    pub confidence: f64,
}

/// A regular period of the times along the offset.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Period {
    /// Its length in bytes.
    pub bytes: u64,
    /// Correlation of times so far apart, -1 to 1.
    pub correlation: f64,
}

/// Evidence for a scatter's answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Distance of neighbouring places, bytes.
    pub block_bytes: u64,
    /// Length of one read, bytes.
    pub read_bytes: u64,
    /// True when places are groups of pages that were known before.
    pub groups_known: bool,
    /// Standard deviation of reads of one place, ns, without those far out; null where no place was read often enough.
    pub noise_ns: Option<f64>,
    /// Every place, by part and offset.
    pub points: Vec<Point>,
    /// The windows, by part and offset.
    pub windows: Vec<Window>,
    /// The bands of all windows together, the fastest first; empty where they were not distinguished.
    pub bands: Vec<Band>,
    /// Cell type for the count of bands: `SLC`, `MLC`, `TLC` or `QLC`.
    pub hypothesis: Option<String>,
    /// Ranges by their count of bands, in order of offset.
    pub stretches: Vec<Stretch>,
    /// Zones, by offset.
    pub zones: Vec<Zone>,
    /// Periods, the strongest first.
    pub periods: Vec<Period>,
}
