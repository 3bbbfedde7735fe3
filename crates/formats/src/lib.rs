//! Output in the formats of other programs, from plain numbers, so that scripts and guides for them work with ours.
//!
//! It knows no instrument: the compatibility modes and `views` fill in the numbers.
//!
//! `flashbench` prints lines of flashbench's tables, `diskspd` the reports of diskspd (`diskspd/text.rs` for Linux,
//! `diskspd/xml.rs` for Windows), and `btt` the summary of btt.

pub mod btt;
pub mod diskspd;
pub mod flashbench;
