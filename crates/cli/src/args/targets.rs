//! Names of what a command measures, records or empties, so that no output of it goes there.

use std::path::Path;

use anyhow::Result;
use drives::TargetSpec;

use super::{FilesArgs, Patient, PlainArgs, ProbeArgs, ProbeVerb, TraceVerb, Verb};

impl Verb {
    /// Targets on the command line. Those of a record that is resumed or made again are known when it is read, and those
    /// of flashbench and diskspd when their own arguments are.
    pub fn targets(&self) -> Vec<&Path> {
        let names: Vec<&str> = match self {
            Verb::Survey(args) => args.target.iter().map(TargetSpec::as_str).collect(),
            Verb::Mark(args) => vec![args.target.target.as_str()],
            Verb::Run(args) => vec![args.target.target.as_str()],
            Verb::Sweep(args) => vec![args.target.target.as_str()],
            Verb::Compare(args) => args.sides.iter().map(TargetSpec::as_str).collect(),
            Verb::Probe(args) => args.target().into_iter().map(TargetSpec::as_str).collect(),
            Verb::Pts(args) => {
                args.target.iter().chain(&args.device).map(TargetSpec::as_str).collect()
            }
            Verb::Purge(args) => std::iter::once(args.device.as_str())
                .chain(args.consent.also.iter().map(String::as_str))
                .collect(),
            Verb::Health(args) => match &args.device {
                Some(Patient::Drive(target)) => vec![target.as_str()],
                Some(Patient::Recording(_)) | None => Vec::new(),
            },
            Verb::Trace(args) => match &args.verb {
                TraceVerb::Record(args) => {
                    return args.devices.iter().map(AsRef::as_ref).collect();
                }
                TraceVerb::Replay(args) => args
                    .play
                    .reference
                    .iter()
                    .chain([&args.target])
                    .map(TargetSpec::as_str)
                    .collect(),
                TraceVerb::Compare(args) => vec![args.a.as_str(), args.b.as_str()],
                TraceVerb::Import(_) | TraceVerb::Analyze(_) | TraceVerb::Export(_) => Vec::new(),
            },
            Verb::Plan(_)
            | Verb::Rerun(_)
            | Verb::Trend(_)
            | Verb::Report(_)
            | Verb::Show(_)
            | Verb::Runs(_)
            | Verb::Flashbench(_)
            | Verb::Diskspd(_)
            | Verb::Import(_)
            | Verb::Judge(_)
            | Verb::Explain(_)
            | Verb::Rows(_)
            | Verb::Devices(_)
            | Verb::Sim(_)
            | Verb::Completions(_)
            | Verb::Man(_) => Vec::new(),
        };
        names.into_iter().map(Path::new).collect()
    }

    /// Checks that the files which the result is to be written to can be, before anything is opened or measured.
    ///
    /// # Errors
    /// As [`FilesArgs::check`].
    pub fn check_files(&self) -> Result<()> {
        match self {
            Verb::Survey(args) => args.files.check(),
            Verb::Mark(args) => args.output.files.check(),
            Verb::Run(args) => args.output.files.check(),
            Verb::Rerun(args) => args.output.files.check(),
            Verb::Sweep(args) => args.output.files.check(),
            Verb::Compare(args) => args.files.check(),
            Verb::Probe(args) => args.files().check(),
            Verb::Pts(args) => args.output.files.check(),
            Verb::Purge(args) => args.output.result.check(),
            Verb::Trace(args) => match &args.verb {
                TraceVerb::Replay(args) => args.files.check(),
                TraceVerb::Compare(args) => args.files.check(),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

impl ProbeVerb {
    fn plain(&self) -> &PlainArgs {
        match self {
            ProbeVerb::Align(args) => &args.plain,
            ProbeVerb::OpenAu(args) => &args.plain,
            ProbeVerb::Scatter(args) => &args.plain,
            ProbeVerb::Capacity(args) => &args.plain,
            ProbeVerb::Fat(args)
            | ProbeVerb::Interval(args)
            | ProbeVerb::Parallelism(args)
            | ProbeVerb::WriteBuffer(args)
            | ProbeVerb::SlcCache(args)
            | ProbeVerb::Surface(args)
            | ProbeVerb::SpeedClass(args) => args,
        }
    }
}

impl ProbeArgs {
    fn target(&self) -> Option<&TargetSpec> {
        let place = self.verb.as_ref().map_or(&self.chain.place, |verb| &verb.plain().place);
        place.target.as_ref()
    }

    fn files(&self) -> &FilesArgs {
        self.verb.as_ref().map_or(&self.chain.output, |verb| &verb.plain().output)
    }
}
