//! *Reached* below the target: images under loop devices, mappings and page caches between it and the leaf.

mod world;

use block::{Bytes, Extents, Layer, LeafEvents, Medium, Op, Stored, TaskIo};
use drivescope_mark::Direction;
use stats::Verdict;
use world::*;

/// The image under a loop device, mapped or not, in these bytes: in all, never written, compressed.
fn on_image(mut world: World, is_mapped: bool, sizes: [u64; 3]) -> World {
    let [file_bytes, hole_bytes, encoded_bytes] = sizes.map(Bytes::mib);
    let written_bytes = file_bytes.saturating_sub(hole_bytes).saturating_sub(encoded_bytes);
    let extents =
        Extents { file_bytes, hole_bytes, encoded_bytes, written_bytes, ..Extents::default() };
    let stored = Some(Stored { is_mapped, extents, cached_bytes: Some(Bytes::ZERO) });
    let attributes = [("size_bytes".to_owned(), file_bytes.0.to_string())].into();
    let (kind, name) = ("file".to_owned(), "/srv/image".to_owned());
    let image = Layer { kind, name, stored, attributes, ..Layer::default() };
    world.stack.layers.push(image);
    world.stack.layers[0] =
        Layer { kind: "loop".to_owned(), below: vec![1], ..world.stack.layers[0].clone() };
    world
}

/// If it failed, another program's reads of the same disk would count for zeros that a filesystem made up.
#[test]
fn a_charge_above_an_image_proves_nothing_of_the_disk_under_it() {
    let reached = |world: World| world.test().proofs.reached.verdict;
    let share = |part: f64| {
        World::sound().each(move |_, run| {
            let bytes = (run.run.bytes as f64 * part) as u64;
            run.after.devices[0].read_bytes = Bytes((1 << 40) + bytes);
        })
    };
    let on = |world: World, is_mapped, sizes| reached(on_image(world, is_mapped, sizes));
    assert_eq!(on(World::sound(), true, [1000, 0, 0]), Verdict::Proven);
    assert_eq!(on(World::sound(), true, [1000, 1000, 0]), Verdict::Refuted);
    assert_eq!(on(share(20.0), true, [1000, 1000, 0]), Verdict::Refuted);
    assert_eq!(on(World::sound(), true, [1000, 100, 0]), Verdict::Unprovable);
    assert_eq!(
        on(share(0.9), true, [1000, 100, 0]),
        Verdict::Refuted,
        "as much as was never written"
    );
    assert_eq!(on(World::sound(), true, [1000, 4, 0]), Verdict::Proven);
    assert_eq!(on(World::sound(), true, [1000, 0, 100]), Verdict::Unprovable);
    assert_eq!(on(World::sound(), false, [1000, 0, 0]), Verdict::Proven);
    assert_eq!(on(World::sound(), false, [1000, 1000, 0]), Verdict::Unprovable);
    let own = |holes| {
        let mut world = on_image(World::sound(), false, [2000, holes, 0]);
        world.own_file = true;
        let all = Bytes::gib(1);
        world.extents = Some(Extents { file_bytes: all, written_bytes: all, ..Extents::default() });
        reached(world)
    };
    assert_eq!(own(900), Verdict::Proven, "what this run wrote is in the image");
    assert_eq!(own(1200), Verdict::Unprovable, "the image holds less than was written");
    let mut unknown = on_image(World::sound(), true, [0, 0, 0]);
    unknown.stack.layers[1].stored.as_mut().unwrap().extents.unknown = Some("denied".to_owned());
    assert_eq!(reached(unknown), Verdict::Unprovable);
    let mut nameless = World::sound();
    nameless.stack.leaves = vec![leaf(Medium::Unknown)];
    assert_eq!(reached(nameless), Verdict::Unprovable, "not known what holds the data");
}

/// If it failed, a thin volume's zeros would pass for a disk's data.
#[test]
fn a_mapping_that_may_answer_by_itself_leaves_reads_open() {
    let reached = |uuids: &[&str], own_file| {
        let mut world = World::sound();
        let dm = |at: usize, uuid: &&str| Layer {
            kind: "dm".to_owned(),
            attributes: [("dm_uuid".to_owned(), (*uuid).to_owned())].into(),
            below: vec![at + 1],
            ..Layer::default()
        };
        let mut layers: Vec<Layer> = uuids.iter().enumerate().map(|(at, id)| dm(at, id)).collect();
        layers.append(&mut world.stack.layers);
        (world.stack.layers, world.own_file) = (layers, own_file);
        world.test().proofs.reached.verdict
    };
    for plain in ["CRYPT-LUKS2-x", "LVM-x", "mpath-3600", "part1-mpath-3600"] {
        assert_eq!(reached(&[plain], false), Verdict::Proven, "{plain}");
    }
    for (layers, own) in
        [(&["LVM-x", "LVM-y-tpool"][..], false), (&["VDO-x"], false), (&[""], false)]
    {
        assert_eq!(reached(layers, own), Verdict::Unprovable, "{layers:?}");
        assert_eq!(
            reached(layers, true),
            Verdict::Proven,
            "{layers:?}: each byte was written before"
        );
    }
}

/// If it failed, a page cache's speed would be sold as a drive's, or durable writes that all crossed be withdrawn.
#[test]
fn a_page_cache_below_is_judged_by_what_crossed_it() {
    let cached = |part: f64, resident: u64| {
        let world = World::sound().each(move |_, run| {
            let bytes = (run.run.bytes as f64 * part) as u64;
            run.after.devices[0].read_bytes = Bytes((1 << 40) + bytes);
        });
        let mut world = on_image(world, true, [1000, 0, 0]);
        world.stack.layers[0].page_cache = Some("loop without direct I/O".to_owned());
        world.stack.layers[1].stored.as_mut().unwrap().cached_bytes = Some(Bytes::mib(resident));
        world
    };
    for world in [cached(0.5, 0), cached(1.0, 1000)] {
        assert_eq!(world.doubts(), [("reached", Verdict::Refuted)]);
        let body = world.body();
        assert!(body.refuted() && !body.tests[0].headline, "no headline without the device");
        assert!(body.caveats.iter().any(|c| c.code == "not_reached"));
    }
    assert_eq!(cached(1.0, 0).doubts(), [("reached", Verdict::Unprovable)]);
}

/// If it failed, another program's writes would count for bytes that the filesystem packed before it wrote them.
#[test]
fn writes_that_a_filesystem_packed_are_not_proven_by_a_count() {
    let mut world = World::sound().each(|_, run| {
        (run.totals.written, run.totals.read) = (run.totals.read, Bytes::ZERO);
        run.after.devices[0].write_bytes = Bytes(run.run.bytes);
        run.after.task =
            Some(TaskIo { read_bytes: Bytes(1 << 40), write_bytes: Bytes(run.run.bytes) });
    });
    world.plan = plan("SEQ1MQ8T1", Direction::Write);
    assert_eq!(world.test().proofs.reached.verdict, Verdict::Proven);
    let all = Bytes::gib(1);
    world.extents_after =
        Some(Extents { file_bytes: all, encoded_bytes: all, ..Extents::default() });
    assert_eq!(world.test().proofs.reached.verdict, Verdict::Unprovable);
}

/// The same with block events at the leaf: this share of what each run issued came to known places.
fn with_events(world: World, share: f64, events: LeafEvents) -> World {
    world.each(move |_, run| {
        let bytes = Bytes((run.run.bytes as f64 * share) as u64);
        let before = LeafEvents { lost: 0, ..events };
        run.before.leaf_events = Some(before);
        let read_bytes = events.read_bytes + bytes;
        run.after.leaf_events = Some(LeafEvents { read_bytes, write_bytes: bytes, ..events });
    })
}

const EVENTS: LeafEvents = LeafEvents {
    read_bytes: Bytes(1 << 50),
    write_bytes: Bytes::ZERO,
    lost: 0,
    is_mapped: true,
    moves: 0,
};

/// If it failed, what the kernel itself saw at the disk would leave a verdict open, or a neighbour's reads elsewhere on it
/// would be taken for ours.
#[test]
fn events_at_the_leaf_settle_what_counters_leave_open() {
    let seen = |world: World, share, events| {
        with_events(world, share, events).test().proofs.reached.verdict
    };
    let somewhere = LeafEvents { is_mapped: false, ..EVENTS };
    let sparse = |is_mapped, holes| on_image(World::sound(), is_mapped, [1000, holes, 0]);
    // Btrfs in a sparse image: no other process reads its files, or one does.
    assert_eq!(seen(sparse(false, 900), 1.0, somewhere), Verdict::Proven);
    assert_eq!(seen(sparse(false, 900), 1.5, somewhere), Verdict::Unprovable);
    assert_eq!(seen(sparse(false, 900), 0.9, somewhere), Verdict::Refuted);
    let uncharged = |part: f64| {
        World::sound().each(move |_, run| {
            let charged = (run.run.bytes as f64 * part) as u64;
            run.after.task.as_mut().unwrap().read_bytes = Bytes((1 << 40) + charged);
        })
    };
    assert_eq!(uncharged(0.8).test().proofs.reached.verdict, Verdict::Unprovable);
    assert_eq!(seen(uncharged(0.8), 1.0, EVENTS), Verdict::Proven);
    assert_eq!(seen(uncharged(0.8), 1.0, somewhere), Verdict::Unprovable);
    assert_eq!(seen(uncharged(0.1), 1.0, EVENTS), Verdict::Refuted, "others read our places");
    // Counters of all processes, and events of our places only.
    assert_eq!(seen(World::sound(), 0.5, EVENTS), Verdict::Refuted);
    assert_eq!(seen(World::sound(), 0.5, LeafEvents { moves: 1, ..EVENTS }), Verdict::Proven);
    assert_eq!(seen(World::sound(), 0.5, LeafEvents { lost: 1, ..EVENTS }), Verdict::Proven);
    let uncounted = || World::sound().each(|_, run| run.after.devices.clear());
    assert_eq!(uncounted().test().proofs.reached.verdict, Verdict::Unprovable);
    assert_eq!(seen(uncounted(), 1.0, EVENTS), Verdict::Proven);
    // Neither does an event know data from zeros, nor packed bytes from others.
    assert_eq!(seen(sparse(true, 100), 1.0, EVENTS), Verdict::Unprovable);
    let packed = on_image(World::sound(), true, [1000, 0, 100]);
    assert_eq!(seen(packed, 1.0, EVENTS), Verdict::Unprovable);
    let mut buffered = World::sound();
    buffered.direct = false;
    assert_eq!(seen(buffered, 1.0, EVENTS), Verdict::Unprovable);
    let mut nameless = World::sound();
    nameless.stack.leaves = vec![leaf(Medium::Unknown)];
    assert_eq!(seen(nameless, 1.0, EVENTS), Verdict::Unprovable);
    let evidence = with_events(World::sound(), 1.0, EVENTS).test().proofs.reached.evidence;
    assert!(evidence.contains_key("events_read_ratio"), "{evidence:?}");
}

/// If it failed, durable writes that all crossed would be left open, or a cache's writes be sold as the disk's.
#[test]
fn events_prove_durable_writes_through_a_page_cache_below() {
    let reached = |durable, share, events| {
        let world = World::sound().each(|_, run| {
            (run.totals.written, run.totals.read) = (run.totals.read, Bytes::ZERO);
            run.after.devices[0].write_bytes = Bytes(run.run.bytes);
        });
        let mut world = with_events(on_image(world, true, [1000, 0, 0]), share, events);
        world.plan = plan("SEQ1MQ8T1", Direction::Write);
        let phases = world.plan.steps.iter_mut().flat_map(|step| &mut step.phases);
        let writes = phases.flat_map(|phase| &mut phase.ops).filter(|op| op.op == Op::Write);
        writes.for_each(|op| op.fua = durable);
        world.stack.layers[0].page_cache = Some("loop without direct I/O".to_owned());
        world.test().proofs.reached.verdict
    };
    assert_eq!(reached(true, 1.0, EVENTS), Verdict::Proven);
    assert_eq!(reached(false, 1.0, EVENTS), Verdict::Unprovable);
    assert_eq!(reached(true, 1.0, LeafEvents { is_mapped: false, ..EVENTS }), Verdict::Unprovable);
    assert_eq!(reached(true, 0.5, EVENTS), Verdict::Refuted);
}
