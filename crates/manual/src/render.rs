//! A page of the manual as troff. Flags are described once, in their definitions; here these descriptions are put into the
//! sections that a reader of man pages looks for.
//!
//! `clap_mangen` renders the flags. Its pages as a whole were not taken: they flow examples together as if they were
//! prose, list forty flags in a synopsis, and know neither exit codes nor files.

use std::io;

use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, italic, roman};

use crate::help::{Help, options_of};
use crate::page::{Page, verbs_of};
use crate::sections;

/// Description of the program for a reader who has never heard of it.
const PROGRAM: [&str; 4] = [
    "drivescope measures what a storage device really does: a disk, an SSD, a card, a stick, or what lies under a \
     directory. Beside each number stand its interval and six proofs: that the bytes reached the device, that the \
     addresses were the ones meant, that the drive was in a steady state, that the runs agree, that the tester was not \
     the limit, and that nobody else disturbed. A number that a cache made is withdrawn.",
    "A target is a directory, a file, a block device or a virtual drive. A directory gets a test file, which is removed \
     afterwards; an existing file or a device is only read, unless --write and --consent say otherwise.",
    "sim:MODEL is a virtual drive, whose truth is known: it needs neither hardware nor root, and the same seed gives the \
     same result (sim:MODEL?seed=7). drivescope sim list names the models. null: is not a drive at all, which shows what \
     measuring itself costs.",
    "Called by the name flashbench or diskspd, by a link for instance, the program takes that program's command line.",
];

impl Page {
    /// The page as troff, for `man`, with `date` at its foot, which may be empty.
    ///
    /// # Errors
    /// When the flags cannot be rendered.
    pub fn render(&self, date: &str) -> io::Result<String> {
        let after = self.command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let help = Help::of(&after);
        let mut page = Roff::new();
        let version = concat!("drivescope ", env!("CARGO_PKG_VERSION"));
        page.control("TH", [&*self.name.to_uppercase(), "1", date, version, "User Commands"]);
        self.name_section(&mut page);
        self.synopsis(&mut page);
        self.description(&mut page, &help);
        self.verbs(&mut page);
        let mut text = page.render();
        text += &self.options()?;
        let mut rest = Roff::new();
        examples(&mut rest, &help);
        sections::exit_status(&mut rest, &help);
        sections::environment(&mut rest, self);
        sections::files(&mut rest, self);
        sections::see_also(&mut rest, self);
        text += without_preamble(&rest.render());
        Ok(text)
    }

    fn name_section(&self, page: &mut Roff) {
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

    /// The flags: those of a compatibility mode as its help has them, all others under the headings that help has.
    fn options(&self) -> io::Result<String> {
        if let Some(options) = options_of(&self.command) {
            let mut page = Roff::new();
            page.control("SH", ["OPTIONS"]);
            page.control("nf", []);
            page.control("in", ["0"]);
            // Its first line is the synopsis.
            for line in options.lines().skip(1).skip_while(|line| line.is_empty()) {
                page.text([roman(line)]);
            }
            page.control("in", []);
            page.control("fi", []);
            return Ok(without_preamble(&page.render()).to_owned());
        }
        let mut text = Vec::new();
        Man::new(self.command.clone()).render_options_section(&mut text)?;
        // Before possible values it breaks the line twice, which makes an empty line, and groff warns of it.
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

/// The part of a rendered piece behind its definitions, which a page has once.
fn without_preamble(text: &str) -> &str {
    text.find(".SH ").map_or("", |at| &text[at..])
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command};

    use crate::page::pages;

    fn command() -> Command {
        let list = Command::new("list").about("List the models");
        let sim = Command::new("sim").about("Virtual drives").subcommand(list);
        let mode = Command::new("diskspd")
            .about("Compatibility mode")
            .disable_help_flag(true)
            .override_help(
                "Usage: diskspd\n\n  -b SIZE  size of an I/O\n\nExamples:\n  diskspd x\n",
            )
            .after_help("Examples:\n  diskspd x");
        let mark = Command::new("mark")
            .about("Benchmark")
            .arg(Arg::new("runs_dir").long("runs-dir").help("Directory of runs"))
            .after_help(
                "Examples:\n  drivescope mark x        with --quick\n\nExit codes: 1 withdrawn.",
            );
        Command::new("drivescope").subcommands([mark, sim, mode])
    }

    fn rendered(name: &str) -> String {
        let pages = pages(command());
        pages.iter().find(|page| page.name == name).unwrap().render("2026-01-02").unwrap()
    }

    /// Verbs under a verb would have no page, and `man` could not be asked for them.
    #[test]
    fn every_verb_has_a_page_behind_the_one_above_it() {
        let names: Vec<_> = pages(command()).into_iter().map(|page| page.name).collect();
        let wanted = ["", "-mark", "-sim", "-sim-list", "-diskspd"];
        assert_eq!(names, wanted.map(|name| format!("drivescope{name}")));
    }

    /// A reader would look for a flag's text, an exit code or a file in vain.
    #[test]
    fn a_page_has_flags_examples_own_exit_codes_and_files() {
        let page = rendered("drivescope-mark");
        assert!(page.contains("\n.SH NAME\ndrivescope\\-mark \\- Benchmark\n"), "{page}");
        assert!(page.contains("Directory of runs"), "{page}");
        assert!(page.contains("\n\\fBdrivescope mark x\\fR\n.RS 4\n\\fIwith \\-\\-quick\\fR\n"));
        assert!(page.contains("\n\\fB1\\fR\nwithdrawn\n"), "{page}");
        assert!(page.contains("\\fBDRIVESCOPE_RUNS_DIR\\fR"), "it has --runs-dir: {page}");
        let page = rendered("drivescope-sim");
        assert!(page.contains("\n.SH VERBS\n.TP\n\\fBdrivescope\\-sim\\-list\\fR(1)\n"), "{page}");
        assert!(!page.contains("DRIVESCOPE_RUNS_DIR") && !page.contains(".SH FILES"), "{page}");
    }

    /// clap knows none of its options; and its examples are a section of their own.
    #[test]
    fn a_compatibility_mode_shows_its_own_options_without_the_examples() {
        let page = rendered("drivescope-diskspd");
        let options = &page[page.find(".SH OPTIONS").unwrap()..page.find(".SH EXAMPLES").unwrap()];
        assert!(options.contains("\\-b SIZE  size of an I/O"), "{options}");
        assert!(!options.contains("diskspd x") && !options.contains("Usage"), "{options}");
    }
}
