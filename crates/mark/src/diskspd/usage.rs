//! Errors in a command line of diskspd.

use thiserror::Error;

/// Why a command line is not one of diskspd's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UsageError {
    /// `--help`: no error; [`super::HELP`] is to be printed on stdout.
    #[error("help was asked for")]
    Help,
    /// An option that there is not.
    #[error("{0}: there is no such option; see --help")]
    Unknown(String),
    /// An option of diskspd for Windows that has no meaning here.
    #[error("-{0}: is an option of diskspd for Windows, and not known here; leave it out")]
    OnWindows(char),
    /// The beginning of several options.
    #[error("{given}: may mean {}; write one of them out", meant.join(" or "))]
    Ambiguous {
        /// As typed.
        given: String,
        /// Options that it may mean.
        meant: Vec<String>,
    },
    /// An option whose value is missing.
    #[error("{0}: its value is missing; write it right behind")]
    NoValue(String),
    /// A value for an option that takes none.
    #[error("{0}: takes no value")]
    Value(String),
    /// An option that was given before.
    #[error("-{0}: is given twice; diskspd takes each option once")]
    Twice(char),
    /// A value that cannot be.
    #[error("-{option}{value}: {why}")]
    Wrong {
        /// The option's letter.
        option: char,
        /// As typed.
        value: String,
        /// Requirement on the value.
        why: String,
    },
    /// Two options that exclude each other.
    #[error("-{} and -{}: {why}", .options[0], .options[1])]
    Conflict {
        /// Both.
        options: [&'static str; 2],
        /// Why, and which to leave out.
        why: &'static str,
    },
    /// No target.
    #[error(
        "no target is named; write a file, a device or such as sim:hdd-7200 behind the options"
    )]
    NoTarget,
}
