//! Transcripts in documents: fenced blocks that show a command and what it printed.
//!
//! A block between [`BEGIN`] (or [`BEGIN_LIVE`]) and [`END`] belongs to us. Its first line, after `$ `, is the
//! command; running it makes the rest again. Live blocks depend on the machine and are left as they are unless
//! asked for.

use anyhow::{Context as _, Result, bail};

use crate::program::Printed;

/// Begins a transcript that prints the same everywhere.
pub const BEGIN: &str = "<!-- transcript -->";
/// Begins a transcript of one machine.
pub const BEGIN_LIVE: &str = "<!-- transcript: live -->";
/// Ends a transcript.
pub const END: &str = "<!-- end of transcript -->";

/// The document with its transcripts made again by `run`; live ones only if `live`.
///
/// # Errors
/// Names the line of a transcript that has no end or no command, and passes on what `run` says.
pub fn renew(
    document: &str,
    live: bool,
    mut run: impl FnMut(&str) -> Result<Printed>,
) -> Result<String> {
    let mut renewed = String::with_capacity(document.len());
    let mut lines = document.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        renewed.push_str(line);
        renewed.push('\n');
        if line != BEGIN && line != BEGIN_LIVE {
            continue;
        }
        let begun = index + 1;
        let mut block = Vec::new();
        loop {
            let (_, line) = lines
                .next()
                .with_context(|| format!("the transcript of line {begun} has no end"))?;
            if line == END {
                break;
            }
            block.push(line);
        }
        if line == BEGIN || live {
            let command = block.iter().find_map(|line| line.strip_prefix("$ "));
            let command = command
                .with_context(|| format!("the transcript of line {begun} has no command"))?;
            push(&mut renewed, command, &run(command)?)?;
        } else {
            for line in block {
                renewed.push_str(line);
                renewed.push('\n');
            }
        }
        renewed.push_str(END);
        renewed.push('\n');
    }
    Ok(renewed)
}

fn push(document: &mut String, command: &str, printed: &Printed) -> Result<()> {
    if printed.text.contains("```") {
        bail!("`{command}` prints a fence");
    }
    let text = printed.text.trim_end();
    document.push_str(&format!("```console\n$ {command}\n{text}\n"));
    if printed.code != 0 {
        document.push_str(&format!("[exit code {}]\n", printed.code));
    }
    document.push_str("```\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str, code: i32) -> Result<Printed> {
        Ok(Printed { text: text.to_owned(), code })
    }

    fn document(begin: &str, body: &str) -> String {
        format!("before\n{begin}\n```console\n$ a --b\n{body}```\n{END}\nafter\n")
    }

    #[test]
    fn what_a_command_prints_today_replaces_what_it_printed() {
        let old = document(BEGIN, "old\nolder\n");
        let mut asked = Vec::new();
        let new = renew(&old, false, |command| {
            asked.push(command.to_owned());
            printed("new\n\n", 1)
        });
        assert_eq!(new.unwrap(), document(BEGIN, "new\n[exit code 1]\n"));
        assert_eq!(asked, ["a --b"]);
    }

    #[test]
    fn live_transcripts_wait_until_asked_for() {
        // Otherwise a check on another machine would throw away what was measured on a real disk.
        let old = document(BEGIN_LIVE, "old\n");
        assert_eq!(renew(&old, false, |_| bail!("not to be run")).unwrap(), old);
        assert_eq!(renew(&old, true, |_| printed("x", 0)).unwrap(), document(BEGIN_LIVE, "x\n"));
    }

    #[test]
    fn a_broken_block_is_named_by_its_line() {
        let endless = renew(&format!("a\n{BEGIN}\n$ b\n"), false, |_| printed("", 0));
        assert!(endless.unwrap_err().to_string().contains("line 2 has no end"));
        let idle = renew(&format!("{BEGIN}\ntext\n{END}\n"), false, |_| printed("", 0));
        assert!(idle.unwrap_err().to_string().contains("line 1 has no command"));
        let fence = renew(&document(BEGIN, ""), false, |_| printed("```", 0));
        assert!(fence.is_err());
    }
}
