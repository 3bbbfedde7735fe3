//! All tests of the crate in one program, which takes a fraction of the time to build that one for each file would.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod common;
#[path = "replay/kit.rs"]
mod kit;
mod story;

mod analysis;
mod blktrace;
mod container;
mod corpus_blktrace;
mod durable;
mod export;
mod import_corpus;
mod import_damage;
mod import_roundtrip;
mod import_settled;
mod import_simulators;
mod import_tools;
mod load;
mod load_addresses;
mod pairing;
mod replay;
mod replay_judged;
mod replay_published;
