//! The repository about itself. The tests of this crate hold what no compiler holds: which crate may
//! use which, how long a file may be, that documents name what exists and show what is printed today.
//!
//! Nothing here is part of the product, and nothing of the product depends on it.

pub mod circles;
pub mod documents;
pub mod language;
pub mod licences;
pub mod packages;
pub mod program;
pub mod repository;
pub mod rust;
pub mod style;
pub mod transcript;
