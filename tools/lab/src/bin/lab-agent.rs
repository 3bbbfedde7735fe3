//! The guest's side of the lab: first process of the guest, and as `lab-host` what its scripts ask the host with.

use std::process::ExitCode;

use drivescope_lab::guest;

fn main() -> ExitCode {
    let mut arguments = std::env::args();
    let is_wish = arguments.next().is_some_and(|name| name.ends_with("lab-host"));
    let words: Vec<String> = arguments.collect();
    let ended = if is_wish { guest::wish(&words.join(" ")) } else { guest::serve() };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lab: {error:#}");
            ExitCode::FAILURE
        }
    }
}
