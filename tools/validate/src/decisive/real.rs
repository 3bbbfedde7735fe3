//! Default marks of filesystems and of a loop device on this machine's disk.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::score::{CONFIRMED_MIN, Score, WITHIN_S, score, tests};
use crate::{sheet, stacks};

/// Makes the stacks on this machine's disk, and marks them.
const SCRIPT: &str = "tools/validate/src/decisive/stacks.sh";
const STACKS: [&str; 4] = ["ext4", "xfs", "btrfs", "loop"];
const COLUMNS: [&str; 10] = [
    "target",
    "numbers",
    "confirmed",
    "states named",
    "provisional",
    "rejected",
    "of them confirmed",
    "time, s",
    "GB",
    "checks that are not proven",
];

/// Claims, each with whether it holds, and the section of the page.
///
/// # Errors
/// When a stack cannot be made or marked.
pub fn section() -> Result<(Vec<(String, bool)>, String)> {
    let (real, left) = measured()?;
    let all = real.iter().fold(Score::default(), |sum, real| sum.with(real.score));
    let claims = vec![
        (
            format!(
                "at least {:.0}% confirmed on filesystems and a loop device of this machine ({} of {})",
                100.0 * CONFIRMED_MIN,
                all.confirmed,
                all.all() - all.in_states
            ),
            all.share() >= CONFIRMED_MIN,
        ),
        (format!("each mark of these within {WITHIN_S:.0} s"), all.longest_s <= WITHIN_S),
    ];
    let rows: Vec<Vec<String>> = real.iter().map(Real::cells).collect();
    let left: String = left.iter().map(|why| format!("\nLeft out: {why}.\n")).collect();
    let section = format!(
        "## Filesystems and a loop device\n\n\
         One default mark each: of a directory of a filesystem on a loop device with direct I/O, and of such a device itself. All lie \
         on this machine's disk, which others use too. Nobody knows what is right there.\n\n{}{left}",
        sheet::table(1, &COLUMNS, &rows)
    );
    Ok((claims, section))
}

/// Numbers of a real stack, and the proofs that those not confirmed lack.
struct Real {
    name: String,
    score: Score,
    open: Vec<String>,
}

impl Real {
    fn of(name: &str, body: &Value) -> Real {
        let mut score = score(body, &[]);
        let mut open = Vec::new();
        for test in tests(body) {
            // The right value is not known.
            score.add(&test, |_| true);
            let lacking = test.lacking();
            if !lacking.is_empty() {
                let (test, op) = test.words();
                open.push(format!("{test} {op}: {}", lacking.join(", ")));
            }
        }
        Real { name: name.to_owned(), score, open }
    }

    fn cells(&self) -> Vec<String> {
        let Score { confirmed, in_states, provisional, rejected, longest_s, bytes, .. } =
            self.score;
        vec![
            self.name.clone(),
            self.score.all().to_string(),
            confirmed.to_string(),
            in_states.to_string(),
            provisional.to_string(),
            rejected.to_string(),
            format!("{:.0}%", 100.0 * self.score.share()),
            format!("{longest_s:.0}"),
            format!("{:.1}", bytes as f64 / 1e9),
            self.open.join("; "),
        ]
    }
}

/// The marks, and the reasons of the stacks that this machine does not make.
fn measured() -> Result<(Vec<Real>, Vec<String>)> {
    let work = stacks::fresh_dir("decisive")?;
    let disk = stacks::disk_under(&work)?;
    let said = stacks::run_script(SCRIPT, &work, &disk)?;
    let left = said.stderr.lines().filter_map(|line| line.strip_prefix("left "));
    let left: Vec<String> = left.map(str::to_owned).collect();
    let mut real = Vec::new();
    for name in STACKS {
        let path = work.join(name).with_extension("json");
        if !path.exists() {
            ensure!(left.iter().any(|why| why.starts_with(name)), "{name} was not measured");
            continue;
        }
        let text = fs::read(&path).with_context(|| path.display().to_string())?;
        let document: Value =
            serde_json::from_slice(&text).with_context(|| path.display().to_string())?;
        real.push(Real::of(name, &document["body"]));
    }
    fs::remove_dir_all(&work).with_context(|| format!("{}: stays", work.display()))?;
    Ok((real, left))
}
