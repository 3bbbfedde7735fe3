//! How a quantity is written: four significant digits at most, the unit that fits, the interval beside it.

pub use block::number::{bytes, compact, counted, digits, grouped, nanoseconds, share, thousands};
use stats::{Quantity, Unit};

/// Unit of throughput that people asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateUnit {
    /// 10^6 bytes per second.
    #[default]
    Mb,
    /// 2^20 bytes per second.
    Mib,
}

impl RateUnit {
    /// `MB/s` or `MiB/s`.
    pub fn name(self) -> &'static str {
        match self {
            RateUnit::Mb => "MB/s",
            RateUnit::Mib => "MiB/s",
        }
    }

    /// `value` megabytes (10^6 bytes) per second in this unit.
    pub(crate) fn of_mb(self, value: f64) -> f64 {
        match self {
            RateUnit::Mb => value,
            RateUnit::Mib => value * 1e6 / f64::from(1 << 20),
        }
    }
}

/// The value alone, as for a column whose head names the unit (rates, I/Os per second), or
/// with its unit (times, sizes, shares).
pub fn value(quantity: &Quantity, rate: RateUnit) -> String {
    scalar(quantity.value, quantity.unit, rate)
}

/// `low–high`, or a dash where the count allows no interval.
pub fn interval(quantity: &Quantity, rate: RateUnit) -> String {
    match (quantity.low, quantity.high) {
        (Some(low), Some(high)) => {
            let text = |v| scalar(v, quantity.unit, rate);
            format!("{}–{}", text(low), text(high))
        }
        _ => "–".to_owned(),
    }
}

fn scalar(value: f64, unit: Unit, rate: RateUnit) -> String {
    match unit {
        Unit::MbPerS => digits(rate.of_mb(value)),
        // A count of whole things.
        Unit::Count if value == value.round() && value < 100.0 => format!("{value:.0}"),
        Unit::Iops | Unit::Count => thousands(value),
        Unit::Ns => nanoseconds(value),
        Unit::Bytes => bytes(value),
        Unit::Percent => format!("{}%", digits(value)),
        Unit::Ratio => digits(value),
        Unit::Celsius => format!("{value:.0} °C"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mib_is_the_smaller_number() {
        assert_eq!(digits(RateUnit::Mib.of_mb(1048.576)), "1000");
    }
}
