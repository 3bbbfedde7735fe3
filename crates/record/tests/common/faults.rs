//! A filesystem whose Nth operation fails.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use drivescope_record::{Entry, Files, OutFile, RealFiles, Stat};

use super::memory::{Memory, MemoryFile};

/// Fault of the Nth operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// It answers with this, once; a write has written half by then.
    Once(ErrorKind),
    /// It and all that follow and need room answer that there is none.
    Full,
    /// A write writes half, and reports no error. The next operation fails.
    Short,
    /// It and all that follow do not happen: the process is gone.
    Die,
    /// It happens, and nothing after it.
    DieAfter,
}

impl Fault {
    pub const ALL: [Fault; 6] = [
        Fault::Once(ErrorKind::StorageFull),
        Fault::Once(ErrorKind::Other),
        Fault::Full,
        Fault::Short,
        Fault::Die,
        Fault::DieAfter,
    ];

    /// True when the process does not survive it.
    pub fn is_death(self) -> bool {
        matches!(self, Fault::Die | Fault::DieAfter)
    }
}

#[derive(Debug)]
struct Plan {
    at: u64,
    fault: Fault,
    count: AtomicU64,
    fired: AtomicBool,
}

/// Action for one operation.
enum Verdict {
    Go,
    Half(Option<io::Error>),
    Fail(io::Error),
}

/// Kind of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Look,
    Write,
    Room,
    Free,
}

impl Plan {
    fn next(&self, sort: Sort) -> Verdict {
        let n = self.count.fetch_add(1, Ordering::Relaxed);
        if n < self.at {
            return Verdict::Go;
        }
        self.fired.store(true, Ordering::Relaxed);
        let first = n == self.at;
        let gone = || io::Error::other("the process is gone");
        match self.fault {
            Fault::Once(kind) if first && sort == Sort::Write => Verdict::Half(Some(kind.into())),
            Fault::Once(kind) if first => Verdict::Fail(kind.into()),
            Fault::Short if first && sort == Sort::Write => Verdict::Half(None),
            Fault::Short if n == self.at + 1 => Verdict::Fail(ErrorKind::StorageFull.into()),
            Fault::Full if matches!(sort, Sort::Write | Sort::Room) => {
                Verdict::Fail(ErrorKind::StorageFull.into())
            }
            Fault::Die => Verdict::Fail(gone()),
            Fault::DieAfter if !first => Verdict::Fail(gone()),
            _ => Verdict::Go,
        }
    }

    fn pass(&self, sort: Sort) -> io::Result<()> {
        match self.next(sort) {
            Verdict::Go | Verdict::Half(None) => Ok(()),
            Verdict::Half(Some(error)) | Verdict::Fail(error) => Err(error),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Faulty<F> {
    inner: F,
    plan: Arc<Plan>,
}

impl<F> Faulty<F> {
    /// Lets `at` operations pass, and then has its way.
    pub fn new(inner: F, at: u64, fault: Fault) -> Faulty<F> {
        let plan = Plan { at, fault, count: AtomicU64::new(0), fired: AtomicBool::new(false) };
        Faulty { inner, plan: Arc::new(plan) }
    }

    /// Operations so far.
    pub fn count(&self) -> u64 {
        self.plan.count.load(Ordering::Relaxed)
    }

    /// True when the Nth operation was reached.
    pub fn fired(&self) -> bool {
        self.plan.fired.load(Ordering::Relaxed)
    }
}

/// A file that can lose what a failed sync was to save.
pub trait Losing: OutFile {
    fn lose(&self) {}
}

impl Losing for File {}
impl Losing for MemoryFile {
    fn lose(&self) {
        MemoryFile::lose(self);
    }
}

pub struct FaultyFile<T> {
    inner: T,
    plan: Arc<Plan>,
}

impl<F> Files for Faulty<F>
where
    F: Files<File: Losing>,
{
    type File = FaultyFile<F::File>;
    type Lock = F::Lock;

    fn create_new(&self, path: &Path) -> io::Result<Self::File> {
        self.plan.pass(Sort::Room)?;
        Ok(FaultyFile { inner: self.inner.create_new(path)?, plan: self.plan.clone() })
    }
    fn append(&self, path: &Path) -> io::Result<Self::File> {
        self.plan.pass(Sort::Look)?;
        Ok(FaultyFile { inner: self.inner.append(path)?, plan: self.plan.clone() })
    }
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        self.plan.pass(Sort::Look)?;
        self.inner.open(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.plan.pass(Sort::Room)?;
        self.inner.rename(from, to)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.plan.pass(Sort::Room)?;
        self.inner.sync_dir(dir)
    }
    fn make_dir(&self, dir: &Path) -> io::Result<()> {
        self.plan.pass(Sort::Room)?;
        self.inner.make_dir(dir)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        self.plan.pass(Sort::Look)?;
        self.inner.list(dir)
    }
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.plan.pass(Sort::Look)?;
        self.inner.stat(path)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.plan.pass(Sort::Free)?;
        self.inner.remove_file(path)
    }
    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        self.plan.pass(Sort::Free)?;
        self.inner.remove_dir(dir)
    }
    fn lock(&self, path: &Path, create: bool) -> io::Result<Option<F::Lock>> {
        self.plan.pass(Sort::Look)?;
        self.inner.lock(path, create)
    }
}

impl<T: Losing> Write for FaultyFile<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.plan.next(Sort::Write) {
            Verdict::Go => self.inner.write(bytes),
            Verdict::Fail(error) => Err(error),
            Verdict::Half(error) => {
                let half = bytes.len().div_ceil(2);
                self.inner.write_all(&bytes[..half])?;
                error.map_or(Ok(half), Err)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<T: Losing> OutFile for FaultyFile<T> {
    fn sync(&mut self) -> io::Result<()> {
        self.plan.pass(Sort::Room).inspect_err(|_| self.inner.lose())?;
        self.inner.sync()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.plan.pass(Sort::Free)?;
        self.inner.truncate(length)
    }
}

/// A filesystem on which all processes can die, with or without the power.
pub trait Mortal: Files<File: Losing> {
    /// All processes die. With a seed, the power fails, too, and it says what that leaves.
    fn die(&self, power: Option<u64>);
}

impl Mortal for Memory {
    fn die(&self, power: Option<u64>) {
        match power {
            Some(seed) => self.cut_power(seed),
            None => self.kill(),
        }
    }
}

impl Mortal for RealFiles {
    /// Locks are gone when their holders are dropped, and the power stays on.
    fn die(&self, _: Option<u64>) {}
}
