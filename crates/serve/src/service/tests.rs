use super::*;
use crate::content::Memory;
use block::Nanos;

/// A reply: the job's name, the data read or an error, and when it was due.
type Said = (u32, Result<Vec<u8>, Errno>, Time);

fn drive() -> VirtualTarget {
    sim::open("sim:hdd-7200?seed=7").unwrap()
}

fn memory() -> Box<dyn Content> {
    Box::new(Memory::new(Bytes::mib(16)))
}

fn job(name: u32, op: Op, offset: u64, len: u64) -> Job<u32> {
    Job { op, fua: false, offset, len, data: Vec::new(), buffered: false, answer: name }
}

fn write(name: u32, offset: u64, data: &[u8]) -> Job<u32> {
    Job { data: data.to_vec(), ..job(name, Op::Write, offset, data.len() as u64) }
}

fn advance(service: &mut Service<'_, u32>, now: Time) -> Vec<Said> {
    let mut said = Vec::new();
    let reply = |name, _, reply: Reply<'_>, due| {
        let what = match reply {
            Reply::Data(data) => Ok(data.to_vec()),
            Reply::Done(_) => Ok(Vec::new()),
            Reply::Failed(errno) => Err(errno),
        };
        said.push((name, what, due));
    };
    service.advance(now, reply).unwrap();
    said
}

/// All replies from here on, each asked for at the very instant at which something happens.
fn finish(service: &mut Service<'_, u32>) -> Vec<Said> {
    let mut said = Vec::new();
    while service.outstanding() > 0 {
        let at = service.next_event().unwrap();
        said.extend(advance(service, at));
    }
    said
}

// Breaks when a deadline counts from anything but the arrival: from the reply before, from the moment
// at which the thread got round to it, or from nothing at all.
#[test]
fn a_request_takes_as_long_as_in_virtual_time_whenever_it_arrives() {
    let mut alone = drive();
    let mut lane = alone.open(&setup()).unwrap().remove(0);
    let at = Time(5_000_000_000);
    lane.wait_until(at, &mut Vec::new()).unwrap();
    let request = Request {
        op: Op::Read,
        fua: false,
        submitter: 0,
        slot: 0,
        offset: Bytes::gib(9),
        len: Bytes(4096),
    };
    lane.submit(&[request]).unwrap();
    let mut done = Vec::new();
    while done.is_empty() {
        lane.wait_until(Time(at.0 + 1_000_000_000), &mut done).unwrap();
    }

    let mut target = drive();
    let mut service = Service::new(&mut target, memory()).unwrap();
    // The thread comes a full second late, and only then learns of the request.
    assert_eq!(advance(&mut service, Time(1_000_000)), []);
    service.take(job(1, Op::Read, 9 << 30, 4096), at).unwrap();
    let said = advance(&mut service, Time(at.0 + 1_000_000_000));
    assert_eq!(said, [(1, Ok(vec![0; 4096]), done[0].completed)]);
    assert!(done[0].completed.since(at) > Nanos::micros(500));
}

fn setup() -> LaneSetup<'static> {
    LaneSetup::default()
}

// Breaks when replies wait for each other: many in flight would take as long as one after the other.
#[test]
fn many_in_flight_overlap_and_none_is_early() {
    let ends = |together: bool| {
        let mut target = drive();
        let mut service = Service::new(&mut target, memory()).unwrap();
        let mut last = Time::ZERO;
        let mut said = Vec::new();
        for i in 0..32 {
            let arrived = if together { Time::ZERO } else { last };
            let offset = u64::from(i * 7 % 32) << 36;
            service.take(job(i, Op::Read, offset, 4096), arrived).unwrap();
            if !together {
                said.extend(finish(&mut service));
                last = said.last().unwrap().2;
            }
        }
        assert_eq!(service.outstanding(), if together { 32 } else { 0 });
        said.extend(finish(&mut service));
        let mut names: Vec<u32> = said.iter().map(|s| s.0).collect();
        names.sort_unstable();
        assert_eq!(names, (0..32).collect::<Vec<_>>());
        assert!(said.is_sorted_by_key(|s| s.2), "replies leave in the order of completion");
        said.last().unwrap().2
    };
    let (together, apart) = (ends(true), ends(false));
    // One arm: what overlaps is the waiting, and the drive chooses the shortest way.
    assert!(together.0 * 5 < apart.0 * 4, "{together:?} in flight, {apart:?} one by one");
}

// Breaks when the bytes of one request land at the place of another, or after a read that follows them.
#[test]
fn what_was_written_is_read_and_what_was_discarded_is_not() {
    let mut target = drive();
    let mut service = Service::new(&mut target, memory()).unwrap();
    let data: Vec<u8> = (0..8192_u32).map(|i| (i % 251) as u8).collect();
    service.take(write(1, 1 << 20, &data), Time(1_000)).unwrap();
    finish(&mut service);
    service.take(job(2, Op::Flush, 0, 0), Time(2_000)).unwrap();
    service.take(job(3, Op::Read, (1 << 20) - 512, 8192), Time(3_000)).unwrap();
    let said = finish(&mut service);
    let (_, seen, _) = said.iter().find(|s| s.0 == 3).unwrap();
    let seen = seen.as_ref().unwrap();
    assert!(seen[..512].iter().all(|b| *b == 0) && seen[512..] == data[..7680]);
}

// Breaks when what a drive refuses changes its content, hangs its program, or is answered with success.
#[test]
fn what_the_drive_refuses_fails_and_changes_nothing() {
    let mut target = drive();
    let capacity = target.info().capacity_bytes.0;
    let mut service = Service::new(&mut target, memory()).unwrap();
    let refused = [
        job(1, Op::Read, 100, 512),
        write(2, 0, &[7; 100]),
        job(3, Op::Read, capacity, 512),
        job(4, Op::Discard, 0, 3 << 30),
    ];
    for job in refused {
        service.take(job, Time::ZERO).unwrap();
    }
    let said = finish(&mut service);
    let errnos: Vec<_> = said.iter().map(|s| s.1.clone().unwrap_err().0).collect();
    assert_eq!(errnos, [22, 22, 22, 95]);
    assert_eq!(service.held(), Bytes::ZERO);
}

// Breaks when a server that runs out of room says that a write is done.
#[test]
fn a_write_without_room_fails_and_is_counted() {
    let mut target = drive();
    let content = Box::new(Memory::new(Bytes::kib(8)));
    let mut service = Service::new(&mut target, content).unwrap();
    let data: Vec<u8> = (0..65536_u32).map(|i| (i % 251) as u8).collect();
    service.take(write(1, 0, &data), Time::ZERO).unwrap();
    let said = finish(&mut service);
    assert_eq!(said[0].1, Err(ENOSPC));
    assert_eq!(service.writes_without_room(), 1);
}

// Breaks when a cut at the wrong place leaves a hole, or overwrites a block without reading it
// first.
#[test]
fn what_does_not_fill_blocks_is_carried_out_on_those_that_it_touches() {
    let part = |op, offset, len| Part { op, offset, len };
    let cut = |op, offset, len| {
        let job = Job { buffered: true, ..job(0, op, offset, len) };
        let mut cut = parts(&job, 512);
        cut.reverse();
        cut
    };
    let (r, w, d) = (Op::Read, Op::Write, Op::Discard);
    assert_eq!(cut(r, 100, 1000), [part(r, 0, 1536)]);
    assert_eq!(cut(w, 512, 1024), [part(w, 512, 1024)]);
    assert_eq!(cut(w, 100, 100), [part(r, 0, 512), part(w, 0, 512)]);
    assert_eq!(cut(w, 0, 100), [part(r, 0, 512), part(w, 0, 512)]);
    assert_eq!(cut(w, 100, 412), [part(r, 0, 512), part(w, 0, 512)]);
    assert_eq!(cut(w, 100, 1000), [part(r, 0, 512), part(r, 1024, 512), part(w, 0, 1536)]);
    assert_eq!(cut(w, 512, 600), [part(r, 1024, 512), part(w, 512, 1024)]);
    let g = 1 << 30;
    assert_eq!(cut(d, 512, 2 * g), [part(d, 512, g), part(d, 512 + g, g)]);
    assert_eq!(cut(Op::Flush, 0, 0), [part(Op::Flush, 0, 0)]);
}
