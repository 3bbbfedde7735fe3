//! Fields of models, with their tables.

/// A field of a model, with its table, and what is wrong with it.
pub(crate) type Fault = (&'static str, String);

/// A field of a model, with its table, and its new value.
pub(crate) type Setting = (&'static str, toml::Value);
