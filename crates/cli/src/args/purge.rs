//! Flags of `purge`.

use block::{EngineChoice, Nanos};
use clap::Args;
use drives::TargetSpec;
use instruments::purge::Settings;
use linux::purge::nvme::{Sanitizing, SecureErase};
use linux::purge::{Method, Wishes};
use runner::place::Keep;

use super::{PlaceArgs, ResultArgs, hazard, lasting};

/// `purge`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope purge /dev/nvme0n1 --dry-run      what it offers, and what would go
  sudo drivescope purge /dev/sdb --consent SERIAL
  sudo drivescope purge /dev/sdb --consent SERIAL --allow partitions
  sudo drivescope purge /dev/nvme0n1 --method nvme-format --consent SERIAL
  drivescope purge sim:mlc-nvme                a virtual drive

All that the drive holds is lost. The same places are read before and
afterwards, and what still reads as it did is said.

Exit codes: 0 done, and nothing speaks against it; 1 done, and something does,
or not done; 2 wrong use or environment; 3 refused for safety; 130 stopped by
Ctrl-C, with a report of how far it came.")]
pub struct PurgeArgs {
    /// Block device, or virtual drive (sim:mlc-nvme)
    pub device: TargetSpec,
    /// How: auto, nvme-sanitize, ata-erase, nvme-format, secure-discard, discard or zero
    #[arg(long, value_name = "METHOD", default_value = "auto", value_parser = method)]
    pub method: Asked,
    /// Secure erase of nvme-format: 0 none, 1 user data, 2 cryptographic [default: 1]
    #[arg(long, value_name = "N")]
    pub ses: Option<SecureErase>,
    /// Kind of nvme-sanitize: block, crypto or overwrite [default: the first of these
    /// that the drive can]
    #[arg(long, value_name = "KIND")]
    pub sanitize: Option<Sanitizing>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// How it is read, and written to by zero: auto, io_uring, libaio or psync
    #[arg(long, value_name = "ENGINE", default_value = "psync")]
    pub engine: EngineChoice,
    /// Longest time to wait for it [default: none]
    #[arg(long, value_name = "TIME", value_parser = lasting)]
    pub timeout: Option<Nanos>,
    /// Seed of the places that are read back [default: a fresh one, which is recorded]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub consent: PurgeConsentArgs,
    #[command(flatten)]
    pub output: PurgeOutputArgs,
}

impl PurgeArgs {
    /// The same, as the instrument takes it.
    ///
    /// # Errors
    /// When there is no randomness for a seed.
    pub fn settings(&self) -> anyhow::Result<Settings> {
        Ok(Settings {
            device: self.device.clone(),
            method: self.method.0,
            wishes: Wishes {
                secure_erase: self.ses.unwrap_or_default(),
                sanitizing: self.sanitize,
            },
            engine: self.engine,
            dry_run: self.dry_run,
            timeout: self.timeout,
            seed: runner::envelope::seed_of(self.seed)?,
            consent: self.consent.consent.clone(),
            allow: self.consent.allow.clone(),
            also: self.consent.also.clone(),
            keep: self.output.keep(),
            is_quiet: self.output.result.no_progress || self.output.result.json,
        })
    }

    /// A wish for one method is a mistake beside another.
    ///
    /// # Errors
    /// Which flag is for which method.
    pub fn check(&self) -> anyhow::Result<()> {
        let flags = [
            ("--ses", self.ses.is_some(), Method::NvmeFormat),
            ("--sanitize", self.sanitize.is_some(), Method::NvmeSanitize),
        ];
        for (flag, is_given, meant) in flags {
            if is_given && self.method.0.is_some_and(|method| method != meant) {
                anyhow::bail!("{flag} is for --method {meant}; leave one of the two out");
            }
        }
        Ok(())
    }
}

/// A method, or the best that there is.
#[derive(Clone, Copy, Debug)]
pub struct Asked(pub Option<Method>);

impl std::fmt::Display for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(method) => method.fmt(f),
            None => f.write_str("auto"),
        }
    }
}

/// Consent to losing all that is there.
#[derive(Debug, Args)]
#[command(next_help_heading = "Consent")]
pub struct PurgeConsentArgs {
    /// The drive's serial number or by-id name; without either, its kernel name
    #[arg(long, value_name = "WORD")]
    pub consent: Option<String>,
    /// Purge although the device carries this, such as partitions or signature:ext4
    #[arg(long, value_name = "HAZARD", value_delimiter = ',', value_parser = hazard)]
    pub allow: Vec<String>,
    /// Purge although this loses its data too, such as nvme0n2; all that is reached is named
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub also: Vec<String>,
}

/// How it is shown and recorded.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct PurgeOutputArgs {
    #[command(flatten)]
    pub result: ResultArgs,
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Keep no record of it
    #[arg(long, help_heading = "Record")]
    pub no_record: bool,
}

impl PurgeOutputArgs {
    /// Whether and where it is recorded; there are no single I/Os to keep.
    pub fn keep(&self) -> Keep {
        Keep {
            runs_dir: self.place.runs_dir.clone(),
            no_record: self.no_record,
            engine_refused: Some(bench::engines::refused),
            ..Keep::default()
        }
    }
}

/// A method by its name, or `auto`.
///
/// # Errors
/// Which names there are.
pub fn method(text: &str) -> Result<Asked, String> {
    if text == "auto" { Ok(Asked(None)) } else { text.parse().map(|method| Asked(Some(method))) }
}
