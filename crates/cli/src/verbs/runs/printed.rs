//! Results of `runs`, in one form or the other.

use anyhow::Result;
use report::Styled;
use serde::Serialize;

use crate::exit::Exit;
use crate::messages;
use crate::verbs::print_json;

/// The form of JSON that these verbs print.
pub const SCHEMA: &str = "drivescope.runs/1";

/// Prints a result in one form or the other.
///
/// # Errors
/// When it cannot be printed.
pub fn tell<B: Serialize>(json: bool, body: B, text: &Styled) -> Result<Exit> {
    if json {
        print_json(SCHEMA, body)?;
    } else {
        messages::result(text)?;
    }
    Ok(Exit::Done)
}
