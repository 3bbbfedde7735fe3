//! The lenses on addresses against their definitions, taken word by word, and estimates against what is exact.

use std::collections::{HashMap, HashSet};

use block::{Bytes, Nanos};
use drivescope_trace::analyze::regions::{REGIONS_MAX, Regions, RegionsBody};
use drivescope_trace::analyze::reuse::{Reuse, ReuseBody};
use drivescope_trace::analyze::working_set::{WorkingSet, WorkingSetBody};
use drivescope_trace::{Io, Kind};
use proptest::prelude::*;
use workload::rng::{Rng, mix};

const BLOCK: u64 = 4096;

fn io(at: u64, kind: Kind, offset: u64, length: u64) -> Io {
    Io::arriving(Nanos(at), kind, Bytes(offset), Bytes(length))
}

/// Blocks that an I/O touches, with their space.
fn blocks(io: &Io) -> Vec<(u32, u64)> {
    let last = io.offset.0 + io.length.0 - 1;
    (io.offset.0 / BLOCK..=last / BLOCK).map(|block| (io.space, block)).collect()
}

fn ios() -> impl Strategy<Value = Vec<Io>> {
    let one = (0..400_000u64, 0..10u8, 0..3u32, 0..60_000_000u64, 0..26u32, 1..300_000u64);
    prop::collection::vec(one, 1..150).prop_map(|steps| {
        let mut at = 0;
        let one = |(gap, kind, space, offset, less, length): (u64, u8, u32, u64, u32, u64)| {
            at += gap;
            let kind = match kind {
                0..5 => Kind::Read,
                5..9 => Kind::Write,
                _ => Kind::Discard,
            };
            Io { space, ..io(at, kind, offset >> less, length >> (less / 2) | 1) }
        };
        steps.into_iter().map(one).collect()
    })
}

fn working_set(ios: &[Io], chunks: Option<usize>) -> WorkingSetBody {
    let mut lens = chunks.map_or_else(WorkingSet::new, WorkingSet::with_chunks);
    ios.iter().for_each(|io| lens.see(io));
    lens.finish()
}

fn reuse(ios: impl IntoIterator<Item = Io>, blocks: usize) -> ReuseBody {
    let mut lens = Reuse::with_blocks(blocks);
    ios.into_iter().for_each(|io| lens.see(&io));
    lens.finish()
}

fn regions(ios: &[Io]) -> RegionsBody {
    let mut lens = Regions::new();
    ios.iter().for_each(|io| lens.see(io));
    lens.finish()
}

proptest! {
    /// If it failed, a drive or a cache would be chosen for a working set that is not the trace's.
    #[test]
    fn working_sets_are_sets(ios in ios()) {
        let body = working_set(&ios, None);
        let of = |kinds: &[Kind], from: u64, to: u64| {
            let some = ios.iter().filter(|io| kinds.contains(&io.kind));
            let some = some.filter(|io| (from..to).contains(&io.arrival.0));
            let set: HashSet<(u32, u64)> = some.flat_map(blocks).collect();
            set.len() as u64 * BLOCK
        };
        let (read, written) = ([Kind::Read], [Kind::Write]);
        let both = [Kind::Read, Kind::Write];
        prop_assert!(body.exact && body.error == 0.0);
        prop_assert_eq!(body.distinct.read_bytes, of(&read, 0, u64::MAX));
        prop_assert_eq!(body.distinct.written_bytes, of(&written, 0, u64::MAX));
        prop_assert_eq!(body.distinct.total_bytes, of(&both, 0, u64::MAX));
        let mut before = 0;
        for (index, window) in (0..).zip(&body.windows) {
            let (from, to) = (index * body.window_ns, (index + 1) * body.window_ns);
            for (ours, kinds) in [
                (window.distinct.read_bytes, &read[..]),
                (window.distinct.written_bytes, &written[..]),
                (window.distinct.total_bytes, &both[..]),
            ] {
                let exact = of(kinds, from, to);
                let off = ours.abs_diff(exact) as f64;
                // Of n blocks about n^2 / 8,192 share one of 4,096 registers: a number as Poisson's law has it, whose
                // tail is long for its mean where n is small. Four blocks beside five errors leave 1 in 10^10.
                let most = 5.0 * body.window_error * exact as f64 + 4.0 * BLOCK as f64;
                prop_assert!(off <= most, "{ours} for {exact}");
            }
            let now = of(&both, 0, to);
            prop_assert_eq!(window.new_bytes, Some(now - before));
            before = now;
        }
    }

    /// If it failed, a drive's garbage collection would be expected sooner or later than it is.
    #[test]
    fn updates_are_counted_from_write_to_write(ios in ios()) {
        let updates = working_set(&ios, None).updates;
        let (mut writes, mut last) = (0u64, HashMap::new());
        let (mut between, mut apart) = (Vec::new(), Vec::new());
        for io in ios.iter().filter(|io| io.kind == Kind::Write) {
            for block in blocks(io) {
                if let Some((number, at)) = last.insert(block, (writes, io.arrival.0)) {
                    between.push((writes - number - 1) * BLOCK);
                    apart.push(io.arrival.0 - at);
                }
                writes += 1;
            }
        }
        prop_assert_eq!(updates.block_writes, writes);
        prop_assert_eq!(updates.overwrites, Some(between.len() as u64));
        prop_assert_eq!(updates.sampled_overwrites, between.len() as u64);
        prop_assert_eq!(updates.by_ns.iter().map(|power| power.count).sum::<u64>(), writes - last.len() as u64);
        between.sort_unstable();
        apart.sort_unstable();
        for (sorted, told) in [
            (&between, [updates.p10_bytes, updates.p50_bytes, updates.p90_bytes]),
            (&apart, [updates.p10_ns, updates.p50_ns, updates.p90_ns]),
        ] {
            for (share, told) in [10, 50, 90].into_iter().zip(told) {
                let exact = sorted.get((sorted.len() * share).div_ceil(100).max(1) - 1).copied();
                prop_assert_eq!(told.is_some(), exact.is_some());
                let (told, exact) = (told.unwrap_or(0), exact.unwrap_or(0));
                prop_assert!(told >= exact && told - exact <= exact / 32, "{told} for {exact}");
            }
        }
    }

    /// Against a list, the last accessed first. If it failed, a cache would be bought that holds something else.
    #[test]
    fn miss_ratios_are_those_of_a_list(ios in ios()) {
        let body = reuse(ios.iter().copied(), 1 << 20);
        let mut stack: Vec<(u32, u64)> = Vec::new();
        let mut places = Vec::new();
        for io in ios.iter().filter(|io| io.kind.transfers()) {
            for block in blocks(io) {
                let place = stack.iter().position(|other| *other == block);
                place.map(|place| stack.remove(place));
                stack.insert(0, block);
                places.push((place, io.kind == Kind::Read));
            }
        }
        prop_assert!(body.exact && body.rate == 1.0 && body.error == 0.0);
        prop_assert_eq!(body.accesses, places.len() as u64);
        prop_assert_eq!(body.footprint_bytes, stack.len() as u64 * BLOCK);
        let again = places.iter().filter(|(place, _)| place.is_some()).count();
        prop_assert_eq!(body.first_accesses, (places.len() - again) as u64);
        prop_assert_eq!(body.curve.is_empty(), again == 0);
        for point in &body.curve {
            let holds = |place: &Option<usize>| place.is_some_and(|p| p as u64 * BLOCK < point.cache_bytes);
            let missed = |part: &[&(Option<usize>, bool)]| {
                let missed = part.iter().filter(|(place, _)| !holds(place)).count();
                (!part.is_empty()).then(|| missed as f64 / part.len() as f64)
            };
            let all: Vec<_> = places.iter().collect();
            let reads: Vec<_> = places.iter().filter(|(_, read)| *read).collect();
            prop_assert!((point.miss_ratio - missed(&all).unwrap()).abs() < 1e-12);
            prop_assert_eq!(point.read_miss_ratio.is_some(), !reads.is_empty());
            let ours = point.read_miss_ratio.unwrap_or(0.0);
            prop_assert!((ours - missed(&reads).unwrap_or(0.0)).abs() < 1e-12);
        }
    }

    #[test]
    fn regions_are_ranges_of_addresses(ios in ios()) {
        let body = regions(&ios);
        prop_assert_eq!(body.region_bytes, 1 << 20);
        let mut exact: HashMap<(u32, u64), [u64; 4]> = HashMap::new();
        for io in ios.iter().filter(|io| io.kind.transfers()) {
            let direction = usize::from(io.kind == Kind::Write);
            exact.entry((io.space, io.offset.0 >> 20)).or_default()[direction] += 1;
            for byte in blocks(io) {
                let from = io.offset.0.max(byte.1 * BLOCK);
                let to = io.end().0.min((byte.1 + 1) * BLOCK);
                exact.entry((io.space, from >> 20)).or_default()[2 + direction] += to - from;
            }
        }
        let mut counts: Vec<u64> = exact.values().map(|c| c[0] + c[1]).filter(|c| *c > 0).collect();
        counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
        prop_assert_eq!(body.all.regions, counts.len() as u64);
        for hottest in &body.all.hottest {
            let regions = (counts.len() * hottest.percent as usize).div_ceil(100);
            let part: u64 = counts[..regions].iter().sum();
            prop_assert!((hottest.ios_share - part as f64 / body.all.ios as f64).abs() < 1e-12);
        }
        for region in &body.all.list {
            let told = [region.reads, region.writes, region.bytes_read, region.bytes_written];
            prop_assert_eq!(exact[&(region.space, region.offset_bytes >> 20)], told);
        }
        let classes = [body.mostly_read, body.mostly_written, body.mixed];
        prop_assert_eq!(classes.iter().map(|class| class.ios).sum::<u64>(), body.all.ios);
    }
}

/// If it failed, a trace over petabytes would fill the memory, or its working set be reported without its error.
#[test]
fn too_many_places_are_estimated_and_it_is_said() {
    let mut rng = Rng::for_path(3, &[]);
    let ios: Vec<Io> = (0..200_000u64)
        .map(|i| {
            let kind = if rng.below(4) == 0 { Kind::Write } else { Kind::Read };
            io(i * 1000, kind, rng.below(1 << 20) << 24, 8192)
        })
        .collect();
    let (exact, told) = (working_set(&ios, Some(1 << 20)), working_set(&ios, Some(1 << 12)));
    assert!(exact.exact && !told.exact && told.error > 0.0);
    for (ours, truth) in [
        (told.distinct.read_bytes, exact.distinct.read_bytes),
        (told.distinct.written_bytes, exact.distinct.written_bytes),
        (told.distinct.total_bytes, exact.distinct.total_bytes),
    ] {
        assert!((ours as f64 / truth as f64 - 1.0).abs() < 4.0 * told.error, "{ours} for {truth}");
    }
    assert_eq!(exact.windows.last().unwrap().new_bytes.map(|new| new > 0), Some(true));
    assert_eq!(told.windows.last().unwrap().new_bytes, None);
    assert_eq!((told.updates.overwrites, exact.updates.overwrites.is_some()), (None, true));
    // Whole windows before that are as they were.
    let known: Vec<_> =
        told.windows.iter().take_while(|window| window.new_bytes.is_some()).collect();
    assert!(
        known.iter().zip(&exact.windows).all(|(told, exact)| told.new_bytes == exact.new_bytes)
    );
}

/// If it failed, the update distances of a large trace would be those of its first part, or of its cold data.
#[test]
fn a_sample_of_updates_tells_the_distances_of_all() {
    let blocks = 1u64 << 18;
    let mut rng = Rng::for_path(8, &[]);
    // A hot tenth gets half of the writes.
    let block =
        |rng: &mut Rng| if rng.below(2) == 0 { rng.below(blocks / 10) } else { rng.below(blocks) };
    let (mut last, mut between) = (HashMap::new(), Vec::new());
    let writes = (0..5 * blocks).map(|number| {
        let block = block(&mut rng);
        between.extend(last.insert(block, number).map(|before| (number - before - 1) * BLOCK));
        io(number * 100, Kind::Write, block * BLOCK, BLOCK)
    });
    let updates = working_set(&writes.collect::<Vec<_>>(), None).updates;
    assert!(updates.rate < 0.3 && updates.sampled_blocks > 1 << 13, "{updates:?}");
    assert_eq!(updates.overwrites, Some(between.len() as u64));
    between.sort_unstable();
    let told = [updates.p10_bytes, updates.p50_bytes, updates.p90_bytes];
    for (share, told) in [10, 50, 90].into_iter().zip(told) {
        let exact = between[between.len() * share / 100] as f64;
        let off = told.unwrap() as f64 / exact - 1.0;
        assert!((-0.03..0.06).contains(&off), "p{share}: {told:?} for {exact}");
    }
    let apart = updates.p50_ns.unwrap() as f64 / (updates.p50_bytes.unwrap() / BLOCK * 100) as f64;
    assert!((0.97..1.03).contains(&apart), "{apart}");
}

/// A stream of reads of single blocks.
fn reads(blocks: impl Iterator<Item = u64>) -> impl Iterator<Item = Io> {
    blocks.map(|block| io(0, Kind::Read, block * BLOCK, BLOCK))
}

/// Ranks drawn with probability as 1 / rank^skew, of `n`: by inversion of the continuous distribution, rounded down.
fn zipf(rng: &mut Rng, n: u64, skew: f64) -> u64 {
    let u = rng.below(1 << 53) as f64 / (1u64 << 53) as f64;
    let power = 1.0 - skew;
    let most = ((n + 1) as f64).powf(power);
    ((u * (most - 1.0) + 1.0).powf(1.0 / power) as u64).clamp(1, n) - 1
}

/// Workloads whose blocks are far more than are followed.
fn workloads(seed: u64) -> Vec<(&'static str, Vec<u64>)> {
    const N: u64 = 1 << 17;
    const LEN: u64 = 600_000;
    let mut rng = Rng::for_path(seed, &[]);
    let spread = |rank: u64| mix(rank + 1) >> 20;
    let uniform = (0..LEN).map(|_| spread(rng.below(N))).collect();
    let mild = (0..LEN).map(|_| spread(zipf(&mut rng, N, 0.8))).collect();
    let steep = (0..LEN).map(|_| spread(zipf(&mut rng, N, 1.2))).collect();
    let scan = (0..LEN).map(|i| i % (N / 2)).collect();
    // Half of it a scan, half a hot set; what caches are beaten by.
    let mixed =
        (0..LEN).map(|i| if i % 2 == 0 { i / 2 } else { (1 << 40) + zipf(&mut rng, N / 8, 0.9) });
    let mixed = mixed.collect();
    vec![
        ("uniform", uniform),
        ("zipf 0.8", mild),
        ("zipf 1.2", steep),
        ("scan", scan),
        ("mixed", mixed),
    ]
}

/// Mean and greatest distance of two curves, over the sizes that both have.
fn apart(exact: &ReuseBody, told: &ReuseBody) -> (f64, f64) {
    let at = |size: u64| {
        let upto = told.curve.partition_point(|point| point.cache_bytes <= size);
        told.curve[upto.max(1) - 1].miss_ratio
    };
    let seen = exact.curve.iter().filter(|point| point.cache_bytes >= told.least_bytes);
    let off: Vec<f64> =
        seen.map(|point| (point.miss_ratio - at(point.cache_bytes)).abs()).collect();
    (off.iter().sum::<f64>() / off.len() as f64, off.iter().copied().fold(0.0, f64::max))
}

/// If it failed, the curve of a long trace would be off by more than it says.
#[test]
fn sampled_curves_are_near_the_exact_ones() {
    for seed in 1..4 {
        for (name, blocks) in workloads(seed) {
            let exact = reuse(reads(blocks.iter().copied()), 1 << 20);
            assert!(exact.exact, "{name}");
            for limit in [1 << 11, 1 << 13, 1 << 15] {
                let told = reuse(reads(blocks.iter().copied()), limit);
                assert!(!told.exact && told.rate < 1.0 && told.sampled_blocks as usize <= limit);
                assert_eq!(told.accesses, exact.accesses);
                let (mean, most) = apart(&exact, &told);
                println!("{name}, {limit}: mean {mean:.4}, most {most:.3}, told {:.4}", told.error);
                assert!(mean <= told.error, "{name}, {limit}: {mean} for {}", told.error);
                let off = told.footprint_bytes as f64 / exact.footprint_bytes as f64 - 1.0;
                assert!(off.abs() < 4.0 / (told.sampled_blocks as f64).sqrt(), "{name}: {off}");
            }
        }
    }
}

/// If it failed, hot places far apart would be reported as one, or a trace over everything would need endless memory.
#[test]
fn regions_widen_when_there_are_too_many() {
    let crowd = REGIONS_MAX as u64 * 3;
    let mut ios: Vec<Io> = (0..crowd).map(|i| io(0, Kind::Read, i << 20, BLOCK)).collect();
    ios.extend(
        (0..crowd).map(|i| io(0, Kind::Write, ((crowd / 2) << 20) + i % 100 * BLOCK, BLOCK)),
    );
    let body = regions(&ios);
    assert_eq!(body.region_bytes, 4 << 20);
    assert_eq!((body.all.ios, body.reads.regions, body.writes.regions), (2 * crowd, crowd / 4, 1));
    let hottest = body.all.list[0];
    assert_eq!(
        (hottest.offset_bytes, hottest.writes, hottest.reads),
        ((crowd / 2) << 20, crowd, 4)
    );
    assert!((body.all.hottest[0].ios_share - 0.5).abs() < 0.02);
    assert_eq!(body.writes.hottest[0].ios_share, 1.0);
    assert_eq!((body.mostly_written.regions, body.mixed.regions), (1, 0));
    assert_eq!(regions(&[]).all.hottest, []);
    let ends = [io(0, Kind::Read, u64::MAX - 5, u64::MAX), io(0, Kind::Read, 0, u64::MAX)];
    assert_eq!(regions(&ends).all.ios, 2);
}
