//! Runs leave for another machine and come back; and what was made to do harm stays outside.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::common::memory::Dice;
use crate::common::{document, head, id, rows, step, summary};
use drivescope_record::{Imported, Integrity, Limits, RecordError, Runs, SamplesFormat, State};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;
use tar::{Builder, EntryType, Header};

struct Place {
    root: tempfile::TempDir,
    runs: Runs,
}

fn place() -> Place {
    // In memory where there is such a place: hundreds of imports, each synced, take long on a disk.
    let root = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let runs = Runs::at(root.path().join("runs"));
    Place { root, runs }
}

/// Forms of documents that describe a run.
const FORMS: [&str; 2] = ["drivescope.mark/1", "drivescope.mark/2"];

impl Place {
    fn take(&self, path: &Path) -> Result<Imported, RecordError> {
        self.runs.import(path, &FORMS)
    }

    fn file(&self, bytes: &[u8]) -> PathBuf {
        let path = self.root.path().join("file");
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Everything under the root but the file that is imported, with its content.
    fn tree(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        walk(self.root.path(), &mut files);
        files.retain(|(path, _)| !path.ends_with("file") && !path.ends_with(".lock"));
        files.sort();
        files
    }

    /// Imports what must be refused, and holds that nothing came of it, inside or outside.
    fn refuses(&self, bytes: &[u8], why: &str) {
        let before = self.tree();
        let error = self.take(&self.file(bytes)).unwrap_err().to_string();
        assert!(error.contains(why), "{error:?} does not say {why:?}");
        assert_eq!(self.tree(), before, "{why}: something was left");
    }
}

fn walk(dir: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, files);
        } else {
            files.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
}

fn ended(runs: &Runs, n: u32, samples: Option<SamplesFormat>) {
    let mut writer = runs.create(&head(n, samples)).unwrap();
    for position in 0..3 {
        if samples.is_some() {
            writer.samples(position, &mut rows(position, 50)).unwrap();
        }
        writer.step(&step(position)).unwrap();
    }
    writer.finish(&document(n), State::Finished, &summary()).unwrap();
}

fn export(runs: &Runs, ids: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    let ids: Vec<_> = ids.iter().map(|n| id(*n)).collect();
    runs.export(&ids, &mut out).unwrap();
    out
}

/// An archive of entries of any kind, with any name.
fn archive(entries: &[(EntryType, &str, &[u8])]) -> Vec<u8> {
    let mut tar = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (kind, name, bytes) in entries {
        let mut header = Header::new_ustar();
        // The library refuses names like these; an attacker writes them all the same.
        header.as_ustar_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        if kind.is_symlink() || kind.is_hard_link() {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_mode(0o777);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        tar.append(&header, *bytes).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

#[test]
fn runs_come_back_as_they_left() {
    let (here, there) = (place(), place());
    ended(&here.runs, 1, None);
    ended(&here.runs, 2, Some(SamplesFormat::Parquet));
    // The third was killed: it did not write its derived files, and they are in the archive all the
    // same.
    let mut writer = here.runs.create(&head(3, Some(SamplesFormat::Csv))).unwrap();
    writer.step(&step(0)).unwrap();
    drop(writer);
    let bytes = export(&here.runs, &[1, 2, 3]);
    assert_eq!(bytes, export(&here.runs, &[1, 2, 3]), "an export of the same is the same");
    let path = there.file(&bytes);
    let imported = there.take(&path).unwrap();
    assert_eq!(imported, Imported { added: vec![id(1), id(2), id(3)], skipped: vec![] });
    for n in 1..=3 {
        let (left, came) = (here.runs.load(&id(n)).unwrap(), there.runs.load(&id(n)).unwrap());
        assert_eq!((left.steps, left.document), (came.steps, came.document));
        assert_eq!((left.envelope, left.samples.len()), (came.envelope, came.samples.len()));
        assert_eq!(here.runs.verify(&id(n)).unwrap(), there.runs.verify(&id(n)).unwrap());
    }
    for name in ["series.csv", "histograms.hlog"] {
        assert!(there.runs.load(&id(3)).unwrap().dir.join(name).exists(), "{name}");
    }
    // Twice is once, and what was killed here can be gone on with there.
    let again = there.take(&path).unwrap();
    assert_eq!(again, Imported { added: vec![], skipped: vec![id(1), id(2), id(3)] });
    assert_eq!(here.take(&path).unwrap().skipped, again.skipped);
    let (mut writer, _) = there.runs.resume(&id(3)).unwrap();
    writer.step(&step(1)).unwrap();
    drop(writer);
    let error = there.take(&path).unwrap_err();
    assert!(matches!(error, RecordError::Exists { .. }), "{error}");
    assert_eq!(there.runs.list().unwrap().runs.len(), 3);
}

#[test]
fn tar_and_sha256sum_read_what_was_exported() {
    // The promise is that a run can be read without us; these are on every machine.
    let here = place();
    ended(&here.runs, 1, Some(SamplesFormat::Csv));
    let path = here.file(&export(&here.runs, &[1]));
    let run = |program: &str, dir: &Path, arguments: &[&str]| {
        let output =
            std::process::Command::new(program).args(arguments).current_dir(dir).output().unwrap();
        assert!(output.status.success(), "{program}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    run("tar", here.root.path(), &["-xzf", path.to_str().unwrap()]);
    let dir = here.root.path().join(id(1).as_str());
    let checked = run("sha256sum", &dir, &["-c", "--strict", "SHA256SUMS"]);
    assert_eq!(checked.lines().filter(|line| line.ends_with(": OK")).count(), 12, "{checked}");
    // And what they pack again is taken back.
    let packed = here.root.path().join("packed");
    run("tar", here.root.path(), &["-czf", "packed", "--format=ustar", id(1).as_str()]);
    assert_eq!(here.take(&packed).unwrap().skipped, [id(1)]);
}

#[test]
fn hostile_archives_are_refused_whole() {
    let place = place();
    ended(&place.runs, 9, None);
    let good = id(1).to_string();
    let inside = |name: &str| format!("{good}/{name}");
    let file = EntryType::Regular;
    for name in [
        "/etc/drivescope".to_owned(),
        "../evil".to_owned(),
        inside("../../evil"),
        inside("samples/../../evil"),
        inside("samples/deep/er"),
        inside("other/file"),
        inside(".hidden"),
        inside("samples/.hidden"),
        inside("sp ace"),
        inside("samples"),
        "notanid/record.json".to_owned(),
        "index.sqlite".to_owned(),
        String::new(),
    ] {
        let bytes = archive(&[(file, &inside("record.json"), b"{}"), (file, &name, b"x")]);
        place.refuses(&bytes, "is not a file of a run");
    }
    for kind in [EntryType::Symlink, EntryType::Link, EntryType::Fifo, EntryType::Block] {
        place.refuses(&archive(&[(kind, &inside("plan.toml"), b"")]), "is not a regular file");
    }
    for kind in [EntryType::GNULongName, EntryType::XHeader, EntryType::XGlobalHeader] {
        place.refuses(&archive(&[(kind, "x", b"30 path=../../evil")]), "--format=ustar");
    }
    let twice = [(file, &*inside("plan.toml"), &b"a"[..]), (file, &inside("plan.toml"), b"b")];
    place.refuses(&archive(&twice), "is there twice");
    place.refuses(&archive(&[]), "holds no runs");
    place.refuses(&archive(&[(EntryType::Directory, &format!("{good}/"), b"")]), "holds no runs");
    place.refuses(&archive(&[(file, &inside("plan.toml"), b"a")]), "record.json: cannot open it");
    place.refuses(b"\x1f\x8b and then nothing of the kind", "is broken");
    place.refuses(b"", "is empty");
    place.refuses(b"\x91\xff", "neither an archive of runs nor a whole document");
}

#[test]
fn altered_and_cut_archives_are_refused_whole() {
    let (here, there) = (place(), place());
    ended(&here.runs, 1, Some(SamplesFormat::Csv));
    ended(&here.runs, 2, None);
    let bytes = export(&here.runs, &[1, 2]);
    for part in [10, 300, bytes.len() / 2, bytes.len() - 9] {
        there.refuses(&bytes[..part], "nothing was imported");
    }
    // Changed in such a way that only the checksums reveal it.
    let dir = here.runs.dir().join(id(2).as_str());
    let altered = |name: &str, content: &[u8]| {
        let mut tar = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let file_name = path.file_name().unwrap().to_str().unwrap();
            let bytes = if file_name == name { content.to_vec() } else { fs::read(&path).unwrap() };
            let mut header = Header::new_ustar();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, format!("{}/{file_name}", id(2)), &bytes[..]).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap()
    };
    there.refuses(&altered("plan.toml", b"seed = 8\n"), "plan.toml (changed)");
    there.refuses(&altered("SHA256SUMS", b""), "record.json (added)");
    let other = fs::read_to_string(dir.join("record.json")).unwrap();
    let other = other.replace(id(2).as_str(), id(3).as_str());
    there.refuses(&altered("record.json", other.as_bytes()), "its directory is named");
    assert_eq!(there.take(&there.file(&altered("", b""))).unwrap().added, [id(2)]);
}

#[test]
fn no_flipped_bit_of_an_archive_becomes_part_of_a_run() {
    let here = place();
    ended(&here.runs, 1, Some(SamplesFormat::Csv));
    let original = here.runs.load(&id(1)).unwrap();
    let mut tar = Vec::new();
    GzDecoder::new(&export(&here.runs, &[1])[..]).read_to_end(&mut tar).unwrap();
    let mut dice = Dice(11);
    let (mut refused, mut harmless) = (0, 0);
    for _ in 0..300 {
        let mut changed = tar.clone();
        let at = dice.below(changed.len());
        changed[at] ^= 1 << dice.below(8);
        // Packed again, so that gzip's own checksum does not do all the work.
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&changed).unwrap();
        let there = place();
        match there.take(&there.file(&gzip.finish().unwrap())) {
            Err(error) => {
                refused += 1;
                assert!(matches!(error, RecordError::Archive { .. }), "{error}");
                assert_eq!(there.tree(), [], "bit in byte {at}: something was left");
            }
            Ok(imported) => {
                harmless += 1;
                assert_eq!(imported.added, [id(1)]);
                let run = there.runs.load(&id(1)).unwrap();
                assert_eq!((&run.steps, &run.document), (&original.steps, &original.document));
                let verified = there.runs.verify(&id(1)).unwrap();
                assert_eq!(verified, here.runs.verify(&id(1)).unwrap(), "bit in byte {at}");
            }
        }
    }
    // Some fall into the padding between files, where there is nothing to spoil.
    assert!(refused > 100 && harmless > 10, "{refused} refused, {harmless} harmless");
}

#[test]
fn an_archive_that_unpacks_to_too_much_is_refused() {
    let place = place();
    let zeros = vec![0; 200 << 20];
    let name = format!("{}/journal.jsonl", id(1));
    let bomb = archive(&[(EntryType::Regular, &name, &zeros)]);
    assert!(bomb.len() < 2 << 20, "{}", bomb.len());
    let small = archive(&[(EntryType::Regular, &name, &zeros[..1000])]);
    place.refuses(&bomb[..300_000], "unpacks to more than");
    let names: Vec<String> = (1..=3).map(|n| format!("{}/plan.toml", id(n))).collect();
    let many: Vec<_> = names.iter().map(|n| (EntryType::Regular, n.as_str(), &b"x"[..])).collect();
    let limits = Limits::default();
    for (bytes, limits) in [
        (&small, Limits { bytes: 999, ..limits }),
        (&small, Limits { journal_bytes: 999, ..limits }),
        (&archive(&many), Limits { files: 2, ..limits }),
        (&archive(&many), Limits { runs: 2, ..limits }),
    ] {
        let error =
            place.runs.import_within(&place.file(bytes), &FORMS, &limits).unwrap_err().to_string();
        assert!(error.contains("more than"), "{error}");
        assert_eq!(place.tree(), []);
    }
    // A file that is read whole may not be long, however little it takes to pack.
    for (name, why) in
        [("setup.json", "more than the 67108864 bytes"), ("samples/0001.csv", "record.json")]
    {
        let name = format!("{}/{name}", id(1));
        let mut long = vec![0; 64 << 20];
        long.extend([0; 1]);
        let noise: Vec<u8> =
            (0..1_u32 << 20).flat_map(|n| n.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
        let other = format!("{}/samples/0002.csv", id(1));
        let parts = [(EntryType::Regular, &*other, &*noise), (EntryType::Regular, &name, &long)];
        place.refuses(&archive(&parts), why);
    }
    // Zeros after the end of an archive are never unpacked, and so not counted.
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&zeros).unwrap();
    place.refuses(&gzip.finish().unwrap(), "holds no runs");
}

/// Output of `mark --json` of version 0.1, shortened.
const OLD: &str = r#"{
  "envelope": {
    "schema": "drivescope.mark/1",
    "date": "2023-11-14T22:13:20Z",
    "host": { "name": "old", "kernel": "6.1.0", "cpus": 2 },
    "run_id": "20231114T221320Z-00000007",
    "version": "0.1.0",
    "arguments": ["mark", "sim:usb-8m?seed=7", "--json"]
  },
  "body": {
    "target": { "name": "sim:usb-8m?seed=7", "model": "usb-8m" },
    "tests": [{ "mb_s": 0.1 }],
    "interrupted": false
  }
}
"#;

#[test]
fn a_bare_document_of_the_first_version_becomes_a_run() {
    let place = place();
    let path = place.file(OLD.as_bytes());
    let imported = place.take(&path).unwrap();
    let old = imported.added[0].clone();
    assert_eq!(old.as_str(), "20231114T221320Z-00000007");
    let run = place.runs.load(&old).unwrap();
    assert_eq!(run.document, Some(serde_json::from_str::<Value>(OLD).unwrap()));
    assert_eq!((run.state, run.is_bare(), run.plan.as_str()), (State::Finished, true, ""));
    assert_eq!(run.envelope.host.name, "old");
    assert_eq!(
        fs::read_to_string(run.dir.join("document.json")).unwrap(),
        OLD,
        "not one byte else"
    );
    assert!(matches!(place.runs.verify(&old).unwrap(), Integrity::AsRecorded { .. }));
    let row = place.runs.list().unwrap().runs.remove(0);
    assert_eq!(
        (row.verb.as_str(), row.target.as_str(), row.drive.as_str()),
        ("mark", "sim:usb-8m?seed=7", "usb-8m")
    );
    assert_eq!(place.take(&path).unwrap().skipped.first(), Some(&old));
    // The same name with another result is another run, and neither is thrown away.
    let other = place.file(OLD.replace("0.1 }", "0.2 }").as_bytes());
    assert!(matches!(place.take(&other), Err(RecordError::Exists { .. })));
    // It can leave as any other run.
    let mut bytes = Vec::new();
    place.runs.export(&[old], &mut bytes).unwrap();
    assert_eq!(self::place().take(&place.file(&bytes)).unwrap().added.len(), 1);
}

#[test]
fn a_bare_document_of_a_run_that_is_here_is_skipped_and_an_interrupted_one_cannot_go_on() {
    let place = place();
    ended(&place.runs, 1, None);
    let path = place.file(document(1).to_json().unwrap().as_bytes());
    assert_eq!(place.take(&path).unwrap().skipped, [id(1)]);
    let cut = OLD.replace("\"interrupted\": false", "\"interrupted\": true");
    let added = place.take(&place.file(cut.as_bytes())).unwrap().added;
    assert_eq!(place.runs.load(&added[0]).unwrap().state, State::Interrupted);
    let error = place.runs.resume(&added[0]).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("imported as a document alone"), "{error}");
    for (bytes, why) in [
        ("{}", "it has no envelope"),
        ("[1]", "it has no envelope"),
        ("{\"envelope\":{\"schema\":1}}", "its envelope names no schema"),
        (&OLD.replace("20231114T221320Z-00000007", "../../x"), "is not a document of drivescope"),
        ("{\"envelope\":", "neither an archive of runs nor a whole document"),
    ] {
        place.refuses(bytes.as_bytes(), why);
    }
}

#[test]
fn a_document_that_tells_of_no_run_is_refused() {
    // Else a list of devices becomes a run of nothing, under the name of one that was measured.
    let place = place();
    let of = |schema: &str| OLD.replace("drivescope.mark/1", schema);
    for (schema, why) in [
        (
            "drivescope.devices/1",
            "which describes no run; those of form drivescope.mark/1, drivescope",
        ),
        ("drivescope.marks/1", "which describes no run"),
        ("drivescope.mark", "which describes no run"),
        ("drivescope.mark/0", "which describes no run"),
        ("drivescope.mark/3", "import it with that one"),
        ("drivescope.mark/99999999999999999999", "which describes no run"),
    ] {
        place.refuses(of(schema).as_bytes(), why);
    }
    assert_eq!(place.take(&place.file(of("drivescope.mark/2").as_bytes())).unwrap().added.len(), 1);
}
