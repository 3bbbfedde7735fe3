//! A filesystem in memory that knows what is durable and what is only cached.
//!
//! It grants what POSIX grants and no more: bytes are durable after a sync of their file, names after a
//! sync of their directory, and a file's sync says nothing of its name. At a power cut, whatever was
//! not synced is kept, in part or not at all, as a seed decides. After a failed sync the bytes it was to
//! save can still be read, and no later sync saves them, as on Linux.

use std::collections::BTreeMap;
use std::io::{self, Cursor, ErrorKind, Read, Write};
use std::ops::Range;
use std::path::{Component, Path};
use std::sync::{Arc, Mutex, MutexGuard};

use drivescope_record::{Entry, Files, Kind, OutFile, Stat};

type Inode = u64;
type Names = BTreeMap<String, Inode>;

#[derive(Clone, Debug)]
enum Change {
    Add(String, Inode),
    Remove(String),
    Rename(String, String),
}

impl Change {
    fn apply(&self, names: &mut Names) {
        match self {
            Change::Add(name, inode) => {
                names.insert(name.clone(), *inode);
            }
            Change::Remove(name) => {
                names.remove(name);
            }
            Change::Rename(from, to) => {
                if let Some(inode) = names.remove(from) {
                    names.insert(to.clone(), inode);
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Node {
    File { cached: Vec<u8>, durable: Vec<u8>, lost: Vec<Range<usize>>, modified: i128 },
    Dir { cached: Names, durable: Names, pending: Vec<Change> },
}

#[derive(Debug)]
struct Disk {
    nodes: BTreeMap<Inode, Node>,
    locked: BTreeMap<Inode, u64>,
    tick: u64,
}

const ROOT: Inode = 0;

#[derive(Clone, Debug)]
pub struct Memory(Arc<Mutex<Disk>>);

pub struct MemoryFile(Arc<Mutex<Disk>>, Inode);

pub struct MemoryLock(Arc<Mutex<Disk>>, Inode, u64);

impl Drop for MemoryLock {
    fn drop(&mut self) {
        let mut disk = self.0.lock().unwrap();
        // After a power cut the lock is gone, and may be somebody else's.
        if disk.locked.get(&self.1) == Some(&self.2) {
            disk.locked.remove(&self.1);
        }
    }
}

fn error(kind: ErrorKind) -> io::Error {
    kind.into()
}

impl Disk {
    fn tick(&mut self) -> u64 {
        self.tick += 1;
        self.tick
    }

    fn add(&mut self, node: Node) -> Inode {
        let inode = self.tick();
        self.nodes.insert(inode, node);
        inode
    }

    fn names(&self, dir: Inode) -> io::Result<&Names> {
        match &self.nodes[&dir] {
            Node::Dir { cached, .. } => Ok(cached),
            Node::File { .. } => Err(error(ErrorKind::NotADirectory)),
        }
    }

    fn find(&self, path: &Path) -> io::Result<Inode> {
        let mut inode = ROOT;
        for part in path.components() {
            if let Component::Normal(name) = part {
                let name = name.to_str().unwrap();
                inode = *self.names(inode)?.get(name).ok_or_else(|| error(ErrorKind::NotFound))?;
            }
        }
        Ok(inode)
    }

    /// Directory and name of a path whose last part need not exist.
    fn place(&self, path: &Path) -> io::Result<(Inode, String)> {
        let dir = self.find(path.parent().unwrap())?;
        Ok((dir, path.file_name().unwrap().to_str().unwrap().to_owned()))
    }

    fn change(&mut self, dir: Inode, change: Change) {
        let Some(Node::Dir { cached, pending, .. }) = self.nodes.get_mut(&dir) else { panic!() };
        change.apply(cached);
        pending.push(change);
    }

    fn create(&mut self, path: &Path, node: Node) -> io::Result<Inode> {
        let (dir, name) = self.place(path)?;
        if self.names(dir)?.contains_key(&name) {
            return Err(error(ErrorKind::AlreadyExists));
        }
        let inode = self.add(node);
        self.change(dir, Change::Add(name, inode));
        Ok(inode)
    }
}

fn file() -> Node {
    Node::File { cached: Vec::new(), durable: Vec::new(), lost: Vec::new(), modified: 0 }
}

fn dir() -> Node {
    Node::Dir { cached: Names::new(), durable: Names::new(), pending: Vec::new() }
}

/// A small generator: the tests need variety, not quality.
pub struct Dice(pub u64);

impl Dice {
    /// A number below `n`; zero when `n` is.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if n == 0 { 0 } else { (self.0 >> 33) as usize % n }
    }
}

impl Memory {
    pub fn new() -> Memory {
        let nodes = BTreeMap::from([(ROOT, dir())]);
        Memory(Arc::new(Mutex::new(Disk { nodes, locked: BTreeMap::new(), tick: 0 })))
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap()
    }

    /// All processes die; what was written stays, as after `kill -9`.
    pub fn kill(&self) {
        self.disk().locked.clear();
    }

    /// The power fails: of what was not synced, the dice decide what is left.
    pub fn cut_power(&self, seed: u64) {
        let mut disk = self.disk();
        let mut dice = Dice(seed);
        disk.locked.clear();
        for node in disk.nodes.values_mut() {
            match node {
                Node::Dir { cached, durable, pending } => {
                    let kept = dice.below(pending.len() + 1);
                    pending.drain(..kept).for_each(|change| change.apply(durable));
                    pending.clear();
                    cached.clone_from(durable);
                }
                Node::File { cached, durable, lost, .. } => {
                    *durable = survivor(cached, durable, lost, &mut dice);
                    lost.clear();
                    cached.clone_from(durable);
                }
            }
        }
    }

    /// Changes a file behind everybody's back.
    pub fn overwrite(&self, path: &Path, bytes: &[u8]) {
        let mut disk = self.disk();
        let inode = disk.find(path).unwrap();
        let tick = disk.tick();
        let Some(Node::File { cached, durable, modified, .. }) = disk.nodes.get_mut(&inode) else {
            panic!("{} is not a file", path.display())
        };
        *cached = bytes.to_vec();
        *durable = bytes.to_vec();
        *modified = i128::from(tick);
    }
}

/// Content of an unsynced file after a power cut: the durable part, and of the rest anything from
/// nothing to all, at times with zeros or junk where bytes should be.
fn survivor(cached: &[u8], durable: &[u8], lost: &[Range<usize>], dice: &mut Dice) -> Vec<u8> {
    if cached == durable || dice.below(4) == 0 {
        return durable.to_vec();
    }
    if !cached.starts_with(durable) {
        // A cut that was not synced: done or not.
        return if dice.below(2) == 0 { cached.to_vec() } else { durable.to_vec() };
    }
    let mut left = cached[..durable.len() + dice.below(cached.len() - durable.len() + 1)].to_vec();
    let written = left.len();
    match dice.below(4) {
        0 => left.resize(cached.len(), 0),
        1 => left.extend((written..cached.len()).map(|_| b"\n\"{}x"[dice.below(5)])),
        _ => {}
    }
    for range in lost {
        let end = range.end.min(left.len());
        left[range.start.min(end)..end].fill(0);
    }
    left
}

impl Files for Memory {
    type File = MemoryFile;
    type Lock = MemoryLock;

    fn create_new(&self, path: &Path) -> io::Result<MemoryFile> {
        Ok(MemoryFile(self.0.clone(), self.disk().create(path, file())?))
    }

    fn append(&self, path: &Path) -> io::Result<MemoryFile> {
        Ok(MemoryFile(self.0.clone(), self.disk().find(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        let disk = self.disk();
        match &disk.nodes[&disk.find(path)?] {
            Node::File { cached, .. } => Ok(Box::new(Cursor::new(cached.clone()))),
            Node::Dir { .. } => Err(error(ErrorKind::IsADirectory)),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        let ((dir, old), (other, new)) = (disk.place(from)?, disk.place(to)?);
        assert_eq!(dir, other, "the record renames within a directory only");
        disk.find(from)?;
        if let Ok(there) = disk.find(to)
            && let Node::Dir { cached, .. } = &disk.nodes[&there]
            && !cached.is_empty()
        {
            return Err(error(ErrorKind::DirectoryNotEmpty));
        }
        disk.change(dir, Change::Rename(old, new));
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        let inode = disk.find(dir)?;
        let Some(Node::Dir { cached, durable, pending }) = disk.nodes.get_mut(&inode) else {
            return Err(error(ErrorKind::NotADirectory));
        };
        durable.clone_from(cached);
        pending.clear();
        Ok(())
    }

    fn make_dir(&self, path: &Path) -> io::Result<()> {
        self.disk().create(path, dir()).map(|_| ())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        let disk = self.disk();
        let names = disk.names(disk.find(dir)?)?;
        let kind = |inode| match disk.nodes[inode] {
            Node::File { .. } => Kind::File,
            Node::Dir { .. } => Kind::Dir,
        };
        Ok(names.iter().map(|(name, i)| Entry { name: name.clone(), kind: kind(i) }).collect())
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        let disk = self.disk();
        Ok(match &disk.nodes[&disk.find(path)?] {
            Node::File { cached, modified, .. } => {
                Stat { kind: Kind::File, len: cached.len() as u64, modified_ns: *modified }
            }
            Node::Dir { .. } => Stat { kind: Kind::Dir, len: 0, modified_ns: 0 },
        })
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        let (dir, name) = disk.place(path)?;
        match disk.nodes[&disk.find(path)?] {
            Node::File { .. } => disk.change(dir, Change::Remove(name)),
            Node::Dir { .. } => return Err(error(ErrorKind::IsADirectory)),
        }
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        let (dir, name) = disk.place(path)?;
        if !disk.names(disk.find(path)?)?.is_empty() {
            return Err(error(ErrorKind::DirectoryNotEmpty));
        }
        disk.change(dir, Change::Remove(name));
        Ok(())
    }

    fn lock(&self, path: &Path, create: bool) -> io::Result<Option<MemoryLock>> {
        let mut disk = self.disk();
        let inode = match disk.find(path) {
            Err(_) if create => disk.create(path, file())?,
            other => other?,
        };
        let token = disk.tick();
        if disk.locked.contains_key(&inode) {
            return Ok(None);
        }
        disk.locked.insert(inode, token);
        Ok(Some(MemoryLock(self.0.clone(), inode, token)))
    }
}

impl MemoryFile {
    fn with<T>(
        &self,
        act: impl FnOnce(&mut Vec<u8>, &mut Vec<u8>, &mut Vec<Range<usize>>) -> T,
    ) -> T {
        let mut disk = self.0.lock().unwrap();
        let tick = i128::from(disk.tick());
        let Some(Node::File { cached, durable, lost, modified }) = disk.nodes.get_mut(&self.1)
        else {
            panic!()
        };
        *modified = tick;
        act(cached, durable, lost)
    }

    /// Simulates a failed sync: all that it was to save is lost, though it can still be read.
    pub fn lose(&self) {
        self.with(|cached, durable, lost| lost.push(durable.len().min(cached.len())..cached.len()));
    }
}

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|cached, _, _| cached.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl OutFile for MemoryFile {
    fn sync(&mut self) -> io::Result<()> {
        self.with(|cached, durable, lost| {
            durable.clone_from(cached);
            for range in lost.iter() {
                let end = range.end.min(durable.len());
                durable[range.start.min(end)..end].fill(0);
            }
        });
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.with(|cached, _, _| cached.truncate(length as usize));
        Ok(())
    }
}
