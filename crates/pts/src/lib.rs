//! Enterprise tests: preconditioning, steady state, and the tests of the SNIA Solid State Storage Performance Test
//! Specification (PTS).

pub mod judge;
