//! Readers of recorded runs: archives that somebody sent, and directories that somebody changed.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use block::UnixNanos;
use flate2::Compression;
use flate2::write::GzEncoder;
use record::{
    Document, Envelope, Head, Host, RecordError, RunId, Runs, SamplesFormat, State, StepEntry,
    Summary,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A reader that the bytes are given to.
#[derive(Clone, Copy)]
pub enum Records {
    /// Import, of the bytes as a tar file or as a printed document.
    Archive,
    /// A run in whose directory one file, chosen by the first byte, has the other bytes as its content.
    Run,
}

impl Records {
    /// All of them, with their names.
    pub const ALL: [(&'static str, Records); 2] =
        [("archive", Records::Archive), ("records", Records::Run)];

    /// Reads `data`, and panics when a promise is broken.
    pub fn run(self, data: &[u8]) {
        match self {
            Records::Archive => archive(data),
            Records::Run => altered(data),
        }
    }
}

const ACCEPTED: [&str; 1] = ["drivescope.mark/1"];

/// In memory where there is such a place, since every input makes files.
fn scratch() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .expect("a directory can be made")
}

/// Bytes that are not JSON are compressed here: hardly a mutation of a compressed file would be one of what it holds.
fn archive(data: &[u8]) {
    let dir = scratch();
    let (input, runs) = (dir.path().join("input"), Runs::at(dir.path().join("runs")));
    let mut bytes = data.to_vec();
    if data.first() != Some(&b'{') {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(data).expect("memory takes it");
        bytes = packed.finish().expect("memory takes it");
    }
    fs::write(&input, bytes).expect("the file can be written");
    match runs.import(&input, &ACCEPTED) {
        Ok(imported) => {
            assert!(imported.skipped.is_empty(), "{imported:?}");
            let ids = runs.ids().expect("runs that were imported are found");
            assert_eq!(ids.len(), imported.added.len());
            for id in ids {
                runs.load(&id).expect("a run that was imported can be read");
                read(&runs, &id);
            }
            let again =
                runs.import(&input, &ACCEPTED).expect("what was imported is imported again");
            assert!(again.added.is_empty(), "{again:?}");
        }
        Err(error) => {
            says_something(&error);
            let left = runs.ids().unwrap_or_default();
            assert!(left.is_empty(), "left of an import that failed: {left:?}");
        }
    }
}

fn says_something(error: &RecordError) {
    assert!(!error.to_string().trim().is_empty(), "an error without words: {error:?}");
}

/// Everything that reads a run.
fn read(runs: &Runs, id: &RunId) {
    let loaded = runs.load(id).map(|run| run.steps.len());
    let verified = runs.verify(id).map(drop);
    let listed = runs.list().map(drop);
    let exported = runs.export(&[id.clone()], &mut std::io::sink()).map(drop);
    for error in [loaded.map(drop), verified, listed, exported].into_iter().filter_map(Result::err)
    {
        says_something(&error);
    }
}

/// A run whose files are put in the place of each other's content.
struct Sample {
    _dir: TempDir,
    runs: Runs,
    id: RunId,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Sample {
    fn get() -> &'static Sample {
        static SAMPLE: OnceLock<Sample> = OnceLock::new();
        SAMPLE.get_or_init(|| Sample::make().expect("a run can be recorded"))
    }

    fn make() -> Result<Sample, RecordError> {
        let dir = scratch();
        let runs = Runs::at(dir.path().join("runs"));
        let mut writer = runs.create(&head())?;
        writer.samples(0, &mut std::iter::empty())?;
        writer.step(&step())?;
        writer.note("note", &json!({ "words": "of a note" }))?;
        let saved = writer.finish(&document(), State::Finished, &Summary::default())?;
        let mut files = Vec::new();
        for at in [saved.dir.clone(), saved.dir.join("samples")] {
            let entries = fs::read_dir(at).expect("a run's directory can be read");
            for entry in entries {
                let path = entry.expect("a run's directory can be read").path();
                if path.is_file() {
                    let content = fs::read(&path).expect("a run's file can be read");
                    files.push((path, content));
                }
            }
        }
        // Without its own checksums, for few inputs would get past one.
        for (path, content) in &mut files {
            if path.ends_with("record.json") {
                let mut value: Value = serde_json::from_slice(content).expect("it is JSON");
                value.as_object_mut().expect("it is an object").remove("sha256");
                *content = value.to_string().into_bytes();
                fs::write(path, content).expect("a run's file can be written");
            }
        }
        files.sort();
        Ok(Sample { _dir: dir, runs, id: saved.id, files })
    }
}

fn altered(data: &[u8]) {
    let sample = Sample::get();
    let Some((which, content)) = data.split_first() else { return };
    let (path, original) = &sample.files[usize::from(*which) % sample.files.len()];
    fs::write(path, content).expect("a run's file can be written");
    read(&sample.runs, &sample.id);
    fs::write(path, original).expect("a run's file can be written");
}

fn head() -> Head {
    let host = Host { name: "host".into(), kernel: "6.1.0".into(), cpus: 2, machine: None };
    let envelope = Envelope {
        schema: ACCEPTED[0].into(),
        date: "1970-01-01T00:00:00Z".into(),
        host,
        run_id: RunId::new(UnixNanos(0), 7),
        version: "0.1.0".into(),
        binary: None,
        arguments: vec!["mark".into()],
        drive: None,
        parts: Vec::new(),
        announced: None,
    };
    Head {
        envelope,
        begun: UnixNanos(5),
        plan: "seed = 7\n".into(),
        setup: json!({ "verb": "mark" }),
        steps: Some(1),
        samples: Some(SamplesFormat::Csv),
    }
}

fn step() -> StepEntry {
    StepEntry {
        position: 0,
        step: "read".to_owned(),
        run: 0,
        counted: true,
        series: Vec::new(),
        histograms: Vec::new(),
        figures: json!({ "mb_s": 0.1, "most": u64::MAX }),
    }
}

fn document() -> Document<Value> {
    Document { envelope: head().envelope, body: json!({ "mb_s": 0.1 }) }
}
