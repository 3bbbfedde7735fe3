//! Why a virtual drive cannot be made.

use thiserror::Error;

/// Error in a spec or in a model.
#[derive(Debug, Error)]
pub enum SimError {
    /// The spec does not name a virtual drive at all.
    #[error("`{0}` is not a virtual drive; write sim:MODEL or sim:PATH.toml")]
    NotVirtual(String),
    /// No model of that name.
    #[error("no model is named {name}\nhint: {hint}`drivescope sim list` shows all")]
    UnknownModel {
        /// The name as given.
        name: String,
        /// The question whether another was meant, where one is near.
        hint: String,
    },
    /// A model's name with what belongs behind a question mark.
    #[error(
        "`{name}` is not a model; what is to be changed of one stands behind a question mark: sim:{meant}"
    )]
    Separator {
        /// The name as given.
        name: String,
        /// The name that was probably meant.
        meant: String,
    },
    /// A model file cannot be read.
    #[error("{path}: cannot read the model: {source}")]
    Read {
        /// The path as given.
        path: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A model is not TOML, or has a field too many, too few, or of the wrong type.
    #[error("{file}:{line}: {what}")]
    Syntax {
        /// The model's file, or its built-in name.
        file: String,
        /// Line, counted from 1.
        line: usize,
        /// Description of the error.
        what: String,
    },
    /// A model's field holds what no drive can have.
    #[error("{file}:{line}: {key}: {what}")]
    Value {
        /// The model's file, or its built-in name.
        file: String,
        /// Line, counted from 1; that of the table when the field is left to its default.
        line: usize,
        /// The field, with its table.
        key: String,
        /// Description of the error, and what to write instead.
        what: String,
    },
    /// An override after the `?` is not understood or makes the drive impossible.
    #[error("?{key}: {what}")]
    Override {
        /// The override's key as given.
        key: String,
        /// Description of the error, and what to write instead.
        what: String,
    },
}

/// Rewords a TOML reader's message about a field for authors of models: it speaks of the types of a language.
pub(crate) fn in_words(message: &str) -> String {
    let wrong = message.strip_prefix("invalid type: ").or(message.strip_prefix("invalid value: "));
    if let Some((found, wanted)) = wrong.and_then(|wrong| wrong.split_once(", expected ")) {
        let found = found.split_once(['`', '"']).map_or(found, |(_, rest)| rest);
        let found = found.trim_end_matches(['`', '"']);
        return format!("`{found}` is not {}", kind_of(wanted));
    }
    if let Some((field, known)) =
        message.strip_prefix("unknown field ").and_then(|rest| rest.split_once(", expected "))
    {
        let known = known.trim_start_matches("one of ").replace('`', "");
        return format!("there is no field {field}; known are {known}");
    }
    match message.strip_prefix("missing field ") {
        Some(field) => format!("the field {field} is missing"),
        None => message.to_owned(),
    }
}

fn kind_of(wanted: &str) -> &str {
    match wanted {
        "a boolean" => "true or false",
        "a string" => "a word",
        "a sequence" => "a list, such as [1, 2]",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of 0 or more that fits here",
        "i8" | "i16" | "i32" | "i64" => "a whole number that fits here",
        "f32" | "f64" => "a number",
        // A struct is a table, whatever it is called here.
        _ if wanted.starts_with("struct ") || wanted == "a map" => "a table",
        _ => wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when an error speaks of types that no user knows.
    #[test]
    fn types_are_said_in_words() {
        for (message, words) in [
            ("invalid type: integer `2`, expected a boolean", "`2` is not true or false"),
            (
                "invalid type: string \"x\", expected u64",
                "`x` is not a whole number of 0 or more that fits here",
            ),
            (
                "invalid value: integer `-1`, expected u32",
                "`-1` is not a whole number of 0 or more that fits here",
            ),
            ("invalid type: integer `1`, expected struct Link", "`1` is not a table"),
            (
                "unknown field `a`, expected one of `b`, `c`",
                "there is no field `a`; known are b, c",
            ),
            ("missing field `name`", "the field `name` is missing"),
            ("something else", "something else"),
        ] {
            assert_eq!(in_words(message), words);
        }
    }
}
