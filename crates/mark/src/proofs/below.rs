//! Layers between the target and the leaves that may answer by themselves: what was charged above them says nothing of
//! the leaf.

use block::{Extents, Layer, Medium, Op, Stored};
use stats::Verdict;

use super::ratios::UNWRITTEN_SHARE;
use super::{Case, percent};

/// Share of the measured part from which all of it is meant: as much as the leaves may count short of all.
const ALL: f64 = 0.97;

/// Why the leaf may not have moved what was charged above it.
#[derive(Debug)]
pub(super) struct Doubt {
    pub(super) reason: String,
    /// True when the layer is known to answer some of the measured part without the leaf, so that a leaf that counted too
    /// little did not move it.
    pub(super) answers: bool,
    /// True when it answers all of the measured part: whatever the leaf counted was of others.
    pub(super) answers_all: bool,
    /// The file, and how many of its bytes the leaf does not hold as they are read.
    pub(super) lacking: Option<(String, u64)>,
}

impl Doubt {
    fn of(reason: String) -> Doubt {
        Doubt { reason, answers: false, answers_all: false, lacking: None }
    }

    /// The verdict of a test whose bytes the leaves seem to have counted.
    pub(super) fn verdict(&self) -> Verdict {
        if self.answers_all { Verdict::Refuted } else { Verdict::Unprovable }
    }
}

/// The first reason to doubt that what was charged reached the leaf.
pub(super) fn doubt(case: &Case<'_>, op: Op) -> Option<Doubt> {
    let layers = &case.stack.layers;
    let found = layers.iter().filter_map(|layer| {
        let stored = layer.stored.as_ref();
        stored
            .and_then(|stored| of_file(case, op, layer, stored))
            .or_else(|| of_mapping(case, op, layer))
    });
    // One that answers all decides over one that may answer some.
    let found = found.chain(of_target(case, op)).chain(unknown_leaf(case));
    found.reduce(|first, next| if first.answers_all || !next.answers_all { first } else { next })
}

/// The target's own file, where it is stored in another form than it is read or written.
fn of_target(case: &Case<'_>, op: Op) -> Option<Doubt> {
    let after = case.extents_after;
    [case.extents.filter(|_| op == Op::Read), after].into_iter().flatten().find_map(|extents| {
        let packed = extents.encoded_bytes.0 + extents.inline_bytes.0;
        let share = share_of(packed, extents)?;
        let reason = format!(
            "{} of the file is stored compressed, encrypted or inside metadata: the device does not move the bytes that \
             were {}",
            percent(share),
            verb(op)
        );
        Some(Doubt { answers: true, ..Doubt::of(reason) })
    })
}

/// True when what the device moves is known to be of another count than what was read or written: the target's file, or
/// one below, is stored compressed, encrypted or inside metadata.
pub(super) fn is_packed(case: &Case<'_>, op: Op) -> bool {
    let below = case.stack.layers.iter().filter_map(|layer| layer.stored.as_ref());
    let mut below = below.map(|stored| &stored.extents);
    of_target(case, op).is_some() || below.any(|e| share_of(e.encoded_bytes.0, e).is_some())
}

/// True of reads of a part that is known not to have all of its data on the leaf.
pub(super) fn lacks_data(case: &Case<'_>, op: Op) -> bool {
    let of = |layer: &Layer| {
        let stored = layer.stored.as_ref().filter(|stored| stored.is_mapped)?;
        of_file(case, op, layer, stored)
    };
    op == Op::Read && case.stack.layers.iter().any(|layer| of(layer).is_some())
}

/// True where a filesystem writes data to its journal first.
pub(super) fn journals_data(case: &Case<'_>) -> bool {
    let options = case.stack.layers.iter().filter_map(|layer| layer.attributes.get("options"));
    options.into_iter().any(|options| options.contains("data=journal"))
}

fn verb(op: Op) -> &'static str {
    if op == Op::Read { "read" } else { "written" }
}

/// That share of a known layout, where it is too large to pass.
fn share_of(bytes: u64, extents: &Extents) -> Option<f64> {
    let share = bytes as f64 / extents.file_bytes.0.max(1) as f64;
    (extents.unknown.is_none() && share > UNWRITTEN_SHARE).then_some(share)
}

/// A file under a loop device.
fn of_file(case: &Case<'_>, op: Op, layer: &Layer, stored: &Stored) -> Option<Doubt> {
    let (name, extents) = (&layer.name, &stored.extents);
    let in_part = if stored.is_mapped { "of the measured part in" } else { "of" };
    let packed = extents.encoded_bytes.0;
    if let Some(share) = share_of(packed, extents) {
        let share = percent(share);
        let reason = format!("{share} {in_part} {name} is stored compressed or encrypted");
        let lacking = Some((name.clone(), packed));
        return Some(Doubt { answers: stored.is_mapped, lacking, ..Doubt::of(reason) });
    }
    if op != Op::Read {
        return None;
    }
    // Each byte of a file of our own went down through all layers before it was read.
    let wrote_it = case.own_file && !stored.is_mapped;
    if let Some(why) = &extents.unknown {
        let reason = format!("it is not known whether {name} holds data where it was read: {why}");
        return (!case.own_file).then(|| Doubt::of(reason));
    }
    let hollow = (extents.unwritten_bytes + extents.hole_bytes + extents.inline_bytes).0;
    let share = share_of(hollow, extents)?;
    let written = case.extents.map_or(0, |of_target| of_target.written_bytes.0);
    if wrote_it && extents.written_bytes.0 >= written {
        return None;
    }
    let shown = percent(share);
    let reason = match stored.is_mapped {
        true => format!(
            "{shown} {in_part} {name} was never written (sparse, preallocated or punched): reads of it return zeros \
             without the device"
        ),
        false => format!(
            "{shown} of {name} was never written, and the layers above do not say whether the measured part lies there"
        ),
    };
    let (answers, lacking) = (stored.is_mapped, Some((name.clone(), hollow)));
    Some(Doubt { reason, answers, answers_all: answers && share >= ALL, lacking })
}

/// A mapping that returns zeros for what it never stored, or keeps one copy of what is alike.
fn of_mapping(case: &Case<'_>, op: Op, layer: &Layer) -> Option<Doubt> {
    if layer.kind != "dm" {
        return None;
    }
    let uuid = |layer: &Layer| layer.attributes.get("dm_uuid").cloned().unwrap_or_default();
    let own = uuid(layer);
    let ends = |end: &str| {
        let below = layer.below.iter().filter_map(|&place| case.stack.layers.get(place));
        below.map(uuid).chain([own.clone()]).any(|uuid| uuid.ends_with(end))
    };
    let passes_on = ["CRYPT-", "LVM-", "mpath-", "DMRAID-"].iter().any(|of| own.starts_with(of))
        || own.starts_with("part") && own.contains("-mpath-");
    let what = if ends("-tpool") {
        "a thin volume returns zeros for what was never written"
    } else if ends("-vpool") || own.starts_with("VDO-") {
        "VDO returns zeros for what was never written, and keeps alike blocks once"
    } else if passes_on {
        return None;
    } else {
        "its uuid does not say what this mapping does"
    };
    // All blocks of a file that this run wrote exist, each with different data, so the mapping has to read them.
    let may_answer = op == Op::Read && !case.own_file;
    may_answer.then(|| Doubt::of(format!("{}: {what}", layer.name)))
}

fn unknown_leaf(case: &Case<'_>) -> Option<Doubt> {
    let leaf = case.stack.leaves.iter().find(|leaf| leaf.medium == Medium::Unknown)?;
    Some(Doubt::of(format!("it is not known what holds the data of {}", leaf.name)))
}

/// The layer whose page cache lies between target and leaf, with that cache in words.
pub(super) fn page_cache<'a>(case: &Case<'a>) -> Option<(&'a Layer, &'a str)> {
    let layers = &case.stack.layers;
    layers.iter().find_map(|layer| Some((layer, layer.page_cache.as_deref()?)))
}

/// The file right below `cache` that was in the page cache as a whole before the first run.
pub(super) fn resident<'a>(case: &Case<'a>, cache: &Layer) -> Option<&'a str> {
    let is_resident = |layer: &&Layer| {
        let size = layer.attributes.get("size_bytes").and_then(|size| size.parse::<u64>().ok());
        let cached = layer.stored.as_ref().and_then(|stored| stored.cached_bytes);
        size.zip(cached).is_some_and(|(size, cached)| cached.0 as f64 >= ALL * size as f64)
    };
    let mut below = cache.below.iter().filter_map(|&place| case.stack.layers.get(place));
    below.find(is_resident).map(|layer| layer.name.as_str())
}
