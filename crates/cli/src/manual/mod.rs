//! The manual: a page for the program and one for each verb. What flags do is told once, in their definitions
//! (`crate::args`); here it is put into the sections that a reader of man pages looks for.
//!
//! `clap_mangen` renders the flags. Its pages as a whole were not taken: they flow examples together as if they were
//! prose, list forty flags in a synopsis, and know neither exit codes nor files.

mod around;
mod help;
mod page;
#[cfg(test)]
mod shown;

use anyhow::{Context as _, Result};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, italic, roman};

use crate::args::{Cli, diskspd_options, flashbench_options};
use help::Help;
pub use page::Page;
use page::verbs_of;

/// What the program is, for who has never heard of it.
const PROGRAM: [&str; 4] = [
    "drivescope measures what a storage device really does: a disk, an SSD, a card, a stick, or what lies under a \
     directory. Beside each number stand its interval and six proofs: that the bytes reached the device, that the \
     addresses were the ones meant, that the drive was in a steady state, that the runs agree, that the tester was not \
     the limit, and that nobody else disturbed. A number that a cache made is withdrawn.",
    "A target is a directory, a file, a block device or a virtual drive. A directory gets a test file, which is removed \
     afterwards; an existing file or a device is only read, unless --write and --consent say otherwise.",
    "sim:MODEL is a virtual drive, whose truth is known: it needs neither hardware nor root, and the same seed gives the \
     same result (sim:MODEL?seed=7). drivescope sim list names the models. null: is no drive at all, which shows what \
     measuring itself costs.",
    "Called by the name flashbench or diskspd, by a link for instance, the program takes that program's command line.",
];

/// All pages: the program first, then each verb before those under it.
pub fn pages() -> Vec<Page> {
    fn collect(command: &Command, words: &[String], into: &mut Vec<Page>) {
        let mut name = "drivescope".to_owned();
        words.iter().for_each(|word| name += &format!("-{word}"));
        into.push(Page { name, words: words.to_vec(), command: command.clone() });
        for verb in verbs_of(command) {
            let words = [words, &[verb.get_name().to_owned()]].concat();
            collect(verb, &words, into);
        }
    }
    let mut command = Cli::command();
    command.build();
    let mut pages = Vec::new();
    collect(&command, &[], &mut pages);
    pages
}

impl Page {
    /// The page as troff, for `man`. `date` stands at its foot; nothing does when it is empty.
    ///
    /// # Errors
    /// When the flags cannot be rendered.
    pub fn render(&self, date: &str) -> Result<String> {
        let after = self.command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let help = Help::of(&after);
        let mut page = Roff::new();
        let version = concat!("drivescope ", env!("CARGO_PKG_VERSION"));
        page.control("TH", [&*self.name.to_uppercase(), "1", date, version, "User Commands"]);
        self.say_name(&mut page);
        self.synopsis(&mut page);
        self.description(&mut page, &help);
        self.verbs(&mut page);
        let mut text = page.render();
        text += &self.options()?;
        let mut rest = Roff::new();
        examples(&mut rest, &help);
        around::exit_status(&mut rest, &help);
        around::environment(&mut rest, self);
        around::files(&mut rest, self);
        around::see_also(&mut rest, self);
        text += without_preamble(&rest.render());
        Ok(text)
    }

    /// What the verb does, in a line.
    fn about(&self) -> String {
        self.command.get_about().map(ToString::to_string).unwrap_or_default()
    }

    /// True when the verb has this flag or argument.
    fn has(&self, id: &str) -> bool {
        self.command.get_arguments().any(|argument| argument.get_id() == id)
    }

    /// The help of a face, which has words of its own.
    fn face(&self) -> Option<String> {
        match self.words.first().map(String::as_str) {
            Some("flashbench") => Some(flashbench_options()),
            Some("diskspd") => Some(diskspd_options()),
            _ => None,
        }
    }

    fn say_name(&self, page: &mut Roff) {
        page.control("SH", ["NAME"]);
        page.text([roman(format!("{} - {}", self.name, self.about()))]);
    }

    fn synopsis(&self, page: &mut Roff) {
        page.control("SH", ["SYNOPSIS"]);
        let usage = self.command.clone().render_usage().to_string();
        let called = ["drivescope"].into_iter().chain(self.words.iter().map(String::as_str));
        let called = called.collect::<Vec<_>>().join(" ");
        for (index, line) in usage.trim_start_matches("Usage:").trim().lines().enumerate() {
            if index > 0 {
                page.control("br", []);
            }
            let line = line.trim();
            let rest = line.strip_prefix(&called).unwrap_or(line);
            page.text([bold(called.clone()), roman(rest.to_owned())]);
        }
    }

    fn description(&self, page: &mut Roff, help: &Help) {
        page.control("SH", ["DESCRIPTION"]);
        let is_program = self.words.is_empty();
        let mut paragraphs: Vec<String> = match is_program {
            true => PROGRAM.map(str::to_owned).to_vec(),
            false => vec![format!("{}.", self.about())],
        };
        paragraphs.extend(help.paragraphs.iter().cloned());
        for (index, paragraph) in paragraphs.into_iter().enumerate() {
            if index > 0 {
                page.control("PP", []);
            }
            page.text([roman(paragraph)]);
        }
    }

    fn verbs(&self, page: &mut Roff) {
        if verbs_of(&self.command).next().is_none() {
            return;
        }
        page.control("SH", ["VERBS"]);
        for verb in verbs_of(&self.command) {
            page.control("TP", []);
            page.text([bold(format!("{}-{}", self.name, verb.get_name())), roman("(1)")]);
            page.text([roman(verb.get_about().map(ToString::to_string).unwrap_or_default())]);
        }
    }

    /// The flags: those of a face as its help has them, all others under the headings that help has.
    fn options(&self) -> Result<String> {
        if let Some(face) = self.face() {
            let mut page = Roff::new();
            page.control("SH", ["OPTIONS"]);
            page.control("nf", []);
            page.control("in", ["0"]);
            // Its first line is the synopsis.
            for line in face.trim_end().lines().skip(1).skip_while(|line| line.is_empty()) {
                page.text([roman(line)]);
            }
            page.control("in", []);
            page.control("fi", []);
            return Ok(without_preamble(&page.render()).to_owned());
        }
        let mut text = Vec::new();
        Man::new(self.command.clone())
            .render_options_section(&mut text)
            .with_context(|| format!("{}: its flags cannot be rendered", self.name))?;
        // Before possible values it breaks the line twice, which is one empty line and one word of complaint more.
        let text = String::from_utf8_lossy(&text).replace("\n.br\n\n.br\n", "\n\n");
        let mut lines = String::new();
        for line in without_preamble(&text).lines() {
            match line.strip_prefix(".SH ") {
                Some(heading) if heading != "OPTIONS" => lines += &format!(".SS {heading}\n"),
                _ => lines += &format!("{line}\n"),
            }
        }
        Ok(lines)
    }
}

fn examples(page: &mut Roff, help: &Help) {
    if help.examples.is_empty() {
        return;
    }
    page.control("SH", ["EXAMPLES"]);
    for (index, example) in help.examples.iter().enumerate() {
        if index > 0 {
            page.control("PP", []);
        }
        for (index, line) in example.command.iter().enumerate() {
            if index > 0 {
                page.control("br", []);
            }
            page.text([bold(line.clone())]);
        }
        if !example.comment.is_empty() {
            page.control("RS", ["4"]);
            page.text([italic(example.comment.clone())]);
            page.control("RE", []);
        }
    }
}

/// Of each piece that is rendered the part behind its definitions, which stand once in a page.
fn without_preamble(text: &str) -> &str {
    text.find(".SH ").map_or("", |at| &text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(words: &str) -> String {
        let pages = pages();
        let page = pages.iter().find(|page| page.words.join(" ") == words).unwrap();
        page.render("2026-01-02").unwrap()
    }

    /// Were a section missing, whoever looks there for an exit code or a file would read on in the wrong place.
    #[test]
    fn every_page_has_the_sections_that_readers_look_for() {
        for page in pages() {
            let text = page.render("").unwrap();
            let mut rest = &*text;
            for section in [
                "NAME",
                "SYNOPSIS",
                "DESCRIPTION",
                "OPTIONS",
                "\"EXIT STATUS\"",
                "ENVIRONMENT",
                "\"SEE ALSO\"",
            ] {
                let at = rest.find(&format!("\n.SH {section}\n"));
                let at = at.unwrap_or_else(|| panic!("{}: no {section}, or not there", page.name));
                rest = &rest[at + 1..];
            }
            assert_eq!(text.matches(".TH ").count(), 1, "{}", page.name);
        }
    }

    /// An example that is broken over two lines, or flows into the next, cannot be copied.
    #[test]
    fn an_example_stands_in_a_line_of_its_own() {
        let text = page("mark");
        assert!(text.contains("\n\\fBdrivescope mark \\-\\-quick /mnt/usb\\fR\n.RS 4\n\\fIa shorter one, under 45 s\\fR\n.RE\n"), "{text}");
        assert!(
            page("sweep").contains("block=4K..1M \\\\\\fR\n.br\n\\fB"),
            "a broken command goes on"
        );
    }

    /// The faces take other words than clap knows: without these their pages would be empty.
    #[test]
    fn a_face_shows_the_options_of_what_it_imitates() {
        assert!(page("flashbench").contains("\\-\\-open\\-au\\-nr=N"));
        assert!(page("diskspd").contains("\\-\\-emulate=diskspd\\-linux"));
    }
}
