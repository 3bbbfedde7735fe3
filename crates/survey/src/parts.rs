//! Choice, order and limits of the instruments, from what a target reports about itself.

use block::{Bytes, DriveInfo, Nanos};

use crate::body::LeftOut;
pub use crate::sort::Sort;

/// An instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instrument {
    /// The quick benchmark.
    Mark,
    /// Speed and access time over the whole range.
    Surface,
    /// The chain of probes.
    Probe,
    /// Memory for writes alone, of a disk.
    WriteBuffer,
    /// Real capacity.
    Capacity,
    /// Speed classes of memory cards.
    SpeedClass,
    /// Write saturation.
    Wsat,
}

impl Instrument {
    /// The part's name.
    pub fn word(self) -> &'static str {
        match self {
            Instrument::Mark => "mark",
            Instrument::Surface => "surface",
            Instrument::Probe => "probe",
            Instrument::WriteBuffer => "write-buffer",
            Instrument::Capacity => "capacity",
            Instrument::SpeedClass => "speed-class",
            Instrument::Wsat => "wsat",
        }
    }

    /// The verb on the command line.
    pub fn verb(self) -> &'static [&'static str] {
        match self {
            Instrument::Mark => &["mark"],
            Instrument::Surface => &["probe", "surface"],
            Instrument::Probe => &["probe"],
            Instrument::WriteBuffer => &["probe", "write-buffer"],
            Instrument::Capacity => &["probe", "capacity"],
            Instrument::SpeedClass => &["probe", "speed-class"],
            Instrument::Wsat => &["pts", "wsat"],
        }
    }

    /// Purpose of the instrument, in words.
    pub fn why(self) -> &'static str {
        match self {
            Instrument::Mark => "rates, what queues bring, and whether the numbers can be trusted",
            Instrument::Surface => "rotation, outer and inner zones, slow places",
            Instrument::Probe => "what it is made of: units, cells, caches, parallelism",
            Instrument::WriteBuffer => "memory that takes writes",
            Instrument::Capacity => "whether it holds what it states",
            Instrument::SpeedClass => "which speed classes it reaches",
            Instrument::Wsat => "what it keeps up when it is written to without end",
        }
    }

    /// The longest that it is given of a survey. Of the chain, [`allot`] decides.
    fn time_max(self) -> Nanos {
        Nanos::secs(match self {
            Instrument::Mark => 60,
            Instrument::Surface => 120,
            Instrument::Probe => 30 * 60,
            Instrument::WriteBuffer | Instrument::SpeedClass => 120,
            Instrument::Capacity => 300,
            Instrument::Wsat => 8 * 60 * 60,
        })
    }

    /// The shortest in which it says anything.
    fn time_min(self) -> Nanos {
        Nanos::secs(match self {
            Instrument::Mark => 10,
            Instrument::Surface | Instrument::Probe => 20,
            Instrument::WriteBuffer | Instrument::SpeedClass => 10,
            Instrument::Capacity => 40,
            Instrument::Wsat => 0,
        })
    }
}

/// The instruments for a target, in order. Whether a drive is counterfeit is asked first: if it is, nothing else matters.
pub fn order(sort: Sort, may_write: bool) -> Vec<Instrument> {
    use Instrument::{Capacity, Mark, Probe, SpeedClass, Surface, WriteBuffer, Wsat};
    let all: &[Instrument] = match (sort, may_write) {
        (Sort::Directory | Sort::File | Sort::NoMedium, _) => &[Mark],
        (Sort::Disk, false) => &[Mark, Surface],
        (Sort::Disk, true) => &[Mark, Surface, WriteBuffer],
        (Sort::Flash, false) => &[Mark, Probe],
        (Sort::Flash, true) => &[Capacity, Mark, Probe, SpeedClass, Wsat],
    };
    all.to_vec()
}

/// Findings that need writes, listed as left out of a read-only survey.
pub fn not_without_writing(sort: Sort) -> Option<LeftOut> {
    let what = match sort {
        Sort::Disk => "rates of writes, memory that takes writes",
        Sort::Flash => {
            "rates of writes, open units, the zone for file allocation tables, caches, real capacity, speed classes, \
             steady state"
        }
        Sort::File => "rates of writes",
        Sort::Directory | Sort::NoMedium => return None,
    };
    Some(LeftOut {
        what: what.to_owned(),
        why: "only reading is allowed".to_owned(),
        remedy: Some(
            match sort {
                Sort::File => "--write, and --consent with the file's name; what it holds is lost",
                _ => "--write --consent WORD, and drivescope devices shows the word; what it holds is lost",
            }
            .to_owned(),
        ),
    })
}

/// Findings that a filesystem hides, listed as left out.
pub fn not_through(sort: Sort) -> Option<LeftOut> {
    matches!(sort, Sort::Directory | Sort::File).then(|| LeftOut {
        what: "what the device below is made of".to_owned(),
        why: "a filesystem hides where on its device a file lies".to_owned(),
        remedy: Some("survey the device, which drivescope devices lists".to_owned()),
    })
}

/// Budget left when a part is to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Time, on the drive's clock.
    pub time: Nanos,
    /// Bytes that may still be written.
    pub bytes: Bytes,
}

/// Results of earlier parts that decide about later ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shown {
    /// True when requests that wait together are served together.
    pub queues: Option<bool>,
    /// Bytes a second of random writes, many at a time.
    pub random_write_bytes_per_s: Option<f64>,
    /// The erase block, which later probes of the same drive need and would have to find again.
    pub erase_block: Option<Bytes>,
}

/// Budget of one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allotted {
    /// Time, on the drive's clock.
    pub time: Nanos,
    /// Bytes to write.
    pub bytes: Bytes,
}

/// Fills of the range that write saturation makes before it stops, and beyond them, for response times.
pub const FILLS: f64 = 6.0;
const FILLS_BESIDE: f64 = 0.5;
/// A steady drive is slower than the fresh one that was measured, by about this.
const SLOWER: f64 = 3.0;

/// Bytes that the capacity probe and the speed-class probe write, each.
const SMALL: Bytes = Bytes::mib(512);

/// Allots a budget to `instrument` from what is left, when `later` are still to come.
///
/// # Errors
/// Returns the reason to leave the instrument out, with what would allow it.
pub fn allot(
    instrument: Instrument,
    later: &[Instrument],
    (left, shown): (Left, Shown),
    info: &DriveInfo,
) -> Result<Allotted, LeftOut> {
    let out = |why: &str, remedy: Option<&str>| {
        Err(LeftOut {
            what: format!("{}: {}", instrument.word(), instrument.why()),
            why: why.to_owned(),
            remedy: remedy.map(str::to_owned),
        })
    };
    if left.time < instrument.time_min() {
        return out("the time budget is used up", Some("a longer --time-budget"));
    }
    let wsat = saturation(info.capacity_bytes);
    // Some of the bytes are kept for write saturation, where it fits at all.
    let kept = match later.contains(&Instrument::Wsat) && wsat.0 <= left.bytes.0 / 4 * 3 {
        true => wsat,
        false => Bytes::ZERO,
    };
    let small =
        later.iter().filter(|it| matches!(it, Instrument::Capacity | Instrument::SpeedClass));
    let kept = kept.0 + (small.count() as u64 * SMALL.0).min(left.bytes.0 / 4);
    let bytes = Bytes(left.bytes.0 - kept);
    match instrument {
        Instrument::SpeedClass if shown.queues == Some(true) => {
            out("speed classes are those of memory cards, and it is none", None)
        }
        Instrument::Wsat => {
            saturate(wsat, (left, shown)).or_else(|(why, remedy)| out(&why, remedy))
        }
        _ => {
            let others: u64 = later.iter().map(|it| it.time_max().0.min(it.time_min().0 * 6)).sum();
            let most = left.time.0.saturating_sub(others).max(left.time.0 / 2);
            Ok(Allotted { time: Nanos(instrument.time_max().0.min(most)), bytes })
        }
    }
}

/// Bytes that write saturation writes on a drive of this size.
fn saturation(capacity: Bytes) -> Bytes {
    Bytes((capacity.0 as f64 * (FILLS + FILLS_BESIDE)) as u64)
}

fn saturate(
    writes: Bytes,
    (left, shown): (Left, Shown),
) -> Result<Allotted, (String, Option<&'static str>)> {
    if shown.queues != Some(true) {
        let why = match shown.queues {
            Some(_) => "it serves one request at a time: of such a drive, its probes show more",
            None => "whether it serves many requests at once is not known",
        };
        return Err((why.to_owned(), None));
    }
    if writes > left.bytes {
        let why = format!(
            "it writes {} GB, and {} GB are left to write",
            writes.0 / 1_000_000_000,
            left.bytes.0 / 1_000_000_000
        );
        return Err((why, Some("a greater --write-budget")));
    }
    let Some(rate) = shown.random_write_bytes_per_s.filter(|rate| *rate > 0.0) else {
        return Err((
            "how long it takes is not known, since no random writes were measured".to_owned(),
            None,
        ));
    };
    let time = Nanos((writes.0 as f64 / rate * SLOWER * 1e9) as u64);
    if time > left.time {
        let why = format!("it takes about {} min", time.0 / 60_000_000_000 + 1);
        return Err((why, Some("a longer --time-budget")));
    }
    Ok(Allotted { time, bytes: writes })
}

/// At links faster than this, a tenth of a second holds thousands of I/Os.
const FAST_LINK: u64 = 200_000_000;

/// Tests of the quick benchmark: rates, and random reads by depth.
const TESTS: &str = "--tests=SEQ1MQ8T1,RND4KQ1T1,RND4KQ4T1,RND4KQ16T1,RND4KQ32T1";

/// The flags of an instrument, beside those that say where and with which consent.
pub fn flags(
    instrument: Instrument,
    allotted: Allotted,
    (info, sort, shown): (&DriveInfo, Sort, Shown),
    may_write: bool,
) -> Vec<String> {
    let time = || format!("--time-budget={}s", allotted.time.0 / 1_000_000_000);
    let bytes = || format!("--write-budget={}", allotted.bytes);
    match instrument {
        Instrument::Mark => {
            let mut flags = vec!["--quick".to_owned(), TESTS.to_owned()];
            let is_fast = info.link_bytes_per_s.is_some_and(|rate| rate > FAST_LINK);
            if is_fast && info.rotational == Some(false) {
                flags.push("--duration=100ms".to_owned());
            }
            if !may_write && sort != Sort::Directory {
                flags.push("--read-only".to_owned());
            }
            flags
        }
        Instrument::Surface => vec![time()],
        Instrument::Probe | Instrument::WriteBuffer | Instrument::Capacity => {
            vec![time(), bytes()]
        }
        Instrument::SpeedClass => {
            let unit = shown.erase_block.map(|unit| format!("--erase-block={unit}"));
            [time(), bytes()].into_iter().chain(unit).collect()
        }
        Instrument::Wsat => {
            vec!["--minute=2%".to_owned(), format!("--until={FILLS}fills"), bytes()]
        }
    }
}

#[cfg(test)]
mod tests {
    use block::DriveKind;

    use super::*;

    fn card() -> DriveInfo {
        DriveInfo {
            name: "/dev/sdz".to_owned(),
            kind: DriveKind::BlockDevice,
            model: None,
            serial: None,
            capacity_bytes: Bytes::gib(1),
            logical_block_bytes: Bytes(512),
            physical_block_bytes: Bytes(512),
            rotational: Some(false),
            write_cache: None,
            cache_bytes: None,
            link_bytes_per_s: None,
        }
    }

    const LEFT: Left = Left { time: Nanos::secs(900), bytes: Bytes::gib(16) };

    // Breaks when a drive whose owner allowed reads alone is handed to an instrument that can do nothing without
    // writing, or when one that writes is not named as left out.
    #[test]
    fn without_consent_no_instrument_writes() {
        for sort in [Sort::File, Sort::Disk, Sort::Flash] {
            let asked = order(sort, false);
            assert!(
                asked.iter().all(|it| matches!(
                    it,
                    Instrument::Mark | Instrument::Surface | Instrument::Probe
                )),
                "{asked:?}"
            );
            assert!(not_without_writing(sort).is_some());
        }
        let allotted = Allotted { time: Nanos::secs(60), bytes: Bytes::ZERO };
        let flags =
            flags(Instrument::Mark, allotted, (&card(), Sort::Flash, Shown::default()), false);
        assert!(flags.contains(&"--read-only".to_owned()));
    }

    // Breaks when a short survey measures a counterfeit, and never asks whether it is one.
    #[test]
    fn capacity_is_asked_first_in_however_little_time() {
        let order = order(Sort::Flash, true);
        assert_eq!(order[0], Instrument::Capacity);
        let little = Left { time: Nanos::secs(90), ..LEFT };
        let first = allot(order[0], &order[1..], (little, Shown::default()), &card()).unwrap();
        assert!(first.time >= Instrument::Capacity.time_min(), "{first:?}");
        let rest = Left { time: Nanos(little.time.0 - first.time.0), ..little };
        assert!(allot(order[1], &order[2..], (rest, Shown::default()), &card()).is_ok());
    }

    // Breaks when a part takes what the parts after it need, or one that does not fit is begun all the same.
    #[test]
    fn a_part_leaves_something_for_those_after_it() {
        let later = [Instrument::Capacity, Instrument::SpeedClass, Instrument::Wsat];
        let serial = Shown { queues: Some(false), ..Shown::default() };
        let chain = allot(Instrument::Probe, &later, (LEFT, serial), &card()).unwrap();
        assert!(chain.time < LEFT.time && chain.time.0 >= LEFT.time.0 / 2, "{chain:?}");
        assert!(chain.bytes.0 + saturation(card().capacity_bytes).0 <= LEFT.bytes.0);
        let little = Left { time: Nanos::secs(5), ..LEFT };
        let out = allot(Instrument::Probe, &later, (little, serial), &card()).unwrap_err();
        assert!(out.remedy.unwrap().contains("--time-budget"));
    }

    // Breaks when a card is worn by hours of random writes, or a large drive begins what cannot end.
    #[test]
    fn saturation_is_for_what_queues_and_fits() {
        let wsat = |shown, left| allot(Instrument::Wsat, &[], (left, shown), &card());
        let fast =
            Shown { queues: Some(true), random_write_bytes_per_s: Some(4e8), erase_block: None };
        assert!(wsat(fast, LEFT).unwrap().time < LEFT.time);
        assert!(wsat(Shown { queues: Some(false), ..fast }, LEFT).is_err());
        assert!(wsat(Shown { random_write_bytes_per_s: Some(1e6), ..fast }, LEFT).is_err());
        let few = Left { bytes: Bytes::gib(4), ..LEFT };
        assert!(wsat(fast, few).unwrap_err().remedy.unwrap().contains("--write-budget"));
        assert!(allot(Instrument::SpeedClass, &[], (LEFT, fast), &card()).is_err());
    }
}
