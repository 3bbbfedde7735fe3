//! Text for a terminal, which no text from outside can command.

use std::ops::{Add, AddAssign};

use anstyle::Style;
use block::text::{harmless, harmless_lines};

use crate::wrap;

/// Text for a terminal. All that is put into it is filtered, so the only escape sequences in it are colours that this
/// program chose. Names of files, drives, processes and hosts need no care where they are put in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Styled(String);

impl Styled {
    /// Text of several lines, without colours.
    pub fn of_lines(text: &str) -> Styled {
        Styled(harmless_lines(text).into_owned())
    }

    /// One line of text in a style.
    pub fn painted(style: Style, text: &str) -> Styled {
        Styled(format!("{style}{}{style:#}", harmless(text)))
    }

    /// Text that is this program's own, with its colours, and is not filtered: help and manuals.
    pub fn own(text: String) -> Styled {
        Styled(text)
    }

    /// With escape sequences for colours.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Without colours.
    pub fn plain(&self) -> String {
        anstream::adapter::strip_str(&self.0).to_string()
    }

    /// Broken at word ends into lines of `columns`, as [`wrap::lines`].
    pub fn wrapped(&self, columns: usize) -> Styled {
        Styled(wrap::lines(&self.0, columns))
    }

    /// Its lines.
    pub(crate) fn split(&self) -> Vec<Styled> {
        self.0.lines().map(|line| Styled(line.to_owned())).collect()
    }

    /// Ends the line, which loses the blanks at its end.
    pub(crate) fn end_line(&mut self) {
        self.0.truncate(self.0.trim_end_matches(' ').len());
        self.0.push('\n');
    }

    /// A character without a colour; it has to be one of this program's own, or harmless.
    pub(crate) fn push(&mut self, glyph: char) {
        self.0.push(glyph);
    }

    /// Appends the codes that end one style and begin another.
    pub(crate) fn restyle(&mut self, from: Style, to: Style) {
        self.0.push_str(&format!("{from:#}{to}"));
    }
}

impl<T: AsRef<str>> From<T> for Styled {
    /// One line of text.
    fn from(text: T) -> Styled {
        Styled(harmless(text.as_ref()).into_owned())
    }
}

impl<T: AsRef<str>> Add<T> for Styled {
    type Output = Styled;

    /// One line of text behind it.
    fn add(mut self, text: T) -> Styled {
        self.0.push_str(&harmless(text.as_ref()));
        self
    }
}

impl Add<Styled> for Styled {
    type Output = Styled;

    fn add(mut self, other: Styled) -> Styled {
        self += &other;
        self
    }
}

impl AddAssign<&Styled> for Styled {
    fn add_assign(&mut self, other: &Styled) {
        self.0.push_str(&other.0);
    }
}
