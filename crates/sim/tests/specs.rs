//! Specs that a user may type after `sim:`, and values that a model's file may hold.

use std::collections::BTreeMap;
use std::path::PathBuf;

use block::{Bytes, Environment, Target};
use drivescope_sim::{SimError, list, open, show};

const BUILT_IN: &str = include_str!("../models/hdd-7200.toml");

/// A model's file of this test, with one line changed.
fn file(name: &str, from: &str, to: &str) -> PathBuf {
    assert!(BUILT_IN.contains(from), "`{from}` is in the model");
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.toml"));
    std::fs::write(&path, BUILT_IN.replacen(from, to, 1)).unwrap();
    path
}

fn line_with(text: &str) -> usize {
    1 + BUILT_IN.lines().position(|line| line.contains(text)).unwrap()
}

#[test]
fn every_model_listed_opens_and_is_described_as_listed() {
    assert!(!list().is_empty());
    for info in list() {
        let spec = format!("sim:{}", info.name);
        let described = show(&spec).unwrap();
        let said = (described.name.as_str(), described.kind.as_str(), described.summary.as_str());
        assert_eq!(said, (info.name.as_str(), info.kind.as_str(), info.summary.as_str()));
        assert_eq!(&described.info, open(&spec).unwrap().info());
        assert_eq!(described.info.name, spec);
    }
}

#[test]
fn the_truth_is_told_with_null_for_what_a_disk_has_not() {
    let json = serde_json::to_value(show("sim:hdd-7200?seed=9").unwrap()).unwrap();
    assert_eq!(json["seed"], 9);
    let truth = &json["truth"];
    for absent in [
        "erase_block_bytes",
        "page_bytes",
        "planes",
        "open_au_linear",
        "open_au_random",
        "fat_zone_bytes",
        "cell_levels",
        "slc_cache_bytes",
        "over_provisioning",
        "dies",
        "initial_state",
    ] {
        assert!(truth.as_object().unwrap().contains_key(absent), "{absent} is missing");
        assert!(truth[absent].is_null(), "{absent}");
    }
    assert_eq!(truth["write_buffer_bytes"], 16 << 20);
    assert_eq!(truth["real_capacity_bytes"], 4_000_787_030_016_u64);
    let hdd = &truth["hdd"];
    assert_eq!((hdd["rpm"].as_u64(), hdd["rotation_ns"].as_u64()), (Some(7200), Some(8_333_333)));
    let zones = hdd["zones"].as_array().unwrap();
    let total: u64 = zones.iter().map(|z| z["length_bytes"].as_u64().unwrap()).sum();
    assert_eq!(total, 4_000_787_030_016, "the zones make up the disk");
    assert_eq!(json["parameters"]["seek"]["average_ns"], 8_500_000);
}

#[test]
fn overrides_change_the_drive() {
    let target = open("sim:hdd-7200?seed=7&capacity=4TB&write_cache=write_through").unwrap();
    assert_eq!(target.info().capacity_bytes, Bytes(4_000_000_000_000));
    assert_eq!(target.info().write_cache, Some(block::WriteCache::WriteThrough));
    let odd = open("sim:hdd-7200?capacity=1000001kB").unwrap();
    assert_eq!(odd.info().capacity_bytes, Bytes(1_000_001_000 / 4096 * 4096), "whole blocks");
    let truth = show("sim:hdd-7200?geometry.rpm=5400").unwrap().truth.hdd.unwrap();
    assert_eq!((truth.rpm, truth.rotation_ns), (5400, 11_111_111));
}

#[test]
fn what_an_override_gets_wrong_is_told_with_its_key() {
    for (query, key, words) in [
        ("colour=red", "colour", "of kind hdd knows seed, capacity, write_cache, and any field"),
        ("seed=-1", "seed", "not a whole number"),
        ("capacity=4T", "capacity", "write it like 4TB"),
        ("capacity=1MB", "capacity", "outside 1048576"),
        ("write_cache=perhaps", "write_cache", "unknown variant"),
        ("state=steady", "state", "no initial state"),
        ("geometry.rpm=0", "geometry.rpm", "outside 600 to 60000"),
        ("geometry.rpm=fast", "geometry.rpm", "is not a whole number"),
        ("geometry.wheels=4", "geometry.wheels", "there is no field `wheels`"),
        ("engine.rpm=4", "engine.rpm", "there is no field `engine`"),
        ("kind.rpm=4", "kind.rpm", "`kind` is a field and no table"),
        ("seek.average_ns=20000000", "seek.average_ns", "must rise"),
        ("seed=1&memory.write_bytes=1", "memory.write_bytes", "outside 262144"),
    ] {
        match open(&format!("sim:hdd-7200?{query}")) {
            Err(SimError::Override { key: at, what }) => {
                assert_eq!(at, key);
                assert!(what.contains(words), "{query}: {what}");
            }
            other => panic!("{query}: {other:?}"),
        }
    }
}

// Breaks when a size below one unit is called 0, which the user did not write.
#[test]
fn a_drive_smaller_than_its_unit_is_refused_in_the_users_words() {
    for (spec, typed, unit) in [
        ("hdd-7200?capacity=4095", "4095", "physical block, 4096 bytes"),
        ("usb-8m?capacity=3MiB", "3MiB", "erase block, 8388608 bytes"),
        ("usb-8m?faults.real_capacity_bytes=3145728", "3145728", "erase block, 8388608 bytes"),
        ("mlc-nvme?capacity=1kB", "1kB", "unit of mapping, 4096 bytes"),
    ] {
        let error = open(&format!("sim:{spec}")).unwrap_err().to_string();
        assert!(error.contains(&format!("`{typed}` is less than the {unit}")), "{error}");
    }
}

// Breaks when a kind of device accepts a temperature that no drive has, or one that is not a number, or refuses one
// that a drive can have.
#[test]
fn no_kind_of_device_states_an_impossible_temperature() {
    let one_of_each_kind: BTreeMap<String, String> =
        list().into_iter().map(|info| (info.kind, info.name)).collect();
    assert!(one_of_each_kind.len() > 2, "{one_of_each_kind:?}");
    for name in one_of_each_kind.values() {
        for possible in ["-100", "-0.5", "36", "200"] {
            let spec = format!("sim:{name}?identity.temperature_c={possible}");
            let told = open(&spec).unwrap().environment().snapshot().temperature_c;
            assert_eq!(told, Some(possible.parse().unwrap()), "{spec}");
        }
        for impossible in ["-100.1", "200.5", "-1e300", "nan", "inf", "-inf"] {
            let spec = format!("sim:{name}?identity.temperature_c={impossible}");
            match open(&spec) {
                Err(SimError::Override { key, what }) => {
                    assert_eq!(key, "identity.temperature_c", "{spec}");
                    assert!(what.contains("is outside -100 to 200"), "{spec}: {what}");
                }
                other => panic!("{spec}: {other:?}"),
            }
        }
    }
}

// Breaks when the truth of a card that reads several dies at once says that it has one.
#[test]
fn a_card_has_as_many_dies_as_it_reads_at_once() {
    let dies = |spec: &str| show(&format!("sim:{spec}")).unwrap().truth.dies;
    assert_eq!(dies("usb-8m"), Some(1));
    assert_eq!(dies("usb-8m?read.parallel_groups=4"), Some(4));
}

#[test]
fn an_unknown_model_leads_to_the_nearest_one() {
    for (name, hint) in [
        ("hdd-9000", "did you mean sim:hdd-7200? `drivescope sim list`"),
        ("usb8m", "did you mean sim:usb-8m? "),
        ("sata-ssd", "did you mean sim:sata-a? "),
        ("no-such-model", "`drivescope sim list` shows all"),
    ] {
        let error = open(&format!("sim:{name}")).unwrap_err().to_string();
        assert_eq!(error.lines().next(), Some(&*format!("no model is named {name}")));
        assert!(error.contains(&format!("\nhint: {hint}")), "{error}");
    }
    let error = open("sim:no/such/file.toml").unwrap_err().to_string();
    assert!(error.starts_with("no/such/file.toml: cannot read"), "{error}");
}

#[test]
fn a_file_is_a_model_too() {
    let path = file("own", "rpm = 7200", "rpm = 5400");
    let spec = format!("sim:{}?seed=3", path.display());
    assert_eq!(show(&spec).unwrap().truth.hdd.unwrap().rpm, 5400);
}

#[test]
fn what_a_file_gets_wrong_is_told_with_file_and_line() {
    for (name, from, to, words) in [
        ("syntax", "rpm = 7200", "rpm = = 7200", ""),
        ("type", "rpm = 7200", "rpm = \"fast\"", "`fast` is not a whole number"),
        ("unknown", "rpm = 7200", "rmp = 7200", "there is no field `rmp`"),
        ("range", "heads = 8", "heads = 0", "geometry.heads: 0 is outside 1 to 64"),
        ("block", "physical_block_bytes = 4096", "physical_block_bytes = 4000", "power of two"),
        ("curve", "average_ns = 8_500_000", "average_ns = 1", "must rise"),
        ("schema", "drivescope.model/1", "drivescope.model/9", "drivescope.model/9"),
        ("kind", "kind = \"hdd\"", "kind = \"drum\"", "`drum` is not a kind"),
    ] {
        let path = file(name, from, to);
        let error = open(&format!("sim:{}", path.display())).unwrap_err().to_string();
        let place = format!("{}:{}: ", path.display(), line_with(from));
        assert!(error.starts_with(&place), "{error}\nshould begin with {place}");
        assert!(error.contains(words), "{error}");
    }
}

// Breaks when a seed draws another drive the second time, or a drawn drive cannot be changed like a written one.
#[test]
fn a_drawn_model_is_its_seeds_and_takes_overrides() {
    for kind in ["card", "ssd"] {
        let of = |query: &str| show(&format!("sim:random-{kind}?{query}")).unwrap();
        let truth = |query: &str| serde_json::to_value(of(query).truth).unwrap();
        assert_eq!(truth("seed=7"), truth("seed=7"));
        assert_ne!(truth("seed=7"), truth("seed=8"), "{kind}: the seed draws nothing");
        assert_eq!(show(&format!("sim:random-{kind}")).unwrap().seed, 0);
        let changed = of("state=fresh&capacity=1900MB&faults.vanish_at_ns=5&seed=7");
        assert_eq!((changed.seed, changed.kind.as_str()), (7, kind));
        assert_eq!(changed.truth.initial_state.as_deref(), Some("fresh"));
        assert_eq!(changed.truth.erase_block_bytes, of("seed=7").truth.erase_block_bytes);
        assert!((1_800_000_000..=1_900_000_000).contains(&changed.info.capacity_bytes.0));
        assert_eq!(changed.truth.faults.unwrap().vanish_at_ns, Some(5));
    }
    let error = open("sim:random-hdd").unwrap_err().to_string();
    assert!(
        error.contains("no model is named random-hdd") && error.contains("sim:random-ssd?"),
        "{error}"
    );
}

// Breaks when the fake is genuine: a probe that is scored on it must have something to find.
#[test]
fn the_fake_claims_more_than_it_holds() {
    let shown = show("sim:fake-64g").unwrap();
    let real = shown.truth.real_capacity_bytes.unwrap();
    assert!((60_000_000_000..=64_000_000_000).contains(&shown.info.capacity_bytes.0));
    assert!((7_500_000_000..=8_200_000_000).contains(&real.0));
    let target = open("sim:fake-64g").unwrap();
    let twin = target.content().stored(Bytes(3 * real.0 + 4096));
    assert_eq!(twin, drivescope_sim::Stored::At(Bytes(4096)), "addresses above wrap");
    let whole = open("sim:fake-64g?faults.real_capacity_bytes=62914560000").unwrap();
    assert_eq!(whole.content().medium_bytes(), whole.info().capacity_bytes);
}
