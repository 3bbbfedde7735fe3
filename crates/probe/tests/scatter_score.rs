//! Scatter on virtual drives: the shipped models, and drawn cards scored against what is true of them.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::sync::atomic::AtomicBool;

use block::{Bytes, Nanos, Target};
use drivescope_probe::scatter::{self, Evidence, Options};
use drivescope_probe::{Desk, Finding, Known, Name, NoKeeper, Outcome, Terms, Verdict};
use engine::TargetBench;
use workload::plan::Region;

/// Probes `spec`; gives the outcome, the time on the drive's clock and the count of reads.
fn run(spec: &str, known: &Known, seed: u64) -> (Outcome<Evidence>, f64, u64) {
    let mut target = sim::open(spec).unwrap();
    let mut environment = target.environment();
    let cancel = AtomicBool::new(false);
    let length = target.info().capacity_bytes;
    let terms = Terms {
        region: Region { offset: Bytes(0), length },
        may_write: false,
        time_budget: Nanos::secs(600),
        write_budget: Bytes(0),
        seed,
    };
    let mut keeper = NoKeeper;
    let mut bench = TargetBench::new(&mut target, &mut environment, &cancel);
    let mut desk = Desk::new(&mut bench, terms, &mut keeper);
    let outcome = scatter::probe(&mut desk, known, &Options::default()).unwrap();
    (outcome, desk.spent().elapsed_ns.as_secs_f64(), desk.spent().ios)
}

fn finding(outcome: &Outcome<Evidence>, name: Name) -> Option<&Finding> {
    outcome.findings.iter().find(|finding| finding.name == name)
}

fn line(f: &Finding) -> String {
    let range = (f.low, f.high);
    format!("{:?} {:?} {:?} {range:?} {:?}: {}", f.name, f.verdict, f.value, f.confidence, f.reason)
}

#[test]
#[ignore = "prints what is said of the shipped models, for tuning"]
fn models() {
    let cards = ["usb-8m", "usb-tlc", "sdcard-4m", "card-3m", "fake-64g"];
    let drives =
        ["optane", "hdd-7200", "enterprise-28op", "mlc-nvme", "tlc-pslc", "qlc-pslc", "sata-a"];
    let filled = [
        "enterprise-28op?state=filled",
        "mlc-nvme?state=filled",
        "tlc-pslc?state=filled",
        "enterprise-28op?state=steady",
        "mlc-nvme?state=steady",
        "hdd-wd",
    ];
    let both = |name: &&'static str| [(*name, 16384), (*name, 0)];
    let other = drives.iter().chain(&filled).map(|name| (*name, 0));
    for (name, group) in cards.iter().flat_map(both).chain(other) {
        let mut known = Known::new();
        if group > 0 {
            known.give(Name::MultiPlanePage, group);
        }
        let at = std::time::Instant::now();
        let (outcome, seconds, reads) = run(&format!("sim:{name}"), &known, 1);
        let evidence = &outcome.evidence;
        println!(
            "{name} group={group} {seconds:.1}s {reads} reads cpu {:?} noise {:?}",
            at.elapsed(),
            evidence.noise_ns
        );
        println!("    {:?}", evidence.bands);
        println!("    periods {:?} stretches {:?}", evidence.periods, evidence.stretches);
        evidence.zones.iter().for_each(|zone| println!("    {zone:?}"));
        outcome.findings.iter().for_each(|finding| println!("    {}", line(finding)));
    }
}

/// Right, wrong, unknown.
type Score = [usize; 3];

fn judge(score: &mut Score, found: Option<&Finding>, truth: Option<u64>) -> usize {
    let at = match found.map(|f| (f.verdict, f.value)) {
        Some((Verdict::Found, value)) if value == truth => 0,
        Some((Verdict::None, _)) if truth.is_none() => 0,
        None | Some((Verdict::Unknown, _)) => 2,
        _ => 1,
    };
    score[at] += 1;
    at
}

fn number(parameters: &serde_json::Value, path: &[&str]) -> Option<u64> {
    path.iter().try_fold(parameters, |value, key| value.get(key))?.as_u64()
}

#[test]
#[ignore = "scores many drawn cards, for tuning; FROM, TO, LEVELS and KNOWN in the environment"]
fn drawn_cards() {
    let env = |key: &str, default: &str| std::env::var(key).unwrap_or(default.to_owned());
    let (from, to): (u64, u64) =
        (env("FROM", "0").parse().unwrap(), env("TO", "100").parse().unwrap());
    let known_group = env("KNOWN", "1") == "1";
    for level in env("LEVELS", "0.1,0.5,1.0").split(',') {
        let level: f64 = level.parse().unwrap();
        let (mut bands, mut fat, mut slow) = ([0; 3], [0; 3], [0; 3]);
        let (mut seconds, mut longest, at) = (0.0, 0.0_f64, std::time::Instant::now());
        for seed in from..to {
            let base = format!("sim:random-card?seed={seed}");
            let shown = sim::show(&base).unwrap();
            let parameters = serde_json::to_value(&shown.parameters).unwrap();
            let step =
                number(&parameters, &["read", "lookup_ns"]).filter(|ns| *ns > 0).unwrap_or(50_000);
            let command = number(&parameters, &["read", "command_ns"]).unwrap();
            let jitter = (level * step as f64 * 12_f64.sqrt()) as u64;
            let spec = format!(
                "{base}&link.jitter_ns={jitter}&link.spike_ppm=10000&link.spike_ns={}",
                13 * command
            );
            let truth = &shown.truth;
            let card = truth.card.as_ref().unwrap();
            let kinds = parameters["cells"]["read_ns"].as_array().unwrap().len() as u64;
            let bands_true = (card.reads_show_cells && kinds > 1).then_some(kinds);
            let mut known = Known::new();
            if known_group && card.reads_show_boundaries {
                known.give(
                    Name::MultiPlanePage,
                    truth.page_bytes.unwrap().0 * u64::from(truth.planes.unwrap()),
                );
                known.give(Name::Page, truth.page_bytes.unwrap().0);
                known.give(Name::EraseBlock, truth.erase_block_bytes.unwrap().0);
            }
            let (outcome, spent, _) = run(&spec, &known, seed ^ 0x55);
            seconds += spent;
            longest = longest.max(spent);
            let fat_true = truth.fat_zone_bytes.map(|bytes| bytes.0);
            let answers = [
                judge(&mut bands, finding(&outcome, Name::CellBands), bands_true),
                judge(&mut fat, finding(&outcome, Name::FatZone), fat_true),
                judge(&mut slow, finding(&outcome, Name::SlowZone), fat_true),
            ];
            let verbose = env("VERBOSE", "1");
            for (at, (name, true_value)) in
                [(Name::CellBands, bands_true), (Name::FatZone, fat_true)].into_iter().enumerate()
            {
                if answers[at] == 1 || answers[at] == 2 && verbose == "2" {
                    let said = finding(&outcome, name).map(line);
                    println!(
                        "{level} seed {seed} truth {true_value:?} cells {} fat {} group {} step {step}: {said:?}",
                        parameters["cells"]["read_ns"],
                        parameters["fat"],
                        truth.page_bytes.unwrap().0 * u64::from(truth.planes.unwrap())
                    );
                    println!(
                        "      {spent:.0}s noise {:?} {:?} {:?}",
                        outcome.evidence.noise_ns, outcome.evidence.bands, outcome.evidence.zones
                    );
                }
            }
        }
        let n = to - from;
        println!(
            "level {level}: bands {bands:?} fat {fat:?} slow {slow:?} (right, wrong, unknown); {:.1} s each, longest {longest:.0} s, cpu {:?}",
            seconds / n as f64,
            at.elapsed() / n as u32
        );
    }
}
