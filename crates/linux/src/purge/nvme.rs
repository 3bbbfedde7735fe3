//! Format NVM and Sanitize (NVM Express base specification 2.0, 5.14 and 5.22).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use block::health::{NvmeController, NvmeNamespace, NvmeSanitize, NvmeSanitizeState};
use serde::{Deserialize, Serialize};

use super::waiting::{KERNEL_LIMIT_MS, pause, watched};
use super::{Ended, Patience, Status};
use crate::health::nvme::sanitize_log;
use crate::passthrough::{CommandError, Commands, Data, NvmeCommand, nvme::SHORT_MS};

/// Secure erase setting of Format NVM (SES).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecureErase {
    /// 0: none is asked for. What becomes of the data is the drive's business.
    None,
    /// 1: all user data is erased.
    #[default]
    UserData,
    /// 2: the key that it was encrypted with is.
    Crypto,
}

impl SecureErase {
    fn bits(self) -> u32 {
        match self {
            SecureErase::None => 0,
            SecureErase::UserData => 1,
            SecureErase::Crypto => 2,
        }
    }

    /// True when a Format with this reaches all namespaces of the subsystem (FNA bits 0 and 1).
    pub fn reaches_all(self, controller: &NvmeController) -> bool {
        controller.formats_all || self != SecureErase::None && controller.erases_all
    }
}

impl fmt::Display for SecureErase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SecureErase::None => "without secure erase (SES 0)",
            SecureErase::UserData => "with erase of user data (SES 1)",
            SecureErase::Crypto => "with cryptographic erase (SES 2)",
        })
    }
}

impl FromStr for SecureErase {
    type Err = String;

    fn from_str(text: &str) -> Result<SecureErase, String> {
        match text {
            "0" => Ok(SecureErase::None),
            "1" => Ok(SecureErase::UserData),
            "2" => Ok(SecureErase::Crypto),
            _ => Err("write 0 (none), 1 (user data) or 2 (cryptographic)".to_owned()),
        }
    }
}

/// Action of Sanitize (SANACT).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sanitizing {
    /// 2: all blocks are erased.
    Block,
    /// 4: the keys that the data was encrypted with are.
    Crypto,
    /// 3: all is overwritten once, with zeros.
    Overwrite,
}

impl Sanitizing {
    /// The quickest that a drive can, but for overwriting only when it can nothing else: that wears it.
    pub fn best(controller: &NvmeController) -> Option<Sanitizing> {
        let all = [Sanitizing::Block, Sanitizing::Crypto, Sanitizing::Overwrite];
        all.into_iter().find(|action| action.is_offered(controller))
    }

    /// True when the drive can (SANICAP).
    pub fn is_offered(self, controller: &NvmeController) -> bool {
        match self {
            Sanitizing::Block => controller.can_sanitize_block,
            Sanitizing::Crypto => controller.can_sanitize_crypto,
            Sanitizing::Overwrite => controller.can_sanitize_overwrite,
        }
    }

    /// Returns the drive's estimate of its duration, in seconds.
    pub fn estimate(self, log: &NvmeSanitize) -> Option<u32> {
        match self {
            Sanitizing::Block => log.block_seconds,
            Sanitizing::Crypto => log.crypto_seconds,
            Sanitizing::Overwrite => log.overwrite_seconds,
        }
    }

    fn dword_10(self) -> u32 {
        match self {
            Sanitizing::Block => 2,
            Sanitizing::Crypto => 4,
            // One pass (OWPASS, bits 7:4): zero there would be sixteen.
            Sanitizing::Overwrite => 3 | 1 << 4,
        }
    }
}

impl fmt::Display for Sanitizing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Sanitizing::Block => "block erase",
            Sanitizing::Crypto => "cryptographic erase",
            Sanitizing::Overwrite => "overwriting once",
        })
    }
}

impl FromStr for Sanitizing {
    type Err = String;

    fn from_str(text: &str) -> Result<Sanitizing, String> {
        match text {
            "block" => Ok(Sanitizing::Block),
            "crypto" => Ok(Sanitizing::Crypto),
            "overwrite" => Ok(Sanitizing::Overwrite),
            _ => Err("write block, crypto or overwrite".to_owned()),
        }
    }
}

/// Format NVM that keeps what the namespace is formatted as: its LBA format, where its metadata lies, its protection.
pub fn format_command(namespace: &NvmeNamespace, erase: SecureErase) -> NvmeCommand {
    let format = u32::from(namespace.format);
    let dword_10 = format & 0x0f
        | u32::from(namespace.has_extended_metadata) << 4
        | u32::from(namespace.protection_type & 7) << 5
        | u32::from(namespace.is_protection_first) << 8
        | erase.bits() << 9
        | (format >> 4 & 3) << 12;
    NvmeCommand {
        name: "Format NVM",
        opcode: 0x80,
        nsid: namespace.nsid,
        cdw10_to_15: [dword_10, 0, 0, 0, 0, 0],
        timeout_ms: KERNEL_LIMIT_MS,
    }
}

/// Sanitize. It restricts what the drive may be used for until it has succeeded (AUSE is 0), deallocates what it erased
/// (NDAS is 0), and overwrites with zeros where it overwrites.
pub fn sanitize_command(action: Sanitizing) -> NvmeCommand {
    NvmeCommand {
        name: "Sanitize",
        opcode: 0x84,
        nsid: 0,
        cdw10_to_15: [action.dword_10(), 0, 0, 0, 0, 0],
        // It answers when it has begun.
        timeout_ms: 6 * SHORT_MS,
    }
}

/// Formats a namespace and waits for it. `commands` leads to the namespace and is given away: a drive that is not
/// waited for keeps it until it answers.
pub fn format(
    mut commands: Box<dyn Commands>,
    namespace: &NvmeNamespace,
    erase: SecureErase,
    patience: &mut Patience<'_>,
) -> Ended {
    let command = format_command(namespace, erase);
    let sent = watched(patience, move || commands.nvme_admin(&command, Data::None));
    match sent {
        Ok(Some(Ok(_))) => Ended::done(format!("the drive formatted it {erase}")),
        Ok(Some(Err(error))) => Ended::failed(error.to_string(), format_remedy(&error)),
        Ok(None) => Ended {
            status: Status::Running,
            words: format!(
                "not waited for any longer, {}; the drive formats on, and what it holds is unknown",
                patience.is_over().unwrap_or("as it seems")
            ),
            next: "this process stays until the drive answers; nothing else can use the namespace so long".to_owned(),
            done_share: None,
        },
        Err(error) => Ended::failed(format!("nothing was sent: {error}"), "try again"),
    }
}

fn format_remedy(error: &CommandError) -> &'static str {
    match error {
        CommandError::Nvme { status, .. } => match (status.code_type(), status.code()) {
            (0, 0x1c | 0x1d) => {
                "a sanitize comes first: wait for it, or repeat it where it has failed"
            }
            (0, 0x15 | 0x20 | 0x23) => {
                "the drive forbids it: lift its write protection or lockdown first"
            }
            (0, 0x83) => "another host has reserved the namespace: release its reservation first",
            (0, 0x84) => "it is being formatted already: wait for that",
            _ => "nothing is known to be erased; choose another method",
        },
        _ if error.is_permission() => "ask as root",
        _ => "look at the kernel's log; nothing is known to be erased",
    }
}

/// How often a drive is asked how far it is.
const POLL: Duration = Duration::from_secs(1);

/// Times in a row that a drive may fail to say how far it is: it may be reset by the kernel meanwhile.
const SILENCES_MAX: u32 = 5;

/// Sanitizes the whole subsystem and waits for it, by asking the drive's log. `pause` is called between two questions.
pub fn sanitize(
    commands: &mut dyn Commands,
    controller: &NvmeController,
    action: Sanitizing,
    patience: &mut Patience<'_>,
) -> Ended {
    sanitize_with(commands, controller, action, patience, &mut |patience| pause(patience, POLL))
}

/// As [`sanitize`], with the pause handed in.
pub fn sanitize_with(
    commands: &mut dyn Commands,
    controller: &NvmeController,
    action: Sanitizing,
    patience: &mut Patience<'_>,
    pause: &mut dyn FnMut(&Patience<'_>),
) -> Ended {
    if let Err(error) = commands.nvme_admin(&sanitize_command(action), Data::None) {
        return Ended::failed(error.to_string(), sanitize_remedy(&error));
    }
    let mut silences = 0;
    loop {
        match sanitize_log(commands, controller) {
            Ok(log) => {
                silences = 0;
                // A drive that can sanitize has the log.
                let log = log.unwrap_or_default();
                patience.tell(share(&log));
                if let Some(ended) = end_of(&log, action) {
                    return ended;
                }
            }
            Err(error) if silences == SILENCES_MAX => {
                return unwatched(format!("the drive does not say how far it is: {error}"), None);
            }
            Err(_) => silences += 1,
        }
        if let Some(why) = patience.is_over() {
            return unwatched(format!("not waited for any longer, {why}"), None);
        }
        pause(patience);
    }
}

fn share(log: &NvmeSanitize) -> f64 {
    match log.state {
        NvmeSanitizeState::Running => f64::from(log.progress_65536ths) / 65536.0,
        _ => 1.0,
    }
}

fn unwatched(words: String, done_share: Option<f64>) -> Ended {
    Ended {
        status: Status::Running,
        words: format!(
            "{words}; the drive sanitizes on, also after a power loss, and serves nobody meanwhile"
        ),
        next: "see how far it is by `drivescope health`, under \"last sanitize\"".to_owned(),
        done_share,
    }
}

/// How it ended by the log's word; `None` while it is under way.
fn end_of(log: &NvmeSanitize, action: Sanitizing) -> Option<Ended> {
    match log.state {
        NvmeSanitizeState::Running => None,
        NvmeSanitizeState::Done => Some(Ended::done(format!("the drive sanitized by {action}"))),
        NvmeSanitizeState::DoneAllocated => Some(Ended::done(format!(
            "the drive sanitized by {action}, and left its blocks allocated"
        ))),
        NvmeSanitizeState::Failed => Some(Ended::failed(
            "the drive says that the sanitize failed",
            "the drive takes nothing but another sanitize until one succeeds: try it again, or another kind of it",
        )),
        NvmeSanitizeState::Never | NvmeSanitizeState::Unknown => Some(Ended::failed(
            "the drive took the command, and its log does not know of it",
            "nothing is known to be erased; choose another method",
        )),
    }
}

fn sanitize_remedy(error: &CommandError) -> &'static str {
    match error {
        CommandError::Nvme { status, .. } => match (status.code_type(), status.code()) {
            (0, 0x1d) => "one is under way already: see how far by `drivescope health`",
            (0, 0x1c) => "an earlier one failed: choose a kind of it that the drive can",
            (1, 0x0b) => "new firmware waits for a reset: reset the drive first",
            (1, 0x23) => "its persistent memory region is enabled: disable it first",
            _ => "nothing was erased; choose another method",
        },
        _ if error.is_permission() => "ask as root",
        _ => "look at the kernel's log; see by `drivescope health` whether a sanitize is under way",
    }
}
