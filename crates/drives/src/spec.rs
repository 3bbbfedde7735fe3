//! Targets as users name them, parsed once: from the command line on a target is a value, and nothing outside this
//! crate looks at how its name begins.

use std::fmt::{Display, Formatter};
use std::path::Path;
use std::str::FromStr;

use block::Bytes;
use sim::{ModelDescription, SimError, VirtualTarget};

/// Beginning of the name of every virtual drive.
const SIM: &str = "sim:";
/// Name of the drive that transfers nothing.
const NULL: &str = "null:";

/// Target of a command.
///
/// Its text is kept as it was typed: [`Display`] gives it back, and so do messages and records. Letters are compared as
/// they are, so `SIM:x` and `Null:` are paths, like every other text that begins with neither `sim:` nor is `null:`.
/// Nothing is looked up: neither has a path to exist nor a virtual drive to have a known model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetSpec {
    /// Virtual drive.
    Virtual(VirtualSpec),
    /// `null:`, the drive that transfers nothing.
    Null,
    /// Directory, file or block device, or an empty name, which leads nowhere. UTF-8: messages and records repeat it.
    Path(String),
}

impl TargetSpec {
    /// The target of this name, from wherever it comes: a record or another program's command line may leave it empty.
    /// The command line of drivescope is parsed by [`FromStr`], which refuses that.
    pub fn of(name: &str) -> TargetSpec {
        match VirtualSpec::named(name) {
            Some(spec) => TargetSpec::Virtual(spec),
            None if name == NULL => TargetSpec::Null,
            None => TargetSpec::Path(name.to_owned()),
        }
    }

    /// The target of an argument that may be a path of any bytes; `None` of one that is not UTF-8, which is a path.
    pub fn of_argument(argument: &Path) -> Option<TargetSpec> {
        argument.to_str().map(TargetSpec::of)
    }

    /// The virtual drive that was meant, where its name was typed without `sim:` and nothing else has that name.
    pub fn meant(argument: &Path) -> Option<TargetSpec> {
        let name = argument.to_str()?;
        let model = name.split('?').next()?;
        let is_model = sim::list().iter().any(|known| known.name == model);
        (is_model && !argument.exists()).then(|| TargetSpec::Virtual(VirtualSpec::of_model(name)))
    }

    /// The name as it was typed.
    pub fn as_str(&self) -> &str {
        match self {
            TargetSpec::Virtual(spec) => spec.as_str(),
            TargetSpec::Null => NULL,
            TargetSpec::Path(path) => path,
        }
    }

    /// The name as a path. That of a virtual drive or of `null:` leads nowhere, unless a file is called so.
    pub fn as_path(&self) -> &Path {
        Path::new(self.as_str())
    }

    /// The virtual drive, where it is one.
    pub fn as_virtual(&self) -> Option<&VirtualSpec> {
        match self {
            TargetSpec::Virtual(spec) => Some(spec),
            TargetSpec::Null | TargetSpec::Path(_) => None,
        }
    }

    /// True of a virtual drive.
    pub fn is_virtual(&self) -> bool {
        matches!(self, TargetSpec::Virtual(_))
    }

    /// True of what the kernel is asked for and somebody may have data on; false of a virtual drive and of `null:`,
    /// which hold nothing of anybody's.
    pub fn is_real(&self) -> bool {
        matches!(self, TargetSpec::Path(_))
    }
}

impl Display for TargetSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// Refusal of a target without a name, such as a script's variable that is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a name is wanted, and this is empty")]
pub struct Unnamed;

impl FromStr for TargetSpec {
    type Err = Unnamed;

    fn from_str(text: &str) -> Result<TargetSpec, Unnamed> {
        if text.is_empty() { Err(Unnamed) } else { Ok(TargetSpec::of(text)) }
    }
}

/// Virtual drive as a user names it: `sim:MODEL?key=value&key=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualSpec {
    /// As it was typed, with `sim:`.
    text: String,
}

impl VirtualSpec {
    /// The virtual drive of this name, where that begins with `sim:`.
    fn named(name: &str) -> Option<VirtualSpec> {
        name.starts_with(SIM).then(|| VirtualSpec { text: name.to_owned() })
    }

    /// The virtual drive of a model that is named with or without `sim:` before it.
    pub fn of_model(model: &str) -> VirtualSpec {
        VirtualSpec::named(model).unwrap_or_else(|| VirtualSpec { text: format!("{SIM}{model}") })
    }

    /// The name as it was typed, with `sim:`.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The name without `sim:`: the model and its parameters.
    pub fn bare(&self) -> &str {
        self.text.strip_prefix(SIM).unwrap_or(&self.text)
    }

    /// True when its parameters name a seed.
    pub fn has_seed(&self) -> bool {
        self.text.contains("seed=")
    }

    /// Opens the drive.
    ///
    /// # Errors
    /// [`SimError`]: an unknown model, a file that cannot be read or has a fault, a parameter that is not one.
    pub fn open(&self) -> Result<VirtualTarget, SimError> {
        sim::open(&self.text)
    }

    /// Describes the drive: its model, and the truth about it.
    ///
    /// # Errors
    /// As [`VirtualSpec::open`].
    pub fn describe(&self) -> Result<ModelDescription, SimError> {
        sim::show(&self.text)
    }

    /// The capacity that was asked for, where the drive has less, `capacity`: its model consists of whole units.
    pub fn rounded_from(&self, capacity: Bytes) -> Option<Bytes> {
        sim::rounded_from(&self.text, capacity)
    }

    /// The name with the path of its model made absolute, where the model is a file that is there: so it leads to the
    /// same drive from every directory.
    pub fn absolute(&self) -> String {
        let bare = self.bare();
        let (path, parameters) = bare.split_at(bare.find('?').unwrap_or(bare.len()));
        let real = std::fs::canonicalize(path).ok().filter(|_| path.ends_with(".toml"));
        let real = real.and_then(|path| path.to_str().map(str::to_owned));
        real.map_or_else(|| self.text.clone(), |path| format!("{SIM}{path}{parameters}"))
    }
}

impl Display for VirtualSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.text)
    }
}

impl FromStr for VirtualSpec {
    type Err = Unnamed;

    fn from_str(model: &str) -> Result<VirtualSpec, Unnamed> {
        if model.is_empty() { Err(Unnamed) } else { Ok(VirtualSpec::of_model(model)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> TargetSpec {
        TargetSpec::Path(text.to_owned())
    }

    // Breaks when a message or a record names another target than was typed.
    #[test]
    fn a_target_is_shown_as_it_was_typed() {
        for text in [
            "sim:hdd-7200",
            "sim:",
            "sim:?x",
            "sim:./own.toml?seed=7&state=fresh",
            "null:",
            "/dev/sdb",
            ".",
            "../a b",
            "./sim:hdd-7200",
            "-",
        ] {
            let target: TargetSpec = text.parse().unwrap();
            assert_eq!(target.to_string(), text);
            assert_eq!(target.as_str(), text);
            assert_eq!(target.as_path(), Path::new(text));
            assert_eq!(TargetSpec::of(text), target);
            assert_eq!(TargetSpec::of_argument(Path::new(text)), Some(target));
        }
        assert_eq!(format!("{:>7}|", TargetSpec::Null), "  null:|");
    }

    // Breaks when a virtual drive is taken for a file, or a file for a virtual drive and written to without consent.
    #[test]
    fn only_sim_and_null_are_not_paths() {
        for text in ["sim:hdd-7200", "sim:", "sim:?x", "sim:sim:x", "sim:/dev/sdb", "sim: x"] {
            let target = TargetSpec::of(text);
            assert!(target.is_virtual() && !target.is_real(), "{text}");
            assert_eq!(target.as_virtual().unwrap().as_str(), text);
        }
        assert_eq!(TargetSpec::of("null:"), TargetSpec::Null);
        assert!(!TargetSpec::Null.is_real() && !TargetSpec::Null.is_virtual());
        for text in [
            "SIM:hdd-7200",
            "Sim:x",
            "NULL:",
            "Null:",
            "null",
            "sim",
            "null:x",
            "null: ",
            " null:",
            " sim:x",
            "./null:",
            "dir/sim:x",
            "pci-0000:00:1f.2",
            "/dev/disk/by-path/pci-0000:00:1f.2-ata-1",
            "commands:sda.commands",
        ] {
            let target = TargetSpec::of(text);
            assert_eq!(target, path(text));
            assert!(target.is_real() && target.as_virtual().is_none(), "{text}");
        }
    }

    #[test]
    fn a_name_that_is_empty_is_refused_where_it_is_typed() {
        let refused = "".parse::<TargetSpec>().unwrap_err();
        assert_eq!(refused.to_string(), "a name is wanted, and this is empty");
        assert_eq!("".parse::<VirtualSpec>(), Err(Unnamed));
        assert_eq!(TargetSpec::of(""), path(""));
        assert!(TargetSpec::of("").is_real());
    }

    // A path of other bytes is nothing else than a path, however it begins.
    #[test]
    fn an_argument_of_other_bytes_is_a_path() {
        use std::os::unix::ffi::OsStrExt as _;
        let argument = std::ffi::OsStr::from_bytes(b"sim:\xff");
        assert_eq!(TargetSpec::of_argument(Path::new(argument)), None);
    }

    #[test]
    fn a_model_is_named_with_or_without_sim() {
        for model in ["hdd-7200?seed=7", "sim:hdd-7200?seed=7"] {
            let spec: VirtualSpec = model.parse().unwrap();
            assert_eq!(spec.to_string(), "sim:hdd-7200?seed=7");
            assert_eq!(spec.bare(), "hdd-7200?seed=7");
            assert!(spec.has_seed());
        }
        assert_eq!(VirtualSpec::of_model("").as_str(), "sim:");
        assert_eq!(VirtualSpec::of_model("null:").as_str(), "sim:null:");
        assert_eq!(VirtualSpec::of_model("SIM:x").as_str(), "sim:SIM:x");
        assert!(!VirtualSpec::of_model("hdd-7200?capacity=1GB").has_seed());
    }

    #[test]
    fn a_virtual_drive_is_opened_and_described_by_its_name() {
        let spec = VirtualSpec::of_model("hdd-7200?seed=7");
        let capacity = spec.describe().unwrap().info.capacity_bytes;
        assert_eq!(block::Target::info(&spec.open().unwrap()).capacity_bytes, capacity);
        assert_eq!(spec.rounded_from(capacity), None);
        for broken in ["", "?x", "hdd-7200?seed", "no-such-model"] {
            assert!(VirtualSpec::of_model(broken).open().is_err(), "{broken}");
        }
    }

    // Breaks when a run is resumed from another directory and its virtual drive is not found.
    #[test]
    fn only_the_model_in_a_file_that_is_there_is_made_absolute() {
        let dir = tempfile::tempdir().unwrap();
        let real = std::fs::canonicalize(dir.path()).unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        for file in ["own.toml", "own"] {
            std::fs::write(dir.path().join(file), "").unwrap();
        }
        let (beside, real) = (dir.path().join("sub/.."), real.display());
        let absolute =
            |end: &str| VirtualSpec::of_model(&format!("{}/{end}", beside.display())).absolute();
        assert_eq!(absolute("own.toml"), format!("sim:{real}/own.toml"));
        assert_eq!(absolute("own.toml?seed=7"), format!("sim:{real}/own.toml?seed=7"));
        for other in ["own", "gone.toml"] {
            assert_eq!(absolute(other), format!("sim:{}/{other}", beside.display()));
        }
        assert_eq!(VirtualSpec::of_model("hdd-7200?seed=7").absolute(), "sim:hdd-7200?seed=7");
        assert_eq!(VirtualSpec::of_model("").absolute(), "sim:");
    }
}
