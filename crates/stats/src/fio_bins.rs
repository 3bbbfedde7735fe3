//! The bins of fio's latency histogram (its stat.h and stat.c, version 3): 29 groups of 64 bins, of which the first two
//! groups are a nanosecond wide each, and every other twice as wide as the one before. So a bin is never wider than 1.6%
//! of what it holds, and the last ends at 2^34 ns.

/// How many bins there are.
pub const COUNT: usize = GROUPS * PER_GROUP;

const BITS: u32 = 6;
const PER_GROUP: usize = 1 << BITS;
const GROUPS: usize = 29;

/// The bin that counts a latency of `ns`; what is beyond the last is counted there.
pub fn index_of(ns: u64) -> usize {
    let top_bit = 63 - (ns | 1).leading_zeros();
    let index = if top_bit <= BITS {
        ns
    } else {
        let dropped = top_bit - BITS;
        (u64::from(dropped + 1) << BITS) + ((ns >> dropped) & (PER_GROUP as u64 - 1))
    };
    usize::try_from(index).unwrap_or(usize::MAX).min(COUNT - 1)
}

/// The latency that represents the bin at `index`, in nanoseconds: its middle, which is the bin's name in `json+`. For
/// an index beyond the last bin it is that of the last.
pub fn middle_ns(index: usize) -> u64 {
    let index = index.min(COUNT - 1);
    if index < 2 * PER_GROUP {
        return index as u64;
    }
    let dropped = (index >> BITS) as u32 - 1;
    let base = 1_u64 << (dropped + BITS);
    let within = (index % PER_GROUP) as f64 + 0.5;
    base + (within * (1_u64 << dropped) as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    // Bins with other names than fio's are bins that its own tools take for those of another program.
    #[test]
    fn bins_are_named_as_fio_names_them() {
        // Names that fio 3.33 wrote in a json+ for latencies of these bins.
        for (ns, name) in [(127, 127), (128, 129), (14_612, 14_656), (33_400, 33_536)] {
            assert_eq!(middle_ns(index_of(ns)), name, "{ns}");
        }
        // The top bin's middle, which fio shows for all that took longer.
        assert_eq!(middle_ns(COUNT - 1), (1 << 34) - (1 << 26));
        assert_eq!(index_of(u64::MAX), COUNT - 1);
    }

    // A bin that does not come back to itself would move with each export and import.
    #[test]
    fn the_middle_of_a_bin_lies_in_it_and_bins_are_in_order() {
        for index in 0..COUNT {
            assert_eq!(index_of(middle_ns(index)), index);
        }
        for index in 1..COUNT {
            assert!(middle_ns(index - 1) < middle_ns(index));
        }
    }
}
