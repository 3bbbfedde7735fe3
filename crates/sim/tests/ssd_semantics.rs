//! Promises of a solid-state drive to its host, and where its time goes.

use crate::common;
use crate::common::{GIB, Load, MIB, Sample, one, random, request, run, setup};
use block::{Bytes, Completion, Drive, Environment, Nanos, Op, Request, Target, Time, WriteCache};
use drivescope_sim::{SimError, VirtualTarget, open, show};

/// An NVMe drive of 16 dies in which every time is exact: read 50 µs, program 500 µs, erase 2 ms.
const EXACT: &str = "sim:enterprise-28op?capacity=4GiB&nand.jitter_permille=0\
    &nand.spikes_per_million=0&link.command_jitter_ns=0&nand.read_ns=[50000, 50000, 50000]\
    &nand.program_ns=[500000, 500000, 500000]&nand.erase_ns=2000000";
const PROGRAM_NS: u64 = 500_000;
const READ_NS: u64 = 50_000;
/// A page of both planes.
const ROW: u64 = 32 << 10;

/// That drive, without its capacitors.
fn exact(more: &str) -> VirtualTarget {
    open(&format!("{EXACT}&memory.power_loss_protection=false{more}")).unwrap()
}

/// Issues one request after the other.
fn each(target: &mut VirtualTarget, requests: impl IntoIterator<Item = Request>) -> Vec<Sample> {
    let mut lanes = target.open(&setup(1)).unwrap();
    requests.into_iter().map(|request| one(&mut lanes[0], request)).collect()
}

fn write(offset: u64, len: u64) -> Request {
    request(Op::Write, offset, len, 0)
}

fn read(offset: u64, len: u64) -> Request {
    request(Op::Read, offset, len, 0)
}

fn flush() -> Request {
    request(Op::Flush, 0, 0, 0)
}

// Breaks when anything but the seed decides: hash order, addresses, host time.
#[test]
fn one_seed_gives_one_history_and_another_seed_another() {
    for spec in [
        "enterprise-28op?state=steady",
        "tlc-pslc?slc.bytes=1000000000",
        "optane?",
        "sata-a?state=filled",
    ] {
        let history = |mut target: VirtualTarget| {
            let writes = Load::write(4096, 32, Nanos::millis(20));
            let mut samples = run(&mut target, writes, random(10, 0, GIB, 4096));
            let reads = Load::read(8192, 16, Nanos::millis(10));
            samples.extend(run(&mut target, reads, random(9, 0, GIB, 4096)));
            target.pause(Nanos::secs(3));
            let sync = Load { fua: true, ..Load::write(512, 4, Nanos::millis(10)) };
            if target.info().logical_block_bytes == Bytes(512) {
                samples.extend(run(&mut target, sync, random(3, 0, GIB, 512)));
            }
            samples.extend(each(&mut target, [flush(), request(Op::Discard, 0, MIB, 0)]));
            (samples, target.media(), target.environment().snapshot())
        };
        let of = |seed: u64| {
            let small = if spec.starts_with("optane") { "" } else { "&capacity=12GiB" };
            open(&format!("sim:{spec}{small}&seed={seed}").replace("?&", "?")).unwrap()
        };
        assert!(history(of(7)) == history(of(7)), "{spec}: the same seed gave two histories");
        assert!(history(of(7)) != history(of(8)), "{spec}: the seed makes no difference");
        let mut reseeded = of(0);
        reseeded.reseed(7);
        assert!(history(reseeded) == history(of(7)), "{spec}: reseeding is not opening anew");
    }
}

// A tester that reads what was never written measures the controller and not the chips.
#[test]
fn what_was_never_written_or_is_trimmed_is_answered_without_the_medium() {
    let mut target = exact("");
    let never = each(&mut target, [read(0, 4096)])[0].latency_ns();
    each(&mut target, [write(0, 8 * ROW), flush()]);
    let written = each(&mut target, [read(0, 4096)])[0].latency_ns();
    assert!(
        (written - never).abs_diff(READ_NS) < 6_000,
        "{written} {never}: a page and its transfer"
    );
    assert_eq!(target.media().medium_served_read_bytes, Bytes(4096));
    each(&mut target, [request(Op::Discard, 0, 4096, 0), request(Op::Discard, 4096, 4096, 0)]);
    let trimmed = each(&mut target, [read(0, 4096)])[0].latency_ns();
    assert_eq!(trimmed, never);
    let half = open("sim:mlc-nvme?nand.jitter_permille=0&nand.spikes_per_million=0");
    let mut half = half.unwrap();
    each(&mut half, [write(0, 65_536), flush(), request(Op::Discard, 512, 7 * 512, 0)]);
    each(&mut half, [read(0, 4096)]);
    assert_eq!(half.media().medium_served_read_bytes, Bytes(4096), "a part of it is still wanted");
}

#[test]
fn a_write_is_complete_when_memory_has_it_and_a_read_finds_it_there() {
    let mut target = exact("");
    let samples = each(&mut target, [write(0, 4096), read(0, 4096)]);
    assert!(samples.iter().all(|s| s.latency_ns() < 20_000), "{samples:?}");
    let media = target.media();
    assert_eq!(media.medium_write_bytes, Bytes::ZERO, "one unit does not fill a row");
    assert_eq!(media.cache_served_read_bytes, Bytes(4096));
    assert_eq!(media.cache_taken_write_bytes, Bytes(4096));
}

// Breaks when room is freed before its program ends, or never.
#[test]
fn memory_takes_a_burst_at_the_links_rate_and_more_only_as_fast_as_it_is_programmed() {
    let mut target = exact("&memory.write_bytes=8388608");
    let burst = each(&mut target, (0..64).map(|i| write(i * 65_536, 65_536)));
    let slow = burst.iter().filter(|s| s.latency_ns() > 100_000).count();
    assert_eq!(slow, 0, "4 MiB fit into 8");
    let load = Load::write(65_536, 8, Nanos::secs(1));
    let samples = run(&mut target, load, common::shared_cursor(0, GIB, 65_536));
    let late = &samples[samples.len() / 4..];
    let rate = common::mb_per_s(late);
    let programmed = 16.0 * ROW as f64 / 1e6 / 500e-6;
    assert!((rate / programmed - 1.0).abs() < 0.02, "{rate} MB/s, the dies do {programmed}");
}

// An answer that does not wait for the medium would lose data that the host was promised.
#[test]
fn flush_and_force_unit_access_wait_for_the_medium() {
    for waits in [true, false] {
        let mut target = if waits { exact("") } else { open(EXACT).unwrap() };
        let fua = Request { fua: true, ..write(0, 4096) };
        let samples = each(&mut target, [write(MIB, 4096), flush(), flush(), fua]);
        let [plain, flushed, again, forced] = [0, 1, 2, 3].map(|i: usize| samples[i].latency_ns());
        assert!(plain < 20_000 && again < 20_000, "nothing to wait for: {plain} {again}");
        for latency in [flushed, forced] {
            assert_eq!(latency > PROGRAM_NS, waits, "{latency}");
            assert!(latency < PROGRAM_NS + 100_000, "{latency}: one program, not several");
        }
        let programmed = if waits { 2 * ROW } else { 0 };
        assert_eq!(target.media().medium_write_bytes, Bytes(programmed), "rows are filled up");
        let cache = target.info().write_cache;
        let said = if waits { WriteCache::WriteBack } else { WriteCache::WriteThrough };
        assert_eq!(cache, Some(said), "what is safe is not volatile");
    }
}

#[test]
fn without_its_write_cache_each_write_waits() {
    let mut target = exact("&write_cache=write_through");
    let samples = each(&mut target, [write(0, 4096), write(0, MIB), flush()]);
    assert!(samples[0].latency_ns() > PROGRAM_NS);
    // 1 MiB is two rows on each of 16 dies.
    let two = 2 * PROGRAM_NS;
    assert!((two..two + 600_000).contains(&samples[1].latency_ns()), "{}", samples[1].latency_ns());
    assert!(samples[2].latency_ns() < 20_000, "nothing is left to flush");
    assert_eq!(target.media().medium_served_write_bytes, Bytes(MIB + 4096));
    assert_eq!(target.info().write_cache, Some(WriteCache::WriteThrough));
}

/// Issues all at once; gives each request's time, by slot.
fn together(target: &mut VirtualTarget, requests: &[Request]) -> Vec<u64> {
    let mut lanes = target.open(&setup(requests.len() as u16)).unwrap();
    let numbered: Vec<Request> =
        (0..).zip(requests).map(|(slot, r)| Request { slot, ..*r }).collect();
    lanes[0].submit(&numbered).unwrap();
    let mut done: Vec<Completion> = Vec::new();
    while done.len() < requests.len() {
        lanes[0].wait_until(Time::NEVER, &mut done).unwrap();
    }
    done.sort_by_key(|c| c.slot);
    done.iter().map(|c| c.completed.0).collect()
}

// Purpose of a flush: it waits for the writes before it, and for none of those after it.
#[test]
fn a_flush_waits_for_what_was_complete_before_it_and_not_for_what_comes_after() {
    let mut target = exact("");
    each(&mut target, [write(0, MIB)]);
    let began = target.now().0;
    let later: Vec<Request> = (1..9).map(|i| write(i * MIB, MIB)).collect();
    let ends = together(&mut target, &[&[flush()], later.as_slice()].concat());
    let flushed = ends[0] - began;
    // Two rows a die lie before it, of which the first began at once.
    assert!((PROGRAM_NS..3 * PROGRAM_NS).contains(&flushed), "{flushed}");
}

#[test]
fn on_sata_a_flush_has_the_drive_to_itself() {
    let spec = "sim:sata-a?capacity=4GiB&nand.jitter_permille=0&nand.spikes_per_million=0";
    let mut target = open(spec).unwrap();
    each(&mut target, [write(0, MIB), flush()]);
    let ends = together(&mut target, &[read(0, 65_536), flush(), read(65_536, 4096)]);
    assert!(ends[0] < ends[1] && ends[1] < ends[2], "{ends:?}: before, alone, after");
    let nvme = together(&mut exact(""), &[read(0, 65_536), flush(), read(65_536, 4096)]);
    assert!(nvme[2] < nvme[0].max(nvme[1]) + 20_000, "{nvme:?}: NVMe's flush is queued like all");
}

// A host that appends in pieces below the unit of mapping, or rewrites one place, must not wear a row for each.
#[test]
fn what_is_written_again_before_it_is_programmed_is_programmed_once() {
    let mut target = exact("");
    each(&mut target, (0..1000).map(|_| write(4096, 4096)));
    each(&mut target, [flush()]);
    let media = target.media();
    assert_eq!(media.medium_write_bytes, Bytes(ROW));
    assert_eq!(media.host_write_bytes, Bytes(1000 * 4096), "the host wrote it all the same");
}

#[test]
fn a_part_of_a_unit_is_written_after_the_rest_was_read() {
    let spec = "sim:mlc-nvme?capacity=16GiB&nand.pages_per_block=64";
    let mut target = open(spec).unwrap();
    each(&mut target, [write(512, 512), flush()]);
    assert_eq!(target.media().medium_read_bytes, Bytes::ZERO, "there was no rest");
    each(&mut target, [write(0, 512), flush()]);
    assert_eq!(target.media().medium_read_bytes, Bytes(4096));
    assert_eq!(target.media().medium_write_bytes, Bytes(2 * ROW));
}

// Breaks when each unit of a request costs a read of its page of its own.
#[test]
fn units_of_a_request_in_one_row_cost_one_read() {
    let mut target = exact("&layout.chunk_bytes=32768&memory.page_register=false");
    each(&mut target, [write(0, 16 * ROW), flush()]);
    let samples = each(&mut target, [read(0, 4096), read(0, ROW), read(0, 2 * ROW)]);
    let [unit, row, two] = [0, 1, 2].map(|i: usize| samples[i].latency_ns());
    // Beyond the read itself, only the transfer over channel (40.96 µs a row) and link (9.8 µs) is longer.
    assert!(row - unit < 50_000, "{row} {unit}");
    assert!(two - row < 15_000, "{two} {row}: the second row is on another channel");
}

#[test]
fn a_row_in_the_page_register_is_not_read_again() {
    let latencies = ["true", "false"].map(|register| {
        let mut target = exact(&format!("&memory.page_register={register}"));
        each(&mut target, [write(0, MIB), flush()]);
        let samples = each(&mut target, [read(0, 4096), read(4096, 4096), read(4096, 4096)]);
        samples.iter().map(Sample::latency_ns).collect::<Vec<u64>>()
    });
    assert_eq!(latencies[0][0] - READ_NS, latencies[0][1]);
    assert_eq!(latencies[1][0], latencies[1][2]);
}

// Reads of a drive that is written to: without precedence each would wait behind a queue of programs.
#[test]
fn reads_go_before_programs_that_wait_but_not_for_ever() {
    let slowest = |most: u32| {
        let mut target =
            exact(&format!("&nand.reads_before_program={most}&memory.page_register=false"));
        each(&mut target, [write(0, 64 * MIB), flush()]);
        // All rows of one die's queue; then reads of that die.
        let writes = (0..64).map(|i| write(GIB + i * 16 * 16_384, 16_384));
        let reads = (0..64).map(|i| read(i * 16 * 16_384, 4096));
        let all: Vec<Request> = writes.chain(reads).collect();
        let ends = together(&mut target, &all);
        let begin = target.now().0;
        each(&mut target, [flush()]);
        (ends[64..].iter().copied().max().unwrap(), target.now().0 - begin)
    };
    let (first, _) = slowest(1_000);
    let (turns, _) = slowest(1);
    assert!(first + 20 * PROGRAM_NS < turns, "{first} {turns}");
}

#[test]
fn written_in_place_nothing_is_amplified_and_reads_are_as_quick_as_writes() {
    let mut target = open("sim:optane").unwrap();
    let load = Load::write(4096, 32, Nanos::secs(1));
    let span = target.info().capacity_bytes.0;
    let first = run(&mut target, load, random(1, 0, span, 4096)).len();
    let region = run(&mut target, load, random(2, 0, 64 * MIB, 4096)).len();
    assert!(first.abs_diff(region) < first / 50, "{first} {region}: it does not matter where");
    each(&mut target, [flush()]);
    let media = target.media();
    assert_eq!(media.host_write_bytes, media.medium_write_bytes);
    assert_eq!((media.erases, media.copied_bytes), (0, Bytes::ZERO));
    let mean = |samples: &[Sample]| {
        samples.iter().map(Sample::latency_ns).sum::<u64>() / samples.len() as u64
    };
    let reads = run(&mut target, Load::read(4096, 1, Nanos::millis(50)), random(3, 0, span, 4096));
    let writes =
        run(&mut target, Load::write(4096, 1, Nanos::millis(50)), random(4, 0, span, 4096));
    let (read, write) = (mean(&reads), mean(&writes));
    assert!(read.abs_diff(write) * 10 < read, "{read} {write}");
    let truth = show("sim:optane").unwrap().truth;
    assert_eq!(
        (truth.erase_block_bytes, truth.over_provisioning, truth.initial_state),
        (None, None, None)
    );
}

// Rare spikes are what tails are made of: none, and no percentile beyond the jitter can be tested.
#[test]
fn spikes_come_as_often_as_the_model_says() {
    let spec = "sim:enterprise-28op?capacity=1GiB&state=filled&nand.spikes_per_million=2000\
        &nand.spike_ns=50000000";
    let mut target = open(spec).unwrap();
    let samples = run(&mut target, Load::read(4096, 1, Nanos::secs(8)), random(1, 0, GIB, 4096));
    let spikes = samples.iter().filter(|s| s.latency_ns() > 50_000_000).count() as f64;
    let expected = samples.len() as f64 * 0.002;
    assert!((spikes - expected).abs() < 4.0 * expected.sqrt(), "{spikes} of {}", samples.len());
}

#[test]
fn the_truth_is_that_of_the_model_with_its_overrides() {
    let truth = show("sim:tlc-pslc?state=filled").unwrap().truth;
    assert_eq!(truth.erase_block_bytes, Some(Bytes(576 * 4 * 16_384)));
    assert_eq!((truth.planes, truth.cell_levels, truth.dies), (Some(4), Some(8), Some(8)));
    assert_eq!(truth.initial_state.as_deref(), Some("filled"));
    let cache = |state| {
        let spec = format!("sim:tlc-pslc?state={state}");
        show(&spec).unwrap().truth.slc_cache_bytes.unwrap().0
    };
    let (fresh, filled) = (cache("fresh"), cache("filled"));
    assert!((24_000_000_000..24_200_000_000).contains(&fresh), "{fresh}: in whole blocks");
    // Lent from what is free: a third of the spare space holds data, one bit of three.
    let spare = 256_060_514_304.0 * truth.over_provisioning.unwrap() / 3.0;
    assert!((filled as f64 / spare - 1.0).abs() < 0.05, "{filled} of {spare}");
    let op = show("sim:enterprise-28op").unwrap().truth.over_provisioning.unwrap();
    assert!((0.28..0.282).contains(&op), "{op}");
    assert_eq!(show("sim:mlc-nvme").unwrap().truth.slc_cache_bytes, None);
}

#[test]
fn what_a_model_or_an_override_gets_wrong_is_told_with_its_key() {
    for (query, key, words) in [
        ("mlc-nvme?state=worn", "state", "unknown variant"),
        ("optane?state=steady", "state", "no initial state"),
        ("mlc-nvme?capacity=100MB", "capacity", "blocks to each of 32 dies"),
        ("mlc-nvme?nand.read_ns=[1, 2, 3]", "nand.read_ns", "a cell of 2 bits"),
        ("mlc-nvme?layout.chunk_bytes=6000", "layout.chunk_bytes", "multiple of 4096"),
        ("mlc-nvme?layout.collection=choices", "layout.collection", "layout.choices"),
        ("mlc-nvme?layout.over_provisioning=0", "layout.over_provisioning", "outside 0.01 to 10"),
        ("tlc-pslc?nand.pages_per_block=577", "nand.pages_per_block", "not a multiple of 3"),
        ("tlc-pslc?slc.bytes=900000000000", "slc.bytes", "blocks of a die"),
        ("optane?nand.planes=2", "nand.planes", "unit of mapping"),
        ("tlc-pslc?slc.colour=1", "slc.colour", "there is no field `colour`"),
    ] {
        match open(&format!("sim:{query}")) {
            Err(SimError::Override { key: at, what }) => {
                assert_eq!(at, key, "{what}");
                assert!(what.contains(words), "{query}: {what}");
            }
            other => panic!("{query}: {other:?}"),
        }
    }
}

// Breaks when what the collection takes out of a row in two steps is counted, and crosses the channel, only for the
// first of them: reads are then too few and the channel too free. Of what is moved only that in memory is not read.
#[test]
fn whatever_the_collection_moves_was_read_and_crossed_the_channel() {
    for more in ["&layout.map_bytes=4096", "&layout.map_bytes=4096&layout.collection=fifo"] {
        let mut target = exact(&format!("&state=steady{more}"));
        run(&mut target, Load::write(4096, 32, Nanos::secs(2)), random(5, 0, 4 * GIB, 4096));
        each(&mut target, [flush()]);
        let media = target.media();
        assert!(media.copied_bytes > Bytes::mib(64), "{media:?}");
        let (read, copied) = (media.medium_read_bytes.0 as f64, media.copied_bytes.0 as f64);
        // Data that the host overwrites between the steps was read for nothing.
        assert!((0.995..1.05).contains(&(read / copied)), "{more}: {read} read of {copied} moved");
    }
}
