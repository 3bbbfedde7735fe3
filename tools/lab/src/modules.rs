//! A kernel's modules: what each needs, and the other names by which it is requested. The module itself contains
//! both, in the section `.modinfo`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

/// A module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// File, below the directory of modules.
    pub path: String,
    /// Modules whose symbols it uses.
    pub depends: Vec<String>,
    /// Names or aliases of modules that it will ask for.
    pub wants: Vec<String>,
    /// Other names, with `*` for anything.
    pub aliases: Vec<String>,
}

/// All modules of a kernel, by name; `-` in names is written `_`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    modules: BTreeMap<String, Module>,
    /// Names that are part of the kernel itself.
    built_in: BTreeSet<String>,
}

impl Index {
    /// Reads every module below `root`, such as `lib/modules/6.1.0`.
    ///
    /// # Errors
    /// Names the file that cannot be read.
    pub fn read(root: &Path) -> Result<Index> {
        let mut index = Index::default();
        index.read_directory(root, root)?;
        let built_in = fs::read_to_string(root.join("modules.builtin")).unwrap_or_default();
        index.built_in = built_in.lines().filter_map(name_of).collect();
        Ok(index)
    }

    fn read_directory(&mut self, root: &Path, directory: &Path) -> Result<()> {
        for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                self.read_directory(root, &path)?;
            } else if let Some(name) =
                path.to_str().filter(|p| p.ends_with(".ko")).and_then(name_of)
            {
                let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
                let below = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
                self.modules.insert(name, module(&below, &bytes));
            }
        }
        Ok(())
    }

    /// The modules that `names` come to, with all they need, each after what it needs. A name may be an alias.
    ///
    /// # Errors
    /// Names what is neither a module nor part of the kernel.
    pub fn closure<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Vec<String>> {
        let mut order = Vec::new();
        let mut seen = BTreeSet::new();
        for name in names {
            let found = self.find(name);
            if found.is_empty() && !self.built_in.contains(&plain(name)) {
                anyhow::bail!("this kernel has no module {name:?}");
            }
            found.iter().for_each(|name| self.visit(name, &mut seen, &mut order));
        }
        Ok(order)
    }

    fn visit(&self, name: &str, seen: &mut BTreeSet<String>, order: &mut Vec<String>) {
        let Some(module) = self.modules.get(name) else { return };
        if !seen.insert(name.to_owned()) {
            return;
        }
        for needed in module.wants.iter().chain(&module.depends) {
            self.find(needed).iter().for_each(|name| self.visit(name, seen, order));
        }
        order.push(name.to_owned());
    }

    /// A module of that name, or those that have it as an alias.
    fn find(&self, name: &str) -> Vec<String> {
        let name = plain(name);
        if self.modules.contains_key(&name) {
            return vec![name];
        }
        let has = |module: &Module| module.aliases.iter().any(|alias| plain(alias) == name);
        self.modules
            .iter()
            .filter(|(_, module)| has(module))
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// A module.
    pub fn get(&self, name: &str) -> Option<&Module> {
        self.modules.get(name)
    }

    /// `modules.dep` of the modules in `order`: each with all that has to be loaded before, the nearest first.
    pub fn dependencies(&self, order: &[String]) -> String {
        let mut text = String::new();
        for name in order {
            let Some(module) = self.modules.get(name) else { continue };
            let mut before = Vec::new();
            self.visit(name, &mut BTreeSet::new(), &mut before);
            before.pop();
            before.reverse();
            let paths: Vec<&str> = before
                .iter()
                .filter_map(|name| Some(self.modules.get(name)?.path.as_str()))
                .collect();
            text += &format!("{}: {}\n", module.path, paths.join(" "));
        }
        text
    }

    /// `modules.alias` of the modules in `order`.
    pub fn aliases(&self, order: &[String]) -> String {
        let modules = order.iter().filter_map(|name| Some((name, self.modules.get(name)?)));
        let lines = modules.flat_map(|(name, module)| {
            module.aliases.iter().map(move |alias| format!("alias {alias} {name}\n"))
        });
        lines.collect()
    }
}

/// A module's name as the kernel has it: `dm-mod` is `dm_mod`.
fn plain(name: &str) -> String {
    name.replace('-', "_")
}

fn name_of(path: &str) -> Option<String> {
    Some(plain(path.rsplit('/').next()?.strip_suffix(".ko")?))
}

fn module(path: &str, bytes: &[u8]) -> Module {
    let mut module = Module { path: path.to_owned(), ..Module::default() };
    let info = section(bytes, ".modinfo").unwrap_or_default();
    for entry in info.split(|b| *b == 0) {
        let Ok(entry) = std::str::from_utf8(entry) else { continue };
        let Some((key, value)) = entry.split_once('=') else { continue };
        match key {
            "depends" => {
                module.depends = value.split(',').filter(|n| !n.is_empty()).map(plain).collect()
            }
            "softdep" => {
                let before = value.strip_prefix("pre: ").unwrap_or_default();
                let before = before.split("post:").next().unwrap_or_default();
                module.wants.extend(before.split_whitespace().map(str::to_owned));
            }
            "alias" => module.aliases.push(value.to_owned()),
            _ => {}
        }
    }
    module
}

/// A section of a 64-bit little-endian ELF file, by name.
fn section<'a>(elf: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let number = |at: usize, bytes: usize| {
        let field = elf.get(at..at.checked_add(bytes)?)?;
        Some(field.iter().rev().fold(0u64, |sum, b| sum << 8 | u64::from(*b)) as usize)
    };
    let (table, size, count, names) =
        (number(0x28, 8)?, number(0x3A, 2)?, number(0x3C, 2)?, number(0x3E, 2)?);
    let header = |i: usize| table.checked_add(i.checked_mul(size)?);
    let content = |i: usize| {
        let at = header(i)?;
        let (begin, length) =
            (number(at.checked_add(0x18)?, 8)?, number(at.checked_add(0x20)?, 8)?);
        elf.get(begin..begin.checked_add(length)?)
    };
    let strings = content(names)?;
    (0..count).find_map(|i| {
        let named = strings.get(number(header(i)?, 4)?..)?;
        let is_it =
            named.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&0));
        if is_it { content(i) } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file with a `.modinfo` of `info` and a table of names.
    fn elf(info: &[u8]) -> Vec<u8> {
        let names = b"\0.modinfo\0.shstrtab\0";
        let mut file = vec![0u8; 64];
        let infos_at = file.len();
        file.extend_from_slice(info);
        let names_at = file.len();
        file.extend_from_slice(names);
        let table = file.len();
        for (name, at, length) in
            [(0, 0, 0), (1, infos_at, info.len()), (10, names_at, names.len())]
        {
            let mut header = [0u8; 64];
            header[0..4].copy_from_slice(&(name as u32).to_le_bytes());
            header[0x18..0x20].copy_from_slice(&(at as u64).to_le_bytes());
            header[0x20..0x28].copy_from_slice(&(length as u64).to_le_bytes());
            file.extend_from_slice(&header);
        }
        file[0x28..0x30].copy_from_slice(&(table as u64).to_le_bytes());
        file[0x3A..0x3C].copy_from_slice(&64u16.to_le_bytes());
        file[0x3C..0x3E].copy_from_slice(&3u16.to_le_bytes());
        file[0x3E..0x40].copy_from_slice(&2u16.to_le_bytes());
        file
    }

    fn index() -> Index {
        let modules = [
            ("crc32c_generic", "alias=crypto-crc32c\0depends=\0"),
            ("jbd2", "depends=\0"),
            ("ext4", "alias=fs-ext4\0softdep=pre: crypto-crc32c\0depends=jbd2\0"),
            ("dm_mod", "depends="),
            ("dm_flakey", "depends=dm-mod\0"),
        ];
        let read = |(name, info): &(&str, &str)| {
            ((*name).to_owned(), module(&format!("kernel/{name}.ko"), &elf(info.as_bytes())))
        };
        Index { modules: modules.iter().map(read).collect(), built_in: ["loop".to_owned()].into() }
    }

    // A module that is missing in the guest shows as a mount that fails without a reason.
    #[test]
    fn what_a_module_needs_comes_with_it_and_before_it() {
        let index = index();
        assert_eq!(index.closure(["ext4"]).unwrap(), ["crc32c_generic", "jbd2", "ext4"]);
        assert_eq!(index.closure(["dm-flakey"]).unwrap(), ["dm_mod", "dm_flakey"]);
        assert_eq!(index.closure(["fs-ext4", "jbd2"]).unwrap().len(), 3);
        assert_eq!(index.closure(["loop"]).unwrap(), [""; 0]);
        assert!(index.closure(["nonsense"]).unwrap_err().to_string().contains("nonsense"));
    }

    #[test]
    fn the_guest_is_told_the_nearest_dependency_first() {
        let index = index();
        let order = index.closure(["ext4"]).unwrap();
        let text = index.dependencies(&order);
        assert!(
            text.contains("kernel/ext4.ko: kernel/jbd2.ko kernel/crc32c_generic.ko\n"),
            "{text}"
        );
        assert!(index.aliases(&order).contains("alias fs-ext4 ext4\n"));
    }

    #[test]
    fn a_file_that_is_no_module_has_no_section() {
        let whole = elf(b"depends=a\0");
        for cut in 0..whole.len() {
            section(&whole[..cut], ".modinfo");
        }
        assert_eq!(section(&whole, ".modinfo"), Some(&b"depends=a\0"[..]));
        assert_eq!(section(&whole, ".mod"), None);
    }
}
