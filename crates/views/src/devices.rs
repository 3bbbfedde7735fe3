//! Devices as a listing.

use block::WriteCache;
use linux::devices::{Bus, Device};
use report::{Entry, Listing, Tone, number};

/// Lays out devices, each with the flags that consent to writing to it.
pub fn listing(devices: &[(&Device, String)]) -> Listing {
    Listing {
        entries: devices.iter().map(|(device, flags)| entry(device, flags)).collect(),
        empty: "No block device with a medium is visible here; a directory or a virtual drive \
                (sim:hdd-7200) can be measured all the same."
            .to_owned(),
    }
}

fn entry(device: &Device, flags: &str) -> Entry {
    let id = &device.identity;
    let mut summary = vec![number::bytes(id.size_bytes.0 as f64)];
    summary.push(format!("{:?}", id.bus).to_lowercase());
    let turns = |turns: bool| if turns { "rotating" } else { "not rotating" };
    // A loop device reports the kernel's default, not whether its drive is rotational.
    let told = id.rotational.filter(|_| id.bus != Bus::Loop);
    summary.extend(told.map(|t| turns(t).to_owned()));
    summary.extend(id.model.clone());
    Entry {
        title: device.path.display().to_string(),
        summary: summary.join(", "),
        facts: facts(device),
        notes: notes(device, flags),
        leads: false,
    }
}

fn facts(device: &Device) -> Vec<(String, String)> {
    let id = &device.identity;
    let blocks = format!(
        "{} logical, {} physical",
        id.logical_block_bytes.human(),
        id.physical_block_bytes.human()
    );
    let links = id.links.iter().map(|l| format!("{} {}", l.kind, l.speed));
    let cache = id.write_cache.map(|cache| match cache {
        WriteCache::WriteBack => "write-back: completed writes may be lost with power".to_owned(),
        WriteCache::WriteThrough => "write-through: completed writes are durable".to_owned(),
    });
    let partitions = device
        .partitions
        .iter()
        .map(|p| format!("{} ({})", p.name, number::bytes(p.size_bytes.0 as f64)));
    let mut facts = vec![
        ("serial", id.serial.clone()),
        ("by-id", id.by_id.first().cloned()),
        ("firmware", id.firmware.clone()),
        ("blocks", Some(blocks)),
        ("link", Some(links.collect::<Vec<_>>().join(", "))),
        ("write cache", cache),
        ("scheduler", device.scheduler.clone()),
        ("backing", device.backing_file.as_deref().map(shortened)),
        ("partitions", Some(partitions.collect::<Vec<_>>().join(", "))),
        ("under", Some(device.holders.join(", "))),
        ("on", Some(device.slaves.join(", "))),
    ];
    facts.extend(device.registers.iter().map(|(name, value)| (name.as_str(), Some(value.clone()))));
    facts
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.filter(|v| !v.is_empty())?)))
        .collect()
}

/// A path without its beginning where it would not fit into a line; `--json` has all of it.
fn shortened(path: &str) -> String {
    const MOST: usize = 60;
    let letters = path.chars().count();
    if letters <= MOST {
        return path.to_owned();
    }
    let tail: String = path.chars().skip(letters - MOST + 1).collect();
    let whole = tail.find('/').map_or(tail.as_str(), |at| &tail[at..]);
    format!("…{whole}")
}

fn notes(device: &Device, flags: &str) -> Vec<(Tone, String)> {
    let mut notes = Vec::new();
    if let Some(note) = device.note {
        notes.push((Tone::Mixed, note.to_owned()));
    }
    notes.push(if device.readable {
        (Tone::Good, "read: yes".to_owned())
    } else {
        (
            Tone::Bad,
            "read: not permitted here; as another user try sudo, in a container pass the device in"
                .to_owned(),
        )
    });
    if device.ready {
        notes.push((Tone::Good, format!("write: with {flags} only")));
    }
    let against = device.why_not.iter();
    notes.extend(against.map(|reason| (Tone::Bad, format!("write: no, {reason}"))));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a long path makes a line wider than a terminal, or loses its end, the most useful part.
    #[test]
    fn a_long_path_keeps_its_end() {
        assert_eq!(shortened("/srv/image"), "/srv/image");
        let long = format!("/srv/{}/images/drive", "a".repeat(70));
        assert_eq!(shortened(&long), "…/images/drive");
        let one = format!("/{}é", "a".repeat(90));
        let short = shortened(&one);
        assert!(short.ends_with("aé") && short.chars().count() == 60, "{short}");
    }
}
