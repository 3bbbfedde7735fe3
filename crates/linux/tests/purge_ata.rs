//! Erasing ATA drives, on a drive that behaves as ACS-4 says. It is made up, as is everything that it answers: no drive
//! at hand may be locked for a test.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::common;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use common::fake::{Fake, registers};
use drivescope_linux::passthrough::{
    CommandError, Commands, Data, NvmeCommand, ScsiAnswer, ScsiCommand,
};
use drivescope_linux::purge::ata::{AtaWay, PASSWORD, erase, sanitize, security_erase};
use drivescope_linux::purge::{Ended, Patience, Status};

/// A drive with the Security feature set.
#[derive(Clone, Debug, Default)]
struct State {
    password: Option<Vec<u8>>,
    is_locked: bool,
    is_frozen: bool,
    is_prepared: bool,
    erased: Option<&'static str>,
    /// The erase fails, and the drive is locked afterwards.
    fails: bool,
    /// The password cannot be taken away.
    is_stubborn: bool,
    /// It says that it erased and keeps the password.
    lies: bool,
    asked: Vec<u8>,
}

struct Drive(Arc<Mutex<State>>);

impl State {
    fn identify(&self) -> [u8; 512] {
        let mut bytes = [0; 512];
        let is_enabled = self.password.is_some();
        let flags =
            [(0, true), (1, is_enabled), (2, self.is_locked), (3, self.is_frozen), (5, true)];
        let word = flags.iter().fold(0_u16, |word, (bit, set)| word | u16::from(*set) << bit);
        bytes[256..258].copy_from_slice(&word.to_le_bytes());
        bytes
    }

    /// Does a command; false when the drive aborts it.
    fn does(&mut self, code: u8, data: &[u8]) -> bool {
        self.asked.push(code);
        let given = || data[2..34].to_vec();
        let was_prepared = std::mem::replace(&mut self.is_prepared, code == 0xf3);
        match code {
            0xf1 if self.is_frozen || self.is_locked => return false,
            0xf1 => {
                assert_eq!(data[..2], [0, 0], "user password, level high");
                self.password = Some(given());
            }
            0xf2 if self.password == Some(given()) => self.is_locked = false,
            0xf3 => {}
            0xf4 if !was_prepared || self.password != Some(given()) => return false,
            0xf4 if self.fails => {
                self.is_locked = true;
                return false;
            }
            0xf4 => {
                self.erased = Some(if data[0] & 2 != 0 { "enhanced" } else { "normal" });
                self.password = self.password.take().filter(|_| self.lies);
            }
            0xf6 if !self.is_locked && !self.is_stubborn && self.password == Some(given()) => {
                self.password = None;
            }
            _ => return false,
        }
        true
    }
}

impl Commands for Drive {
    fn name(&self) -> &str {
        "made up"
    }

    fn nvme_admin(&mut self, _: &NvmeCommand, _: Data<'_>) -> Result<u32, CommandError> {
        panic!("an ATA drive takes no NVMe commands");
    }

    fn scsi(&mut self, command: &ScsiCommand, data: Data<'_>) -> Result<ScsiAnswer, CommandError> {
        let mut state = self.0.lock().unwrap();
        let code = command.cdb[14];
        let transferred = data.len();
        let done = match data {
            Data::In(buffer) if code == 0xec => {
                buffer.copy_from_slice(&state.identify());
                return Ok(ScsiAnswer { transferred, ..ScsiAnswer::default() });
            }
            Data::Out(bytes) => state.does(code, bytes),
            _ => state.does(code, &[]),
        };
        let answer = if done { registers(0x50, 0, 0, 0) } else { registers(0x51, 0x04, 0, 0) };
        Ok(ScsiAnswer { transferred, ..answer })
    }
}

fn erased(state: State, is_enhanced: bool) -> (Ended, State) {
    let state = Arc::new(Mutex::new(state));
    let ended = security_erase(&mut Drive(Arc::clone(&state)), is_enhanced);
    let state = state.lock().unwrap().clone();
    (ended, state)
}

#[test]
fn a_security_erase_leaves_no_password() {
    for (is_enhanced, kind) in [(false, "normal"), (true, "enhanced")] {
        let (ended, state) = erased(State::default(), is_enhanced);
        assert_eq!((ended.status, state.erased), (Status::Done, Some(kind)), "{}", ended.words);
        assert_eq!(state.password, None);
        assert_eq!(state.asked, [0xf1, 0xf3, 0xf4], "prepared right before");
    }
}

/// A drive that fails half-way is locked with a password that its owner never chose: drivescope unlocks it, and where
/// that fails reports the password.
#[test]
fn a_failed_erase_takes_the_password_away_or_tells_it() {
    let (ended, state) = erased(State { fails: true, ..State::default() }, true);
    assert_eq!(ended.status, Status::Failed);
    assert_eq!((state.password, state.is_locked), (None, false));
    assert!(ended.next.contains("no password is left"), "{}", ended.next);

    let (ended, state) = erased(State { fails: true, is_stubborn: true, ..State::default() }, true);
    assert_eq!(ended.status, Status::Failed);
    assert!(state.password.is_some() && ended.next.contains(PASSWORD), "{}", ended.next);

    let (ended, state) = erased(State { lies: true, ..State::default() }, false);
    assert_eq!((ended.status, state.password), (Status::Failed, None), "{}", ended.words);
    assert!(ended.words.contains("still has the password"), "{}", ended.words);
}

#[test]
fn a_frozen_or_locked_drive_is_given_no_password() {
    for state in [
        State { is_frozen: true, ..State::default() },
        State { password: Some(vec![1; 32]), is_locked: true, ..State::default() },
        State { password: Some(vec![1; 32]), ..State::default() },
    ] {
        let password = state.password.clone();
        let (ended, state) = erased(state, false);
        assert_eq!(ended.status, Status::Failed);
        assert!(ended.words.starts_with("nothing was erased"), "{}", ended.words);
        assert_eq!((state.asked.len(), state.password), (0, password), "{}", ended.words);
    }
}

#[test]
fn whoever_does_not_wait_for_an_erase_is_told_the_password() {
    let (cancel, mut told) = (AtomicBool::new(true), |_: f64| {});
    let mut patience = Patience::new(&cancel, None, &mut told);
    let (release, held) = std::sync::mpsc::channel::<()>();
    let drive = Fake::scsi(move |_| Ok(held.recv().map(|()| Vec::new()).unwrap_or_default()));
    let ended = erase(Box::new(drive), AtaWay::Security, &mut patience);
    assert_eq!(ended.status, Status::Running);
    assert!(ended.next.contains(PASSWORD) && ended.words.contains("must not lose power"));
    drop(release);
}

/// Registers of a 48-bit command, of which SANITIZE STATUS EXT answers in the upper half of the count.
fn long_registers(count: u16, lba: u16) -> ScsiAnswer {
    let [count_high, count_low] = count.to_be_bytes();
    let [lba_middle, lba_low] = lba.to_be_bytes();
    let mut sense = vec![0x72, 1, 0, 0x1d, 0, 0, 0, 14, 9, 12, 1, 0, count_high, count_low];
    sense.extend([0, lba_low, 0, lba_middle, 0, 0, 0x40, 0x50]);
    ScsiAnswer { status: 2, sense, transferred: 0 }
}

fn sanitized(way: AtaWay, answers: Vec<ScsiAnswer>) -> (Ended, Vec<f64>, Vec<Vec<u8>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (kept, mut answers) = (Arc::clone(&asked), answers.into_iter());
    let mut drive = Fake::scsi(move |cdb| {
        kept.lock().unwrap().push(cdb.to_vec());
        Err(answers.next().unwrap())
    });
    let (never, mut shares) = (AtomicBool::new(false), Vec::new());
    let mut told = |share: f64| shares.push(share);
    let mut patience = Patience::new(&never, None, &mut told);
    let ended = sanitize(&mut drive, way, &mut patience, &mut |_| {});
    let asked = asked.lock().unwrap().clone();
    (ended, shares, asked)
}

#[test]
fn sanitize_is_sent_with_its_key_and_followed_to_its_end() {
    let answers = vec![
        long_registers(0x4000, 0),
        long_registers(0x4000, 0x8000),
        long_registers(0x8000, 0xffff),
    ];
    let (ended, shares, asked) = sanitized(AtaWay::SanitizeBlock, answers);
    assert_eq!((ended.status, shares), (Status::Done, vec![0.5, 1.0]), "{}", ended.words);
    // SAT's 16 bytes: feature 0012h, LBA 426B4572h by its bytes 31:24, 7:0, 15:8, 23:16, command B4h.
    let key = [0x85, 0x07, 0x20, 0, 0x12, 0, 0, 0x42, 0x72, 0, 0x45, 0, 0x6b, 0, 0xb4, 0];
    assert_eq!(asked[0], key);
    assert_eq!(asked[1][4], 0, "SANITIZE STATUS EXT");
    let (ended, ..) = sanitized(AtaWay::SanitizeCrypto, vec![long_registers(0, 0); 2]);
    assert_eq!(ended.status, Status::Failed, "neither under way nor completed: {}", ended.words);
    let (ended, _, asked) = sanitized(AtaWay::SanitizeOverwrite, vec![registers(0x51, 0x04, 0, 0)]);
    assert_eq!((ended.status, asked.len()), (Status::Failed, 1), "{}", ended.words);
}
