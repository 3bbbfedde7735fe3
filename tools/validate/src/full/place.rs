//! Places to be written as a whole: loop devices, over a file or over a drive in service.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result};
use block::Bytes;

use super::Turn;
use crate::binary::Binary;
use crate::loop_device::{LoopDevice, prepare, read_trimmed};
use crate::serve::server::Server;
use crate::stop;

/// Name of our program in the table.
pub const FULL: &str = "--full";

/// A place before it is made.
pub struct Spec {
    pub name: &'static str,
    /// Virtual drive; of a file otherwise.
    pub model: Option<&'static str>,
    /// Stated and real size.
    pub claimed: u64,
    pub real: u64,
    /// The only bytes that it does not keep: where they begin, and their count.
    pub bad: Option<(u64, u64)>,
    /// Its virtual drive keeps its data in a file, since memory would not hold them.
    pub stored: bool,
    /// f3probe tries it too.
    pub probed: bool,
    /// Rates are compared here, in as many rounds as are asked for; in two otherwise.
    pub paired: bool,
}

/// A virtual drive of 32 MiB or 64 MiB takes the seconds that it would take; the last one is as fast as the machine.
pub const PLACES: [Spec; 4] = [
    Spec {
        name: "loop device over a file of 4 GiB",
        model: None,
        claimed: 4 << 30,
        real: 4 << 30,
        bad: None,
        stored: false,
        probed: true,
        paired: true,
    },
    Spec {
        name: "served fake of 64 MiB that has 24 MiB",
        model: Some(
            "fake-64g?capacity=64MiB&faults.real_capacity_bytes=25165824&faults.beyond=lose",
        ),
        claimed: 64 << 20,
        real: 24 << 20,
        bad: None,
        stored: false,
        probed: true,
        paired: true,
    },
    Spec {
        name: "served card of 32 MiB",
        model: Some("sdcard-4m?capacity=32MiB"),
        claimed: 32 << 20,
        real: 32 << 20,
        bad: None,
        stored: false,
        probed: true,
        paired: true,
    },
    Spec {
        name: "served drive of 8 GiB with a bad block of 4 KiB",
        model: Some("optane?capacity=8GiB&faults.corrupt=5368750080+4096"),
        claimed: 8 << 30,
        real: 8 << 30,
        bad: Some((5_368_750_080, 4096)),
        stored: true,
        probed: false,
        paired: false,
    },
];

/// A place that can be written. Fields are dropped in order: the device before what it lies on.
pub struct Place {
    pub spec: &'static Spec,
    pub device: LoopDevice,
    server: Option<Server>,
    /// Directory for what is needed beside it.
    pub work: PathBuf,
}

impl Place {
    /// Puts a place up.
    ///
    /// # Errors
    /// Those of [`Server::start`] and [`LoopDevice::attach_writable`].
    pub fn make(spec: &'static Spec, work: &Path, binary: &Binary) -> Result<Place> {
        let (server, backing) = match spec.model {
            Some(model) => {
                let store = work.to_string_lossy();
                let flags = if spec.stored { &["--store", &*store][..] } else { &[] };
                let server = Server::with(binary, model, flags)?;
                let file = server.file().to_owned();
                (Some(server), file)
            }
            None => {
                let image = work.join("image");
                // Written before, so that no program under test pays for allocating blocks.
                prepare(&image, Bytes(spec.claimed), &*stop::stop_flag()?)?;
                (None, image)
            }
        };
        let device = LoopDevice::attach_writable(&backing)?;
        Ok(Place { spec, device, server, work: work.to_owned() })
    }

    /// The place as it was made: a virtual drive that was written once is slower, which the next program would pay for.
    ///
    /// # Errors
    /// Those of [`Place::make`], and when the drive does not end its service well.
    pub fn renewed(self, binary: &Binary) -> Result<Place> {
        let Place { spec, device, server, work } = self;
        match server {
            None => Ok(Place { spec, device, server, work }),
            Some(server) => {
                drop(device);
                server.stop()?;
                Place::make(spec, &work, binary)
            }
        }
    }

    /// Bytes read and written so far, by the kernel's count.
    ///
    /// # Errors
    /// When sysfs does not give it.
    pub fn counted(&self) -> Result<(u64, u64)> {
        let name = self.device.path().file_name().unwrap_or_default();
        let text = read_trimmed(&Path::new("/sys/block").join(name).join("stat"))?;
        let field = |at: usize| text.split_ascii_whitespace().nth(at)?.parse::<u64>().ok();
        let sectors = field(2).zip(field(6)).context("no sectors in stat")?;
        Ok((sectors.0 * 512, sectors.1 * 512))
    }
}

/// `probe capacity --full` on a place.
///
/// # Errors
/// When it fails.
pub fn full(place: &Place, binary: &Binary) -> Result<Turn> {
    let device = place.device.path().to_string_lossy().into_owned();
    let word = device.trim_start_matches("/dev/").to_owned();
    // The filesystem that f3 left there in the round before.
    let allow = "--allow=signature:ext4";
    let words = ["probe", "capacity", &device, "--full", "--write", "--consent", &word, allow];
    let began = Instant::now();
    let body = binary.body(&words.map(str::to_owned))?;
    let seconds = began.elapsed().as_secs_f64();
    let Spec { name, real, bad, .. } = *place.spec;
    let value = body["findings"][0]["value"].as_u64();
    let full = &body["evidence"]["full"];
    let bytes = |name: &str| full[name].as_u64().unwrap_or_default();
    let first = full["bad"][0][0].as_u64();
    let said = match (value, first) {
        (Some(value), _) => format!("{value} bytes"),
        (None, Some(first)) => {
            format!("damaged: {} bytes lost, the first at {first}", bytes("bad_bytes"))
        }
        (None, None) => "unknown".to_owned(),
    };
    let is_right = match bad {
        None => value == Some(real),
        Some((offset, len)) => {
            value.is_none()
                && first == Some(offset)
                && (bytes("bad_bytes"), bytes("bad_places")) == (len, 1)
        }
    };
    let (written, read) = (bytes("written_bytes"), bytes("verified_bytes"));
    Ok(Turn { place: name, round: 0, program: FULL, written, read, seconds, said, is_right })
}
