//! One trial: places are kept, stamped, read back and put back.

use std::collections::BTreeMap;

use block::{Bytes, Nanos, Op, Payload};
use workload::script::{Access, Script};

use super::stamp::{Kept, Original, SECTOR, Seen, Stamps};
use crate::desk::{Desk, Halt};

/// Longest request.
pub const REQUEST: u64 = 1 << 20;
/// Requests that are issued together.
const TOGETHER: usize = 8;
/// Longest request of those that are issued one by one: the kernel cuts longer ones, and parts reach a drive in any
/// order.
const ALONE: u64 = 64 << 10;
/// Groups of one script: what they deliver is in memory at once.
const GROUPS: usize = 8;
/// After this many failures of neighbouring requests in a row, the rest of their place counts as failed: each may take
/// the drive and the kernel seconds.
pub(super) const FAILURES: u32 = 16;

const READ: (Op, usize) = (Op::Read, TOGETHER);
const FLUSH: Access = Access { op: Op::Flush, fua: false, offset: Bytes::ZERO, len: Bytes::ZERO };

/// Places that one trial stamps and reads.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// Places (offset and length) that are stamped and read back.
    pub places: Vec<(u64, u64)>,
    /// Places that are stamped after them and not read back: they push what came before out of caches.
    pub after: Vec<(u64, u64)>,
    /// Places that are only read, for stamps of others.
    pub looked_at: Vec<(u64, u64)>,
    /// The original data is saved and put back.
    pub keeps: bool,
    /// Places reach the drive in the order in which they are listed, the first part of each first.
    pub in_order: bool,
}

/// Results of a trial.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Sectors that held their own stamp.
    pub own: u64,
    /// Places of sectors that did not, and could be read or not.
    pub lost: Vec<u64>,
    /// Offset at which a stamp was read, and the offset at which it had been written.
    pub moved: Vec<(u64, u64)>,
    /// Sectors of which data came at all.
    pub delivered: u64,
    /// Requests that failed. Of their sectors some may be sound, though none was kept.
    pub failed: Vec<(u64, u64)>,
}

impl Trial {
    /// Bytes that it writes, putting back included: each place once, however often it is stamped.
    pub fn writes(&self) -> u64 {
        let stamped: u64 = self.places.iter().chain(&self.after).map(|(_, len)| len).sum();
        let kept: BTreeMap<u64, u64> = self.written().collect();
        if self.keeps { stamped + kept.values().sum::<u64>() } else { stamped }
    }

    /// Goes through it. What was overwritten is put back before this returns, whatever happens.
    ///
    /// # Errors
    /// [`Halt`]; an I/O that fails while stamps are written or read back is not an error, and shows as a lost place.
    pub fn run(&self, desk: &mut Desk<'_>, salt: u64) -> Result<Shown, Halt> {
        if !self.keeps {
            return self.ask(desk, salt);
        }
        let left = desk.writes_left();
        if self.writes() > left.0 {
            return Err(Halt::WriteBudget { needed: Bytes(self.writes()), left });
        }
        let (kept, mut unreadable) = self.keep(desk)?;
        let is_readable = |place: &(u64, u64)| !unreadable.contains(place);
        // Data that cannot be read cannot be put back, so it is not overwritten; it is known to be lost already.
        let cut = |places: &[(u64, u64)]| {
            places.iter().copied().flat_map(requests).filter(is_readable).collect()
        };
        let mut spared =
            Trial { places: cut(&self.places), after: cut(&self.after), ..self.clone() };
        if unreadable.len() >= FAILURES as usize {
            spared.looked_at.clear();
        }
        let holds_data = kept.places().next().is_some();
        if holds_data {
            desk.secure(salt, &kept)?;
        }
        let shown = spared.ask(desk, salt);
        let is_whole = put_back(desk, &kept)?;
        if holds_data {
            desk.restored(is_whole);
        }
        let mut shown = shown?;
        let stamped: Vec<(u64, u64)> = self.places.iter().copied().flat_map(requests).collect();
        unreadable.retain(|place| stamped.contains(place));
        shown.fail(unreadable);
        Ok(shown)
    }

    fn written(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.places.iter().chain(&self.after).copied().flat_map(requests)
    }

    /// Reads what will be overwritten; and the places that cannot be read. Nothing comes of a drive without data,
    /// which has nothing to keep.
    fn keep(&self, desk: &mut Desk<'_>) -> Result<(Kept, Vec<(u64, u64)>), Halt> {
        let places: Vec<(u64, u64)> = self.written().collect();
        let mut data = BTreeMap::new();
        let failed = each(desk, "keep", READ, &places, &no_content, &mut |offset, bytes| {
            data.insert(offset, Original::of(bytes));
        })?;
        Ok((Kept::new(data), failed))
    }

    fn ask(&self, desk: &mut Desk<'_>, salt: u64) -> Result<Shown, Halt> {
        let stamps = Stamps::new(salt);
        let content = || -> Box<dyn Payload> { Box::new(stamps) };
        let mut shown = Shown::default();
        // Writes that push places out of a cache begin only after all of those have arrived: requests in flight together
        // arrive in any order.
        let is_short = |place: &(u64, u64)| place.1 < REQUEST;
        let runs = self.places.chunk_by(|one, next| is_short(one) == is_short(next));
        let runs = runs.map(|run| (run, self.in_order));
        for (places, in_order) in runs.chain([(&self.after[..], false)]) {
            let (longest, together) = if in_order { (ALONE, 1) } else { (REQUEST, TOGETHER) };
            let writes: Vec<(u64, u64)> =
                places.iter().flat_map(|&place| cut(place, longest)).collect();
            let write = (Op::Write, together);
            shown.failed.extend(each(desk, "stamp", write, &writes, &content, &mut |_, _| {})?);
        }
        // Only for its effect: a drive without this command is not at fault.
        match desk.run("flush", &Script::one_by_one([FLUSH])) {
            Err(Halt::Failed(_)) | Ok(_) => {}
            Err(halt) => return Err(halt),
        }
        let reads: Vec<(u64, u64)> = self.places.iter().copied().flat_map(requests).collect();
        let failed = each(desk, "read back", READ, &reads, &content, &mut |offset, data| {
            shown.look(stamps, offset, data, true);
        })?;
        shown.fail(failed);
        // Addresses that fail are not aliases of those that do not.
        if shown.failed.len() < FAILURES as usize {
            let looked_at = &self.looked_at;
            each(desk, "look for stamps", READ, looked_at, &content, &mut |offset, data| {
                shown.look(stamps, offset, data, false);
            })?;
        }
        Ok(shown)
    }
}

impl Shown {
    /// Takes note of requests that failed.
    fn fail(&mut self, failed: Vec<(u64, u64)>) {
        let sectors = |&(offset, len): &(u64, u64)| (offset..offset + len).step_by(SECTOR as usize);
        self.lost.extend(failed.iter().flat_map(sectors));
        self.failed.extend(failed);
    }

    fn look(&mut self, stamps: Stamps, offset: u64, data: &[u8], stamped: bool) {
        for (at, sector) in data.chunks(SECTOR as usize).enumerate() {
            let place = offset + at as u64 * SECTOR;
            self.delivered += 1;
            match stamps.look(place, sector) {
                Seen::Own => self.own += u64::from(stamped),
                Seen::Of(other) => {
                    self.moved.push((place, other));
                    if stamped {
                        self.lost.push(place);
                    }
                }
                Seen::Other if stamped => self.lost.push(place),
                Seen::Other => {}
            }
        }
    }
}

pub(super) fn no_content() -> Box<dyn Payload> {
    Box::new(Stamps::new(0))
}

/// Cuts a place into requests.
pub(super) fn requests(place: (u64, u64)) -> impl Iterator<Item = (u64, u64)> {
    cut(place, REQUEST)
}

fn cut((offset, len): (u64, u64), longest: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..len.div_ceil(longest)).map(move |n| (offset + n * longest, longest.min(len - n * longest)))
}

pub(super) fn script(op: Op, places: &[(u64, u64)]) -> Script {
    grouped(op, places, TOGETHER)
}

fn grouped(op: Op, places: &[(u64, u64)], together: usize) -> Script {
    let mut script = Script::new();
    for group in places.chunks(together) {
        let access = |&(offset, len): &(u64, u64)| Access {
            op,
            fua: false,
            offset: Bytes(offset),
            len: Bytes(len),
        };
        script.group(Nanos::ZERO, &group.iter().map(access).collect::<Vec<_>>());
    }
    script
}

/// Issues requests group by group; a group of which one fails is issued again one by one, so that the place that
/// fails is known. Gives back the places that do.
fn each(
    desk: &mut Desk<'_>,
    part: &str,
    (op, together): (Op, usize),
    places: &[(u64, u64)],
    content: &dyn Fn() -> Box<dyn Payload>,
    see: &mut dyn FnMut(u64, &[u8]),
) -> Result<Vec<(u64, u64)>, Halt> {
    let (mut failed, mut in_row): (Vec<(u64, u64)>, u32) = (Vec::new(), 0);
    for group in places.chunks(GROUPS * TOGETHER) {
        let mut seen = Vec::new();
        let all = grouped(op, group, together);
        let is_lost = in_row >= FAILURES;
        let played = match is_lost {
            true => None,
            false => Some(desk.run_for_data(part, &all, content, &mut |at, data| {
                seen.push((group[at].0, data.to_vec()));
            })),
        };
        match played {
            Some(Ok(_)) => seen.iter().for_each(|(offset, data)| see(*offset, data)),
            None | Some(Err(Halt::Failed(_))) => {
                for place in group {
                    let follows = failed.last().is_some_and(|(at, len)| at + len == place.0);
                    in_row = if follows { in_row } else { 0 };
                    if in_row < FAILURES {
                        let one = script(op, std::slice::from_ref(place));
                        let see = &mut |_, data: &[u8]| see(place.0, data);
                        match desk.run_for_data(part, &one, content, see) {
                            Ok(_) => continue,
                            Err(Halt::Failed(_)) => {}
                            Err(halt) => return Err(halt),
                        }
                    }
                    in_row += 1;
                    failed.push(*place);
                }
            }
            Some(Err(halt)) => return Err(halt),
        }
    }
    Ok(failed)
}

/// Writes back what was kept, and has it reach the medium. False when some place could not be written back and does not
/// hold what it held: one that cannot be written to at all could not be stamped either.
fn put_back(desk: &mut Desk<'_>, kept: &Kept) -> Result<bool, Halt> {
    let places: Vec<(u64, u64)> = kept.places().collect();
    let content = || -> Box<dyn Payload> { Box::new(kept.clone()) };
    if places.is_empty() {
        return Ok(true);
    }
    let mut is_whole = true;
    if desk.put_back("put back", &script(Op::Write, &places), &content).is_err() {
        for place in &places {
            let one = std::slice::from_ref(place);
            match desk.put_back("put back", &script(Op::Write, one), &content) {
                Ok(()) => {}
                Err(Halt::Failed(_)) => is_whole &= holds(desk, *place, kept),
                Err(halt) => return Err(halt),
            }
        }
    }
    settle(desk)?;
    Ok(is_whole)
}

/// Whether a place holds what was kept of it.
fn holds(desk: &mut Desk<'_>, place: (u64, u64), kept: &Kept) -> bool {
    let mut is_same = false;
    let read = script(Op::Read, &[place]);
    let done = desk.run_for_data("look", &read, &no_content, &mut |_, data| {
        is_same = kept.at(place.0).is_some_and(|kept| *kept == *data);
    });
    done.is_ok() && is_same
}

/// Flushes the drive, whatever limit was reached. A drive without this command is not at fault.
pub(super) fn settle(desk: &mut Desk<'_>) -> Result<(), Halt> {
    match desk.put_back("flush", &Script::one_by_one([FLUSH]), &no_content) {
        Err(Halt::Failed(_)) | Ok(()) => Ok(()),
        Err(halt) => Err(halt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a place that is stamped twice counts as put back twice: a write budget that the plan fits would not do.
    #[test]
    fn a_place_is_put_back_once() {
        let places = vec![(0, 64 << 20)];
        let trial = Trial { places, after: vec![(0, 32 << 20)], keeps: true, ..Trial::default() };
        assert_eq!(trial.writes(), 160 << 20);
        assert_eq!(Trial { keeps: false, ..trial }.writes(), 96 << 20);
    }
}
