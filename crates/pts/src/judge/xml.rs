//! As much of XML as TKperf and diskspd write: elements that hold text or elements, without namespaces.

use super::error::JudgeError;

/// An element.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Element {
    /// Its name.
    pub(super) name: String,
    /// The line that it begins on, from 1.
    pub(super) line: u64,
    /// Its text, without that of elements in it.
    pub(super) text: String,
    /// The elements in it.
    pub(super) children: Vec<Element>,
}

/// Deepest nesting that is read: what is written has seven levels.
const DEPTH_MAX: usize = 16;

impl Element {
    /// The first element called `name` in it.
    pub(super) fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The elements called `name` in it, in order.
    pub(super) fn children_called<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = &'a Element> + 'a {
        self.children.iter().filter(move |child| child.name == name)
    }
}

/// Reads the document `text` of `file`.
///
/// # Errors
/// When it is not well formed, with the line.
pub(super) fn read(file: &str, text: &str) -> Result<Element, JudgeError> {
    let mut open: Vec<Element> = vec![Element::default()];
    let (mut rest, mut line) = (text, 1_u64);
    let fault = |line: u64, what: &str| {
        JudgeError::at(file, line, what, "give the XML file as it was written")
    };
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        if let Some(element) = open.last_mut() {
            element.text.push_str(&unescaped(before));
        }
        line += before.matches('\n').count() as u64;
        let end = if tag.starts_with("<!--") { "-->" } else { ">" };
        let Some(length) = tag.find(end) else { return Err(fault(line, "a tag has no end")) };
        let (whole, after) = tag.split_at(length + end.len());
        let inner = whole.trim_start_matches('<').trim_end_matches('>');
        if let Some(name) = inner.strip_prefix('/') {
            let closed = open.pop().filter(|element| element.name == name.trim());
            let Some((closed, parent)) = closed.zip(open.last_mut()) else {
                return Err(fault(line, &format!("</{}> closes nothing", name.trim())));
            };
            parent.children.push(closed);
        } else if !inner.starts_with(['?', '!']) {
            let is_empty = inner.ends_with('/');
            let name = inner.trim_end_matches('/').split_whitespace().next().unwrap_or_default();
            let element = Element { name: name.to_owned(), line, ..Element::default() };
            if is_empty {
                if let Some(parent) = open.last_mut() {
                    parent.children.push(element);
                }
            } else if open.len() > DEPTH_MAX {
                return Err(fault(line, "elements are nested too deep"));
            } else {
                open.push(element);
            }
        }
        line += whole.matches('\n').count() as u64;
        rest = after;
    }
    let is_closed = open.len() == 1;
    let root = open.into_iter().next().and_then(|top| top.children.into_iter().next());
    root.filter(|_| is_closed).ok_or_else(|| fault(line, "the document is not closed"))
}

fn unescaped(text: &str) -> String {
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    named.iter().fold(text.to_owned(), |text, (name, sign)| text.replace(name, sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_hold_text_or_elements() {
        let root =
            read("x", "<?xml version='1.0'?>\n<t><a>[1, 2]</a>\n<b/><c k='v'><d>&lt;3</d></c></t>");
        let root = root.unwrap();
        assert_eq!((root.name.as_str(), root.children.len()), ("t", 3));
        assert_eq!(root.child("a").unwrap().text, "[1, 2]");
        let c = root.child("c").unwrap();
        assert_eq!((c.line, c.child("d").unwrap().text.as_str()), (3, "<3"));
    }

    #[test]
    fn what_is_not_well_formed_is_named_with_its_line() {
        for text in ["<a>\n<b></a>", "<a>\n<b", "", "</a>", "<a>\n", &"<a>".repeat(99)] {
            let error = read("x", text).unwrap_err();
            assert!(error.line.is_some(), "{text}");
        }
    }
}
