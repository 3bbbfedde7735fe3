//! Caveats of a purge that did not fail.

use linux::purge::Method;
use stats::Caveat;
use stats::remedy::Run;

/// Partitions that the kernel still shows.
pub fn of_partitions(subject: &str) -> Caveat {
    let cause = "the kernel still shows partitions of it, whether their table is gone or not";
    Caveat::new("partitions_shown", subject, cause, Run::RereadPartitions)
}

/// A drive that has another form than before.
pub fn of_form(subject: &str) -> Caveat {
    let cause = "the drive's size or the format of its blocks is not what it was before";
    Caveat::new("form_changed", subject, cause, Run::FormatBack)
}

/// Doubts that lie in the method itself. `promises` is false for a method that says nothing of the data.
pub fn of_method(method: Method, promises: bool, subject: &str) -> Vec<Caveat> {
    let (code, cause, remedy) = match method {
        Method::Discard => (
            "discard_is_a_hint",
            "a discard is a hint: the drive may erase later or never what no longer reads, and what it keeps spare is \
             not reached",
            Run::MethodForSecrets,
        ),
        Method::Zero => (
            "zeros_are_no_purge",
            "blocks that were replaced and what the drive keeps spare are not reached by writing, and for an SSD \
             zeros are data: it stays full",
            Run::MethodForFreshState,
        ),
        Method::NvmeFormat if !promises => (
            "format_without_erase",
            "a Format without secure erase need not erase anything",
            Run::FormatWithErase,
        ),
        Method::NvmeSanitize | Method::AtaErase | Method::NvmeFormat | Method::SecureDiscard => {
            return Vec::new();
        }
    };
    vec![Caveat::new(code, subject, cause, remedy)]
}
