//! I/O to issue, as data: plans, the generators that turn them into requests, the frozen random
//! stream behind them, and the audit of the I/O really issued.
//!
//! In the order of use: a [`plan`] is read or built; its [`schedule`] says which step runs next and
//! with which seed; each submitter draws its accesses from a [`stream`] at the times that
//! [`arrival`] intends, writes what [`content`] makes, and notes what it did in an [`audit`].
//! Everything random comes from [`rng`], whose streams are frozen.

pub mod address;
pub mod arrival;
pub mod audit;
pub mod content;
pub mod distance;
pub mod fio_units;
mod op_name;
pub mod permutation;
pub mod plan;
mod repetition;
pub mod rng;
pub mod schedule;
pub mod script;
mod stop;
pub mod stream;
pub mod units;
