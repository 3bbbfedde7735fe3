//! The page.

use stats::{Verdict, proportion_interval};

use super::course::Kind;
use super::score::{Mark, Scored};
use super::world::{Noise, Truth};
use crate::sheet;

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// A count, its total, and the one-sided bound of 95% (Clopper and Pearson).
struct Share {
    count: usize,
    of: usize,
}

impl Share {
    fn of<'a>(scored: impl Iterator<Item = &'a Scored>, is: impl Fn(&Scored) -> bool) -> Share {
        let mut share = Share { count: 0, of: 0 };
        for one in scored {
            share.of += 1;
            share.count += usize::from(is(one));
        }
        share
    }

    fn value(&self) -> f64 {
        self.count as f64 / self.of.max(1) as f64
    }

    fn words(&self) -> String {
        format!("{} of {} ({})", self.count, self.of, percent(self.value()))
    }

    fn at_most(&self) -> String {
        let high = proportion_interval(self.count, self.of, 0.9).map_or(1.0, |bounds| bounds.high);
        format!("{}, at most {:.2}%", self.words(), 100.0 * high)
    }
}

/// A claim: its words, what it came to, what is wanted, and whether it holds.
type Claim = (&'static str, String, &'static str, bool);

fn claims(scored: &[Scored]) -> Vec<Claim> {
    let all = || scored.iter();
    let is_steady = |one: &Scored| one.verdict == Verdict::Proven;
    let wrong = Share::of(all().filter(|one| one.log.truth == Truth::NotSteady), is_steady);
    let known = all().filter(|one| one.bounds.is_some());
    let covered = Share::of(known, |one| one.is_covered() == Some(true));
    let widths = all().filter(|one| one.is_rich()).filter_map(|one| one.bounds);
    let width = median(widths.map(|[low, high]| high - low).collect()).unwrap_or(1.0);
    let truly = |one: &&Scored| matches!(one.log.truth, Truth::Steady | Truth::SteadyShort);
    let refuted = Share::of(all().filter(truly), |one| one.verdict == Verdict::Refuted);
    let recognised = Share::of(all().filter(|one| one.is_due()), is_steady);
    let in_time = Share::of(all().filter(|one| one.is_due()), |one| {
        is_steady(one) && one.late_fills().is_some_and(|late| late <= 1.5)
    });
    vec![
        ("logs whose own data contradict, called steady", wrong.at_most(), "0", wrong.count == 0),
        (
            "bound on the level over the last drive write covers the latent one",
            covered.words(),
            "≥ 95%",
            covered.value() >= 0.95,
        ),
        (
            "median width of it, of 3 drive writes and more at CV ≤ 5%",
            percent(width),
            "≤ 4%",
            width <= 0.04,
        ),
        ("truly steady, called not steady", refuted.at_most(), "≤ 5%", refuted.value() <= 0.05),
        (
            "steady for 3 drive writes at CV ≤ 5%, recognised",
            recognised.words(),
            "≥ 85%",
            recognised.value() >= 0.85,
        ),
        (
            "the same, at most 1.5 drive writes after the earliest moment",
            in_time.words(),
            "≥ 85%",
            in_time.value() >= 0.85,
        ),
    ]
}

/// Claims that do not hold.
pub(super) fn shortfalls(scored: &[Scored]) -> Vec<&'static str> {
    claims(scored).into_iter().filter(|claim| !claim.3).map(|claim| claim.0).collect()
}

pub(super) fn text(head: &str, scored: &[Scored]) -> String {
    let claims: Vec<Vec<String>> = claims(scored)
        .into_iter()
        .map(|(words, found, wanted, holds)| {
            let holds = if holds { "yes" } else { "**no**" };
            vec![words.to_owned(), found, wanted.to_owned(), holds.to_owned()]
        })
        .collect();
    let kinds: Vec<Vec<String>> = Kind::ALL
        .iter()
        .map(|kind| row(kind.words(), scored, |one| one.log.kind == *kind))
        .collect();
    let noises: Vec<Vec<String>> = Noise::ALL
        .iter()
        .map(|noise| row(noise.words(), scored, |one| one.log.noise == *noise))
        .collect();
    let columns = [
        "course",
        "logs",
        "right",
        "class",
        "unknown",
        "wrong",
        "open",
        "accepted at, drive writes",
        "after the earliest",
    ];
    let of_noise: Vec<&str> =
        ["noise"].into_iter().chain(columns.iter().skip(1).copied()).collect();
    format!(
        "# Logs of a latent process\n\n{head}Each log is a bandwidth log in fio's form, of a drive whose latent rate is known at each \
         moment: {} kinds of courses × {} kinds of noise, drawn by code that shares nothing with the simulator. Drawn are: capacity \
         4 GB to 60 TB; over-provisioning 3 to 100% (30 to 100% of purged drives, a fifth of all); fresh rate 1.2 to 8 times the \
         later one; 24 to 500 lines a drive write, of 1 to 30 s; standard deviation of a line 0.2 to 12%. `judge` gets the \
         capacity, the over-provisioning, `--uniform` and `--filled` or `--purged`.\n\n\
         Truth, by latent means of half drive writes since the free space was used up: *steady* when the course comes to rest and the \
         last three drive writes or more are within 2.5%, at the earliest three drive writes after that began (and, of a purged drive, \
         seven drive writes after the start); *short* when it is at rest for less, which may be called steady or inconclusive; *not \
         steady* when the course does not come to rest, the last three drive writes are not within 2.5%, and the last six are not \
         within 5%; *open* otherwise, which counts nowhere.\n\n## Claims\n\n{}\n## By course\n\n*class*: rightly not steady, by \
         another word than that of the course.\n\n{}\n## By noise\n\n{}\n## Other rules on the same logs\n\n{}",
        Kind::ALL.len(),
        Noise::ALL.len(),
        sheet::table(1, &["claim", "found", "wanted", "holds"], &claims),
        sheet::table(1, &columns, &kinds),
        sheet::table(1, &of_noise, &noises),
        others(scored)
    )
}

fn row(words: &str, scored: &[Scored], is: impl Fn(&Scored) -> bool) -> Vec<String> {
    let own: Vec<&Scored> = scored.iter().filter(|one| is(one)).collect();
    let count = |mark: Mark| own.iter().filter(|one| one.mark() == mark).count().to_string();
    let fills = |value: Option<f64>| value.map_or("–".to_owned(), |fills| format!("{fills:.2}"));
    let right = || own.iter().filter(|one| one.log.truth == Truth::Steady);
    vec![
        words.to_owned(),
        own.len().to_string(),
        count(Mark::Right),
        count(Mark::Class),
        count(Mark::Unknown),
        count(Mark::Wrong),
        count(Mark::Open),
        fills(median(right().filter_map(|one| one.at_fills).collect())),
        fills(median(right().filter_map(|one| one.late_fills()).collect())),
    ]
}

/// A rule's name, and what it says of a log.
type Rule<'a> = (&'a str, &'a dyn Fn(&Scored) -> Option<bool>);

fn others(scored: &[Scored]) -> String {
    let rows: [Rule<'_>; 3] = [
        ("drivescope judge", &|one| match one.verdict {
            Verdict::Proven => Some(true),
            Verdict::Refuted => Some(false),
            Verdict::Unprovable => None,
        }),
        ("SNIA PTS, the last five minutes", &|one| one.pts),
        ("fio 3.33, bw_slope:0.1%, 300 samples or a third of the log", &|one| one.fio),
    ];
    let row = |(name, said): &Rule<'_>| {
        let of = |truths: &[Truth], word: Option<bool>| {
            let own = scored.iter().filter(|one| truths.contains(&one.log.truth));
            Share::of(own, |one| said(one) == word).words()
        };
        let rest = [Truth::Steady, Truth::SteadyShort];
        vec![
            (*name).to_owned(),
            of(&[Truth::NotSteady], Some(true)),
            of(&[Truth::NotSteady], None),
            of(&rest, Some(false)),
            of(&[Truth::Steady], Some(true)),
            of(&rest, None),
        ]
    };
    let columns = [
        "rule",
        "not steady, called steady",
        "not steady, unknown",
        "at rest, called not steady",
        "steady, called so",
        "at rest, unknown",
    ];
    sheet::table(1, &columns, &rows.iter().map(row).collect::<Vec<_>>())
}
