//! Why a virtual drive cannot be made.

use thiserror::Error;

/// What is wrong with a spec or with a model.
#[derive(Debug, Error)]
pub enum SimError {
    /// The spec does not name a virtual drive at all.
    #[error("`{0}` is not a virtual drive; write sim:MODEL or sim:PATH.toml")]
    NotVirtual(String),
    /// No model of that name.
    #[error("there is no model `{name}`; known are {known}, or write the path of a .toml file")]
    UnknownModel {
        /// The name as given.
        name: String,
        /// The names that are known, comma-separated.
        known: String,
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
        /// What is wrong.
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
        /// What is wrong and what to write instead.
        what: String,
    },
    /// An override after the `?` is not understood or makes the drive impossible.
    #[error("?{key}: {what}")]
    Override {
        /// The override's key as given.
        key: String,
        /// What is wrong and what to write instead.
        what: String,
    },
}
