//! A laboratory of drives that a machine need not have: a kernel booted under emulation with NVMe, SCSI, ATA, USB
//! and SD drives, and scenarios that say what drivescope has to do with them.
//!
//! The host's side makes the parts of a boot ([`kernel`], [`modules`], [`tools`], [`initramfs`]), starts the
//! emulator ([`machine`], [`boot`]) and runs the scenarios of a boot one after the other ([`mod@run`]). The
//! guest's side ([`guest`]) is one program that runs scripts and reports their results. Both speak [`protocol`].

pub mod boot;
pub mod check;
pub mod cpio;
pub mod drive;
pub mod group;
pub mod guest;
pub mod initramfs;
pub mod kernel;
pub mod link;
pub mod machine;
pub mod matrix;
pub mod modules;
pub mod monitor;
pub mod outcome;
pub mod protocol;
pub mod reached;
pub mod run;
pub mod scenario;
pub mod tools;
pub mod volatile;
