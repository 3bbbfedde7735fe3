//! Format and Sanitize, compared with traces of commands. The traces are made up from the specification: no drive at
//! hand could sanitize.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::common;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use block::Bytes;
use block::health::{NvmeController, NvmeFormat, NvmeNamespace};
use common::fake::Fake;
use drivescope_linux::passthrough::Playback;
use drivescope_linux::purge::nvme::{
    Sanitizing, SecureErase, format, format_command, sanitize_with,
};
use drivescope_linux::purge::{Ended, Patience, Status, listed};
use proptest::prelude::*;

const HEAD: &str = "drivescope-commands 1\ndevice nvme0n1\nprotocol nvme\nnamespace 00000001\n";

fn playback(exchanges: &str) -> Playback {
    Playback::from_text(Path::new("made-up"), &format!("{HEAD}{exchanges}")).unwrap()
}

fn namespace(index: u16) -> NvmeNamespace {
    let format = NvmeFormat { data_bytes: Bytes(4096), ..NvmeFormat::default() };
    NvmeNamespace { nsid: 1, format: index, formats: vec![format; 32], ..NvmeNamespace::default() }
}

fn formatted(exchanges: &str, erase: SecureErase) -> Ended {
    let (never, mut told) = (AtomicBool::new(false), |_: f64| {});
    let mut patience = Patience::new(&never, None, &mut told);
    format(Box::new(playback(exchanges)), &namespace(1), erase, &mut patience)
}

proptest! {
    // Were one field another's, a drive would come back with blocks of another size, or with its data.
    #[test]
    fn format_keeps_what_the_namespace_is_formatted_as(
        index in 0_u16..64, extended in any::<bool>(), kind in 0_u8..4, first in any::<bool>(),
    ) {
        let namespace = NvmeNamespace {
            has_extended_metadata: extended,
            protection_type: kind,
            is_protection_first: first,
            ..namespace(index)
        };
        let dword = format_command(&namespace, SecureErase::UserData).cdw10_to_15[0];
        prop_assert_eq!(dword & 0xf | dword >> 12 << 4, u32::from(index));
        prop_assert_eq!(dword >> 4 & 1, u32::from(extended));
        prop_assert_eq!(dword >> 5 & 7, u32::from(kind));
        prop_assert_eq!(dword >> 8 & 1, u32::from(first));
        prop_assert_eq!(dword >> 9 & 7, 1);
    }
}

#[test]
fn format_asks_for_the_erase_that_was_wanted_and_tells_the_answer() {
    let of = |dword: &str, status: &str| {
        format!(
            "> nvme 80 nsid 00000001 cdw {dword} 00000000 00000000 00000000 00000000 00000000 none\n\
             < nvme {status} result 00000000\n"
        )
    };
    for (erase, dword) in [
        (SecureErase::None, "00000001"),
        (SecureErase::UserData, "00000201"),
        (SecureErase::Crypto, "00000401"),
    ] {
        let ended = formatted(&of(dword, "0000"), erase);
        assert_eq!(ended.status, Status::Done, "{}", ended.words);
    }
    let invalid = formatted(&of("00000201", "410a"), SecureErase::UserData);
    assert_eq!(invalid.status, Status::Failed);
    assert!(invalid.words.contains("invalid format"), "{}", invalid.words);
    let sanitizing = formatted(&of("00000201", "001d"), SecureErase::UserData);
    assert!(sanitizing.next.contains("wait for it"), "{}", sanitizing.next);
}

/// A drive that takes long: without a wait the format is reported as running, and never as done.
#[test]
fn a_format_that_is_not_waited_for_is_running() {
    let (release, held) = std::sync::mpsc::channel::<()>();
    let drive = Fake::nvme(move |_| Ok(held.recv().map(|()| Vec::new()).unwrap_or_default()));
    let (cancel, mut told) = (AtomicBool::new(true), |_: f64| {});
    let mut patience = Patience::new(&cancel, None, &mut told);
    let ended = format(Box::new(drive), &namespace(0), SecureErase::UserData, &mut patience);
    assert_eq!(ended.status, Status::Running, "{}", ended.words);
    assert!(ended.words.contains("on request"), "{}", ended.words);
    drop(release);
}

fn controller() -> NvmeController {
    NvmeController { version: [1, 4, 0], can_sanitize_block: true, ..NvmeController::default() }
}

const BLOCK_ERASE: &str = "\
> nvme 84 nsid 00000000 cdw 00000002 00000000 00000000 00000000 00000000 00000000 none
< nvme 0000 result 00000000
";

/// One look at the log, with this progress and state in its first four bytes.
fn log(bytes: &str) -> String {
    format!(
        "> nvme 02 nsid ffffffff cdw 007f8081 00000000 00000000 00000000 00000000 00000000 in 512\n\
         < nvme 0000 result 00000000\n. 0000 {bytes}\n"
    )
}

/// Sanitizes by the trace; `pauses` is the number of pauses before the user cancels.
fn sanitized(action: Sanitizing, exchanges: &str, pauses: usize) -> (Ended, Vec<f64>) {
    let (cancel, mut shares, mut left) = (AtomicBool::new(false), Vec::new(), pauses);
    let mut told = |share: f64| shares.push(share);
    let mut patience = Patience::new(&cancel, None, &mut told);
    let mut drive = playback(exchanges);
    let ended = sanitize_with(&mut drive, &controller(), action, &mut patience, &mut |_| {
        cancel.store(left == 0, Ordering::Relaxed);
        left = left.saturating_sub(1);
    });
    assert_eq!(drive.remaining(), 0, "{}", ended.words);
    (ended, shares)
}

#[test]
fn sanitize_is_done_when_the_log_says_so() {
    let trace =
        format!("{BLOCK_ERASE}{}{}{}", log("00 40 02 00"), log("00 c0 02 00"), log("ff ff 01 01"));
    let (ended, shares) = sanitized(Sanitizing::Block, &trace, 9);
    assert_eq!((ended.status, shares), (Status::Done, vec![0.25, 0.75, 1.0]), "{}", ended.words);
    let trace = format!("{BLOCK_ERASE}{}{}", log("00 40 02 00"), log("ff ff 03 00"));
    let (ended, _) = sanitized(Sanitizing::Block, &trace, 9);
    assert_eq!(ended.status, Status::Failed);
    assert!(ended.next.contains("another sanitize"), "{}", ended.next);
    // It took the command and knows nothing of it: its word is not enough.
    let (ended, _) =
        sanitized(Sanitizing::Block, &format!("{BLOCK_ERASE}{}", log("ff ff 00 00")), 9);
    assert_eq!(ended.status, Status::Failed, "{}", ended.words);
}

#[test]
fn overwriting_is_one_pass_and_a_refusal_is_told() {
    // Zero passes would be sixteen.
    let refused = "\
> nvme 84 nsid 00000000 cdw 00000013 00000000 00000000 00000000 00000000 00000000 none
< nvme 001d result 00000000
";
    let (ended, _) = sanitized(Sanitizing::Overwrite, refused, 9);
    assert_eq!(ended.status, Status::Failed);
    assert!(ended.next.contains("under way already"), "{}", ended.next);
}

#[test]
fn a_sanitize_that_nobody_waits_for_goes_on() {
    let trace = format!("{BLOCK_ERASE}{}{}", log("00 40 02 00"), log("00 41 02 00"));
    let (ended, _) = sanitized(Sanitizing::Block, &trace, 0);
    assert_eq!(ended.status, Status::Running, "{}", ended.words);
    assert!(ended.words.contains("power loss") && ended.next.contains("health"), "{ended:?}");
}

/// A reset in the middle makes a drive silent for a moment; one that stays silent is not called done.
#[test]
fn silences_are_borne_and_not_for_ever() {
    let silence = "\
> nvme 02 nsid ffffffff cdw 007f8081 00000000 00000000 00000000 00000000 00000000 in 512
< errno 5
";
    let trace = format!("{BLOCK_ERASE}{silence}{silence}{}", log("ff ff 01 01"));
    assert_eq!(sanitized(Sanitizing::Block, &trace, 9).0.status, Status::Done);
    let trace = format!("{BLOCK_ERASE}{}", silence.repeat(6));
    let (ended, _) = sanitized(Sanitizing::Block, &trace, 9);
    assert_eq!(ended.status, Status::Running);
    assert!(ended.words.contains("does not say how far"), "{}", ended.words);
}

/// Namespaces that are allocated but not attached are reached by a sanitize all the same.
#[test]
fn all_namespaces_are_listed_those_that_are_not_attached_too() {
    let page = |from: u32, count: u32| {
        (from..from + count).flat_map(u32::to_le_bytes).chain([0; 4096]).take(4096).collect()
    };
    let mut drive = Fake::nvme(move |command| match (command.cdw10_to_15[0], command.nsid) {
        (0x02, 0) => Ok(page(1, 2)),
        (0x10, 0) => Ok(page(1, 1024)),
        (0x10, 1024) => Ok(page(1025, 3)),
        _ => Err(2),
    });
    assert_eq!(listed(&mut drive, false), [1, 2]);
    assert_eq!(listed(&mut drive, true), (1..1028).collect::<Vec<_>>());
}
