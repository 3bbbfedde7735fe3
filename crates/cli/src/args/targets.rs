//! Names of what a command measures, records or empties, so that no output of it goes there.

use std::path::Path;

use drives::TargetSpec;

use super::{Patient, ProbeArgs, ProbeVerb, TraceVerb, Verb};

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
                Patient::Drive(target) => vec![target.as_str()],
                Patient::Recording(_) => Vec::new(),
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
}

impl ProbeArgs {
    fn target(&self) -> Option<&TargetSpec> {
        let place = match &self.verb {
            None => &self.chain.place,
            Some(ProbeVerb::Align(args)) => &args.plain.place,
            Some(ProbeVerb::OpenAu(args)) => &args.plain.place,
            Some(ProbeVerb::Scatter(args)) => &args.plain.place,
            Some(ProbeVerb::Capacity(args)) => &args.plain.place,
            Some(
                ProbeVerb::Fat(args)
                | ProbeVerb::Interval(args)
                | ProbeVerb::Parallelism(args)
                | ProbeVerb::WriteBuffer(args)
                | ProbeVerb::SlcCache(args)
                | ProbeVerb::Surface(args)
                | ProbeVerb::SpeedClass(args),
            ) => &args.place,
        };
        place.target.as_ref()
    }
}
