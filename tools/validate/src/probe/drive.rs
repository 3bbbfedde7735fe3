//! Cards drawn from a seed, made as noisy as a level asks for, and what is true of them.

use ::probe::Name;
use anyhow::{Context as _, Result};
use block::{Bytes, Op, Target as _};
use engine::{Bench as _, TargetBench};
use serde_json::Value;
use sim::{Truth, VirtualTarget};
use stats::median;
use std::sync::atomic::AtomicBool;
use workload::content::SectorContent;
use workload::plan::Content;
use workload::rng::Rng;
use workload::script::{Access, Script};

/// Scored properties, in the order in which they are shown.
pub const SCORED: [Name; 7] = [
    Name::EraseBlock,
    Name::Page,
    Name::MultiPlanePage,
    Name::OpenAuLinear,
    Name::OpenAuRandom,
    Name::FatZone,
    Name::CellBands,
];

/// Of a million commands, how many are spiked.
const SPIKE_PPM: u64 = 10_000;
/// Mean time of a spiked command, as a multiple of its usual time.
const SPIKE_TIMES: u64 = 10;
/// Unit of the noise on a card whose look-up of an erase block costs nothing.
const STEP_WITHOUT_LOOKUP_NS: u64 = 50_000;
/// The read that is taken for typical.
const TYPICAL: Bytes = Bytes::kib(4);
/// Reads of which the median is the typical time.
const TYPICAL_READS: u64 = 65;

/// A drive and what is true of it.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Specification that `sim` opens.
    pub spec: String,
    /// True values; `None` if there is no such thing.
    pub truths: Vec<(Name, Option<u64>)>,
    /// True when all of its boundaries and kinds of pages are read in the same time.
    flat: bool,
}

impl Subject {
    /// The drive that `spec` names, as it is.
    ///
    /// # Errors
    /// When `sim` knows no such drive.
    pub fn of(spec: &str) -> Result<Subject> {
        let shown = ::sim::show(spec)?;
        let parameters = serde_json::to_value(&shown.parameters)?;
        let flat = shown.truth.card.as_ref().is_some_and(|card| !card.reads_show_boundaries);
        Ok(Subject { spec: spec.to_owned(), truths: truths(&shown.truth, &parameters), flat })
    }

    /// The card of `seed`, with noise of a standard deviation of `level` times what an erase block's boundary
    /// costs, and one command in a hundred spiked.
    ///
    /// # Errors
    /// When `sim` refuses the noise.
    pub fn drawn(seed: u64, level: f64) -> Result<Subject> {
        let card = format!("sim:random-card?seed={seed}");
        let shown = ::sim::show(&card)?;
        let parameters = serde_json::to_value(&shown.parameters)?;
        let lookup = parameters.pointer("/read/lookup_ns").and_then(Value::as_u64);
        let step = match lookup.context("a card without read.lookup_ns")? {
            0 => STEP_WITHOUT_LOOKUP_NS,
            lookup => lookup,
        };
        // Half the width of the mean of four uniform draws, whose standard deviation is it over the root of 12.
        let jitter_ns = (level * step as f64 * 12_f64.sqrt()).round();
        // A spike adds half of `spike_ns` to all of it: three quarters in the mean.
        let spike_ns = typical_read_ns(&card)? * (SPIKE_TIMES - 1) * 4 / 3;
        Subject::of(&format!(
            "{card}&link.jitter_ns={jitter_ns}&link.spike_ppm={SPIKE_PPM}&link.spike_ns={spike_ns}"
        ))
    }

    /// True value of `name`; `None` if there is no such thing.
    pub fn truth(&self, name: Name) -> Option<u64> {
        self.truths.iter().find(|(known, _)| *known == name).and_then(|(_, value)| *value)
    }

    /// True when the times of the drive show `name` at all. Where crossing from one plane to the other costs nothing,
    /// two planes look the same as one with pages of twice the size.
    pub fn carries(&self, name: Name) -> bool {
        name != Name::Page || !self.flat
    }

    /// Opens it.
    ///
    /// # Errors
    /// Those of `sim`.
    pub fn open(&self) -> Result<VirtualTarget> {
        Ok(::sim::open(&self.spec)?)
    }
}

/// Answers that a probe ought to give, as far as the drive's truth has them.
fn truths(truth: &Truth, parameters: &Value) -> Vec<(Name, Option<u64>)> {
    let bytes = |value: Option<Bytes>| value.map(|Bytes(bytes)| bytes);
    let page = bytes(truth.page_bytes);
    let group = page.zip(truth.planes).map(|(page, planes)| page * u64::from(planes));
    vec![
        (Name::EraseBlock, bytes(truth.erase_block_bytes)),
        (Name::Page, page),
        (Name::MultiPlanePage, group),
        (Name::OpenAuLinear, truth.open_au_linear.map(u64::from)),
        (Name::OpenAuRandom, truth.open_au_random.map(u64::from)),
        (Name::FatZone, bytes(truth.fat_zone_bytes)),
        (Name::CellBands, bands(truth, parameters)),
        (Name::SlcCache, bytes(truth.slc_cache_bytes)),
    ]
}

/// Bands of read times: as many as there are kinds of pages with a time of their own, none when all have one.
fn bands(truth: &Truth, parameters: &Value) -> Option<u64> {
    if !truth.card.as_ref().is_some_and(|card| card.reads_show_cells) {
        return None;
    }
    let kinds = parameters.pointer("/cells/read_ns").and_then(Value::as_array)?;
    let mut times: Vec<u64> = kinds.iter().filter_map(Value::as_u64).collect();
    times.sort_unstable();
    times.dedup();
    Some(times.len() as u64)
}

/// How long a read of 4 KiB takes on a card without its noise: the median of 65 at places of their own.
fn typical_read_ns(card: &str) -> Result<u64> {
    let mut target = ::sim::open(&format!("{card}&link.jitter_ns=0&link.spike_ppm=0"))?;
    let places = target.info().capacity_bytes.0 / TYPICAL.0;
    let mut rng = Rng::for_path(0, &[]);
    let read = |_| Access {
        op: Op::Read,
        fua: false,
        offset: Bytes(rng.below(places) * TYPICAL.0),
        len: TYPICAL,
    };
    let script = Script::one_by_one((0..TYPICAL_READS).map(read));
    let (mut environment, going) = (target.environment(), AtomicBool::new(false));
    let mut bench = TargetBench::new(&mut target, &mut environment, &going);
    let samples = bench.run(&script, &|| Box::new(SectorContent::new(Content::default(), 0, 0)))?;
    let times: Vec<f64> = samples.iter().map(|s| (s.completed.0 - s.issued.0) as f64).collect();
    Ok(median(&times).context("no reads")? as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a level is another noise than the page says: every figure on it would be of something else.
    #[test]
    fn a_level_is_a_share_of_what_a_boundary_costs() {
        let quiet = Subject::drawn(7, 0.1).unwrap();
        let loud = Subject::drawn(7, 1.0).unwrap();
        let field = |subject: &Subject, name: &str| -> f64 {
            let shown = ::sim::show(&subject.spec).unwrap();
            let parameters = serde_json::to_value(&shown.parameters).unwrap();
            parameters.pointer(name).and_then(Value::as_f64).unwrap()
        };
        let sigma = field(&loud, "/link/jitter_ns") / 12_f64.sqrt();
        assert!((sigma / field(&loud, "/read/lookup_ns") - 1.0).abs() < 1e-4);
        let ratio = field(&loud, "/link/jitter_ns") / field(&quiet, "/link/jitter_ns");
        assert!((ratio - 10.0).abs() < 1e-2, "{ratio}");
        // A read of 4 KiB takes command, array and transfer at least; a spike adds nine times as much in the mean.
        let spike = 0.75 * field(&loud, "/link/spike_ns");
        assert!(spike > 9.0 * field(&loud, "/read/command_ns"), "{spike}");
        assert!(spike < 27.0 * field(&loud, "/read/command_ns"), "{spike}");
        assert_eq!(loud.truths, Subject::of("sim:random-card?seed=7").unwrap().truths);
    }

    // Breaks when truth is read from the wrong field, or a property that is not there is asked for as a number.
    #[test]
    fn truth_is_what_the_model_says() {
        let card = Subject::of("sim:sdcard-4m").unwrap();
        let expected =
            [Some(4 << 20), Some(8 << 10), Some(16 << 10), Some(2), Some(1), None, Some(2)];
        assert_eq!(SCORED.map(|name| card.truth(name)), expected);
        assert_eq!(Subject::of("sim:usb-8m").unwrap().truth(Name::FatZone), Some(4 << 20));
        assert_eq!(Subject::of("sim:usb-tlc").unwrap().truth(Name::CellBands), Some(3));
    }

    // Breaks when flat cards are drawn no more, or none of them hides its page: the columns of the page that show
    // what can be found at all would be empty.
    #[test]
    fn a_card_that_shows_nothing_hides_its_page_alone() {
        let cards: Vec<Subject> =
            (0..100).map(|n| Subject::of(&format!("sim:random-card?seed={n}")).unwrap()).collect();
        let hides = |name| cards.iter().filter(|card| !card.carries(name)).count();
        assert!((1..30).contains(&hides(Name::Page)), "{}", hides(Name::Page));
        assert_eq!(hides(Name::EraseBlock) + hides(Name::MultiPlanePage), 0);
        let none = |card: &&Subject| card.truth(Name::CellBands).is_none();
        assert!((5..50).contains(&cards.iter().filter(none).count()));
    }
}
