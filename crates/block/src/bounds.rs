//! A figure that is known between bounds before it is measured.

use std::iter::Sum;
use std::ops::Add;

use serde::{Deserialize, Serialize};

/// Lower and upper bound of a figure, in its own unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Least value.
    pub least: u64,
    /// Most; `None` where nothing known bounds it.
    pub most: Option<u64>,
}

impl Bounds {
    /// One value.
    pub const fn of(value: u64) -> Bounds {
        Bounds { least: value, most: Some(value) }
    }

    /// From nothing to `most`.
    pub const fn up_to(most: Option<u64>) -> Bounds {
        Bounds { least: 0, most }
    }

    /// True when nothing is what it comes to.
    pub fn is_zero(self) -> bool {
        self == Bounds::of(0)
    }

    /// The same `count` times.
    #[must_use]
    pub fn times(self, count: u64) -> Bounds {
        let times = |value: u64| value.saturating_mul(count);
        Bounds { least: times(self.least), most: self.most.map(times) }
    }
}

impl Add for Bounds {
    type Output = Bounds;

    fn add(self, other: Bounds) -> Bounds {
        let most = self.most.zip(other.most).map(|(a, b)| a.saturating_add(b));
        Bounds { least: self.least.saturating_add(other.least), most }
    }
}

impl Sum for Bounds {
    fn sum<I: Iterator<Item = Bounds>>(all: I) -> Bounds {
        all.fold(Bounds::of(0), Add::add)
    }
}
