//! Sweeps: the same load under many settings, to see which parameters matter and under which a drive can be measured at all.
//!
//! [`vary`] reads what is varied, [`design`] makes settings of it and one plan of all of them, which is run and recorded as
//! a mark is; [`findings()`] says what the mark means as a sweep.

pub mod body;
pub mod design;
mod effects;
mod findings;
mod order;
mod planned;
mod stability;
pub mod vary;

pub use body::{Body, Limits};
pub use design::{Load, Setting, Sweep, SweepError};
pub use findings::findings;
pub use planned::{Planned, Swept, factor_names};
pub use vary::{Factor, Level, Vary, VaryError};
