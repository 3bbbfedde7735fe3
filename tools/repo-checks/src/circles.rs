//! Circles of files in a crate: files of which each uses the next and the last the first, so that none can be read or
//! changed by itself.
//!
//! A file uses another when its code names an item that the other defines, by any path: one that begins with `crate`,
//! `self` or `super`, one through a module, or a name that a `use` brought in. Names are followed through re-exports to the
//! file that defines them. Naming a module is not using it, nor is declaring it (`mod x;`) or re-exporting from it
//! (`pub use`): a parent that declares a child and shows what the child has is not in a circle with a child that uses the
//! parent, but a parent that works with what it shows is. Tests are left out. Methods are not seen: which file defines one is
//! not in the text of the call.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, bail};

use crate::repository::Source;
use crate::rust::{self, Module};

/// Begins the table of circles in the document on architecture.
pub const BEGIN: &str = "<!-- circles -->";
/// Ends it.
pub const END: &str = "<!-- end of circles -->";

/// Files of a circle, from the crate's `src`.
pub type Circle = BTreeSet<String>;

/// Uses of other files by a file: their paths from `src`, each with the names by which it uses them.
pub type Uses = BTreeMap<String, BTreeSet<String>>;

/// Circles of each crate that has some, by the crate's directory.
pub fn circles(sources: &[Source]) -> BTreeMap<String, Vec<Circle>> {
    let crates = crates(sources).into_iter();
    let found = crates.map(|(name, files)| (name, of_uses(&uses(&files))));
    found.filter(|(_, circles)| !circles.is_empty()).collect()
}

/// Files of each crate, by their paths from `src`, and their texts.
pub fn crates(sources: &[Source]) -> BTreeMap<String, BTreeMap<&str, &str>> {
    let mut crates: BTreeMap<String, BTreeMap<&str, &str>> = BTreeMap::new();
    for source in sources {
        let Some(name) = source.package() else { continue };
        let within = source.path.split_once(&format!("/{name}/src/")).map(|(_, path)| path);
        if let Some(path) = within.filter(|path| path.ends_with(".rs")) {
            crates.entry(name.to_owned()).or_default().insert(path, &source.text);
        }
    }
    crates
}

/// Circles among files of which it is known what they use.
pub fn of_uses(uses: &BTreeMap<String, Uses>) -> Vec<Circle> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        uses.keys().map(|file| (file, reached(file, uses))).collect();
    let mut circles: Vec<Circle> = Vec::new();
    for (file, there) in &reached {
        let back = |other: &&&String| reached.get(**other).is_some_and(|set| set.contains(file));
        let circle: Circle = there.iter().filter(back).map(|file| (*file).clone()).collect();
        if circle.len() > 1 && !circles.contains(&circle) {
            circles.push(circle);
        }
    }
    circles
}

/// Files that are used by `from`, or by what it uses.
fn reached<'a>(from: &str, uses: &'a BTreeMap<String, Uses>) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&String> = uses.get(from).into_iter().flat_map(Uses::keys).collect();
    while let Some(file) = open.pop() {
        if found.insert(file) {
            open.extend(uses.get(file).into_iter().flat_map(Uses::keys));
        }
    }
    found
}

/// Returns the uses of each file of a crate.
pub fn uses(files: &BTreeMap<&str, &str>) -> BTreeMap<String, Uses> {
    let mut uses: BTreeMap<String, Uses> = BTreeMap::new();
    let is_root = |path: &str| matches!(path, "lib.rs" | "main.rs") || path.starts_with("bin/");
    for root in files.keys().filter(|path| is_root(path)) {
        let tree = Tree::of(root, files);
        for (at, module) in &tree.modules {
            let file = &tree.files[at];
            let of_file = uses.entry(file.clone()).or_default();
            for path in &module.paths {
                if let Some(used) = tree.file_of(at, path).filter(|used| *used != file) {
                    of_file.entry(used.clone()).or_default().insert(path.join("::"));
                }
            }
        }
    }
    uses
}

/// Path of a module from the root, which has none.
type Name = Vec<String>;

/// Modules of one program or library.
struct Tree {
    modules: BTreeMap<Name, Module>,
    files: BTreeMap<Name, String>,
}

/// Re-exports that are followed for one name: more are a mistake of this reader.
const HOPS_MAX: usize = 16;

impl Tree {
    fn of(root: &str, files: &BTreeMap<&str, &str>) -> Tree {
        let mut tree = Tree { modules: BTreeMap::new(), files: BTreeMap::new() };
        let mut open = vec![(Name::new(), root.to_owned())];
        while let Some((at, file)) = open.pop() {
            let Some(text) = files.get(&*file) else { continue };
            let dir = match file.rsplit_once('/') {
                Some((dir, _)) => format!("{dir}/"),
                None => String::new(),
            };
            let stem = file.trim_end_matches(".rs").rsplit('/').next().unwrap_or_default();
            let is_mod = at.is_empty() || stem == "mod";
            let dir = if is_mod { dir } else { format!("{dir}{stem}/") };
            for (inner, module) in rust::modules(text) {
                let at: Name = [&at[..], &inner[..]].concat();
                let within = inner.iter().fold(dir.clone(), |dir, name| format!("{dir}{name}/"));
                for child in &module.declared {
                    let paths = [format!("{within}{child}.rs"), format!("{within}{child}/mod.rs")];
                    let path = paths.into_iter().find(|path| files.contains_key(&**path));
                    open.extend(
                        path.map(|path| ([&at[..], std::slice::from_ref(child)].concat(), path)),
                    );
                }
                tree.files.insert(at.clone(), file.clone());
                tree.modules.insert(at, module);
            }
        }
        tree
    }

    /// The file that defines what `path` names in the module `at`: none when it is of another crate, or is a module.
    fn file_of(&self, at: &Name, path: &[String]) -> Option<&String> {
        match self.resolved(at, path, HOPS_MAX) {
            Some(Found { module, is_item: true }) => self.files.get(&module),
            _ => None,
        }
    }

    /// Resolves `path` in the module `at`; `None` if it leads to another crate.
    fn resolved(&self, at: &Name, path: &[String], hops: usize) -> Option<Found> {
        let hops = hops.checked_sub(1)?;
        let (mut at, mut rest) = (at.clone(), path);
        while let Some((first, others)) = rest.split_first() {
            let child: Name = [&at[..], std::slice::from_ref(first)].concat();
            match first.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => drop(at.pop()?),
                _ if self.modules.contains_key(&child) => at = child,
                name => {
                    // A name that the module does not define itself comes from a macro.
                    let is_below = rest.len() < path.len();
                    let own = || is_below.then(|| Found { module: at.clone(), is_item: true });
                    return self.named(&at, name, others, hops).unwrap_or_else(own);
                }
            }
            rest = others;
        }
        Some(Found { module: at, is_item: false })
    }

    /// The same for a name in a module that is not one of its modules: none when nothing is known of the name, and none in
    /// it when it is of another crate.
    fn named(&self, at: &Name, name: &str, rest: &[String], hops: usize) -> Option<Option<Found>> {
        let module = self.modules.get(at)?;
        if let Some(path) = module.brought_in.get(name) {
            return Some(self.resolved(at, &[&path[..], rest].concat(), hops));
        }
        if module.defined.contains(name) {
            return Some(Some(Found { module: at.clone(), is_item: true }));
        }
        let hops = hops.checked_sub(1)?;
        module.globs.iter().find_map(|glob| {
            let from = self.resolved(at, glob, hops).filter(|from| !from.is_item)?.module;
            let child: Name = [&from[..], &[name.to_owned()]].concat();
            if self.modules.contains_key(&child) {
                return Some(self.resolved(&child, rest, hops));
            }
            if from == *at { None } else { self.named(&from, name, rest, hops) }
        })
    }
}

/// Target of a path.
struct Found {
    /// The module, or the one in which the item is.
    module: Name,
    is_item: bool,
}

/// A row of the table: a crate, which of its circles are left, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Directory of the crate.
    pub name: String,
    /// The circles.
    pub left: Left,
    /// The reason.
    pub reason: String,
}

/// Circles of a crate that are left in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    /// One, with its files.
    One(Circle),
    /// All that have no row of their own: how many there are, and files of all together.
    Rest(usize, usize),
}

impl std::fmt::Display for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Left::One(circle) => {
                let files: Vec<String> = circle.iter().map(|file| format!("`{file}`")).collect();
                write!(f, "{}", files.join(", "))
            }
            Left::Rest(1, files) => write!(f, "1 circle, {files} files"),
            Left::Rest(circles, files) => write!(f, "{circles} circles, {files} files"),
        }
    }
}

/// Rows of the table in `document`.
///
/// # Errors
/// When there is no table, or a row of it has no circle or no reason.
pub fn listed(document: &str) -> Result<Vec<Listed>> {
    let (_, rest) = document.split_once(BEGIN).context("no table of circles")?;
    let (table, _) = rest.split_once(END).context("the table of circles has no end")?;
    let rows = table.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, left, reason] = cells[..] else { bail!("{line}: has to have three cells") };
        let circle: Circle = left.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        let mut numbers = left.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok());
        let left = match (circle.len(), numbers.next(), numbers.next()) {
            (0, Some(circles), Some(files)) => Left::Rest(circles, files),
            (2.., ..) => Left::One(circle),
            _ => bail!("{line}: has to name two files at least, or N circles, M files"),
        };
        if reason.is_empty() {
            bail!("{line}: has to have a reason");
        }
        Ok(Listed { name: name.to_owned(), left, reason: reason.to_owned() })
    })
    .collect()
}

/// Describes the errors of a table: circles that it does not list, and rows that no longer hold.
pub fn faults(found: &BTreeMap<String, Vec<Circle>>, listed: &[Listed]) -> Vec<String> {
    let is_listed = |name: &str, left: &Left| {
        listed.iter().any(|listed| listed.name == name && listed.left == *left)
    };
    let has_rest = |name: &str| {
        let of_rest = |listed: &&Listed| matches!(listed.left, Left::Rest(..));
        listed.iter().filter(of_rest).any(|listed| listed.name == name)
    };
    // Rows as they would have to be.
    let mut now: Vec<(&String, Left)> = Vec::new();
    for (name, circles) in found {
        let (mut rest, mut files) = (0, 0);
        for circle in circles {
            let one = Left::One(circle.clone());
            if has_rest(name) && !is_listed(name, &one) {
                rest += 1;
                files += circle.len();
            } else {
                now.push((name, one));
            }
        }
        if rest > 0 {
            now.push((name, Left::Rest(rest, files)));
        }
    }
    let unlisted = now.iter().filter(|(name, left)| !is_listed(name, left));
    let mut faults: Vec<String> =
        unlisted.map(|(name, left)| format!("not listed: | {name} | {left} |")).collect();
    let gone =
        listed.iter().filter(|row| !now.iter().any(|(n, l)| **n == row.name && *l == row.left));
    faults.extend(gone.map(|row| format!("not so any more: | {} | {} |", row.name, row.left)));
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let circles = of_uses(&uses(&files.iter().copied().collect()));
        circles.into_iter().map(|circle| circle.into_iter().collect()).collect()
    }

    // Breaks when a way to use a file is overlooked: a circle that is not seen is never rejected.
    #[test]
    fn a_circle_is_seen_whatever_the_way_of_naming() {
        let b = "pub struct B(pub crate::a::A);";
        for a in [
            "use crate::b::B; pub struct A(Box<B>);",
            "pub struct A(Box<crate::b::B>);",
            "use super::b; pub struct A(Box<b::B>);",
            "use super::{b::{self, B as Other}, c}; pub struct A(Box<Other>);",
            "use crate::B; pub struct A(Box<B>);",
            "use super::*; pub struct A(Box<B>);",
            "use crate::b::*; pub struct A(Box<B>);",
            "pub struct A; fn f() { use super::b::B; let _: Option<B> = None; }",
        ] {
            let root = "mod a; mod b; mod c; pub use b::B; pub use a::A;";
            let files = [("lib.rs", root), ("a.rs", a), ("b.rs", b), ("c.rs", "pub struct C;")];
            assert_eq!(circles_of(&files), [["a.rs", "b.rs"]], "{a}");
        }
    }

    #[test]
    fn a_parent_is_in_a_circle_when_it_works_with_what_its_child_has() {
        let child = "use super::Parent; pub struct Child(Parent);";
        for (parent, is_circle) in [
            ("mod child; pub use child::Child; pub struct Parent;", false),
            ("pub mod child; pub struct Parent;", false),
            ("mod child; pub use child::Child; pub struct Parent(Box<Child>);", true),
            ("mod child; pub struct Parent(Box<child::Child>);", true),
        ] {
            for (root, path) in [("lib.rs", "child.rs"), ("main.rs", "child/mod.rs")] {
                let circles = circles_of(&[(root, parent), (path, child)]);
                assert_eq!(!circles.is_empty(), is_circle, "{parent}");
            }
        }
    }

    #[test]
    fn tests_comments_and_texts_use_nothing() {
        let a = "//! Beside crate::b::B.\npub struct A; /* crate::b::B */ const T: &str = \"crate::b::B\";\n\
                 #[cfg(test)]\nmod tests { use crate::b::B; }\n#[cfg(test)] use crate::b::B;\n\
                 #[test] fn t() { crate::b::B; }";
        let files =
            [("lib.rs", "mod a; mod b;"), ("a.rs", a), ("b.rs", "pub struct B(crate::a::A);")];
        assert_eq!(circles_of(&files), Vec::<Vec<String>>::new());
    }

    #[test]
    fn modules_within_files_and_folders_are_followed() {
        let files = [
            ("lib.rs", "mod a; mod d;"),
            ("a/mod.rs", "mod b; mod inner { pub fn f() { super::b::g() } }"),
            ("a/b.rs", "pub fn g() { super::super::d::e::h() } pub fn k() {}"),
            ("d.rs", "pub mod e;"),
            ("d/e.rs", "pub fn h() { crate::a::b::k() }"),
        ];
        assert_eq!(circles_of(&files), [["a/b.rs", "d/e.rs"]]);
    }

    #[test]
    fn a_table_lists_the_circles_of_now_and_no_others() {
        let table = |rows: &str| {
            let head = "| crate | files | reason |\n|---|---|---|\n";
            listed(&format!("x\n{BEGIN}\n{head}{rows}\n{END}\ny\n"))
        };
        let circle = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect();
        let found = |circles: &[&[&str]]| {
            let circles: Vec<Circle> = circles.iter().map(|files| circle(files)).collect();
            BTreeMap::from([("mark".to_owned(), circles)])
        };
        let one = table("| mark | `a.rs`, `b.rs` | one idea |").unwrap();
        assert_eq!(faults(&found(&[&["a.rs", "b.rs"]]), &one), Vec::<String>::new());
        let more = faults(&found(&[&["a.rs", "b.rs", "c.rs"]]), &one);
        let rows = [
            "not listed: | mark | `a.rs`, `b.rs`, `c.rs` |",
            "not so any more: | mark | `a.rs`, `b.rs` |",
        ];
        assert_eq!(more, rows);
        assert_eq!(faults(&BTreeMap::new(), &one).len(), 1);
        let rest =
            table("| mark | `a.rs`, `b.rs` | x |\n| mark | 1 circle, 3 files | y |").unwrap();
        let both: &[&[&str]] = &[&["a.rs", "b.rs"], &["c.rs", "d.rs", "e.rs"]];
        assert_eq!(faults(&found(both), &rest), Vec::<String>::new());
        assert_eq!(faults(&found(&both[..1]), &rest).len(), 1, "a row that is not so any more");
        let third: &[&[&str]] = &[both[0], both[1], &["f.rs", "g.rs"]];
        assert_eq!(faults(&found(third), &rest).len(), 2, "one that is not listed, and its row");
        for wrong in [
            "| mark | `a.rs`, `b.rs` | |",
            "| mark | `a.rs` | x |",
            "| mark | 2 circles | x |",
            "| mark | x |",
        ] {
            assert!(table(wrong).is_err(), "{wrong}");
        }
        assert!(listed("nothing").is_err());
    }
}
