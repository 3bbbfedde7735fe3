//! What is to be doubted of a purge although nothing failed.

use linux::purge::Method;
use stats::Caveat;

/// Partitions that the kernel still shows.
pub fn of_partitions(subject: &str) -> Caveat {
    Caveat {
        code: "partitions_shown".to_owned(),
        subject: subject.to_owned(),
        cause: "the kernel still shows partitions of it, whether their table is gone or not"
            .to_owned(),
        remedy: "let it look again (blockdev --rereadpt), or connect the drive anew".to_owned(),
    }
}

/// A drive that has another form than before.
pub fn of_form(subject: &str) -> Caveat {
    Caveat {
        code: "form_changed".to_owned(),
        subject: subject.to_owned(),
        cause: "the drive's size or the format of its blocks is not what it was before".to_owned(),
        remedy: "what was partitioned or measured by the old form does not fit; format it back if that matters"
            .to_owned(),
    }
}

/// Doubts that lie in the method itself. `promises` is false for a method that says nothing of the data.
pub fn of_method(method: Method, promises: bool, subject: &str) -> Vec<Caveat> {
    let (code, cause, remedy) = match method {
        Method::Discard => (
            "discard_is_a_hint",
            "a discard is a hint: the drive may erase later or never what no longer reads, and what it keeps spare is \
             not reached",
            "fit to bring a drive near to its fresh state; against loss of secrets use a method of the drive's own",
        ),
        Method::Zero => (
            "zeros_are_no_purge",
            "blocks that were replaced and what the drive keeps spare are not reached by writing, and for an SSD \
             zeros are data: it stays full",
            "use a method of the drive's own, or discard afterwards, to bring an SSD to its fresh state",
        ),
        Method::NvmeFormat if !promises => (
            "format_without_erase",
            "a Format without secure erase need not erase anything",
            "ask for --ses 1 where the data must go",
        ),
        Method::NvmeSanitize | Method::AtaErase | Method::NvmeFormat | Method::SecureDiscard => {
            return Vec::new();
        }
    };
    vec![Caveat {
        code: code.to_owned(),
        subject: subject.to_owned(),
        cause: cause.to_owned(),
        remedy: remedy.to_owned(),
    }]
}
