//! `compare`: how often two drives are found to differ, when they are alike and when they are not; by draws of runs
//! whose truth is known, and by the program on virtual drives.

mod worlds;

use std::f64::consts::TAU;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::Value;
use stats::{Contrast, Design, Outcome, judge, proportion_interval};
use workload::rng::Rng;

use crate::binary::Binary;
use crate::provenance::{self, Machine};
use crate::sheet;

use worlds::{Cell, Planted};

/// Seeds above 10^9 are for the published score; rules are chosen on others.
const SEED: u64 = 1_000_031_001;
/// Pairs of drives for each line, where they are alike.
const ALIKE: usize = 1000;
/// A share of 5% gives this many of a thousand, or more, with a probability of one in a thousand.
const FALSE_MAX: usize = 73;
/// Runs of each drive.
const RUNS: usize = 12;
/// Runs of each drive of pairs that are apart.
const RUNS_APART: usize = worlds::STATED;
/// Pairs that are 5% apart.
const APART: usize = 5000;
/// Least share of them that is found, at the lower end of its 95% interval.
const FOUND_MIN: f64 = 0.85;
/// How far apart they are.
const RATIO: f64 = 1.05;
/// Undecided pairs that are made again with as many runs as were said to decide.
const OPEN: usize = 500;
/// Least share of them that is decided then.
const DECIDED_MIN: f64 = 0.8;
/// More runs than this are not drawn; a pair that would take more counts as not decided.
const RUNS_MAX: usize = 1200;
const MARGIN: f64 = 0.02;
const CONFIDENCE: f64 = 0.95;
/// Pairs of virtual drives.
const DRIVES: usize = 200;
/// Of `DRIVES` pairs with a probability of 5%, more than this come with a probability of one in a thousand.
const DRIVES_FALSE_MAX: usize = 20;

/// Options of `compare`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Pairs of virtual drives that are compared by the program; another count is a trial
    #[arg(long, default_value_t = DRIVES)]
    drives: usize,
    /// Root seed of all draws; another seed is a trial
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// Output directory of the table [default: docs/validation; target/validate for trials]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Pattern of the runs of a pair, the same for both drives.
#[derive(Clone, Copy)]
enum Kind {
    /// Independent runs, normal, CV 3%.
    Independent,
    /// Each run resembles the one before, with this correlation.
    Correlated(f64),
    /// Neighbours in time have that correlation, whichever drive they are of, and blocks come in random order.
    CorrelatedInTime,
    /// Both lose as much from the first run to the last.
    Drift(f64),
    /// Three runs of ten are slower by a sixth.
    TwoModes,
}

impl Kind {
    fn words(self) -> String {
        match self {
            Kind::Independent => "independent, CV 3%".to_owned(),
            Kind::Correlated(with) => {
                format!("each run resembles the one before, correlation {with}")
            }
            Kind::CorrelatedInTime => {
                "neighbours in time resemble each other, correlation 0.5".to_owned()
            }
            Kind::Drift(lost) => format!("both lose {:.0}% on the way", 100.0 * lost),
            Kind::TwoModes => "two modes: 160 to 175, three of ten 120 to 150".to_owned(),
        }
    }
}

/// Noise.
pub struct Draw(Rng);

impl Draw {
    /// Of a line of the table whose draws have this seed.
    pub fn of(seed: u64, line: u64) -> Draw {
        Draw(Rng::for_path(seed, &[line]))
    }

    /// One value with mean 0 and deviation 1.
    pub fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.0.exponential()).sqrt();
        radius * (TAU * self.0.unit()).cos()
    }

    /// Uniform in 0 to 1.
    pub fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    /// `count` normal values, each with this correlation to the one before.
    pub fn correlated(&mut self, count: usize, with_before: f64) -> Vec<f64> {
        let mut state = self.normal();
        let fresh = (1.0 - with_before * with_before).sqrt();
        (0..count)
            .map(|_| {
                state = with_before * state + fresh * self.normal();
                state
            })
            .collect()
    }

    /// `count` runs of two drives that are alike.
    fn pair(&mut self, kind: Kind, count: usize) -> [Vec<f64>; 2] {
        if let Kind::CorrelatedInTime = kind {
            let turns = self.correlated(2 * count, 0.5);
            let mut pair = [Vec::with_capacity(count), Vec::with_capacity(count)];
            for block in turns.chunks_exact(2) {
                let first = usize::from(self.0.unit() < 0.5);
                pair[first].push(100.0 + 3.0 * block[0]);
                pair[1 - first].push(100.0 + 3.0 * block[1]);
            }
            return pair;
        }
        [(); 2].map(|()| self.drive(kind, count))
    }

    fn drive(&mut self, kind: Kind, count: usize) -> Vec<f64> {
        match kind {
            Kind::Correlated(with) => {
                self.correlated(count, with).iter().map(|noise| 100.0 + 3.0 * noise).collect()
            }
            Kind::TwoModes => (0..count)
                .map(|_| match self.0.unit() < 0.3 {
                    true => 120.0 + 30.0 * self.0.unit(),
                    false => 160.0 + 15.0 * self.0.unit(),
                })
                .collect(),
            Kind::Drift(lost) => (0..count)
                .map(|run| 100.0 * (1.0 - lost * run as f64 / count as f64) + 3.0 * self.normal())
                .collect(),
            Kind::Independent | Kind::CorrelatedInTime => {
                (0..count).map(|_| 100.0 + 3.0 * self.normal()).collect()
            }
        }
    }
}

fn said(a: &[f64], b: &[f64], design: Design) -> Option<(Outcome, Option<usize>)> {
    let contrast = Contrast::new(a, b, design)?;
    let judged = judge(&[contrast], CONFIDENCE, MARGIN);
    judged.first().map(|judged| (judged.outcome, judged.runs_to_decide))
}

fn is_different(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Higher | Outcome::Lower)
}

fn design_words(design: Design) -> &'static str {
    match design {
        Design::Blocks => "in blocks",
        Design::Separate => "each by itself, no offset",
    }
}

/// One line of the table.
struct Line {
    what: String,
    design: &'static str,
    runs: String,
    hits: usize,
    of: usize,
    found: String,
    wanted: String,
    holds: bool,
}

/// Scores the rule and writes the table; false when a claim does not hold.
///
/// # Errors
/// When the program fails, or the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let binary = Binary::find()?;
    let out =
        sheet::table_dir(options.out.as_deref(), options.drives != DRIVES || options.seed != SEED)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let seed = options.seed;
    let (cells, planted) = (worlds::cells(seed), worlds::planted(seed));
    let mut lines = alike(seed);
    lines.extend(apart(seed));
    lines.extend(undecided(seed));
    lines.extend(correction(seed));
    lines.extend(drives(&binary, options.drives, seed)?);
    let mut csv = "what,design,runs,hits,of\n".to_owned();
    for line in &lines {
        let _ = writeln!(
            csv,
            "\"{}\",{},\"{}\",{},{}",
            line.what, line.design, line.runs, line.hits, line.of
        );
    }
    for line in &planted {
        let (what, runs, hits) = (line.what, &line.runs, line.found);
        let _ = writeln!(csv, "\"found: {what}\",,{runs},{hits},{}", worlds::PAIRS);
    }
    for cell in &cells {
        let counts = [
            ("told apart", cell.apart),
            ("withheld", cell.withheld),
            ("equivalent", cell.equivalent),
            ("5% apart found", cell.found),
            ("5% apart called equivalent", cell.missed),
        ];
        for (what, hits) in counts {
            let (world, arm) = (&cell.world, cell.arm);
            let _ = writeln!(csv, "\"{what}: {world}\",\"{arm}\",,{hits},{}", worlds::PAIRS);
        }
    }
    let path = out.join("compare.csv");
    fs::write(&path, csv).with_context(|| format!("{}: cannot be written", path.display()))?;
    let more = [("Load average at the start", load)];
    let head = sheet::provenance(&commit, &Machine::here(), "compare.csv", &more);
    sheet::write(&out.join("compare.md"), &page(&head, &lines, &cells, &planted))?;
    let holds = [
        lines.iter().all(|line| line.holds),
        cells.iter().all(|cell| cell.holds),
        planted.iter().all(|line| line.holds),
    ];
    Ok(holds.iter().all(|holds| *holds))
}

fn alike(seed: u64) -> Vec<Line> {
    let of = [
        (Kind::Independent, Design::Separate),
        (Kind::Correlated(0.5), Design::Separate),
        (Kind::Drift(0.05), Design::Separate),
        (Kind::Drift(0.2), Design::Separate),
        (Kind::TwoModes, Design::Separate),
        (Kind::Independent, Design::Blocks),
        (Kind::CorrelatedInTime, Design::Blocks),
        (Kind::Drift(0.05), Design::Blocks),
        (Kind::Drift(0.2), Design::Blocks),
        (Kind::TwoModes, Design::Blocks),
    ];
    let line = |(line, (kind, design)): (u64, (Kind, Design))| {
        let mut draw = Draw::of(seed, line);
        let hits = (0..ALIKE)
            .filter(|_| {
                let [a, b] = draw.pair(kind, RUNS);
                said(&a, &b, design).is_some_and(|(outcome, _)| is_different(outcome))
            })
            .count();
        Line {
            what: format!("told apart: {}", kind.words()),
            design: design_words(design),
            runs: RUNS.to_string(),
            hits,
            of: ALIKE,
            found: format!("{:.1}%", 100.0 * hits as f64 / ALIKE as f64),
            wanted: format!("at most {FALSE_MAX}"),
            holds: hits <= FALSE_MAX,
        }
    };
    (100..).zip(of).map(line).collect()
}

/// Cost, benefit and limits of the correction for correlated runs: reported without a criterion.
fn correction(seed: u64) -> Vec<Line> {
    // The interval as it would be without: the stretch taken out again.
    let tells_apart = |contrast: &Contrast, is_corrected: bool| {
        let found = contrast.estimate(CONFIDENCE);
        let power = if is_corrected { 1.0 } else { 1.0 / contrast.stretch() };
        let end = |end: Option<f64>| end.map(|end| found.ratio * (end / found.ratio).powf(power));
        end(found.low).is_some_and(|low| low > 1.0)
            || end(found.high).is_some_and(|high| high < 1.0)
    };
    let cases = [
        (Kind::Correlated(0.7), 1.0, true),
        (Kind::Correlated(0.7), 1.0, false),
        (Kind::Correlated(0.5), 1.0, false),
        (Kind::Independent, 1.0, false),
        (Kind::Independent, RATIO, false),
    ];
    let line = |(line, (kind, ratio, is_corrected)): (u64, (Kind, f64, bool))| {
        let mut draw = Draw::of(seed, line);
        let hits = (0..APART)
            .filter(|_| {
                let [a, b] = draw.pair(kind, RUNS);
                let a: Vec<f64> = a.iter().map(|a| ratio * a).collect();
                Contrast::new(&a, &b, Design::Separate)
                    .is_some_and(|contrast| tells_apart(&contrast, is_corrected))
            })
            .count();
        let which = if is_corrected { "corrected" } else { "without the correction" };
        Line {
            what: format!(
                "interval excludes 1, {which}, {:.0}% apart: {}",
                100.0 * (ratio - 1.0),
                kind.words()
            ),
            design: design_words(Design::Separate),
            runs: RUNS.to_string(),
            hits,
            of: APART,
            found: format!("{:.1}%", 100.0 * hits as f64 / APART as f64),
            wanted: "told".to_owned(),
            holds: true,
        }
    };
    (400..).zip(cases).map(line).collect()
}

fn apart(seed: u64) -> Vec<Line> {
    let line = |(line, design): (u64, Design)| {
        let mut draw = Draw::of(seed, line);
        let hits = (0..APART)
            .filter(|_| {
                let [a, b] = draw.pair(Kind::Independent, RUNS_APART);
                let a: Vec<f64> = a.iter().map(|a| RATIO * a).collect();
                said(&a, &b, design).is_some_and(|(outcome, _)| outcome == Outcome::Higher)
            })
            .count();
        let low = proportion_interval(hits, APART, CONFIDENCE).map_or(0.0, |found| found.low);
        Line {
            what: "5% apart, CV 3%: found".to_owned(),
            design: design_words(design),
            runs: RUNS_APART.to_string(),
            hits,
            of: APART,
            found: format!(
                "{:.1}%, at least {:.1}",
                100.0 * hits as f64 / APART as f64,
                100.0 * low
            ),
            wanted: format!("at least {:.0}%", 100.0 * FOUND_MIN),
            holds: low >= FOUND_MIN,
        }
    };
    (200..).zip([Design::Separate, Design::Blocks]).map(line).collect()
}

fn undecided(seed: u64) -> Vec<Line> {
    let mut lines = Vec::new();
    let cases = [Design::Separate, Design::Blocks].map(|design| {
        [(6, 1.0), (6, RATIO), (12, 1.0), (12, RATIO)].map(|(runs, ratio)| (design, runs, ratio))
    });
    for (number, (design, runs, ratio)) in (300..).zip(cases.concat()) {
        let mut draw = Draw::of(seed, number);
        let (mut open, mut decided, mut needed) = (0, 0, Vec::new());
        while open < OPEN {
            let stretch = |runs: Vec<f64>| runs.iter().map(|run| ratio * run).collect::<Vec<f64>>();
            let [a, mut b] = draw.pair(Kind::Independent, runs);
            let mut a = stretch(a);
            let Some((Outcome::Undecided, Some(more))) = said(&a, &b, design) else { continue };
            open += 1;
            needed.push(more as f64);
            if more > RUNS_MAX {
                continue;
            }
            // The runs that there are, and as many new ones as are missing.
            let [new_a, new_b] = draw.pair(Kind::Independent, more - runs);
            a.extend(stretch(new_a));
            b.extend(new_b);
            let outcome = said(&a, &b, design).map(|(outcome, _)| outcome);
            decided += usize::from(outcome.is_some_and(|outcome| outcome != Outcome::Undecided));
        }
        let share = decided as f64 / OPEN as f64;
        lines.push(Line {
            what: format!(
                "undecided, {:.0}% apart: decided with the runs that were said to be needed",
                100.0 * (ratio - 1.0)
            ),
            design: design_words(design),
            runs: format!("{runs}, then {:.0}", stats::median(&needed).unwrap_or(0.0)),
            hits: decided,
            of: OPEN,
            found: format!("{:.1}%", 100.0 * share),
            wanted: format!("at least {:.0}%", 100.0 * DECIDED_MIN),
            holds: share >= DECIDED_MIN,
        });
    }
    lines
}

/// The verdict of the program on the only test, and whether it was measured in blocks.
fn verdict(body: &Value) -> Result<String> {
    let pair = body.pointer("/tests/0/pairs/0").context("no pair")?;
    anyhow::ensure!(pair["design"] == "blocks", "not measured in blocks");
    Ok(pair["outcome"].as_str().unwrap_or_default().to_owned())
}

fn drives(binary: &Binary, pairs: usize, root: u64) -> Result<Vec<Line>> {
    let ask = |a: &str, b: &str, op: &str, seed: usize| -> Result<String> {
        let mut arguments: Vec<String> =
            ["compare", a, b, "--tests", "RND4KQ1T1", op, "--runs"].map(str::to_owned).to_vec();
        arguments.extend([RUNS.to_string(), "--seed".to_owned(), (root + seed as u64).to_string()]);
        verdict(&binary.body(&arguments)?)
    };
    let (mut twins, mut faster) = (0, 0);
    for pair in 0..pairs {
        let twin = ask("sim:hdd-wd", "sim:hdd-wd", "--read-only", pair)?;
        twins += usize::from(["faster", "slower"].contains(&&*twin));
        faster += usize::from(ask("sim:hdd-sg", "sim:hdd-wd", "--write-only", pair)? == "faster");
    }
    let line = |what: &str, hits: usize, wanted: String, holds: bool| Line {
        what: what.to_owned(),
        design: "in blocks",
        runs: RUNS.to_string(),
        hits,
        of: pairs,
        found: format!("{:.1}%", 100.0 * hits as f64 / pairs.max(1) as f64),
        wanted,
        holds,
    };
    Ok(vec![
        line(
            "drivescope compare sim:hdd-wd sim:hdd-wd, RND4K Q1T1 reads, own seeds: told apart",
            twins,
            format!("at most {DRIVES_FALSE_MAX}"),
            twins <= DRIVES_FALSE_MAX,
        ),
        line(
            "drivescope compare sim:hdd-sg sim:hdd-wd, RND4K Q1T1 writes: faster",
            faster,
            "all".to_owned(),
            faster == pairs,
        ),
    ])
}

fn holds(holds: bool) -> String {
    if holds { "yes" } else { "**no**" }.to_owned()
}

fn page(head: &str, lines: &[Line], cells: &[Cell], planted: &[Planted]) -> String {
    let line = |line: &Line| {
        vec![
            line.what.clone(),
            line.design.to_owned(),
            line.runs.clone(),
            format!("{} of {}", line.hits, line.of),
            line.found.clone(),
            line.wanted.clone(),
            holds(line.holds),
        ]
    };
    let cell = |cell: &Cell| {
        let share = |count: usize| format!("{:.1}%", 100.0 * count as f64 / worlds::PAIRS as f64);
        vec![
            cell.world.clone(),
            cell.arm.to_owned(),
            format!("{} ({})", cell.apart, share(cell.apart)),
            format!("{} ({})", cell.withheld, share(cell.withheld)),
            share(cell.equivalent),
            share(cell.found),
            share(cell.missed),
            cell.wanted.clone(),
            holds(cell.holds),
        ]
    };
    let planted_line = |line: &Planted| {
        let share = 100.0 * line.found as f64 / worlds::PAIRS as f64;
        vec![
            line.what.to_owned(),
            line.runs.clone(),
            format!("{} of {}", line.found, worlds::PAIRS),
            format!("{share:.1}%"),
            line.wrong.to_string(),
            holds(line.holds),
        ]
    };
    let rows = |rows: &mut dyn Iterator<Item = Vec<String>>| rows.collect::<Vec<_>>();
    let text = format!(
        "The first table has pairs of drives that are alike, {} of each cell, of 7, 10, 16 and 24 runs of each in equal shares: how \
         often they are called faster or slower (wanted: at most {}), how often a verdict is withheld for a reason (where runs are \
         independent: at most {}), and how often they are equivalent. *5% found* is the share that is found of other pairs with {} \
         runs of each, one of which is 5% faster, and *5% equivalent* the share of them that is called equivalent. *Each by itself* is one session after the other, a side each, with the \
         `--session-offset` of {:.0}% that the program assumes; *in blocks* is what `drivescope compare A B` measures; *in sessions that take turns* is `drivescope compare a1.json,a2.json,… \
         b1.json,b2.json,…` with as many sessions as there are runs otherwise. Where each \
         drive has a course of its own that the other does not share, the drives do differ while they are measured; these rows \
         are reported and bound to nothing. The second table has what is found of planted differences. Each line of the third but the last two \
         draws runs whose truth is known and asks the rule that `drivescope compare` asks ([method](../method/compare.md)), one test at a \
         time, with a margin of 2% and, each by itself, `--session-offset 0%`. The last two ask the program.\n\n",
        worlds::PAIRS,
        worlds::FALSE_MAX,
        worlds::WITHHELD_MAX,
        worlds::STATED,
        100.0 * worlds::SESSIONS
    );
    let cells = sheet::table(
        2,
        &[
            "runs",
            "measured",
            "told apart",
            "withheld",
            "equivalent",
            "5% found",
            "5% equivalent",
            "wanted",
            "holds",
        ],
        &rows(&mut cells.iter().map(cell)),
    );
    let planted = sheet::table(
        1,
        &["planted", "runs of each (median)", "found", "share", "wrong way", "holds"],
        &rows(&mut planted.iter().map(planted_line)),
    );
    let lines = sheet::table(
        1,
        &["what", "measured", "runs of each", "count", "share", "wanted", "holds"],
        &rows(&mut lines.iter().map(line)),
    );
    format!("# Comparisons\n\n{head}{text}{cells}\n{planted}\n{lines}")
}
