//! End of every run's report: how and on which machine it was measured, and all findings as data.

use block::DriveIdentity;
use block::text::escaped_json;
use documents::Decode as _;
use record::Integrity;
use report::html::{Block, Data, Facts, Page};
use report::number;

use documents::recorded::{Recorded, ResultBody};

/// Bytes of a document that a page takes in: with the charts it stays small enough to be sent by mail.
const DATA_MAX: usize = 300_000;

/// The page.
pub fn page(recorded: &Recorded, part: &str) -> Page {
    let mut blocks = vec![Block::Heading("How it was measured".to_owned())];
    blocks.push(Block::Paragraph(method(&recorded.found).to_owned()));
    blocks.push(Block::Heading("With what, on what".to_owned()));
    blocks.extend([run(recorded), drive(recorded), host(recorded)].map(Block::Facts));
    blocks.push(Block::Heading("What was found, as data".to_owned()));
    blocks.push(data(recorded));
    Page {
        part: part.to_owned(),
        title: "Method, environment, data".to_owned(),
        blocks,
        ..Page::default()
    }
}

/// Description of the instrument's method in a few sentences, with references.
fn method(found: &ResultBody) -> &'static str {
    match found {
        ResultBody::Mark(..) => {
            "Each test is a closed loop at a fixed depth: a completion makes room for the next request. Runs of all tests \
             are shuffled, so that a drive which changes over time does not favour one of them. A number is the median of \
             its runs with a 95% interval by order statistics, which fewer than 6 runs do not have. Six proofs stand \
             beside it; one whose bytes were not served by the drive, or whose addresses were not those meant, is \
             withdrawn. More: docs/method/mark.md and docs/method/reached.md."
        }
        ResultBody::Sweep(_) => {
            "One load was measured under many settings, each several times, in an order that is shuffled over all of \
             them. A setting is usable when its runs lie close enough together, with an interval; an analysis of \
             variance within the blocks shows which factors matter. More: docs/method/sweep.md."
        }
        ResultBody::Probe(_) => {
            "What a flash device is made of shows in its access times. Each probe asks for single accesses, one after \
             the other, that would take longer if a boundary or a unit lay where it looks; the inference from those times \
             to an answer is pure and says how sure it is. More: docs/method/probe.md and the page of each probe beside \
             it."
        }
        ResultBody::Survey(_) => {
            "Health, mark, probes and, where writing is allowed, write saturation were asked in the order that suits what the \
             drive says it is; each is a run of its own. What is concluded follows from their results alone, and what they do \
             not tell is unknown. More: docs/method/survey.md."
        }
        ResultBody::Purge(_) => {
            "The drive was emptied as a whole by a command of its own, or by discards or zeros; the same places were read \
             before and afterwards, since a drive's word is not a proof. More: docs/method/purge.md."
        }
        ResultBody::Tests(_) => {
            "Purge, preconditioning, rounds and measurement are one run. Steady state is judged by the specification's \
             rule, by fio's, and by one that counts bytes. More: docs/method/pts.md and docs/method/steady-state.md."
        }
        ResultBody::Replay(_) => {
            "Requests of a recorded application were issued at their own times, or as the mode says. Whether the drive, \
             the replayer or nobody was the limit is judged from how late requests were and by whose fault. More: \
             docs/method/replay.md and docs/method/trace-replay-timing.md."
        }
        ResultBody::Comparison(_) => {
            "The same tests were run on each side. Sides that were measured together took turns in blocks, so that what \
             changes with time falls on all alike; a pair is faster or slower when the interval of its ratio says so for all \
             tests together. More: docs/method/compare.md."
        }
        ResultBody::Compare(_) => {
            "The same requests were replayed on both drives, in rounds that take turns; the verdict is by paired ratios \
             with intervals. More: docs/method/replay.md."
        }
        ResultBody::Analysis(_) => {
            "The trace was read once. I/Os are counted when they arrive (Q) and when they complete (C); what is drawn per \
             slice of time is what arrived in it. More: docs/method/trace-analyze.md and docs/method/trace-load.md."
        }
    }
}

fn facts(title: &str, facts: Vec<(&str, String)>) -> Facts {
    let facts = facts.into_iter().filter(|(_, fact)| !fact.is_empty());
    let facts = facts.map(|(name, fact)| (name.to_owned(), fact)).collect();
    Facts { title: title.to_owned(), facts }
}

fn run(recorded: &Recorded) -> Facts {
    let envelope = &recorded.envelope;
    let record = recorded.record.as_ref().map_or_else(
        || format!("a document alone: {}", recorded.name),
        |record| match &record.integrity {
            Integrity::AsRecorded { files } => {
                let have = if *files == 1 { "has its checksum" } else { "have their checksums" };
                format!("{}; {} {have}", record.state, number::counted(*files, "file"))
            }
            Integrity::Unsealed => format!("{}; no checksums yet", record.state),
            Integrity::Altered(files) => format!("altered since: {}", files.join(", ")),
        },
    );
    let sha = envelope.binary.as_ref().map(|b| format!(", sha256 {}", b.sha256));
    facts(
        "Run",
        vec![
            ("Run", envelope.run_id.to_string()),
            ("Begun", envelope.date.clone()),
            ("Command", format!("drivescope {}", envelope.arguments.join(" "))),
            ("Made by", format!("drivescope {}{}", envelope.version, sha.unwrap_or_default())),
            ("Form", envelope.schema.clone()),
            ("Record", record),
        ],
    )
}

fn drive(recorded: &Recorded) -> Facts {
    let identity = recorded.envelope.drive.clone();
    let identity = identity.and_then(|drive| DriveIdentity::decode(drive).ok());
    let Some(identity) = identity else {
        return facts("Drive", vec![("Target", recorded.target.clone())]);
    };
    let mut known = vec![("Target", identity.name.clone())];
    for leaf in &identity.leaves {
        let told = [Some(leaf.name.clone()), leaf.model.clone(), leaf.serial.clone()];
        let words: Vec<String> =
            told.into_iter().flatten().map(|word| word.trim().to_owned()).collect();
        known.push(("Device", words.join(", ")));
    }
    facts("Drive", known)
}

fn host(recorded: &Recorded) -> Facts {
    let host = &recorded.envelope.host;
    let machine = host.machine.clone().unwrap_or_default();
    facts(
        "Machine",
        vec![
            ("Host", host.name.clone()),
            ("Kernel", format!("Linux {}", host.kernel)),
            ("CPU", format!("{} × {}", host.cpus, machine.cpu_model.unwrap_or_default())),
            ("Memory", machine.memory_bytes.map_or_else(String::new, |b| number::bytes(b as f64))),
        ],
    )
}

fn data(recorded: &Recorded) -> Block {
    let text = escaped_json(&recorded.document.to_string()).into_owned();
    let size = number::bytes(text.len() as f64);
    let name = &recorded.name;
    if text.len() > DATA_MAX {
        let more = match recorded.record {
            Some(_) => format!("it is printed by: drivescope runs show {name} --json"),
            None => format!("it is {name}"),
        };
        return Block::Paragraph(format!("The document has {size}, too much for a page; {more}."));
    }
    Block::Data(Data {
        caption: format!("The document as it was recorded (JSON, {size})"),
        file: format!("drivescope-{}.json", recorded.envelope.run_id),
        text,
    })
}
