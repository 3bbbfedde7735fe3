//! Debian's flashbench and our face of it, each on the same drive, fresh and served as a file; and what `import` reads
//! from the tables of the former.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;

use ::probe::{Finding, Name};
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::drive::Subject;
use super::table::{said, value, words};
use crate::binary::Binary;
use crate::serve::flashbench::{CASES, Case, Made, Row, Tester, debians, measure, version};
use crate::serve::server::Server;
use crate::sheet;

/// How far a time of `-a` or the median of `-s` may lie from the other program's.
const TIMES_WITHIN: f64 = 0.1;
/// How far rates of `-O` may in the median. Nothing is repeated there, so that one late reply shows in a row.
const RATES_WITHIN: f64 = 0.1;
/// Properties that `import` has to find in the tables.
const IMPORTED: [Name; 4] =
    [Name::EraseBlock, Name::Page, Name::MultiPlanePage, Name::OpenAuLinear];
/// Options of `-s`: 512 places of 16 KiB, two reads of each.
const SCATTER: [&str; 3] = ["-s", "--scatter-order=9", "--count=2"];
/// Places that they are.
const PLACES: usize = 512;

/// Both programs on one drive.
#[derive(Debug)]
struct Both {
    case: &'static Case,
    debian: Made,
    ours: Made,
    /// Points of `-s`: offset in MiB and milliseconds, Debian's and ours.
    scatter: [Vec<(f64, f64)>; 2],
    /// Findings of `import` in Debian's tables, beside the truth.
    imported: Vec<(Finding, Option<u64>)>,
}

impl Both {
    /// The farthest time of `-a` from the other program's, as a share of it.
    fn align_off(&self) -> f64 {
        let pairs = self.debian.align.iter().zip(&self.ours.align);
        let off = |((_, theirs), (_, ours)): (&Row, &Row)| {
            theirs.iter().zip(ours).map(|(a, b)| (b / a - 1.0).abs()).fold(0.0, f64::max)
        };
        pairs.map(off).fold(0.0, f64::max)
    }

    /// The same of the rates of `-O`: in the median, and of the farthest.
    fn rates_off(&self) -> (f64, f64) {
        let pairs = self.debian.rates.iter().flatten().zip(self.ours.rates.iter().flatten());
        let off: Vec<f64> = pairs.map(|(a, b)| (b / a - 1.0).abs()).collect();
        let farthest = off.iter().copied().fold(0.0, f64::max);
        (stats::median(&off).unwrap_or(f64::NAN), farthest)
    }

    /// The same of the median of `-s`.
    fn scatter_off(&self) -> f64 {
        let [theirs, ours] = self.scatter.each_ref().map(|points| {
            let times: Vec<f64> = points.iter().map(|(_, ms)| *ms).collect();
            stats::median(&times).unwrap_or(f64::NAN)
        });
        (ours / theirs - 1.0).abs()
    }

    /// True when both have the same rows in every table.
    fn has_same_rows(&self) -> bool {
        let rows = |made: &Made| made.align.iter().map(|row| row.0).collect::<Vec<_>>();
        let offsets = |points: &[(f64, f64)]| points.iter().map(|(at, _)| *at).collect::<Vec<_>>();
        let lens = |made: &Made| made.rates.each_ref().map(Vec::len);
        rows(&self.debian) == rows(&self.ours)
            && lens(&self.debian) == lens(&self.ours)
            && offsets(&self.scatter[0]) == offsets(&self.scatter[1])
    }

    /// True when both have their steps and their cliff at the same rows.
    fn has_same_steps(&self) -> bool {
        [&self.debian, &self.ours].iter().all(|made| {
            made.shows(self.case.erase_step) && made.shows(self.case.page_step) && made.has_cliff()
        })
    }

    /// Answers of `import` that are not the truth.
    fn misread(&self) -> Vec<Name> {
        let wrong =
            |(said, truth): &&(Finding, Option<u64>)| said.value.is_none() || said.value != *truth;
        self.imported.iter().filter(wrong).map(|(said, _)| said.name).collect()
    }
}

/// Both programs on all drives.
#[derive(Debug)]
pub(super) struct Face(Vec<Both>);

/// Runs both; what they printed goes to files in `out`.
///
/// # Errors
/// When a program is missing or fails, or a drive cannot be served.
pub(super) fn look(out: &Path, stop: &AtomicBool) -> Result<Face> {
    let binary = Binary::find()?;
    CASES.iter().map(|case| both(case, &binary, out, stop)).collect::<Result<_>>().map(Face)
}

fn both(case: &'static Case, binary: &Binary, out: &Path, stop: &AtomicBool) -> Result<Both> {
    let ours = |arguments: &[String], drive: &Path, out: &Path| face(binary, arguments, drive, out);
    let debian = measure(case, binary, &debians, stop)?;
    let made = measure(case, binary, &ours, stop)?;
    let theirs = out.join(format!("probe-flashbench-{}.txt", case.model));
    for (path, printed) in [
        (&theirs, &debian.printed),
        (&out.join(format!("probe-face-{}.txt", case.model)), &made.printed),
    ] {
        fs::write(path, printed)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
    }
    let scatter = [scatter(case, binary, &debians)?, scatter(case, binary, &ours)?];
    let imported = imported(binary, case, &theirs)?;
    Ok(Both { case, debian, ours: made, scatter, imported })
}

/// Runs our face with flashbench's `arguments`.
fn face(binary: &Binary, arguments: &[String], drive: &Path, out: &Path) -> Result<String> {
    let name = drive.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let output = binary
        .command()
        .arg("flashbench")
        .args(arguments)
        .args([format!("--out={}", out.display()), format!("--consent={name}")])
        .arg(drive)
        .stdin(Stdio::null())
        .output()
        .context("cannot start drivescope")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "drivescope flashbench {} ended with {}: {}",
            arguments.join(" "),
            output.status,
            said.trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The points of `-s` on a fresh drive. They go to a file, the only place that Debian's flashbench has for them.
fn scatter(case: &Case, binary: &Binary, tester: Tester<'_>) -> Result<Vec<(f64, f64)>> {
    let server = Server::start(binary, case.model)?;
    let path = sheet::work_dir()?.join("points.txt");
    let arguments: Vec<String> = SCATTER.iter().map(|word| (*word).to_owned()).collect();
    tester(&arguments, server.file(), &path)?;
    server.stop()?;
    let text =
        fs::read_to_string(&path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let point = |line: &str| {
        let (at, ms) = line.split_once('\t')?;
        Some((at.trim().parse().ok()?, ms.trim().parse().ok()?))
    };
    let points: Option<Vec<(f64, f64)>> = text.lines().map(point).collect();
    points.filter(|points| points.len() == PLACES).context("-s printed something else")
}

/// Findings of `import flashbench` in the tables of a file, beside the truth.
fn imported(binary: &Binary, case: &Case, tables: &Path) -> Result<Vec<(Finding, Option<u64>)>> {
    let truth = Subject::of(&format!("sim:{}", case.model))?;
    let output = binary
        .command()
        .args(["import", "flashbench", "--json"])
        .arg(tables)
        .stdin(Stdio::null())
        .output()
        .context("cannot start drivescope")?;
    let said = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
    ensure!(matches!(output.status.code(), Some(0 | 1)), "drivescope import: {}", said());
    let mut document: Value = serde_json::from_slice(&output.stdout)?;
    let findings: Vec<Finding> = serde_json::from_value(document["body"]["findings"].take())?;
    let of = |name: &Name| {
        let finding = findings.iter().find(|finding| finding.name == *name).cloned();
        (finding.unwrap_or_else(|| Finding::unknown(*name, "not told")), truth.truth(*name))
    };
    Ok(IMPORTED.iter().map(of).collect())
}

impl Face {
    /// Describes each check that failed.
    pub(super) fn shortfalls(&self) -> Vec<String> {
        let of = |both: &Both| {
            let mut found = Vec::new();
            let mut ask = |is_so: bool, what: &str| {
                if !is_so {
                    found.push(what.to_owned());
                }
            };
            ask(both.has_same_rows(), "other rows");
            ask(both.has_same_steps(), "other steps");
            ask(both.align_off() <= TIMES_WITHIN, "times of -a");
            ask(both.scatter_off() <= TIMES_WITHIN, "times of -s");
            ask(both.rates_off().0 <= RATES_WITHIN, "rates of -O");
            found
                .extend(both.misread().into_iter().map(|name| format!("imported {}", words(name))));
            let what =
                || format!("flashbench's face on `{}`: {}", both.case.model, found.join(", "));
            (!found.is_empty()).then(what)
        };
        self.0.iter().filter_map(of).collect()
    }

    /// The section.
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "\n## flashbench\n\nDebian's flashbench ({}) and our face of it, each with the same options on the same \
             drive, fresh for each test and served as a file by `drivescope sim serve`: `-a --blocksize=1024`, `-O` \
             with the last count of erase blocks that is fast and the first that is not, and `{}`. Both have to print \
             the same rows with the steps and the cliff where the model has them; each time of `-a` and the median of \
             `-s` has to lie within {:.0}% of the other program's, rates of `-O` in the median within {:.0}%. \
             Crossing costs are \
             told as Debian's / ours.\n\n",
            version(),
            SCATTER.join(" "),
            100.0 * TIMES_WITHIN,
            100.0 * RATES_WITHIN
        );
        let head = [
            "model",
            "rows of -a",
            "same rows",
            "erase block",
            "below it",
            "page",
            "below it",
            "fall of -O within",
            "beyond",
            "farthest time of -a",
            "rates of -O, median / farthest",
            "median of -s",
        ];
        text += &sheet::table(1, &head, &self.0.iter().map(row).collect::<Vec<_>>());
        text += "\nWhat `drivescope import flashbench` says of the tables that Debian's flashbench printed:\n\n";
        let rows: Vec<Vec<String>> = self.0.iter().flat_map(read_back).collect();
        text += &sheet::table(4, &["model", "property", "said", "true"], &rows);
        for Both { case: Case { model, .. }, .. } in &self.0 {
            text += &format!(
                "\nAll that was printed of {model}: [Debian's](probe-flashbench-{model}.txt), \
                 [ours](probe-face-{model}.txt).\n"
            );
        }
        text
    }
}

fn row(both: &Both) -> Vec<String> {
    let case = both.case;
    let diff = |align: u64| {
        let [theirs, ours] = [&both.debian, &both.ours].map(|made| made.diff(align) / 1e3);
        format!("{theirs:.0} / {ours:.0} µs")
    };
    let fall =
        |which: usize| format!("{:.1} / {:.1}", both.debian.fall(which), both.ours.fall(which));
    let percent = |share: f64| format!("{:.1}%", 100.0 * share);
    vec![
        format!("`{}`", case.model),
        both.ours.align.len().to_string(),
        if both.has_same_rows() { "yes" } else { "**no**" }.to_owned(),
        diff(case.erase_step[0]),
        diff(case.erase_step[1]),
        diff(case.page_step[0]),
        diff(case.page_step[1]),
        fall(0),
        fall(1),
        percent(both.align_off()),
        format!("{} / {}", percent(both.rates_off().0), percent(both.rates_off().1)),
        percent(both.scatter_off()),
    ]
}

fn read_back(both: &Both) -> Vec<Vec<String>> {
    let misread = both.misread();
    let row = |(finding, truth): &(Finding, Option<u64>)| {
        let text = said(finding);
        let text = if misread.contains(&finding.name) {
            format!("**{text}**: {}", finding.reason.replace('|', "/"))
        } else {
            text
        };
        let truth = value(finding.name, *truth);
        vec![format!("`{}`", both.case.model), words(finding.name), text, truth]
    };
    both.imported.iter().map(row).collect()
}
