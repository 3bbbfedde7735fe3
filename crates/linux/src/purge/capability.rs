//! Purge methods that a drive offers, according to the drive and the kernel.

use block::Bytes;
use block::health::{AtaCapabilities, NvmeController, NvmeNamespace, NvmeSanitize};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Method;
use super::ata::AtaWay;
use super::nvme::{Sanitizing, SecureErase};
use super::read_back::Promise;
use crate::devices::Bus;

/// Facts that determine the available methods.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// How it is attached.
    pub bus: Bus,
    /// True for a part of a disk: drive-wide methods would reach beyond it.
    pub is_partition: bool,
    /// The largest discard that the kernel sends (`queue/discard_max_bytes`); zero when it discards nothing.
    pub discard_max: Bytes,
    /// The largest request for zeros that the drive makes itself (`queue/write_zeroes_max_bytes`).
    pub zeroes_max: Bytes,
    /// Kind of a card (`device/type`): `MMC` for an eMMC, `SD`.
    pub card: Option<String>,
    /// Facts reported by an NVMe drive.
    pub nvme: Option<NvmeFacts>,
    /// Capabilities reported by an ATA drive.
    pub ata: Option<AtaCapabilities>,
    /// Why a drive that has commands of its own was not asked.
    pub unasked: Option<String>,
    /// Names of the other namespaces of an NVMe subsystem.
    pub others: Vec<String>,
}

/// Capabilities reported by an NVMe drive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NvmeFacts {
    /// Identify controller.
    pub controller: NvmeController,
    /// Identify namespace.
    pub namespace: Option<NvmeNamespace>,
    /// Sanitize status.
    pub sanitize: Option<NvmeSanitize>,
}

/// Preferred variants of the methods that have several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Of NVMe Format.
    pub secure_erase: SecureErase,
    /// Of NVMe Sanitize; the best that the drive can when none is named.
    pub sanitizing: Option<Sanitizing>,
}

/// One method, and whether the drive offers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capability {
    /// The method.
    pub method: Method,
    /// True when it can be used here.
    pub can: bool,
    /// Evidence that it can be used, or the obstacle.
    pub why: String,
    /// True when `auto` may choose it.
    pub is_automatic: bool,
    /// Names of the other namespaces that it would empty.
    pub touches: Vec<String>,
    /// Content expected when reading back.
    pub promise: Promise,
}

impl Capability {
    fn yes(method: Method, why: impl Into<String>) -> Capability {
        let (why, promise) = (why.into(), Promise::Gone);
        Capability { method, can: true, why, is_automatic: true, touches: Vec::new(), promise }
    }

    fn no(method: Method, why: impl Into<String>) -> Capability {
        Capability { can: false, is_automatic: false, ..Capability::yes(method, why) }
    }

    fn only_when_asked_for(self) -> Capability {
        Capability { is_automatic: false, ..self }
    }
}

/// All methods, the most thorough first, each with what speaks for or against it.
pub fn capabilities(facts: &Facts, wishes: Wishes) -> Vec<Capability> {
    Method::ALL.into_iter().map(|method| of(method, facts, wishes)).collect()
}

fn of(method: Method, facts: &Facts, wishes: Wishes) -> Capability {
    match method {
        Method::NvmeSanitize | Method::NvmeFormat | Method::AtaErase if facts.is_partition => {
            Capability::no(method, "it empties a whole drive, and this is a part of one")
        }
        Method::NvmeSanitize | Method::NvmeFormat => match &facts.nvme {
            Some(nvme) if method == Method::NvmeFormat => format(nvme, facts, wishes.secure_erase),
            Some(nvme) => sanitize(nvme, facts, wishes.sanitizing),
            None => not_asked(method, facts, Bus::Nvme, "it is not an NVMe drive"),
        },
        Method::AtaErase => match &facts.ata {
            Some(ata) => ata_erase(ata, facts),
            None => not_asked(method, facts, Bus::Ata, "it is not an ATA drive"),
        },
        Method::SecureDiscard => match (facts.bus, facts.card.as_deref()) {
            (Bus::Mmc, Some("MMC")) => Capability::yes(
                method,
                "it is an eMMC; the kernel refuses it where this one does not do it",
            ),
            _ => Capability::no(method, "only an eMMC does it"),
        },
        Method::Discard if facts.discard_max > Bytes::ZERO => {
            Capability::yes(method, "it takes discards")
        }
        Method::Discard => Capability::no(method, "it takes no discards"),
        Method::Zero => {
            let how = match facts.zeroes_max {
                Bytes::ZERO => {
                    "zeros are written: as long as writing all of it takes, and one drive write"
                }
                _ => "the drive makes zeros itself, or they are written",
            };
            let zero = Capability::yes(method, how).only_when_asked_for();
            Capability { promise: Promise::Zeros, ..zero }
        }
    }
}

fn not_asked(method: Method, facts: &Facts, bus: Bus, otherwise: &str) -> Capability {
    // A drive of no known bus may be of any.
    let is_meant = facts.bus == bus || facts.bus == Bus::Other;
    let why = facts.unasked.as_deref().filter(|_| is_meant);
    Capability::no(method, why.unwrap_or(otherwise))
}

fn format(nvme: &NvmeFacts, facts: &Facts, erase: SecureErase) -> Capability {
    let (method, controller) = (Method::NvmeFormat, &nvme.controller);
    let touches = if erase.reaches_all(controller) { facts.others.clone() } else { Vec::new() };
    let blocked = match &nvme.namespace {
        _ if !controller.can_format => Some("the drive does not know Format"),
        _ if erase == SecureErase::Crypto && !controller.can_crypto_erase => {
            Some("the drive does not erase cryptographically (FNA bit 2)")
        }
        Some(namespace) if namespace.block_bytes().is_some() => None,
        _ => Some(
            "the drive does not report how the namespace is formatted, so that could not be kept",
        ),
    };
    if let Some(why) = blocked {
        return Capability { touches, ..Capability::no(method, why) };
    }
    let yes = Capability {
        touches,
        ..Capability::yes(method, format!("Format {erase}, with the format that it has"))
    };
    match erase {
        SecureErase::None => Capability { promise: Promise::Nothing, ..yes.only_when_asked_for() },
        SecureErase::UserData | SecureErase::Crypto => yes,
    }
}

fn sanitize(nvme: &NvmeFacts, facts: &Facts, wish: Option<Sanitizing>) -> Capability {
    let (method, controller) = (Method::NvmeSanitize, &nvme.controller);
    let touches = facts.others.clone();
    let no = |why: String| Capability { touches: touches.clone(), ..Capability::no(method, why) };
    let Some(best) = Sanitizing::best(controller) else {
        return no("the drive does not know Sanitize".to_owned());
    };
    let action = wish.unwrap_or(best);
    if !action.is_offered(controller) {
        return no(format!("the drive does not sanitize by {action}"));
    }
    let estimate = nvme.sanitize.as_ref().and_then(|log| action.estimate(log));
    let time =
        estimate.map_or(String::new(), |seconds| format!(", which takes it some {seconds} s"));
    let yes = Capability::yes(method, format!("Sanitize by {action}{time}"));
    let yes = Capability { touches: touches.clone(), ..yes };
    match action {
        Sanitizing::Overwrite => yes.only_when_asked_for(),
        Sanitizing::Block | Sanitizing::Crypto => yes,
    }
}

fn ata_erase(ata: &AtaCapabilities, facts: &Facts) -> Capability {
    let method = Method::AtaErase;
    let way = match AtaWay::best(ata) {
        Ok(way) => way,
        Err(why) => return Capability::no(method, why),
    };
    let minutes = way.minutes(&ata.security);
    let time =
        minutes.map_or(String::new(), |minutes| format!(", which takes it some {minutes} minutes"));
    let yes = Capability::yes(method, format!("{way}{time}"));
    match (facts.bus, way) {
        // A bridge that resets or sleeps in between leaves a drive locked or at work without a word.
        (Bus::Ata, way) if way != AtaWay::SanitizeOverwrite => yes,
        _ => yes.only_when_asked_for(),
    }
}

/// There is no method that fits.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoMethod {
    /// The one that was asked for is not offered.
    #[error("{method} is not possible here: {why}{}", instead(.others))]
    NotOffered {
        /// It.
        method: Method,
        /// Why not.
        why: String,
        /// Those that are.
        others: Vec<Method>,
    },
    /// `auto` found none.
    #[error(
        "it offers no way of being emptied ({reasons}). `drivescope purge DEVICE --method zero` overwrites it, which wears flash and leaves it full; \
         writing all of it twice brings it near to a steady state. Neither is a purge"
    )]
    None {
        /// Why not, of each method.
        reasons: String,
    },
}

fn instead(others: &[Method]) -> String {
    let words: Vec<&str> = others.iter().map(|method| method.word()).collect();
    if words.is_empty() { String::new() } else { format!(" (possible: {})", words.join(", ")) }
}

/// The method to be used: the one asked for, or the most thorough that may be chosen without being asked for and empties
/// nothing else but what was named in `also`.
///
/// # Errors
/// [`NoMethod`].
pub fn choose(
    offered: &[Capability],
    asked: Option<Method>,
    also: &[String],
) -> Result<(Capability, String), NoMethod> {
    let Some(method) = asked else { return best(offered, also) };
    let found = offered.iter().find(|capability| capability.method == method);
    match found {
        Some(found) if found.can => Ok((found.clone(), format!("asked for; {}", found.why))),
        other => Err(NoMethod::NotOffered {
            method,
            why: other.map_or("it is not known here".to_owned(), |found| found.why.clone()),
            others: offered.iter().filter(|c| c.can).map(|c| c.method).collect(),
        }),
    }
}

fn best(offered: &[Capability], also: &[String]) -> Result<(Capability, String), NoMethod> {
    let is_named = |c: &&Capability| c.touches.iter().all(|name| also.contains(name));
    let automatic = || offered.iter().filter(|capability| capability.is_automatic);
    let reaching = automatic().take_while(|c| !is_named(c)).map(|c| c.method.word());
    let passed: Vec<&str> = reaching.collect();
    if let Some(best) = automatic().find(is_named) {
        let but = match passed.as_slice() {
            [] => String::new(),
            passed => {
                format!(" for itself alone ({} would reach other namespaces)", passed.join(", "))
            }
        };
        return Ok((best.clone(), format!("the most thorough that it offers{but}: {}", best.why)));
    }
    let against = |c: &Capability| (!c.can).then(|| format!("{}: {}", c.method, c.why));
    let reach = |c: &Capability| {
        c.is_automatic.then(|| format!("{}: it would empty {} too", c.method, c.touches.join(", ")))
    };
    let reasons: Vec<String> =
        offered.iter().filter_map(|c| against(c).or_else(|| reach(c))).collect();
    Err(NoMethod::None { reasons: reasons.join("; ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn can(facts: &Facts) -> Vec<&'static str> {
        let all = capabilities(facts, Wishes::default());
        all.iter().filter(|c| c.can).map(|c| c.method.word()).collect()
    }

    fn method(facts: &Facts, also: &[&str]) -> (Method, String) {
        let also: Vec<String> = also.iter().map(|name| (*name).to_owned()).collect();
        let (chosen, why) = choose(&capabilities(facts, Wishes::default()), None, &also).unwrap();
        (chosen.method, why)
    }

    // A method that the drive does not have would fail after consent was given to it.
    #[test]
    fn what_is_offered_follows_what_kernel_and_card_say() {
        let mut facts = Facts::default();
        assert_eq!(can(&facts), ["zero"]);
        facts.discard_max = Bytes::gib(2);
        assert_eq!(can(&facts), ["discard", "zero"]);
        facts.bus = Bus::Mmc;
        facts.card = Some("SD".to_owned());
        assert_eq!(can(&facts), ["discard", "zero"]);
        facts.card = Some("MMC".to_owned());
        assert_eq!(can(&facts), ["secure-discard", "discard", "zero"]);
        let offered = capabilities(&facts, Wishes::default());
        let zero = offered.iter().find(|c| c.method == Method::Zero).unwrap();
        assert!(!zero.is_automatic, "zeros wear a drive, and leave it full");
    }

    fn nvme() -> Facts {
        let controller = NvmeController {
            can_format: true,
            can_sanitize_overwrite: true,
            ..NvmeController::default()
        };
        let data_bytes = Bytes(512);
        let formats = vec![block::health::NvmeFormat { data_bytes, ..Default::default() }];
        let namespace = Some(NvmeNamespace { nsid: 1, formats, ..NvmeNamespace::default() });
        let nvme = Some(NvmeFacts { controller, namespace, sanitize: None });
        Facts { bus: Bus::Nvme, discard_max: Bytes::gib(2), nvme, ..Facts::default() }
    }

    // Somebody who names one namespace and loses two was asked for nothing.
    #[test]
    fn what_reaches_further_is_not_chosen_unless_all_was_named() {
        let mut facts = nvme();
        assert_eq!(can(&facts), ["nvme-sanitize", "nvme-format", "discard", "zero"]);
        assert_eq!(method(&facts, &[]).0, Method::NvmeFormat, "overwriting wears");
        facts.others = vec!["nvme0n2".to_owned()];
        assert_eq!(method(&facts, &[]).0, Method::NvmeFormat, "a Format of this one alone");
        let controller = &mut facts.nvme.as_mut().unwrap().controller;
        controller.erases_all = true;
        controller.can_sanitize_crypto = true;
        let (chosen, why) = method(&facts, &[]);
        assert_eq!(chosen, Method::Discard);
        assert!(why.contains("nvme-sanitize, nvme-format would reach other"), "{why}");
        assert_eq!(method(&facts, &["nvme0n2"]).0, Method::NvmeSanitize);
        facts.is_partition = true;
        assert_eq!(can(&facts), ["discard", "zero"]);
        // That an erase reaches all namespaces does not mean that a format does: without secure erase it reaches only
        // this one.
        facts.is_partition = false;
        let wishes = Wishes { secure_erase: SecureErase::None, sanitizing: None };
        let offered = capabilities(&facts, wishes);
        let format = offered.iter().find(|c| c.method == Method::NvmeFormat).unwrap();
        assert!(format.can && !format.is_automatic && format.touches.is_empty());
        assert_eq!(format.promise, Promise::Nothing);
    }

    #[test]
    fn a_form_that_the_drive_has_not_is_not_offered() {
        let of = |wishes, method| {
            let offered = capabilities(&nvme(), wishes);
            offered.into_iter().find(|c| c.method == method).unwrap()
        };
        let crypto =
            Wishes { secure_erase: SecureErase::Crypto, sanitizing: Some(Sanitizing::Block) };
        assert!(of(crypto, Method::NvmeFormat).why.contains("FNA bit 2"));
        assert!(of(crypto, Method::NvmeSanitize).why.contains("block erase"));
        let facts =
            Facts { bus: Bus::Nvme, unasked: Some("not root".to_owned()), ..Facts::default() };
        let offered = capabilities(&facts, Wishes::default());
        assert_eq!(offered[0].why, "not root");
        assert_eq!(offered[1].why, "it is not an ATA drive");
    }

    #[test]
    fn a_frozen_drive_is_not_erased_and_told_how_to_be() {
        let mut ata = AtaCapabilities::default();
        ata.security.is_supported = true;
        ata.security.can_erase_enhanced = true;
        ata.security.erase_enhanced_minutes = Some(4);
        let of = |ata: AtaCapabilities, bus| {
            let facts = Facts { bus, ata: Some(ata), ..Facts::default() };
            capabilities(&facts, Wishes::default())
                .into_iter()
                .find(|c| c.method == Method::AtaErase)
                .unwrap()
        };
        let enhanced = of(ata, Bus::Ata);
        assert!(enhanced.is_automatic && enhanced.why.contains("4 minutes"), "{}", enhanced.why);
        assert!(!of(ata, Bus::Usb).is_automatic, "a bridge may reset it half-way");
        ata.security.is_frozen = true;
        let frozen = of(ata, Bus::Ata);
        assert!(!frozen.can && frozen.why.contains("suspend"), "{}", frozen.why);
        ata.sanitize.can_block = true;
        assert!(of(ata, Bus::Ata).why.contains("block erase"), "sanitizing is frozen by itself");
    }

    // A method that `auto` may not choose is listed with its cost, and a requested one is never replaced by another.
    #[test]
    fn a_method_is_chosen_or_its_absence_explained() {
        let facts = Facts { discard_max: Bytes::gib(2), ..Facts::default() };
        let offered = capabilities(&facts, Wishes::default());
        let (method, why) = method(&facts, &[]);
        assert_eq!(method, Method::Discard);
        assert!(why.starts_with("the most thorough"), "{why}");
        assert_eq!(choose(&offered, Some(Method::Zero), &[]).unwrap().0.method, Method::Zero);
        let refused = choose(&offered, Some(Method::SecureDiscard), &[]).unwrap_err().to_string();
        assert!(refused.contains("only an eMMC") && refused.contains("discard, zero"), "{refused}");
        let none = choose(&capabilities(&Facts::default(), Wishes::default()), None, &[]);
        let none = none.unwrap_err().to_string();
        assert!(
            none.contains("Neither is a purge") && none.contains("takes no discards"),
            "{none}"
        );
    }
}
