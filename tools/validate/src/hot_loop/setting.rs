//! Subjects of the comparison: places, depths, contenders, and the claims about them.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, bail};
use block::Bytes;

use crate::engine::Engine;
use crate::fio;

/// Target of the reads. All targets are in memory, so that the time goes into the tester and the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// A file in the page cache, through it.
    Cached,
    /// A zram device, with direct I/O.
    Zram,
    /// A loop device with direct I/O, with direct I/O.
    Loop,
}

/// A place, a depth, and who may choose the CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Setting {
    pub(super) place: Place,
    pub(super) depth: u16,
    /// Tester and kernel workers are kept on one CPU ([`crate::one_cpu`]).
    pub(super) on_one_cpu: bool,
}

impl Setting {
    /// All of them.
    pub(super) const ALL: [Setting; 7] = [
        Setting::new(Place::Cached, 32),
        Setting::new(Place::Cached, 1),
        Setting::new(Place::Zram, 32),
        Setting::new(Place::Zram, 1),
        Setting::new(Place::Loop, 32),
        Setting::new(Place::Loop, 1),
        // The time of a read depends on which CPU the device's worker woke up on, by a factor of up to four,
        // and for seconds at a time: programs can only be compared when that is the same for both.
        Setting { place: Place::Loop, depth: 1, on_one_cpu: true },
    ];

    pub(super) const fn new(place: Place, depth: u16) -> Setting {
        Setting { place, depth, on_one_cpu: false }
    }

    /// Size of a read.
    pub(super) fn block(&self) -> Bytes {
        if self.place == Place::Cached { Bytes(512) } else { Bytes::kib(4) }
    }

    /// Around the page cache.
    pub(super) fn direct(&self) -> bool {
        self.place != Place::Cached
    }

    /// Contenders of a round: each engine of ours; fio's same engine, tuned where there is something to tune;
    /// and on the page cache, where the tester is all there is, also without tuning and with fio's defaults.
    pub(super) fn contenders(&self, t_io_uring: bool) -> Vec<Contender> {
        let engines = || Engine::ALL.into_iter().filter(|engine| engine.has_depth(self.depth));
        let mut all: Vec<Contender> = engines().map(Contender::Drivescope).collect();
        for engine in engines() {
            let best = self.best_fio(engine);
            if self.place == Place::Cached {
                all.push(Contender::FioDefaults(engine));
                all.extend((best != Contender::Fio(engine)).then_some(Contender::Fio(engine)));
            }
            all.push(best);
        }
        all.extend(t_io_uring.then_some(Contender::TIoUring));
        all
    }

    /// fio's `engine`, tuned where there is something to tune.
    pub(super) fn best_fio(&self, engine: Engine) -> Contender {
        if fio::tuning(engine, self.depth).is_empty() {
            Contender::Fio(engine)
        } else {
            Contender::FioTuned(engine)
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.place {
            Place::Cached => "cached",
            Place::Zram => "zram",
            Place::Loop => "loop",
        };
        write!(f, "{place}-Q{}{}", self.depth, if self.on_one_cpu { "-one-cpu" } else { "" })
    }
}

impl FromStr for Setting {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Setting> {
        match Setting::ALL.into_iter().find(|setting| setting.to_string() == text) {
            Some(setting) => Ok(setting),
            None => {
                let all: Vec<String> = Setting::ALL.iter().map(Setting::to_string).collect();
                bail!("there is no setting `{text}`; there are {}", all.join(", "))
            }
        }
    }
}

/// A program, and how it issues I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Contender {
    /// Ours.
    Drivescope(Engine),
    /// fio as it comes: it also keeps a map of the blocks that it has read, and reads none twice before
    /// it has read all.
    FioDefaults(Engine),
    /// fio without that map, which we do not keep either.
    Fio(Engine),
    /// fio with [`fio::tuning`].
    FioTuned(Engine),
    /// The benchmark in fio's source, which records no latency.
    TIoUring,
}

impl Contender {
    /// True for ours.
    pub(super) fn is_ours(self) -> bool {
        matches!(self, Contender::Drivescope(_))
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Contender::Drivescope(engine) => write!(f, "drivescope {}", engine.name()),
            Contender::FioDefaults(engine) => write!(f, "fio {} defaults", engine.name()),
            Contender::Fio(engine) => write!(f, "fio {}", engine.name()),
            Contender::FioTuned(engine) => write!(f, "fio {} tuned", engine.name()),
            Contender::TIoUring => f.write_str("t/io_uring"),
        }
    }
}

impl FromStr for Contender {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Contender> {
        let of = |engine| {
            let fio = [Contender::FioDefaults, Contender::Fio, Contender::FioTuned];
            fio.map(|kind| kind(engine)).into_iter().chain([Contender::Drivescope(engine)])
        };
        let mut all = Engine::ALL.into_iter().flat_map(of).chain([Contender::TIoUring]);
        match all.find(|contender| contender.to_string() == text) {
            Some(contender) => Ok(contender),
            None => bail!("there is no contender `{text}`"),
        }
    }
}

/// A claim that ours does at least `at_least` times the I/Os of theirs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Claim {
    pub(super) setting: Setting,
    pub(super) ours: Contender,
    pub(super) theirs: Contender,
    pub(super) at_least: f64,
}

/// User CPU time per I/O that is aimed at on the page cache at depth 32, in nanoseconds.
pub(super) const USER_NS_AIM: f64 = 40.0;

impl Claim {
    /// All of them.
    pub(super) fn all() -> Vec<Claim> {
        use Contender::{Drivescope, Fio, FioDefaults, FioTuned};
        use Engine::{IoUring, Libaio, Psync};
        let cached = |depth, ours, theirs, at_least| Claim {
            setting: Setting::new(Place::Cached, depth),
            ours: Drivescope(ours),
            theirs,
            at_least,
        };
        let mut claims = vec![
            cached(32, IoUring, FioDefaults(IoUring), 2.0),
            cached(32, IoUring, Fio(IoUring), 2.0),
            cached(32, IoUring, FioTuned(IoUring), 1.1),
            cached(32, IoUring, FioDefaults(Libaio), 2.7),
            cached(32, IoUring, Fio(Libaio), 2.7),
            cached(1, Psync, FioDefaults(Psync), 1.15),
            cached(1, Psync, Fio(Psync), 1.15),
            cached(1, IoUring, FioTuned(IoUring), 1.1),
        ];
        for setting in Setting::ALL.into_iter().filter(Setting::direct) {
            for engine in Engine::ALL.into_iter().filter(|e| e.has_depth(setting.depth)) {
                let (ours, theirs) = (Drivescope(engine), setting.best_fio(engine));
                claims.push(Claim { setting, ours, theirs, at_least: 1.0 });
            }
        }
        claims
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_contenders_are_read_back_from_their_names() {
        for setting in Setting::ALL {
            assert_eq!(setting.to_string().parse::<Setting>().unwrap(), setting);
            for contender in setting.contenders(true) {
                assert_eq!(contender.to_string().parse::<Contender>().unwrap(), contender);
            }
        }
        assert!("cached-Q2".parse::<Setting>().is_err());
        assert!("fio posixaio".parse::<Contender>().is_err());
    }

    // A claim about a contender that no round runs would be in the table without figures.
    #[test]
    fn both_sides_of_each_claim_are_run() {
        for Claim { setting, ours, theirs, .. } in Claim::all() {
            let contenders = setting.contenders(false);
            assert!(contenders.contains(&ours) && contenders.contains(&theirs), "{setting}");
            assert!(ours.is_ours() && !theirs.is_ours());
        }
        // Three engines at depth 1 and two at 32, on each of two devices; three on one CPU; and eight on the
        // page cache.
        assert_eq!(Claim::all().len(), 21);
    }

    #[test]
    fn no_contender_runs_twice_in_a_round() {
        for setting in Setting::ALL {
            let mut contenders = setting.contenders(true);
            let count = contenders.len();
            contenders.sort_unstable();
            contenders.dedup();
            assert_eq!(contenders.len(), count, "{setting}");
        }
        let count = |index: usize| Setting::ALL[index].contenders(false).len();
        assert_eq!([count(0), count(1), count(2), count(3)], [8, 10, 4, 6]);
    }
}
