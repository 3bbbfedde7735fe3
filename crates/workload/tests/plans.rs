//! Plans: what is printed is read back, and what is wrong is named by place.

use block::{Bytes, DriveInfo, DriveKind, EngineKind, Nanos, Op};
use drivescope_workload::plan::{
    Address, Arrival, Content, Cursors, Gaps, OpShare, Order, Phase, Plan, PlanError, Region,
    SCHEMA, Schedule, Share, Step, Stop, Until,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence::WithSource;

fn address() -> impl Strategy<Value = Address> {
    prop_oneof![
        Just(Address::Sequential { share: Share::Partition }),
        Just(Address::Sequential { share: Share::Cursor }),
        Just(Address::Random),
        (1..=u64::MAX, any::<u64>(), any::<bool>()).prop_map(|(stride, apart, slot)| {
            let cursors = if slot { Cursors::Slot } else { Cursors::Submitter };
            Address::Strided { stride: Bytes(stride), apart: Bytes(apart), cursors }
        }),
        (1..=u64::MAX).prop_map(|stride| Address::Strided {
            stride: Bytes(stride),
            apart: Bytes::ZERO,
            cursors: Cursors::Shared,
        }),
        (1..=u64::MAX, any::<bool>())
            .prop_map(|(align, alike)| Address::Aligned { align: Bytes(align), alike }),
    ]
}

fn arrival() -> impl Strategy<Value = Arrival> {
    let gaps = prop_oneof![Just(Gaps::Constant), Just(Gaps::Exponential)];
    prop_oneof![
        (1..=u16::MAX).prop_map(|depth| Arrival::ClosedLoop { depth }),
        (1..=u16::MAX, 1e-9..1e9f64, gaps).prop_map(|(depth, per_s, gaps)| Arrival::Timed {
            depth,
            per_s,
            gaps
        }),
    ]
}

fn stop() -> impl Strategy<Value = Stop> {
    let count = || option::of(1..=i64::MAX as u64);
    let limits = (option::of(1..=u64::MAX), option::of(1..=u64::MAX), count(), count());
    limits.prop_filter_map("no limit", |(after, bytes, ios, at_least_ios)| {
        let at_least_ios = at_least_ios.filter(|_| after.is_some());
        let stop = Stop { after: after.map(Nanos), bytes: bytes.map(Bytes), ios, at_least_ios };
        (stop != Stop::default()).then_some(stop)
    })
}

/// Shares between cuts of 100, in which operations may come twice, with and without FUA.
fn ops() -> impl Strategy<Value = Vec<OpShare>> {
    let op = prop_oneof![
        (Just(Op::Read), any::<bool>()),
        (Just(Op::Write), any::<bool>()),
        (Just(Op::Flush), Just(false)),
        (Just(Op::Discard), Just(false)),
    ];
    (vec(op, 1..6), proptest::sample::subsequence((1..100u8).collect::<Vec<_>>(), 5)).prop_map(
        |(kinds, cuts)| {
            let mut from = 0;
            let last = kinds.len() - 1;
            let share = |(index, (op, fua))| {
                let to = if index == last { 100 } else { cuts[index] };
                let percent = to - from;
                from = to;
                OpShare { op, fua, percent }
            };
            kinds.into_iter().enumerate().map(share).collect()
        },
    )
}

fn some_region() -> impl Strategy<Value = Option<Region>> {
    option::of(
        (any::<u64>(), 1..=u64::MAX)
            .prop_map(|(offset, length)| Region { offset: Bytes(offset), length: Bytes(length) }),
    )
}

fn a_phase() -> impl Strategy<Value = Phase> {
    let what = (".*", any::<bool>(), 1..=Phase::BLOCK_MAX.0);
    (what, address(), stop(), arrival(), ops(), some_region()).prop_map(
        |((name, measured, block), address, mut stop, arrival, ops, region)| {
            let block = Bytes(block);
            if ops.iter().all(|share| share.op == Op::Flush) {
                // Flushes transfer no bytes, so bytes alone would never end them.
                stop.ios = stop.ios.or(Some(1));
            }
            Phase { name, measured, block, blocks: Vec::new(), address, stop, arrival, ops, region }
        },
    )
}

fn a_step() -> impl Strategy<Value = Step> {
    let engine = option::of(prop::sample::select(EngineKind::ALL.to_vec()));
    (".*", 1..=Step::SUBMITTERS_MAX, engine, vec(a_phase(), 1..4)).prop_map(
        |(name, submitters, engine, phases)| Step { name, submitters, order: None, engine, phases },
    )
}

fn a_schedule() -> impl Strategy<Value = Schedule> {
    let order = prop_oneof![Just(Order::Interleaved), Just(Order::Blocked)];
    let until = (1e-6..100.0f64, 1..=u64::MAX).prop_map(|(half_width_percent, budget)| Until {
        half_width_percent,
        budget: Nanos(budget),
    });
    let times = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>());
    let limits = (option::of(until), option::of(1..=u64::MAX));
    (1..=u32::MAX, order, any::<u32>(), times, limits).prop_map(
        |(runs, order, discard_first, times, (until, write_budget))| {
            let (pause, settle, cache_probe, decide_within) = times;
            Schedule {
                write_budget: write_budget.map(Bytes),
                runs,
                order,
                discard_first,
                pause: Nanos(pause),
                settle: Nanos(settle),
                cache_probe: Nanos(cache_probe),
                decide_within: Nanos(if until.is_some() { 0 } else { decide_within }),
                until,
            }
        },
    )
}

fn a_plan() -> impl Strategy<Value = Plan> {
    let head = (0..=i64::MAX as u64, some_region(), 0..=100u8, 0..=100u8);
    (head, a_schedule(), vec(a_step(), 1..4)).prop_map(|(head, schedule, mut steps)| {
        let (seed, region, compressible_percent, dedup_percent) = head;
        for (index, step) in steps.iter_mut().enumerate() {
            step.name += &index.to_string();
        }
        // Something is measured in every plan.
        steps[0].phases[0].measured = true;
        let content = Content { compressible_percent, dedup_percent };
        Plan { schema: SCHEMA.to_owned(), seed, region, content, schedule, steps }
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    /// A record holds the plan as text; were anything lost, a run could not be repeated.
    #[test]
    fn a_printed_plan_is_read_back_as_it_was(plan in a_plan()) {
        let text = plan.to_toml().unwrap();
        prop_assert_eq!(Plan::from_toml(&text), Ok(plan), "{}", text);
    }

    /// Garbage gives an error and no panic.
    #[test]
    fn a_damaged_plan_is_refused_or_read(plan in a_plan(), at: prop::sample::Index, with in ".{0,3}") {
        let text = plan.to_toml().unwrap();
        let mut chars: Vec<char> = text.chars().collect();
        let at = at.index(chars.len());
        chars.splice(at..=at, with.chars());
        if let Ok(read) = Plan::from_toml(&chars.into_iter().collect::<String>()) {
            prop_assert!(read.check().is_ok());
        }
    }
}

const GOOD: &str = r#"schema = "drivescope.plan/1"
seed = 7

[[step]]
name = "RND4K"
submitters = 2

[[step.phase]]
name = "warm-up"
measured = true
block = "4KiB"
address = { pattern = "random" }
stop = { after = "1s" }
arrival = { kind = "closed_loop", depth = 32 }
ops = [{ op = "read", percent = 70 }, { op = "write", percent = 30 }]
"#;

fn refused(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    let text = GOOD.replacen(from, to, 1);
    match Plan::from_toml(&text) {
        Ok(_) => panic!("it was read:\n{text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_short_plan_has_the_defaults() {
    let plan = Plan::from_toml(GOOD).unwrap();
    assert_eq!((plan.region, plan.content), (None, Content::default()));
    assert_eq!(plan.schedule, Schedule::default());
    assert!(plan.alters() && plan.steps[0].writes());
    assert_eq!(plan.steps[0].planned(), Some(Nanos::secs(1)));
}

#[test]
fn an_unknown_field_is_named_with_its_line() {
    for (from, to, line, field) in [
        ("seed = 7", "seed = 7\nsed = 8", "line 3", "`sed`"),
        ("submitters = 2", "submitters = 2\nthreads = 2", "line 7", "`threads`"),
        ("measured = true", "mesured = true", "line 10", "`mesured`"),
        ("depth = 32", "depth = 32, rate = 1", "line 14", "`rate`"),
    ] {
        let error = refused(from, to);
        assert!(error.contains(line) && error.contains(field), "{error}");
    }
}

#[test]
fn text_of_the_wrong_form_is_named_with_its_line() {
    for (from, to, line, what) in [
        ("\"4KiB\"", "4096", "line 11", "block"),
        ("\"4KiB\"", "\"4096\"", "line 11", "write a whole number with a unit"),
        ("\"1s\"", "\"1\"", "line 13", "write a number with a unit"),
        ("\"random\"", "\"zipf\"", "line 12", "zipf"),
        ("op = \"read\"", "op = \"raed\"", "line 15", "write read, write, flush or discard"),
        ("seed = 7", "seed = -7", "line 2", "-7"),
        ("submitters = 2", "", "line 4", "submitters"),
    ] {
        let error = refused(from, to);
        assert!(error.contains(line) && error.contains(what), "{to}: {error}");
    }
}

#[test]
fn a_value_that_cannot_run_is_named_by_step_phase_and_field() {
    let place = "step RND4K, phase warm-up";
    for (from, to, field, what) in [
        ("\"4KiB\"", "\"0\"", ", block", "outside"),
        ("\"4KiB\"", "\"2GiB\"", ", block", "1GiB"),
        ("depth = 32", "depth = 0", ", arrival.depth", "at least 1"),
        ("{ after = \"1s\" }", "{}", ", stop", "never ends"),
        ("{ after = \"1s\" }", "{ ios = 0 }", ", stop", "limit of 0"),
        ("percent = 70", "percent = 60", ", ops", "add up to 90"),
        ("percent = 70", "percent = 70, fua = true", "", ""),
    ] {
        if what.is_empty() {
            assert!(Plan::from_toml(&GOOD.replacen(from, to, 1)).is_ok(), "fua reads are fine");
            continue;
        }
        let error = refused(from, to);
        assert!(error.starts_with(&format!("{place}{field}: ")), "{error}");
        assert!(error.contains(what), "{error}");
    }
    let timed = r#"{ kind = "timed", depth = 1, per_s = 0.0 }"#;
    let error = refused(r#"{ kind = "closed_loop", depth = 32 }"#, timed);
    assert!(error.starts_with("step RND4K, phase warm-up, arrival.per_s: "), "{error}");
    let flush = r#"[{ op = "flush", percent = 100, fua = true }]"#;
    let ops = r#"[{ op = "read", percent = 70 }, { op = "write", percent = 30 }]"#;
    assert!(refused(ops, flush).starts_with("step RND4K, phase warm-up, ops: fua"));
    for count in ["0", "1025"] {
        let error = refused("submitters = 2", &format!("submitters = {count}"));
        assert!(error.starts_with("step RND4K, submitters: "), "{error}");
    }
    assert!(refused("measured = true", "measured = false").contains("no phase is measured"));
}

#[test]
fn what_is_wrong_with_the_whole_plan_is_named_by_field() {
    for (from, to, start) in [
        ("plan/1", "plan/9", "the plan's schema is `drivescope.plan/9`"),
        ("seed = 7", "seed = 7\n[content]\ndedup_percent = 101", "content.dedup_percent: 101"),
        ("seed = 7", "seed = 7\n[schedule]\nruns = 0", "schedule.runs: "),
    ] {
        let error = refused(from, to);
        assert!(error.starts_with(start), "{error}");
    }
    for until in
        ["half_width_percent = 0.0, budget = \"1m\"", "half_width_percent = 2.0, budget = \"0\""]
    {
        let error = refused("seed = 7", &format!("seed = 7\n[schedule]\nuntil = {{ {until} }}"));
        assert!(error.starts_with("schedule.until."), "{error}");
    }
    let twice = format!("{GOOD}{}", &GOOD[GOOD.find("[[step]]").unwrap()..]);
    assert!(Plan::from_toml(&twice).unwrap_err().to_string().starts_with("step RND4K: the name"));
    let mut plan = Plan::from_toml(GOOD).unwrap();
    plan.seed = u64::MAX;
    assert!(matches!(plan.check(), Err(PlanError::Value { place, .. }) if place == "seed"));
    plan.seed = 1;
    plan.steps.clear();
    assert!(matches!(plan.check(), Err(PlanError::Value { place, .. }) if place == "step"));
}

/// A flush has a block in the plan and transfers none: taken for the unit of the account, it would
/// make every real block look like many.
#[test]
fn a_flush_decides_no_block() {
    let mut plan = Plan::from_toml(GOOD).unwrap();
    let step = &mut plan.steps[0];
    let mut flush = step.phases[0].clone();
    flush.ops = vec![OpShare { op: Op::Flush, fua: false, percent: 100 }];
    flush.block = Bytes(512);
    step.phases.push(flush.clone());
    flush.block = Bytes::mib(1);
    step.phases.push(flush);
    assert_eq!((step.block_min(), step.block_max()), (Bytes::kib(4), Bytes::kib(4)));
}

fn drive(capacity: u64) -> DriveInfo {
    DriveInfo {
        name: "sim:test".to_owned(),
        kind: DriveKind::Virtual,
        model: None,
        serial: None,
        capacity_bytes: Bytes(capacity),
        logical_block_bytes: Bytes(512),
        physical_block_bytes: Bytes(4096),
        rotational: None,
        write_cache: None,
        cache_bytes: None,
        link_bytes_per_s: None,
    }
}

#[test]
fn a_plan_without_a_region_fits_the_whole_of_a_drive() {
    let plan = Plan::from_toml(GOOD).unwrap();
    let whole = Region { offset: Bytes::ZERO, length: Bytes(10_240) };
    assert_eq!(plan.fit(&drive(10_240 + 511)), Ok(whole));
}

#[test]
fn what_does_not_fit_a_drive_is_named_by_place() {
    let part =
        |offset: u64, length: u64| Some(Region { offset: Bytes(offset), length: Bytes(length) });
    let plan = || Plan::from_toml(GOOD).unwrap();
    let error = |plan: &Plan| plan.fit(&drive(1 << 20)).unwrap_err().to_string();

    let mut outside = plan();
    for (offset, length) in [(1 << 19, 1 << 20), (u64::MAX - 511, 1 << 20), (100, 4096), (0, 4097)]
    {
        outside.region = part(offset, length);
        assert!(error(&outside).starts_with("region: "), "{}", error(&outside));
    }
    let mut unaligned = plan();
    unaligned.steps[0].phases[0].block = Bytes(1000);
    assert!(error(&unaligned).starts_with("step RND4K, phase warm-up, block: 1000B"));
    let mut small = plan();
    small.steps[0].phases[0].address = Address::Sequential { share: Share::Partition };
    small.steps[0].submitters = 300;
    assert!(error(&small).starts_with("step RND4K, phase warm-up: "), "{}", error(&small));
    let cursors = Cursors::Submitter;
    for (stride, apart, told) in [
        (4096, 1 << 20, "address.apart: the last of 2 submitters would begin beyond"),
        (4096, u64::MAX - 511, "address.apart: the last of 2"),
        (100, 0, "address.stride: 100B is not a multiple of the logical block"),
    ] {
        let mut apart_too_far = plan();
        let address = Address::Strided { stride: Bytes(stride), apart: Bytes(apart), cursors };
        apart_too_far.steps[0].phases[0].address = address;
        apart_too_far.steps[0].submitters = 2;
        let error = error(&apart_too_far);
        assert!(error.contains(told), "{error}");
    }
    for (offset, length) in [(1 << 19, 1 << 20), (u64::MAX - 511, 1 << 20), (100, 4096)] {
        let mut phase = plan();
        phase.steps[0].phases[0].region = part(offset, length);
        assert!(error(&phase).starts_with("step RND4K, phase warm-up, region: "));
    }
}
