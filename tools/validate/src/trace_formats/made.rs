//! Files in the forms of published traces, with figures that are drawn.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context as _, Result};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Spc,
    Msr,
    Systor,
    Alibaba,
    Tencent,
    K5cloud,
}

/// One row, before it has a form.
struct Row {
    us: u64,
    disk: u64,
    write: bool,
    sector: u64,
    sectors: u64,
    took_us: u64,
}

impl Form {
    pub(super) const ALL: [Form; 6] =
        [Form::Spc, Form::Msr, Form::Systor, Form::Alibaba, Form::Tencent, Form::K5cloud];

    /// As `--format` has it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Form::Spc => "spc",
            Form::Msr => "msr",
            Form::Systor => "systor",
            Form::Alibaba => "alibaba",
            Form::Tencent => "tencent",
            Form::K5cloud => "k5cloud",
        }
    }

    /// Flags for details that the form leaves open and a drawn file cannot settle.
    pub(super) fn flags(self) -> &'static [&'static str] {
        &[]
    }

    pub(super) fn file_name(self) -> String {
        format!("{}.csv", self.word())
    }

    pub(super) fn has_head(self) -> bool {
        self == Form::Systor
    }

    fn write(self, row: &Row, to: &mut impl Write) -> std::io::Result<()> {
        let Row { us, disk, write, sector, sectors, took_us } = row;
        let (offset, length) = (sector * 512, sectors * 512);
        let (s, left_us) = (us / 1_000_000, us % 1_000_000);
        let pick = |read: &'static str, written: &'static str| if *write { written } else { read };
        match self {
            Form::Spc => {
                writeln!(to, "{disk},{sector},{length},{},{s}.{left_us:06}", pick("r", "w"))
            }
            Form::Msr => {
                // 22 February 2007, as Windows counts.
                let tick = 128_166_372_003_061_629 + us * 10;
                let (op, took) = (pick("Read", "Write"), took_us * 10);
                writeln!(to, "{tick},usr,{disk},{op},{offset},{length},{took}")
            }
            Form::Systor => {
                let (took_s, took_us) = (took_us / 1_000_000, took_us % 1_000_000);
                let (at, op) = (1_456_066_800 + s, pick("R", "W"));
                writeln!(
                    to,
                    "{at}.{left_us:06}000,{took_s}.{took_us:06}000,{op},{disk},{offset},{length}"
                )
            }
            Form::Alibaba => {
                writeln!(
                    to,
                    "{disk},{},{offset},{length},{}",
                    pick("R", "W"),
                    1_577_808_000_000_000 + us
                )
            }
            Form::Tencent => {
                writeln!(
                    to,
                    "{},{sector},{sectors},{},{}",
                    1_538_323_200 + s,
                    pick("0", "1"),
                    1_283 + disk
                )
            }
            Form::K5cloud => {
                writeln!(to, "{disk},{s}.{left_us:06},{},{offset},{length}", pick("R", "W"))
            }
        }
    }
}

/// Writes `rows` rows, and returns how many bytes they take.
pub(super) fn make(form: Form, rows: u64, path: &Path) -> Result<u64> {
    let made = || -> std::io::Result<u64> {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        if form.has_head() {
            writeln!(out, "Timestamp,Response,IOType,LUN,Offset,Size")?;
        }
        let mut dice = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut us = 0;
        for _ in 0..rows {
            let (first, second) = (dice.next_u64(), dice.next_u64());
            // Some 10,000 a second, each file as dense as the other.
            us += first % 200;
            let row = Row {
                us,
                disk: first >> 32 & 7,
                write: first >> 40 & 3 == 0,
                sector: (second % (1 << 25)) * 8,
                sectors: 8 << (second >> 32 & 3),
                took_us: 50 + (second >> 40) % 5_000,
            };
            form.write(&row, &mut out)?;
        }
        out.flush()?;
        Ok(out.get_ref().metadata()?.len())
    };
    made().with_context(|| format!("{}: cannot be made", path.display()))
}
