//! Cards drawn from seeds, command by command and without noise.

use block::{Op, Time};

use super::model::{CellModel, ReadModel};
use super::{Card, CardModel};
use crate::device::{Command, Device};
use crate::device_model::DeviceModel;

const KIB: u64 = 1 << 10;
const SEEDS: std::ops::Range<u64> = 0..1_000;

/// A card without noise, on which time goes from command to command.
struct Quiet {
    card: Card,
    now: Time,
}

impl Quiet {
    fn new(mut model: CardModel) -> Quiet {
        model.link.jitter_ns = 0;
        model.link.spike_ppm = 0;
        Quiet { card: Card::new(&model, 0), now: Time::ZERO }
    }

    /// Serves one command at once; its time in nanoseconds.
    fn serve(&mut self, op: Op, offset: u64, len: u64) -> u64 {
        let begun = self.now;
        self.card.accept(Command { tag: 1, op, fua: false, offset, len }, begun);
        let mut finished = Vec::new();
        while finished.is_empty() {
            let at = self.card.next_event().unwrap();
            self.card.advance(at, &mut finished);
        }
        self.now = finished[0].at;
        self.now.since(begun).0
    }

    /// Reads of 1 KiB before, across and after a boundary.
    fn across(&mut self, boundary: u64) -> [u64; 3] {
        [KIB, KIB / 2, 0].map(|before| self.serve(Op::Read, boundary - before, KIB))
    }
}

/// Cost of crossing a boundary: the time across it, less the longer of those before and after.
fn step([before, across, after]: [u64; 3]) -> i64 {
    across as i64 - before.max(after) as i64
}

// Breaks when a drawn card hides what it claims to show, or shows what it claims to hide: a probe would
// be scored wrong for what is right.
#[test]
fn reads_of_drawn_cards_show_what_the_truth_says() {
    for seed in SEEDS {
        let model = CardModel::random(seed);
        let truth = model.truth();
        let (unit, page) = (model.geometry.erase_block_bytes, model.geometry.page_bytes);
        let group = page * model.geometry.planes;
        // Beyond any zone at the beginning, at a boundary of units and at one in a unit's middle.
        let begin = 32 * unit;
        // Data in memory would hide the first of the two sides, and kinds of pages differ by more than the
        // look-up of some cards takes.
        let slowest = model.cells.read_ns.iter().copied().max().unwrap();
        let read_ns = vec![slowest; model.cells.read_ns.len()];
        let cells = CellModel { read_ns, ..model.cells.clone() };
        let read = ReadModel { page_buffer: false, read_ahead_groups: 0, ..model.read.clone() };
        let mut card = Quiet::new(CardModel { cells, read, ..model });
        let of_unit = step(card.across(begin));
        let of_group = step(card.across(begin + group * 12));
        let inside = step(card.across(begin + group * 12 + 2 * KIB));
        if truth.card.unwrap().reads_show_boundaries {
            assert!(of_unit >= of_group + 20_000, "seed {seed}: {of_unit} {of_group}");
            assert!(of_group > inside, "seed {seed}: {of_group} {inside}");
        } else {
            assert_eq!([of_unit, of_group, inside], [0; 3], "seed {seed}");
        }
        let read = card.serve(Op::Read, begin, KIB);
        assert!((280_000..2_300_000).contains(&read), "seed {seed}: {read} ns");
    }
}

/// Mean time of writes of `len` that go to `count` units in turns, in order within each.
fn turns(card: &mut Quiet, model: &CardModel, count: u64, len: u64) -> u64 {
    let unit = model.geometry.erase_block_bytes;
    let places = (unit / len).min(64);
    let mut sum = 0;
    for place in 0..places {
        for au in 0..count {
            sum += card.serve(Op::Write, (8 + 3 * au) * unit + place * len, len);
        }
    }
    sum / (places * count)
}

// Breaks when a card keeps more or fewer units open than it says. Writes are a group long, and longer than
// what a log for small writes takes.
#[test]
fn one_unit_too_many_costs_more_on_every_drawn_card() {
    let mut ratios = Vec::new();
    for seed in SEEDS {
        let model = CardModel::random(seed);
        let open = model.write.open_au_linear;
        let small = model.log.as_ref().map_or(0, |log| log.write_bytes_max);
        let len = (model.geometry.page_bytes * model.geometry.planes).max(2 * small);
        let fits = turns(&mut Quiet::new(model.clone()), &model, open, len);
        let beyond = turns(&mut Quiet::new(model.clone()), &model, open + 1, len);
        ratios.push((beyond as f64 / fits as f64, seed));
    }
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(ratios[0].0 > 2.0, "{:?}", ratios[0]);
    assert!(ratios[500].0 > 50.0, "most copy: {:?}", ratios[500]);
}
