//! `filesystems`: which filesystem, and which array under it, is the fastest, with verdicts: on this machine's own disk, and in the lab
//! on drives that have a speed of their own.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use ::lab::outcome::Outcome;
use anyhow::{Context as _, Result, ensure};
use clap::Args;
use mark::compare::{ComparedTest, Comparison, Figures, Ranked, Verdict};
use serde_json::Value;

use crate::binary::Binary;
use crate::provenance::{self, Machine};
use crate::{reached, sheet, stacks};

/// Options of `filesystems`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Outcomes of the lab's scenarios rank-*, of the same commit, instead of running them again
    #[arg(long, value_name = "FILE")]
    outcomes: Option<PathBuf>,
    /// Output directory of the table
    #[arg(long, default_value = sheet::DOCS)]
    out: PathBuf,
}

const SCRIPT: &str = "tools/validate/src/filesystems/filesystems.sh";

/// Comparisons of the same sides.
struct Part {
    title: &'static str,
    /// Meaning of its figures, and their limits.
    words: &'static str,
    /// One, or one a test.
    comparisons: Vec<Comparison>,
}

const DISK: &str = "Each filesystem lies on a loop device with direct I/O of its own, whose file is on this machine's disk. All share \
    that disk, and one is measured while the others wait: differences are what the filesystems make of a request above the \
    same disk. The loop device's worker and the disk's own filesystem are in every figure. `ext4-again` is a control: it differs \
    from `ext4` in its place on the disk alone, and what those two are apart is no filesystem's doing.";
const BTRFS: &str = "Btrfs over three such loop devices (one, for `single`), with metadata as `mkfs.btrfs` chooses. The members share one \
    disk, so none of these is as fast as on three: a stripe gains nothing, and a copy costs the disk a second write. What is \
    ranked is the work that a profile makes.";
const DRIVE: &str = "One emulated NVMe drive of 48 MiB and 400 requests a second, a namespace for each filesystem. Where all reach the \
    drive's speed they are equal because the drive is the limit, as on a disk; what is below it is the filesystem's own work, \
    done by an emulated CPU that is tens of times slower than a real one. No figure says how fast a filesystem is elsewhere.";
const RAID: &str = "Arrays of md over three such drives, chunks of 64 KiB, a namespace of each drive for each array. Members have a speed of \
    their own, so that the ranks are those of the arithmetic: RAID 0 has three drives, RAID 1 writes with one and reads with \
    up to three, RAID 5 reads and writes again what a small write leaves of its stripe. Stripes that the array's own memory \
    serves, and an emulated CPU, are in the figures too.";

/// Ranks, and writes the page; false when a scenario of the lab failed.
///
/// # Errors
/// When the filesystems cannot be made or measured, or the page not be written.
pub fn run(options: &Options) -> Result<bool> {
    let binary = Binary::find()?;
    let out = sheet::table_dir(Some(&options.out), false)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let (mut parts, filesystem, left) = here(&binary)?;
    let outcomes = match &options.outcomes {
        Some(path) => path.clone(),
        None => {
            let path = sheet::work_dir()?.join("rank.json");
            reached::run_lab(&["--tag", "rank"], &path)?;
            path
        }
    };
    let outcomes: Vec<Outcome> = reached::read(&outcomes)?;
    for (name, title, words) in [
        ("rank-filesystems", "One drive with a speed of its own", DRIVE),
        ("rank-raid", "RAID of three drives with a speed of their own", RAID),
    ] {
        let outcome = outcomes.iter().find(|outcome| outcome.name == name);
        let outcome = outcome.with_context(|| format!("{name}: is not among the outcomes"))?;
        let comparisons = of_lab(outcome)?;
        parts.push(Part { title, words, comparisons });
    }
    let path = out.join("filesystems.csv");
    fs::write(&path, csv(&parts))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    let more = [
        ("The files' filesystem", filesystem),
        ("Build", build.to_owned()),
        ("Load average at the start", load),
    ];
    let head = sheet::provenance(&commit, &Machine::here(), "filesystems.csv", &more);
    sheet::write(&out.join("filesystems.md"), &page(&head, &parts, &left))?;
    let faulty = outcomes.iter().filter(|o| o.name.starts_with("rank-") && !o.is_green());
    Ok(faulty.inspect(|outcome| eprint!("{}", outcome.complaint())).count() == 0)
}

/// Returns the ranks on this machine's own kernel, the filesystem of its disk, and the parts left out.
fn here(binary: &Binary) -> Result<(Vec<Part>, String, Vec<String>)> {
    let work = stacks::fresh_dir("filesystems")?;
    let ran = Command::new("bash")
        .arg(SCRIPT)
        .arg(&work)
        .env("PATH", stacks::with_program(binary)?)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .context("cannot start bash")?;
    let said = String::from_utf8_lossy(&ran.stderr);
    eprint!("{said}");
    ensure!(ran.status.success(), "{SCRIPT} ended with {}", ran.status);
    let one = |name: &str, title, words| -> Result<Part> {
        let path = work.join(name);
        let text = fs::read(&path).with_context(|| path.display().to_string())?;
        let document: Value =
            serde_json::from_slice(&text).with_context(|| path.display().to_string())?;
        Ok(Part { title, words, comparisons: vec![comparison(&document)?] })
    };
    let parts = vec![
        one("disk.json", "One loop device on this machine's disk", DISK)?,
        one("btrfs.json", "Btrfs's own profiles, over loop devices on one disk", BTRFS)?,
    ];
    let left = said.lines().filter_map(|line| Some(line.strip_prefix("left ")?.to_owned()));
    let left = left.collect();
    let filesystem = provenance::filesystem(&work)?;
    fs::remove_dir_all(&work).with_context(|| format!("{}: stays", work.display()))?;
    Ok((parts, filesystem, left))
}

/// Comparisons printed by the steps of a scenario, in their order.
fn of_lab(outcome: &Outcome) -> Result<Vec<Comparison>> {
    let documents = outcome.steps.iter().filter_map(|step| step.json.as_ref());
    let found: Vec<Comparison> = documents.map(comparison).collect::<Result<_>>()?;
    let why = || outcome.skipped.clone().unwrap_or_else(|| outcome.complaint());
    ensure!(!found.is_empty(), "{}: nothing was compared: {}", outcome.name, why());
    Ok(found)
}

fn comparison(document: &Value) -> Result<Comparison> {
    serde_json::from_value(document["body"].clone()).context("no document of `drivescope compare`")
}

impl Part {
    fn tests(&self) -> impl Iterator<Item = &ComparedTest> {
        self.comparisons.iter().flat_map(|comparison| &comparison.tests)
    }

    fn sides(&self) -> impl Iterator<Item = (usize, &str)> {
        let sides = self.comparisons.first().map_or(&[][..], |comparison| &comparison.sides);
        sides.iter().map(|side| side.name.as_str()).enumerate()
    }
}

/// A side's figures in a test, with its rank where it has one.
fn standing(test: &ComparedTest, side: usize) -> Option<(&Figures, Option<Ranked>)> {
    let ranked = test.ranking.iter().find(|ranked| ranked.side == side).copied();
    test.sides.get(side)?.as_ref().map(|figures| (figures, ranked))
}

fn ranks(ranked: Ranked) -> String {
    match ranked.best == ranked.worst {
        true => ranked.best.to_string(),
        false => format!("{}–{}", ranked.best, ranked.worst),
    }
}

fn csv(parts: &[Part]) -> String {
    let mut text =
        "where,test,op,side,reached,mb_s_median,mb_s_low,mb_s_high,rank_best,rank_worst\n"
            .to_owned();
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.4}"));
    for part in parts {
        for test in part.tests() {
            for (side, name) in part.sides() {
                let Some((figures, ranked)) = standing(test, side) else { continue };
                let rate = &figures.mb_s;
                let ranks = ranked
                    .map_or(",".to_owned(), |ranked| format!("{},{}", ranked.best, ranked.worst));
                let _ = writeln!(
                    text,
                    "\"{}\",{},{},{name},{},{},{},{},{ranks}",
                    part.title,
                    test.name,
                    test.op,
                    format!("{:?}", figures.reached).to_lowercase(),
                    number(rate.median),
                    number(rate.low),
                    number(rate.high),
                );
            }
        }
    }
    text
}

fn page(head: &str, parts: &[Part], left: &[String]) -> String {
    let mut text = format!(
        "# Filesystems and arrays, ranked\n\n{head}Measured by `drivescope compare` in twelve blocks of random order, with direct \
         I/O ([method](../method/compare.md)). Each cell is the median in MB/s and, behind it, the ranks that are left: 1 more \
         than those surely faster, to all less those surely slower; the ranks of a comparison hold together at 95%. The \
         proof *reached* is proven for a number without a mark and unprovable for one with a question mark; a refuted one is \
         withdrawn and not ranked. Where half of the runs saw no request through, it is too slow to tell.\n"
    );
    parts.iter().for_each(|part| text += &section(part));
    if !left.is_empty() {
        text += "\n## Left out on this machine\n\n";
        left.iter().for_each(|why| text += &format!("- {why}\n"));
    }
    text
}

fn section(part: &Part) -> String {
    let tests: Vec<&ComparedTest> = part.tests().collect();
    let names: Vec<String> =
        tests.iter().map(|test| format!("{} {}", test.name, test.op)).collect();
    let mut columns = vec![""];
    columns.extend(names.iter().map(String::as_str));
    let rows: Vec<Vec<String>> = (part.sides())
        .map(|(side, name)| {
            let cells = tests.iter().map(|test| cell(test, side));
            std::iter::once(name.to_owned()).chain(cells).collect()
        })
        .collect();
    let count = |verdict| {
        let pairs = tests.iter().flat_map(|test| &test.pairs);
        pairs.filter(|pair| pair.outcome == verdict).count()
    };
    let all: usize = tests.iter().map(|test| test.pairs.len()).sum();
    format!(
        "\n## {}\n\n{}\n\n{}\nOf {all} pairs {} are told apart, {} equivalent, {} undecided and {} not comparable.\n",
        part.title,
        part.words,
        sheet::table(1, &columns, &rows),
        count(Verdict::Faster) + count(Verdict::Slower),
        count(Verdict::Equivalent),
        count(Verdict::Undecided),
        count(Verdict::NotComparable)
    )
}

fn cell(test: &ComparedTest, side: usize) -> String {
    let Some((figures, ranked)) = standing(test, side) else { return "–".to_owned() };
    let Some((ranked, median)) = ranked.zip(figures.mb_s.median) else {
        let is_slow = figures.headline || figures.reached != stats::Verdict::Refuted;
        return if is_slow { "too slow to tell" } else { "withdrawn" }.to_owned();
    };
    let doubt = if figures.reached == stats::Verdict::Proven { "" } else { "?" };
    format!("{median:.2}{doubt} · {}", ranks(ranked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Three sides: the first surely before the second, the number of the third withdrawn.
    fn part() -> Part {
        let rate = |median: f64| json!({"median": median, "low": median, "high": null, "n": 6, "r_over_avg": 0.0, "cv": 0.0, "best": median});
        let latency = json!({"p50": 1, "p99": 1, "p999": 1, "max": 1, "mean": 1.0});
        let side = |median, reached: &str| {
            let headline = reached != "refuted";
            json!({"headline": headline, "reached": reached, "mb_s": rate(median), "latency_ns": latency, "two_modes": false})
        };
        let pair =
            json!({"of": 1, "to": 0, "outcome": "slower", "design": "blocks", "runs": [6, 6]});
        let named = |name: &str| json!({"name": name, "run_id": null, "date": null, "drive": "", "blocks": null});
        let test = json!({
            "name": "RND4K Q1T1", "op": "read", "pairs": [pair],
            "sides": [side(2.0, "proven"), side(1.0, "unprovable"), side(9.0, "refuted")],
            "ranking": [{"side": 0, "best": 1, "worst": 1}, {"side": 1, "best": 2, "worst": 2}],
        });
        let sides = ["a", "b", "c"].map(named);
        let body = json!({
            "margin_percent": 2.0, "confidence": 0.95, "sides": sides, "tests": [test], "caveats": [],
        });
        let comparisons = vec![comparison(&json!({ "body": body })).unwrap()];
        Part { title: "Somewhere", words: "Words.", comparisons }
    }

    // A number that a cache made would be first in the table of the fastest filesystems.
    #[test]
    fn a_refuted_number_is_withdrawn_and_has_no_rank() {
        let text = page("", &[part()], &["jfs: not here".to_owned()]);
        for part in
            ["| a | 2.00 · 1 |", "| b | 1.00? · 2 |", "| c | withdrawn |", "- jfs: not here"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(text.contains("Of 1 pairs 1 are told apart, 0 equivalent"), "{text}");
        let rows = csv(&[part()]);
        assert!(rows.ends_with("read,c,refuted,9.0000,9.0000,,,\n"), "{rows}");
        assert!(rows.contains("read,b,unprovable,1.0000,1.0000,,2,2\n"), "{rows}");
    }

    // A scenario that was skipped would be a table without rows.
    #[test]
    fn a_scenario_that_compared_nothing_is_named_with_its_reason() {
        let skipped = Outcome {
            name: "rank-raid".into(),
            skipped: Some("mdadm is not installed".into()),
            ..Outcome::default()
        };
        let error = of_lab(&skipped).unwrap_err().to_string();
        assert!(error.contains("rank-raid") && error.contains("mdadm"), "{error}");
    }
}
