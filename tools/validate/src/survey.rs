//! `survey`: conclusions of `drivescope survey` about virtual drives, compared with the truth that `drivescope sim show`
//! prints: every model that comes with the program, and drives drawn from seeds that were not looked at before.

mod score;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::Value;
use stats::proportion_interval;

use crate::binary::{Binary, text};
use crate::provenance::{self, Machine};
use crate::sheet;
use crate::stop;
use crate::threads::on_threads;
use score::{Mark, Scored};

/// Seeds of the drawn drives, of each kind. Chosen before any of them was looked at; use others when you change an
/// inference.
const SEEDS: Range<u64> = 53_000..53_100;
/// Models to draw, each with options that make it small; the first of those with which it can be made.
const DRAWN: [(&str, &[&str]); 2] = [
    ("random-card", &[""]),
    ("random-ssd", &["&capacity=1GiB", "&capacity=2GiB", "&capacity=4GiB", ""]),
];
/// Greatest share of wrong answers.
const WRONG_MAX: f64 = 0.01;

/// Options of `survey`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Seeds of the drawn drives, such as 0..20 [default: 53000..53100]
    #[arg(long, value_parser = crate::probe::seeds)]
    seeds: Option<Range<u64>>,
    /// Leave out the models that come with the program
    #[arg(long)]
    drawn_only: bool,
    /// Surveys at once
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// Output directory of the table [default: docs/validation; target/validate for trials of less than everything]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// A drive and what was concluded of it.
struct Drive {
    spec: String,
    /// How it is grouped in the table.
    group: &'static str,
    scored: Vec<Scored>,
}

/// Surveys all drives and writes the table; false when too many conclusions are wrong.
///
/// # Errors
/// When a survey fails, or the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let binary = Binary::find()?;
    let trial = options.drawn_only || options.seeds.is_some();
    let out = sheet::table_dir(options.out.as_deref(), trial)?;
    let commit = provenance::commit()?;
    let stop = stop::stop_flag()?;
    let specs = specs(options);
    let drives = on_threads(options.jobs.into(), specs.len(), &stop, |at| {
        let (group, spec) = &specs[at];
        let drive = surveyed(&binary, group, spec)?;
        let wrong = drive.scored.iter().filter(|one| one.mark == Mark::Wrong);
        let wrong: Vec<String> = wrong.map(Scored::words).collect();
        eprintln!("survey: {} of {}, {spec}: {}", at + 1, specs.len(), wrong.join("; "));
        Ok(drive)
    })?;
    let path = out.join("survey.csv");
    fs::write(&path, csv(&drives))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let head = sheet::provenance(&commit, &Machine::here(), "survey.csv", &[]);
    let (wrong, decided) = wrong(&drives);
    sheet::write(&out.join("survey.md"), &table(&head, &drives, options))?;
    Ok(wrong as f64 <= WRONG_MAX * decided as f64)
}

fn specs(options: &Options) -> Vec<(&'static str, String)> {
    let listed = ::sim::list();
    let shipped = listed.iter().filter(|model| !model.name.starts_with("random-"));
    let shipped = shipped.map(|model| ("shipped", format!("sim:{}", model.name)));
    let seeds = options.seeds.clone().unwrap_or(SEEDS);
    let drawn = DRAWN.into_iter().flat_map(|(model, small)| {
        seeds.clone().map(move |seed| {
            let spec = |small: &&str| format!("sim:{model}?seed={seed}{small}");
            let made = small.iter().map(spec).find(|spec| ::sim::show(spec).is_ok());
            (model, made.unwrap_or_else(|| format!("sim:{model}?seed={seed}")))
        })
    });
    shipped.filter(|_| !options.drawn_only).chain(drawn).collect()
}

fn surveyed(binary: &Binary, group: &'static str, spec: &str) -> Result<Drive> {
    let shown = shown(binary, spec)?;
    let arguments = ["survey".to_owned(), spec.to_owned(), "--seed=1".to_owned()];
    let body = binary.body(&arguments)?;
    let conclusions = body["conclusions"].as_array().context("no conclusions")?;
    let scored = conclusions.iter().map(|said| Scored::of(said, &shown)).collect::<Result<_>>()?;
    Ok(Drive { spec: spec.to_owned(), group, scored })
}

/// Truth about a drive, from `sim show`.
fn shown(binary: &Binary, spec: &str) -> Result<Value> {
    let output = Command::new(binary.path())
        .args(["sim", "show", spec, "--json"])
        .stdin(Stdio::null())
        .output()
        .context("cannot start drivescope")?;
    if !output.status.success() {
        bail!("{spec}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let mut document: Value = serde_json::from_slice(&output.stdout)?;
    Ok(document["body"].take())
}

/// CPU time of children that have ended, in seconds.
fn cpu_of_children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    // cutime and cstime, in the kernel's hundredths of a second (proc_pid_stat(5), fields 16 and 17).
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(13) + ticks(14)) / 100.0
}

/// Wrong answers, and all that decide.
fn wrong(drives: &[Drive]) -> (usize, usize) {
    let marks = || drives.iter().flat_map(|drive| &drive.scored).map(|one| one.mark);
    let wrong = marks().filter(|mark| *mark == Mark::Wrong).count();
    (wrong, wrong + marks().filter(|mark| *mark == Mark::Right).count())
}

fn csv(drives: &[Drive]) -> String {
    let mut text = "drive,group,topic,mark,verdict,said,true,confidence\n".to_owned();
    for drive in drives {
        for one in &drive.scored {
            let _ = writeln!(
                text,
                "{},{},{},{},{},\"{}\",\"{}\",{}",
                drive.spec,
                drive.group,
                one.topic,
                one.mark.word(),
                one.verdict,
                one.said.replace('"', "'"),
                one.truth.replace('"', "'"),
                one.confidence.map_or(String::new(), |sure| format!("{sure:.4}"))
            );
        }
    }
    text
}

fn table(head: &str, drives: &[Drive], options: &Options) -> String {
    let (wrong, decided) = wrong(drives);
    let share = proportion_interval(wrong, decided.max(1), 0.95);
    let bound = share.map_or(String::new(), |share| {
        format!(" ({:.2}%, at most {:.2}% at 95%)", share.value * 100.0, share.high * 100.0)
    });
    let seeds = options.seeds.clone().unwrap_or(SEEDS);
    let cpu = cpu_of_children();
    let mut text = format!(
        "# What surveys conclude\n\nOf {decided} conclusions about {} virtual drives that decide and that a model has a \
         word for, {wrong} are wrong{bound}.\n\n{head}Each drive is surveyed as a user would, with `--seed 1`, and each \
         conclusion is held against what `drivescope sim show` says is true. Right are: the same size, count or word; an \
         interval that holds the truth where a conclusion states one (rotation, caches, spare medium). *Not scored* is \
         what no model has a word for. Drawn drives have the seeds {} to {} of each kind, which were chosen before any was \
         looked at. CPU time of all surveys: {cpu:.0} s.\n",
        drives.len(),
        seeds.start,
        seeds.end - 1
    );
    for group in ["shipped", "random-card", "random-ssd"] {
        let those: Vec<&Drive> = drives.iter().filter(|drive| drive.group == group).collect();
        if !those.is_empty() {
            let _ = write!(text, "\n## {}\n\n{}", title(group, those.len()), by_topic(&those));
        }
    }
    let _ = write!(text, "\n## What is wrong\n\n{}", listed(drives));
    text
}

fn title(group: &str, count: usize) -> String {
    match group {
        "shipped" => format!("Models that come with the program ({count})"),
        drawn => format!("`{drawn}` ({count} seeds)"),
    }
}

fn by_topic(drives: &[&Drive]) -> String {
    let mut counts: BTreeMap<&str, BTreeMap<Mark, usize>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for one in drives.iter().flat_map(|drive| &drive.scored) {
        if !order.contains(&one.topic.as_str()) {
            order.push(&one.topic);
        }
        *counts.entry(&one.topic).or_default().entry(one.mark).or_default() += 1;
    }
    let row = |topic: &&str| {
        let of = |mark: Mark| counts[*topic].get(&mark).copied().unwrap_or(0).to_string();
        let cells = Mark::ALL.into_iter().map(of);
        std::iter::once((*topic).to_owned()).chain(cells).collect::<Vec<_>>()
    };
    let head: Vec<&str> = std::iter::once("topic").chain(Mark::ALL.map(Mark::word)).collect();
    sheet::table(1, &head, &order.iter().map(row).collect::<Vec<_>>())
}

fn listed(drives: &[Drive]) -> String {
    let mut text = String::new();
    for drive in drives {
        for one in drive.scored.iter().filter(|one| one.mark == Mark::Wrong) {
            let _ = writeln!(text, "- `{}`: {}", drive.spec, one.words());
        }
    }
    if text.is_empty() { "Nothing.\n".to_owned() } else { text }
}

/// Topic of a conclusion.
fn topic(said: &Value) -> Result<&str> {
    text(said, "/topic")
}
