//! What is said beside the result: on stderr, so that stdout holds the result alone.

use std::io::{BufRead, Write};

use anstyle::{AnsiColor, Style};
use anyhow::{Context as _, Result};

const YELLOW: Style = AnsiColor::Yellow.on_default();
const RED: Style = AnsiColor::Red.on_default().bold();

/// Says something that the user should know.
pub fn note(text: &str) {
    anstream::eprintln!("{YELLOW}note:{YELLOW:#} {text}");
}

/// Says why there is no result.
pub fn error(error: &anyhow::Error) {
    anstream::eprintln!("{RED}error:{RED:#} {error:#}");
}

/// Asks a question whose answer is no unless it begins with y.
///
/// # Errors
/// When standard input cannot be read.
pub fn ask(question: &str) -> Result<bool> {
    Ok(read_line(question)?.trim().to_ascii_lowercase().starts_with('y'))
}

/// Asks for a line of text.
///
/// # Errors
/// When standard input cannot be read.
pub fn read_line(question: &str) -> Result<String> {
    anstream::eprint!("{question}");
    anstream::stderr().flush().ok();
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    Ok(answer)
}

/// Prints the result. A reader that went away is no error: it has seen what it wanted.
///
/// # Errors
/// When stdout cannot be written to.
pub fn result(text: &str) -> Result<()> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write the result"),
    }
}
