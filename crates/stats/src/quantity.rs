//! A number that carries what is known about it.

use serde::{Deserialize, Serialize};

/// Unit of a number. Formatting to other scales (MiB/s, µs) is left to the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Megabytes (10^6 bytes) per second.
    MbPerS,
    /// I/O operations per second.
    Iops,
    /// Nanoseconds.
    Ns,
    /// Bytes.
    Bytes,
    /// Hundredths.
    Percent,
    /// A ratio of two like quantities.
    Ratio,
    /// Degrees Celsius.
    Celsius,
    /// A count of things.
    Count,
}

/// Preferred direction of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither.
    Neither,
}

/// A value with its interval, unit, counts and direction. Only this type is ever formatted as a number
/// that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// The estimate.
    pub value: f64,
    /// Lower end of the interval; `None` when the count does not allow one.
    pub low: Option<f64>,
    /// Upper end of the interval; `None` when the count does not allow one.
    pub high: Option<f64>,
    /// Confidence that the interval holds, such as 0.95; what was asked, not the exact coverage.
    pub confidence: f64,
    /// Unit of the value.
    pub unit: Unit,
    /// Observations behind the value.
    pub n: usize,
    /// Independent observations they are worth.
    pub n_effective: f64,
    /// Preferred direction.
    pub better: Better,
}
