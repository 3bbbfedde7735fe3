//! What a trace says: phases of I/Os, seeks, load over time, sizes, addresses, reuse.

pub mod bins;
pub mod bursts;
pub mod heat;
pub mod mix;
pub mod reach;
pub mod regions;
pub mod reuse;
pub mod sequential;
pub mod sizes;
pub mod sketch;
pub mod timeline;
pub mod working_set;
