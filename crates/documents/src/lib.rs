//! Reads back what runs recorded and what `--json` printed.
//!
//! Decoding is a tenth of the program's code. It is generic in serde, so it would be compiled in whichever crate asks for
//! a type, and all of that would be the binary's crate, which builds alone and last. [`Decode`] is not generic: what it is
//! implemented for here is compiled here, once, beside other crates, and for size.
//!
//! [`instrument`] is the table of instruments: form, name, decoder, and the verb that resumes a run. [`recorded`] is a result of
//! any instrument with the circumstances of its making. [`mod@format`] finds the format of any file by its content.

pub mod format;
pub mod instrument;
pub mod purge;
pub mod recorded;
pub mod replay;
pub mod trace_import;
pub mod trace_record;

use record::{Document, Envelope};
use serde_json::{Error, Value};

/// A type of which JSON is read.
pub trait Decode: Sized {
    /// Reads `value`.
    ///
    /// # Errors
    /// A field that is missing or does not fit.
    fn decode(value: Value) -> Result<Self, Error>;
}

/// Implements [`Decode`] for types that derive `Deserialize`; for use in the crate that defines them, or here.
#[macro_export]
macro_rules! decode {
    ($($type:ty),* $(,)?) => {$(
        impl $crate::Decode for $type {
            fn decode(value: ::serde_json::Value) -> Result<Self, ::serde_json::Error> {
                ::serde_json::from_value(value)
            }
        }
    )*};
}

decode!(
    Envelope,
    block::DriveIdentity,
    mark::Body,
    mark::Kept,
    mark::compare::Comparison,
    mark::FailedRun,
    probe::Body,
    probe::chain::Done,
    pts::body::Body,
    pts::kept::Kept,
    pts::window::Written,
    survey::body::Body,
);

decode!(Value, String, u64);

impl<T: Decode> Decode for Vec<T> {
    fn decode(value: Value) -> Result<Self, Error> {
        serde_json::from_value::<Vec<Value>>(value)?.into_iter().map(T::decode).collect()
    }
}

/// The field `name` of an object; null when it has none.
fn field<T: Decode>(object: &Value, name: &str) -> Result<T, Error> {
    let value = object.get(name).cloned().unwrap_or(Value::Null);
    T::decode(value).map_err(|error| serde::de::Error::custom(format!("{name}: {error}")))
}

impl<B: Decode> Decode for Document<B> {
    fn decode(mut value: Value) -> Result<Self, Error> {
        let mut part = |name| value.get_mut(name).map_or(Value::Null, Value::take);
        let (envelope, body) = (Envelope::decode(part("envelope"))?, B::decode(part("body"))?);
        Ok(Document { envelope, body })
    }
}
