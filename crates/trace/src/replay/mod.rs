//! Replay of a trace: plan, requests and judgement.
//!
//! A replay has four stages, each of which can be used alone:
//!
//! 1. [`Survey::of`] reads the trace once: the extent of its addresses, and the times that are known.
//! 2. [`Plan::new`] brings survey, target and [`Options`] together, and refuses what the trace cannot give or the
//!    target cannot hold. [`Plan::statement`] says what will be done; [`Plan::write_bytes`] is what consent is asked
//!    for, [`Plan::block_bytes_max`] what the engine needs for its buffers.
//! 3. [`Plan::stream`] reads the trace again, as it is replayed, and is the [`engine::replay::Feed`] of
//!    [`engine::replay::replay`].
//! 4. [`Judge::see`] is that function's sink. [`Judge::finish`] gives the [`Body`]: metrics, fidelity and the
//!    [`verdict`].
//!
//! ```ignore
//! let survey = Survey::of(&mut *open()?, options.from, options.until)?;
//! let plan = Plan::new(survey, target.info(), options, false)?;
//! let mut stream = plan.stream(open, None)?;
//! let mut judge = Judge::new(&plan, None);
//! let ended = engine::replay::replay(&mut target, &mut env, &mut stream, &setup, &cancel, &mut |r| judge.see(r))?;
//! let (counts, original) = stream.finish();
//! let body = judge.finish(counts, &original, &ended);
//! ```
//!
//! A trace with arrivals only becomes one with completions by a reference: the same plan in [`Mode::Timed`] (or
//! [`Mode::Scaled`]) on another drive, its requests shown to a [`ReferenceWriter`] as well, and what that wrote handed
//! to the stream by a [`ReferenceReader`].
//!
//! [`Check`] compares the instants of issue with those that the kernel's own tracer saw.
//!
//! [`compare::order`] gives the order of the drives, [`Score::of`] the metrics of each replay, and
//! [`compare()`](compare::compare) the drive that suits the trace.

mod address;
mod body;
pub mod compare;
mod distance;
mod drift;
mod in_order;
mod judge;
mod kernel;
mod lag;
mod options;
mod original;
mod overload;
mod pace;
mod permute;
mod plan;
mod reference;
mod requests;
mod rooms;
mod spans;
mod stream;
mod survey;
mod timeline;
pub mod verdict;

pub use address::{AddressMap, CHUNK, Placed};
pub use body::{
    Body, Cost, DepthHeld, ErrorSpans, Fidelity, Limit, Moment, OriginalBody, OverTime, Since,
};
pub use compare::{CompareBody, Contestant, Score, compare};
pub use distance::Distance;
pub use drift::Drift;
pub use judge::{Judge, Tap};
pub use kernel::{Check, Kernel};
pub use options::{Clock, Count, Fit, Layout, Mode, Options, Scale, Writes};
pub use original::Original;
pub use overload::Overload;
pub use plan::{Origin, Plan, Statement};
pub use reference::{ReferenceReader, ReferenceWriter};
pub use spans::Spans;
pub use stream::{Counts, LeftOut, Opener, Stream};
pub use survey::{Reach, Survey};
