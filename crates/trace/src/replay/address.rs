//! Map from the addresses of a trace to those of the target.

use block::{Bytes, DriveInfo};

use super::options::{Fit, Layout, Options};
use super::permute::Permutation;
use super::survey::Survey;
use crate::TraceError;

/// Unit in which addresses are moved: spaces are packed to it, and squeezed, stretched and permuted by it. Larger
/// than nearly all requests, so that few cross from one to the next, and a run of sequential ones stays sequential;
/// small beside any target.
pub const CHUNK: Bytes = Bytes::mib(1);

/// Addresses beyond this are refused: sums of two of them still have a number.
const ADDRESS_MAX: u64 = 1 << 62;

/// The way from the addresses of a trace to those of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct AddressMap {
    /// By space: what is added to its addresses, after what is taken away.
    places: Vec<Option<Place>>,
    fit: Fitting,
    /// First byte of the part of the target that is used.
    start: u64,
    /// Its length, a multiple of the block.
    window: u64,
    block: u64,
    /// First byte behind all that the trace uses, all spaces laid out.
    extent: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    low: u64,
    base: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fitting {
    Identity,
    Wrap,
    Scale { chunks: u64, room: u64 },
    Hash { permutation: Permutation, room: u64 },
}

/// Position of an I/O on the target, and the changes made for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// First byte on the target.
    pub offset: Bytes,
    /// Bytes.
    pub len: Bytes,
    /// Its ends were moved outwards to whole blocks of the target.
    pub repaired: bool,
    /// It would have crossed the end of the target and was moved back from there.
    pub moved: bool,
    /// It is longer than all of the target that is used and was cut.
    pub cut: bool,
}

impl AddressMap {
    /// The map for all I/Os of `survey` on `target`.
    ///
    /// # Errors
    /// [`TraceError::Unsuited`] when the trace does not fit, when a space has no place, or when the part of the target
    /// to be used is none.
    pub fn new(
        survey: &Survey,
        target: &DriveInfo,
        options: &Options,
    ) -> Result<AddressMap, TraceError> {
        let block = target.logical_block_bytes.0.max(1);
        let (start, window) = part(target, options, block)?;
        let (places, extent) = lay_out(survey, &options.layout)?;
        let extent = extent.div_ceil(block) * block;
        let fit = fitting(options.fit, extent, window, target)?;
        Ok(AddressMap { places, fit, start, window, block, extent })
    }

    /// First byte behind all that the trace uses, with all its spaces laid out, before it is made to fit.
    pub fn extent(&self) -> Bytes {
        Bytes(self.extent)
    }

    /// The part of the target that is used: its first byte and its length.
    pub fn part(&self) -> (Bytes, Bytes) {
        (Bytes(self.start), Bytes(self.window))
    }

    /// The target's logical block.
    pub fn block(&self) -> Bytes {
        Bytes(self.block)
    }

    /// True when no two addresses of the trace come to lie on one of the target, as far as the map goes.
    pub fn injective(&self) -> bool {
        match self.fit {
            Fitting::Identity => true,
            Fitting::Wrap => self.extent <= self.window,
            Fitting::Scale { chunks, room } => chunks <= room,
            Fitting::Hash { room, .. } => self.extent.div_ceil(CHUNK.0) <= room,
        }
    }

    /// Returns the position of an I/O of `space`; `None` when the survey saw nothing of that space.
    pub fn place(&self, space: u32, offset: Bytes, len: Bytes) -> Option<Placed> {
        let place = (*self.places.get(space as usize)?)?;
        let first = offset.0.checked_sub(place.low)?.checked_add(place.base)?;
        let last = first.checked_add(len.0)?;
        let (low, high) = (first - first % self.block, last.div_ceil(self.block) * self.block);
        let repaired = (low, high) != (first, last);
        let wanted = high - low;
        let len = wanted.min(self.window);
        let there = self.fitted(low);
        let position = there.min(self.window - len);
        Some(Placed {
            offset: Bytes(self.start + position),
            len: Bytes(len),
            repaired,
            moved: position != there,
            cut: len != wanted,
        })
    }

    fn fitted(&self, at: u64) -> u64 {
        let chunk = CHUNK.0;
        let within = at % chunk;
        match self.fit {
            Fitting::Identity => at,
            Fitting::Wrap => at % self.window,
            Fitting::Scale { chunks, room } => {
                let index = u128::from(at / chunk) * u128::from(room) / u128::from(chunks);
                index as u64 * chunk + within
            }
            Fitting::Hash { permutation, room } => {
                permutation.of(at / chunk) % room * chunk + within
            }
        }
    }
}

/// The part of the target that is used: first byte and length.
fn part(target: &DriveInfo, options: &Options, block: u64) -> Result<(u64, u64), TraceError> {
    let Bytes(start) = options.start;
    let name = &target.name;
    if !start.is_multiple_of(block) {
        return Err(TraceError::Unsuited(format!(
            "{name}: the first byte to be used, {start}, is not a multiple of the logical block of {block} bytes"
        )));
    }
    let behind = target.capacity_bytes.0.saturating_sub(start);
    let window = options.span.map_or(behind, |span| span.0) / block * block;
    if window == 0 || window > behind {
        return Err(TraceError::Unsuited(format!(
            "{name}: of its {} bytes, none or too few lie in the part to be used, which begins at byte {start}{}",
            target.capacity_bytes.0,
            options.span.map_or(String::new(), |span| format!(" and has {} bytes", span.0)),
        )));
    }
    Ok((start, window))
}

/// Lays out the spaces: returns the place of each, and the first byte behind all of them.
fn lay_out(survey: &Survey, layout: &Layout) -> Result<(Vec<Option<Place>>, u64), TraceError> {
    check_names(survey, layout)?;
    let alone = survey.reaches.iter().flatten().count() <= 1;
    let mut places = Vec::with_capacity(survey.reaches.len());
    let (mut next, mut extent) = (0_u64, 0_u64);
    for (index, reach) in survey.reaches.iter().enumerate() {
        let Some(reach) = reach else {
            places.push(None);
            continue;
        };
        let whole = Place { low: 0, base: 0 };
        let known = survey.info.spaces.get(index);
        let place = match layout {
            Layout::At(list) => Place { low: 0, base: named(list, survey, index)? },
            _ if alone => whole,
            Layout::Packed => Place { low: reach.low.round_down(CHUNK).0, base: next },
            Layout::SideBySide => Place { low: 0, base: next },
            Layout::Overlaid => whole,
        };
        let end =
            place.base.checked_add(reach.high.0 - place.low).filter(|end| *end <= ADDRESS_MAX);
        let Some(end) = end else {
            return Err(TraceError::Unsuited(format!(
                "addresses of space {} end at byte {}, beyond any target: were sectors taken for bytes?",
                space_name(survey, index),
                reach.high.0
            )));
        };
        extent = extent.max(end);
        let size =
            known.and_then(|space| space.capacity_bytes).filter(|_| *layout == Layout::SideBySide);
        let used = size.map_or(end, |size| end.max(place.base.saturating_add(size.0)));
        next = used.min(ADDRESS_MAX).div_ceil(CHUNK.0) * CHUNK.0;
        places.push(Some(place));
    }
    Ok((places, extent))
}

/// A name that no space has is a slip of the pen, and its space would lie somewhere else.
fn check_names(survey: &Survey, layout: &Layout) -> Result<(), TraceError> {
    let Layout::At(list) = layout else { return Ok(()) };
    let all: Vec<String> = (0..survey.reaches.len()).map(|i| space_name(survey, i)).collect();
    let known = |name: &String| {
        all.contains(name) || name.parse::<usize>().is_ok_and(|index| index < all.len())
    };
    match list.iter().find(|(name, _)| !known(name)) {
        Some((name, _)) => Err(TraceError::Unsuited(format!(
            "{name} is not an address space of the trace; it has {}",
            all.join(", ")
        ))),
        None => Ok(()),
    }
}

fn named(list: &[(String, Bytes)], survey: &Survey, index: usize) -> Result<u64, TraceError> {
    let name = space_name(survey, index);
    let found = list.iter().find(|(of, _)| *of == name || *of == index.to_string());
    found.map(|(_, base)| base.0).ok_or_else(|| {
        let all = (0..survey.reaches.len()).filter(|i| survey.reaches[*i].is_some());
        let all: Vec<String> = all.map(|i| space_name(survey, i)).collect();
        TraceError::Unsuited(format!(
            "address space {name} has no place on the target: name one for each of {}",
            all.join(", ")
        ))
    })
}

/// As the source names it, or its number.
pub(super) fn space_name(survey: &Survey, index: usize) -> String {
    let named = survey.info.spaces.get(index).map(|space| space.name.clone());
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| index.to_string())
}

fn fitting(fit: Fit, extent: u64, window: u64, target: &DriveInfo) -> Result<Fitting, TraceError> {
    let chunks = extent.div_ceil(CHUNK.0).max(1);
    let room = window / CHUNK.0;
    if room == 0 && matches!(fit, Fit::Scale | Fit::Hash { .. }) {
        return Err(TraceError::Unsuited(format!(
            "{}: addresses are scaled and hashed by {CHUNK}, and the part to be used is smaller: wrap them instead",
            target.name
        )));
    }
    match fit {
        Fit::Identity if extent <= window => Ok(Fitting::Identity),
        Fit::Identity => Err(TraceError::Unsuited(format!(
            "the trace uses addresses up to byte {extent}, and {} has {window} to be used: \
             have them wrapped, scaled or hashed by --map wrap, --map scale or --map hash",
            target.name
        ))),
        Fit::Wrap => Ok(Fitting::Wrap),
        Fit::Scale => Ok(Fitting::Scale { chunks, room }),
        Fit::Hash { seed } => {
            // Over the target where the trace fits into it, so that no two meet; else over the trace, dealt out evenly.
            Ok(Fitting::Hash { permutation: Permutation::new(chunks.max(room), seed), room })
        }
    }
}
