//! Drives that are not cards: the structures of flash cards are looked for there, and must not be found.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use ::probe::{Finding, Name, Spent, Verdict};
use anyhow::Result;
use block::Bytes;

use super::ask::{Questions, Said, ask_virtual, tasks};
use super::drive::{SCORED, Subject};
use super::table::{said, words};
use crate::binary::Binary;
use crate::loop_device::LoopOnNewFile;
use crate::sheet;
use crate::threads::on_threads;

/// Seeds of each model: its own noise, and the order in which the probes ask.
const SEEDS: u64 = 3;
/// Size of the loop device.
const LOOP: Bytes = Bytes::gib(1);

/// Answers about one drive.
#[derive(Debug)]
struct Look {
    drive: String,
    /// Bits of a cell; `None` where there are no cells, or their bits are unknown.
    bits: Option<u64>,
    said: Said,
}

impl Look {
    /// Numbers for what is not there.
    fn claims(&self) -> Vec<Finding> {
        let is_claim = |f: &Finding| f.verdict == Verdict::Found && !self.has(f);
        SCORED.iter().map(|name| self.said.of(*name)).filter(is_claim).collect()
    }

    /// True for a count of bands that is that of the bits of a cell: where data lies still, a drive of flash shows
    /// its kinds of pages as a card does.
    fn has(&self, finding: &Finding) -> bool {
        finding.name == Name::CellBands && finding.value.is_some() && finding.value == self.bits
    }
}

/// Answers about all drives.
#[derive(Debug)]
pub(super) struct Plain {
    looks: Vec<Look>,
    /// Why no loop device was among them.
    without_loop: Option<&'static str>,
}

/// Asks all models that are not cards.
///
/// # Errors
/// When one cannot be opened.
pub(super) fn look(jobs: u16, stop: &AtomicBool) -> Result<Plain> {
    let models = ::sim::list().into_iter().filter(|model| model.kind != "card");
    let specs: Vec<(String, u64)> = models
        .flat_map(|model| {
            states(&model.name).into_iter().map(move |state| (model.name.clone(), state))
        })
        .flat_map(|(name, state)| {
            (0..SEEDS).map(move |seed| (format!("sim:{name}?seed={seed}{state}"), seed))
        })
        .collect();
    let looks = on_threads(jobs.into(), specs.len(), stop, |at| {
        let (spec, seed) = &specs[at];
        let (given, may_write) = (Vec::new(), true);
        let questions = Questions { tasks: tasks(&SCORED), given, seed: *seed, may_write };
        let answers = ask_virtual(&Subject::of(spec)?, &questions)?;
        let levels = ::sim::show(spec)?.truth.cell_levels;
        let bits = levels.map(|levels| u64::from(levels.ilog2()));
        let look = Look { drive: spec.clone(), bits, said: answers };
        for claim in look.claims() {
            eprintln!("{spec}: {} {}: {}", words(claim.name), said(&claim), claim.reason);
        }
        Ok(look)
    })?;
    let mut plain = Plain { looks, without_loop: None };
    if rustix::process::geteuid().is_root() {
        plain.looks.push(loop_device(stop)?);
    } else {
        plain.without_loop = Some("No loop device was looked at, which takes root.");
    }
    Ok(plain)
}

/// A loop device on a file that is written in full, looked at by the binary, reading only.
fn loop_device(stop: &AtomicBool) -> Result<Look> {
    eprintln!("a loop device");
    let made = LoopOnNewFile::make(&sheet::work_dir()?, LOOP, stop)?;
    let device = made.device.path().to_string_lossy().into_owned();
    let begun = Instant::now();
    let mut body = Binary::find()?.body(&["probe".to_owned(), device])?;
    let findings: Vec<Finding> = serde_json::from_value(body["findings"].take())?;
    let spent: Spent = serde_json::from_value(body["spent"].take())?;
    let said = Said { findings, halted: None, spent, wall: begun.elapsed() };
    Ok(Look { drive: "a loop device on a file".to_owned(), bits: None, said })
}

/// As it begins, and filled: what a drive of flash holds makes a difference to reads. Drives that write in place,
/// disks among them, have no such state.
fn states(name: &str) -> Vec<&'static str> {
    let has = |state: &&str| ::sim::show(&format!("sim:{name}?seed=0{state}")).is_ok();
    ["", "&state=filled"].into_iter().filter(has).collect()
}

impl Plain {
    /// Lists the claims, with the drive of each.
    pub(super) fn shortfalls(&self) -> Vec<String> {
        let of = |look: &Look| {
            let claims: Vec<String> =
                look.claims().iter().map(|c| format!("{} {}", words(c.name), said(c))).collect();
            (!claims.is_empty()).then(|| format!("`{}`: {}", look.drive, claims.join(", ")))
        };
        self.looks.iter().filter_map(of).collect()
    }

    /// The section.
    pub(super) fn text(&self) -> String {
        let row = |look: &Look| {
            let mut cells = vec![format!("`{}`", look.drive)];
            cells.extend(SCORED.iter().map(|name| {
                let answer = look.said.of(*name);
                match answer.verdict {
                    Verdict::Found if !look.has(&answer) => format!("**{}**", said(&answer)),
                    _ => said(&answer),
                }
            }));
            cells
        };
        let mut head = vec!["drive".to_owned()];
        head.extend(SCORED.iter().map(|name: &Name| words(*name)));
        let head: Vec<&str> = head.iter().map(String::as_str).collect();
        let rows: Vec<Vec<String>> = self.looks.iter().map(row).collect();
        format!(
            "\n## Drives without structure\n\nDisks and drives of flash behind a controller that maps pages: none of \
             what a card has shows from outside, so *none* and *unknown* are right, and any number is wrong but the \
             bits of their cells, which reads of data that lies still may show. {} seeds of each; in \
             brackets, the confidence. {}\n\n{}",
            SEEDS,
            self.without_loop.unwrap_or("The loop device is looked at reading only."),
            sheet::table(head.len(), &head, &rows)
        )
    }
}
