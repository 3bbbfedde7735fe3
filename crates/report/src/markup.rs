//! The one place in which text becomes text of a markup language: of SVG, and of HTML through the templates.

use std::fmt;

/// Text without markup, for use between tags or in an attribute with quotes. Control characters, which
/// XML forbids and which have no shape, are replaced.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    // Writing to a string does not fail.
    let _ = Markup.write(&mut safe, text);
    safe
}

/// Escaper that the templates apply to all values.
#[derive(Clone, Copy)]
pub(crate) struct Markup;

impl Markup {
    fn write<W: fmt::Write>(self, to: &mut W, text: &str) -> fmt::Result {
        for letter in block::text::harmless(text).chars() {
            match letter {
                '&' => to.write_str("&amp;")?,
                '<' => to.write_str("&lt;")?,
                '>' => to.write_str("&gt;")?,
                '"' => to.write_str("&quot;")?,
                '\'' => to.write_str("&#39;")?,
                '\u{fffe}' | '\u{ffff}' => to.write_char('\u{fffd}')?,
                letter => to.write_char(letter)?,
            }
        }
        Ok(())
    }
}

impl askama::filters::Escaper for Markup {
    fn write_escaped_str<W: fmt::Write>(&self, mut to: W, text: &str) -> fmt::Result {
        self.write(&mut to, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a drive's name, which the drive itself states, is obeyed by a browser.
    #[test]
    fn nothing_of_a_text_is_markup() {
        let hostile = "<script>alert('x')</script> & \"quoted\"\u{1b}[31m\u{0}\u{fffe}";
        let safe = escaped(hostile);
        assert_eq!(
            safe,
            "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;quoted&quot;\u{fffd}[31m\u{fffd}\u{fffd}"
        );
        assert_eq!(escaped("Größe 4 KiB, 10 µs"), "Größe 4 KiB, 10 µs");
    }
}
