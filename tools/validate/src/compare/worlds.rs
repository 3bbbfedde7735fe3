//! Pairs of drives that are alike, in worlds that have more than independent noise: how often they are called different.

use std::f64::consts::TAU;

use stats::{Contrast, Design, Judged, Outcome, judge, proportion_interval};

use super::{CONFIDENCE, Draw, MARGIN, is_different};

/// Pairs of each cell.
pub const PAIRS: usize = 2000;
/// Most of them that may be called different.
pub const FALSE_MAX: usize = 80;
/// Most that may be withheld where runs are independent.
pub const WITHHELD_MAX: usize = 200;
/// Counts of runs, one after the other from pair to pair.
const RUNS: [usize; 4] = [7, 10, 16, 24];
/// How far apart two sessions of one drive may be: what the program assumes without a flag.
pub const SESSIONS: f64 = 0.25;
/// Runs of each side at which 5% are found, as docs/method/compare.md states.
pub const STATED: usize = 16;
/// Runs of a first measurement, of which the program says how many would decide.
const FIRST: usize = 12;
/// Least share of planted differences that is found.
pub const FOUND_MIN: f64 = 0.8;
/// How far apart planted pairs are.
const RATIO: f64 = 1.05;

/// Course of a drive's rate from run to run, as the logarithm of a factor.
#[derive(Clone, Copy)]
enum World {
    Independent(f64),
    Correlated(f64),
    Linear(f64),
    Curved,
    Sessions(f64),
    Walk,
    TwoModes,
    Telegraph,
    HeavyTails,
    WarmUp,
    Periodic,
    Outliers,
    Step,
}

const WORLDS: [World; 20] = [
    World::Independent(0.01),
    World::Independent(0.03),
    World::Independent(0.10),
    World::Correlated(0.3),
    World::Correlated(0.5),
    World::Correlated(0.7),
    World::Correlated(0.9),
    World::Linear(0.05),
    World::Linear(0.20),
    World::Curved,
    World::Sessions(0.01),
    World::Sessions(0.03),
    World::Sessions(0.05),
    World::Walk,
    World::TwoModes,
    World::Telegraph,
    World::HeavyTails,
    World::WarmUp,
    World::Periodic,
    World::Outliers,
];

impl World {
    fn words(self) -> String {
        let percent = |share: f64| format!("{:.0}%", 100.0 * share);
        match self {
            World::Independent(cv) => format!("independent, CV {}", percent(cv)),
            World::Correlated(with) => format!("AR(1), correlation {with}, CV 3%"),
            World::Linear(lost) => format!("falls by {} on the way, CV 3%", percent(lost)),
            World::Curved => {
                "relaxes exponentially by 20% within 0.05 to 0.5 of the way, CV 1%".to_owned()
            }
            World::Sessions(cv) => {
                format!("sessions have offsets of CV {}, runs CV 1%", percent(cv))
            }
            World::Walk => "random walk of 1% a run, CV 1%".to_owned(),
            World::TwoModes => "two modes 20% apart, drawn for each run, CV 2%".to_owned(),
            World::Telegraph => {
                "two modes 20% apart, each for 5 to 80 runs on average, CV 2%".to_owned()
            }
            World::HeavyTails => "Student's t of 2 degrees of freedom, 2%".to_owned(),
            World::WarmUp => "the first runs of a session up to 15% slower, CV 3%".to_owned(),
            World::Periodic => "wave of 5% and 2 to 8 runs, CV 1%".to_owned(),
            World::Outliers => "one run of ten up to 50% slower, CV 3%".to_owned(),
            World::Step => "step of 10% at a random place, CV 3%".to_owned(),
        }
    }

    fn is_independent(self) -> bool {
        matches!(self, World::Independent(_))
    }

    /// `count` runs one after the other, in sessions of `session` runs.
    fn series(self, draw: &mut Draw, count: usize, session: usize) -> Vec<f64> {
        let way = |run: usize| run as f64 / count as f64;
        let with = |draw: &mut Draw, cv: f64, of: &mut dyn FnMut(&mut Draw, usize) -> f64| {
            (0..count).map(|run| of(draw, run) + cv * draw.normal()).collect::<Vec<f64>>()
        };
        match self {
            World::Independent(cv) => with(draw, cv, &mut |_, _| 0.0),
            World::Correlated(rho) => {
                draw.correlated(count, rho).iter().map(|noise| 0.03 * noise).collect()
            }
            World::Linear(lost) => with(draw, 0.03, &mut |_, run| (1.0 - lost * way(run)).ln()),
            World::Curved => {
                let within = 0.05 + 0.45 * draw.unit();
                with(draw, 0.01, &mut |_, run| (0.8 + 0.2 * (-way(run) / within).exp()).ln())
            }
            World::Sessions(cv) => {
                let mut offset = 0.0;
                with(draw, 0.01, &mut |draw, run| {
                    if run % session == 0 {
                        offset = cv * draw.normal();
                    }
                    offset
                })
            }
            World::Walk => {
                let mut at = 0.0;
                with(draw, 0.01, &mut |draw, _| {
                    at += 0.01 * draw.normal();
                    at
                })
            }
            World::TwoModes => with(draw, 0.02, &mut |draw, _| mode(draw.unit() < 0.3)),
            World::Telegraph => {
                let leaves = 1.0 / (5.0 * 16_f64.powf(draw.unit()));
                let mut is_low = draw.unit() < 0.5;
                with(draw, 0.02, &mut |draw, _| {
                    is_low ^= draw.unit() < leaves;
                    mode(is_low)
                })
            }
            World::HeavyTails => with(draw, 0.0, &mut |draw, _| {
                let (x, y) = (draw.normal(), draw.normal());
                0.02 * draw.normal() / ((x * x + y * y) / 2.0).sqrt().max(0.02)
            }),
            World::WarmUp => {
                let (depth, runs) = (0.15 * draw.unit(), 0.5 + 2.0 * draw.unit());
                with(draw, 0.03, &mut |_, run| {
                    (1.0 - depth * (-((run % session) as f64) / runs).exp()).ln()
                })
            }
            World::Periodic => {
                let (period, at) = (2.0 + 6.0 * draw.unit(), draw.unit());
                with(draw, 0.01, &mut |_, run| 0.05 * (TAU * (run as f64 / period + at)).sin())
            }
            World::Outliers => with(draw, 0.03, &mut |draw, _| {
                if draw.unit() < 0.1 { (1.0 - 0.5 * draw.unit()).ln() } else { 0.0 }
            }),
            World::Step => {
                let place = draw.unit();
                with(draw, 0.03, &mut |_, run| if way(run) < place { 0.0 } else { 0.9_f64.ln() })
            }
        }
    }
}

fn mode(is_low: bool) -> f64 {
    if is_low { 0.8_f64.ln() } else { 0.0 }
}

/// How the runs of a pair are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arm {
    /// One session after the other, a side each.
    Apart,
    /// In blocks of random order; what happens in time happens to both.
    Blocks,
    /// In blocks; each drive goes its own way.
    OwnWays,
    /// In sessions of six runs that take turns, each of which is one observation.
    Sessions,
}

/// Runs of a session, where there are several.
const SESSION: usize = 6;

impl Arm {
    fn words(self) -> &'static str {
        match self {
            Arm::Apart => "each by itself",
            Arm::Blocks => "in blocks",
            Arm::OwnWays => "in blocks, each drive its own course",
            Arm::Sessions => "in sessions of 6 runs that take turns",
        }
    }

    fn design(self) -> Design {
        match self {
            Arm::Apart | Arm::Sessions => Design::Separate,
            Arm::Blocks | Arm::OwnWays => Design::Blocks,
        }
    }

    /// Assumption of the program about sessions of sides that were measured so.
    fn offset(self) -> f64 {
        if self == Arm::Sessions { 0.0 } else { SESSIONS }
    }

    /// `count` runs of two drives that are alike.
    fn pair(self, world: World, draw: &mut Draw, count: usize) -> [Vec<f64>; 2] {
        let rate = |logs: &[f64]| logs.iter().map(|log| 100.0 * log.exp()).collect::<Vec<f64>>();
        match self {
            Arm::Apart => {
                let runs = rate(&world.series(draw, 2 * count, count));
                [runs[..count].to_vec(), runs[count..].to_vec()]
            }
            Arm::Blocks => {
                // Halfway another session begins.
                let runs = rate(&world.series(draw, 2 * count, count));
                let mut pair = [Vec::with_capacity(count), Vec::with_capacity(count)];
                for block in runs.chunks_exact(2) {
                    let first = usize::from(draw.unit() < 0.5);
                    pair[first].push(block[0]);
                    pair[1 - first].push(block[1]);
                }
                pair
            }
            Arm::Sessions => {
                let runs = rate(&world.series(draw, 2 * count * SESSION, SESSION));
                let medians = runs.chunks_exact(SESSION).filter_map(stats::median);
                let medians: Vec<f64> = medians.collect();
                [0, 1].map(|side| medians.iter().skip(side).step_by(2).copied().collect())
            }
            Arm::OwnWays => [(); 2].map(|()| rate(&world.series(draw, count, count.div_ceil(2)))),
        }
    }
}

fn judged(a: &[f64], b: &[f64], design: Design, sessions: f64) -> Option<Judged> {
    let contrast = Contrast::new(a, b, design)?.of_sessions(sessions);
    judge(&[contrast], CONFIDENCE, MARGIN).pop()
}

/// One cell of the table.
pub struct Cell {
    pub world: String,
    pub arm: &'static str,
    /// Called faster or slower.
    pub apart: usize,
    pub withheld: usize,
    pub equivalent: usize,
    /// Found of as many pairs of 16 runs that are 5% apart.
    pub found: usize,
    /// Called equivalent of these.
    pub missed: usize,
    pub wanted: String,
    pub holds: bool,
}

/// Every world in every arm.
pub fn cells(seed: u64) -> Vec<Cell> {
    let arms = [Arm::Apart, Arm::Blocks, Arm::Sessions, Arm::OwnWays];
    let all = WORLDS.into_iter().chain([World::Step]);
    let each = all.flat_map(|world| arms.map(|arm| (world, arm)));
    (1000..).zip(each).map(|(line, (world, arm))| cell(Draw::of(seed, line), world, arm)).collect()
}

fn cell(mut draw: Draw, world: World, arm: Arm) -> Cell {
    let (mut apart, mut withheld, mut equivalent) = (0, 0, 0);
    let (mut found, mut missed) = (0, 0);
    for pair in 0..PAIRS {
        let [a, b] = arm.pair(world, &mut draw, RUNS[pair % RUNS.len()]);
        if let Some(judged) = judged(&a, &b, arm.design(), arm.offset()) {
            apart += usize::from(is_different(judged.outcome));
            withheld += usize::from(judged.withheld.is_some());
            equivalent += usize::from(judged.outcome == Outcome::Equivalent);
        }
        let [a, b] = arm.pair(world, &mut draw, STATED);
        let a: Vec<f64> = a.iter().map(|a| RATIO * a).collect();
        let planted = judged(&a, &b, arm.design(), arm.offset()).map(|judged| judged.outcome);
        found += usize::from(planted == Some(Outcome::Higher));
        missed += usize::from(planted == Some(Outcome::Equivalent));
    }
    let is_bound = arm != Arm::OwnWays;
    let few = apart <= FALSE_MAX && (withheld <= WITHHELD_MAX || !world.is_independent());
    let mut wanted = format!("at most {FALSE_MAX}");
    if world.is_independent() {
        wanted += &format!(", withheld at most {WITHHELD_MAX}");
    }
    Cell {
        world: world.words(),
        arm: arm.words(),
        apart,
        withheld,
        equivalent,
        found,
        missed,
        wanted: if is_bound { wanted } else { "reported".to_owned() },
        holds: !is_bound || few,
    }
}

/// Planted differences of which the program says how many blocks find them.
pub struct Planted {
    pub what: &'static str,
    pub runs: String,
    pub found: usize,
    pub wrong: usize,
    pub holds: bool,
}

/// Pairs that are 5% apart at CV 3%, found with the runs that are stated.
pub fn planted(seed: u64) -> Vec<Planted> {
    let world = World::Independent(0.03);
    let pair = |draw: &mut Draw, arm: Arm, runs: usize, ratio: f64| {
        let [a, b] = arm.pair(world, draw, runs);
        [a.iter().map(|a| ratio * a).collect::<Vec<f64>>(), b]
    };
    let first = |draw: &mut Draw, arm: Arm| {
        let [a, b] = pair(draw, arm, FIRST, RATIO);
        judged(&a, &b, arm.design(), SESSIONS)
    };
    let again = |draw: &mut Draw, blocks: usize| {
        let [a, b] = pair(draw, Arm::Blocks, blocks, RATIO);
        judged(&a, &b, Design::Blocks, SESSIONS).map(|judged| judged.outcome)
    };
    let mut lines = Vec::new();
    let mut line = |what, number: u64, find: &dyn Fn(&mut Draw) -> (usize, Option<Outcome>)| {
        let mut draw = Draw::of(seed, 2000 + number);
        let mut counts = Vec::new();
        let (mut found, mut wrong) = (0, 0);
        for _ in 0..PAIRS {
            let (runs, outcome) = find(&mut draw);
            counts.push(runs as f64);
            found += usize::from(outcome == Some(Outcome::Higher));
            wrong += usize::from(outcome == Some(Outcome::Lower));
        }
        let low = proportion_interval(found, PAIRS, 0.9).map_or(0.0, |found| found.low);
        lines.push(Planted {
            what,
            runs: format!("{:.0}", stats::median(&counts).unwrap_or(0.0)),
            found,
            wrong,
            holds: low >= FOUND_MIN && wrong == 0,
        });
    };
    line("5% apart, CV 3%, with the 16 blocks that the method page states", 0, &|draw| {
        (STATED, again(draw, STATED))
    });
    line("5% apart, CV 3%, 12 blocks; where undecided, as many as it states", 1, &|draw| {
        let said = first(draw, Arm::Blocks);
        match said.as_ref().and_then(|said| said.runs_to_decide) {
            Some(more) => (more, again(draw, more)),
            None => (FIRST, said.map(|said| said.outcome)),
        }
    });
    line("5% apart, CV 3%, each by itself; then as many blocks as it states", 2, &|draw| {
        match first(draw, Arm::Apart).and_then(|said| said.blocks_to_decide) {
            Some(blocks) => (blocks, again(draw, blocks)),
            None => (FIRST, None),
        }
    });
    line("5% apart, CV 3%, each by itself, --session-offset 0%, 16 runs of each", 3, &|draw| {
        let [a, b] = pair(draw, Arm::Apart, STATED, RATIO);
        (STATED, judged(&a, &b, Design::Separate, 0.0).map(|judged| judged.outcome))
    });
    line("50% apart, CV 3%, each by itself, 12 runs of each", 4, &|draw| {
        let [a, b] = pair(draw, Arm::Apart, FIRST, 1.5);
        (FIRST, judged(&a, &b, Design::Separate, SESSIONS).map(|judged| judged.outcome))
    });
    lines
}
