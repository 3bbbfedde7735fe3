//! Any use of the log, beside a model that keeps nothing but two tables.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::super::Front;
use super::*;
use crate::noise::Noise;

/// Operation on the log.
#[derive(Clone, Debug)]
enum Act {
    /// The host writes units that are drawn, as many as said.
    Write {
        count: u32,
        stream: Stream,
    },
    /// The host writes consecutive units.
    Run {
        first: u32,
        count: u32,
        stream: Stream,
    },
    /// As [`Act::Write`] to single-bit blocks, by a drive that folds rather than write past them.
    WriteWaiting {
        count: u32,
    },
    Trim {
        first: u32,
        count: u32,
    },
    /// Collection that nothing asks for.
    Collect {
        most: u32,
        times: u32,
    },
    Fold {
        most: u32,
        times: u32,
    },
    Pad {
        slots: u32,
        stream: Stream,
    },
}

fn any_stream() -> impl Strategy<Value = Stream> {
    prop_oneof![Just(Stream::Main), Just(Stream::Slc)]
}

fn any_act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (1_u32..60, any_stream()).prop_map(|(count, stream)| Act::Write { count, stream }),
        2 => (any::<u32>(), 1_u32..60, any_stream())
            .prop_map(|(first, count, stream)| Act::Run { first, count, stream }),
        2 => (1_u32..60).prop_map(|count| Act::WriteWaiting { count }),
        1 => (any::<u32>(), 1_u32..60).prop_map(|(first, count)| Act::Trim { first, count }),
        1 => (1_u32..20, 1_u32..20).prop_map(|(most, times)| Act::Collect { most, times }),
        2 => (1_u32..20, 1_u32..20).prop_map(|(most, times)| Act::Fold { most, times }),
        2 => (1_u32..6, any_stream()).prop_map(|(slots, stream)| Act::Pad { slots, stream }),
    ]
}

fn any_shape() -> impl Strategy<Value = Shape> {
    let slc = proptest::option::of((1_u32..6, 1_u32..=4, any::<bool>()));
    (1_u32..150, 2_u32..12, 0_u32..3, slc).prop_map(|(units, units_per_block, more, slc)| {
        let slc = slc.map(|(blocks, bits, is_static)| SlcShape {
            blocks,
            units_per_block: (units_per_block / bits).max(1),
            is_static,
        });
        // The least that is workable, and up to 2 blocks more.
        let mut shape = Shape { units, data_blocks: 1, units_per_block, slc };
        while !shape.is_workable() {
            shape.data_blocks += 1;
        }
        Shape { data_blocks: shape.data_blocks + more, ..shape }
    })
}

/// The log and what is known of it.
struct Beside {
    ftl: Ftl,
    slot_of: HashMap<u32, u32>,
    unit_in: HashMap<u32, u32>,
    /// By block: slots that may be written before it is erased begin here.
    unwritten: Vec<u32>,
    /// By block: it was written with one bit a cell.
    single_bit: Vec<bool>,
    noise: Noise,
}

impl Beside {
    fn new(shape: Shape, policy: Collection, state: InitialState) -> Beside {
        let ftl = Ftl::new(shape, policy, state, 9);
        let held = (0..shape.units).filter_map(|unit| Some((unit, ftl.slot(unit)?)));
        let slot_of: HashMap<u32, u32> = held.collect();
        let unit_in: HashMap<u32, u32> = slot_of.iter().map(|(&u, &s)| (s, u)).collect();
        let blocks = shape.blocks();
        let mut unwritten = vec![0; blocks as usize];
        for slot in unit_in.keys() {
            let next = &mut unwritten[(slot / shape.units_per_block) as usize];
            *next = (*next).max(slot % shape.units_per_block + 1);
        }
        let single_bit = vec![false; blocks as usize];
        Beside { ftl, slot_of, unit_in, unwritten, single_bit, noise: Noise::new(4) }
    }

    fn split(&self, slot: u32) -> (usize, u32) {
        let per_block = self.ftl.shape.units_per_block;
        ((slot / per_block) as usize, slot % per_block)
    }

    /// `unit` is now in `slot`, which must not have been written since its block was erased.
    fn put(&mut self, unit: u32, slot: u32) {
        let (block, at) = self.split(slot);
        assert!(at >= self.unwritten[block], "slot {slot} is lent twice");
        self.unwritten[block] = at + 1;
        if let Some(old) = self.slot_of.insert(unit, slot) {
            self.unit_in.remove(&old);
        }
        assert_eq!(self.unit_in.insert(slot, unit), None);
    }

    fn moved(&mut self, moves: &[(u32, u32)], step: Collected) {
        for &(from, to) in moves {
            let unit = self.unit_in[&from];
            self.put(unit, to);
            let (block, _) = self.split(to);
            assert!(!self.single_bit[block], "data moved into a single-bit block");
        }
        match step {
            Collected::Erased(block) => {
                let held = self.unit_in.keys().any(|&s| self.split(s).0 == block as usize);
                assert!(!held, "block {block} was erased with data in it");
                self.unwritten[block as usize] = 0;
                self.single_bit[block as usize] = false;
            }
            Collected::Moved => assert!(!moves.is_empty()),
            Collected::Nothing => assert!(moves.is_empty()),
        }
    }

    fn collect(&mut self, most: u32) -> Collected {
        let mut moves = Vec::new();
        let step = self.ftl.collect(most, |from, to| moves.push((from, to)));
        assert!(moves.len() <= most as usize);
        self.moved(&moves, step);
        step
    }

    fn fold(&mut self, most: u32) -> Collected {
        let mut moves = Vec::new();
        let step = self.ftl.fold(most, |from, to| moves.push((from, to)));
        assert!(moves.len() <= most as usize);
        for &(from, _) in &moves {
            assert!(self.single_bit[self.split(from).0], "folded out of a multi-bit block");
        }
        self.moved(&moves, step);
        step
    }

    fn catch_up(&mut self) {
        let mut steps = 0;
        while self.ftl.is_behind() {
            assert_ne!(self.collect(3), Collected::Nothing, "behind, and nothing to collect");
            steps += 1;
            assert!(steps < 100_000, "the host gets no room");
        }
    }

    /// Folds until there is a slot in a single-bit block and folding is not due, or nothing is left to fold.
    fn wait_for_single_bit(&mut self) {
        let mut steps = 0;
        loop {
            self.catch_up();
            let ftl = &self.ftl;
            let is_due = ftl.fold_is_due();
            if !is_due && (ftl.has_room(Stream::Slc) || !ftl.can_fold()) {
                return;
            }
            assert_ne!(self.fold(3), Collected::Nothing, "not behind, and no room to fold");
            steps += 1;
            assert!(steps < 100_000, "folding makes no room");
        }
    }

    /// As a drive does it: to the stream asked for if that can be had, else to the other.
    fn write(&mut self, unit: u32, stream: Stream) {
        self.catch_up();
        if stream == Stream::Slc && self.ftl.has_room(stream) {
            let slot = self.ftl.write(unit, stream).unwrap();
            assert!(self.ftl.is_slc(slot));
            let (block, at) = self.split(slot);
            self.single_bit[block] = true;
            assert!(at < self.ftl.shape.slc.unwrap().units_per_block);
            self.put(unit, slot);
            return;
        }
        assert!(self.ftl.has_room(Stream::Main), "not behind, and no room");
        let slot = self.ftl.write(unit, Stream::Main).unwrap();
        assert!(!self.ftl.is_slc(slot));
        self.put(unit, slot);
    }

    fn act(&mut self, act: &Act) {
        let units = self.ftl.shape.units;
        let from = |first: u32, count: u32| (0..count).map(move |n| first.wrapping_add(n) % units);
        match *act {
            Act::Write { count, stream } => {
                for _ in 0..count {
                    let unit = self.noise.below(u64::from(units)) as u32;
                    self.write(unit, stream);
                }
            }
            Act::Run { first, count, stream } => {
                from(first, count).for_each(|unit| self.write(unit, stream));
            }
            Act::WriteWaiting { count } => {
                for _ in 0..count {
                    self.wait_for_single_bit();
                    let unit = self.noise.below(u64::from(units)) as u32;
                    self.write(unit, Stream::Slc);
                }
            }
            Act::Trim { first, count } => {
                for unit in from(first, count) {
                    self.ftl.trim(unit);
                    if let Some(slot) = self.slot_of.remove(&unit) {
                        self.unit_in.remove(&slot);
                    }
                }
            }
            Act::Collect { most, times } => {
                (0..times).for_each(|_| _ = self.collect(most));
            }
            Act::Fold { most, times } => {
                (0..times).for_each(|_| _ = self.fold(most));
            }
            Act::Pad { slots, stream } => _ = self.ftl.pad(slots, stream),
        }
    }

    /// Compares everything.
    fn audit(&self) {
        let ftl = &self.ftl;
        let (shape, blocks) = (ftl.shape, ftl.shape.blocks());
        for unit in 0..shape.units {
            assert_eq!(ftl.slot(unit), self.slot_of.get(&unit).copied(), "unit {unit}");
        }
        for slot in 0..blocks * shape.units_per_block {
            let unit = self.unit_in.get(&slot);
            let valid = ftl.map.next_valid(slot, slot + 1);
            assert_eq!(valid, unit.map(|_| slot), "slot {slot}");
            assert!(unit.is_none_or(|&unit| ftl.map.unit(slot) == unit), "slot {slot}");
        }
        for block in 0..blocks {
            let held = self.unit_in.keys().filter(|&&s| self.split(s).0 == block as usize);
            assert_eq!(ftl.closed.valid(block) as usize, held.count(), "block {block}");
        }
        self.audit_places(blocks);
    }

    /// Each block is in one place: free, closed, in single-bit mode, being written or being emptied.
    fn audit_places(&self, blocks: u32) {
        let ftl = &self.ftl;
        let mut places: Vec<u32> = ftl.free.iter().copied().chain(ftl.closed.audit()).collect();
        places.extend(&ftl.slc);
        places.extend(ftl.victim.map(|victim| victim.block));
        let fronts = [Front::Host(Stream::Main), Front::Moves];
        places.extend(fronts.iter().filter_map(|f| Some(ftl.block(ftl.fronts[f.index()]?.next))));
        let distinct: HashSet<u32> = places.iter().copied().collect();
        assert_eq!(distinct.len(), places.len(), "a block is in two places");
        assert_eq!(places.len() as u32, blocks, "a block is lost");
        for block in 0..blocks {
            assert_eq!(ftl.single_bit[block as usize], ftl.slc.contains(&block));
        }
        let open = ftl.fronts[Front::Moves.index()].map_or(0, |open| open.end - open.next);
        let for_moves = ftl.free_for_main() as u32 * ftl.shape.units_per_block + open;
        let left = ftl.victim.map_or(0, |victim| ftl.closed.valid(victim.block));
        assert!(for_moves >= left, "{left} units cannot be moved into {for_moves} slots");
        if let Some(slc) = ftl.shape.slc {
            assert!(ftl.slc.len() <= slc.blocks as usize);
            let kept = slc.blocks as usize - ftl.slc.len();
            assert!(!slc.is_static || ftl.free.len() >= kept, "a block set aside was taken");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    // Breaks when a unit is lost or in two places, when a slot is given out twice between two erases, when counts or
    // lists part from the bits, when free blocks run out, or when the host is never let on.
    #[test]
    fn the_log_agrees_with_a_naive_model(
        shape in any_shape(),
        policy in proptest::sample::select(&POLICIES[..]),
        state in proptest::sample::select(&STATES[..]),
        acts in proptest::collection::vec(any_act(), 1..60),
    ) {
        let mut beside = Beside::new(shape, policy, state);
        beside.audit();
        for act in &acts {
            beside.act(act);
            beside.audit();
        }
        // Whatever was done before, the host can write on.
        for _ in 0..3 * shape.units {
            let unit = beside.noise.below(u64::from(shape.units)) as u32;
            beside.write(unit, Stream::Main);
        }
        beside.audit();
    }
}

// Breaks when the initial state is not what its name says.
#[test]
fn initial_states_are_what_they_are_called() {
    let shape = shape(0.2, 40, 16);
    for policy in POLICIES {
        let fresh = Beside::new(shape, policy, InitialState::Fresh);
        assert_eq!((fresh.slot_of.len(), fresh.ftl.free.len()), (0, 44));
        let filled = Beside::new(shape, policy, InitialState::Filled);
        assert!((0..shape.units).all(|unit| filled.ftl.slot(unit) == Some(unit)));
        let steady = Beside::new(shape, policy, InitialState::Steady);
        assert_eq!(steady.slot_of.len() as u32, shape.units);
        assert!(steady.ftl.room() <= 4 * 16 + 1 && steady.ftl.room() + 2 >= 4 * 16);
    }
}
