//! Erasing an ATA drive: SANITIZE DEVICE and the Security feature set (ACS-4, 4.17 and 4.18, 7.37 to 7.41).
//!
//! Security erase needs a password, which the drive removes once it has erased itself. It is a fixed word, which
//! drivescope prints where it may remain set, and of the lower level: should the power fail in between, the drive comes
//! back locked, and anyone who knows the word can unlock it.

use std::fmt;
use std::time::Duration;

use block::health::{AtaCapabilities, AtaSecurity};
use serde::{Deserialize, Serialize};

use super::waiting::{KERNEL_LIMIT_MS, pause, watched};
use super::{Ended, Patience, Status};
use crate::health::ata::identify;
use crate::passthrough::ata::SECTOR_BYTES;
use crate::passthrough::{AtaCommand, AtaProtocol, AtaRegisters, CommandError, Commands, Data};

/// The password that is set for the time of a security erase.
pub const PASSWORD: &str = "drivescope";

/// How an ATA drive erases itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtaWay {
    /// SANITIZE, BLOCK ERASE EXT.
    SanitizeBlock,
    /// SANITIZE, CRYPTO SCRAMBLE EXT.
    SanitizeCrypto,
    /// SECURITY ERASE UNIT, enhanced: also blocks that were replaced, with the maker's own pattern.
    SecurityEnhanced,
    /// SECURITY ERASE UNIT.
    Security,
    /// SANITIZE, OVERWRITE EXT: once, with zeros.
    SanitizeOverwrite,
}

impl fmt::Display for AtaWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AtaWay::SanitizeBlock => "sanitize by block erase",
            AtaWay::SanitizeCrypto => "sanitize by crypto scramble",
            AtaWay::SecurityEnhanced => "enhanced security erase",
            AtaWay::Security => "security erase",
            AtaWay::SanitizeOverwrite => "sanitize by overwriting",
        })
    }
}

impl AtaWay {
    /// The best that the drive can do now.
    ///
    /// # Errors
    /// The obstacle, and what to do about it.
    pub fn best(can: &AtaCapabilities) -> Result<AtaWay, String> {
        let AtaCapabilities { security, sanitize, .. } = can;
        if sanitize.can_block {
            return Ok(AtaWay::SanitizeBlock);
        }
        if sanitize.can_crypto {
            return Ok(AtaWay::SanitizeCrypto);
        }
        match obstacle(security) {
            None if security.can_erase_enhanced => Ok(AtaWay::SecurityEnhanced),
            None => Ok(AtaWay::Security),
            Some(_) if sanitize.can_overwrite => Ok(AtaWay::SanitizeOverwrite),
            Some(why) => Err(why.to_owned()),
        }
    }

    /// Minutes that the drive states for it.
    pub fn minutes(self, security: &AtaSecurity) -> Option<u32> {
        match self {
            AtaWay::SecurityEnhanced => security.erase_enhanced_minutes,
            AtaWay::Security => security.erase_minutes,
            _ => None,
        }
    }
}

/// Why a security erase cannot be had now, with what to do; `None` when it can.
pub fn obstacle(security: &AtaSecurity) -> Option<&'static str> {
    let AtaSecurity { is_supported, is_enabled, is_locked, is_frozen, is_expired, .. } = *security;
    match () {
        () if !is_supported => Some("the drive has neither SANITIZE nor the Security feature set"),
        () if is_frozen => Some(
            "the firmware of this machine froze its security: suspend to memory and wake up, or connect the drive \
             while the machine runs, and try again",
        ),
        () if is_expired => {
            Some("too many passwords were tried: switch the drive off and on, and try again")
        }
        () if is_locked || is_enabled => Some(
            "a password is set on it: unlock it and take the password away first (hdparm --security-unlock and \
             --security-disable)",
        ),
        () => None,
    }
}

/// Erases a drive and waits for it. `commands` leads to it and is given away: a drive that is not waited for keeps it
/// until it answers.
pub fn erase(mut commands: Box<dyn Commands>, way: AtaWay, patience: &mut Patience<'_>) -> Ended {
    let is_enhanced = match way {
        AtaWay::SecurityEnhanced => true,
        AtaWay::Security => false,
        _ => {
            let mut rest = |patience: &Patience<'_>| pause(patience, POLL);
            return sanitize(commands.as_mut(), way, patience, &mut rest);
        }
    };
    match watched(patience, move || security_erase(commands.as_mut(), is_enhanced)) {
        Ok(Some(ended)) => ended,
        Ok(None) => Ended {
            status: Status::Running,
            words: format!(
                "not waited for any longer, {}; the drive erases on, and must not lose power",
                patience.is_over().unwrap_or("as it seems")
            ),
            next: format!(
                "this process stays until the drive answers; should the drive be locked afterwards, its user password \
                 is {PASSWORD:?}: unlock it and disable the password (hdparm --user-master u --security-unlock {PASSWORD} \
                 DEVICE, then --security-disable), or erase it again with it"
            ),
            done_share: None,
        },
        Err(error) => Ended::failed(format!("nothing was sent: {error}"), "try again"),
    }
}

/// A security command that carries a password: word 0 has its identifier (0: user) and, for erasing, the mode in bit 1;
/// words 1 to 16 are the password.
fn with_password(
    commands: &mut dyn Commands,
    name: &'static str,
    code: u8,
    (word_0, timeout_ms): (u16, u32),
) -> Result<AtaRegisters, CommandError> {
    let mut sector = [0; SECTOR_BYTES];
    sector[..2].copy_from_slice(&word_0.to_le_bytes());
    sector[2..2 + PASSWORD.len()].copy_from_slice(PASSWORD.as_bytes());
    let command =
        AtaCommand { protocol: AtaProtocol::PioOut, timeout_ms, ..AtaCommand::sector(name, code) };
    commands.ata(&command, Data::Out(&sector))
}

fn state(commands: &mut dyn Commands) -> Result<AtaSecurity, CommandError> {
    let mut bytes = [0; SECTOR_BYTES];
    commands.ata(&AtaCommand::identify(), Data::In(&mut bytes))?;
    Ok(identify(&bytes).capabilities.security)
}

const SHORT_MS: u32 = crate::passthrough::ata::SHORT_MS;

/// Sets the password, erases, and looks whether the drive has taken the password away, as it does when it has erased.
pub fn security_erase(commands: &mut dyn Commands, is_enhanced: bool) -> Ended {
    // The state may have changed since it was last read: a drive frozen since then would keep the password.
    match state(commands).map(|security| obstacle(&security)) {
        Ok(None) => {}
        Ok(Some(why)) => return Ended::failed(format!("nothing was erased: {why}"), ""),
        Err(error) => return Ended::failed(format!("nothing was erased: {error}"), "try again"),
    }
    // Security level high (bit 8 is zero): with the maximum level, a forgotten password could not be overruled.
    if let Err(error) = with_password(commands, "SECURITY SET PASSWORD", 0xf1, (0, SHORT_MS)) {
        return taken_back(commands, &format!("nothing was erased: {error}"));
    }
    let mode = u16::from(is_enhanced) << 1;
    let prepare = AtaCommand::plain("SECURITY ERASE PREPARE", 0xf3);
    let erased = commands.ata(&prepare, Data::None).and_then(|_| {
        with_password(commands, "SECURITY ERASE UNIT", 0xf4, (mode, KERNEL_LIMIT_MS))
    });
    match (erased, state(commands)) {
        (Ok(_), Ok(security)) if !security.is_enabled => {
            let kind = if is_enhanced { "an enhanced security erase" } else { "a security erase" };
            Ended::done(format!("the drive did {kind}, and took the password away"))
        }
        (Ok(_), Ok(_)) => {
            taken_back(commands, "the drive says that it erased, and still has the password")
        }
        (Ok(_), Err(error)) => taken_back(
            commands,
            &format!("the drive says that it erased, and has reported nothing since: {error}"),
        ),
        (Err(error), _) => taken_back(commands, &format!("the erase failed: {error}")),
    }
}

/// Takes the password away after a failure, and says whether that went well.
fn taken_back(commands: &mut dyn Commands, what: &str) -> Ended {
    if state(commands).is_ok_and(|security| security.is_locked) {
        // Its refusal shows in the state below.
        let _ = with_password(commands, "SECURITY UNLOCK", 0xf2, (0, SHORT_MS));
    }
    if state(commands).is_ok_and(|security| security.is_enabled) {
        let _ = with_password(commands, "SECURITY DISABLE PASSWORD", 0xf6, (0, SHORT_MS));
    }
    match state(commands) {
        Ok(security) if !security.is_enabled => Ended::failed(
            what,
            "no password is left on the drive; look at its health and at the kernel's log",
        ),
        _ => Ended::failed(
            what,
            format!(
                "the drive may be locked: its user password is {PASSWORD:?}. Unlock it and disable the password (hdparm \
                 --user-master u --security-unlock {PASSWORD} DEVICE, then --security-disable), if need be after a \
                 power cycle"
            ),
        ),
    }
}

/// How often a drive is asked how far it is.
const POLL: Duration = Duration::from_secs(1);

/// Times in a row that a drive may fail to say how far it is.
const SILENCES_MAX: u32 = 5;

/// SANITIZE DEVICE with this feature, and in the LBA field the key that keeps it from being sent by mistake.
fn sanitize_command(way: AtaWay) -> AtaCommand {
    let (name, feature, count, lba) = match way {
        AtaWay::SanitizeCrypto => ("CRYPTO SCRAMBLE EXT", 0x0011, 0, 0x4372_7970),
        AtaWay::SanitizeOverwrite => ("OVERWRITE EXT", 0x0014, 1, 0x4f57_0000_0000),
        _ => ("BLOCK ERASE EXT", 0x0012, 0, 0x426b_4572),
    };
    AtaCommand { extended: true, feature, count, lba, ..AtaCommand::plain(name, 0xb4) }
}

/// Sanitizes, and asks how far the drive is until it has ended. `rest` is called between two questions.
pub fn sanitize(
    commands: &mut dyn Commands,
    way: AtaWay,
    patience: &mut Patience<'_>,
    rest: &mut dyn FnMut(&Patience<'_>),
) -> Ended {
    if let Err(error) = commands.ata(&sanitize_command(way), Data::None) {
        let next =
            "nothing was erased; a drive whose sanitizing is frozen takes it after a power cycle";
        return Ended::failed(error.to_string(), next);
    }
    let ask = AtaCommand { extended: true, ..AtaCommand::plain("SANITIZE STATUS EXT", 0xb4) };
    let mut silences = 0;
    loop {
        match commands.ata(&ask, Data::None) {
            Ok(registers) if registers.count & IN_PROGRESS != 0 => {
                silences = 0;
                patience.tell(f64::from((registers.lba & 0xffff) as u16) / 65536.0);
            }
            Ok(registers) if registers.count & COMPLETED != 0 => {
                patience.tell(1.0);
                return Ended::done(format!("the drive did a {way}"));
            }
            Ok(_) => {
                let words = format!("the drive ended the {way} without success");
                let next = "it may take nothing but another sanitize until one succeeds: try again";
                return Ended::failed(words, next);
            }
            Err(error) if silences == SILENCES_MAX => {
                return unwatched(&format!("the drive does not say how far it is: {error}"));
            }
            Err(_) => silences += 1,
        }
        if let Some(why) = patience.is_over() {
            return unwatched(&format!("not waited for any longer, {why}"));
        }
        rest(patience);
    }
}

/// SANITIZE STATUS EXT, count field: the last one completed without error.
const COMPLETED: u16 = 1 << 15;
/// One is under way.
const IN_PROGRESS: u16 = 1 << 14;

fn unwatched(words: &str) -> Ended {
    Ended {
        status: Status::Running,
        words: format!(
            "{words}; the drive sanitizes on, also after a power loss, and serves nobody meanwhile"
        ),
        next: "see how far it is by hdparm --sanitize-status DEVICE".to_owned(),
        done_share: None,
    }
}
