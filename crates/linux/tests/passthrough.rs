//! Commands in a drive's own language: recorded, played back, and refused by a device that takes none.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::common;

use std::path::Path;

use common::{Loop, has_means};
use drivescope_linux::passthrough::{
    AtaCommand, AtaProtocol, CommandError, Commands, Data, Device, NvmeCommand, Playback, Recorder,
    ScsiCommand, nvme, scsi,
};
use proptest::prelude::*;

const HEAD: &str = "drivescope-commands 1\ndevice d0\nprotocol nvme\n";

fn play(body: &str) -> Playback {
    Playback::from_text(Path::new("drive.commands"), &format!("{HEAD}{body}")).unwrap()
}

fn refused(text: &str) -> String {
    Playback::from_text(Path::new("drive.commands"), text).unwrap_err().to_string()
}

const IDENTIFY: &str = "\
> nvme 06 nsid 00000000 cdw 00000001 00000000 00000000 00000000 00000000 00000000 in 4096  # Identify
< nvme 0000 result 00000000
. 0000 36 1b
. 0fff aa
";

// Bytes that are not listed are zero, whatever the caller's buffer held before.
#[test]
fn an_answer_fills_the_buffer() {
    let mut drive = play(IDENTIFY);
    assert_eq!((drive.device(), drive.protocol(), drive.remaining()), ("d0", "nvme", 1));
    let answer = nvme::identify(&mut drive, 1, 0).unwrap();
    assert_eq!((answer[0], answer[1], answer[2], answer[4095]), (0x36, 0x1b, 0, 0xaa));
    assert_eq!(drive.remaining(), 0);
    let end = nvme::identify(&mut drive, 1, 0).unwrap_err().to_string();
    assert!(
        end.starts_with("drive.commands: line 4: the recording has ended, and `nvme 06"),
        "{end}"
    );
}

// A playback that answered whatever was asked would let a wrong Format pass every test.
#[test]
fn only_what_was_recorded_is_answered() {
    let error = nvme::identify(&mut play(IDENTIFY), 0, 1).unwrap_err().to_string();
    assert_eq!(
        error,
        "drive.commands: line 4: `nvme 06 nsid 00000000 cdw 00000001 00000000 00000000 00000000 00000000 00000000 \
         in 4096` is recorded, and `nvme 06 nsid 00000001 cdw 00000000 00000000 00000000 00000000 00000000 00000000 \
         in 4096` is asked"
    );
    let out = "> scsi e5 out 4\n. 0001 01\n< scsi 00 transferred 4 sense none\n";
    let send = |bytes: &[u8]| {
        let command = ScsiCommand { name: "x", cdb: vec![0xe5], timeout_ms: 0 };
        play(out).scsi(&command, Data::Out(bytes))
    };
    assert!(send(&[0, 1, 0, 0]).is_ok());
    for other in [&[0, 1, 0, 1][..], &[1, 1, 0, 0], &[0, 0, 0, 0], &[0, 1, 0], &[0, 1, 0, 0, 0]] {
        let error = send(other).unwrap_err();
        assert!(matches!(error, CommandError::Playback { line: 4, .. }), "{error}");
    }
}

#[test]
fn refusals_are_told_in_words() {
    let format = NvmeCommand {
        name: "Format NVM",
        opcode: 0x80,
        nsid: 1,
        cdw10_to_15: [0x200, 0, 0, 0, 0, 0],
        timeout_ms: 600_000,
    };
    let sent =
        "> nvme 80 nsid 00000001 cdw 00000200 00000000 00000000 00000000 00000000 00000000 none\n";
    let answered = |answer: &str| {
        play(&format!("{sent}< {answer}\n")).nvme_admin(&format, Data::None).unwrap_err()
    };
    let denied = answered("errno 13");
    assert!(denied.is_permission() && denied.to_string().contains("root"), "{denied}");
    let invalid = answered("nvme 410a result 00000000");
    assert_eq!(
        invalid.to_string(),
        "drive.commands: Format NVM: invalid format (status type 1, code 0ah, do not retry)"
    );
    assert!(
        answered("errno 25").is_unsupported() && answered("nvme 0001 result 0").is_unsupported()
    );
    assert!(answered("errno 19").to_string().contains("has gone"));

    let mut drive =
        play("> scsi 12 00 00 00 08 00 in 8\n< scsi 02 transferred 0 sense 70 00 05 00\n");
    let error = scsi::fetch(&mut drive, &scsi::inquiry(None, 8), &mut [0; 8]).unwrap_err();
    assert!(error.is_unsupported());
    let mut drive = play("> scsi 12 00 00 00 08 00 in 8\n< transport 0003 0000\n");
    let error = scsi::fetch(&mut drive, &scsi::inquiry(None, 8), &mut [0; 8]).unwrap_err();
    assert!(error.to_string().contains("no answer in time"), "{error}");
    let mut drive =
        play("> scsi 12 00 00 00 08 00 in 8\n< scsi 00 transferred 3 sense none\n. 0 05 80\n");
    let mut buffer = [7; 8];
    let got = scsi::fetch(&mut drive, &scsi::inquiry(None, 8), &mut buffer).unwrap();
    assert_eq!(got, [5, 0x80, 0], "what came, and no more");
    assert_eq!(buffer[3..], [7; 5], "what did not come is as it was");
}

// The registers of a drive come as sense data with every answer.
#[test]
fn an_ata_command_travels_inside_of_a_scsi_one() {
    let cdb = "85 06 20 00 00 00 00 00 00 00 00 00 00 00 e5 00";
    let told = "72 01 00 1d 00 00 00 0e 09 0c 00 00 00 ff 00 00 00 00 00 00 40 50";
    let asked = |answer: &str| {
        let mut drive = play(&format!("> scsi {cdb} none\n< {answer}\n"));
        drive.ata(&AtaCommand::check_power_mode(), Data::None)
    };
    let registers = asked(&format!("scsi 02 transferred 0 sense {told}")).unwrap();
    assert_eq!((registers.count, registers.status), (0xff, 0x50));
    let aborted = told.replacen("09 0c 00 00", "09 0c 00 04", 1).replace("40 50", "40 51");
    let error = asked(&format!("scsi 02 transferred 0 sense {aborted}")).unwrap_err();
    assert!(error.is_unsupported() && matches!(error, CommandError::Ata { .. }), "{error}");
    let silent = asked("scsi 00 transferred 0 sense none").unwrap_err();
    assert!(silent.to_string().contains("did not return the drive's registers"), "{silent}");
    let none = asked("scsi 02 transferred 0 sense 70 00 05 00 00 00 00 0a 00 00 00 00 20 00");
    assert!(matches!(none.unwrap_err(), CommandError::Scsi { .. }));

    // Half a sector is not an identification.
    let identify = "85 08 0e 00 00 00 01 00 00 00 00 00 00 00 ec 00";
    let half = format!("> scsi {identify} in 512\n< scsi 00 transferred 256 sense none\n");
    let error = play(&half).ata(&AtaCommand::identify(), Data::In(&mut [0; 512])).unwrap_err();
    assert!(error.to_string().contains("less data came"), "{error}");
}

// A command whose data does not fit its fields would hang a drive until it is reset.
#[test]
fn an_ata_command_that_does_not_agree_with_itself_is_not_sent() {
    let identify = AtaCommand::identify();
    let wrong = [
        AtaCommand { count: 2, ..identify },
        AtaCommand { protocol: AtaProtocol::NonData, ..identify },
        AtaCommand { protocol: AtaProtocol::PioOut, ..identify },
        AtaCommand { lba: 1 << 28, ..identify },
        AtaCommand { feature: 0x100, ..identify },
    ];
    for command in wrong {
        let error = play("").ata(&command, Data::In(&mut [0; 512])).unwrap_err();
        assert!(matches!(error, CommandError::Answer { .. }), "{error}: {command:?}");
    }
    let mut page = [0; 6];
    let log = nvme::LogPage { name: "x", id: 2, nsid: 0, specific: 0, retain_events: false };
    assert!(nvme::log_page(&mut play(""), log, &mut page).is_err());
    assert!(nvme::log_page(&mut play(""), log, &mut []).is_err());
}

// A mistake in a recording is found where it stands.
#[test]
fn a_bad_recording_is_refused_with_its_line() {
    for (text, line, word) in [
        ("", 1, "drivescope-commands 1"),
        ("drivescope-commands 2\n", 1, "version 2"),
        ("hello\n", 1, "begins with"),
        ("drivescope-commands 1\nprotocol nvme\n", 2, "device NAME"),
        ("drivescope-commands 1\ndevice d\n", 2, "protocol WORD"),
    ] {
        let error = refused(text);
        assert!(error.contains(&format!("line {line}:")) && error.contains(word), "{error}");
    }
    let sent = "> scsi 12 00 in 4\n";
    for (body, line, word) in [
        (">", 4, "ends too early"),
        ("> mmc 1\n", 4, "not a kind of command"),
        ("> scsi in 4\n", 4, "at least one byte"),
        ("> scsi 12 up 4\n", 4, "not a direction of data"),
        ("> scsi 12 in +4\n", 4, "decimal"),
        ("> scsi 12 in 99999999999\n", 4, "more than there can be"),
        ("> scsi 12 in 4 5\n", 4, "behind the line's end"),
        ("> nvme 06 nsid 0 cdw 0 0 0 0 0 in 4\n", 4, "hexadecimal"),
        ("< errno 1\n", 4, "no command before it"),
        (". 0 01\n", 4, "no command before it"),
        (&format!("{sent}{sent}"), 5, "line 4 has no answer"),
        (sent, 4, "cut off"),
        (&format!("{sent}. 0 01\n"), 5, "sends none"),
        (&format!("{sent}< nvme 0000 result 0\n"), 5, "not an answer to the command"),
        (&format!("{sent}< scsi 00 transferred 5 sense none\n"), 5, "more than there can be"),
        (&format!("{sent}< scsi 00 transferred 4 sense none\n. 3 01 02\n"), 6, "ends at byte 5"),
        (
            &format!("{sent}< scsi 00 transferred 4 sense none\n. 1 01\n. 0 01\n"),
            7,
            "filled before",
        ),
        (&format!("{sent}< scsi 00 transferred 4 sense none\n. 0 1\n"), 6, "two hexadecimal"),
        (&format!("{sent}< errno 5\n. 0 01\n"), 6, "0 bytes is all"),
        ("what\n", 4, "a line begins with"),
    ] {
        let error = refused(&format!("{HEAD}{body}"));
        assert!(
            error.contains(&format!("line {line}:")) && error.contains(word),
            "{body}: {error}"
        );
    }
    let missing = Playback::open(Path::new("no/such.commands")).unwrap_err().to_string();
    assert!(missing.contains("no/such.commands: cannot be read"), "{missing}");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), b"drivescope-commands 1\nd\xff").unwrap();
    let error = Playback::open(file.path()).unwrap_err().to_string();
    assert!(error.contains("line 2: is not text"), "{error}");
}

proptest! {
    // Reading any file ends, with no more memory than the file is long.
    #[test]
    fn no_text_makes_a_panic(lines in proptest::collection::vec(
        concat!(
            "(> (nvme|scsi)|< (nvme|scsi|errno|transport)|\\.)",
            "( ([0-9a-f]{1,9}|nsid|cdw|in|out|none|result|sense|transferred)){0,12}",
        ),
        0..12,
    ), noise in "\\PC{0,40}") {
        let text = format!("{HEAD}{}\n{noise}", lines.join("\n"));
        let _ = Playback::from_text(Path::new("x"), &text);
    }

    // A recording of a playback is the same recording: nothing is lost in writing, and nothing in reading.
    #[test]
    fn what_is_recorded_is_played_back(exchanges in proptest::collection::vec(exchange(), 0..6)) {
        let mut text = Vec::new();
        let mut recorder = Recorder::new(Made(exchanges.clone()), "d0", "scsi", &mut text);
        let first = ask_all(&mut recorder, &exchanges);
        recorder.finish().unwrap();
        let text = String::from_utf8(text).unwrap();
        let mut played = Playback::from_text(Path::new("x"), &text).unwrap();
        prop_assert_eq!(played.remaining(), exchanges.len());
        prop_assert_eq!(first, ask_all(&mut played, &exchanges));
        prop_assert_eq!(played.remaining(), 0);
    }
}

/// A command of one of three sorts with the answer that a made-up drive gives.
#[derive(Clone, Debug)]
struct MadeExchange {
    opcode: u8,
    dwords: [u32; 6],
    is_scsi: bool,
    is_out: bool,
    data: Vec<u8>,
    status: u8,
    transferred: usize,
    sense: Vec<u8>,
}

fn exchange() -> impl Strategy<Value = MadeExchange> {
    let bytes = || proptest::collection::vec(prop_oneof![3 => Just(0), 1 => any::<u8>()], 1..80);
    (any::<(u8, [u32; 6], bool, bool, u8)>(), bytes(), 0..80_usize, bytes()).prop_map(
        |((opcode, dwords, is_scsi, is_out, status), data, transferred, sense)| MadeExchange {
            opcode,
            dwords,
            is_scsi,
            is_out,
            transferred: transferred.min(data.len()),
            data,
            status,
            sense,
        },
    )
}

/// Answers with what was made up, in order.
struct Made(Vec<MadeExchange>);

impl Commands for Made {
    fn name(&self) -> &str {
        "x"
    }

    fn nvme_admin(&mut self, command: &NvmeCommand, data: Data<'_>) -> Result<u32, CommandError> {
        let made = self.0.remove(0);
        let status = nvme::NvmeStatus(u16::from(made.status & 0x83));
        if status != nvme::NvmeStatus::SUCCESS {
            let (device, command) = ("x".to_owned(), command.name);
            return Err(CommandError::Nvme { device, command, status });
        }
        if let Data::In(buffer) = data {
            buffer.copy_from_slice(&made.data);
        }
        Ok(made.dwords[0])
    }

    fn scsi(&mut self, _: &ScsiCommand, data: Data<'_>) -> Result<scsi::ScsiAnswer, CommandError> {
        let made = self.0.remove(0);
        if let Data::In(buffer) = data {
            buffer[..made.transferred].copy_from_slice(&made.data[..made.transferred]);
        }
        let MadeExchange { status, transferred, sense, .. } = made;
        Ok(scsi::ScsiAnswer { status, sense, transferred })
    }
}

/// Everything that came back, errors as words.
fn ask_all(drive: &mut impl Commands, exchanges: &[MadeExchange]) -> Vec<(String, Vec<u8>)> {
    let ask = |made: &MadeExchange| {
        let mut buffer = vec![0; made.data.len()];
        let data =
            if made.is_out { Data::Out(&made.data) } else { Data::In(buffer.as_mut_slice()) };
        let said = if made.is_scsi {
            let cdb = made.dwords.iter().flat_map(|d| d.to_le_bytes()).collect();
            let command = ScsiCommand { name: "c", cdb, timeout_ms: 0 };
            format!("{:?}", drive.scsi(&command, data))
        } else {
            let command = NvmeCommand {
                name: "c",
                opcode: made.opcode,
                nsid: made.dwords[1],
                cdw10_to_15: made.dwords,
                timeout_ms: 0,
            };
            format!("{:?}", drive.nvme_admin(&command, data))
        };
        (said, buffer)
    };
    exchanges.iter().map(ask).collect()
}

// The real path, as far as a machine without such drives goes: a loop device is asked, and the kernel says no.
#[test]
fn a_device_that_takes_no_commands_says_so() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(1 << 20, true);
    let mut drive = Device::open(Path::new(device.dev())).unwrap();
    let error = nvme::identify(&mut drive, 1, 0).unwrap_err();
    assert!(error.is_unsupported(), "{error:?}");
    assert!(error.to_string().contains("driver takes no such commands"), "{error}");
    let error = scsi::fetch(&mut drive, &scsi::inquiry(None, 36), &mut [0; 36]).unwrap_err();
    assert!(matches!(error, CommandError::Kernel { .. }), "{error:?}");
    // Identify delivers: sent with data of ours it would let the kernel write to what we only lent for reading.
    let identify = NvmeCommand {
        name: "Identify",
        opcode: 0x06,
        nsid: 0,
        cdw10_to_15: [1, 0, 0, 0, 0, 0],
        timeout_ms: 0,
    };
    let error = drive.nvme_admin(&identify, Data::Out(&[0; 16])).unwrap_err();
    assert!(error.to_string().contains("does not carry data that way"), "{error}");
}
