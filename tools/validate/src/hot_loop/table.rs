//! From the findings to the page.

use stats::RatioInterval;

use super::finding::{Answer, Comparison, Findings, Standing};
use super::round::Setup;
use super::setting::USER_NS_AIM;
use crate::engine::Engine;
use crate::middle::CONFIDENCE;
use crate::{fio, sheet};

/// The whole page.
pub(super) fn text(findings: &Findings, setup: &Setup, load: &str) -> String {
    let mut text = format!("# The loop, beside fio's\n\n{}\n", verdict(findings));
    let more = [
        ("Beside", setup.fio.clone()),
        ("Rounds", setup.rounds.to_string()),
        ("Seed of the orders", setup.seed.to_string()),
        ("Load average at the start", load.to_owned()),
    ];
    text += &sheet::provenance(&setup.commit, &setup.machine, "loop.csv", &more);
    text += &method(setup);
    text += "\n## Claims\n\n";
    text += &claims(findings);
    text += "\n## Other ratios\n\nThe same engine in both programs, where nothing is claimed.\n\n";
    text += &others(findings);
    text += "\n## What each did\n\n";
    text += &costs();
    text += &standings(findings);
    text
}

fn verdict(findings: &Findings) -> String {
    let count = |wanted| findings.comparisons.iter().filter(|c| c.answer() == Some(wanted)).count();
    let claimed = findings.comparisons.iter().filter(|c| c.at_least.is_some()).count();
    format!(
        "Of {claimed} claims, {} are met, {} are not met and {} are undecided.\n",
        count(Answer::Met),
        count(Answer::NotMet),
        count(Answer::Undecided)
    )
}

fn method(setup: &Setup) -> String {
    // As in a job file: what begins with dashes in these documents is a flag of ours.
    let tuning = fio::tuning(Engine::IoUring, 32).join(" ").replace("--", "");
    format!(
        "Random reads by one thread, every latency recorded on both sides, {} ms measured after {} ms \
         of the same load. Of {} each: *cached*, 512 B of a file in the page cache, through it; \
         *zram*, 4 KiB of a zram device full of data that does not compress, with O_DIRECT; *loop*, \
         4 KiB of a loop device with direct I/O over a file on {}, with O_DIRECT; *one-cpu*, \
         the same while both programs and the kernel's workers are held on one CPU. Each round runs \
         all contenders of a setting once, in an order drawn at random; the next round runs them \
         backwards (ABBA). Rounds of all settings are interleaved. A ratio is the median of the \
         rounds' ratios of IOPS, with its {:.0}% interval.\n\n\
         drivescope runs a plan through its own binary (`run PLAN --engine …`), which keeps a histogram \
         of every latency, an interval series and an audit of every address. fio runs one job, a \
         process as by its default, with `randrepeat=0`, `invalidate=0`, its output as `json+`, and its \
         latencies and clock as they come. By *defaults* it also keeps a map of the blocks that it \
         has read, so as to read none twice; everywhere else it is told `norandommap`, since our \
         offsets are drawn with replacement. *tuned* adds, with \
         io_uring, registered file and buffers, and, above depth 1, batches: at Q32 \
         `{tuning}` (for libaio only the batches). At Q1 there is nothing to tune in psync and \
         libaio. `t/io_uring`, where it takes part, has registered file and buffers and whole batches, \
         and records no latency.\n",
        setup.window_ms,
        setup.ramp_ms,
        block::Bytes(setup.size_bytes),
        setup.loop_on,
        CONFIDENCE * 100.0,
    )
}

fn claims(findings: &Findings) -> String {
    let row = |c: &Comparison| {
        let at_least = c.at_least?;
        Some(vec![
            c.setting.to_string(),
            format!("{} / {}", c.ours, c.theirs),
            c.ratio.map_or(0, |r| r.n).to_string(),
            ratio(c.ratio),
            format!("≥ {at_least}"),
            answer(c.answer()).to_owned(),
        ])
    };
    let mut rows: Vec<Vec<String>> = findings.comparisons.iter().filter_map(row).collect();
    if let Some((middle, met)) = findings.aim {
        rows.push(vec![
            "cached-Q32".to_owned(),
            "drivescope io_uring, user CPU ns per I/O (an aim)".to_owned(),
            String::new(),
            middle.show(0),
            format!("≤ {USER_NS_AIM}"),
            answer(Some(met)).to_owned(),
        ]);
    }
    let head = ["setting", "compared", "rounds", "ratio", "claim", ""];
    let mut text = sheet::table(2, &head, &rows);
    text += "\n*met*: the whole interval is on the right side of the claim; *not met*: on the wrong side; \
             *undecided*: the claim lies within it.\n";
    text
}

fn others(findings: &Findings) -> String {
    let row = |c: &Comparison| {
        let cells = [c.setting.to_string(), format!("{} / {}", c.ours, c.theirs), ratio(c.ratio)];
        c.at_least.is_none().then(|| cells.to_vec())
    };
    let rows: Vec<Vec<String>> = findings.comparisons.iter().filter_map(row).collect();
    sheet::table(2, &["setting", "compared", "ratio"], &rows)
}

fn costs() -> String {
    "Medians over the rounds. Latency is each program's own mean: ours from just before the hand-over \
     to the kernel, fio's `lat` from when the request has been made ready. *CPU by its own account*, \
     user and kernel, is of the window with fio, which tells the user part too, and of warm-up and window \
     with drivescope. *User CPU of the \
     process* is the same measurement for all: what the kernel charged to the process from its start \
     to its end, over all I/Os of ramp and window; nothing is taken off. *Start* is what a \
     run of a millisecond takes (drivescope measures its own limit, fio calibrates its clock), and *less \
     start* is the figure before without it, with its 95% interval. The kernel here may divide CPU \
     time into user and system by sampling at its timer's ticks, so single runs scatter by some 20%.\n\n"
        .to_owned()
}

fn standings(findings: &Findings) -> String {
    let cell = |x: f64, digits: usize| match x {
        x if x > 0.0 => format!("{x:.digits$}"),
        _ => "–".to_owned(),
    };
    let row = |s: &Standing| {
        let start = findings.start_ups.get(&s.contender);
        vec![
            s.setting.to_string(),
            s.contender.to_string(),
            cell(s.iops / 1e3, 1),
            cell(s.latency_ns / 1e3, 2),
            cell(s.window_cpu_ns, 0),
            cell(s.window_user_ns, 0),
            cell(s.user_ns, 0),
            start.map_or("–".to_owned(), |ns| format!("{:.0}", ns / 1e6)),
            s.user_less_start_ns.map_or("–".to_owned(), |middle| middle.show(0)),
        ]
    };
    let head = [
        "setting",
        "contender",
        "kIOPS",
        "latency µs",
        "CPU by its own account, ns/IO",
        "of it user (fio's)",
        "user CPU of the process, ns/IO",
        "start, ms",
        "less start, ns/IO",
    ];
    sheet::table(2, &head, &findings.standings.iter().map(row).collect::<Vec<_>>())
}

fn answer(answer: Option<Answer>) -> &'static str {
    match answer {
        Some(Answer::Met) => "met",
        Some(Answer::NotMet) => "**not met**",
        Some(Answer::Undecided) => "undecided",
        None => "–",
    }
}

fn ratio(ratio: Option<RatioInterval>) -> String {
    match ratio {
        None => "–".to_owned(),
        Some(RatioInterval { ratio, low: Some(low), high: Some(high), .. }) => {
            format!("{ratio:.3} ({low:.3}–{high:.3})")
        }
        Some(RatioInterval { ratio, .. }) => format!("{ratio:.3} (no interval)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use crate::children::Cpu;
    use crate::hot_loop::contend::Figures;
    use crate::hot_loop::round::Row;
    use crate::hot_loop::setting::{Claim, Contender, Setting};
    use crate::provenance::Machine;

    fn setup() -> Setup {
        Setup {
            seed: 9,
            rounds: 16,
            ramp_ms: 300,
            window_ms: 1000,
            size_bytes: 1 << 28,
            fio: "fio-3.33".into(),
            loop_on: "tmpfs".into(),
            commit: "0123456789ab".into(),
            machine: Machine::here(),
        }
    }

    /// Rounds that differ tenfold, in which ours does `factor` times what the others do.
    fn findings(setting: Setting, factor: f64) -> Findings {
        let mut rows = Vec::new();
        for round in 0..16 {
            for (position, contender) in (0..).zip(setting.contenders(true)) {
                let base = 1e5 * f64::from(1 + round % 10);
                let iops = if contender.is_ours() { base * factor } else { base };
                let user_ns = 50_000_000 + (iops * 1.3 * 30.0) as u64;
                let figures = Figures {
                    iops,
                    latency_ns: 9e3,
                    window_cpu_ns: 300.0,
                    window_user_ns: 0.0,
                    cpu: Cpu { user_ns, system_ns: 0 },
                };
                rows.push(Row { setting, round, position, contender, figures });
            }
        }
        rows.reverse();
        let starts: BTreeMap<Contender, f64> =
            setting.contenders(false).into_iter().map(|c| (c, 50e6)).collect();
        Findings::of(&[setting], &rows, &starts, &setup())
    }

    // Only pairing within rounds can see a factor of 1.5 here; and each claim has its own bound.
    #[test]
    fn each_claim_is_judged_by_its_own_bound_within_rounds() {
        let findings = findings(Setting::ALL[0], 1.5);
        let answers: Vec<Option<Answer>> =
            findings.comparisons.iter().map(Comparison::answer).take(5).collect();
        let (met, not) = (Some(Answer::Met), Some(Answer::NotMet));
        assert_eq!(answers, [not, not, met, not, not], "twice 2.0, 1.1, and twice 2.7 times");
        assert!(findings.any_not_shown());
        let text = text(&findings, &setup(), "0.10");
        assert!(text.contains("Of 5 claims, 1 are met, 4 are not met and 0 are undecided."));
        assert!(text.contains("| drivescope io_uring / fio io_uring | 16 | 1.500 (1.500–1.500) |"));
        assert!(text.contains("| t/io_uring | "), "it takes part, without a claim");
        assert!(!text.contains("`--"), "fio's options would pass for flags of ours");
    }

    // Start and ramp are part of the process's CPU: without both, 50 ms and 30% are laid on the I/Os.
    #[test]
    fn user_cpu_counts_the_ramps_ios_and_tells_the_start_apart() {
        let (aim, met) = findings(Setting::ALL[0], 1.0).aim.unwrap();
        assert!((aim.median - 30.0).abs() < 0.01, "{aim:?}");
        assert_eq!(met, Answer::Met);
        let zram = findings(Setting::ALL[2], 1.0);
        assert!(zram.aim.is_none(), "the aim concerns the page cache only");
        assert!(!zram.any_not_shown(), "as fast as fio is not below it");
    }

    #[test]
    fn a_bound_within_the_interval_decides_nothing() {
        assert_eq!(Answer::at_least(1.1, Some((1.05, 1.2))), Answer::Undecided);
        assert_eq!(Answer::at_least(1.1, Some((1.1, 1.2))), Answer::Met);
        assert_eq!(Answer::at_least(1.1, Some((1.0, 1.09))), Answer::NotMet);
        assert_eq!(Answer::at_least(1.1, None), Answer::Undecided);
        assert_eq!(Answer::at_most(40.0, Some((30.0, 39.0))), Answer::Met);
        assert_eq!(Answer::at_most(40.0, Some((41.0, 50.0))), Answer::NotMet);
        assert_eq!(Answer::at_most(40.0, Some((39.0, 41.0))), Answer::Undecided);
    }

    // A claim that no round could decide must not pass for one that is met.
    #[test]
    fn claims_without_rounds_are_undecided() {
        let none = Findings::of(&[Setting::ALL[1]], &[], &BTreeMap::new(), &setup());
        assert!(none.comparisons.iter().all(|c| c.answer() == Some(Answer::Undecided)));
        let claims = Claim::all().into_iter().filter(|c| c.setting == Setting::ALL[1]).count();
        assert_eq!(none.comparisons.len(), claims);
    }
}
