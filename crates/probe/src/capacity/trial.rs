//! One trial: places are kept, stamped, read back and put back.

use std::collections::BTreeMap;

use block::{Bytes, Nanos, Op, Payload};
use workload::script::{Access, Script};

use super::stamp::{Kept, SECTOR, Seen, Stamps};
use crate::desk::{Desk, Halt};

/// Longest request.
const REQUEST: u64 = 1 << 20;
/// Requests that are issued together.
const TOGETHER: usize = 8;

/// What is tried.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// Places (offset and length) that are stamped and read back.
    pub places: Vec<(u64, u64)>,
    /// Places that are stamped after them and not read back: they push what came before out of caches.
    pub after: Vec<(u64, u64)>,
    /// Places that are only read, for stamps of others.
    pub looked_at: Vec<(u64, u64)>,
    /// What was there is kept and put back.
    pub keeps: bool,
}

/// What a trial showed.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Sectors that held their own stamp.
    pub own: u64,
    /// Places of sectors that did not, and could be read or not.
    pub lost: Vec<u64>,
    /// Where a stamp was read, and where it had been written.
    pub moved: Vec<(u64, u64)>,
    /// Sectors of which data came at all.
    pub delivered: u64,
}

impl Trial {
    /// Bytes that it writes, putting back included.
    pub fn writes(&self) -> u64 {
        let bytes: u64 = self.places.iter().chain(&self.after).map(|(_, len)| len).sum();
        if self.keeps { 2 * bytes } else { bytes }
    }

    /// Goes through it. What was overwritten is put back before this returns, whatever happens.
    ///
    /// # Errors
    /// [`Halt`]; an I/O that fails while stamps are written or read back is no error, and shows as a lost place.
    pub fn run(&self, desk: &mut Desk<'_>, salt: u64) -> Result<Shown, Halt> {
        if !self.keeps {
            return self.ask(desk, salt);
        }
        let left = desk.writes_left();
        if self.writes() > left.0 {
            return Err(Halt::WriteBudget { needed: Bytes(self.writes()), left });
        }
        let (kept, unreadable) = self.keep(desk)?;
        let is_readable = |place: &(u64, u64)| {
            !unreadable.iter().any(|at| (place.0..place.0 + place.1).contains(at))
        };
        // What cannot be read cannot be put back, so it is not overwritten; that it is lost is known already.
        let cut = |places: &[(u64, u64)]| {
            places.iter().copied().flat_map(requests).filter(is_readable).collect()
        };
        let spared = Trial { places: cut(&self.places), after: cut(&self.after), ..self.clone() };
        let shown = spared.ask(desk, salt);
        put_back(desk, &kept)?;
        let mut shown = shown?;
        shown.lost.extend(unreadable);
        Ok(shown)
    }

    fn written(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.places.iter().chain(&self.after).copied().flat_map(requests)
    }

    /// Reads what will be overwritten; and the places that cannot be read. Nothing comes of a drive without data,
    /// which has nothing to keep.
    fn keep(&self, desk: &mut Desk<'_>) -> Result<(Kept, Vec<u64>), Halt> {
        let places: Vec<(u64, u64)> = self.written().collect();
        let mut data = BTreeMap::new();
        let failed = each(desk, "keep", Op::Read, &places, &no_content, &mut |offset, bytes| {
            data.insert(offset, bytes.to_vec());
        })?;
        Ok((Kept::new(data), failed))
    }

    fn ask(&self, desk: &mut Desk<'_>, salt: u64) -> Result<Shown, Halt> {
        let stamps = Stamps::new(salt);
        let content = || -> Box<dyn Payload> { Box::new(stamps) };
        let writes: Vec<(u64, u64)> = self.written().collect();
        let mut shown = Shown::default();
        each(desk, "stamp", Op::Write, &writes, &content, &mut |_, _| {})?;
        // Only for its effect: a drive that has no such command is none the worse.
        let flush = Access { op: Op::Flush, fua: false, offset: Bytes::ZERO, len: Bytes::ZERO };
        match desk.run("flush", &Script::one_by_one([flush])) {
            Err(Halt::Failed(_)) | Ok(_) => {}
            Err(halt) => return Err(halt),
        }
        let reads: Vec<(u64, u64)> = self.places.iter().copied().flat_map(requests).collect();
        let failed = each(desk, "read back", Op::Read, &reads, &content, &mut |offset, data| {
            shown.look(stamps, offset, data, true);
        })?;
        shown.lost.extend(failed);
        each(desk, "look for stamps", Op::Read, &self.looked_at, &content, &mut |offset, data| {
            shown.look(stamps, offset, data, false);
        })?;
        Ok(shown)
    }
}

impl Shown {
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

fn no_content() -> Box<dyn Payload> {
    Box::new(Stamps::new(0))
}

/// Cuts a place into requests.
fn requests((offset, len): (u64, u64)) -> impl Iterator<Item = (u64, u64)> {
    (0..len.div_ceil(REQUEST)).map(move |n| (offset + n * REQUEST, REQUEST.min(len - n * REQUEST)))
}

fn script(op: Op, places: &[(u64, u64)]) -> Script {
    let mut script = Script::new();
    for group in places.chunks(TOGETHER) {
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
    op: Op,
    places: &[(u64, u64)],
    content: &dyn Fn() -> Box<dyn Payload>,
    see: &mut dyn FnMut(u64, &[u8]),
) -> Result<Vec<u64>, Halt> {
    let mut failed = Vec::new();
    for group in places.chunks(64 * TOGETHER) {
        let mut seen = Vec::new();
        let all = script(op, group);
        match desk.run_for_data(part, &all, content, &mut |at, data| {
            seen.push((group[at].0, data.to_vec()));
        }) {
            Ok(_) => seen.iter().for_each(|(offset, data)| see(*offset, data)),
            Err(Halt::Failed(_)) => {
                for place in group {
                    let one = script(op, std::slice::from_ref(place));
                    match desk.run_for_data(part, &one, content, &mut |_, data| see(place.0, data))
                    {
                        Ok(_) => {}
                        Err(Halt::Failed(_)) => failed.push(place.0),
                        Err(halt) => return Err(halt),
                    }
                }
            }
            Err(halt) => return Err(halt),
        }
    }
    Ok(failed)
}

/// Writes back what was kept. A place that cannot be written back could not be stamped either.
fn put_back(desk: &mut Desk<'_>, kept: &Kept) -> Result<(), Halt> {
    let places: Vec<(u64, u64)> = kept.places().collect();
    let content = || -> Box<dyn Payload> { Box::new(kept.clone()) };
    if !places.is_empty()
        && desk.put_back("put back", &script(Op::Write, &places), &content).is_err()
    {
        for place in &places {
            match desk.put_back(
                "put back",
                &script(Op::Write, std::slice::from_ref(place)),
                &content,
            ) {
                Ok(()) | Err(Halt::Failed(_)) => {}
                Err(halt) => return Err(halt),
            }
        }
    }
    Ok(())
}
