//! Options of a run: tests and their settings, in a form that is recorded and read again.

use std::fmt;

use block::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use workload::plan::Region;

/// The form that this version writes and reads.
pub const SCHEMA: &str = "drivescope.pts-plan/1";

/// A test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Random I/O by share of reads and block size.
    Iops,
    /// Sequential I/O of large blocks.
    Throughput,
    /// Response times of one request at a time.
    Latency,
    /// Write saturation: random writes from a purge on.
    Wsat,
    /// Host idle recovery: writes with pauses.
    Hir,
    /// Cross stimulus recovery: sequential, then random, then sequential writes.
    Xsr,
    /// The enterprise composite of block sizes and hot and cold data, by threads and depth.
    Cbw,
    /// Demand intensity and response times of one load, by threads and depth.
    Dirth,
    /// Random writes by queue depth, in true steady state.
    QdSweep,
    /// ezFIO's sequence, each part in the state that it claims.
    Ezfio,
}

impl Test {
    /// The tests of the PTS, in its order.
    pub const PTS: [Test; 8] = [
        Test::Iops,
        Test::Throughput,
        Test::Latency,
        Test::Wsat,
        Test::Hir,
        Test::Xsr,
        Test::Cbw,
        Test::Dirth,
    ];

    /// As it is typed.
    pub fn word(self) -> &'static str {
        match self {
            Test::Iops => "iops",
            Test::Throughput => "throughput",
            Test::Latency => "latency",
            Test::Wsat => "wsat",
            Test::Hir => "hir",
            Test::Xsr => "xsr",
            Test::Cbw => "cbw",
            Test::Dirth => "dirth",
            Test::QdSweep => "qd-sweep",
            Test::Ezfio => "ezfio",
        }
    }

    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Test::Iops => "IOPS",
            Test::Throughput => "Throughput",
            Test::Latency => "Latency",
            Test::Wsat => "Write saturation (WSAT)",
            Test::Hir => "Host idle recovery (HIR)",
            Test::Xsr => "Cross stimulus recovery (XSR)",
            Test::Cbw => "Enterprise composite (CBW)",
            Test::Dirth => "Demand intensity (DIRTH)",
            Test::QdSweep => "Random writes by queue depth",
            Test::Ezfio => "ezFIO's sequence",
        }
    }
}

/// Class of drives that the settings are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// PTS-E: the whole range of addresses, write cache off where the drive can.
    #[default]
    Enterprise,
    /// PTS-C: 75% of the addresses, write cache on.
    Client,
}

impl Profile {
    /// Its name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Profile::Enterprise => "enterprise",
            Profile::Client => "client",
        }
    }
}

/// Length of what the specification calls a minute.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Minute {
    /// A time.
    Time(Nanos),
    /// The time in which the first writing of each test moves this share of the range.
    Fill(f64),
}

impl Minute {
    /// The specification's.
    pub const CONFORMING: Minute = Minute::Time(Nanos::secs(60));
}

/// Criterion that ends preconditioning and rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The five rounds of the specification, 25 at most.
    #[default]
    Pts,
    /// Ours, which counts bytes; the specification's limit of 25 rounds does not apply.
    Bytes,
    /// No criterion: writes N fills of the range, whatever state the drive is in then.
    Fills(f64),
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::Pts => f.write_str("pts"),
            Rule::Bytes => f.write_str("bytes"),
            Rule::Fills(fills) => write!(f, "{fills} fills"),
        }
    }
}

/// A [`Rule`] as the body of a test names it: `pts`, `bytes`, `2.5 fills`. In a plan, where it is serialized as it is, a count of
/// fills is a field.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Until(pub Rule);

impl From<Until> for String {
    fn from(until: Until) -> String {
        until.0.to_string()
    }
}

impl TryFrom<String> for Until {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Until, &'static str> {
        let rule = match text.as_str() {
            "pts" => Some(Rule::Pts),
            "bytes" => Some(Rule::Bytes),
            text => text.strip_suffix(" fills").and_then(|n| n.parse().ok()).map(Rule::Fills),
        };
        // A number that would be written in another way is kept as text.
        let rule = rule.filter(|rule| rule.to_string() == text);
        rule.map(Until).ok_or("not a rule that ends rounds")
    }
}

/// Addresses of random writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Addresses {
    /// Each drawn independently: the specification's.
    #[default]
    Uniform,
    /// Each block once a pass, in an order of its own for each pass.
    Fresh,
    /// Each block once a pass, every pass in the same order.
    Replayed,
    /// 80% of the accesses to 20% of the range.
    HotCold,
}

/// Load of [`Test::Wsat`] and [`Test::Dirth`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Size of the transfers.
    pub block: Bytes,
    /// Share of reads, in percent.
    pub read_percent: u8,
    /// Random or sequential.
    pub is_random: bool,
    /// The enterprise composite in place of one block size.
    pub is_composite: bool,
}

impl Load {
    /// RND 4 KiB, writes alone.
    pub const RANDOM_WRITES: Load =
        Load { block: Bytes::kib(4), read_percent: 0, is_random: true, is_composite: false };
}

/// Source of the limit on bytes written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A budget, which can be raised when a run is gone on with.
    Budget,
    /// The drive's rating, which cannot.
    Rating,
}

impl Limit {
    /// The flag that says it.
    pub fn flag(self) -> &'static str {
        match self {
            Limit::Budget => "--write-budget",
            Limit::Rating => "--tbw",
        }
    }

    /// Hint printed when the limit is reached.
    pub fn remedy(self) -> &'static str {
        match self {
            Limit::Budget => "--write-budget can be raised when it is gone on with",
            Limit::Rating => {
                "to write beyond what the drive is rated for, begin a new run with another --tbw"
            }
        }
    }
}

/// Everything that is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// [`SCHEMA`].
    pub schema: String,
    /// Root of every random stream.
    pub seed: u64,
    /// The tests, in order.
    pub tests: Vec<Test>,
    /// Settings of which class of drives.
    pub profile: Profile,
    /// Length of a minute.
    pub minute: Minute,
    /// The range of addresses that is used (ActiveRange); all of the drive when absent.
    pub region: Option<Region>,
    /// Submitters where the specification leaves it to the operator.
    pub threads: u16,
    /// Requests outstanding per submitter, likewise.
    pub depth: u16,
    /// Most rounds.
    pub rounds_max: u32,
    /// Criterion that ends rounds.
    pub until: Rule,
    /// Addresses of random writes.
    pub addresses: Addresses,
    /// False leaves out the purge before each test; the report says so.
    pub purge: bool,
    /// Fills of the preconditioning that is independent of the workload: 2 by the specification.
    pub wipc_fills: u32,
    /// Load of [`Test::Wsat`].
    pub wsat: Load,
    /// Load of [`Test::Dirth`].
    pub dirth: Load,
    /// Most bytes that may be written, over all tests.
    pub write_budget: Option<Bytes>,
    /// Rated endurance of the drive (TBW), which also limits the bytes written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tbw: Option<Bytes>,
    /// (physical - capacity) / capacity of the drive, where the user knows it.
    pub over_provisioning: Option<f64>,
    /// The medium is written in place, as the user knows: there is no free space to be used up.
    pub in_place: bool,
    /// Share of the closed loop's rate at which requests arrive once more after [`Test::Latency`] and [`Test::Wsat`], above 0
    /// and up to 1; none leaves that out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<f64>,
}

/// Options that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OptionsError {
    /// Not TOML, or not of this form.
    #[error("{0}")]
    Syntax(String),
    /// Another schema.
    #[error("the plan's schema is `{0}`, and this version reads `{SCHEMA}`")]
    Schema(String),
    /// A value that cannot be run.
    #[error("{field}: {what}")]
    Value {
        /// The field.
        field: &'static str,
        /// The fault, and the value to write instead.
        what: String,
    },
}

impl Options {
    /// The most that may be written, and what says so: a budget or the drive's rating, whichever is less.
    pub fn write_limit(&self) -> Option<(Bytes, Limit)> {
        let budget = self.write_budget.map(|budget| (budget, Limit::Budget));
        let rating = self.tbw.map(|tbw| (tbw, Limit::Rating));
        budget.into_iter().chain(rating).min_by_key(|(bytes, _)| *bytes)
    }

    /// Most rounds by the specification.
    pub const ROUNDS_MAX: u32 = 25;

    /// The specification's settings for `tests`.
    pub fn new(tests: Vec<Test>, profile: Profile, seed: u64) -> Options {
        Options {
            schema: SCHEMA.to_owned(),
            seed,
            tests,
            profile,
            minute: Minute::CONFORMING,
            region: None,
            threads: 2,
            depth: 16,
            rounds_max: Options::ROUNDS_MAX,
            until: Rule::Pts,
            addresses: Addresses::Uniform,
            purge: true,
            wipc_fills: 2,
            wsat: Load::RANDOM_WRITES,
            dirth: Load::RANDOM_WRITES,
            write_budget: None,
            tbw: None,
            over_provisioning: None,
            in_place: false,
            open_loop: None,
        }
    }

    /// Reads options.
    ///
    /// # Errors
    /// [`OptionsError`], naming line or field.
    pub fn from_toml(text: &str) -> Result<Options, OptionsError> {
        let options: Options = toml::from_str(text)
            .map_err(|error| OptionsError::Syntax(error.to_string().trim_end().to_owned()))?;
        options.check()?;
        Ok(options)
    }

    /// Prints them in the form that [`Options::from_toml`] reads.
    ///
    /// # Errors
    /// When a number has no such form (a seed above 2^63 - 1).
    pub fn to_toml(&self) -> Result<String, OptionsError> {
        toml::to_string(self).map_err(|error| OptionsError::Syntax(error.to_string()))
    }

    /// Checks what does not depend on a drive.
    ///
    /// # Errors
    /// [`OptionsError::Value`] with the field.
    pub fn check(&self) -> Result<(), OptionsError> {
        let wrong = |field, what: &str| Err(OptionsError::Value { field, what: what.to_owned() });
        if self.schema != SCHEMA {
            return Err(OptionsError::Schema(self.schema.clone()));
        }
        if self.tests.is_empty() {
            return wrong("tests", "name one at least");
        }
        match self.minute {
            Minute::Time(Nanos(ns)) if ns < MINUTE_MIN.0 => {
                return wrong("minute", "a minute of less than 1 ms measures nothing");
            }
            Minute::Fill(share) if !(share > 0.0 && share <= 1.0) => {
                return wrong("minute", "a share of the range lies above 0% and up to 100%");
            }
            _ => {}
        }
        if self.threads == 0 || self.threads > 256 {
            return wrong("threads", "write a count from 1 to 256");
        }
        if self.depth == 0 || self.depth > 1024 {
            return wrong("depth", "write a depth from 1 to 1024");
        }
        if let Rule::Fills(fills) = self.until
            && !(fills > 0.0 && fills <= FILLS_MAX)
        {
            return wrong("until", "a count of fills lies above 0 and up to 1000");
        }
        if self.open_loop.is_some_and(|share| !(share > 0.0 && share <= 1.0)) {
            return wrong("open_loop", "a share of the rate lies above 0% and up to 100%");
        }
        let is_logged = |test: &Test| matches!(test, Test::Latency | Test::Wsat);
        if self.open_loop.is_some() && !self.tests.iter().any(is_logged) {
            return wrong(
                "open_loop",
                "of these tests, none but latency and wsat has it; leave it out",
            );
        }
        if self.rounds_max < 5 {
            return wrong("rounds_max", "steady state is judged on five rounds at least");
        }
        for load in [self.wsat, self.dirth] {
            if load.read_percent > 100 || load.block == Bytes::ZERO {
                return wrong("load", "a block size above 0 and up to 100% of reads");
            }
        }
        Ok(())
    }

    /// Deviations of `tests` from the specification, each a sentence without a full stop.
    pub fn deviations(&self, tests: &[Test]) -> Vec<String> {
        let mut found = Vec::new();
        match self.minute {
            Minute::CONFORMING => {}
            Minute::Time(ns) => found.push(format!(
                "a minute is {} s long, where the specification has 60 s",
                ns.as_secs_f64()
            )),
            Minute::Fill(share) => found.push(format!(
                "a minute is the time in which the first writing moves {}% of the range, where the specification has 60 s",
                share * 100.0
            )),
        }
        if !self.purge {
            found.push("the drive was not purged before the test".to_owned());
        }
        if self.wipc_fills != 2 {
            found.push(format!(
                "{} of workload-independent preconditioning, where the specification has 2",
                if self.wipc_fills == 1 {
                    "1 fill".to_owned()
                } else {
                    format!("{} fills", self.wipc_fills)
                }
            ));
        }
        if self.addresses != Addresses::Uniform {
            found.push("random addresses are not uniform".to_owned());
        }
        if let Rule::Fills(fills) = self.until {
            found.push(format!("rounds end after {fills} fills, steady or not"));
        }
        // The limit of write saturation is not a count of rounds.
        if self.rounds_max != Options::ROUNDS_MAX && tests.iter().any(|test| *test != Test::Wsat) {
            found.push(format!("{} rounds at most, not 25", self.rounds_max));
        }
        found
    }
}

/// Most fills that can be asked for: no test writes a drive more often.
const FILLS_MAX: f64 = 1_000.0;
/// Shorter than that a minute has no I/O to speak of on a slow drive.
const MINUTE_MIN: Nanos = Nanos::millis(1);
