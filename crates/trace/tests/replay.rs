//! Replays on virtual drives, from a trace to the verdict.

use crate::kit;
use crate::kit::{Case, poisson};
use block::{Bytes, Nanos, Op};
use drivescope_trace::replay::{
    Clock, Count, Fit, Layout, Limit, Mode, Options, Origin, Scale, Since, Writes,
};
use drivescope_trace::{Flags, Io, Kind, Space, Stamp};
use engine::replay::Planned;

const DRIVE: &str = "sim:sata-a?state=filled";

fn writing(mode: Mode) -> Options {
    Options { mode, writes: Writes::Issue, ..Options::default() }
}

/// Gives each I/O the completion that it had in `replayed`.
fn completed(case: &Case, done: &kit::Done) -> Vec<Io> {
    let mut ios = case.ios.clone();
    for (io, one) in ios.iter_mut().zip(&done.replayed) {
        io.completed = Stamp::at(one.completed);
    }
    ios
}

#[test]
fn on_a_virtual_drive_a_timed_replay_is_exactly_on_time() {
    // The schedule is absolute: any error here is a fault of planning, mapping or judging.
    let case = Case::new(poisson(7, 2000, 500.0, 0.7)).options(writing(Mode::Timed));
    let done = case.run(DRIVE);
    let fidelity = &done.body.fidelity;
    assert_eq!(fidelity.verdict, Limit::Faithful, "{}", fidelity.reason);
    assert_eq!((fidelity.issue_error_ns.max, fidelity.late, fidelity.reordered), (0, 0, 0));
    assert_eq!((fidelity.drift_ppm, fidelity.issue_error_since), (Some(0.0), Since::Due));
    let drift = fidelity.drift.unwrap();
    assert_eq!((drift.low, drift.high), (Some(0.0), Some(0.0)));
    let over = fidelity.over_time.unwrap();
    assert_eq!((over.iops_rmse, over.iops_mape), (0.0, Some(0.0)));
    assert_eq!(done.body.run.counts.requests, 2000);
    assert_eq!(done.body.original.origin, Origin::Arrivals);
}

#[test]
fn replaying_what_a_drive_did_on_the_same_drive_gives_the_same() {
    // The strongest check of all metrics against the original: there is no difference to find.
    let case = Case::new(poisson(3, 3000, 3000.0, 0.6)).options(writing(Mode::Timed));
    let first = case.run(DRIVE);
    let again = Case::new(completed(&case, &first)).options(writing(Mode::Timed)).run(DRIVE);
    let (body, fidelity) = (&again.body, &again.body.fidelity);
    let far = fidelity.latency_distance.unwrap();
    assert_eq!((far.ks, far.wasserstein_ns, far.p999_ratio), (0.0, 0.0, Some(1.0)));
    let over = fidelity.over_time.unwrap();
    assert!(over.depth_rmse.unwrap() < 1e-9 && over.depth_mape.unwrap() < 1e-9, "{over:?}");
    assert_eq!(body.original.origin, Origin::Completions);
    assert!((body.original.q2c_sum_s.unwrap() / body.run.q2c_sum_s.unwrap() - 1.0).abs() < 1e-9);
    assert!((body.original.completion_s - body.elapsed_s).abs() < 1e-9);
    let q2c = body.q2c.unwrap();
    assert!(q2c.mean.low.unwrap() < q2c.mean.value && q2c.mean.value < q2c.mean.high.unwrap());
    // Nothing waited, so what a user waits is what the drive took.
    assert_eq!(body.from_due.unwrap().p99.value, q2c.p99.value);
}

#[test]
fn an_outstanding_replay_holds_what_was_outstanding_and_no_more() {
    let case = Case::new(poisson(5, 3000, 20_000.0, 0.6)).options(writing(Mode::Timed));
    let first = case.run(DRIVE);
    for count in [Count::Blocks, Count::Ios] {
        let options = writing(Mode::Outstanding(count));
        let done = Case::new(completed(&case, &first)).options(options).run(DRIVE);
        let mut before = 0;
        for (index, one) in done.replayed.iter().enumerate() {
            // By the definition, from the recorded times alone.
            let n: u64 = first.replayed[..index]
                .iter()
                .filter(|earlier| earlier.completed > first.replayed[index].issued)
                .map(|earlier| if count == Count::Ios { 1 } else { earlier.planned.len.0 / 512 })
                .sum();
            assert_eq!(one.planned.room, n, "{count:?} {index}");
            let held: u64 = done.replayed[..index]
                .iter()
                .filter(|earlier| earlier.completed > one.issued)
                .map(|earlier| earlier.planned.weight)
                .sum();
            assert!(held <= n, "{count:?} {index}: {held} outstanding, {n} in the original");
            before += held;
        }
        let held = done.body.fidelity.depth_held.unwrap();
        assert!((held.held_mean - before as f64 / 3000.0).abs() < 1e-6, "{held:?}");
        assert_eq!(done.body.fidelity.verdict, Limit::Faithful, "{}", done.body.fidelity.reason);
        assert_eq!(done.body.fidelity.drift_ppm, None);
    }
}

#[test]
fn arrivals_become_outstanding_numbers_by_a_reference() {
    let timed = Case::new(poisson(5, 2000, 20_000.0, 1.0));
    let options = Options { mode: Mode::Outstanding(Count::Blocks), ..Options::default() };
    let case = Case::new(timed.ios.clone()).options(options.clone());
    let refused = case.plan(DRIVE, false).unwrap_err().to_string();
    assert!(refused.contains("arrivals only") && refused.contains("--reference"), "{refused}");
    let reference = timed.run(DRIVE);
    let referred = case.run_with(DRIVE, Some(reference.reference.clone()));
    // The same as if the trace had had these completions itself.
    let with = Case::new(completed(&timed, &reference)).options(options).run(DRIVE);
    assert_eq!(referred.replayed, with.replayed);
    assert_eq!(referred.body.original.origin, Origin::Reference);
    assert_eq!(referred.body.original.completion_s, with.body.original.completion_s);
}

#[test]
fn as_fast_as_possible_keeps_the_depth_and_the_order() {
    let case = Case::new(poisson(5, 2000, 10.0, 1.0))
        .options(Options { mode: Mode::Afap(8), ..Options::default() });
    let done = case.run(DRIVE);
    let depth = done.body.run.queue_depth.clone().unwrap();
    assert_eq!(depth.max, 8);
    assert!(depth.mean > 7.9, "{}", depth.mean);
    assert!(done.replayed.windows(2).all(|pair| pair[0].issued <= pair[1].issued));
    assert!(done.body.elapsed_s < 0.5 * done.body.original.completion_s);
}

#[test]
fn a_factor_stretches_the_schedule() {
    let ios = poisson(5, 500, 1000.0, 1.0);
    let scale = Options { mode: Mode::Scaled(Scale::by(2.5)), ..Options::default() };
    let done = Case::new(ios.clone()).options(scale).run(DRIVE);
    for (io, one) in ios.iter().zip(&done.replayed) {
        assert_eq!(one.planned.at.0, (io.arrival.0 as f64 * 2.5).round() as u64);
        assert_eq!((one.issued, one.planned.room), (one.planned.at, Planned::ALL_ROOM));
    }
}

#[test]
fn what_a_target_must_not_get_is_left_out_and_counted() {
    let mut ios = poisson(5, 400, 1000.0, 0.5);
    ios[3].kind = Kind::Discard;
    ios[5].kind = Kind::WriteZeroes;
    ios[6].kind = Kind::Zone;
    ios[7].kind = Kind::Other;
    ios[9].kind = Kind::Flush;
    ios[9].length = Bytes::ZERO;
    ios[11].length = Bytes::ZERO;
    ios[11].kind = Kind::Read;
    let writes = ios.iter().filter(|io| io.kind == Kind::Write).count() as u64;
    let done = Case::new(ios.clone()).run(DRIVE);
    assert!(done.replayed.iter().all(|one| one.planned.op == Op::Read));
    let left = done.body.planned.left_out;
    assert_eq!((left.writes, left.flushes, left.discards), (writes, 1, 1));
    assert_eq!((left.write_zeroes, left.zone, left.other, left.empty), (1, 1, 1, 1));
    assert_eq!(done.body.planned.requests, 400 - writes - 6);
    let told = |code: &str| done.body.run.caveats.iter().any(|caveat| caveat.code == code);
    assert!(told("writes_left_out") && !told("writes_as_reads"));

    let as_reads = Options { writes: Writes::AsReads, ..Options::default() };
    let done = Case::new(ios.clone()).options(as_reads).run(DRIVE);
    assert_eq!(done.body.planned.writes_as_reads, writes);
    assert!(done.body.run.caveats.iter().any(|caveat| caveat.code == "writes_as_reads"));

    let all = Options { discards: true, ..writing(Mode::Timed) };
    let case = Case::new(ios).options(all);
    let plan = case.plan(DRIVE, false).unwrap();
    assert_eq!(plan.write_bytes(), Bytes(writes * 4096));
    assert_eq!(plan.discard_bytes(), Bytes(4096));
    let planned = case.run(DRIVE).body.planned;
    assert_eq!((planned.writes, planned.flushes, planned.discards), (writes, 1, 1));
}

#[test]
fn a_write_that_flushes_first_is_a_flush_and_a_write() {
    let mut ios = poisson(5, 3, 1000.0, 0.0);
    ios[0].flags = Flags::PREFLUSH.with(Flags::FUA);
    ios[1].flags = Flags::PREFLUSH;
    ios[1].length = Bytes::ZERO;
    let done = Case::new(ios).options(writing(Mode::Timed)).run(DRIVE);
    let ops: Vec<(Op, bool)> =
        done.replayed.iter().map(|r| (r.planned.op, r.planned.fua)).collect();
    assert_eq!(
        ops,
        [(Op::Flush, false), (Op::Write, true), (Op::Flush, false), (Op::Write, false)]
    );
    assert_eq!((done.body.planned.preflushes, done.body.planned.fua), (1, 1));
}

#[test]
fn addresses_beyond_the_target_are_refused_or_mapped() {
    let small = "sim:sata-a?capacity=1GB";
    let mut ios = poisson(5, 500, 1000.0, 1.0);
    for (index, io) in ios.iter_mut().enumerate() {
        io.offset = Bytes(io.offset.0 * 5 + 512);
        io.space = index as u32 % 3;
    }
    let case = |fit: Fit, layout: Layout| {
        let mut case = Case::new(ios.clone());
        case.options = Options { fit, layout, ..Options::default() };
        case.info.spaces = ["sda", "sdb", "sdc"]
            .map(|name| Space { name: name.to_owned(), ..Space::default() })
            .to_vec();
        case
    };
    let refused = case(Fit::Identity, Layout::Packed).plan(small, false).unwrap_err().to_string();
    assert!(refused.contains("--map wrap, --map scale or --map hash"), "{refused}");
    for fit in [Fit::Wrap, Fit::Scale, Fit::Hash { seed: 3 }] {
        for layout in [Layout::Packed, Layout::SideBySide, Layout::Overlaid] {
            let done = case(fit, layout.clone()).run(small);
            assert!(
                done.body.errors_by_kind.is_empty(),
                "{fit:?} {layout:?}: {:?}",
                done.body.errors_by_kind
            );
            assert!(!done.body.plan.injective);
        }
    }
    let named = |list: &[(&str, u64)]| {
        Layout::At(list.iter().map(|(name, at)| ((*name).to_owned(), Bytes(*at))).collect())
    };
    let missing = case(Fit::Wrap, named(&[("sda", 0)])).plan(small, false).unwrap_err().to_string();
    assert!(missing.contains("sdb has no place") && missing.contains("sda, sdb, sdc"), "{missing}");
    let large = "sim:sata-a";
    let at = [("sda", 0), ("sdb", 10 << 30), ("sdc", 20 << 30)];
    let done = case(Fit::Identity, named(&at)).run(large);
    for (io, one) in ios.iter().zip(&done.replayed) {
        assert_eq!(one.planned.offset.0, io.offset.0 + at[io.space as usize].1);
    }
}

#[test]
fn a_discard_that_is_left_out_takes_no_room() {
    // A recording that began with mkfs discards a whole disk, and would fit no smaller one.
    let mut ios = poisson(5, 10, 1000.0, 1.0);
    ios[3].kind = Kind::Discard;
    ios[3].length = Bytes::gib(200);
    let case = Case::new(ios.clone());
    assert!(case.plan("sim:sata-a", false).is_ok());
    let with = Case::new(ios).options(Options { discards: true, ..writing(Mode::Timed) });
    assert!(with.plan("sim:sata-a", false).is_err());
}

#[test]
fn packed_spaces_never_meet() {
    // Spaces that lay over each other would make reads of one hit what was read of the other.
    let mut ios = poisson(5, 900, 1000.0, 1.0);
    for (index, io) in ios.iter_mut().enumerate() {
        io.space = index as u32 % 3;
        io.offset = Bytes(io.offset.0 + (1_u64 << 40) * u64::from(io.space));
    }
    let done = Case::new(ios.clone()).run("sim:sata-a");
    assert!(done.body.plan.injective && done.body.plan.extent_bytes < Bytes::gib(4));
    let mut seen = std::collections::BTreeMap::new();
    for (io, one) in ios.iter().zip(&done.replayed) {
        let key = (io.space, io.offset);
        assert_eq!(*seen.entry(one.planned.offset).or_insert(key), key);
    }
}

#[test]
fn hashed_addresses_meet_only_where_they_must() {
    let mut ios = poisson(5, 2000, 1000.0, 1.0);
    ios.iter_mut().for_each(|io| io.offset = Bytes(io.offset.0 * 8));
    let options = Options { fit: Fit::Hash { seed: 11 }, ..Options::default() };
    let done = Case::new(ios.clone()).options(options).run("sim:sata-a");
    assert!(done.body.plan.injective);
    let mut seen = std::collections::BTreeMap::new();
    let mut moved = 0;
    for (io, one) in ios.iter().zip(&done.replayed) {
        assert_eq!(*seen.entry(one.planned.offset).or_insert(io.offset), io.offset);
        assert_eq!(one.planned.offset.0 % (1 << 20), io.offset.0 % (1 << 20));
        moved += u64::from(one.planned.offset != io.offset);
    }
    assert!(moved > 1990, "{moved}");
}

#[test]
fn ends_are_moved_to_whole_blocks_and_counted() {
    let mut ios = poisson(5, 10, 1000.0, 1.0);
    ios[0].offset = Bytes(ios[0].offset.0 + 100);
    ios[0].length = Bytes(1000);
    let done = Case::new(ios.clone()).run("sim:sata-a?layout.logical_block_bytes=4096");
    let (counts, first) = (done.body.planned, &done.replayed[0].planned);
    assert_eq!((counts.repaired, counts.repaired_bytes), (1, Bytes(4096 - 1000)));
    assert_eq!((first.offset, first.len), (Bytes(ios[0].offset.0 - 100), Bytes(4096)));
}

#[test]
fn a_trace_is_repeated_and_cut_out() {
    let ios = poisson(5, 400, 1000.0, 1.0);
    let options = Options { loops: 3, ..Options::default() };
    let done = Case::new(ios.clone()).options(options).run(DRIVE);
    assert_eq!(done.replayed.len(), 1200);
    let (first, third) = (&done.replayed[..400], &done.replayed[800..]);
    let shift = third[0].planned.at.0 - first[0].planned.at.0;
    for (a, b) in first.iter().zip(third) {
        assert_eq!((b.planned.at.0 - a.planned.at.0, b.planned.offset), (shift, a.planned.offset));
    }
    // Twice the span from first to last, and twice a mean gap between them.
    let span = ios[399].arrival.0 - ios[0].arrival.0;
    assert_eq!(shift, 2 * (span + span / 399));

    let (from, until) = (ios[100].arrival, ios[300].arrival);
    let options = Options { from, until: Some(until), ..Options::default() };
    let done = Case::new(ios.clone()).options(options).run(DRIVE);
    assert_eq!(done.replayed.len(), 200);
    assert_eq!(done.replayed[0].planned.at, Nanos::ZERO);
    assert_eq!(done.replayed[199].planned.at.0, ios[299].arrival.0 - from.0);
    let nothing = Options { from: Nanos(u64::MAX - 1), ..Options::default() };
    assert!(Case::new(ios).options(nothing).plan(DRIVE, false).is_err());
}

#[test]
fn from_d_requests_are_replayed_as_the_driver_got_them() {
    let mut ios = poisson(5, 4, 1000.0, 1.0);
    for (io, issued) in ios.iter_mut().zip([50_000_000, 20_000_000, 50_000_000, 30_000_000]) {
        io.issued = Stamp::at(Nanos(issued));
        io.flags = Flags::HEAD;
        io.request_bytes = Bytes::kib(4);
    }
    ios[0].request_bytes = Bytes::kib(8);
    ios[2].flags = Flags::MERGED_BACK;
    let options = Options { clock: Clock::Issue, ..Options::default() };
    let done = Case::new(ios.clone()).options(options.clone()).run(DRIVE);
    let at: Vec<u64> = done.replayed.iter().map(|one| one.planned.at.0).collect();
    let len: Vec<u64> = done.replayed.iter().map(|one| one.planned.len.0).collect();
    assert_eq!((at, len), (vec![0, 10_000_000, 30_000_000], vec![4096, 4096, 8192]));
    assert_eq!(done.body.planned.merged, 1);
    let without = Case::new(poisson(5, 4, 1000.0, 1.0)).options(options);
    assert!(without.plan(DRIVE, false).unwrap_err().to_string().contains("replay it from Q"));
}

#[test]
fn a_trace_that_lost_its_end_can_still_be_replayed_outstanding() {
    // I/Os under way when the recording stopped have no completion.
    let case = Case::new(poisson(5, 1000, 20_000.0, 1.0));
    let first = case.run(DRIVE);
    let mut ios = completed(&case, &first);
    ios[980..].iter_mut().for_each(|io| io.completed = Stamp::NONE);
    let options = Options { mode: Mode::Outstanding(Count::Ios), ..Options::default() };
    let done = Case::new(ios.clone()).options(options.clone()).run(DRIVE);
    assert!(done.body.plan.notes.iter().any(|note| note.starts_with("20 I/Os have no completion")));
    ios[..200].iter_mut().for_each(|io| io.completed = Stamp::NONE);
    let refused = Case::new(ios).options(options).plan(DRIVE, false).unwrap_err().to_string();
    assert!(refused.contains("only 780 of 1000"), "{refused}");
}

#[test]
fn too_few_slots_are_told_as_the_drive_that_freed_none() {
    let mut case = Case::new(poisson(5, 3000, 60_000.0, 1.0));
    case.setup.slots = 4;
    let done = case.run(DRIVE);
    let fidelity = &done.body.fidelity;
    assert_eq!(fidelity.verdict, Limit::DriveLimited, "{}", fidelity.reason);
    assert!(fidelity.no_slot > 1000 && fidelity.issue_error_ns.p50 > fidelity.own_error_ns.max);
    // The time that a user waits includes the wait for the slot, and Q2C does not.
    let (due, q2c) = (done.body.from_due.unwrap(), done.body.q2c.unwrap());
    assert!(due.mean.value > 2.0 * q2c.mean.value);
}
