//! Accesses and results of flashbench: its tests `-a` and `-O`, written from a description of its
//! algorithm, on a virtual drive.

use block::{Drive, Op, Target};
use drivescope_sim::VirtualTarget;

use crate::common::{one, request, setup};

/// A row of `-a`: alignment in bytes, times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlignRow {
    pub align: u64,
    pub pre: u64,
    pub on: u64,
    pub post: u64,
}

impl AlignRow {
    /// Cost of crossing the boundary.
    pub fn diff(&self) -> i64 {
        self.on as i64 - (self.pre + self.post) as i64 / 2
    }
}

/// `flashbench -a --blocksize=BLOCK`: for each power of two, the mean over 7 places of the least of 8
/// reads that end at a boundary, lie across it, and begin at it.
pub fn align(target: &mut VirtualTarget, block: u64) -> Vec<AlignRow> {
    const PLACES: u64 = 7;
    let capacity = target.info().capacity_bytes.0;
    let mut largest = 2 * block;
    while largest < capacity / PLACES {
        largest *= 2;
    }
    let mut lanes = target.open(&setup(1)).unwrap();
    let drive = &mut lanes[0];
    let mut rows = Vec::new();
    let mut align = largest;
    while align >= 2 * block {
        let starts = [align - block, align - block / 2, align];
        let mut least = [[u64::MAX; PLACES as usize]; 3];
        for _ in 0..8 {
            for (start, least) in starts.iter().zip(&mut least) {
                for (place, least) in (0..).zip(least.iter_mut()) {
                    let offset = (start + place * largest) % capacity;
                    let read = one(drive, request(Op::Read, offset, block, 0));
                    *least = (*least).min(read.latency_ns());
                }
            }
        }
        let [pre, on, post] = least.map(|places| places.iter().sum::<u64>() / PLACES);
        rows.push(AlignRow { align, pre, on, post });
        align /= 2;
    }
    rows
}

/// `flashbench -O --erasesize=UNIT --blocksize=BLOCK --open-au-nr=NR`: writes NR units, 12 units apart,
/// in turns, block by block. Gives (block in bytes, bytes per second) from the largest block down.
pub fn open_au(target: &mut VirtualTarget, unit: u64, block: u64, nr: u64) -> Vec<(u64, f64)> {
    open_au_in(target, unit, block, nr, |places| (0..places).collect())
}

/// [`open_au`] with another order of the places within a unit.
pub fn open_au_in(
    target: &mut VirtualTarget,
    unit: u64,
    block: u64,
    nr: u64,
    order: impl Fn(u64) -> Vec<u64>,
) -> Vec<(u64, f64)> {
    let begin = (16_u64 << 20).next_multiple_of(unit);
    let mut lanes = target.open(&setup(1)).unwrap();
    let drive = &mut lanes[0];
    let mut rows = Vec::new();
    let mut len = unit;
    while len >= block {
        let start = drive.now();
        for place in order(unit / len) {
            for au in 0..nr {
                let offset = begin + au * 12 * unit + place * len;
                one(drive, request(Op::Write, offset, len, 0));
            }
        }
        let seconds = drive.now().since(start).as_secs_f64();
        rows.push((len, (unit / len * len * nr) as f64 / seconds));
        len /= 2;
    }
    rows
}

/// Places in an order that goes back and forth: an odd multiplier permutes a power of two.
pub fn scattered(places: u64) -> Vec<u64> {
    let factor = (5 * places / 8) | 1;
    (0..places).map(|place| (place * factor + places / 3) % places).collect()
}
