//! `reached-stacks`: the proof *reached* on many stacks of this machine, as root and as `nobody`, against the kernel's
//! own events at the disk.
//!
//! The product uses those events too, so nothing of it counts here: a script has the kernel write them as text, `filefrag`
//! says where the files lie, and this file adds up.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use lab::reached::{Cell, Count, Worth, cells};

use crate::provenance::{self, Machine};
use crate::stacks::{disk_under, disk_words, extents, fresh_dir, run_script};
use crate::{reached, sheet};

/// Options of `reached-stacks`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Output directory of the table
    #[arg(long, default_value = sheet::DOCS)]
    out: PathBuf,
}

const SCRIPT: &str = "tools/validate/src/reached_stacks/stacks.sh";

/// Stacks on which every byte crosses: their names begin so.
const PLAIN: &str = "plain:";

/// Measures on all stacks and writes the table; false when a verdict was wrong, or too few were proven.
///
/// # Errors
/// When a stack cannot be measured on, or the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let out = sheet::table_dir(Some(&options.out), false)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let work = fresh_dir("reached-stacks")?;
    let disk = disk_under(&work)?;
    let began = std::time::Instant::now();
    let stdout = run_script(SCRIPT, &work, &disk)?.stdout;
    let seconds = began.elapsed().as_secs();
    let (mut texts, mut counts, mut left) = (String::new(), Vec::new(), Vec::new());
    for (number, text) in (1..).zip(cell_texts(&stdout)) {
        let name = text.lines().next().unwrap_or_default().trim_start_matches("cell ");
        match moved(&work, number) {
            _ if !text.contains("\"reached\"") => left.push(format!("{name}: not measured")),
            Ok(count) => {
                texts += text;
                counts.extend([Count::default(), count]);
            }
            Err(error) => left.push(format!("{name}: {error:#}")),
        }
    }
    let cells = cells(&texts, &counts)?;
    let path = out.join("reached-stacks.csv");
    fs::write(&path, reached::csv(&cells, "event"))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let head = sheet::provenance(
        &commit,
        &Machine::here(),
        "reached-stacks.csv",
        &[
            ("The disk is", disk_words(&disk)),
            ("The files' filesystem", provenance::filesystem(&work)?),
            ("Time", format!("{seconds} s")),
            ("Build", if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned()),
            ("Load average at the start", load),
        ],
    );
    let scores = [score(&cells, "root"), score(&cells, "user")];
    sheet::write(&out.join("reached-stacks.md"), &page(&head, &cells, &scores, &left))?;
    fs::remove_dir_all(&work).with_context(|| format!("{}: stays", work.display()))?;
    let [root, user] = &scores;
    Ok(root.wrong + user.wrong == 0 && root.plain_share() >= 0.95 && user.plain_share() >= 0.85)
}

/// A cell's line and document each.
fn cell_texts(stdout: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = stdout.match_indices("cell ").map(|(at, _)| at).collect();
    starts.retain(|&at| at == 0 || stdout[..at].ends_with('\n'));
    let ends = starts.iter().copied().skip(1).chain([stdout.len()]);
    starts.iter().zip(ends).map(|(&start, end)| &stdout[start..end]).collect()
}

/// Verdicts of one who measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Score {
    right: usize,
    wrong: usize,
    open: usize,
    /// On plain stacks, where every byte crossed as the events say.
    plain: usize,
    /// Of these, proven.
    plain_proven: usize,
}

impl Score {
    fn plain_share(&self) -> f64 {
        self.plain_proven as f64 / self.plain.max(1) as f64
    }
}

fn score(cells: &[Cell], who: &str) -> Score {
    let mut score = Score::default();
    for (cell, stack) in cells.iter().filter_map(|cell| Some((cell, of(cell, who)?))) {
        match cell.worth {
            Worth::Right => score.right += 1,
            Worth::Undecided => score.open += 1,
            Worth::WrongProven | Worth::WrongRefuted => score.wrong += 1,
        }
        if stack.starts_with(PLAIN) && cell.true_ratio >= 0.97 {
            score.plain += 1;
            score.plain_proven += usize::from(cell.verdict == "proven");
        }
    }
    score
}

/// The stack of a cell that `who` measured.
fn of<'a>(cell: &'a Cell, who: &str) -> Option<&'a str> {
    cell.stack.split_once('/').filter(|(of, _)| *of == who).map(|(_, stack)| stack)
}

fn page(head: &str, cells: &[Cell], scores: &[Score; 2], left: &[String]) -> String {
    let ops: std::collections::BTreeSet<_> = cells
        .iter()
        .map(|c| (c.stack.split_once('/').map(|(_, s)| s), &c.filesystem, &c.direction))
        .collect();
    let mut text = format!(
        "# Reached, as root and as nobody, against the kernel's events at the disk\n\n{} verdicts on {} stacks × ops.\n\n{head}",
        cells.len(),
        ops.len()
    );
    text += "Each row is a test of 0.3 s on a stack of this machine. *Ours* are the bytes that drivescope read off the disk's \
             counters, *charged* those that the kernel charged to it, *true* those that the kernel's own events \
             (`block_rq_complete`, read as text by a script) show at the disk within the places of the files underneath, each \
             for a byte issued. Proven is wrong where fewer than 0.97 of the least came there or a cache was put between, \
             refuted where they did and none was. *Plain* are ext4, XFS and Btrfs on the disk or in images with direct \
             I/O where every byte crossed, also beside others who read or write the same disk.\n\n";
    let rows: Vec<Vec<String>> = ["root", "nobody"].iter().zip(scores).map(score_row).collect();
    let columns =
        ["measured as", "right", "wrong", "left open", "plain, crossed", "proven of these"];
    text += &sheet::table(1, &columns, &rows);
    text += "\n";
    text += &reached::table(cells);
    if !left.is_empty() {
        text += "\n## Left out\n\n";
        left.iter().for_each(|why| {
            let _ = writeln!(text, "- {why}");
        });
    }
    text
}

fn score_row((who, score): (&&str, &Score)) -> Vec<String> {
    let share = format!("{:.1}%", 100.0 * score.plain_share());
    let counts = [score.right, score.wrong, score.open, score.plain].map(|n| n.to_string());
    [(*who).to_owned()].into_iter().chain(counts).chain([share]).collect()
}

/// Bytes that came to the places of a cell's files.
fn moved(work: &Path, number: usize) -> Result<Count> {
    let read = |name: String| {
        let path = work.join(name);
        fs::read_to_string(&path).with_context(|| path.display().to_string())
    };
    let chain = read(format!("{number}.chain"))?;
    let mut places = Vec::new();
    for when in ["before", "after"] {
        let mut maps: BTreeMap<usize, Vec<Extent>> = BTreeMap::new();
        for (at, _) in chain.lines().enumerate().filter(|(_, word)| word.starts_with('/')) {
            maps.insert(at, extents(&read(format!("{number}.{at}.{when}"))?));
        }
        places.extend(followed(&chain, &maps));
    }
    count(&read(format!("{number}.trace"))?, &joined(places))
}

/// Logical and physical bytes of an extent.
pub type Extent = (Range<u64>, Range<u64>);

/// Places on the disk of what lies under the target, by the extents of the files of its chain.
fn followed(chain: &str, maps: &BTreeMap<usize, Vec<Extent>>) -> Vec<Range<u64>> {
    let all = || std::iter::once(0..u64::MAX).collect::<Vec<Range<u64>>>();
    let (mut found, mut ranges) = (Vec::new(), all());
    for (at, word) in chain.lines().enumerate() {
        match word {
            "@" => found.extend(std::mem::replace(&mut ranges, all())),
            "-" => ranges = all(),
            _ if word.starts_with("all") => {
                let offset = word.split_once('+').and_then(|(_, n)| n.parse().ok()).unwrap_or(0);
                ranges = std::iter::once(offset..u64::MAX).collect();
            }
            _ => {
                let under = |range: &Range<u64>| {
                    let map = maps.get(&at).map_or(&[][..], |map| &map[..]);
                    let part = |(logical, physical): &Extent| {
                        let (low, high) =
                            (logical.start.max(range.start), logical.end.min(range.end));
                        let start = physical.start + low.saturating_sub(logical.start);
                        (low < high).then(|| start..start + (high - low))
                    };
                    map.iter().filter_map(part).collect::<Vec<_>>()
                };
                ranges = ranges.iter().flat_map(under).collect();
            }
        }
    }
    found.extend(ranges);
    found
}

/// The same without overlaps, in ascending order.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Adds up the kernel's lines: `… block_rq_complete: 254,0 WS () 307776352 + 16 be,0,4 [0]`.
fn count(trace: &str, places: &[Range<u64>]) -> Result<Count> {
    ensure!(!trace.contains("LOST"), "the kernel lost events");
    let mut sum = Count::default();
    for line in trace.lines() {
        let Some((_, event)) = line.split_once("block_rq_complete: ") else { continue };
        let words: Vec<&str> = event.split_whitespace().collect();
        let [_, rwbs, _, sector, "+", sectors, ..] = words[..] else { continue };
        let (Ok(sector), Ok(sectors)) = (sector.parse::<u64>(), sectors.parse::<u64>()) else {
            continue;
        };
        if sectors == 0 || !line.trim_end().ends_with("[0]") {
            continue;
        }
        let (from, to) = (sector * 512, (sector + sectors) * 512);
        let first = places.partition_point(|place| place.end <= from);
        let within = places[first..].iter().take_while(|place| place.start < to);
        let bytes: u64 = within.map(|p| p.end.min(to) - p.start.max(from)).sum();
        // An F before the letter of the data is a flush.
        match rwbs.trim_start_matches('F').as_bytes().first() {
            Some(b'R') => sum.read_bytes += bytes,
            Some(b'W') => sum.write_bytes += bytes,
            _ => {}
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Were places followed wrongly, a wrong verdict would be counted as right.
    #[test]
    fn a_file_in_an_image_is_followed_to_the_disk() {
        let file = vec![(0..4096, 8192..12288), (4096..8192, 0..4096)];
        let image = vec![(0..8192, 100_000..108_192), (8192..16384, 500_000..508_192)];
        let maps = BTreeMap::from([(0, file), (1, image.clone())]);
        let places = joined(followed("/file\n/image\n", &maps));
        assert_eq!(places, [100_000..104_096, 500_000..504_096]);
        let whole = BTreeMap::from([(1, image.clone()), (4, image)]);
        let one = joined(followed("all+8192\n/image", &whole));
        assert!(one.len() == 1 && one[0] == (500_000..508_192), "{one:?}");
        assert_eq!(joined(followed("-\n/image\n@\n-\n/other", &whole)).len(), 2);
    }

    #[test]
    fn lines_of_the_kernel_are_added_up() {
        let line = |rest: &str| format!("  dd-1 [001] ..s.. 2.5: block_rq_complete: {rest}\n");
        let trace = [
            "254,0 WS () 8 + 16 be,0,4 [0]",
            "254,0 RA () 0 + 8 be,0,4 [0]",
            "254,0 R () 8 + 8 be,0,4 [-5]",
            "254,0 FWFS () 8 + 8 be,0,4 [0]",
            "254,0 FF () 18446744073709551615 + 0 none,0,0 [0]",
            "254,0 D () 8 + 8 be,0,4 [0]",
        ];
        let trace: String = trace.iter().map(|rest| line(rest)).collect();
        let places: [Range<u64>; 2] = [2048..8192, 10_240..11_000];
        let sum = count(&trace, &places).unwrap();
        let write_bytes = (8192 - 4096) + 760 + (8192 - 4096);
        assert_eq!(sum, Count { read_bytes: 2048, write_bytes });
        assert!(count("CPU:1 [LOST 7 EVENTS]", &[]).is_err());
    }

    #[test]
    fn a_cell_is_a_line_and_what_follows_it() {
        let texts = cell_texts("cell a\n{ cell b }\ncell c\n");
        assert_eq!(texts, ["cell a\n{ cell b }\n", "cell c\n"]);
    }
}
