//! Recorded runs of one drive, whatever it is called.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, bail};
use block::{DriveIdentity, DriveKind, LeafIdentity};
use drives::{TargetSpec, VirtualSpec};
use linux::sysfs::Roots;
use record::{Run, Runs};
use runner::recorder::drive_words;
use runner::recorder::identity_of;

use crate::messages;

/// A drive as the user names it.
pub struct Named {
    name: String,
    /// The devices at the bottom, where the name is a path.
    leaves: Vec<LeafIdentity>,
    /// The path without links.
    path: Option<String>,
}

impl Named {
    /// Reads a serial number, world-wide identifier, model, path, or virtual drive's name. What there is at a path now decides
    /// which drive is meant: its serial number, not its name.
    pub fn new(name: &str) -> Named {
        let named = |path: Option<String>, leaves| Named { name: name.to_owned(), leaves, path };
        let Ok(real) = Path::new(name).canonicalize() else { return named(None, Vec::new()) };
        let roots = Roots::default();
        let leaves = linux::stack::resolve(&roots, &real).map_or(Vec::new(), |stack| {
            let identity = |leaf| linux::describe::leaf_identity(&roots, leaf);
            stack.leaves.iter().map(identity).collect()
        });
        named(Some(real.display().to_string()), leaves)
    }

    /// True when `identity` is of this drive.
    fn is(&self, identity: &DriveIdentity) -> bool {
        let name = self.name.as_str();
        if is_virtual(identity) {
            // With parameters that were not named it is one of several.
            let begins = |with: &str| {
                let rest = with.strip_prefix(name);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('?'))
            };
            let target = TargetSpec::of(&identity.name);
            let bare = target.as_virtual().map(VirtualSpec::bare);
            return begins(&identity.name) || bare.is_some_and(begins) || self.is_told(&target);
        }
        if self.path.as_ref().is_some_and(|path| *path == identity.name) && self.leaves.is_empty() {
            return true;
        }
        if !self.leaves.is_empty() {
            return identity
                .leaves
                .iter()
                .any(|leaf| self.leaves.iter().any(|now| same(leaf, now)));
        }
        let alike = |told: &Option<String>| {
            told.as_ref().is_some_and(|told| told.trim().eq_ignore_ascii_case(name))
        };
        identity.name == name
            || identity.leaves.iter().any(|leaf| {
                alike(&leaf.serial) || alike(&leaf.wwid) || alike(&leaf.model) || leaf.name == name
            })
    }

    /// True when the virtual drive `target` says that its model or serial number is this.
    fn is_told(&self, target: &TargetSpec) -> bool {
        // Of a model whose file is gone, nothing is known.
        let drive = target.as_virtual().map(VirtualSpec::describe);
        let Some(Ok(drive)) = drive else { return false };
        let told = [drive.info.model, drive.info.serial];
        told.iter().flatten().any(|told| told.trim().eq_ignore_ascii_case(&self.name))
    }

    /// Its recorded runs, oldest first. Runs whose records do not identify a drive are left out.
    ///
    /// # Errors
    /// When the runs cannot be listed.
    pub fn runs(&self, runs: &Runs) -> Result<Vec<(Run, DriveIdentity)>> {
        let mut found = Vec::new();
        for row in runs.list()?.runs.iter().rev() {
            let run = match runs.load(&row.id) {
                Ok(run) => run,
                Err(error) => {
                    messages::note(&format!(
                        "left out, for it cannot be read, whatever drive it is of: {error}"
                    ));
                    continue;
                }
            };
            let Ok(identity) = identity_of(&run) else { continue };
            if self.is(&identity) {
                found.push((run, identity));
            }
        }
        // A virtual drive that was named in full is that one, also where others have more parameters.
        if found.iter().any(|(_, identity)| is_virtual(identity) && identity.name == self.name) {
            found.retain(|(_, identity)| identity.name == self.name);
        }
        Ok(found)
    }

    /// The same, of one drive.
    ///
    /// # Errors
    /// When there is none, or when the name fits several.
    pub fn runs_of_one(&self, runs: &Runs) -> Result<Vec<(Run, DriveIdentity)>> {
        let found = self.runs(runs)?;
        let drives: BTreeSet<String> = found.iter().map(|(_, identity)| who(identity)).collect();
        let dir = runs.dir().display();
        let name = &self.name;
        if drives.is_empty() {
            bail!(
                "{name}: no recorded run in {dir} is of a drive that is called so; name it as `drivescope devices` does, by \
                 its serial number or its model, as drivescope runs list shows them (what was imported has no drive)"
            );
        }
        if drives.len() > 1 {
            let drives = drives.into_iter().collect::<Vec<_>>().join("; ");
            bail!("{name}: is several drives: {drives}; name one of them");
        }
        Ok(found)
    }
}

fn is_virtual(identity: &DriveIdentity) -> bool {
    matches!(identity.kind, DriveKind::Virtual | DriveKind::Null)
}

/// A device with a serial number or a world-wide identifier is known by that, another by its name and size.
fn same(a: &LeafIdentity, b: &LeafIdentity) -> bool {
    match (&a.serial, &b.serial, &a.wwid, &b.wwid) {
        (Some(a), Some(b), ..) | (None, None, Some(a), Some(b)) => a == b,
        (None, None, None, None) => (&a.name, a.size_bytes) == (&b.name, b.size_bytes),
        _ => false,
    }
}

/// Describes the drive distinctly: [`drive_words`], and serial numbers of the devices.
pub fn who(identity: &DriveIdentity) -> String {
    let known = |leaf: &LeafIdentity| {
        let known = leaf.serial.as_ref().or(leaf.wwid.as_ref());
        known.map(|known| known.trim().to_owned())
    };
    let known: Vec<String> = identity.leaves.iter().filter_map(known).collect();
    match known.is_empty() {
        true => drive_words(identity),
        false => format!("{} ({})", drive_words(identity), known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Bytes;

    fn of(kind: DriveKind, name: &str, leaves: Vec<LeafIdentity>) -> DriveIdentity {
        DriveIdentity {
            kind,
            name: name.to_owned(),
            capacity_bytes: Bytes::gib(1),
            filesystem: None,
            filesystem_id: None,
            inode: None,
            part: None,
            leaves,
        }
    }

    fn disk(name: &str, serial: Option<&str>) -> LeafIdentity {
        LeafIdentity {
            name: name.to_owned(),
            model: Some("DISK 4000 ".to_owned()),
            serial: serial.map(str::to_owned),
            wwid: None,
            size_bytes: Bytes::gib(4),
        }
    }

    fn named(name: &str) -> Named {
        Named { name: name.to_owned(), leaves: Vec::new(), path: None }
    }

    // A history in which two drives are mixed says that the one became the other.
    #[test]
    fn a_drive_is_known_by_its_serial_number_and_not_by_its_place() {
        let sda = of(DriveKind::BlockDevice, "/dev/sda", vec![disk("sda", Some("A1"))]);
        let later = of(DriveKind::File, "/mnt/x", vec![disk("sdc", Some("A1"))]);
        let other = of(DriveKind::BlockDevice, "/dev/sda", vec![disk("sda", Some("B2"))]);
        for name in ["a1", "A1"] {
            let named = named(name);
            assert!(named.is(&sda) && named.is(&later) && !named.is(&other), "{name}");
        }
        let here = Named { leaves: vec![disk("sdb", Some("A1"))], ..named("/dev/sdb") };
        assert!(here.is(&sda) && here.is(&later) && !here.is(&other));
        assert!(named("disk 4000").is(&sda) && named("disk 4000").is(&other));
        let nameless = |name| disk(name, None);
        assert!(same(&nameless("vda"), &nameless("vda")));
        assert!(!same(&nameless("vda"), &nameless("vdb")));
        assert!(!same(&nameless("vda"), &disk("vda", Some("A1"))));
    }

    #[test]
    fn a_virtual_drive_is_its_name_with_all_that_was_said() {
        let drive = of(DriveKind::Virtual, "sim:hdd-wd?seed=3", Vec::new());
        assert!(named("sim:hdd-wd").is(&drive) && named("sim:hdd-wd?seed=3").is(&drive));
        assert!(named("hdd-wd").is(&drive) && named("drivescope hdd wd 4tb").is(&drive));
        assert!(!named("hdd").is(&drive) && !named("drivescope HDD 4TB").is(&drive));
        assert!(!named("sim:hdd").is(&drive) && !named("sim:hdd-wd?seed=30").is(&drive));
    }
}
