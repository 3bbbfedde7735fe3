//! A sweep as tables.

use block::{Bytes, Nanos};
use mark::sweep::body::{Effect, Ends, Outcome, SettingFigures, Standing};
use mark::sweep::{Body, Factor, Sweep};
use mark::sweep::{Planned, factor_names};
use record::Document;
use report::{
    Entry, Listing, RateUnit, Style, Styled, Table, Tables, Tone, number, render_listing,
};
use stats::{Better, Quantity, RatioEstimate, Unit};

use crate::mark::of_several;
use crate::pts::duration;
use crate::{capital, heads, maybe, subject};

/// Rows of a table that a terminal shows; all are in JSON and CSV.
const ROWS_MAX: usize = 24;
/// Columns of a table of two factors.
const COLUMNS_MAX: usize = 8;
/// Unstable settings that are listed with their reasons.
const REASONS_MAX: usize = 6;

/// Page of a planned sweep, with all levels.
pub fn plan(planned: &Planned<'_>) -> Styled {
    let mut facts = levels(planned.sweep);
    let mut fact = |name: &str, text: String| facts.push((name.to_owned(), text));
    let base = &planned.sweep.base;
    fact("base", format!("{} {}", base.test(), base.op.word()));
    let design = match planned.sweep.one_at_a_time {
        true => "each factor about the base",
        false => "all levels of all factors",
    };
    fact("design", format!("{design}: {} settings", planned.settings.len()));
    fact("runs", format!("{} of each, {} in all", planned.runs_of_each, planned.runs));
    let time = duration(planned.time_ns.as_secs_f64());
    fact("time", format!("{time}, and flushes and what a test file takes"));
    if let Some(Bytes(size)) = planned.size_max {
        fact("room", number::bytes(size as f64));
    }
    let entry = Entry {
        title: "sweep".to_owned(),
        summary: "nothing is measured yet".to_owned(),
        facts,
        notes: Vec::new(),
        leads: false,
    };
    let listing = Listing { entries: vec![entry], empty: String::new() };
    render_listing(&listing, Style::default())
}

fn levels(sweep: &Sweep) -> Vec<(String, String)> {
    let of = |vary: &mark::sweep::Vary| {
        let levels: Vec<String> = vary.levels.iter().map(ToString::to_string).collect();
        (vary.factor.word().to_owned(), levels.join(", "))
    };
    sweep.vary.iter().map(of).collect()
}

/// The page.
pub fn page(body: &Body, rate: RateUnit) -> Tables {
    let mut tables = Vec::new();
    match grid(body, rate) {
        Some(grid) => tables.push(grid),
        None => tables.push(settings(body, rate)),
    }
    tables.extend(reasons(body));
    tables.extend(effects(body));
    tables.extend(level_effects(body));
    tables.extend(order(body));
    let (closing, tone) = closing(body);
    Tables {
        title: format!("drivescope sweep: {}", subject(&body.target, &body.stack)),
        facts: facts(body),
        tables,
        caveats: crate::remedies::written(&body.caveats),
        closing,
        tone,
    }
}

fn facts(body: &Body) -> Vec<String> {
    let levels = levels(&body.sweep);
    let varied: Vec<String> = levels.iter().map(|(name, all)| format!("{name} {all}")).collect();
    let base = &body.sweep.base;
    let is_varied = |factor: Factor| body.sweep.varies(factor);
    let mut fixed = vec![format!("{} {}", base.test(), base.op.word())];
    if !is_varied(Factor::Duration) {
        fixed.push(format!("{} each", base.duration.human()));
    }
    if !is_varied(Factor::WarmUp) {
        fixed.push(match base.warm_up {
            Nanos::ZERO => "without warm-up".to_owned(),
            time => format!("after {} of warm-up", time.human()),
        });
    }
    if !is_varied(Factor::Size) {
        fixed.push(format!("on {}", number::bytes(body.setup.region_bytes.0 as f64)));
    }
    let runs = body.settings.iter().map(|setting| setting.runs.len()).max().unwrap_or(0);
    let design = if body.sweep.one_at_a_time { ", one factor at a time" } else { "" };
    vec![
        varied.join("; "),
        format!("about {}", fixed.join(", ")),
        format!(
            "{}{design}, {} each; {}; seed {}",
            number::counted(body.settings.len(), "setting"),
            number::counted(runs, "run"),
            body.setup.engine,
            body.setup.seed
        ),
    ]
}

fn rate_of(setting: &SettingFigures, rate: RateUnit) -> String {
    let quantity = setting.mb_s.quantity(Unit::MbPerS).filter(|_| setting.headline);
    maybe(quantity, |quantity| number::value(&quantity, rate))
}

/// A sign behind a number that is not to be relied upon.
fn sign(standing: Standing) -> &'static str {
    match standing {
        Standing::Usable | Standing::Withdrawn => "",
        Standing::Unstable => "!",
        Standing::Undecided => "?",
    }
}

/// Two factors, all levels of both: a table of them.
fn grid(body: &Body, rate: RateUnit) -> Option<Table> {
    let [a, b] = body.sweep.vary.as_slice() else { return None };
    if body.sweep.one_at_a_time {
        return None;
    }
    let is_wide = b.levels.len() > a.levels.len();
    let (rows, columns) = if is_wide { (b, a) } else { (a, b) };
    if columns.levels.len() > COLUMNS_MAX || rows.levels.len() > ROWS_MAX {
        return None;
    }
    let at = |row: usize, column: usize| {
        let levels = if is_wide { [column, row] } else { [row, column] };
        body.settings.iter().find(|setting| setting.levels == levels)
    };
    let field = |setting: &SettingFigures| {
        format!("{}{}", rate_of(setting, rate), sign(setting.stability.standing))
    };
    let row = |(row, level): (usize, &mark::sweep::Level)| {
        let fields = (0..columns.levels.len()).map(|column| maybe(at(row, column), field));
        (format!("{} {level}", rows.factor.word()), fields.collect())
    };
    let signs = [
        (Standing::Unstable, "! unstable"),
        (Standing::Undecided, "? more runs would decide"),
        (Standing::Withdrawn, "– withdrawn"),
    ];
    let told = signs.into_iter().filter(|(standing, _)| body.count(*standing) > 0);
    let told: Vec<&str> = told.map(|(_, words)| words).collect();
    Some(Table {
        title: format!("Median {}", rate.name()),
        columns: columns
            .levels
            .iter()
            .map(|level| format!("{} {level}", columns.factor.word()))
            .collect(),
        rows: rows.levels.iter().enumerate().map(row).collect(),
        notes: if told.is_empty() { Vec::new() } else { vec![told.join(", ")] },
    })
}

/// A row a setting.
fn settings(body: &Body, rate: RateUnit) -> Table {
    let row = |setting: &SettingFigures| {
        let quantity = setting.mb_s.quantity(Unit::MbPerS).filter(|_| setting.headline);
        let fields = vec![
            rate_of(setting, rate),
            maybe(quantity, |quantity| number::interval(&quantity, rate)),
            of_several(&setting.mb_s, setting.mb_s.r_over_avg),
            of_several(&setting.mb_s, setting.mb_s.cv),
            runs(setting),
            setting.stability.standing.word().to_owned(),
        ];
        (setting.name.clone(), fields)
    };
    let more = body.settings.len().saturating_sub(ROWS_MAX);
    let notes =
        if more > 0 { vec![format!("{more} more in --json and --csv")] } else { Vec::new() };
    Table {
        title: "Setting".to_owned(),
        columns: heads(&[rate.name(), "95% interval", "R/Avg", "CV", "n", ""]),
        rows: body.settings.iter().take(ROWS_MAX).map(row).collect(),
        notes,
    }
}

/// How many runs, and how many they are worth where that is fewer.
fn runs(setting: &SettingFigures) -> String {
    let (n, worth) = (setting.mb_s.n, setting.mb_s.n_effective);
    if worth + 0.5 < n as f64 { format!("{n} ({worth:.1})") } else { n.to_string() }
}

/// Settings that are not to be relied upon, the worst first, and why.
fn reasons(body: &Body) -> Option<Table> {
    let mut told: Vec<&SettingFigures> =
        body.settings.iter().filter(|s| s.stability.standing == Standing::Unstable).collect();
    if told.is_empty() {
        return None;
    }
    told.sort_by(|a, b| b.mb_s.cv.total_cmp(&a.mb_s.cv));
    let field = |ends: &Ends| format!("{}–{}", number::share(ends.low), number::share(ends.high));
    let row = |setting: &&SettingFigures| {
        let spread = setting.stability.r_over_avg_of_20.as_ref();
        let fields = vec![
            number::share(setting.mb_s.r_over_avg),
            number::share(setting.mb_s.cv),
            maybe(spread, field),
        ];
        (setting.name.clone(), fields)
    };
    let shown = &told[..told.len().min(REASONS_MAX)];
    let why = |setting: &&SettingFigures| {
        format!("{}: {}", setting.name, setting.stability.reasons.join("; "))
    };
    let mut notes: Vec<String> = shown.iter().map(why).collect();
    if told.len() > REASONS_MAX {
        notes.push(format!("{} more in --json and --csv", told.len() - REASONS_MAX));
    }
    Some(Table {
        title: "Unstable".to_owned(),
        columns: heads(&["R/Avg", "CV", "R/Avg of 20 runs, 95%"]),
        rows: shown.iter().map(row).collect(),
        notes,
    })
}

fn ratio(estimate: &RatioEstimate) -> Quantity {
    Quantity {
        value: estimate.ratio,
        low: estimate.low,
        high: estimate.high,
        confidence: mark::findings::CONFIDENCE,
        unit: Unit::Ratio,
        n: 0,
        n_effective: 0.0,
        better: Better::Higher,
    }
}

fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

/// Shares of factors and their combinations in the variation.
fn effects(body: &Body) -> Option<Table> {
    let found = body.effects.as_ref()?;
    let row = |effect: &Effect| {
        let share = &effect.share;
        let fields = vec![
            number::share(share.value),
            format!("{}–{}", number::share(share.low), number::share(share.high)),
            format!("{}×", number::digits(effect.greatest_ratio)),
            probability(effect.p_holm),
            effect.outcome.word().to_owned(),
        ];
        (factor_names(&effect.factors), fields)
    };
    let mut terms: Vec<&Effect> = found.terms.iter().collect();
    terms.sort_by(|a, b| b.share.value.total_cmp(&a.share.value));
    let mut notes = Vec::new();
    if let (Some(beyond), Some(noise)) = (found.beyond_pairs, found.noise) {
        let three = match body.sweep.vary.len() {
            0..=2 => String::new(),
            _ => format!("three factors and more together {}, ", number::share(beyond)),
        };
        notes.push(format!("{three}runs of one setting {}", number::share(noise)));
    }
    Some(Table {
        title: "What matters".to_owned(),
        columns: heads(&["explains", "95% interval", "most", "p (Holm)", ""]),
        rows: terms.into_iter().map(row).collect(),
        notes,
    })
}

/// Each level of each factor to its first.
fn level_effects(body: &Body) -> Option<Table> {
    let found = body.effects.as_ref()?;
    let alone = found.terms.iter().filter(|effect| effect.factors.len() == 1);
    let row = |effect: &Effect| {
        let factor = factor_names(&effect.factors);
        let levels = effect.levels.iter().enumerate().map(move |(index, level)| {
            let quantity = ratio(&level.ratio);
            let fields = match index {
                0 => vec!["1".to_owned(), String::new()],
                _ => vec![
                    number::value(&quantity, RateUnit::Mb),
                    number::interval(&quantity, RateUnit::Mb),
                ],
            };
            (format!("{factor} {}", level.level), fields)
        });
        levels.collect::<Vec<_>>()
    };
    let mut rows: Vec<(String, Vec<String>)> = alone.flat_map(row).collect();
    let mut notes = Vec::new();
    if rows.len() > ROWS_MAX {
        notes.push(format!("{} more in --json", rows.len() - ROWS_MAX));
        rows.truncate(ROWS_MAX);
    }
    Some(Table {
        title: "Throughput to the first level".to_owned(),
        columns: heads(&["ratio", "95% interval"]),
        rows,
        notes,
    })
}

/// Effect of the order: settings in turns, compared with in a row.
fn order(body: &Body) -> Option<Table> {
    let order = body.order.as_ref()?;
    let fields = |estimate: &Option<RatioEstimate>| match estimate {
        Some(estimate) => {
            let quantity = ratio(estimate);
            vec![number::value(&quantity, RateUnit::Mb), number::interval(&quantity, RateUnit::Mb)]
        }
        None => vec!["–".to_owned(), "–".to_owned()],
    };
    Some(Table {
        title: format!("In turns to in a row, {} settings", order.settings),
        columns: heads(&["ratio", "95% interval"]),
        rows: vec![
            ("spread of runs (CV)".to_owned(), fields(&order.spread)),
            ("throughput".to_owned(), fields(&order.throughput)),
        ],
        notes: vec![format!(
            "median CV {} in turns, {} in a row",
            number::share(order.cv_interleaved),
            number::share(order.cv_blocked)
        )],
    })
}

/// Headline of a sweep in a list of runs.
pub fn headline(document: &Document<Body>) -> String {
    let body = &document.body;
    if body.interrupted { early(body) } else { counts(body) }
}

fn early(body: &Body) -> String {
    let least = body.settings.iter().map(|setting| setting.runs.len()).min().unwrap_or(0);
    format!("ended early: each setting has {least} runs at least")
}

/// Number of usable settings, and the states of the others.
fn counts(body: &Body) -> String {
    let all = body.settings.len();
    let usable = body.count(Standing::Usable);
    let parts = [Standing::Unstable, Standing::Undecided, Standing::Withdrawn]
        .map(|standing| (body.count(standing), standing.word()));
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, word)| format!("{count} {word}")).collect();
    match (usable == all, parts.is_empty()) {
        (true, _) | (_, true) => format!("all {all} settings are usable"),
        _ => format!("{usable} of {all} settings are usable, {}", parts.join(", ")),
    }
}

fn closing(body: &Body) -> (String, Tone) {
    if body.interrupted {
        return (format!("{}.", capital(&early(body))), Tone::Bad);
    }
    let all = body.settings.len();
    let usable = body.count(Standing::Usable);
    let first = capital(&counts(body));
    let matter: Vec<String> = body
        .effects
        .iter()
        .flat_map(|found| &found.terms)
        .filter(|effect| effect.factors.len() == 1 && effect.outcome == Outcome::Matters)
        .map(|effect| factor_names(&effect.factors))
        .collect();
    let second = match (matter.as_slice(), body.effects.is_some()) {
        (_, false) => String::new(),
        ([], true) => "; no factor is shown to matter".to_owned(),
        ([one], true) => format!("; {one} matters"),
        (several, true) => format!("; {} matter", several.join(", ")),
    };
    let tone = match (body.refuted(), usable == all) {
        (true, _) => Tone::Bad,
        (false, true) => Tone::Good,
        (false, false) => Tone::Mixed,
    };
    (format!("{first}{second}."), tone)
}
