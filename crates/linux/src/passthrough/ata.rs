//! ATA commands inside of SCSI ones (SAT-4, ATA PASS-THROUGH (16); ACS-4).

use std::fmt;

use super::scsi::{CHECK_CONDITION, GOOD, ScsiAnswer, ScsiCommand, Sense};
use super::{CommandError, Commands, Data};

/// Bytes of a sector of ATA's own data structures, whatever the drive's logical block is.
pub const SECTOR_BYTES: usize = 512;

/// Long enough for whatever answers without spinning up.
pub const SHORT_MS: u32 = 15_000;

/// How data is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtaProtocol {
    /// No data.
    NonData,
    /// From the drive, by PIO.
    PioIn,
    /// To the drive, by PIO.
    PioOut,
    /// From or to the drive, by DMA.
    Dma,
}

/// An ATA command. Fields that a 28-bit command has not are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtaCommand {
    /// Name in errors and recordings, such as `IDENTIFY DEVICE`.
    pub name: &'static str,
    /// How data is carried.
    pub protocol: AtaProtocol,
    /// True for a 48-bit command.
    pub extended: bool,
    /// Feature field: 8 bits, or 16 of a 48-bit command.
    pub feature: u16,
    /// Count field: 8 bits, or 16 of a 48-bit command. Where data is carried, its length in sectors of 512 bytes.
    pub count: u16,
    /// LBA field: 28 bits, or 48 of a 48-bit command.
    pub lba: u64,
    /// Device field, without bits 3:0 of a 28-bit LBA.
    pub device: u8,
    /// Command field.
    pub command: u8,
    /// How long the kernel waits before it resets the drive, in milliseconds; 0 for the kernel's own limit, 60 s.
    pub timeout_ms: u32,
}

impl AtaCommand {
    /// A 28-bit command of this code without data and with all fields zero.
    pub fn plain(name: &'static str, command: u8) -> AtaCommand {
        AtaCommand {
            name,
            protocol: AtaProtocol::NonData,
            extended: false,
            feature: 0,
            count: 0,
            lba: 0,
            device: 0,
            command,
            timeout_ms: SHORT_MS,
        }
    }

    /// A 28-bit command that delivers one sector.
    pub fn sector(name: &'static str, command: u8) -> AtaCommand {
        AtaCommand { protocol: AtaProtocol::PioIn, count: 1, ..AtaCommand::plain(name, command) }
    }

    /// IDENTIFY DEVICE.
    pub fn identify() -> AtaCommand {
        AtaCommand::sector("IDENTIFY DEVICE", 0xec)
    }

    /// CHECK POWER MODE: the answer is the count field. It wakes nothing.
    pub fn check_power_mode() -> AtaCommand {
        AtaCommand::plain("CHECK POWER MODE", 0xe5)
    }

    /// ATA PASS-THROUGH (16). The registers are asked for (CK_COND) where they are all the answer: with data, some
    /// hosts and bridges make an error of a transfer that went well, since the status may still say that data is
    /// there. Where a command fails they come anyway.
    fn cdb(&self, data: &Data<'_>) -> Vec<u8> {
        let protocol: u8 = match self.protocol {
            AtaProtocol::NonData => 3,
            AtaProtocol::PioIn => 4,
            AtaProtocol::PioOut => 5,
            AtaProtocol::Dma => 6,
        };
        // CK_COND; or, where data is carried: counted in blocks of 512 bytes (BYTE_BLOCK) by the count field
        // (T_LENGTH 2), and from the drive (T_DIR) or to it.
        let flags: u8 = match data {
            Data::None => 0x20,
            Data::In(_) => 0x08 | 0x04 | 0x02,
            Data::Out(_) => 0x04 | 0x02,
        };
        let [feature_high, feature_low] = self.feature.to_be_bytes();
        let [count_high, count_low] = self.count.to_be_bytes();
        let lba = self.lba.to_le_bytes();
        // The upper fields of a 28-bit command are not sent, and its LBA 27:24 are in the device field.
        let (high, device) = if self.extended {
            ([feature_high, count_high, lba[3], lba[4], lba[5]], self.device)
        } else {
            ([0; 5], self.device & 0xf0 | lba[3] & 0x0f)
        };
        vec![
            0x85,
            protocol << 1 | u8::from(self.extended),
            flags,
            high[0],
            feature_low,
            high[1],
            count_low,
            high[2],
            lba[0],
            high[3],
            lba[1],
            high[4],
            lba[2],
            device,
            self.command,
            0,
        ]
    }
}

/// Registers of a drive at the end of a command. All zero after a command that carried data and succeeded, since they
/// are not read then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtaRegisters {
    /// Error field: bit 2 for an aborted command.
    pub error: u8,
    /// Count field; its upper half only after a 48-bit command.
    pub count: u16,
    /// LBA field; its upper half only after a 48-bit command.
    pub lba: u64,
    /// Device field.
    pub device: u8,
    /// Status field: bit 0 for an error, bit 5 for a fault of the device.
    pub status: u8,
}

impl AtaRegisters {
    /// True when the drive does not know the command, or a field of it.
    pub fn is_abort(self) -> bool {
        self.status & 0x01 != 0 && self.error & 0x04 != 0
    }

    /// True when the command failed.
    pub fn is_failure(self) -> bool {
        self.status & 0x21 != 0
    }

    /// From the sense data that came with an answer: from the ATA status return descriptor (SAT-4), or from
    /// the fixed form, which has no room for the upper halves of count and LBA.
    fn of_sense(sense: &Sense) -> Option<AtaRegisters> {
        if let Some(descriptor) = sense.descriptor(0x09) {
            let d: &[u8; 14] = descriptor.try_into().ok()?;
            let extended = d[2] & 1 != 0;
            let low = [d[7], d[9], d[11]];
            let high = if extended { [d[6], d[8], d[10]] } else { [0; 3] };
            let lba = [low[0], low[1], low[2], high[0], high[1], high[2], 0, 0];
            let count_high = if extended { d[4] } else { 0 };
            return Some(AtaRegisters {
                error: d[3],
                count: u16::from_be_bytes([count_high, d[5]]),
                lba: u64::from_le_bytes(lba),
                device: d[12],
                status: d[13],
            });
        }
        let is_fixed = matches!(sense.bytes.first()? & 0x7f, 0x70 | 0x71);
        let bytes = sense.bytes.get(..12).filter(|_| is_fixed)?;
        if (sense.asc, sense.ascq) != (0x00, 0x1d) {
            return None;
        }
        Some(AtaRegisters {
            error: bytes[3],
            status: bytes[4],
            device: bytes[5],
            count: u16::from(bytes[6]),
            lba: u64::from_le_bytes([bytes[9], bytes[10], bytes[11], 0, 0, 0, 0, 0]),
        })
    }
}

impl fmt::Display for AtaRegisters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (self.status, self.error) {
            (status, _) if status & 0x20 != 0 => "the drive reports a fault of its own",
            (status, error) if status & 0x01 != 0 && error & 0x40 != 0 => "uncorrectable data",
            (status, error) if status & 0x01 != 0 && error & 0x10 != 0 => "address not found",
            _ if self.is_abort() => "the drive does not know the command, or will not do it now",
            (status, _) if status & 0x01 != 0 => "the drive reports an error",
            _ => "done",
        };
        write!(f, "{what} (status {:02x}h, error {:02x}h)", self.status, self.error)
    }
}

/// [`Commands::ata`].
pub(super) fn send<C: Commands + ?Sized>(
    commands: &mut C,
    command: &AtaCommand,
    data: Data<'_>,
) -> Result<AtaRegisters, CommandError> {
    check(commands, command, &data)?;
    let scsi =
        ScsiCommand { name: command.name, cdb: command.cdb(&data), timeout_ms: command.timeout_ms };
    let expected = data.len();
    let answer = commands.scsi(&scsi, data)?;
    let device = || commands.name().to_owned();
    let short = answer.transferred < expected;
    let registers = registers(answer, expected > 0, &device(), command.name)?;
    if registers.is_failure() {
        return Err(CommandError::Ata { device: device(), command: command.name, registers });
    }
    if short {
        let why = "less data came than was asked for, and no error with it".to_owned();
        return Err(CommandError::Answer { device: device(), command: command.name, why });
    }
    Ok(registers)
}

/// Checks what a caller must not get wrong: the kernel does not, and a drive that waits for data that never comes
/// is reset with all commands in flight.
fn check<C: Commands + ?Sized>(
    commands: &C,
    command: &AtaCommand,
    data: &Data<'_>,
) -> Result<(), CommandError> {
    let fits = match (command.protocol, data) {
        (AtaProtocol::NonData, Data::None) => true,
        (AtaProtocol::PioIn | AtaProtocol::Dma, Data::In(_))
        | (AtaProtocol::PioOut | AtaProtocol::Dma, Data::Out(_)) => {
            data.len() == usize::from(command.count) * SECTOR_BYTES && !data.is_empty()
        }
        _ => false,
    };
    let fields_fit = command.extended
        || (command.feature <= 0xff && command.count <= 0xff && command.lba < 1 << 28);
    if fits && fields_fit {
        return Ok(());
    }
    let why =
        "its protocol, its count of sectors and its data do not agree, or a field is too large";
    Err(CommandError::Answer {
        device: commands.name().to_owned(),
        command: command.name,
        why: why.to_owned(),
    })
}

fn registers(
    answer: ScsiAnswer,
    has_data: bool,
    device: &str,
    command: &'static str,
) -> Result<AtaRegisters, CommandError> {
    let sense = Sense::parse(&answer.sense);
    if let Some(registers) = sense.as_ref().and_then(AtaRegisters::of_sense) {
        return Ok(registers);
    }
    match answer.status {
        // Some bridges leave the registers out where nothing went wrong, whether they are asked for or not. Then data
        // that came is an answer, and a command whose answer are the registers has none.
        GOOD if has_data => Ok(AtaRegisters::default()),
        GOOD => Err(CommandError::Answer {
            device: device.to_owned(),
            command,
            why: "what stands between us and the drive did not return the drive's registers"
                .to_owned(),
        }),
        // RECOVERED ERROR with 00h/1Dh is how registers come; any other sense is a refusal.
        CHECK_CONDITION => Err(CommandError::Scsi {
            device: device.to_owned(),
            command,
            status: answer.status,
            sense,
        }),
        status => {
            Err(CommandError::Scsi { device: device.to_owned(), command, status, sense: None })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sense(bytes: &[u8]) -> Sense {
        Sense::parse(bytes).unwrap()
    }

    // SMART RETURN STATUS answers in LBA 23:8 alone: a byte taken from elsewhere would turn a failing drive into
    // a sound one.
    #[test]
    fn registers_come_out_of_both_forms() {
        let described = [
            0x72, 0x01, 0x00, 0x1d, 0, 0, 0, 14, 0x09, 0x0c, 0x01, 0x00, 0x12, 0x34, 0xa3, 0xa0,
            0xa4, 0x2c, 0xa5, 0xf4, 0x40, 0x50,
        ];
        let registers = AtaRegisters::of_sense(&sense(&described)).unwrap();
        let expected = AtaRegisters {
            error: 0,
            count: 0x1234,
            lba: 0xa5a4_a3f4_2ca0,
            device: 0x40,
            status: 0x50,
        };
        assert_eq!(registers, expected);
        let mut short = described;
        short[10] = 0;
        let registers = AtaRegisters::of_sense(&sense(&short)).unwrap();
        assert_eq!((registers.count, registers.lba), (0x34, 0xf4_2ca0), "a 28-bit command");

        let fixed = [
            0x70, 0, 0x01, 0x04, 0x51, 0x40, 0x77, 0x0a, 0, 0xa0, 0x2c, 0xf4, 0x00, 0x1d, 0, 0, 0,
            0,
        ];
        let registers = AtaRegisters::of_sense(&sense(&fixed)).unwrap();
        assert_eq!((registers.count, registers.lba), (0x77, 0xf4_2ca0));
        assert!(registers.is_abort() && registers.is_failure());
        let mut refusal = fixed;
        refusal[12] = 0x20;
        assert_eq!(AtaRegisters::of_sense(&sense(&refusal)), None);
    }

    // The bytes of SAT-4's command descriptor block, written out: a field at another place is another command.
    #[test]
    fn a_command_is_laid_out_as_the_translation_wants_it() {
        let mut page = [0; SECTOR_BYTES];
        let log = AtaCommand {
            extended: true,
            count: 1,
            lba: 0x6655_4433_2211,
            ..AtaCommand::sector("READ LOG EXT", 0x2f)
        };
        assert_eq!(
            log.cdb(&Data::In(&mut page)),
            [0x85, 0x09, 0x0e, 0, 0, 0, 1, 0x44, 0x11, 0x55, 0x22, 0x66, 0x33, 0, 0x2f, 0]
        );
        let smart = AtaCommand {
            feature: 0xda,
            lba: 0x00c2_4f00,
            ..AtaCommand::plain("SMART RETURN STATUS", 0xb0)
        };
        assert_eq!(
            smart.cdb(&Data::None),
            [0x85, 0x06, 0x20, 0, 0xda, 0, 0, 0, 0, 0, 0x4f, 0, 0xc2, 0, 0xb0, 0]
        );
        let out = AtaCommand { protocol: AtaProtocol::PioOut, ..AtaCommand::sector("x", 0xf1) };
        assert_eq!(out.cdb(&Data::Out(&page))[1..3], [0x0a, 0x06]);
    }
}
