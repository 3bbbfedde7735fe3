//! `diskspd`, whose words are diskspd's own.

use std::ffi::OsString;

use clap::Args;

/// `diskspd`.
#[derive(Debug, Args)]
pub struct DiskspdArgs {
    /// diskspd's options, and the targets
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION|TARGET")]
    pub arguments: Vec<OsString>,
}
