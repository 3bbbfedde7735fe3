//! A drive's counters around a measurement: what can be asked between two runs without disturbing either.

use std::fmt;

use block::health::NvmeController;
use block::{Bytes, Endurance};

use super::{Manner, Protocol, Subject, nvme};
use crate::passthrough::nvme::identify;
use crate::passthrough::{CommandError, Commands};
use crate::sysfs::Roots;

/// Values that a drive reports at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// Composite temperature in degrees Celsius.
    pub temperature_c: Option<i32>,
    /// Evidence of thermal throttling, as a count that only grows: transitions into thermal management, and
    /// minutes at or above the warning and critical temperatures. Most drives that throttle keep only one of these.
    pub throttle_events: u64,
    /// Errors of the medium in the drive's life: data that was lost or damaged.
    pub media_errors: Option<u64>,
    /// Writes to the drive and to its media, as the drive counts them; `None` when it does not count the latter.
    pub endurance: Option<Endurance>,
}

/// Source of a drive's count of writes to its media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Media {
    Uncounted,
    Ocp,
    Group(u16),
}

/// An NVMe drive, held open to be read again and again: by one command, or two where it counts the writes to its
/// medium.
///
/// Drives of other kinds are not watched. ATA and SCSI count nothing of throttling, and the commands that they are
/// asked with wait for, or hold up, the I/O that is measured.
pub struct Watch {
    commands: Box<dyn Commands>,
    controller: NvmeController,
    media: Media,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("name", &self.commands.name()).finish_non_exhaustive()
    }
}

impl Watch {
    /// Opens the leaf of this kernel name.
    ///
    /// # Errors
    /// Why it is not watched, in words.
    pub fn open(roots: &Roots, leaf: &str) -> Result<Watch, String> {
        let subject =
            Subject::find(roots, leaf).ok_or("it is not a block device of this machine")?;
        let Some(Protocol::Nvme(nsid)) = subject.protocol() else {
            return Err("only NVMe drives count it".to_owned());
        };
        let device = subject.open(roots, Manner::default())?;
        Watch::of(Box::new(device), nsid).map_err(|error| error.to_string())
    }

    /// Watches what `commands` lead to, an NVMe drive with its namespace `nsid`.
    ///
    /// # Errors
    /// [`CommandError`] when it cannot be asked.
    pub fn of(mut commands: Box<dyn Commands>, nsid: Option<u32>) -> Result<Watch, CommandError> {
        let controller = nvme::controller(&identify(&mut commands, 1, 0)?);
        let media = media(&mut commands, &controller, nsid)?;
        let mut watch = Watch { commands, controller, media };
        // So that a drive, or a user, that does not get an answer is known before the first run.
        watch.read()?;
        Ok(watch)
    }

    /// Asks once.
    ///
    /// # Errors
    /// [`CommandError`] when there is no answer: the drive has gone, or is being reset.
    pub fn read(&mut self) -> Result<Reading, CommandError> {
        let smart = nvme::smart_log(&mut self.commands, &self.controller)?;
        let counts = [
            smart.light_throttle_events,
            smart.heavy_throttle_events,
            smart.warning_temperature_minutes,
            smart.critical_temperature_minutes,
        ];
        let host = nvme::units(smart.data_units_written);
        Ok(Reading {
            temperature_c: nvme::celsius(smart.temperature_k),
            throttle_events: counts.into_iter().map(u64::from).sum(),
            media_errors: Some(smart.media_errors),
            endurance: self.endurance(host)?,
        })
    }

    /// Both counts of one kind: an endurance group's are kept in thousands of millions of bytes, and to set the one
    /// against the drive's finer count would make up writes that never were.
    fn endurance(&mut self, host: Option<Bytes>) -> Result<Option<Endurance>, CommandError> {
        let (host, media) = match self.media {
            Media::Uncounted => return Ok(None),
            Media::Ocp => {
                let page = nvme::ocp_page(&mut self.commands, &self.controller)?;
                (host, page.and_then(|page| page.media_write_bytes))
            }
            Media::Group(id) => {
                let group = nvme::group_of(&mut self.commands, &self.controller, id)?;
                (group.host_write_bytes, group.media_write_bytes)
            }
        };
        let both = host.zip(media);
        Ok(both.map(|(host_write_bytes, media_write_bytes)| Endurance {
            host_write_bytes,
            media_write_bytes,
        }))
    }
}

fn media(
    commands: &mut Box<dyn Commands>,
    controller: &NvmeController,
    nsid: Option<u32>,
) -> Result<Media, CommandError> {
    if nvme::ocp_log(commands, controller)?.is_some_and(|page| page.media_write_bytes.is_some()) {
        return Ok(Media::Ocp);
    }
    let Some(nsid) = nsid.filter(|_| controller.has_endurance_groups) else {
        return Ok(Media::Uncounted);
    };
    let group = nvme::namespace(&identify(commands, 0, nsid)?, nsid).endurance_group;
    if group == 0 {
        return Ok(Media::Uncounted);
    }
    let told = nvme::group_of(commands, controller, group)?.media_write_bytes.is_some();
    Ok(if told { Media::Group(group) } else { Media::Uncounted })
}
