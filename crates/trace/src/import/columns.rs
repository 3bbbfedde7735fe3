//! What the columns of a table hold.

/// A column map, as `--columns` has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    text: String,
}

impl Columns {
    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}
