//! Purging: emptying a drive as a whole, by what the drive or the kernel offers for it.
//!
//! [`survey`] finds the available methods without changing anything. Doing it takes the safety gate's permit,
//! whose file stays open for exclusive use all the while. Whether it was done is not taken from the drive's word
//! alone: the same places are read before and afterwards ([`read_back`]).

pub mod ata;
mod capability;
mod ended;
mod neighbours;
pub mod nvme;
mod range;
pub mod read_back;
mod reader;
mod survey;
mod waiting;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use capability::{Capability, Facts, NoMethod, NvmeFacts, Wishes, capabilities, choose};
pub use ended::{Ended, Patience, Status};
pub use neighbours::{Neighbour, listed, neighbours};
pub use range::{RangeFailure, Sweep, sweep, whole_device};
pub use reader::Reader;
pub use survey::{SurveyError, Surveyed, health_by, survey};

/// How a drive is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// NVMe Sanitize: the whole subsystem, with what it keeps in reserve.
    NvmeSanitize,
    /// An ATA drive erases itself: SANITIZE, or the Security feature set.
    AtaErase,
    /// NVMe Format, with the format that it has.
    NvmeFormat,
    /// `BLKSECDISCARD`: an eMMC erases the blocks, and copies that it made of them, before it answers.
    SecureDiscard,
    /// `BLKDISCARD` (TRIM, UNMAP, deallocate): declares that nothing on the drive is worth keeping.
    Discard,
    /// `BLKZEROOUT`: zeros everywhere, made by the drive or written.
    Zero,
}

impl Method {
    /// All of them, the most thorough first.
    pub const ALL: [Method; 6] = [
        Method::NvmeSanitize,
        Method::AtaErase,
        Method::NvmeFormat,
        Method::SecureDiscard,
        Method::Discard,
        Method::Zero,
    ];

    /// As the command line has it.
    pub fn word(self) -> &'static str {
        match self {
            Method::NvmeSanitize => "nvme-sanitize",
            Method::AtaErase => "ata-erase",
            Method::NvmeFormat => "nvme-format",
            Method::SecureDiscard => "secure-discard",
            Method::Discard => "discard",
            Method::Zero => "zero",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Method, String> {
        let known = Method::ALL.map(Method::word).join(", ");
        let found = Method::ALL.into_iter().find(|method| method.word() == text);
        found.ok_or_else(|| format!("write auto, {known}"))
    }
}
