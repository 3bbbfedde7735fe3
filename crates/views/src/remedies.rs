//! Remedies in words: the sentence of each, and whose flags it names.

mod command;
mod fold;
mod run;
mod trace;
mod wording;

use std::borrow::Cow;

use block::{Bytes, quoted};
use stats::{Caveat, Remedy};

use wording::{Wording, plain, with_values};

/// Flags that allow writing to a drive whose own word of consent is not known.
pub const WRITE_FLAGS: &str = "--write --consent WORD";

/// Writes the remedies of caveats that have no sentence yet, before they become JSON.
pub fn write(caveats: &mut [Caveat]) {
    for caveat in caveats.iter_mut().filter(|caveat| caveat.sentence.is_none()) {
        set(caveat, WRITE_FLAGS);
    }
}

/// Writes the remedies of caveats about a drive that may be written to with `write_flags`, whether they have a sentence yet
/// or not.
pub fn write_for(caveats: &mut [Caveat], write_flags: &str) {
    caveats.iter_mut().for_each(|caveat| set(caveat, write_flags));
}

fn set(caveat: &mut Caveat, write_flags: &str) {
    if !matches!(caveat.remedy, Remedy::Words(_)) {
        caveat.sentence = Some(wording(&caveat.remedy, write_flags).sentence.into_owned());
    }
}

/// Caveats for people: with their remedies written, and those that are the same but for subjects and numbers as one.
pub fn written(caveats: &[Caveat]) -> Vec<Caveat> {
    let mut caveats = caveats.to_vec();
    write(&mut caveats);
    fold::folded(&caveats)
}

/// A remedy in one sentence.
pub fn words(remedy: &Remedy) -> String {
    wording(remedy, WRITE_FLAGS).sentence.into_owned()
}

/// The remedy of a caveat in one sentence.
pub fn sentence(caveat: &Caveat) -> Cow<'_, str> {
    match caveat.sentence() {
        "" => wording(&caveat.remedy, WRITE_FLAGS).sentence,
        sentence => Cow::Borrowed(sentence),
    }
}

/// Caveats that another verb prints than the one whose flags their remedies name: `whose` says which.
pub fn with_flags_of(whose: &str, caveats: &[Caveat]) -> Vec<Caveat> {
    let mut caveats = written(caveats);
    for caveat in caveats.iter_mut().filter(|caveat| names_flags(&caveat.remedy)) {
        caveat.sentence = Some(format!("{whose}: {}", caveat.sentence()));
    }
    caveats
}

/// True of remedies that name flags of the verb that made the run. Of older records the sentence alone is known.
fn names_flags(remedy: &Remedy) -> bool {
    match remedy {
        Remedy::Words(sentence) => sentence.contains("--"),
        _ => wording(remedy, WRITE_FLAGS).of_verb,
    }
}

fn wording(remedy: &Remedy, write_flags: &str) -> Wording {
    match remedy {
        Remedy::Words(sentence) => with_values(sentence.clone()),
        Remedy::Run(remedy) => run::wording(*remedy),
        Remedy::Trace(remedy) => trace::wording(*remedy),
        Remedy::Command(remedy) => command::wording(*remedy),
        Remedy::MoreRuns { runs } => {
            Wording { of_verb: true, ..with_values(format!("take --runs {runs} or more")) }
        }
        // It is not made for the user: a dataset stays, and is mounted, after the run.
        Remedy::UncachedDataset { dataset } => {
            let dataset = dataset.as_deref().unwrap_or("POOL");
            with_values(format!(
                "make a dataset that keeps only metadata in the cache, `zfs create -o primarycache=metadata -o compression=off {dataset}/drivescope`, measure its mount point, and afterwards `zfs destroy {dataset}/drivescope`"
            ))
        }
        Remedy::DirectLoop { device } => with_values(format!(
            "let the loop device read its file directly (losetup --direct-io=on /dev/{device}), or measure the drive itself"
        )),
        Remedy::ProveFlushes { volatile_cache } => {
            let honest = match volatile_cache {
                Some(true) => "capacitors keep the cache",
                Some(false) => "that is so",
                None => "each write is kept at once",
            };
            with_values(format!(
                "either {honest}, or a drive, host or daemon ignores flushes; only the maker's word or a power cut shows which"
            ))
        }
        Remedy::ShowRun { run_id, last_of_several } => {
            let of_them = if *last_of_several { ", for the last of them" } else { "" };
            with_values(format!("drivescope runs show {run_id} has the reason{of_them}"))
        }
        Remedy::WriteDriveOnce { drive, bytes, or_data_sheet } => with_values(format!(
            "write all {} of it once, which erases what it holds, and probe again: drivescope probe capacity {} --full \
             {write_flags}{}",
            Bytes(*bytes).about(),
            quoted(drive),
            data_sheet(*or_data_sheet)
        )),
        Remedy::FilledState { or_data_sheet } => with_values(format!(
            "name it with state=filled, for one that was written once{}",
            data_sheet(*or_data_sheet)
        )),
        Remedy::StateDirectIo { tool, log } => plain(match tool.as_str() {
            "fio" if *log => "give fio's JSON beside its log, which does not record it",
            "fio" => {
                "give the option a value (direct=1): fio's JSON leaves out those without one, and is buffered by default"
            }
            "diskspd" => "let it bypass the page cache (-Sh), and give its text or XML whole",
            _ => "take it from how the program was set up, or measure with drivescope mark",
        }),
        Remedy::MeasureByTime { tool } => plain(match tool.as_str() {
            "fio" => "measure by time (time_based, runtime) over a range beyond all caches",
            _ => "measure by time, over a range beyond all caches",
        }),
        Remedy::SeedPerRun { tool } => plain(match tool.as_str() {
            "fio" => "give each run a seed of its own (randrepeat=0)",
            "diskspd" => "give each run a seed of its own (-z)",
            _ => "give each run a seed of its own",
        }),
        Remedy::AddableLatencies { tool } => plain(match tool.as_str() {
            "fio" => "run fio with --output-format=json+, whose bins can be added up",
            _ => "import each run by itself, or measure with drivescope mark",
        }),
        Remedy::WriteOption { option } => with_values(format!("write {option}, if that is meant")),
        Remedy::AlignToBlock { bytes } => {
            with_values(format!("give diskspd -r with the block size, such as -r{bytes}"))
        }
        Remedy::SlopeLimit { percent } => {
            with_values(format!("give {percent:.2e}%, which is the SNIA's 10% over this window"))
        }
        Remedy::MoreOfLoad { missing: Some(missing) } => with_values(format!(
            "write more of the same load to the drive ({missing}), and judge all of it"
        )),
        Remedy::MoreOfLoad { missing: None } => {
            plain("write more of the same load to the drive, and judge all of it")
        }
    }
}

fn data_sheet(or_data_sheet: bool) -> &'static str {
    if or_data_sheet { ", or take the size from its data sheet" } else { "" }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use stats::remedy::Run;

    use super::*;

    // Breaks when a remedy has no sentence, or that of another one; when one is written as a sentence with a full stop,
    // which is added where it is printed; or when one names flags of its verb and does not say so.
    #[test]
    fn each_remedy_has_words_of_its_own() {
        let mut seen = BTreeSet::new();
        for remedy in Remedy::examples() {
            let wording = wording(&remedy, WRITE_FLAGS);
            let sentence = wording.sentence.as_ref();
            assert!(sentence.len() > 8 && !sentence.ends_with('.'), "{remedy:?}: {sentence}");
            assert!(seen.insert(sentence.to_owned()), "{remedy:?}: {sentence}");
            // Flags of other programs are in commands of theirs.
            let others =
                ["losetup --", "blockdev --", "--full --write", "hdparm: --", "fio with --"];
            let others =
                others.into_iter().chain(["ezFIO without --", "TKperf --", "mark --dsync"]);
            let is_other = others.into_iter().any(|words| sentence.contains(words));
            let names = sentence.contains("--") && !is_other;
            assert_eq!(wording.of_verb, names, "{remedy:?}: {sentence}");
        }
    }

    // Breaks when the guide lacks a code, or lists one that there is not.
    #[test]
    fn the_guide_lists_all_codes() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/remedies.md");
        let page = std::fs::read_to_string(page).unwrap();
        let (_, tables) = page.split_once("## With values").unwrap();
        let row = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
        let listed: BTreeSet<String> = tables.lines().filter_map(row).collect();
        let all = Remedy::examples();
        let codes: BTreeSet<String> =
            all.iter().filter_map(Remedy::code).map(str::to_owned).collect();
        assert_eq!(listed, codes);
    }

    // Breaks when a survey prints flags as its own that belong to the verb of a part, puts that verb before commands that
    // are whole, or does either with documents of older versions otherwise than those did.
    #[test]
    fn flags_are_those_of_the_verb_that_made_the_run() {
        let of = |remedy: Remedy| {
            let caveats = [Caveat::new("a", "b", "c", remedy)];
            with_flags_of("with drivescope mark", &caveats)[0].sentence().to_owned()
        };
        assert_eq!(of(Remedy::MoreRuns { runs: 6 }), "with drivescope mark: take --runs 6 or more");
        let own = of(Run::LongerDuration.into());
        assert_eq!(own, "with drivescope mark: take a longer --duration");
        assert_eq!(of(Run::MeasureDrive.into()), "measure the drive itself");
        let looped = of(Remedy::DirectLoop { device: "loop3".to_owned() });
        assert!(looped.starts_with("let the loop device read its file directly"), "{looped}");
        let old = |words: &str| of(Remedy::Words(words.to_owned()));
        assert_eq!(old("take --runs 7"), "with drivescope mark: take --runs 7");
        assert_eq!(old("measure the drive"), "measure the drive");
    }

    // Breaks when a command that writes lacks the flags that this drive needs, or when a sentence of a record is replaced.
    #[test]
    fn write_flags_are_those_of_the_drive() {
        let drive = "/dev/sda".to_owned();
        let remedy = Remedy::WriteDriveOnce { drive, bytes: 8 << 30, or_data_sheet: true };
        let mut caveats = vec![Caveat::new("a", "b", "c", remedy)];
        assert!(sentence(&caveats[0]).contains("--full --write --consent WORD, or"));
        write_for(&mut caveats, "--write --consent S1");
        let end = "drivescope probe capacity /dev/sda --full --write --consent S1, or take the size from its data sheet";
        assert!(caveats[0].sentence().ends_with(end), "{}", caveats[0].sentence());
        write(&mut caveats);
        assert!(sentence(&caveats[0]).ends_with(end));
    }
}
