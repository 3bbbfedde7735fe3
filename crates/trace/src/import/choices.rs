//! Choices of the flags, each written and read by its word.

use std::fmt;
use std::str::FromStr;

use block::Nanos;

use super::fields::whole;

/// The formats that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Our own.
    Container,
    /// blktrace's binary files, one for each CPU, or `blkparse -d` of them.
    Blktrace,
    /// Output of blkparse.
    Blkparse,
    /// The kernel's block events as text: ftrace, trace-cmd, `perf script`.
    Ftrace,
    /// Output of biosnoop of bcc.
    Biosnoop,
    /// Output of iosnoop of perf-tools.
    Iosnoop,
    /// fio's I/O log, version 2 or 3.
    Fio,
    /// SPC, as the UMass repository has it.
    Spc,
    /// MSR Cambridge.
    Msr,
    /// FIU: IODedup, SRCMap.
    Fiu,
    /// SYSTOR '17.
    Systor,
    /// Alibaba's block traces of 2020.
    Alibaba,
    /// Tencent's block traces of 2018.
    Tencent,
    /// K5cloud.
    K5cloud,
    /// VMware's vscsi traces, as CloudPhysics kept them, version 1 or 2.
    Vscsi,
    /// Windows' event traces as text.
    Etw,
    /// The table that wpaexporter writes of disks.
    Wpa,
    /// DiskSim's ASCII traces.
    DiskSim,
    /// SSDSim's traces.
    SsdSim,
    /// MQSim's traces.
    MqSim,
    /// A table with a column map or a header.
    Csv,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 21] = [
        Format::Container,
        Format::Blktrace,
        Format::Blkparse,
        Format::Ftrace,
        Format::Biosnoop,
        Format::Iosnoop,
        Format::Fio,
        Format::Spc,
        Format::Msr,
        Format::Fiu,
        Format::Systor,
        Format::Alibaba,
        Format::Tencent,
        Format::K5cloud,
        Format::Vscsi,
        Format::Etw,
        Format::Wpa,
        Format::DiskSim,
        Format::SsdSim,
        Format::MqSim,
        Format::Csv,
    ];

    /// As `--format` has it.
    pub const fn word(self) -> &'static str {
        match self {
            Format::Container => "drivescope",
            Format::Blktrace => "blktrace",
            Format::Blkparse => "blkparse",
            Format::Ftrace => "ftrace",
            Format::Biosnoop => "biosnoop",
            Format::Iosnoop => "iosnoop",
            Format::Fio => "fio",
            Format::Spc => "spc",
            Format::Msr => "msr",
            Format::Fiu => "fiu",
            Format::Systor => "systor",
            Format::Alibaba => "alibaba",
            Format::Tencent => "tencent",
            Format::K5cloud => "k5cloud",
            Format::Vscsi => "vscsi",
            Format::Etw => "etw",
            Format::Wpa => "wpa",
            Format::DiskSim => "disksim",
            Format::SsdSim => "ssdsim",
            Format::MqSim => "mqsim",
            Format::Csv => "csv",
        }
    }
}

/// Unit of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Nanoseconds.
    Nanos,
    /// Ticks of 100 ns; of Windows' FILETIME they count from 1601.
    FileTime,
    /// Microseconds.
    Micros,
    /// Milliseconds.
    Millis,
    /// Seconds.
    Secs,
}

impl TimeUnit {
    /// All of them, from the finest.
    pub const ALL: [TimeUnit; 5] =
        [TimeUnit::Nanos, TimeUnit::FileTime, TimeUnit::Micros, TimeUnit::Millis, TimeUnit::Secs];

    /// One of it.
    pub const fn nanos(self) -> Nanos {
        match self {
            TimeUnit::Nanos => Nanos(1),
            TimeUnit::FileTime => Nanos(100),
            TimeUnit::Micros => Nanos(1_000),
            TimeUnit::Millis => Nanos(1_000_000),
            TimeUnit::Secs => Nanos(1_000_000_000),
        }
    }

    /// As `--time-unit` has it.
    pub const fn word(self) -> &'static str {
        match self {
            TimeUnit::Nanos => "ns",
            TimeUnit::FileTime => "100ns",
            TimeUnit::Micros => "us",
            TimeUnit::Millis => "ms",
            TimeUnit::Secs => "s",
        }
    }
}

/// Number that means a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadFlag {
    /// 0 is a read, 1 a write.
    Zero,
    /// 1 is a read, 0 a write.
    One,
}

impl ReadFlag {
    /// Both.
    pub const ALL: [ReadFlag; 2] = [ReadFlag::Zero, ReadFlag::One];

    /// As `--read-flag` has it.
    pub const fn word(self) -> &'static str {
        match self {
            ReadFlag::Zero => "0",
            ReadFlag::One => "1",
        }
    }
}

/// Unit of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressUnit {
    /// Bytes.
    Bytes,
    /// Sectors of 512 bytes.
    Sectors,
}

impl AddressUnit {
    /// Both.
    pub const ALL: [AddressUnit; 2] = [AddressUnit::Bytes, AddressUnit::Sectors];

    /// Bytes in one of it.
    pub const fn bytes(self) -> u64 {
        match self {
            AddressUnit::Bytes => 1,
            AddressUnit::Sectors => 512,
        }
    }

    /// The bytes that a column's number represents.
    pub fn of(self, text: &[u8]) -> Option<u64> {
        whole(text)?.checked_mul(self.bytes())
    }

    /// As `--address-unit` has it.
    pub const fn word(self) -> &'static str {
        match self {
            AddressUnit::Bytes => "bytes",
            AddressUnit::Sectors => "sectors",
        }
    }
}

/// Rule that assigns I/Os to address spaces of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceRule {
    /// By the format's own column; the same name in two files is the same space.
    Shared,
    /// By the format's own column, in each file on its own.
    PerFile,
    /// All addresses are of one space, whatever a column says.
    One,
}

impl SpaceRule {
    /// All of them.
    pub const ALL: [SpaceRule; 3] = [SpaceRule::Shared, SpaceRule::PerFile, SpaceRule::One];

    /// As `--spaces` has it.
    pub const fn word(self) -> &'static str {
        match self {
            SpaceRule::Shared => "shared",
            SpaceRule::PerFile => "per-file",
            SpaceRule::One => "one",
        }
    }
}

/// A word that a flag does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is none of {known}")]
pub struct UnknownWord {
    word: String,
    known: String,
}

/// Each of these choices is written and read by its word.
macro_rules! worded {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.word())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(text: &str) -> Result<$name, UnknownWord> {
                $name::ALL.into_iter().find(|choice| choice.word() == text).ok_or_else(|| UnknownWord {
                    word: text.to_owned(),
                    known: $name::ALL.map(|choice| choice.word()).join(", "),
                })
            }
        }
    )*};
}
worded!(Format, TimeUnit, ReadFlag, AddressUnit, SpaceRule);
