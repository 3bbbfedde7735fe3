//! What the Tab key offers: verbs, flags and their values, and what only the program knows: virtual drives, recorded runs,
//! devices.
//!
//! The shell's script asks the program. A script that holds all words, which clap can also make, would know neither runs
//! nor drives, and in bash it offers no files.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result};
use clap::builder::ArgExt;
use clap::{Arg, Command, CommandFactory};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use clap_complete::env::{EnvCompleter, Shells};
use clap_complete::{CompleteEnv, Shell};
use record::Runs;

use crate::args::Cli;
use crate::manual;
use crate::talk;

/// Set by the scripts, to the shell's name.
const VARIABLE: &str = "DRIVESCOPE_COMPLETE";

/// The program's name.
const NAME: &str = "drivescope";

/// What is offered for an argument.
type Offer = fn(&OsStr) -> Vec<CompletionCandidate>;

/// By the argument's name, so that a new verb offers what the others do.
const OFFERS: [(&[&str], Offer); 7] = [
    (&["target", "reference", "a", "b", "drive"], targets),
    (&["sides"], sides),
    (&["runs", "run", "resume"], runs),
    (&["model"], models),
    (&["device", "devices"], devices),
    (&["engine"], engines),
    (&["verb"], verbs),
];

/// Answers a shell that asks what may come next; false when nobody asked.
pub fn complete() -> bool {
    let shells = Shells(&[
        &Bash,
        &clap_complete::env::Elvish,
        &clap_complete::env::Fish,
        &clap_complete::env::Powershell,
        &clap_complete::env::Zsh,
    ]);
    let here = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(command).var(VARIABLE).shells(shells);
    match asked.try_complete(std::env::args_os(), here.as_deref()) {
        Ok(answered) => answered,
        // A shell shows nobody what went wrong; it offers nothing then.
        Err(error) => {
            talk::error(&error.into());
            true
        }
    }
}

/// The script that makes a shell ask.
///
/// # Errors
/// When the shell is unknown.
pub fn script(shell: Shell) -> Result<String> {
    let mut text = Vec::new();
    let name = shell.to_string();
    let builtin = Shells::builtins();
    let completer: &dyn EnvCompleter = match shell {
        Shell::Bash => &Bash,
        _ => builtin.completer(&name).with_context(|| format!("{name}: no such shell"))?,
    };
    completer.write_registration(VARIABLE, NAME, NAME, NAME, &mut text)?;
    Ok(String::from_utf8(text)?.trim_start().to_owned())
}

/// The command with what is offered for its arguments.
fn command() -> Command {
    with_offers(Cli::command())
}

fn with_offers(command: Command) -> Command {
    command.mut_args(with_offer).mut_subcommands(with_offers)
}

fn with_offer(argument: Arg) -> Arg {
    let id = argument.get_id().as_str();
    // A flag that is given or not has no value to offer.
    let takes_value = argument.get_action().takes_values();
    match OFFERS.iter().find(|(ids, _)| takes_value && ids.contains(&id)) {
        Some((_, offer)) => argument.add(completer(*offer)),
        None => argument,
    }
}

fn completer(offer: Offer) -> impl ArgExt {
    ArgValueCompleter::new(offer)
}

/// Those that begin with what was typed.
fn beginning(typed: &OsStr, offered: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let begins = |c: &CompletionCandidate| c.get_value().to_string_lossy().starts_with(&*typed);
    offered.into_iter().filter(begins).collect()
}

fn word(text: impl Into<String>, said: impl Into<String>) -> CompletionCandidate {
    CompletionCandidate::new(text.into()).help(Some(said.into().into()))
}

fn paths(typed: &OsStr) -> Vec<CompletionCandidate> {
    PathCompleter::any().complete(typed)
}

fn virtual_drives() -> Vec<CompletionCandidate> {
    sim::list().into_iter().map(|m| word(format!("sim:{}", m.name), m.summary)).collect()
}

fn targets(typed: &OsStr) -> Vec<CompletionCandidate> {
    let mut offered = virtual_drives();
    offered.push(word("null:", "no drive: what measuring itself costs"));
    let mut offered = beginning(typed, offered);
    offered.extend(paths(typed));
    offered
}

fn sides(typed: &OsStr) -> Vec<CompletionCandidate> {
    recorded(typed).into_iter().chain(targets(typed)).collect()
}

/// Recorded runs, and documents in files.
fn runs(typed: &OsStr) -> Vec<CompletionCandidate> {
    recorded(typed).into_iter().chain(paths(typed)).collect()
}

fn recorded(typed: &OsStr) -> Vec<CompletionCandidate> {
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
fn models(typed: &OsStr) -> Vec<CompletionCandidate> {
    let mut offered: Vec<_> = sim::list().into_iter().map(|m| word(m.name, m.summary)).collect();
    if typed.to_string_lossy().starts_with("sim:") {
        offered.extend(virtual_drives());
    }
    let mut offered = beginning(typed, offered);
    offered.extend(paths(typed));
    offered
}

/// The disks of this machine, and whatever else has a name.
fn devices(typed: &OsStr) -> Vec<CompletionCandidate> {
    let disks = linux::devices::list(&linux::sysfs::Roots::default());
    let disks = disks
        .iter()
        .map(|d| word(d.path.display().to_string(), d.identity.model.clone().unwrap_or_default()));
    let disks = beginning(typed, disks.collect());
    let known: Vec<_> = disks.iter().map(|disk| disk.get_value().to_owned()).collect();
    let others = beginning(typed, virtual_drives()).into_iter().chain(paths(typed));
    let others = others.filter(|other| !known.iter().any(|disk| disk == other.get_value()));
    disks.into_iter().chain(others).collect()
}

fn engines(typed: &OsStr) -> Vec<CompletionCandidate> {
    let names =
        linux::target::EngineKind::ALL.map(|engine| CompletionCandidate::new(engine.word()));
    beginning(typed, names.into())
}

/// The words of a verb, one by one.
fn verbs(typed: &OsStr) -> Vec<CompletionCandidate> {
    let mut words: Vec<_> = manual::pages().into_iter().flat_map(|page| page.words).collect();
    words.sort();
    words.dedup();
    beginning(typed, words.into_iter().map(CompletionCandidate::new).collect())
}

/// bash, which parts words also at `:` and `=`. Parted so, `sim:usb` would reach the program as three words; here they
/// are put together before, and of the answers what stands before the last of those signs is taken off again.
struct Bash;

const BASH: &str = r#"_drivescope() {
    local rest=$COMP_LINE word part words=() index
    for ((index = 0; index <= COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        part=${rest#"${rest%%[![:space:]]*}"}
        if ((index > 0)) && [[ $part == "$rest" && -n $word ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        rest=${part#"$word"}
    done
    local whole=${words[-1]}
    # The word ends where the cursor is. Behind a sign nothing has been typed yet, and bash names the sign.
    [[ ${COMP_WORDS[COMP_CWORD]} == *[:=] ]] || whole=${whole%"${COMP_WORDS[COMP_CWORD]}"}$2
    words[-1]=$whole
    local before=${whole%"${whole##*[:=]}"} answers answer
    mapfile -t answers < <(_CLAP_COMPLETE_INDEX=$((${#words[@]} - 1)) _CLAP_IFS=$'\n' \
        VARIABLE=bash NAME -- "${words[@]}" 2>/dev/null)
    COMPREPLY=()
    for answer in "${answers[@]}"; do
        answer=${answer#"$before"}
        [[ $answer == *[[:space:]]* ]] && printf -v answer %q "$answer"
        [[ -n $answer ]] && COMPREPLY+=("$answer")
    done
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=/:] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o nosort -F _drivescope BIN
"#;

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn is(&self, name: &str) -> bool {
        name == "bash"
    }

    fn write_registration(
        &self,
        variable: &str,
        _: &str,
        bin: &str,
        completer: &str,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        let script = BASH.replace("VARIABLE", variable).replace("NAME", completer);
        out.write_all(script.replace("BIN", bin).as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut Command,
        arguments: Vec<std::ffi::OsString>,
        here: Option<&Path>,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        clap_complete::env::Bash.write_complete(command, arguments, here, out)
    }
}
