//! A virtual drive on the bench, for probes that read.

use std::sync::atomic::AtomicBool;

use block::{Bytes, Nanos, Target};
use drivescope_probe::{Desk, Finding, Known, Name, NoKeeper, Outcome, Spent, Terms};
use engine::TargetBench;
use workload::plan::Region;

/// Limits of a test's session with a drive.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// First byte and length; the whole drive when the length is 0.
    pub offset: u64,
    pub length: u64,
    pub time: Nanos,
    pub seed: u64,
    pub writes: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { offset: 0, length: 0, time: Nanos::secs(600), seed: 7, writes: false }
    }
}

/// Gives `work` a desk at the virtual drive `spec`; gives what it gave, and what was spent.
pub fn at_desk<R>(spec: &str, limits: Limits, work: impl FnOnce(&mut Desk<'_>) -> R) -> (R, Spent) {
    let mut target = sim::open(spec).unwrap();
    let mut environment = target.environment();
    let cancel = AtomicBool::new(false);
    let whole = target.info().capacity_bytes;
    let length = if limits.length == 0 { whole } else { Bytes(limits.length) };
    let terms = Terms {
        region: Region { offset: Bytes(limits.offset), length },
        may_write: limits.writes,
        time_budget: limits.time,
        write_budget: if limits.writes { Bytes::gib(1) } else { Bytes(0) },
        seed: limits.seed,
    };
    let mut keeper = NoKeeper;
    let mut bench = TargetBench::new(&mut target, &mut environment, &cancel);
    let mut desk = Desk::new(&mut bench, terms, &mut keeper);
    let result = work(&mut desk);
    (result, desk.spent())
}

/// Group of pages given.
pub fn group(bytes: u64) -> Known {
    let mut known = Known::new();
    known.give(Name::MultiPlanePage, bytes);
    known
}

/// A drawn card under noise, and what is true of it.
#[derive(Clone, Debug)]
pub struct DrawnCard {
    /// Its spec, with noise: sigma over what an erase block's boundary costs (50 µs where that is nothing) is `level`,
    /// and one command in a hundred takes some ten times as long.
    pub spec: String,
    /// Bands that its reads can show: kinds of pages of different times, if there are several.
    pub bands: Option<u64>,
    /// Length of its zone for file allocation tables.
    pub fat: Option<u64>,
    /// Group, page and erase block as given, where reads could have found them.
    pub known: Known,
}

impl DrawnCard {
    pub fn new(seed: u64, level: f64) -> DrawnCard {
        let base = format!("sim:random-card?seed={seed}");
        let shown = sim::show(&base).unwrap();
        let parameters = serde_json::to_value(&shown.parameters).unwrap();
        let read = |key: &str| parameters["read"][key].as_u64().unwrap();
        let step = if read("lookup_ns") > 0 { read("lookup_ns") } else { 50_000 };
        let jitter = (level * step as f64 * 12_f64.sqrt()) as u64;
        let spike = 13 * read("command_ns");
        let noise = format!("link.jitter_ns={jitter}&link.spike_ppm=10000&link.spike_ns={spike}");
        let (truth, card) = (&shown.truth, shown.truth.card.as_ref().unwrap());
        let kinds = parameters["cells"]["read_ns"].as_array().unwrap().len() as u64;
        let page = truth.page_bytes.unwrap().0;
        let group = page * u64::from(truth.planes.unwrap());
        let mut known = Known::new();
        if card.reads_show_boundaries {
            known.give(Name::MultiPlanePage, group);
            known.give(Name::Page, page);
            known.give(Name::EraseBlock, truth.erase_block_bytes.unwrap().0);
        }
        DrawnCard {
            spec: format!("{base}&{noise}"),
            bands: (card.reads_show_cells && kinds > 1).then_some(kinds),
            fat: truth.fat_zone_bytes.map(|bytes| bytes.0),
            known,
        }
    }
}

/// The finding about `name`.
pub fn finding<E>(outcome: &Outcome<E>, name: Name) -> &Finding {
    outcome.findings.iter().find(|finding| finding.name == name).unwrap()
}
