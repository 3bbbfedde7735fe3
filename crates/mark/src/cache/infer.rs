//! From times of first and second reads to what a cache holds. Pure.

use block::{Bytes, Nanos};
use stats::{paired_ratio, proportion_interval};

use super::{Answer, Found, Held, Look, Served};

/// Probability that any look at all is taken for what it is not.
const ERROR: f64 = 0.05;
/// Looks that share it, at most: both ways of reading, each doubled up to the largest cache, and more.
pub(super) const LOOKS_MAX: usize = 20;
/// Relative difference that counts as none.
const MARGIN: f64 = 0.05;
/// A cache that saves less than half of a read's time is not looked for: it cannot make a number twice too good.
const HALF: f64 = 0.5;
/// A quarter turn of the fastest disks that were made, of 15,000 revolutions per minute: of reads far apart, at most a
/// quarter find their block so soon, even if the arm needed no time.
const QUARTER_TURN: Nanos = Nanos(1_000_000);

/// One amount of data: the times of the first reads and of the second, by block, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    pub(super) bytes: Bytes,
    pub(super) first: Vec<f64>,
    pub(super) again: Vec<f64>,
}

impl Pairs {
    /// Compares the second reads with the first. Without a cache, either of two reads of a block may be the faster one, so the
    /// logarithms of the ratios are symmetric about zero, which is all that Wilcoxon's signed-rank test requires.
    pub(super) fn look(&self) -> Option<Look> {
        let confidence = 1.0 - ERROR / LOOKS_MAX as f64;
        let middle = paired_ratio(&self.again, &self.first, confidence)?.hodges_lehmann;
        let (low, high) = (middle.low?, middle.high?);
        let served = match () {
            () if low > HALF => Served::No,
            () if high < 1.0 - MARGIN => Served::Yes,
            () => Served::Unclear,
        };
        Some(Look { bytes: self.bytes, ratio: middle.ratio, low, high, served })
    }
}

/// Combines the looks of one way of reading, which are in ascending order.
pub(super) fn held(looks: Vec<Look>) -> Held {
    let served = looks.iter().rposition(|look| look.served == Served::Yes);
    let above = served.map_or(0, |at| at + 1);
    let not_served = looks[above..].iter().find(|look| look.served == Served::No);
    Held {
        served_bytes: served.map(|at| looks[at].bytes),
        not_served_bytes: not_served.map(|look| look.bytes),
        looks,
    }
}

/// Facts about the drive and the area that was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Where {
    /// The drive says that it turns.
    pub(super) turns: bool,
    /// A cache may hold much of the part that was read, since before.
    pub(super) may_be_held: bool,
}

/// Combines both ways of reading. `firsts` are the times of the first reads of scattered blocks, in nanoseconds.
pub(super) fn found(
    in_sequence: Held,
    scattered: Held,
    firsts: &[f64],
    place: Where,
    (read_bytes, took_ns): (Bytes, Nanos),
) -> Found {
    let (answer, reason) = answer(&in_sequence, &scattered, firsts, place);
    let keep = |held: Held| match answer {
        // Looks are kept to be seen, and say nothing.
        Answer::Undecided => Held { served_bytes: None, not_served_bytes: None, ..held },
        _ if place.may_be_held => Held { not_served_bytes: None, ..held },
        _ => held,
    };
    Found {
        answer,
        reason,
        in_sequence: keep(in_sequence),
        scattered: keep(scattered),
        read_bytes,
        took_ns,
    }
}

fn answer(in_sequence: &Held, scattered: &Held, firsts: &[f64], place: Where) -> (Answer, String) {
    let said = |answer, reason: &str| (answer, reason.to_owned());
    if place.turns && are_too_fast(firsts) {
        return said(
            Answer::Undecided,
            "the drive says that it turns, and reads far apart were faster than a disk can turn: either it does not, or a \
             cache holds all of the part that was read",
        );
    }
    if let Some(most) = in_sequence.served_bytes.max(scattered.served_bytes) {
        let reason =
            format!("data came faster when they were read again, up to {} of them", most.human());
        return (Answer::Seen, reason);
    }
    let least_is_no = |held: &Held| held.looks.first().is_some_and(|l| l.served == Served::No);
    if !(least_is_no(in_sequence) && least_is_no(scattered)) {
        return said(
            Answer::Undecided,
            "the times of reading again differ too much among themselves, or there was no room or time to read enough",
        );
    }
    if place.may_be_held {
        return said(
            Answer::Undecided,
            "reading again took as long as reading first, and a cache that holds all of so small a part would show the \
             same",
        );
    }
    said(
        Answer::NoneSeen,
        "reading again took more than half as long as reading first, however soon",
    )
}

/// True when more reads than chance makes come sooner than a disk can turn to them.
fn are_too_fast(firsts: &[f64]) -> bool {
    let fast = firsts.iter().filter(|ns| **ns < QUARTER_TURN.0 as f64).count();
    let share = proportion_interval(fast, firsts.len(), 1.0 - 2.0 * ERROR / LOOKS_MAX as f64);
    share.is_some_and(|share| share.low > 0.25)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sixteen pairs of a disk's first reads, 4 to 20 ms in no order, and of second reads made of them.
    fn pairs(again: impl Fn(usize, f64) -> f64) -> Pairs {
        let first: Vec<f64> = (0..16).map(|i| 4e6 + 1e6 * ((i * 7) % 16) as f64).collect();
        let again = first.iter().enumerate().map(|(i, first)| again(i, *first)).collect();
        Pairs { bytes: Bytes::kib(64), first, again }
    }

    /// If it failed, either a cache went unseen, or turning platters were taken for one.
    #[test]
    fn hits_are_told_from_platters() {
        let served = |pairs: &Pairs| pairs.look().unwrap().served;
        assert_eq!(served(&pairs(|_, _| 2e5)), Served::Yes);
        // The same times in another order: what a disk without a cache shows.
        let other = |i: usize, _| 4e6 + 1e6 * ((i * 11 + 5) % 16) as f64;
        assert_ne!(served(&pairs(other)), Served::Yes);
        // A mapping table that the drive has at hand saves a little time, and is not a cache of data.
        assert_eq!(served(&pairs(|i, first| first * (0.80 + 0.01 * (i % 4) as f64))), Served::No);
        assert_eq!(Pairs::default().look(), None);
    }

    /// If it failed, a memory that one stray look denies would lose what the next one shows of it.
    #[test]
    fn a_limit_lies_above_all_that_was_served() {
        let look =
            |mib, served| Look { bytes: Bytes::mib(mib), ratio: 1.0, low: 1.0, high: 1.0, served };
        let all = |looks: &[(u64, Served)]| {
            let held = held(looks.iter().map(|(mib, served)| look(*mib, *served)).collect());
            (held.served_bytes, held.not_served_bytes)
        };
        let (yes, no, unclear) = (Served::Yes, Served::No, Served::Unclear);
        let mib = |mib| Some(Bytes::mib(mib));
        assert_eq!(all(&[(4, yes), (8, yes), (16, no)]), (mib(8), mib(16)));
        assert_eq!(all(&[(4, yes), (8, unclear), (16, no)]), (mib(4), mib(16)));
        assert_eq!(all(&[(4, no), (8, yes), (16, no)]), (mib(8), mib(16)));
        assert_eq!(all(&[(4, yes), (8, yes)]), (mib(8), None));
        assert_eq!(all(&[(4, no)]), (None, mib(4)));
    }

    /// If it failed, a machine's own cache over all of a small part would be taken for a drive without any.
    #[test]
    fn none_is_said_only_where_one_would_be_seen() {
        let none =
            || held(vec![pairs(|i, first| first * (0.9 + 0.01 * (i % 20) as f64)).look().unwrap()]);
        let slow = [8e6; 16];
        let ask = |firsts: &[f64], turns, may_be_held| {
            let spent = (Bytes::mib(1), Nanos::secs(1));
            found(none(), none(), firsts, Where { turns, may_be_held }, spent).answer
        };
        assert_eq!(ask(&slow, true, false), Answer::NoneSeen);
        assert_eq!(ask(&slow, false, false), Answer::NoneSeen);
        assert_eq!(ask(&slow, false, true), Answer::Undecided);
        assert_eq!(ask(&slow, true, true), Answer::Undecided);
        assert_eq!(ask(&[2e5; 16], true, false), Answer::Undecided, "it cannot turn so fast");
    }
}
