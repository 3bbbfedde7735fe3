//! Choice of the entries of a log after which power is cut.

use std::collections::BTreeSet;
use std::ops::Range;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::disk::{Cached, Cut};
use crate::log::{Entry, Log};

/// Cuts of `log` among the entries `within`, in order: one at every flush mark, when only what was flushed is
/// left, one right before it, when most is in the cache, and `between` anywhere. The fate of what is cached goes
/// round, so that each has its share. Of more than `most`, as many are drawn, half of them at flush marks.
pub fn cuts(log: &Log, within: Range<usize>, between: usize, most: usize, seed: u64) -> Vec<Cut> {
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (from, span) = (within.start, within.len() + 1);
    let flushes: Vec<usize> = within.filter(|at| log.entries[*at] == Entry::Flush).collect();
    let mut marks: Vec<usize> = flushes.iter().map(|at| at + 1).collect();
    let mut others: BTreeSet<usize> = flushes.into_iter().collect();
    let anywhere = (0..between).map(|_| from + below(&mut dice, span));
    others.extend(anywhere.collect::<Vec<_>>());
    let mut others: Vec<usize> = others.into_iter().collect();
    if marks.len() + others.len() > most {
        draw(&mut others, most / 2, &mut dice);
        draw(&mut marks, most - others.len(), &mut dice);
    }
    let at_mark = |entries| Cut { entries, cached: Cached::Lost };
    let fates = Cached::ALL.into_iter().cycle();
    let elsewhere = others.into_iter().zip(fates).map(|(entries, cached)| Cut { entries, cached });
    let chosen: BTreeSet<Cut> = marks.into_iter().map(at_mark).chain(elsewhere).collect();
    chosen.into_iter().collect()
}

/// Keeps `count` of `places`, in their order.
fn draw(places: &mut Vec<usize>, count: usize, dice: &mut Xoshiro256PlusPlus) {
    while places.len() > count {
        places.remove(below(dice, places.len()));
    }
}

/// A number below `bound`; the bias of the remainder is far below what counts here.
fn below(dice: &mut Xoshiro256PlusPlus, bound: usize) -> usize {
    (dice.next_u64() % bound.max(1) as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> Log {
        let write =
            |at: u64| Entry::Write { offset_bytes: at * 512, data: vec![1; 512], fua: false };
        let entry = |at: u64| if at % 5 == 4 { Entry::Flush } else { write(at) };
        Log { entries: (0..200).map(entry).collect() }
    }

    // Cut points that miss the flushes miss the moments at which something was just promised.
    #[test]
    fn every_flush_mark_has_its_cuts_and_the_beginning_has_none() {
        let chosen = cuts(&log(), 50..150, 30, usize::MAX, 7);
        for at in (50..150).filter(|at| at % 5 == 4) {
            assert!(chosen.contains(&Cut { entries: at + 1, cached: Cached::Lost }), "{at}");
            assert!(chosen.iter().any(|cut| cut.entries == at), "{at}");
        }
        assert!(chosen.iter().all(|cut| (50..=150).contains(&cut.entries)));
        assert!(chosen.is_sorted() && chosen.len() > 50);
        for cached in Cached::ALL {
            assert!(chosen.iter().filter(|cut| cut.cached == cached).count() > 5, "{cached:?}");
        }
    }

    #[test]
    fn as_many_are_drawn_as_are_wanted_and_the_same_for_a_seed() {
        let chosen = cuts(&log(), 0..100, 50, 40, 7);
        assert!((36..=40).contains(&chosen.len()), "two may fall on one place: {}", chosen.len());
        assert_eq!(chosen, cuts(&log(), 0..100, 50, 40, 7));
        assert_ne!(chosen, cuts(&log(), 0..100, 50, 40, 8));
        // A handful has all that a cut can do.
        for cached in Cached::ALL {
            assert!(cuts(&log(), 0..100, 50, 14, 7).iter().any(|cut| cut.cached == cached));
        }
        assert!(chosen.is_sorted());
    }
}
