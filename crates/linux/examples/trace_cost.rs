//! Cost of recording for the recorded I/O: reads of 4 KiB from one thread, without a recorder and with each
//! back end, in turn. Prints figures and asserts none.
//!
//!     cargo run --release -p drivescope-linux --example trace_cost DEVICE [READS] [ROUNDS]
//!
//! DEVICE is only read. A zram disk shows the highest possible cost: an I/O takes about a microsecond there.

use std::error::Error;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Instant;

use block::trace::{TraceEvent, TraceNote, TraceSink};
use drivescope_linux::sysfs::Roots;
use drivescope_linux::tracer::{self, Backend, Options, Subject};
use rustix::fs::OFlags;

/// Keeps nothing: what a sink does is its own affair.
struct Nowhere;

impl TraceSink for Nowhere {
    fn events(&mut self, _: &[TraceEvent]) {}
    fn note(&mut self, _: TraceNote) {}
}

/// Nanoseconds for each of `reads` reads at scattered places.
fn read(file: &File, pages: u64, reads: u64) -> Result<f64, Box<dyn Error>> {
    let mut memory = vec![0; 8192];
    let skip = memory.as_ptr().align_offset(4096);
    let buffer = &mut memory[skip..skip + 4096];
    let begun = Instant::now();
    for n in 0..reads {
        let page = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % pages;
        file.read_exact_at(buffer, page * 4096)?;
    }
    Ok(begun.elapsed().as_nanos() as f64 / reads as f64)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let device = arguments.next().ok_or("name a device")?;
    let reads: u64 = arguments.next().map_or(Ok(300_000), |text| text.parse())?;
    let rounds: usize = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let subject = Subject::find(&Roots::default(), Path::new(&device))?;
    let pages = subject.capacity.0 / 4096;
    let flags = OFlags::DIRECT.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(&subject.path)?;
    let ways: Vec<Option<Backend>> =
        std::iter::once(None).chain(Backend::ALL.into_iter().map(Some)).collect();
    let mut took = vec![Vec::new(); ways.len()];
    for _ in 0..rounds {
        for (way, took) in ways.iter().zip(&mut took) {
            let options = Options { backend: *way, ..Options::default() };
            let tracer = match way {
                None => None,
                Some(_) => match tracer::start(std::slice::from_ref(&subject), &options, Nowhere) {
                    Ok(tracer) => Some(tracer),
                    Err(error) => {
                        eprintln!("{error}");
                        continue;
                    }
                },
            };
            took.push(read(&file, pages, reads)?);
            if let Some(recorded) = tracer.map(|tracer| tracer.stop().1) {
                eprintln!(
                    "{}: {} events, {} lost",
                    recorded.backend, recorded.events, recorded.lost
                );
            }
        }
    }
    for (way, took) in ways.iter().zip(&mut took) {
        took.sort_by(f64::total_cmp);
        let name = way.map_or("none", Backend::word);
        match took.get(took.len() / 2) {
            Some(middle) => println!("{name:<12} {middle:8.0} ns/read ({:.0}/s)", 1e9 / middle),
            None => println!("{name:<12} not here"),
        }
    }
    Ok(())
}
