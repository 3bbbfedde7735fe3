//! Newtypes for sizes, durations and instants.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// A size or an offset in bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Nothing.
    pub const ZERO: Bytes = Bytes(0);

    /// `n` KiB (2^10 bytes).
    pub const fn kib(n: u64) -> Bytes {
        Bytes(n << 10)
    }

    /// `n` MiB (2^20 bytes).
    pub const fn mib(n: u64) -> Bytes {
        Bytes(n << 20)
    }

    /// `n` GiB (2^30 bytes).
    pub const fn gib(n: u64) -> Bytes {
        Bytes(n << 30)
    }

    /// True when this is a whole multiple of `unit`; a `unit` of zero divides only zero.
    pub const fn is_multiple_of(self, unit: Bytes) -> bool {
        self.0.is_multiple_of(unit.0)
    }

    /// The largest multiple of `unit` that is not above this size. A `unit` of zero leaves it as it is.
    pub const fn round_down(self, unit: Bytes) -> Bytes {
        if unit.0 == 0 { self } else { Bytes(self.0 - self.0 % unit.0) }
    }

    /// Difference that stops at zero.
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }

    /// For messages: exactly where that is short, such as `40 MiB`; else about, such as `1.20 GiB`.
    pub fn human(self) -> String {
        const SHORT: usize = 8;
        let exact = spaced(&self.to_string());
        if exact.len() <= SHORT { exact } else { self.about() }
    }

    /// For sentences: whole where it is, such as `16 KiB`, else three significant digits, such as `1.20 GiB`.
    pub fn about(self) -> String {
        const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let power = self.0.checked_ilog2().unwrap_or(0) as usize / 10;
        let unit = 1_u64 << (10 * power);
        let value = self.0 as f64 / unit as f64;
        let name = UNITS[power];
        match value {
            _ if self.0.is_multiple_of(unit) => format!("{} {name}", self.0 / unit),
            // Rounded to the next unit, it is one of those.
            value if value >= 1023.5 => format!("1 {}", UNITS[(power + 1).min(6)]),
            value if value >= 99.95 => format!("{value:.0} {name}"),
            value if value >= 9.995 => format!("{value:.1} {name}"),
            value => format!("{value:.2} {name}"),
        }
    }
}

/// A number as flags take it, as people write it: `40MiB` as `40 MiB`, `8us` as `8 µs`.
fn spaced(flag: &str) -> String {
    let (number, unit) = flag.split_at(flag.find(char::is_alphabetic).unwrap_or(flag.len()));
    format!("{number} {}", if unit == "us" { "µs" } else { unit })
}

/// A duration in nanoseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);

    /// `n` microseconds.
    pub const fn micros(n: u64) -> Nanos {
        Nanos(n * 1_000)
    }

    /// `n` milliseconds.
    pub const fn millis(n: u64) -> Nanos {
        Nanos(n * 1_000_000)
    }

    /// `n` seconds.
    pub const fn secs(n: u64) -> Nanos {
        Nanos(n * 1_000_000_000)
    }

    /// For messages: exactly, in the largest unit that divides it, such as `500 ms`.
    pub fn human(self) -> String {
        spaced(&self.to_string())
    }

    /// For sentences: whole seconds, minutes or hours, such as `90 s`, `5 min`, `3 h`.
    pub fn about(self) -> String {
        match self.0 / 1_000_000_000 {
            seconds if seconds < 120 => format!("{seconds} s"),
            seconds if seconds < 7200 => format!("{} min", seconds / 60),
            seconds => format!("{} h", seconds / 3600),
        }
    }

    /// This duration in seconds, for rates.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// An instant on a drive's clock: nanoseconds since that clock's own epoch.
///
/// Instants of two drives cannot be compared, and none says what date it is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(pub u64);

impl Time {
    /// The clock's epoch.
    pub const ZERO: Time = Time(0);
    /// An instant that never comes.
    pub const NEVER: Time = Time(u64::MAX);

    /// Time passed since `earlier`; zero when `earlier` is in fact later.
    pub const fn since(self, earlier: Time) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Nanos> for Time {
    type Output = Time;
    fn add(self, span: Nanos) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

macro_rules! arithmetic {
    ($($name:ident),*) => {$(
        impl Add for $name {
            type Output = $name;
            fn add(self, other: $name) -> $name {
                $name(self.0 + other.0)
            }
        }
        impl Sub for $name {
            type Output = $name;
            fn sub(self, other: $name) -> $name {
                $name(self.0 - other.0)
            }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: $name) {
                self.0 += other.0;
            }
        }
        /// Sums stop at the largest value: what is summed may come from a plan file, in which
        /// single values of any size are legal.
        impl std::iter::Sum for $name {
            fn sum<I: Iterator<Item = $name>>(items: I) -> $name {
                items.fold($name(0), |sum, item| $name(sum.0.saturating_add(item.0)))
            }
        }
    )*};
}
arithmetic!(Bytes, Nanos);

/// Prints exactly, in the largest binary unit that divides the size: `1GiB`, `4KiB`, `513B`.
/// The same text is read back by plan files and flags.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u32, &str); 4] = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
        for (shift, unit) in UNITS {
            if self.0 != 0 && self.0.trailing_zeros() >= shift {
                return f.pad(&format!("{}{unit}", self.0 >> shift));
            }
        }
        f.pad(&format!("{}B", self.0))
    }
}

/// Prints exactly, in the largest unit that divides the duration: `5s`, `250ms`, `1ns`.
/// The same text is read back by plan files and flags.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 5] = [
            (3_600_000_000_000, "h"),
            (60_000_000_000, "m"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "us"),
        ];
        for (scale, unit) in UNITS {
            if self.0 != 0 && self.0.is_multiple_of(scale) {
                return f.pad(&format!("{}{unit}", self.0 / scale));
            }
        }
        f.pad(&format!("{}ns", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when sizes in messages cannot be compared, or one is rounded although it is short.
    #[test]
    fn sizes_of_messages_are_exact_where_that_is_short() {
        let told = [40 << 20, 82_410_376 << 10, 2_705_531_740, 0].map(|bytes| Bytes(bytes).human());
        assert_eq!(told, ["40 MiB", "78.6 GiB", "2.52 GiB", "0 B"]);
        let spans = [1, 8_000, 500_000_000, 90_000_000_000].map(|ns| Nanos(ns).human());
        assert_eq!(spans, ["1 ns", "8 µs", "500 ms", "90 s"]);
        let about =
            [16 << 10, 1224 << 20, (1 << 30) - 1, u64::MAX].map(|bytes| Bytes(bytes).about());
        assert_eq!(about, ["16 KiB", "1.20 GiB", "1 GiB", "16.0 EiB"]);
    }

    #[test]
    fn sizes_and_durations_print_in_the_largest_exact_unit() {
        let sizes =
            [0, 513, 4096, 3 << 20, 1 << 30, (1 << 40) + 1024].map(|n| Bytes(n).to_string());
        assert_eq!(sizes, ["0B", "513B", "4KiB", "3MiB", "1GiB", "1073741825KiB"]);
        let spans = [0, 1, 1_500, 250_000_000, 5_000_000_000, 120_000_000_000, 7_200_000_000_000];
        let spans = spans.map(|n| Nanos(n).to_string());
        assert_eq!(spans, ["0ns", "1ns", "1500ns", "250ms", "5s", "2m", "2h"]);
    }

    #[test]
    fn durations_of_sentences_are_whole() {
        let about = [900_000_000, 119_000_000_000, 7_199_000_000_000, 7_200_000_000_000];
        assert_eq!(about.map(|n| Nanos(n).about()), ["0 s", "119 s", "119 min", "2 h"]);
    }

    #[test]
    fn rounding_never_divides_by_zero() {
        assert_eq!(Bytes(1000).round_down(Bytes(512)), Bytes(512));
        assert_eq!(Bytes(1000).round_down(Bytes(0)), Bytes(1000));
        assert!(Bytes(0).is_multiple_of(Bytes(0)));
        assert!(!Bytes(1).is_multiple_of(Bytes(0)));
        assert_eq!(Time(5).since(Time(9)), Nanos::ZERO);
    }
}
