//! Whatever a user types after the `?`: an error that names a key that was typed, or a drive that works.

use std::sync::LazyLock;

use crate::common::{request, setup};
use block::{Bytes, Drive, DriveInfo, Environment, Op, Request, Target, Time};
use drivescope_sim::{
    Aftermath, Faults, Heat, HostLimits, Neighbour, SimError, VirtualTarget, list, open, show,
};
use proptest::prelude::*;
use serde_json::Value;

/// The fields of a table by their dotted names, with the values that they have.
fn fields(prefix: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(table) => {
            for (key, value) in table {
                let dot = if prefix.is_empty() { "" } else { "." };
                fields(&format!("{prefix}{dot}{key}"), value, found);
            }
        }
        leaf if prefix.contains('.') => found.push((prefix.to_owned(), leaf.clone())),
        _ => {}
    }
}

fn table_of(name: &str, table: impl serde::Serialize, found: &mut Vec<(String, Value)>) {
    fields(name, &serde_json::to_value(table).unwrap(), found);
}

/// A model's name, and its fields with the values that they have.
type Model = (String, Vec<(String, Value)>);

/// Every model with every field that can be overridden, including those of its wrappers.
static MODELS: LazyLock<Vec<Model>> = LazyLock::new(|| {
    let of = |name: String| {
        let described = show(&format!("sim:{name}")).unwrap();
        let mut found = Vec::new();
        fields("", &serde_json::to_value(described.parameters).unwrap(), &mut found);
        table_of("host", HostLimits::default(), &mut found);
        table_of("faults", Faults::default(), &mut found);
        table_of("faults.storm", drivescope_sim::Storm::default(), &mut found);
        table_of("heat", Heat::default(), &mut found);
        table_of("neighbour", Neighbour::default(), &mut found);
        table_of("aftermath", Aftermath::default(), &mut found);
        found.retain(|(key, _)| !key.starts_with("identity."));
        (name, found)
    };
    list().into_iter().map(|info| of(info.name)).collect()
});

/// The words that some field knows, by its last name.
const WORDS: [(&str, &[&str]); 10] = [
    ("mapping", &["page", "in_place"]),
    ("collection", &["greedy", "fifo", "choices"]),
    ("state", &["fresh", "filled", "steady"]),
    ("area", &["static", "dynamic"]),
    ("when_full", &["direct", "fold"]),
    ("write_cache", &["write_back", "write_through"]),
    ("protocol", &["nvme", "sata"]),
    ("beyond", &["wrap", "lose"]),
    ("order", &["random", "sequential"]),
    ("merge", &["copy", "switch"]),
];

/// A value for a field: near what it has, at an end of some range, or none that it knows.
fn drawn(key: &str, old: &Value, (choice, number): (u8, u64)) -> String {
    let power = 1_u64 << (number % 63);
    let last = key.rsplit('.').next().unwrap();
    let old = match old {
        Value::Array(list) if list.is_empty() => {
            return format!("{}+4KiB,1MiB+{power}", number % 8 * 4096);
        }
        Value::Array(list) => {
            let one = |v: &Value| drawn(key, v, (choice, number));
            return format!("[{}]", list.iter().map(one).collect::<Vec<_>>().join(","));
        }
        Value::Bool(old) => return (!old).to_string(),
        Value::String(_) => {
            let words = WORDS
                .iter()
                .find(|(name, _)| *name == last)
                .map_or(&["no_such"][..], |(_, words)| *words);
            return words[number as usize % words.len()].to_owned();
        }
        Value::Number(old) => old.as_f64().unwrap(),
        _ => 4096.0,
    };
    let factor = [0.25, 0.5, 0.75, 1.5, 2.0, 4.0][number as usize % 6];
    if old.fract() != 0.0 {
        return (old * factor).to_string();
    }
    match choice % 12 {
        0 => "0".to_owned(),
        1 => "1".to_owned(),
        2 => i64::MAX.to_string(),
        3 => "-1".to_owned(),
        4 => "0.5".to_owned(),
        5 | 6 => power.to_string(),
        7 => (power - 1).to_string(),
        8 => (number % 1_000).to_string(),
        _ => ((old * factor) as u64).to_string(),
    }
}

/// A model, and overrides by their keys.
fn any_spec() -> impl Strategy<Value = (String, Vec<(String, String)>)> {
    let draws = proptest::collection::vec((any::<u32>(), (any::<u8>(), any::<u64>())), 1..6);
    let size = prop_oneof![
        6 => Just("4GiB"), 3 => Just("64MiB"), 2 => Just("1MiB"), 2 => Just("15TiB"), 1 => Just("100TiB"), 1 => Just("0")
    ];
    (any::<u32>(), size, draws, any::<u64>()).prop_map(|(model, size, draws, seed)| {
        let (name, fields) = &MODELS[model as usize % MODELS.len()];
        let mut overrides =
            vec![("seed".to_owned(), seed.to_string()), ("capacity".to_owned(), size.to_owned())];
        for (at, draw) in draws {
            let (key, old) = &fields[at as usize % fields.len()];
            if overrides.iter().all(|(known, _)| known != key) {
                overrides.push((key.clone(), drawn(key, old, draw)));
            }
        }
        (name.clone(), overrides)
    })
}

/// Requests drawn for the size of the drive: half of them off its mapping, all of them on its blocks.
fn requests_on(info: &DriveInfo, draws: &[u64]) -> Vec<Request> {
    let (capacity, block) = (info.capacity_bytes.0, info.logical_block_bytes.0);
    let blocks = capacity / block;
    let each = |draw: &u64| {
        let op = [
            Op::Read,
            Op::Write,
            Op::Write,
            Op::Read,
            Op::Write,
            Op::Discard,
            Op::Write,
            Op::Flush,
        ][(draw % 8) as usize];
        let offset = match draw / 8 % 4 {
            0 => 0,
            1 => blocks - 1,
            2 => draw / 64 % blocks.min(64),
            _ => draw / 64 % blocks,
        };
        let len = [1, 8, 9, 200][(draw / 32 % 4) as usize].min(blocks - offset);
        let plain = request(op, offset * block, len * block, 0);
        Request { fua: (draw / 1024).is_multiple_of(8), ..plain }
    };
    draws.iter().map(each).collect()
}

/// Issues all of `requests` at a depth of `depth` and returns the outcomes, in order of the requests.
fn exercise(
    target: &mut VirtualTarget,
    requests: &[Request],
    depth: usize,
) -> Result<Vec<Bytes>, TestCaseError> {
    let mut lanes = target.open(&setup(u16::MAX)).unwrap();
    let drive = &mut lanes[0];
    let (mut done, mut bytes) = (Vec::new(), vec![None; requests.len()]);
    for (slot, next) in requests.iter().map(Some).chain([None]).enumerate() {
        if let Some(request) = next {
            drive.submit(&[Request { slot: u16::try_from(slot).unwrap(), ..*request }]).unwrap();
        }
        let most = if next.is_some() { depth } else { 0 };
        while (slot + usize::from(next.is_some())) - done.len() > most {
            let before = done.len();
            drive.wait_until(Time::NEVER, &mut done).unwrap();
            prop_assert!(done.len() > before, "nothing completes any more");
        }
    }
    for c in &done {
        prop_assert!(c.completed > c.issued, "{c:?}");
        let told = &mut bytes[usize::from(c.slot)];
        prop_assert!(told.is_none(), "answered twice");
        *told = Some(c.outcome.bytes().unwrap_or(Bytes::ZERO));
    }
    Ok(bytes.into_iter().flatten().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, max_shrink_iters: 500, ..ProptestConfig::default() })]

    // Breaks when a value that can be typed makes a model overflow, divide by zero, stall or be refused without the
    // name of a key that was typed; or when a drive counts fewer bytes than its completions report.
    #[test]
    fn any_override_is_refused_by_its_name_or_works(
        (model, overrides) in any_spec(),
        draws in proptest::collection::vec(any::<u64>(), 200),
        depth in 1_usize..40,
    ) {
        let mut kept: Vec<(String, String)> = Vec::new();
        let spec_of = |overrides: &[(String, String)]| {
            let typed: Vec<String> = overrides.iter().map(|(k, v)| format!("{k}={v}")).collect();
            format!("sim:{model}?{}", typed.join("&"))
        };
        // One by one, so that many of them stay that are possible together.
        for one in &overrides {
            kept.push(one.clone());
            let spec = spec_of(&kept);
            match show(&spec) {
                Ok(_) => {}
                Err(SimError::Override { key, what }) => {
                    prop_assert!(kept.iter().any(|(typed, _)| *typed == key), "{spec}: {key}");
                    prop_assert!(!what.is_empty());
                    kept.pop();
                }
                Err(other) => prop_assert!(false, "{spec}: {other}"),
            }
        }
        let spec = spec_of(&kept);
        let mut target = open(&spec).unwrap();
        let requests = requests_on(target.info(), &draws);
        let bytes = exercise(&mut target, &requests, depth)?;
        let of = |op| -> u64 {
            requests.iter().zip(&bytes).filter(|(r, _)| r.op == op).map(|(_, b)| b.0).sum()
        };
        let snapshot = target.environment().snapshot();
        let (task, device) = (snapshot.task.unwrap(), &snapshot.devices[0]);
        prop_assert!(task.write_bytes.0 >= of(Op::Write) && device.write_bytes.0 >= of(Op::Write));
        prop_assert!(device.read_bytes.0 >= of(Op::Read));
    }
}

// Breaks when a drive larger than the machine's memory touches more than what is written of it (opening then takes
// minutes, or the machine), or when one that cannot but touch it is not refused.
#[test]
fn the_largest_drives_open_unless_their_state_takes_all_memory() {
    let largest = "sim:mlc-nvme?capacity=15TiB";
    for state in ["fresh", "filled"] {
        let mut target = open(&format!("{largest}&state={state}")).unwrap();
        let last = target.info().capacity_bytes.0 - 4096;
        let requests = [request(Op::Write, last, 4096, 0), request(Op::Read, last, 4096, 0)];
        assert_eq!(exercise(&mut target, &requests, 1).unwrap(), [Bytes(4096); 2]);
    }
    match open(&format!("{largest}&state=steady")) {
        Err(SimError::Override { key, what }) => {
            assert!(key == "capacity" && what.contains("GiB of memory"), "{key}: {what}");
        }
        other => panic!("{other:?}"),
    }
}
