//! Runs a plan on a drive and collects samples.
