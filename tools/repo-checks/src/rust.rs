//! As much of Rust's text as shows which file uses which: modules, `use` lines, names that are defined, paths.

use std::collections::{BTreeMap, BTreeSet};

/// A module, whether it is a file or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// Modules of files of their own that it declares, without those of tests.
    pub declared: BTreeSet<String>,
    /// Names of items that it defines, at any depth.
    pub defined: BTreeSet<String>,
    /// Names that a `use` brings in, with their paths.
    pub brought_in: BTreeMap<String, Vec<String>>,
    /// Paths from which all is brought in.
    pub globs: Vec<Vec<String>>,
    /// Paths that its code names, of one word or more, also in a `use` that shows nothing to others.
    pub paths: BTreeSet<Vec<String>>,
}

impl Module {
    /// Takes a name of a `use`. One that is not shown to others is used here, if only for the methods of a trait.
    fn bring_in(&mut self, name: String, path: Vec<String>, is_shown: bool) {
        if !is_shown {
            self.paths.insert(path.clone());
        }
        self.brought_in.insert(name, path);
    }
}

/// Modules of a file by their path in it: first, without one, the file itself.
pub fn modules(text: &str) -> Vec<(Vec<String>, Module)> {
    let tokens = without_tests(&tokens(text));
    let mut reader = Reader { tokens: &tokens, at: 0, found: Vec::new() };
    reader.module(Vec::new());
    reader.found.sort_by(|(a, _), (b, _)| a.cmp(b));
    reader.found
}

/// Words that begin an item that has a name.
const ITEMS: [&str; 8] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static"];

/// A stretch of source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    /// A text in quotes, raw or not, with its prefix and quotes.
    Literal,
    /// A word, `::`, or a single sign.
    Token,
    /// A comment, a character, a lifetime, or white space.
    Other,
}

/// Kind and length of the piece that `rest` begins with, whose first character is `first`.
fn piece(rest: &str, first: char) -> (Piece, usize) {
    if let Some(length) = text_with_prefix(rest) {
        return (Piece::Literal, length);
    }
    match first {
        '/' if rest.starts_with("//") => (Piece::Other, rest.find('\n').unwrap_or(rest.len())),
        '/' if rest.starts_with("/*") => (Piece::Other, block_comment(rest)),
        '"' => (Piece::Literal, quoted(rest)),
        '\'' => (Piece::Other, char_or_lifetime(rest)),
        ':' if rest.starts_with("::") => (Piece::Token, 2),
        c if is_of_word(c) => (Piece::Token, rest.find(|c| !is_of_word(c)).unwrap_or(rest.len())),
        c if c.is_whitespace() => (Piece::Other, c.len_utf8()),
        c => (Piece::Token, c.len_utf8()),
    }
}

/// The pieces of `text`, each with its offset.
fn pieces(text: &str) -> impl Iterator<Item = (Piece, usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let (piece, length) = piece(rest, rest.chars().next()?);
        at += length;
        Some((piece, at - length, &rest[..length]))
    })
}

/// Words, `::`, and single signs, without comments and the content of literals.
fn tokens(text: &str) -> Vec<String> {
    let tokens = pieces(text).filter(|(piece, ..)| *piece == Piece::Token);
    tokens.map(|(.., token)| token.to_owned()).collect()
}

/// Texts in quotes, each with the line that it begins in.
pub fn literals(text: &str) -> Vec<(usize, &str)> {
    let (mut line, mut counted) = (1, 0);
    let mut found = Vec::new();
    for (piece, at, literal) in pieces(text) {
        line += text[counted..at].matches('\n').count();
        counted = at;
        if piece == Piece::Literal {
            found.push((line, literal));
        }
    }
    found
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Length of a comment between `/*` and `*/`, which may hold others.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < text.len() {
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => {
                (depth, at) = (depth.saturating_sub(1), at + 2);
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    text.len()
}

/// Length of a text in quotes.
fn quoted(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Length of a text such as `r#"x"#`, `b"x"` or `b'x'`, when one begins here.
fn text_with_prefix(text: &str) -> Option<usize> {
    if !text.starts_with(['r', 'b', 'c']) {
        return None;
    }
    let letters = text.len() - text.trim_start_matches(['r', 'b', 'c']).len();
    let rest = &text[letters..];
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let is_raw = text[..letters].contains('r');
    if letters > 2 || !is_raw && hashes > 0 {
        return None;
    }
    if rest.starts_with('\'') && text.starts_with("b'") {
        return Some(letters + char_or_lifetime(rest));
    }
    if !rest[hashes..].starts_with('"') {
        return None;
    }
    if !is_raw {
        return Some(letters + quoted(rest));
    }
    let begin = letters + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(text[begin..].find(&end).map_or(text.len(), |at| begin + at + end.len()))
}

/// Length of a character in quotes, or of a lifetime with the word in it.
fn char_or_lifetime(text: &str) -> usize {
    let mut inside = text[1..].char_indices();
    match inside.next() {
        Some((_, '\\')) => {
            let end = inside.skip(1).find(|(_, c)| *c == '\'');
            end.map_or(text.len(), |(at, _)| at + 2)
        }
        Some((_, c)) if text[1 + c.len_utf8()..].starts_with('\'') => c.len_utf8() + 2,
        _ => 1 + text[1..].find(|c| !is_of_word(c)).unwrap_or(text.len() - 1),
    }
}

/// `tokens` without items below `#[cfg(test)]` and `#[test]`, and without attributes.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let mut left = Vec::with_capacity(tokens.len());
    let (mut at, mut is_test) = (0, false);
    while at < tokens.len() {
        let is_inner = tokens[at] == "#" && tokens.get(at + 1).is_some_and(|t| t == "!");
        let open = at + if is_inner { 2 } else { 1 };
        if tokens[at] == "#" && tokens.get(open).is_some_and(|token| token == "[") {
            let end = matching(tokens, open);
            let words = tokens[open + 1..end].concat();
            is_test |= !is_inner && ["cfg(test)", "test"].contains(&&*words);
            at = end + 1;
        } else if is_test {
            at = item_end(tokens, at) + 1;
            is_test = false;
        } else {
            left.push(tokens[at].clone());
            at += 1;
        }
    }
    left
}

/// Index of the bracket that closes the one at `open`.
fn matching(tokens: &[String], open: usize) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    tokens.len().saturating_sub(1)
}

/// Index of the last token of the item that begins at `at`.
fn item_end(tokens: &[String], mut at: usize) -> usize {
    let is_use = tokens[at..].iter().take(6).any(|token| token == "use");
    while at < tokens.len() {
        match tokens[at].as_str() {
            ";" | "," => return at,
            "{" if !is_use => return matching(tokens, at),
            "(" | "[" | "{" => at = matching(tokens, at) + 1,
            _ => at += 1,
        }
    }
    tokens.len().saturating_sub(1)
}

/// Reads modules from tokens.
struct Reader<'a> {
    tokens: &'a [String],
    at: usize,
    found: Vec<(Vec<String>, Module)>,
}

impl Reader<'_> {
    fn peek(&self, offset: usize) -> &str {
        self.tokens.get(self.at + offset).map_or("", String::as_str)
    }

    /// Reads the module of this path in the file, up to the bracket that closes it or the end.
    fn module(&mut self, path: Vec<String>) {
        let mut module = Module::default();
        let mut depth = 0usize;
        while self.at < self.tokens.len() {
            let (token, name) = (self.peek(0).to_owned(), self.peek(1).to_owned());
            match token.as_str() {
                "}" if depth == 0 => break,
                "{" => depth += 1,
                "}" => depth -= 1,
                "mod" if self.peek(2) == ";" => {
                    module.declared.insert(name);
                    self.at += 2;
                }
                "mod" if self.peek(2) == "{" => {
                    self.at += 3;
                    self.module([&path[..], &[name]].concat());
                }
                "use" => {
                    // `pub use` and `pub(crate) use` show what others have.
                    let before = self.at.checked_sub(1).map(|at| self.tokens[at].as_str());
                    let is_shown = matches!(before, Some("pub" | ")"));
                    self.at += 1;
                    self.tree(&[], is_shown, &mut module);
                    continue;
                }
                "macro_rules" if name == "!" => {
                    module.defined.insert(self.peek(2).to_owned());
                    self.at += 2;
                }
                // In `const fn f` the name comes behind the next of these words.
                word if ITEMS.contains(&word)
                    && name.starts_with(is_of_word)
                    && !["fn", "unsafe", "async", "extern", "mut"].contains(&&*name) =>
                {
                    module.defined.insert(name);
                    self.at += 1;
                }
                word if word.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                    let is_member = self.at > 0 && self.tokens[self.at - 1] == ".";
                    let path = self.path();
                    if !is_member {
                        module.paths.insert(path);
                    }
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
        self.found.push((path, module));
    }

    /// Words with `::` between them, beginning here; what is in angle brackets is left to be read after it.
    fn path(&mut self) -> Vec<String> {
        let mut path = vec![self.peek(0).to_owned()];
        self.at += 1;
        while self.peek(0) == "::" && self.peek(1).starts_with(is_of_word) {
            path.push(self.peek(1).to_owned());
            self.at += 2;
        }
        path
    }

    /// A tree of `use` behind `prefix`, up to its comma, bracket or semicolon.
    fn tree(&mut self, prefix: &[String], is_shown: bool, module: &mut Module) {
        let mut path = prefix.to_vec();
        loop {
            match self.peek(0).to_owned().as_str() {
                "::" => self.at += 1,
                "{" => {
                    self.at += 1;
                    while !["}", ""].contains(&self.peek(0)) {
                        let begin = self.at;
                        self.tree(&path, is_shown, module);
                        self.at += usize::from(self.peek(0) == "," || self.at == begin);
                    }
                    self.at += 1;
                    return;
                }
                "*" => {
                    self.at += 1;
                    module.globs.push(path);
                    return;
                }
                "as" => {
                    let name = self.peek(1).to_owned();
                    self.at += 2;
                    module.bring_in(name, path, is_shown);
                    return;
                }
                // `a::{self}` is `a`.
                "self" if !path.is_empty() => self.at += 1,
                word if word.starts_with(is_of_word) => {
                    path.push(word.to_owned());
                    self.at += 1;
                }
                _ => {
                    if let Some(name) = path.last().cloned() {
                        module.bring_in(name, path, is_shown);
                    }
                    self.at += usize::from(self.peek(0) == ";");
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    // Breaks when a text or a comment is taken for code, or code for one of them.
    #[test]
    fn texts_comments_and_lifetimes_are_no_words() {
        for (text, expected) in [
            ("a // b\nc", "a c"),
            ("a /* b /* c */ d */ e", "a e"),
            (r#"a "b \" c" d"#, "a d"),
            ("r#\"a \" b\"# c", "c"),
            ("b\"a\" b'x' c\"a\" br\"b\" d", "d"),
            (r"'a' '\'' '\\' '\u{1f}' b", "b"),
            ("fn f<'a>(x: &'a str)", "fn f < > ( x : & str )"),
            ("a::b:c", "a :: b : c"),
            ("bread rust crate", "bread rust crate"),
        ] {
            assert_eq!(tokens(text), words(expected), "{text}");
        }
    }

    #[test]
    fn what_is_brought_in_stands_for_its_path() {
        let text = "use a::{b, c::{self, D as E}, f::*};\npub(crate) use super::g::H;\nuse i;";
        let found = modules(text);
        let [(_, module)] = &found[..] else { panic!("{found:?}") };
        let brought: Vec<(String, String)> =
            module.brought_in.iter().map(|(name, path)| (name.clone(), path.join("::"))).collect();
        let pairs =
            [("E", "a::c::D"), ("H", "super::g::H"), ("b", "a::b"), ("c", "a::c"), ("i", "i")];
        assert_eq!(brought, pairs.map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert_eq!(module.globs, [words("a f")]);
    }

    #[test]
    fn items_and_paths_of_each_module_are_its_own() {
        let text = "mod file; const fn f() { x::y(Z) } mod inner { pub struct S(super::T); }\n\
                    #[cfg(test)] mod tests { fn no() { never::seen() } }\n\
                    #[derive(Debug)] enum U { V }";
        let found = modules(text);
        let [(_, outer), (inner_path, inner)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(inner_path, &words("inner"));
        assert_eq!(outer.declared, ["file".to_owned()].into());
        assert_eq!(outer.defined.iter().map(String::as_str).collect::<Vec<_>>(), ["U", "f"]);
        assert!(outer.paths.contains(&words("x y")) && outer.paths.contains(&words("Z")));
        assert!(!outer.paths.iter().flatten().any(|word| word == "never" || word == "derive"));
        assert_eq!(inner.defined, ["S".to_owned()].into());
        assert!(inner.paths.contains(&words("super T")));
    }
}
