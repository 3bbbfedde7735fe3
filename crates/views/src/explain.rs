//! Prediction of what a command does, for people.

use mark::explain::{Amount, EndsBy, Explained, Job, Reuse, Tool, Way};
use report::{Entry, Listing, Tone, number};

use crate::remedies;

/// Lays out `explained`, but for the commands to run instead.
pub fn listing(explained: &Explained) -> Listing {
    let mut entries: Vec<Entry> = explained.jobs.iter().map(|job| entry(explained, job)).collect();
    let caveats = &explained.caveats;
    entries.push(Entry {
        title: "What would mislead".to_owned(),
        summary: String::new(),
        facts: Vec::new(),
        notes: caveats
            .iter()
            .map(|caveat| {
                let whom = if explained.jobs.len() > 1 {
                    format!("{}: ", caveat.subject)
                } else {
                    String::new()
                };
                (Tone::Mixed, format!("{whom}{} → {}", caveat.cause, remedies::sentence(caveat)))
            })
            .collect(),
        leads: false,
    });
    entries.push(Entry {
        title: "Instead".to_owned(),
        summary: String::new(),
        facts: Vec::new(),
        notes: explained.equivalent.differs.iter().map(|text| (Tone::Good, text.clone())).collect(),
        leads: false,
    });
    Listing { entries, empty: String::new() }
}

fn tool(tool: Tool) -> &'static str {
    match tool {
        Tool::Fio => "fio",
        Tool::Diskspd => "diskspd",
        Tool::Dd => "dd",
        Tool::Hdparm => "hdparm",
        Tool::Kdiskmark => "KDiskMark, by fio",
    }
}

fn entry(explained: &Explained, job: &Job) -> Entry {
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: String| facts.push((name.to_owned(), value));
    add("does", job.what.clone());
    let groups = explained.jobs.iter().map(|job| job.group).max().unwrap_or(0);
    if explained.jobs.len() > 1 {
        let others = explained.jobs.iter().filter(|other| other.group == job.group).count() - 1;
        let turn = match (others, groups) {
            (0, 0) => String::new(),
            (0, _) => format!("{} of {}", job.group + 1, groups + 1),
            (others, 0) => format!("at the same time as {others} more"),
            (others, _) => format!("{} of {}, with {others} more", job.group + 1, groups + 1),
        };
        add("turn", turn);
    }
    for (name, amount) in [("reads", job.read_bytes), ("writes", job.write_bytes)] {
        if amount != Amount::exactly(0) {
            add(name, bytes(amount));
        }
    }
    add("I/Os", count(job.ios));
    add("different", bytes(job.unique_bytes));
    add("again", format!("{}; {}", share(job), reuse(job.reuse)));
    if job.depth_asked != job.depth_effective {
        add("depth", format!("{} instead of {}", job.depth_effective, job.depth_asked));
    }
    if job.flushes != Amount::exactly(0) {
        add("flushes", count(job.flushes));
    }
    add("ends", ends(job));
    if job.way == Way::Memory {
        add("drive", "none".to_owned());
    }
    let summary = if job.name == tool(explained.tool) {
        String::new()
    } else {
        tool(explained.tool).to_owned()
    };
    Entry { title: job.name.clone(), summary, facts, notes: Vec::new(), leads: false }
}

fn bytes(amount: Amount) -> String {
    amounts(amount, |bytes| number::bytes(bytes as f64))
}

fn count(amount: Amount) -> String {
    amounts(amount, |count| number::grouped(count as f64))
}

fn amounts(amount: Amount, words: impl Fn(u64) -> String) -> String {
    match (amount.exact(), amount.expected, amount.max) {
        (Some(exact), ..) => words(exact),
        (None, Some(expected), Some(max)) if expected < max => {
            format!("about {} ({} to {})", words(expected), words(amount.min), words(max))
        }
        (None, Some(expected), _) => format!("about {}", words(expected)),
        (None, None, Some(max)) => format!("up to {}, as fast as the drive is", words(max)),
        (None, None, None) => "as much as the time allows".to_owned(),
    }
}

fn share(job: &Job) -> String {
    let share = job.duplicate_share;
    match share.expected {
        Some(expected) if expected == 0.0 && share.max == 0.0 => "nothing".to_owned(),
        Some(expected) => format!("{} of the bytes", number::share(expected)),
        None if share.min > 0.0 => format!("{} of the bytes and more", number::share(share.min)),
        None => "the more, the faster the drive is".to_owned(),
    }
}

fn reuse(reuse: Reuse) -> String {
    match reuse {
        Reuse::Never => "no data come twice".to_owned(),
        Reuse::AtOnce { within_bytes } => {
            format!("after {}: any cache has them", number::bytes(within_bytes as f64))
        }
        Reuse::AfterPass { bytes } => format!("after {}", number::bytes(bytes as f64)),
        Reuse::AtRandom { bytes } => format!("at random within {}", number::bytes(bytes as f64)),
        Reuse::Unknown => "how soon depends on the target's size".to_owned(),
    }
}

fn ends(job: &Job) -> String {
    let time = job.time_max_ns.map(|time| number::nanoseconds(time.0 as f64)).unwrap_or_default();
    match (job.ends_by, job.early_above_bytes_per_s) {
        (EndsBy::Size, _) => "when all data have been transferred".to_owned(),
        (EndsBy::Time, _) => format!("after {time}"),
        (EndsBy::SizeOrTime, Some(rate)) => {
            format!("after {time}, or earlier above {} MB/s", number::digits(rate / 1e6))
        }
        (EndsBy::SizeOrTime, None) => {
            format!("after {time}, or when all data have been transferred")
        }
        (EndsBy::Target, _) => "with the target".to_owned(),
    }
}
