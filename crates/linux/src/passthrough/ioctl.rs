#![expect(unsafe_code, reason = "no safe library offers these ioctls")]
//! The two ioctls that carry a drive's own commands.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

use super::{Data, NvmeCommand};

/// `NVME_IOCTL_ADMIN_CMD`, `_IOWR('N', 0x41, struct nvme_admin_cmd)` (`linux/nvme_ioctl.h`).
const NVME_IOCTL_ADMIN_CMD: libc::Ioctl =
    rustix::ioctl::opcode::read_write::<PassthruCommand>(b'N', 0x41) as libc::Ioctl;

/// `SG_IO` (`scsi/sg.h`).
const SG_IO: libc::Ioctl = 0x2285;

/// Longest sense data (SPC-4).
pub(super) const SENSE_BYTES_MAX: usize = 252;

/// `struct nvme_passthru_cmd` (`linux/nvme_ioctl.h`), 72 bytes on every architecture.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PassthruCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    nsid: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    address: u64,
    metadata_bytes: u32,
    data_bytes: u32,
    cdw10_to_15: [u32; 6],
    timeout_ms: u32,
    pub result: u32,
}

const _: () = assert!(size_of::<PassthruCommand>() == 72);

impl PassthruCommand {
    /// The kernel's form of `command`, without data yet.
    pub(super) fn of(command: &NvmeCommand) -> PassthruCommand {
        let NvmeCommand { opcode, nsid, cdw10_to_15, timeout_ms, .. } = *command;
        PassthruCommand { opcode, nsid, cdw10_to_15, timeout_ms, ..PassthruCommand::default() }
    }
}

/// `struct sg_io_hdr` (`scsi/sg.h`), version 3.
#[repr(C)]
#[derive(Debug)]
struct SgHeader {
    interface_id: libc::c_int,
    direction: libc::c_int,
    command_bytes: u8,
    sense_bytes_max: u8,
    iovec_count: u16,
    data_bytes: u32,
    data: *mut libc::c_void,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    pack_id: libc::c_int,
    user_pointer: *mut libc::c_void,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_bytes: u8,
    host_status: u16,
    driver_status: u16,
    residual: libc::c_int,
    duration_ms: u32,
    info: u32,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<SgHeader>() == 88);

/// Result of a SCSI command.
#[derive(Debug)]
pub(super) struct SgAnswer {
    pub status: u8,
    pub host: u16,
    pub driver: u16,
    pub sense: Vec<u8>,
    pub transferred: usize,
}

fn length(data: &Data<'_>) -> io::Result<u32> {
    u32::try_from(data.len()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

/// Address that the kernel reads from or writes to. It writes through the pointer only for [`Data::In`].
fn address(data: &mut Data<'_>) -> *mut u8 {
    match data {
        Data::None => ptr::null_mut(),
        Data::In(buffer) => buffer.as_mut_ptr(),
        Data::Out(bytes) => bytes.as_ptr().cast_mut(),
    }
}

/// Sends an admin command; gives the drive's status, 0 for success, and leaves dword 0 in `command.result`.
pub(super) fn nvme_admin(
    file: &File,
    command: &mut PassthruCommand,
    mut data: Data<'_>,
) -> io::Result<u16> {
    command.data_bytes = length(&data)?;
    // Widened by way of usize: on 32 bits the upper half is zero, as the kernel wants it.
    command.address = address(&mut data) as usize as u64;
    // SAFETY: the structure has the form that the ioctl reads and writes (its size is part of the request's number),
    // and lives through the call. The address is that of `data`, which is borrowed until the call ends, and is
    // `data_bytes` long; whether the kernel writes there or reads goes by the lowest bits of the opcode, which
    // `device.rs` holds against the kind of `data`. The kernel pins the pages only until the command has ended.
    let answer =
        unsafe { libc::ioctl(file.as_raw_fd(), NVME_IOCTL_ADMIN_CMD, ptr::from_mut(command)) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    // The kernel gives the status field of the completion, which has 15 bits.
    Ok((answer & 0x7fff) as u16)
}

/// Sends a SCSI command of at most 255 bytes.
pub(super) fn sg_io(
    file: &File,
    cdb: &[u8],
    mut data: Data<'_>,
    timeout_ms: u32,
) -> io::Result<SgAnswer> {
    let mut sense = [0_u8; SENSE_BYTES_MAX];
    let data_bytes = length(&data)?;
    let invalid = || io::Error::from_raw_os_error(libc::EINVAL);
    let mut header = SgHeader {
        interface_id: libc::c_int::from(b'S'),
        direction: match data {
            Data::None => -1,
            Data::Out(_) => -2,
            Data::In(_) => -3,
        },
        command_bytes: u8::try_from(cdb.len()).map_err(|_| invalid())?,
        sense_bytes_max: SENSE_BYTES_MAX as u8,
        iovec_count: 0,
        data_bytes,
        data: address(&mut data).cast(),
        command: cdb.as_ptr(),
        sense: sense.as_mut_ptr(),
        timeout_ms,
        flags: 0,
        pack_id: 0,
        user_pointer: ptr::null_mut(),
        status: 0,
        masked_status: 0,
        message_status: 0,
        sense_bytes: 0,
        host_status: 0,
        driver_status: 0,
        residual: 0,
        duration_ms: 0,
        info: 0,
    };
    // SAFETY: the header has the form of struct sg_io_hdr. Command, data and sense are borrowed until the call ends,
    // their lengths are given beside them, and the direction says that the kernel writes to the data only where they
    // are borrowed for writing. The call is synchronous: no pointer is kept after it.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), SG_IO, ptr::from_mut(&mut header)) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    let written = usize::from(header.sense_bytes).min(SENSE_BYTES_MAX);
    // A residual below zero, or above the whole, is a driver's mistake; then all counts as transferred.
    let residual = usize::try_from(header.residual).unwrap_or(0);
    Ok(SgAnswer {
        status: header.status,
        host: header.host_status,
        driver: header.driver_status,
        sense: sense[..written].to_vec(),
        transferred: data.len().checked_sub(residual).unwrap_or(data.len()),
    })
}
