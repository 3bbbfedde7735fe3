//! Values that are offered in one place of a command line.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use block::Bytes;
use block::text::harmless;
use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter as _};
use drives::TargetSpec;
use linux::sysfs::{BlockNode, Roots};
use linux::target::EngineKind;
use linux::{devices, purge, scheduler, signature};
use mark::Profile;
use mark::sweep::Factor;
use record::Runs;
use trace::analyze::Lens;
use trace::import::{AddressUnit, Format, ReadFlag, SpaceRule, TimeUnit};

type Offered = Vec<CompletionCandidate>;

/// A value with its description.
pub(super) fn word(text: impl Into<String>, said: impl Into<String>) -> CompletionCandidate {
    let said: String = said.into();
    let said = Some(harmless(&said).into_owned()).filter(|said| !said.is_empty());
    CompletionCandidate::new(text.into()).help(said.map(Into::into))
}

/// Those that begin with what was typed.
pub(super) fn beginning(typed: &OsStr, offered: Offered) -> Offered {
    let typed = typed.to_string_lossy();
    let begins = |c: &CompletionCandidate| c.get_value().to_string_lossy().starts_with(&*typed);
    offered.into_iter().filter(begins).collect()
}

fn words(typed: &OsStr, words: &[&str]) -> Offered {
    beginning(typed, words.iter().map(|word| CompletionCandidate::new(*word)).collect())
}

fn described(typed: &OsStr, words: &[(&str, &str)]) -> Offered {
    beginning(typed, words.iter().map(|(text, said)| word(*text, *said)).collect())
}

/// All but what cannot be measured: terminals, sockets, pipes, devices without a medium.
fn is_of_use(path: &Path) -> bool {
    let kind = fs::metadata(path).map(|meta| meta.file_type());
    kind.is_ok_and(|kind| kind.is_dir() || kind.is_file()) || is_block_device(path)
}

/// Of a size: loop devices without a file are none.
fn is_block_device(path: &Path) -> bool {
    let is_one = fs::metadata(path).is_ok_and(|meta| meta.file_type().is_block_device());
    let node = || BlockNode::by_dev_path(&Roots::default(), path);
    is_one && node().is_none_or(|node| node.size() > Bytes::ZERO)
}

/// Files, directories and block devices.
pub(super) fn paths(typed: &OsStr) -> Offered {
    PathCompleter::any().filter(is_of_use).complete(typed)
}

/// Files and block devices. Directories lead there.
fn files(typed: &OsStr) -> Offered {
    PathCompleter::any().filter(|path| is_of_use(path) && !path.is_dir()).complete(typed)
}

/// Block devices below the directory that was typed; none without one, since any directory might lead to them.
fn block_devices(typed: &OsStr) -> Offered {
    match typed.to_string_lossy().contains('/') {
        true => PathCompleter::any().filter(is_block_device).complete(typed),
        false => Vec::new(),
    }
}

pub(super) fn directories(typed: &OsStr) -> Offered {
    PathCompleter::dir().complete(typed)
}

pub(super) fn virtual_drives(typed: &OsStr) -> Offered {
    let models = sim::list().into_iter().map(|m| word(format!("sim:{}", m.name), m.summary));
    beginning(typed, models.collect())
}

fn null(typed: &OsStr) -> Offered {
    described(typed, &[("null:", "no drive: what measuring itself costs")])
}

/// A count has the name of something else.
pub(super) fn nothing(_: &OsStr) -> Offered {
    Vec::new()
}

/// The disks of this machine, as what was typed begins: by path or by name.
pub(super) fn disks(typed: &OsStr) -> Offered {
    let disks = devices::names(&Roots::default()).into_iter();
    let by_name = !typed.is_empty() && !typed.to_string_lossy().starts_with('/');
    let offered = disks.map(|(path, model)| {
        let name = path.strip_prefix("/dev").ok().filter(|_| by_name).unwrap_or(&path);
        word(name.display().to_string(), model.unwrap_or_default())
    });
    beginning(typed, offered.collect())
}

/// Disks, and all of `others` that is none of them.
fn disks_and(typed: &OsStr, others: impl IntoIterator<Item = CompletionCandidate>) -> Offered {
    let by_path = typed.is_empty() || typed.to_string_lossy().starts_with('/');
    let mut offered = if by_path { disks(typed) } else { Vec::new() };
    let known: Vec<_> = offered.iter().map(|disk| disk.get_value().to_owned()).collect();
    let is_new = |other: &CompletionCandidate| !known.iter().any(|disk| disk == other.get_value());
    offered.extend(others.into_iter().filter(is_new));
    offered
}

/// Directories, files, block devices, virtual drives.
pub(super) fn targets(typed: &OsStr) -> Offered {
    let others = virtual_drives(typed).into_iter().chain(null(typed)).chain(paths(typed));
    disks_and(typed, others)
}

/// Files, block devices, virtual drives.
pub(super) fn drives(typed: &OsStr) -> Offered {
    disks_and(typed, virtual_drives(typed).into_iter().chain(files(typed)))
}

/// The same, and the null drive.
pub(super) fn drives_and_null(typed: &OsStr) -> Offered {
    let others = virtual_drives(typed).into_iter().chain(null(typed)).chain(files(typed));
    disks_and(typed, others)
}

/// Block devices and virtual drives.
pub(super) fn whole_drives(typed: &OsStr) -> Offered {
    disks_and(typed, virtual_drives(typed).into_iter().chain(block_devices(typed)))
}

/// Targets of `trace record`: no virtual drives.
pub(super) fn recordable(typed: &OsStr) -> Offered {
    disks_and(typed, paths(typed))
}

/// Targets of `health`: also paths on a drive, and commands that were recorded.
pub(super) fn health_sources(typed: &OsStr) -> Offered {
    let recorded = described(typed, &[("commands:", "what a drive answered, from a file")]);
    let others = virtual_drives(typed).into_iter().chain(recorded).chain(paths(typed));
    disks_and(typed, others)
}

pub(super) fn sides(typed: &OsStr) -> Offered {
    recorded(typed).into_iter().chain(targets(typed)).collect()
}

/// Recorded runs, and documents in files.
pub(super) fn runs(typed: &OsStr) -> Offered {
    recorded(typed).into_iter().chain(paths(typed)).collect()
}

fn recorded(typed: &OsStr) -> Offered {
    let dir = record::default_dir(|name| std::env::var_os(name));
    let ids = dir.and_then(|dir| Runs::at(dir).ids().ok()).unwrap_or_default();
    let mut offered = Vec::new();
    if !ids.is_empty() {
        offered.push(word("last", "the newest run"));
    }
    offered.extend(ids.iter().map(|id| CompletionCandidate::new(id.as_str())));
    beginning(typed, offered)
}

/// Models with or without `sim:`, and files of own ones.
pub(super) fn models(typed: &OsStr) -> Offered {
    let bare = sim::list().into_iter().map(|m| word(m.name, m.summary)).collect();
    let mut offered = beginning(typed, bare);
    if TargetSpec::of(&typed.to_string_lossy()).is_virtual() {
        offered.extend(virtual_drives(typed));
    }
    offered.extend(paths(typed));
    offered
}

pub(super) fn engines(typed: &OsStr) -> Offered {
    words(typed, &["auto", "io_uring", "libaio", "psync"])
}

/// Hazards for --allow. Kinds of signatures are many; they are offered behind `signature:`.
pub(super) fn hazards(typed: &OsStr) -> Offered {
    let one = "signature:";
    if !typed.to_string_lossy().starts_with(one) {
        let said = [
            ("partitions", "a partition table and its partitions"),
            (one, "a filesystem or the like, by its kind"),
            ("unknown:users", "other users, where they cannot be seen"),
            ("unknown:content", "what bad blocks or a table that cannot be read hide"),
        ];
        return described(typed, &said);
    }
    let kinds = signature::kinds().into_iter();
    beginning(typed, kinds.map(|kind| CompletionCandidate::new(format!("{one}{kind}"))).collect())
}

pub(super) fn spans(typed: &OsStr) -> Offered {
    described(typed, &[("all", "from the first byte to the last")])
}

/// The tests of the profiles.
pub(super) fn tests(typed: &OsStr) -> Offered {
    let profiles =
        [Profile::Default, Profile::Nvme, Profile::Peak, Profile::RealWorld, Profile::Commit];
    let tests =
        profiles.into_iter().flat_map(Profile::tests).map(|test| test.to_string().replace(' ', ""));
    let mut tests: Vec<String> = tests.collect();
    tests.sort();
    tests.dedup();
    beginning(typed, tests.into_iter().map(CompletionCandidate::new).collect())
}

const OPERATIONS: [&str; 3] = ["read", "write", "mix70"];

pub(super) fn operations(typed: &OsStr) -> Offered {
    words(typed, &OPERATIONS)
}

/// A factor, and behind it the levels that are words.
pub(super) fn factors(typed: &OsStr) -> Offered {
    let text = typed.to_string_lossy();
    let Some((factor, levels)) = text.split_once('=') else {
        let factors = Factor::ALL.map(|factor| format!("{}=", factor.word()));
        return beginning(typed, factors.map(CompletionCandidate::new).into());
    };
    let engines = EngineKind::ALL.map(|engine| engine.word());
    let known: &[&str] = match Factor::ALL.into_iter().find(|known| known.word() == factor) {
        Some(Factor::Pattern) => &["seq", "rnd"],
        Some(Factor::Op) => &OPERATIONS,
        Some(Factor::Order) => &["blocked", "interleaved"],
        Some(Factor::Engine) => &engines,
        _ => &[],
    };
    let last = levels.rsplit(',').next().unwrap_or_default();
    let before = &text[..text.len() - last.len()];
    let offered = known.iter().filter(|level| level.starts_with(last));
    offered.map(|level| CompletionCandidate::new(format!("{before}{level}"))).collect()
}

pub(super) fn methods(typed: &OsStr) -> Offered {
    let methods = purge::Method::ALL.map(purge::Method::word);
    words(typed, &[&["auto"][..], &methods].concat())
}

pub(super) fn secure_erases(typed: &OsStr) -> Offered {
    described(typed, &[("0", "none"), ("1", "user data"), ("2", "cryptographic")])
}

pub(super) fn sanitizings(typed: &OsStr) -> Offered {
    words(typed, &["block", "crypto", "overwrite"])
}

/// Runs of each test that are exported.
pub(super) fn repetitions(typed: &OsStr) -> Offered {
    described(
        typed,
        &[("median", "of each test"), ("best", "of each test"), ("all", "a directory each")],
    )
}

pub(super) fn rules(typed: &OsStr) -> Offered {
    let said = [
        ("pts", "five rounds of the specification"),
        ("bytes", "windows of the range without drift"),
        ("2fills", "a number of fills, steady or not"),
    ];
    described(typed, &said)
}

pub(super) fn lenses(typed: &OsStr) -> Offered {
    words(typed, &Lens::ALL.map(Lens::word))
}

pub(super) fn formats(typed: &OsStr) -> Offered {
    words(typed, &Format::ALL.map(Format::word))
}

pub(super) fn time_units(typed: &OsStr) -> Offered {
    words(typed, &TimeUnit::ALL.map(TimeUnit::word))
}

pub(super) fn read_flags(typed: &OsStr) -> Offered {
    words(typed, &ReadFlag::ALL.map(ReadFlag::word))
}

pub(super) fn address_units(typed: &OsStr) -> Offered {
    words(typed, &AddressUnit::ALL.map(AddressUnit::word))
}

pub(super) fn spaces(typed: &OsStr) -> Offered {
    words(typed, &SpaceRule::ALL.map(SpaceRule::word))
}

/// Those of this machine's disks.
pub(super) fn schedulers(typed: &OsStr) -> Offered {
    let roots = Roots::default();
    let disks = devices::names(&roots).into_iter();
    let choices = disks.filter_map(|(path, _)| scheduler::choices(&roots, &path));
    let mut names: Vec<String> = choices.flat_map(|choices| choices.all).collect();
    names.sort();
    names.dedup();
    beginning(typed, names.into_iter().map(CompletionCandidate::new).collect())
}

/// Those of `words` that begin with what was typed.
pub(super) fn these(typed: &OsStr, words: &[String]) -> Offered {
    beginning(typed, words.iter().map(CompletionCandidate::new).collect())
}
