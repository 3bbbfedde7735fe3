//! A drive whose answers are known: a few servers, each of which takes the same time for every request.

use std::collections::VecDeque;

use block::{
    Bytes, Completion, Drive, DriveError, DriveInfo, DriveKind, Environment, Extents, LaneSetup,
    Nanos, Outcome, Request, Snapshot, Stack, Target, Time,
};

/// Serves `servers` requests at a time, each in `service`.
pub struct Metronome {
    info: DriveInfo,
    now: Time,
    service: Nanos,
    servers: usize,
    /// The request, counted from 0 over the target's life, that fails, and with what.
    pub fails: Option<(u64, Outcome)>,
    /// Every request taken, in order.
    pub taken: Vec<Request>,
    /// Every write foreseen, in order, with the count of requests taken before.
    #[allow(dead_code, reason = "not every test that has a metronome looks at it")]
    pub foreseen: Vec<(usize, Request)>,
}

impl Metronome {
    pub fn new(servers: usize, service: Nanos) -> Metronome {
        Metronome {
            info: DriveInfo {
                name: "metronome".to_owned(),
                kind: DriveKind::Virtual,
                model: None,
                serial: None,
                capacity_bytes: Bytes::mib(64),
                logical_block_bytes: Bytes(512),
                physical_block_bytes: Bytes(512),
                rotational: None,
                write_cache: None,
                cache_bytes: None,
                link_bytes_per_s: None,
            },
            now: Time(1_000),
            service,
            servers,
            fails: None,
            taken: Vec::new(),
            foreseen: Vec::new(),
        }
    }
}

impl Target for Metronome {
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
        assert!(setup.submitters > 0 && setup.depth > 0, "the engine asks for something");
        let lane = Lane {
            now: self.now,
            service: self.service,
            busy: vec![Time::ZERO; self.servers],
            flying: VecDeque::new(),
            slots: vec![false; usize::from(setup.submitters) * usize::from(setup.depth)],
            depth: usize::from(setup.depth),
            fails: self.fails,
            taken: &mut self.taken,
            foreseen: &mut self.foreseen,
            clock: &mut self.now,
        };
        Ok(vec![lane])
    }
}

pub struct Lane<'a> {
    now: Time,
    service: Nanos,
    busy: Vec<Time>,
    flying: VecDeque<(Time, Request, Time)>,
    slots: Vec<bool>,
    depth: usize,
    fails: Option<(u64, Outcome)>,
    taken: &'a mut Vec<Request>,
    foreseen: &'a mut Vec<(usize, Request)>,
    clock: &'a mut Time,
}

impl Lane<'_> {
    fn slot(&mut self, request: &Request) -> &mut bool {
        let index = usize::from(request.submitter) * self.depth + usize::from(request.slot);
        &mut self.slots[index]
    }
}

impl Drive for Lane<'_> {
    fn now(&self) -> Time {
        self.now
    }

    fn submit(&mut self, requests: &[Request]) -> Result<(), DriveError> {
        for request in requests {
            let taken = self.slot(request);
            assert!(!*taken, "two requests in one slot: {request:?}");
            *taken = true;
            let now = self.now;
            let server = self.busy.iter_mut().min().unwrap();
            let done = (*server).max(now) + self.service;
            *server = done;
            self.flying.push_back((done, *request, now));
            self.taken.push(*request);
        }
        Ok(())
    }

    fn foresee(&mut self, next: &Request) {
        self.foreseen.push((self.taken.len(), *next));
    }

    fn wait_until(&mut self, until: Time, done: &mut Vec<Completion>) -> Result<Time, DriveError> {
        let first = self.flying.iter().map(|(at, ..)| *at).min().unwrap_or(Time::NEVER);
        assert!(first.min(until) != Time::NEVER, "nothing would ever end this wait");
        self.now = self.now.max(first.min(until));
        *self.clock = self.now;
        while let Some(index) = self.flying.iter().position(|(at, ..)| *at <= self.now) {
            let (completed, request, issued) = self.flying.remove(index).unwrap();
            *self.slot(&request) = false;
            let failing =
                self.fails.filter(|(at, _)| self.taken.get(*at as usize) == Some(&request));
            let full = Outcome(i32::try_from(request.len.0).unwrap());
            done.push(Completion {
                submitter: request.submitter,
                slot: request.slot,
                issued,
                completed,
                outcome: failing.map_or(full, |(_, outcome)| outcome),
            });
        }
        Ok(self.now)
    }
}

/// Counts nothing.
#[derive(Default)]
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
