//! Words of a record that a later version may add to.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// One of the choices `T`, which records name by a word each, or a word that this version does not know.
///
/// A record of another version stays readable so, and is written again as it was. `#[serde(other)]` would keep it readable too,
/// and would lose the word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lenient<T> {
    /// A choice of this version.
    Known(T),
    /// The word of a choice that this version does not have.
    Other(String),
}

impl<T: Copy> Lenient<T> {
    /// The choice; `None` when this version does not know it.
    pub fn known(&self) -> Option<T> {
        match self {
            Lenient::Known(choice) => Some(*choice),
            Lenient::Other(_) => None,
        }
    }

    /// The text that `words` has for the choice, or the unknown word itself.
    pub fn text(&self, words: impl Fn(T) -> &'static str) -> &str {
        match self {
            Lenient::Known(choice) => words(*choice),
            Lenient::Other(word) => word,
        }
    }
}

impl<T> From<T> for Lenient<T> {
    fn from(choice: T) -> Lenient<T> {
        Lenient::Known(choice)
    }
}

/// An unknown word equals no choice.
impl<T: PartialEq> PartialEq<T> for Lenient<T> {
    fn eq(&self, choice: &T) -> bool {
        matches!(self, Lenient::Known(known) if known == choice)
    }
}

impl<T: Serialize> Serialize for Lenient<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Lenient::Known(choice) => choice.serialize(serializer),
            Lenient::Other(word) => serializer.serialize_str(word),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Lenient<T>, D::Error> {
        let word = String::deserialize(deserializer)?;
        let known = T::deserialize(StrDeserializer::<Unknown>::new(&word));
        Ok(known.map_or(Lenient::Other(word), Lenient::Known))
    }
}

/// A word that is not one of the choices. It carries no message, since the error is always dropped: the code that would
/// write one is left out of the program then.
#[derive(Debug)]
struct Unknown;

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not one of the choices")
    }
}

impl std::error::Error for Unknown {}

impl de::Error for Unknown {
    fn custom<T: fmt::Display>(_: T) -> Unknown {
        Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::Lenient;
    use crate::steady::State;

    // Breaks when a record of a later version cannot be read, or loses its word when it is written again.
    #[test]
    fn a_word_of_another_version_is_kept() {
        for (text, known) in [("\"never_steady\"", Some(State::NeverSteady)), ("\"wavy\"", None)] {
            let read: Lenient<State> = serde_json::from_str(text).unwrap();
            assert_eq!(read.known(), known);
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
            assert_eq!(format!("\"{}\"", read.text(State::as_str)), text);
        }
        assert_ne!(Lenient::Other("steady".to_owned()), State::Steady);
        assert!(serde_json::from_str::<Lenient<State>>("7").is_err());
    }
}
