//! The header of every page: what was measured, where, and how. What is not known is said not to be.

use block::{DriveIdentity, WriteCache};
use documents::Decode as _;
use pts::body::{Body, DeviceKind, Preconditioning, StageKind};
use pts::options::{Profile, Rule, Test, Until};
use record::Envelope;
use report::html::Facts;
use report::number;
use stats::Verdict;

use crate::pts::duration;

/// The specification that pages are laid out after.
pub const SPECIFICATION: &str = "2.0.2";

/// Groups of facts.
pub fn header(body: &Body, envelope: &Envelope, written: &str) -> Vec<Facts> {
    vec![
        run(body, envelope, written),
        device(body, envelope),
        platform(body, envelope),
        setup(body),
        test(body),
    ]
}

fn facts(title: &str, facts: Vec<(&str, String)>) -> Facts {
    let facts = facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect();
    Facts { title: title.to_owned(), facts }
}

fn run(body: &Body, envelope: &Envelope, written: &str) -> Facts {
    let profile = if body.setup.profile == Profile::Client { "PTS-C" } else { "PTS-E" };
    facts(
        "Run",
        vec![
            ("Started", envelope.date.clone()),
            ("Ended", written.to_owned()),
            ("Run", envelope.run_id.to_string()),
            ("Specification", format!("SNIA SSS PTS {SPECIFICATION}, {profile} settings")),
            ("Tested by", String::new()),
            ("Sponsor", String::new()),
        ],
    )
}

fn device(body: &Body, envelope: &Envelope) -> Facts {
    let device = &body.device;
    let is_virtual = device.kind == DeviceKind::Virtual;
    let identity = envelope.drive.clone();
    let identity = identity.and_then(|drive| DriveIdentity::decode(drive).ok());
    let leaf = identity.and_then(|identity| identity.leaves.into_iter().next());
    let interface = match leaf.as_ref().map(|leaf| leaf.name.as_str()) {
        _ if is_virtual => "none: a virtual drive".to_owned(),
        Some(name) if name.starts_with("nvme") => "NVMe".to_owned(),
        Some(name) if name.starts_with("mmcblk") => "MMC/SD".to_owned(),
        _ => String::new(),
    };
    let model = device.model.clone().or_else(|| leaf.as_ref().and_then(|leaf| leaf.model.clone()));
    let serial = device.serial.clone().or_else(|| leaf.and_then(|leaf| leaf.serial));
    let decimal = format!(
        "{} GB ({})",
        number::digits(device.capacity_bytes as f64 / 1e9),
        number::bytes(device.capacity_bytes as f64)
    );
    facts(
        "Device under test",
        vec![
            ("Name", device.name.clone()),
            ("Vendor", String::new()),
            ("Model", model.unwrap_or_default()),
            ("Serial number", serial.unwrap_or_default()),
            ("Firmware", String::new()),
            ("Capacity", decimal),
            ("NAND type", String::new()),
            ("Form factor", if is_virtual { "none".to_owned() } else { String::new() }),
            ("Interface", interface),
        ],
    )
}

fn platform(body: &Body, envelope: &Envelope) -> Facts {
    let host = &envelope.host;
    let machine = host.machine.clone().unwrap_or_default();
    let cpu = machine.cpu_model.map_or_else(String::new, |m| format!("{} × {m}", host.cpus));
    let memory = machine.memory_bytes.map_or_else(String::new, |bytes| number::bytes(bytes as f64));
    let architecture = machine.architecture.unwrap_or_default();
    facts(
        "Test platform",
        vec![
            ("Host", host.name.clone()),
            ("CPU", cpu),
            ("RAM", memory),
            ("OS", format!("Linux {} {architecture}", host.kernel).trim().to_owned()),
            ("HBA", String::new()),
            ("Software", format!("drivescope {}", envelope.version)),
            ("I/O engine", body.setup.engine.clone()),
        ],
    )
}

fn setup(body: &Body) -> Facts {
    let setup = &body.setup;
    let range = format!(
        "{} from {}, {} of the capacity",
        number::bytes(setup.range_bytes as f64),
        number::bytes(setup.range_offset_bytes as f64),
        number::share(setup.range_bytes as f64 / body.device.capacity_bytes.max(1) as f64)
    );
    let purge = match &body.purge {
        None => "not done".to_owned(),
        Some(purge) => {
            format!(
                "{}, {} ({})",
                purge.method,
                number::nanoseconds(purge.seconds * 1e9),
                purge.verdict.text(Verdict::as_str)
            )
        }
    };
    let stage = |is_wipc: bool| {
        let wanted = |stage: &&Preconditioning| (stage.kind == StageKind::Wipc) == is_wipc;
        let words: Vec<String> =
            body.preconditioning.iter().filter(wanted).map(stage_words).collect();
        match words.as_slice() {
            [] => "none".to_owned(),
            words => words.join("; "),
        }
    };
    facts(
        "Setup",
        vec![
            ("Data pattern", setup.data_pattern.clone()),
            ("ActiveRange", range),
            ("AR segments", "1".to_owned()),
            ("Purge", purge),
            ("PC 1 (WIPC)", stage(true)),
            ("PC 2 (WDPC)", stage(false)),
            ("Write cache", write_cache(body)),
        ],
    )
}

/// As the specification names its states, and as the kernel does.
fn write_cache(body: &Body) -> String {
    let words = |cache| match cache {
        WriteCache::WriteBack => "enabled (WCE, write back)",
        WriteCache::WriteThrough => "disabled (WCD, write through)",
    };
    body.device.write_cache.as_ref().map_or("", |cache| cache.text(words)).to_owned()
}

fn stage_words(stage: &Preconditioning) -> String {
    format!(
        "{}, T{} Q{}, {:.2} fills in {}{}",
        stage.load,
        stage.threads,
        stage.depth,
        stage.fills,
        duration(stage.duration_ns as f64 / 1e9),
        if stage.is_accepted { "" } else { ", not accepted" }
    )
}

fn test(body: &Body) -> Facts {
    let setup = &body.setup;
    let chosen = format!("T{} Q{}", setup.threads, setup.depth);
    let (loads, load_depth) = match body.test {
        Test::Iops => ("RND; R/W 100/0 … 0/100 outer, 1024 KiB … 0.5 KiB inner".to_owned(), chosen),
        Test::Throughput => ("SEQ reads and writes, by block size".to_owned(), chosen),
        Test::Latency => (
            "RND; R/W 100/0, 65/35, 0/100 outer, 8, 4, 0.5 KiB inner".to_owned(),
            "T1 Q1".to_owned(),
        ),
        Test::Wsat => (load_of(body), chosen),
        Test::Hir => ("RND 4 KiB 0/100, 5 s each, pauses of 5 to 50 s".to_owned(), chosen),
        Test::Xsr => (
            "SEQ 1024 KiB 8 h, RND 8 KiB 6 h, SEQ 1024 KiB 8 h, writes".to_owned(),
            "T1 Q32".to_owned(),
        ),
        Test::Cbw | Test::Dirth => (load_of(body), "T 32 … 1 outer, Q 32 … 1 inner".to_owned()),
        Test::QdSweep => ("RND 4 KiB 0/100".to_owned(), "T1, Q 1 … 256".to_owned()),
        Test::Ezfio => ("ezFIO's sequence".to_owned(), "as each table says".to_owned()),
    };
    let rounds = match body.steady.as_ref().and_then(|steady| steady.pts.window) {
        Some(window) => format!("{} to {}", window.first_round, window.first_round + 4),
        None => "none".to_owned(),
    };
    let minute = setup.minute_ns.map_or_else(String::new, |ns| {
        let seconds = ns as f64 / 1e9;
        if seconds == 60.0 { "60 s".to_owned() } else { format!("{} s", number::digits(seconds)) }
    });
    facts(
        "Test",
        vec![
            ("Stimulus", loads),
            ("TC / QD", load_depth),
            ("Addresses", setup.addresses.clone()),
            ("Tracked", tracked(body)),
            ("SS rounds", rounds),
            ("A minute is", minute),
            (
                "Rule of the end",
                if setup.until == Until(Rule::Pts) { "PTS" } else { "by bytes" }.to_owned(),
            ),
            ("Written", number::bytes(body.bytes_written as f64)),
            ("Seed", setup.seed.to_string()),
        ],
    )
}

/// The load of what is tracked: `IOPS of RND 4KiB 0/100 at 32 threads` names it.
fn load_of(body: &Body) -> String {
    let tracked = tracked(body);
    let load = tracked.split_once(" of ").map_or(tracked.as_str(), |(_, load)| load);
    load.split(" at ").next().unwrap_or(load).to_owned()
}

fn tracked(body: &Body) -> String {
    body.steady.as_ref().map_or_else(|| "nothing".to_owned(), |steady| steady.tracked.clone())
}
