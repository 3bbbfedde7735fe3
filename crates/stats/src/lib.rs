//! Statistics that can be trusted: quantities with intervals, distributions, change points, drift,
//! modes, and the verdicts that are built on them. Pure functions from numbers to numbers.

pub mod quantity;
pub mod verdict;
