//! Health data of an eMMC or SD card, as far as the kernel shows it (JEDEC JESD84-B51; SD physical layer
//! specification).

use serde::{Deserialize, Serialize};

/// Data read from a card.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MmcDetail {
    /// Kind of card.
    pub kind: MmcKind,
    /// Manufacturer's number (CID).
    pub manufacturer_id: Option<u32>,
    /// Number of whom it was made for (CID).
    pub oem_id: Option<u32>,
    /// Month and year of its making, as the card states it (CID).
    pub date: Option<String>,
    /// Life used of areas of type A and B, in tenths as the card states it (EXT_CSD 268 and 269): 1 for up to 10%, 10
    /// for up to 100%, 11 for more; `None` when not reported.
    pub life_tenths: Option<[u8; 2]>,
    /// Remaining reserved blocks (EXT_CSD 267); `None` when not reported.
    pub pre_eol: Option<PreEol>,
}

/// Kinds of cards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MmcKind {
    /// Soldered, with a count of its own life.
    Emmc,
    /// A card that is put in; it does not report its life.
    Sd,
    /// Another.
    #[default]
    Other,
}

impl MmcKind {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            MmcKind::Emmc => "eMMC",
            MmcKind::Sd => "SD",
            MmcKind::Other => "MMC",
        }
    }
}

/// Remaining reserved blocks of an eMMC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PreEol {
    /// Less than 80% are used.
    Normal,
    /// 80% are used.
    Warning,
    /// 90% are used.
    Urgent,
}
