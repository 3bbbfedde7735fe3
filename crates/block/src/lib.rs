//! The domain types of drivescope: what an I/O is, what a drive is, and what surrounds a drive.
//!
//! Every other crate uses these types. A measurement is a plan of [`Request`]s handed to a
//! [`Drive`], which answers with [`Completion`]s; an [`Environment`] counts from outside what the
//! drive claims from inside; a [`RunSink`] receives events while they happen.
//!
//! Units: sizes and offsets are [`Bytes`], durations are [`Nanos`], instants are [`Time`] on the
//! drive's own clock. None of them converts silently into another.

mod bounds;
mod command;
mod drive;
mod engine_kind;
mod environment;
pub mod health;
mod identity;
mod layout;
mod nearest;
pub mod number;
mod sink;
pub mod text;
pub mod trace;
mod units;

pub use bounds::Bounds;
pub use command::{command_line, quoted};
pub use drive::{
    Completion, Drive, DriveError, DriveInfo, DriveKind, Errno, LaneSetup, Op, Outcome, Payload,
    Request, Target, Waiting, WriteCache,
};
pub use engine_kind::{EngineChoice, EngineKind};
pub use environment::{
    ArcCounters, ArrayState, CpuTimes, DeviceCounters, Endurance, Environment, Extents, Layer,
    Leaf, LeafEvents, LinkState, Medium, PageCache, Snapshot, Stack, Stored, TaskIo,
};
pub use identity::{DriveIdentity, LeafIdentity};
pub use layout::{Layout, Part, PartOf};
pub use nearest::nearest;
pub use sink::{Event, NullSink, RunSink, UnixNanos, WallClock};
pub use units::{Bytes, Nanos, Time};
