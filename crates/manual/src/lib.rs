//! Man pages and shell completions of drivescope, made from the definition of its command, so that each flag is described
//! once.
//!
//! - `page`: the pages of the manual, one for each verb
//! - `render`: a page as troff; `sections` has the sections that no flag describes: exit codes, the environment, files, related
//!   programs
//! - `help`: the text below the flags of a verb's help, taken apart into examples, exit codes and paragraphs
//! - `completion`: answers to a shell's Tab key, and the script that makes a shell ask for them; `completion::offers` has the
//!   values of each kind, `completion::compatibility` those of the compatibility modes, `completion::shells` the scripts
//!
//! The crate gets a `clap::Command` and knows verbs and flags by their names only.

pub mod completion;
pub mod help;
pub mod page;
mod render;
mod sections;
