//! A drive on the bench, with what it says of itself.

use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, bail};
use bench::consent;
use bench::engines;
use bench::opening::{self, Place, Visitor};
use block::{Bytes, DriveIdentity, DriveInfo, DriveKind, Environment};
use drives::{OpenDrive, OpenRequest, TargetSpec, TestFile};
use engine::{Bench, IoPath, TargetBench};
use linux::scratch::{self, ScratchFile};
use linux::sysfs::Roots;
use probe::Task;
use probe::claims::Claim;
use runner::exit::Refused;
use runner::messages;
use workload::content::SectorContent;
use workload::plan::Content;

/// A drive that is open.
pub struct Opened {
    /// Its identity.
    pub identity: DriveIdentity,
    /// Its engine: `io_uring`, `libaio`, `psync`, `virtual`.
    pub engine: String,
    /// True when it may be written to.
    pub may_write: bool,
    /// Sizes that it states.
    pub claims: Vec<Claim>,
    /// Speed classes that it states.
    pub classes: Vec<String>,
}

/// Does something with a drive on the bench.
pub type Work<'a, R> = &'a mut dyn FnMut(&mut dyn Bench, &Opened) -> Result<R>;

/// Opens what `place` names and lets `work` have it, as [`opening::open`] does.
///
/// # Errors
/// As [`opening::open`], and the errors of `work`.
pub fn with_bench<R>(
    place: Place<'_>,
    writes: Option<Bytes>,
    cancel: &AtomicBool,
    work: Work<'_, R>,
) -> Result<R> {
    let target = place.target;
    if *target == TargetSpec::Null {
        bail!("null: has no times of its own; name a device, a file or sim:usb-8m");
    }
    opening::note_without_effect(target, place.engine, place.cpus, &[]);
    opening::open(place, writes, &mut OnBench { cancel, work })
}

/// Sizes of the test file in a directory, of which the largest that fits is taken: random accesses are within a quarter.
const TEST_FILES: [Bytes; 3] = [Bytes::gib(1), Bytes::mib(512), Bytes::mib(256)];

/// True of a directory, and probes that work in a file as well.
pub fn takes_directory(place: Place<'_>, tasks: &[Task]) -> bool {
    matches!(tasks, [Task::SpeedClass]) && place.target.as_path().is_dir()
}

/// As [`with_bench`], with a test file in the directory that `place` names: nothing that is there is touched.
///
/// # Errors
/// When there can be no such file, and the errors of `work`.
pub fn in_directory<R>(
    place: Place<'_>,
    run_id: &str,
    cancel: &AtomicBool,
    work: Work<'_, R>,
) -> Result<R> {
    let (name, dir) = (place.target, place.target.as_path());
    scratch::may_create(dir).with_context(|| {
        format!("{name}: no test file can be made there; name a directory that you may write to")
    })?;
    for left in scratch::leftovers(dir).into_iter().filter(|left| left.is_ours) {
        let path = block::quoted(&left.path.to_string_lossy());
        messages::note(&format!(
            "an earlier run was killed and left a test file; to remove it: rm {path}"
        ));
    }
    let fits = |size: &Bytes| scratch::check_space(dir, *size).is_ok();
    let size = TEST_FILES.into_iter().find(fits).unwrap_or(TEST_FILES[2]);
    let shown = size.human();
    messages::note(&format!("{name}: writes a test file of {shown}, and removes it at the end"));
    let mut payload = SectorContent::new(Content::default(), place.seed.unwrap_or(1), u16::MAX);
    let file = ScratchFile::create(dir, size, run_id, &mut payload, &mut |_, _| {}, cancel)?;
    let request = OpenRequest {
        test_file: Some(TestFile { file: &file, top: dir }),
        cpus: place.cpus,
        ..OpenRequest::read(name, engines::chosen(name, place.engine))
    };
    let drive =
        drives::open(request).with_context(|| format!("{name}: its test file cannot be probed"))?;
    let OpenDrive { target, mut environment, identity, .. } = drive;
    let (mut claims, classes) = stated(target.info(), &*environment);
    // The size of the test file says nothing of the drive.
    let of_file = probe::claims::of_capacity(size);
    claims.retain(|claim| of_file.as_ref() != Some(claim));
    let mut driven = target.engine()?;
    let engine = driven.engine().to_owned();
    let opened = Opened { identity, engine, may_write: true, claims, classes };
    let done = work(&mut TargetBench::new(driven.io_path(), &mut *environment, cancel), &opened);
    drop(driven);
    let path = file.path().display().to_string();
    if let Err(error) = file.remove() {
        messages::note(&format!("the test file {path} could not be removed: {error}"));
    }
    done
}

struct OnBench<'a, 'b, R> {
    cancel: &'a AtomicBool,
    work: Work<'b, R>,
}

impl<R> Visitor for OnBench<'_, '_, R> {
    type Out = R;

    fn visit(
        &mut self,
        target: &mut dyn IoPath,
        environment: &mut dyn Environment,
        opened: &opening::Opened<'_>,
    ) -> Result<R> {
        let (claims, classes) = stated(target.info(), environment);
        let opened = Opened {
            identity: opened.identity.clone(),
            engine: opened.engine.clone(),
            may_write: opened.may_write,
            claims,
            classes,
        };
        (self.work)(&mut TargetBench::new(target, environment, self.cancel), &opened)
    }
}

/// Sizes and speed classes that a drive states.
fn stated(info: &DriveInfo, environment: &dyn Environment) -> (Vec<Claim>, Vec<String>) {
    let of_capacity = probe::claims::of_capacity(info.capacity_bytes);
    if info.kind == DriveKind::Virtual {
        return (of_capacity.into_iter().collect(), Vec::new());
    }
    let stated = linux::claims::of(&Roots::default(), environment.stack());
    let sizes = stated.sizes.into_iter().map(|claim| Claim {
        name: claim.name,
        meaning: claim.meaning.to_owned(),
        source: claim.source,
        bytes: claim.bytes,
    });
    let classes = stated.classes.into_iter().map(|class| class.name).collect();
    (sizes.chain(of_capacity).collect(), classes)
}

/// Refuses a verb that can do nothing without writing, when it may not.
///
/// # Errors
/// [`Refused`], with what to add.
pub fn must_write(place: Place<'_>, task: &Task) -> Result<()> {
    let is_put_back = matches!(task, Task::Capacity(options) if options.keeps);
    let is_full = matches!(task, Task::Capacity(options) if options.full);
    let verb = if is_full { "capacity --full" } else { task.word() };
    let is_own = takes_directory(place, std::slice::from_ref(task));
    let target = place.target;
    if target.is_virtual() || place.write || is_own {
        return Ok(());
    }
    opening::check_name(target, "probed")?;
    let size = linux::target::size_of(target.as_path()).ok();
    let most = size.and_then(|size| will_write(task, size));
    let most = most.map_or_else(String::new, |most| {
        format!(" up to {}", report::number::bytes(most.0 as f64))
    });
    Err(Refused(format!(
        "{target}: probe {verb} writes{most}, and {}; add {}",
        match (is_put_back, is_full) {
            (true, _) => "restores what it overwrote",
            (_, true) => "erases everything that the drive holds",
            _ => "what the drive holds is lost",
        },
        consent::flags_for(target.as_str())
    ))
    .into())
}

/// Bytes that a probe writes to a genuine drive of `size`, where that is known before; a fake takes more.
pub fn will_write(task: &Task, size: Bytes) -> Option<Bytes> {
    let Task::Capacity(options) = task else { return None };
    Some(Bytes(options.writes(size.0)))
}
