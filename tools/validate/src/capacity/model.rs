//! Drives that are honest or fake, as people who took fakes apart describe them. Written beside the virtual drives of the
//! product, of the domain's page alone, so that what both get wrong alike does not pass for right.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use block::{
    Bytes, Completion, Drive, DriveError, DriveInfo, DriveKind, Environment, Errno, Extents,
    LaneSetup, Nanos, Op, Outcome, Payload, Request, Snapshot, Stack, Target, Time,
};

/// Unit of storing and caching.
pub const PAGE: u64 = 4096;
/// The kernel cuts requests into such parts, which reach a drive with a queue in any order.
const PART: u64 = 128 << 10;

type Page = Arc<[u8; PAGE as usize]>;

/// Answer to reads of a place where nothing is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nothing {
    /// Zeros.
    Zeros,
    /// Bytes that are the same each time.
    Garbage,
    /// An I/O error, for writes too.
    Fails,
    /// Zeros, and writes fail.
    FailsWrites,
}

/// Parameters of a drive. Sizes are multiples of [`PAGE`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spec {
    /// Size that it states.
    pub claimed: u64,
    /// Size that it has.
    pub real: u64,
    /// Addresses are taken modulo this.
    pub wrap: Option<u64>,
    /// Beyond its end.
    pub nothing: Nothing,
    /// Size of its cache.
    pub cache: u64,
    /// All writes pass the cache, not only those beyond the end.
    pub all_pass: bool,
    /// Written data goes to its place only when it leaves the cache.
    pub is_late: bool,
    /// Requests that are under way together are served in any order.
    pub reorders: bool,
    /// Time of a request, without its transfer.
    pub access_ns: u64,
    /// Bytes per second of writes; reads take half the time.
    pub write_rate: u64,
    /// One in a thousand requests takes this much longer.
    pub spike_ns: u64,
    /// Of all that is drawn while it works.
    pub seed: u64,
}

impl Spec {
    /// Bytes that are missing.
    pub fn shortfall(&self) -> u64 {
        self.claimed - self.real
    }
}

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.roll() % end.max(1)
    }

    /// From 0 to 1.
    pub fn share(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Between two sizes, each order of magnitude alike.
    pub fn size(&mut self, low: f64, high: f64) -> u64 {
        (low * (high / low).powf(self.share())) as u64 / PAGE * PAGE
    }
}

/// The content of a drive.
#[derive(Debug, Default)]
struct Content {
    pages: HashMap<u64, Page>,
    /// By page of the host, with the count of writes when it came.
    cache: HashMap<u64, (u64, Page)>,
    order: VecDeque<(u64, u64)>,
    writes: u64,
}

impl Content {
    /// Place at which a page is kept.
    fn place(spec: &Spec, page: u64) -> Option<u64> {
        let place = spec.wrap.map_or(page, |wrap| page % (wrap / PAGE));
        (place < spec.real / PAGE).then_some(place)
    }

    fn fails(spec: &Spec, page: u64, is_write: bool) -> bool {
        let is_beyond = page >= spec.real / PAGE;
        match spec.nothing {
            Nothing::Fails => is_beyond,
            Nothing::FailsWrites => is_beyond && is_write,
            Nothing::Zeros | Nothing::Garbage => false,
        }
    }

    fn read(&self, spec: &Spec, page: u64) -> Page {
        if let Some((_, held)) = self.cache.get(&page) {
            return Arc::clone(held);
        }
        let empty = || Arc::new([0; PAGE as usize]);
        match Content::place(spec, page) {
            Some(place) => self.pages.get(&place).map_or_else(empty, Arc::clone),
            None if spec.nothing == Nothing::Garbage => {
                Arc::new([(page % 251) as u8 ^ 0x5a; PAGE as usize])
            }
            None => empty(),
        }
    }

    fn keep(&mut self, spec: &Spec, page: u64, data: Page) {
        let Some(place) = Content::place(spec, page) else { return };
        if *data == [0; PAGE as usize] {
            self.pages.remove(&place);
        } else {
            self.pages.insert(place, data);
        }
    }

    fn write(&mut self, spec: &Spec, page: u64, data: Page) {
        let is_cached = spec.cache > 0 && (spec.all_pass || page >= spec.real / PAGE);
        if !is_cached || !spec.is_late {
            self.keep(spec, page, Arc::clone(&data));
        }
        if !is_cached {
            return;
        }
        self.writes += 1;
        self.cache.insert(page, (self.writes, data));
        self.order.push_back((page, self.writes));
        while self.cache.len() as u64 > spec.cache / PAGE {
            let Some((oldest, written)) = self.order.pop_front() else { break };
            if self.cache.get(&oldest).is_some_and(|(last, _)| *last == written)
                && let Some((_, data)) = self.cache.remove(&oldest)
                && spec.is_late
            {
                self.keep(spec, oldest, data);
            }
        }
    }
}

/// A drive that can be probed.
pub struct Made {
    pub spec: Spec,
    info: DriveInfo,
    content: Content,
    now: Time,
    dice: Dice,
    /// Bytes written to it.
    pub written: u64,
}

impl Made {
    pub fn new(spec: Spec) -> Made {
        let info = DriveInfo {
            name: "made".to_owned(),
            kind: DriveKind::Virtual,
            model: None,
            serial: None,
            capacity_bytes: Bytes(spec.claimed),
            logical_block_bytes: Bytes(512),
            physical_block_bytes: Bytes(512),
            rotational: Some(false),
            write_cache: None,
            cache_bytes: None,
            link_bytes_per_s: None,
        };
        let dice = Dice(spec.seed);
        Made { spec, info, content: Content::default(), now: Time::ZERO, dice, written: 0 }
    }

    /// Serves the part of a request from `from` to `to`.
    fn serve(&mut self, request: &Request, buffer: &mut [u8], from: u64, to: u64) -> bool {
        let mut at = from;
        while at < to {
            let (page, within) = (at / PAGE, (at % PAGE) as usize);
            let end = (at / PAGE * PAGE + PAGE).min(to);
            let count = (end - at) as usize;
            let is_write = request.op == Op::Write;
            if Content::fails(&self.spec, page, is_write) {
                return false;
            }
            let first = (at - request.offset.0) as usize;
            let part = &mut buffer[first..first + count];
            let there =
                (!is_write || count < PAGE as usize).then(|| self.content.read(&self.spec, page));
            match (is_write, there) {
                (false, Some(there)) => part.copy_from_slice(&there[within..within + count]),
                (_, there) => {
                    let mut data = there.map_or([0; PAGE as usize], |there| *there);
                    data[within..within + count].copy_from_slice(part);
                    self.content.write(&self.spec, page, Arc::new(data));
                }
            }
            at = end;
        }
        true
    }

    /// Lets the time of a request go by.
    fn take_time(&mut self, request: &Request) {
        let rate =
            if request.op == Op::Write { self.spec.write_rate } else { 2 * self.spec.write_rate };
        let transfer = request.len.0 as f64 * 1e9 / rate as f64;
        let noise = 0.7 + 0.6 * self.dice.share();
        let spike = if self.dice.below(1000) == 0 { self.spec.spike_ns } else { 0 };
        let nanos = (self.spec.access_ns as f64 + transfer) * noise;
        self.now = self.now + Nanos(nanos as u64 + spike);
    }
}

impl Target for Made {
    type Drive<'a> = Lane<'a>;

    fn info(&self) -> &DriveInfo {
        &self.info
    }

    fn now(&self) -> Time {
        self.now
    }

    fn pause(&mut self, span: Nanos) {
        self.now = self.now + span;
    }

    fn open<'a>(&'a mut self, setup: &LaneSetup<'_>) -> Result<Vec<Lane<'a>>, DriveError> {
        let payload = setup.payload.map(|make| make(0));
        let buffers = vec![Vec::new(); usize::from(setup.depth)];
        Ok(vec![Lane { drive: self, payload, buffers, waiting: Vec::new() }])
    }
}

/// The one submitter of a drive.
pub struct Lane<'a> {
    drive: &'a mut Made,
    payload: Option<Box<dyn Payload>>,
    buffers: Vec<Vec<u8>>,
    waiting: Vec<Request>,
}

impl Drive for Lane<'_> {
    fn now(&self) -> Time {
        self.drive.now
    }

    fn submit(&mut self, requests: &[Request]) -> Result<(), DriveError> {
        for request in requests.iter().filter(|request| request.op != Op::Flush) {
            let buffer = &mut self.buffers[usize::from(request.slot)];
            buffer.resize(request.len.0 as usize, 0);
            if request.op == Op::Write
                && let Some(payload) = &mut self.payload
            {
                payload.fill(request.offset, buffer);
            }
        }
        self.waiting.extend_from_slice(requests);
        Ok(())
    }

    fn wait_until(&mut self, until: Time, done: &mut Vec<Completion>) -> Result<Time, DriveError> {
        let requests = std::mem::take(&mut self.waiting);
        if requests.is_empty() && until != Time::NEVER {
            self.drive.now = self.drive.now.max(until);
        }
        let mut parts: Vec<(usize, u64, u64)> = Vec::new();
        for (index, request) in requests.iter().enumerate().filter(|(_, r)| r.op != Op::Flush) {
            let (begin, end) = (request.offset.0, request.offset.0 + request.len.0);
            let starts = (begin..end).step_by(PART as usize);
            parts.extend(starts.map(|at| (index, at, (at + PART).min(end))));
        }
        if self.drive.spec.reorders {
            for last in (1..parts.len()).rev() {
                parts.swap(last, self.drive.dice.below(last as u64 + 1) as usize);
            }
        }
        let mut fails = vec![false; requests.len()];
        for (index, from, to) in parts {
            let request = requests[index];
            let buffer = &mut self.buffers[usize::from(request.slot)];
            fails[index] |= !self.drive.serve(&request, buffer, from, to);
        }
        for (request, fails) in requests.iter().zip(fails) {
            let issued = self.drive.now;
            if request.op != Op::Flush {
                self.drive.take_time(request);
            }
            if request.op == Op::Write {
                self.drive.written += request.len.0;
            }
            let bytes = if request.op == Op::Flush { 0 } else { request.len.0 as i32 };
            done.push(Completion {
                submitter: request.submitter,
                slot: request.slot,
                issued,
                completed: self.drive.now,
                outcome: Outcome(if fails { -Errno::IO.0 } else { bytes }),
            });
        }
        Ok(self.drive.now)
    }

    fn data(&self, slot: u16) -> Option<&[u8]> {
        self.buffers.get(usize::from(slot)).map(Vec::as_slice)
    }
}

/// The surroundings of a drive of which nothing can be counted.
#[derive(Debug, Default)]
pub struct Nowhere(Stack);

impl Environment for Nowhere {
    fn snapshot(&mut self) -> Snapshot {
        Snapshot::default()
    }

    fn stack(&self) -> &Stack {
        &self.0
    }

    fn extents(&mut self) -> Option<Extents> {
        None
    }
}
