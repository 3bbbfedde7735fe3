//! Contents of a device: what commands erase, where partitions begin, whether they can be kept.

use block::{Bytes, Layout, Part};

use super::{Advice, Subject, new};

/// Partitions that are described one by one.
const NAMED: usize = 4;

/// Contents that a command for all of `name` erases; `None` where nothing is there.
pub(super) fn erases(layout: &Layout, name: &str) -> Option<String> {
    let of =
        |part: &Part| format!("partition {} at {}{}", part.number, part.start.human(), held(part));
    let mut there: Vec<String> = layout.parts.iter().take(NAMED).map(of).collect();
    match layout.parts.len().saturating_sub(NAMED) {
        0 => {}
        more => there.push(format!("{more} more partitions")),
    }
    there.extend(layout.holds.iter().cloned());
    if let Some(why) = &layout.unread {
        there.push(format!("contents that cannot be read ({why})"));
    }
    let uses = match layout.uses.as_slice() {
        [] if there.is_empty() => return None,
        [] => String::new(),
        uses => format!("; end this first: {}", uses.join(", ")),
    };
    if there.is_empty() {
        there.push("what is in use there".to_owned());
    }
    Some(format!("this erases {name}: {}{uses}", there.join(", ")))
}

/// Contents that a command for the first partition of `name` erases.
pub(super) fn erases_first(layout: &Layout, name: &str, first: &str) -> Option<String> {
    let all = erases(layout, name)?;
    match layout.parts.iter().find(|part| part.number == 1) {
        Some(part) if layout.uses.is_empty() => Some(format!(
            "this erases {first}{}",
            match part.holds.is_empty() {
                true => ", whatever it holds".to_owned(),
                false => format!(": {}", part.holds.join(", ")),
            }
        )),
        _ => Some(all),
    }
}

fn held(part: &Part) -> String {
    if part.holds.is_empty() { String::new() } else { format!(" ({})", part.holds.join(", ")) }
}

/// Place in words, on the grid of erase blocks.
fn on_grid(place: Bytes, erase: u64) -> String {
    match place.0 % erase {
        0 => format!("at {}, with an erase block of {}", place.human(), Bytes(erase).human()),
        past => format!(
            "at {}, {} into an erase block of {} and {} before the next one",
            place.human(),
            Bytes(past).human(),
            Bytes(erase).human(),
            Bytes(erase - past).human()
        ),
    }
}

fn described(part: &Part, erase: u64) -> String {
    let clusters = part.clusters.map_or(String::new(), |clusters| {
        format!("; its clusters begin {}", on_grid(clusters, erase))
    });
    let start = on_grid(part.start, erase);
    format!("partition {}{} begins {start}{clusters}", part.number, held(part))
}

/// True when all that files are written to begins with an erase block.
pub(super) fn is_aligned(layout: &Layout, erase: u64) -> bool {
    let is_on_grid = |part: &Part| part.clusters.unwrap_or(part.start).0.is_multiple_of(erase);
    !layout.parts.is_empty() && layout.parts.iter().all(is_on_grid)
}

/// Places of partitions, and whether they can stay.
pub(super) fn found(layout: &Layout, erase: u64) -> Option<Advice> {
    if let Some(part) = &layout.part_of {
        let start = on_grid(part.start, erase);
        let what = match part.start.0.is_multiple_of(erase) {
            true => "it can stay where it is".to_owned(),
            false => format!(
                "only a new partition table moves it: probe {} itself for that command",
                part.disk
            ),
        };
        let why = format!(
            "this is partition {} of {}, which begins {start}: {what}",
            part.number, part.disk
        );
        let is_on_grid = part.start.0.is_multiple_of(erase);
        let subject = if is_on_grid { Subject::Keep } else { Subject::Partitions };
        return Some(new(subject, None, why));
    }
    if layout.parts.is_empty() {
        return None;
    }
    let mut places: Vec<String> =
        layout.parts.iter().take(NAMED).map(|part| described(part, erase)).collect();
    if layout.parts.len() > NAMED {
        places.push(format!("{} more partitions", layout.parts.len() - NAMED));
    }
    let places = places.join("; ");
    Some(match is_aligned(layout, erase) {
        true => {
            new(Subject::Keep, None, format!("keep its partitions, which are aligned: {places}"))
        }
        false => new(Subject::Partitions, None, format!("it is partitioned: {places}")),
    })
}
