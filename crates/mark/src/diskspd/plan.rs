//! The plan that does what a command line asks for: rightly, or as diskspd for Linux does it.

use block::{Bytes, DriveInfo, DriveKind, Nanos, Op};
use workload::plan::{
    Address, Arrival, Content, Cursors, Gaps, OpShare, Phase, Plan, Region, SCHEMA, Schedule,
    Share, Step, Stop,
};

use crate::notation::{DEPTH_MAX, Pattern, TestSpec};

use super::{Caching, Engine, Fill, Options, Seed, Threads, UsageError};

/// Alignment of random offsets in diskspd for Linux when `-r` has no value: the default of another option, which its parser
/// leaves in place (`arg_to_number` in `options.h`).
const ALIGN_BARE: u64 = 64 << 10;

/// How offsets are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    /// A cursor for each thread and target, whatever the depth; threads have parts or draws of their own.
    #[default]
    Right,
    /// As diskspd for Linux does: each outstanding transfer has a cursor of its own, threads begin at the same place and
    /// draw the same offsets, and those lie on multiples of 64 KiB unless `-r` says otherwise.
    Emulated,
}

impl Options {
    /// The seed that these options name: that of the original where it is emulated. `None` means a new one.
    pub fn named_seed(&self, manner: Manner) -> Option<u64> {
        match (self.seed, manner) {
            (Seed::Given(seed), _) => Some(seed),
            (Seed::Unsaid, Manner::Emulated) => Some(0),
            (Seed::Unsaid | Seed::Fresh, _) => None,
        }
    }

    /// Region of a target that is used.
    ///
    /// # Errors
    /// Returns [`UsageError`] if the target is too small.
    pub fn region(&self, info: &DriveInfo) -> Result<Region, UsageError> {
        let logical = info.logical_block_bytes;
        let capacity = info.capacity_bytes.round_down(logical).0;
        let end = self.end.or(self.create).unwrap_or(capacity);
        let too_far = |option, bytes: u64| {
            let why = format!("{} has {capacity} bytes; take a smaller one", info.name);
            Err(UsageError::Wrong { option, value: bytes.to_string(), why })
        };
        if end > capacity {
            return too_far(if self.end.is_some() { 'f' } else { 'c' }, end);
        }
        let offset = self.base_offset;
        if offset.saturating_add(self.block) > end {
            let option = if offset > 0 { 'B' } else { 'b' };
            return too_far(option, if offset > 0 { offset } else { self.block });
        }
        let length = Bytes(end - offset).round_down(logical);
        Ok(Region { offset: Bytes(offset), length })
    }

    /// The plan for one target. `seed` is the root of all randomness.
    ///
    /// # Errors
    /// [`UsageError`], naming the option that cannot be had on this target, or at all.
    pub fn plan(&self, info: &DriveInfo, seed: u64, manner: Manner) -> Result<Plan, UsageError> {
        self.check_for(info)?;
        let region = self.region(info)?;
        let threads = self.submitters()?;
        let depth = self.queue()?;
        let phase = |name: &str, measured, seconds: u32| Phase {
            name: name.to_owned(),
            measured,
            block: Bytes(self.block),
            blocks: Vec::new(),
            address: self.address(region.length.0, manner),
            stop: Stop { after: Some(Nanos::secs(u64::from(seconds))), ..Stop::default() },
            arrival: match self.bytes_per_ms {
                None => Arrival::ClosedLoop { depth },
                Some(bytes) => Arrival::Timed {
                    depth,
                    per_s: bytes as f64 * 1000.0 / self.block as f64,
                    gaps: Gaps::Constant,
                },
            },
            ops: self.ops(),
            region: None,
        };
        let phases = [
            ("warm-up", false, self.warm_up_s),
            ("measure", true, self.duration_s),
            ("cool-down", false, self.cool_down_s),
        ];
        let phases = phases.into_iter().filter(|(_, _, seconds)| *seconds > 0);
        let step = Step {
            name: self.name(),
            submitters: threads,
            order: None,
            engine: None,
            phases: phases.map(|(name, measured, s)| phase(name, measured, s)).collect(),
        };
        Ok(Plan {
            schema: SCHEMA.to_owned(),
            seed: seed & i64::MAX as u64,
            region: Some(region),
            content: self.content(),
            schedule: Schedule::default(),
            steps: vec![step],
        })
    }

    /// The test in the familiar notation, with what it does.
    pub fn name(&self) -> String {
        let pattern = match self.random {
            Some(_) => Pattern::Random,
            None => Pattern::Sequential,
        };
        let threads = u16::try_from(self.threads_of_target()).unwrap_or(u16::MAX);
        let depth = u16::try_from(self.depth).unwrap_or(u16::MAX);
        let spec = TestSpec { pattern, block: Bytes(self.block), depth, threads };
        match self.write_percent {
            0 => format!("{spec} read"),
            100 => format!("{spec} write"),
            writes => format!("{spec} mix{}", 100 - writes),
        }
    }

    /// Rejects options that are invalid for the target, or not supported here.
    fn check_for(&self, info: &DriveInfo) -> Result<(), UsageError> {
        let wrong = |option, value: &str, why: &str| {
            Err(UsageError::Wrong { option, value: value.to_owned(), why: why.to_owned() })
        };
        if self.caching.mapped {
            return wrong('S', "m", "I/O through mapped memory is not measured here; take d or h");
        }
        if self.random.is_some_and(|random| random.percent.is_some()) {
            let why =
                "random and sequential accesses are not mixed here; take -r alone, or neither";
            return wrong('r', "s", why);
        }
        if let Seed::Given(seed) = self.seed
            && seed > i64::MAX as u64
        {
            return wrong('z', &seed.to_string(), "has to be 9223372036854775807 at most");
        }
        if Bytes(self.block) > Phase::BLOCK_MAX {
            return wrong('b', &self.block.to_string(), "has to be 1G at most");
        }
        let logical = info.logical_block_bytes;
        let align = self.random.and_then(|random| random.align);
        let stride = self.stride.and_then(|stride| stride.bytes).filter(|_| self.random.is_none());
        let sizes = [
            ('b', Some(self.block)),
            ('B', Some(self.base_offset)),
            ('r', align),
            ('s', stride),
            ('T', self.thread_stride),
        ];
        for (option, bytes) in sizes.into_iter().filter_map(|(o, bytes)| Some((o, bytes?))) {
            if !Bytes(bytes).is_multiple_of(logical) {
                let name = &info.name;
                let why = format!("has to be a multiple of {}, the block of {name}", logical.0);
                return wrong(option, &bytes.to_string(), &why);
            }
        }
        Ok(())
    }

    fn submitters(&self) -> Result<u16, UsageError> {
        let threads = self.threads_of_target();
        let option = match self.threads {
            Threads::PerTarget(_) => 't',
            Threads::Total(_) => 'F',
        };
        bounded(option, threads, Step::SUBMITTERS_MAX)
    }

    fn queue(&self) -> Result<u16, UsageError> {
        bounded('o', self.depth, DEPTH_MAX)
    }

    fn ops(&self) -> Vec<OpShare> {
        let durable = self.caching.durable;
        let share = |op, percent| OpShare { op, fua: durable && op == Op::Write, percent };
        let both = [(Op::Read, 100 - self.write_percent), (Op::Write, self.write_percent)];
        let some = both.into_iter().filter(|(_, percent)| *percent > 0);
        some.map(|(op, percent)| share(op, percent)).collect()
    }

    fn address(&self, length: u64, manner: Manner) -> Address {
        let block = Bytes(self.block);
        let emulated = manner == Manner::Emulated;
        if let Some(random) = self.random {
            return match (random.align.map(Bytes), emulated) {
                (None, false) => Address::Random,
                (Some(align), false) if align == block => Address::Random,
                (Some(align), _) => Address::Aligned { align, alike: emulated },
                (None, true) => Address::Aligned { align: Bytes(ALIGN_BARE), alike: true },
            };
        }
        let stride = self.stride.and_then(|stride| stride.bytes).map_or(block, Bytes);
        let apart = Bytes(self.thread_stride.unwrap_or(0));
        if self.stride.is_some_and(|stride| stride.interlocked) {
            return match stride == block && !emulated {
                true => Address::Sequential { share: Share::Cursor },
                false => Address::Strided { stride, apart, cursors: Cursors::Shared },
            };
        }
        if emulated {
            return Address::Strided { stride, apart, cursors: Cursors::Slot };
        }
        let cursors = Cursors::Submitter;
        match self.thread_stride {
            Some(_) => Address::Strided { stride, apart, cursors },
            None if stride == block => Address::Sequential { share: Share::Partition },
            None => {
                // Each begins in a part of its own, at a multiple of the stride.
                let part = length.checked_div(u64::from(self.threads_of_target())).unwrap_or(0);
                Address::Strided { stride, apart: Bytes(part).round_down(stride), cursors }
            }
        }
    }

    fn content(&self) -> Content {
        let compressible_percent = match self.buffers.fill {
            Fill::Random => 0,
            Fill::Ramp | Fill::Zeros => 100,
        };
        Content { compressible_percent, dedup_percent: 0 }
    }

    /// Behaviour that differs from what the options suggest, a sentence each. `kinds` are those of the targets.
    pub fn deviations(&self, kinds: &[DriveKind], manner: Manner) -> Vec<String> {
        let mut told = Vec::new();
        let mut tell = |text: String| told.push(text);
        let is_virtual = |kind: &DriveKind| *kind == DriveKind::Virtual;
        let (any_virtual, any_real) = (kinds.iter().any(is_virtual), !kinds.iter().all(is_virtual));
        if manner == Manner::Emulated {
            tell(format!("diskspd for Linux is emulated: {}", self.faults()));
        }
        if self.random.is_some() && (self.stride.is_some() || self.thread_stride.is_some()) {
            tell("-s, -T: mean nothing beside -r, as in diskspd".to_owned());
        }
        let parts = manner == Manner::Right
            && self.threads_of_target() > 1
            && self.random.is_none()
            && self.thread_stride.is_none()
            && !self.stride.is_some_and(|stride| stride.interlocked);
        if parts {
            tell(
                "threads read and write a part of the target each; diskspd lets all begin at the same place"
                    .to_owned(),
            );
        }
        if matches!(self.threads, Threads::Total(_)) && kinds.len() > 1 {
            tell("-F: each thread is several here, one for each target".to_owned());
        }
        if self.bytes_per_ms.is_some() {
            tell(
                "-g: transfers are meant for even times, and latencies count from then".to_owned(),
            );
        }
        if self.engine == Engine::PosixAio && any_real {
            tell(
                "-xp: pread and pwrite, one at a time, as the C library's threads serve one file; -o means nothing with it"
                    .to_owned(),
            );
        }
        let fill = match self.buffers.fill {
            _ if self.write_percent == 0 => None,
            Fill::Random => None,
            Fill::Zeros => Some("-Zz: "),
            Fill::Ramp => Some("without -Zr: "),
        };
        if let Some(option) = fill {
            tell(format!(
                "{option}what is written are zeros, but for 8 bytes in 512 that are new each time, where diskspd writes \
                 one block again and again; both compress to next to nothing"
            ));
        }
        if self.no_affinity && self.cpus.is_some() {
            tell("-a: means nothing beside -n".to_owned());
        }
        let places = self.cpus.is_some() || self.no_affinity;
        let cached = self.caching != Caching::default() && !self.caching.durable;
        let none: Vec<&str> =
            [("-a, -n", places), ("-x", self.engine != Engine::Libaio), ("-Sd", cached)]
                .into_iter()
                .filter_map(|(options, given)| given.then_some(options))
                .collect();
        if any_virtual && !none.is_empty() {
            tell(format!(
                "{}: nothing to a virtual drive, which has no processors, engines or page cache",
                none.join(", ")
            ));
        }
        told
    }

    /// The faults of diskspd for Linux that this command line meets, in words.
    fn faults(&self) -> String {
        let threads = self.threads_of_target() > 1;
        let mut faults = Vec::new();
        match self.random {
            Some(random) => {
                if random.align.is_none() {
                    faults.push("offsets lie on multiples of 64 KiB".to_owned());
                }
                if threads {
                    faults.push("all threads draw the same offsets".to_owned());
                }
                if self.seed == Seed::Unsaid {
                    faults.push("every run draws those of the run before".to_owned());
                }
            }
            None if self.stride.is_some_and(|stride| stride.interlocked) => {}
            None => {
                if self.depth > 1 {
                    faults.push(format!("each block is transferred {} times", self.depth));
                }
                if threads && self.thread_stride.unwrap_or(0) == 0 {
                    faults.push("all threads begin at the same place".to_owned());
                }
            }
        }
        match faults.is_empty() {
            true => "this load meets none of its faults".to_owned(),
            false => faults.join(", "),
        }
    }
}

fn bounded(option: char, count: u32, most: u16) -> Result<u16, UsageError> {
    let value = || count.to_string();
    let why = || format!("has to be {most} at most");
    let within = u16::try_from(count).ok().filter(|count| *count <= most);
    within.ok_or_else(|| UsageError::Wrong { option, value: value(), why: why() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::plan::Address::{Aligned, Random, Sequential, Strided};

    fn info(capacity: u64, logical: u64) -> DriveInfo {
        DriveInfo {
            name: "t".to_owned(),
            kind: DriveKind::File,
            model: None,
            serial: None,
            capacity_bytes: Bytes(capacity),
            logical_block_bytes: Bytes(logical),
            physical_block_bytes: Bytes(logical),
            rotational: None,
            write_cache: None,
            cache_bytes: None,
            link_bytes_per_s: None,
        }
    }

    fn options(line: &str) -> Options {
        Options::parse(&line.split_whitespace().collect::<Vec<_>>()).unwrap()
    }

    fn plan(line: &str, manner: Manner) -> Plan {
        let plan = options(line).plan(&info(1 << 30, 512), 7, manner).unwrap();
        plan.check().unwrap();
        plan.fit(&info(1 << 30, 512)).unwrap();
        let printed = plan.to_toml().unwrap();
        assert_eq!(Plan::from_toml(&printed).unwrap(), plan, "{printed}");
        plan
    }

    fn address(line: &str, manner: Manner) -> Address {
        plan(line, manner).steps[0].phases[0].address
    }

    // Breaks when a right generator gets one of the faults, or the emulation loses one.
    #[test]
    fn offsets_are_made_rightly_or_as_they_were() {
        let right = |line: &str| address(line, Manner::Right);
        let emulated = |line: &str| address(line, Manner::Emulated);
        let mib = |n| Bytes::mib(n);
        let strided = |stride, apart, cursors| Strided { stride, apart, cursors };
        assert_eq!(right("-b1M -o8 t"), Sequential { share: Share::Partition });
        assert_eq!(emulated("-b1M -o8 t"), strided(mib(1), Bytes::ZERO, Cursors::Slot));
        assert_eq!(right("-b4K -r -t4 t"), Random);
        assert_eq!(right("-b4K -r4K t"), Random);
        assert_eq!(right("-b4K -r8K t"), Aligned { align: Bytes(8192), alike: false });
        assert_eq!(emulated("-b4K -r -t4 t"), Aligned { align: Bytes(65_536), alike: true });
        assert_eq!(emulated("-b4K -r4K t"), Aligned { align: Bytes(4096), alike: true });
        assert_eq!(right("-b1M -si -t2 t"), Sequential { share: Share::Cursor });
        assert_eq!(right("-b1M -si2M t"), strided(mib(2), Bytes::ZERO, Cursors::Shared));
        assert_eq!(emulated("-b1M -si t"), strided(mib(1), Bytes::ZERO, Cursors::Shared));
        assert_eq!(right("-b1M -T64M -t2 t"), strided(mib(1), mib(64), Cursors::Submitter));
        assert_eq!(right("-b1M -s2M -t4 t"), strided(mib(2), mib(256), Cursors::Submitter));
        assert_eq!(emulated("-b1M -s2M -T4M -t4 t"), strided(mib(2), mib(4), Cursors::Slot));
    }

    #[test]
    fn phases_operations_and_region_are_those_asked_for() {
        let plan = plan("-b4K -r -w30 -Sh -B1M -f3M -W2 -d4 -C1 -o16 -t3 t", Manner::Right);
        let step = &plan.steps[0];
        let names: Vec<_> = step.phases.iter().map(|p| (p.name.as_str(), p.measured)).collect();
        assert_eq!(names, [("warm-up", false), ("measure", true), ("cool-down", false)]);
        assert_eq!(step.phases[1].stop.after, Some(Nanos::secs(4)));
        assert_eq!(step.phases[1].arrival, Arrival::ClosedLoop { depth: 16 });
        assert_eq!((step.submitters, step.name.as_str()), (3, "RND4K Q16T3 mix70"));
        let ops: Vec<_> = step.phases[1].ops.iter().map(|o| (o.op, o.fua, o.percent)).collect();
        assert_eq!(ops, [(Op::Read, false, 70), (Op::Write, true, 30)]);
        assert_eq!(plan.region, Some(Region { offset: Bytes(1 << 20), length: Bytes(2 << 20) }));
        assert!(plan.steps[0].phases.windows(2).all(|two| two[1].continues(&two[0])));
    }

    #[test]
    fn a_throttle_is_a_rate() {
        let plan = plan("-b4K -g8K t", Manner::Right);
        let Arrival::Timed { per_s, depth, .. } = plan.steps[0].phases[0].arrival else {
            panic!("not timed")
        };
        assert_eq!((per_s, depth), (2000.0, 2));
    }

    #[test]
    fn what_a_target_cannot_give_is_told_with_the_option() {
        for (line, told) in [
            ("-f2G t", "-f2147483648: t has 1073741824 bytes"),
            ("-B1G t", "-B1073741824: t has"),
            ("-b2G t", "-b2147483648: has to be 1G"),
            ("-b1000 t", "-b1000: has to be a multiple of 4096, the block of t"),
            ("-b4K -B512 t", "-B512: "),
            ("-b4K -r512 t", "-r512: "),
            ("-b4K -s1000 t", "-s1000: "),
            ("-b4K -T7 t", "-T7: "),
            ("-Sm t", "-Sm: I/O through mapped memory"),
            ("-rs30 t", "-rs: random and sequential"),
            ("-t2000 t", "-t2000: has to be 1024 at most"),
            ("-F2000 t", "-F2000: "),
            ("-o99999 t", "-o99999: has to be 16384 at most"),
        ] {
            let said = options(line).plan(&info(1 << 30, 4096), 7, Manner::Right);
            let said = said.unwrap_err().to_string();
            assert!(said.contains(told), "{line}: {said}");
        }
    }

    // Breaks when an option is ignored in silence.
    #[test]
    fn what_options_come_to_is_told() {
        let told = |line: &str, kind, manner| options(line).deviations(&[kind], manner).join("\n");
        let real = DriveKind::File;
        let on = |line: &str| told(line, real, Manner::Right);
        assert_eq!(on("-b1M -d10 -o8 -t1 -W5 -Sd -w0 -Zr t"), "");
        assert!(on("-t2 t").contains("a part of the target each"));
        assert!(on("-xp t").starts_with("-xp: "));
        assert!(on("-g1K t").starts_with("-g: "));
        assert!(on("-w50 t").starts_with("without -Zr: ") && on("-w1 -Zz t").starts_with("-Zz: "));
        assert!(on("-r -s4K t").starts_with("-s, -T: "));
        assert!(on("-a0 -n t").contains("-a: "));
        let virtually = told("-a0 -xp -Sd sim:x", DriveKind::Virtual, Manner::Right);
        assert!(
            virtually.starts_with("-a, -n, -x, -Sd: nothing to a virtual drive"),
            "{virtually}"
        );
        let both = options("-F2 a b").deviations(&[real, real], Manner::Right);
        assert!(both[1].starts_with("-F: "), "{both:?}");
        let faults = |line| told(line, real, Manner::Emulated);
        assert!(faults("-o8 t").contains("each block is transferred 8 times"));
        assert!(faults("-t2 -o1 t").contains("all threads begin at the same place"));
        assert!(
            faults("-r -t2 t").contains("64 KiB, all threads draw the same offsets, every run")
        );
        assert!(faults("-o1 t").contains("meets none"));
    }

    #[test]
    fn a_seed_is_new_each_time_but_where_diskspd_is_emulated() {
        let seed = |line: &str, manner| options(line).named_seed(manner);
        assert_eq!(seed("t", Manner::Right), None);
        assert_eq!(seed("t", Manner::Emulated), Some(0));
        assert_eq!(seed("-z t", Manner::Emulated), None);
        assert_eq!(seed("-z5 t", Manner::Right), Some(5));
    }
}
