//! The drivescope binary: flags and glue. It alone wires drive, environment, sink and wall clock together.

mod args;
mod consent;
mod envelope;
mod exit;
mod measure;
mod progress;
mod samples;
mod talk;
mod verbs;
mod view;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Verb};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.verb {
        Verb::Mark(args) => verbs::mark::main(args),
        Verb::Plan(args) => verbs::plan::main(args),
        Verb::Run(args) => verbs::run::main(args),
        Verb::Devices(args) => verbs::devices::main(args),
        Verb::Sim(args) => verbs::sim::main(args),
        Verb::Completions(args) => verbs::shell::completions(args),
        Verb::Man => verbs::shell::man(),
    };
    done.unwrap_or_else(|error| {
        talk::error(&error);
        exit::of(&error)
    })
    .into()
}
