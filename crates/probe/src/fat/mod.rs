//! The zone at the beginning that is kept for file allocation tables, found by writing.

mod infer;
mod zone;

use serde::{Deserialize, Serialize};

use crate::desk::{Desk, Halt};
use crate::finding::{Finding, Name, Outcome, Verdict};
use crate::known::Known;
use crate::open_au::{End, Excess, Field, Order, Search, midmean, small_write};
use zone::Asker;

pub use infer::{Row, Table, infer};
pub use zone::Place;

const MIB: u64 = 1 << 20;

/// Evidence for the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// How many erase blocks may be open: found before, or here.
    pub open: Option<u32>,
    /// Size of the writes, in bytes.
    pub len_bytes: u64,
    /// Cost of turns with as many blocks as may be open, and with one more.
    pub levels: Option<(Excess, Excess)>,
    /// Places in the order in which they were asked.
    pub places: Vec<Place>,
    /// Times of writes at the beginning and elsewhere, in nanoseconds, where nothing limits open blocks.
    pub writes_ns: Option<(f64, f64)>,
    /// Bytes written.
    pub written_bytes: u64,
}

/// Finds where the zone at the beginning ends, by writing to it.
///
/// # Errors
/// Any [`Halt`] except a limit.
pub fn probe(desk: &mut Desk<'_>, known: &Known) -> Result<Outcome<Evidence>, Halt> {
    let before = desk.spent();
    let mut evidence = Evidence::default();
    let finding = match ask(desk, known, &mut evidence) {
        Err(halt) if halt.is_limit() => {
            Finding::unknown(Name::FatZone, format!("it had to end before it knew: {halt}"))
        }
        other => other?,
    };
    evidence.written_bytes = desk.spent().since(before).written_bytes.0;
    Ok(Outcome { findings: vec![finding], evidence, caveats: Vec::new() })
}

fn ask(desk: &mut Desk<'_>, known: &Known, evidence: &mut Evidence) -> Result<Finding, Halt> {
    let unknown = |reason: &str| Ok(Finding::unknown(Name::FatZone, reason));
    if !desk.may_write() {
        return Err(Halt::NoConsent);
    }
    if desk.region().offset.0 > 0 {
        return unknown("the drive's beginning may not be touched");
    }
    let unit = known.value(Name::EraseBlock);
    let mut rng = desk.rng(&[ZONES]);
    let Some(mut field) = Field::plan(desk.region(), unit, 32, &mut rng) else {
        return unknown("the region holds too few erase blocks");
    };
    let len = small_write(known, Order::Linear);
    let open = match open_units(desk, known, &mut field, len)? {
        Open::Some(open) => open,
        Open::NoLimit => return plain(desk, &field, len, evidence),
        Open::Unknown => return unknown("it is not known how many erase blocks may be open"),
    };
    evidence.open = Some(open);
    if open + 1 > field.turns_max() {
        return unknown("the region holds too few erase blocks for as many as may be open");
    }
    let limit = field.from();
    let mut asker = Asker::new(&mut field, open, len);
    let answer = search(desk, &mut asker, unit, limit, known.value(Name::SlowZone));
    evidence.len_bytes = asker.len;
    evidence.levels = asker.levels;
    evidence.places.append(&mut asker.places);
    answer
}

/// Purpose of the random numbers that choose places.
const ZONES: u64 = 0x7a6f_6e65;

/// How many erase blocks may be open.
enum Open {
    Some(u32),
    NoLimit,
    Unknown,
}

/// Returns how many blocks may be open, as known or as measured here.
fn open_units(
    desk: &mut Desk<'_>,
    known: &Known,
    field: &mut Field,
    len: u64,
) -> Result<Open, Halt> {
    if let Some(open) = known.value(Name::OpenAuLinear).and_then(|open| u32::try_from(open).ok()) {
        return Ok(Open::Some(open));
    }
    match known.finding(Name::OpenAuLinear).map(|finding| finding.verdict) {
        Some(Verdict::None) => return Ok(Open::NoLimit),
        Some(Verdict::Unknown) => return Ok(Open::Unknown),
        _ => {}
    }
    let mut search = Search::new(field, Order::Linear, len);
    let end = search.run(desk, 16)?;
    match (end, search.halt) {
        (_, Some(halt)) => Err(halt),
        (End::Limit { open, .. }, _) => Ok(Open::Some(open)),
        (End::NoLimit { up_to: 16.. }, _) => Ok(Open::NoLimit),
        _ => Ok(Open::Unknown),
    }
}

/// Goes from the beginning in steps that double, then halves what is between.
fn search(
    desk: &mut Desk<'_>,
    asker: &mut Asker<'_>,
    unit: Option<u64>,
    limit: u64,
    hint: Option<u64>,
) -> Result<Finding, Halt> {
    let unknown = |reason: String| Ok(Finding::unknown(Name::FatZone, reason));
    // If planes are programmed one by one on return, merges may happen to cost as much at one size.
    let clear = asker.calibrate(desk)? || {
        asker.len *= 2;
        asker.calibrate(desk)?
    };
    if !clear {
        return unknown("one erase block too many costs nothing clear".to_owned());
    }
    let len = asker.len;
    let vague =
        |at: u64| unknown(format!("writes at byte {at} are neither like a zone nor like a block"));
    match asker.inside(desk, 0)? {
        None => return vague(0),
        Some(false) => {
            let second = unit.unwrap_or(2 * MIB) / 2 / len * len;
            return match asker.inside(desk, second)? {
                Some(false) => Ok(none(asker, second)),
                _ => vague(second),
            };
        }
        Some(true) => {}
    }
    // If reads showed a zone, its end is tested first.
    let hint = hint.filter(|end| *end > len && end.is_multiple_of(len) && end + len <= limit);
    let (mut low, mut high) = (0, None);
    for at in hint.into_iter().flat_map(|end| [end - len, end]) {
        match asker.inside(desk, at)? {
            Some(true) => low = low.max(at),
            Some(false) => high = Some(high.unwrap_or(at).min(at)),
            None => return vague(at),
        }
    }
    let mut step = MIB.max(len);
    let mut high = loop {
        if let Some(high) = high {
            break high;
        }
        if step + len > limit {
            return unknown(format!("a zone of more than {low} bytes, beyond what was looked at"));
        }
        match asker.inside(desk, step)? {
            Some(true) => low = low.max(step),
            Some(false) => high = Some(step),
            None => return vague(step),
        }
        step *= 2;
    };
    while high > low + len {
        let middle = (low + high) / 2 / len * len;
        match asker.inside(desk, middle)? {
            Some(true) => low = middle,
            Some(false) => high = middle,
            None => return vague(middle),
        }
    }
    // Both sides once more: all halving hangs on single answers.
    if asker.inside(desk, low)? != Some(true) || asker.inside(desk, high)? != Some(false) {
        return vague(high);
    }
    let reason = format!(
        "writes in front of byte {high} leave all open erase blocks open, and writes behind it close one"
    );
    Ok(Finding::found(Name::FatZone, high, 0.995, reason).between(high, high + len - 1))
}

/// The beginning is like everything else.
fn none(asker: &Asker<'_>, second: u64) -> Finding {
    let reason = format!(
        "writes at byte 0 and at byte {second} each close an erase block when {} are open",
        asker.open()
    );
    Finding::none(Name::FatZone, 0.995, reason)
}

/// Nothing limits open blocks: a zone could only show by other times.
fn plain(
    desk: &mut Desk<'_>,
    field: &Field,
    len: u64,
    evidence: &mut Evidence,
) -> Result<Finding, Halt> {
    let mut rng = desk.rng(&[ZONES, 1]);
    let mut places = Vec::new();
    for start in field.starts().iter().cycle().take(24) {
        places.push((rng.below(4 * MIB / len) * len, len));
        places.push((*start, len));
    }
    let samples = desk.write("beginning and elsewhere", &places)?;
    let times = |side: usize| -> Vec<f64> {
        samples.iter().skip(side).step_by(2).map(crate::open_au::elapsed).collect()
    };
    let (Some(here), Some(there)) = (midmean(&times(0)), midmean(&times(1))) else {
        return Ok(Finding::unknown(Name::FatZone, "no write was timed"));
    };
    evidence.writes_ns = Some((here.0, there.0));
    let (gap, error) = ((here.0 - there.0).abs(), here.1.hypot(there.1));
    if gap < (4.0 * error).max(0.05 * there.0) && gap < 0.2 * there.0 {
        let reason = "nothing limits open erase blocks, and writes at the beginning take as long as elsewhere";
        return Ok(Finding::none(Name::FatZone, 0.9, reason));
    }
    let reason = "nothing limits open erase blocks, and writes at the beginning take another time than elsewhere";
    Ok(Finding::unknown(Name::FatZone, reason))
}
