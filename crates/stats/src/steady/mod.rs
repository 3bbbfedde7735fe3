//! Steady state: will the drive keep doing what was measured?
//!
//! There are three rules. [`snia`] is the standard's, [`fio`] is that of the program most often used;
//! both count time, and a drive does not know time: it knows bytes. [`Detector`] is ours, and counts bytes.
//! [`theory`] is what is known of write amplification, which the last of the three leans on.

mod detector;
mod ending;
pub mod fio;
mod gate;
mod history;
mod judgement;
mod periodic;
mod segments;
pub mod snia;
pub mod theory;
mod wander;
pub mod window;

pub use detector::Detector;
pub use judgement::{Judgement, Level, Prior, Span, Start, State, Verdict};
