//! Command lines that are told to users: to be copied, and to be what they were.

pub use block::quoted;

/// A command line to be copied.
pub fn command(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}
