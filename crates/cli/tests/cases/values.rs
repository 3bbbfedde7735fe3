//! Nonsense, of all the kinds that reach a command line: by a slip, by a script's empty variable, by a file name.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// A value that hardly any flag takes.
#[derive(Clone, Copy)]
pub struct Value {
    /// Name in the list of valid values.
    pub name: &'static str,
    /// As it is typed.
    pub text: fn() -> OsString,
}

const fn value(name: &'static str, text: fn() -> OsString) -> Value {
    Value { name, text }
}

/// All of them.
pub const VALUES: [Value; 21] = [
    value("empty", || "".into()),
    value("space", || " ".into()),
    value("-1", || "-1".into()),
    value("0", || "0".into()),
    value("1", || "1".into()),
    value("1.5", || "1.5".into()),
    value("huge", || "99999999999999999999".into()),
    value("nan", || "NaN".into()),
    value("infinite", || "1e400".into()),
    value("word", || "x".into()),
    value("unit", || "1KiB2".into()),
    value("largest size", || "18446744073709551615B".into()),
    value("long", || "y".repeat(5000).into()),
    value("control", || "a\u{7}\u{1b}[31mb\nc".into()),
    value("bytes", || OsString::from_vec(b"\xff\xfe".to_vec())),
    value("list", || ",,".into()),
    value("nowhere", || "garbage/deeper/file".into()),
    value("directory", || "directory".into()),
    value("null device", || "/dev/null".into()),
    value("pipe", || "pipe".into()),
    value("garbage", || "garbage".into()),
];

/// Values for flags that count or measure; other flags get `-1` instead, as a word with a hyphen.
pub const NUMBERS: [&str; 8] = ["0", "1", "1.5", "huge", "nan", "infinite", "unit", "largest size"];
