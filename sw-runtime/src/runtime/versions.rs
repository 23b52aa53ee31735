//! The buffers by their handles, and where renaming is on, the memory of each of their versions.
//!
//! A launch names buffers. Without renaming a buffer is one memory for good. With it, what a launch overwrites as a whole while others still
//! use it gets memory of its own, a *version*: neither WAR nor WAW holds the launch back then, and those that come later mean the new one.
//! A version is a buffer of its own to the hazard engine, to poison and to executors; only this file knows which are of one buffer.

use super::memory::{Allocator, BufferId, Bytes, ElementKind, Memory};
use super::poison::Poison;
use super::scheduler::{News, Shared};
use super::{caught, unique};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use windlass_hazards::{Access as Range, Buffer as Handle, Engine, Error, MAX_REGIONS, REGION_BYTES};

/// Set in the index of a version; applications get no such index, for there are no more buffers than regions.
const VERSION: u32 = 1 << 31;

/// Memory that kernels in the window name.
#[derive(Debug)]
pub(crate) struct Declared {
    /// Another may have had the index before, and a kernel that did not declare its access to that one may still name it.
    pub(crate) unique: u32,
    /// Or why the hazard engine does not know it.
    pub(crate) handle: Result<Handle, Error>,
    pub(crate) bytes: u64,
    pub(crate) element: ElementKind,
    pub(crate) memory: Arc<dyn Memory>,
}

impl Declared {
    fn whole(&self, id: BufferId) -> Bytes {
        Bytes { buffer: id, element: self.element, offset: 0, bytes: self.bytes }
    }
}

/// What renaming did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Renamed {
    /// Values that got memory of their own.
    pub versions: u64,
    /// Values that would have, had there been memory left of the budget, or any at all.
    pub refused: u64,
    /// The most bytes there were at a time beyond the buffers' own.
    pub peak_bytes: u64,
}

/// See [`super::Builder::rename`].
pub(crate) struct Renaming {
    allocator: Arc<dyn Allocator>,
    budget: u64,
    /// Bytes of `old` and `pool`.
    extra: u64,
    /// Which version a buffer is now, by the index of its handle.
    current: Vec<Option<(u32, BufferId)>>,
    versions: Vec<Option<Declared>>,
    free: Vec<u32>,
    /// Versions that nobody will name again, and somebody may still use.
    old: Vec<BufferId>,
    /// Memory that nobody uses, the one that was used last at the end.
    pool: VecDeque<(u64, ElementKind, Arc<dyn Memory>)>,
}

impl fmt::Debug for Renaming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renaming").field("versions", &self.versions).finish_non_exhaustive()
    }
}

impl Renaming {
    pub(crate) fn new(allocator: Arc<dyn Allocator>, budget: u64) -> Self {
        let (current, versions, free) = (Vec::new(), Vec::new(), Vec::new());
        Self { allocator, budget, extra: 0, current, versions, free, old: Vec::new(), pool: VecDeque::new() }
    }

    fn add(&mut self, declared: Declared) -> BufferId {
        let unique = declared.unique;
        let index = self.free.pop().unwrap_or_else(|| {
            self.versions.push(None);
            (self.versions.len() - 1) as u32
        });
        self.versions[index as usize] = Some(declared);
        BufferId { index: VERSION | index, unique }
    }

    fn take(&mut self, id: BufferId) -> Option<Declared> {
        let index = id.index & !VERSION;
        let declared = self.versions.get_mut(index as usize)?.take()?;
        self.free.push(index);
        Some(declared)
    }

    /// Versions whose last user has retired give their memory to the pool.
    fn sweep(&mut self, engine: &mut Engine, poison: &mut Poison, news: &mut News) {
        for id in std::mem::take(&mut self.old) {
            let Some(version) = self.versions.get((id.index & !VERSION) as usize).and_then(Option::as_ref)
            else {
                continue;
            };
            if version.handle.is_ok_and(|handle| engine.release(handle) == Err(Error::InUse)) {
                self.old.push(id);
                continue;
            }
            poison.clear(&version.whole(id));
            news.regions -= version.bytes.div_ceil(REGION_BYTES);
            if let Some(Declared { bytes, element, memory, .. }) = self.take(id) {
                self.pool.push_back((bytes, element, memory));
            }
        }
    }

    /// Memory of that size, from the pool or new, within the budget. What has rested longest in the pool goes first.
    fn memory(&mut self, bytes: u64, element: ElementKind) -> Option<Arc<dyn Memory>> {
        if let Some(found) = self.pool.iter().position(|(b, e, _)| (*b, *e) == (bytes, element)) {
            return self.pool.remove(found).map(|(.., memory)| memory);
        }
        while self.extra.saturating_add(bytes) > self.budget {
            let (given_back, ..) = self.pool.pop_front()?;
            self.extra -= given_back;
        }
        let elements = usize::try_from(bytes / element.bytes() as u64).ok()?;
        // What is refused here is not an error: the old memory serves, later.
        let memory = caught(|| self.allocator.allocate(elements, element)).ok()?;
        self.extra += bytes;
        Some(memory)
    }
}

/// All that launches can name.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    /// By index; empty with renaming.
    given: Vec<Option<Declared>>,
    pub(crate) renaming: Option<Renaming>,
}

fn put<T>(table: &mut Vec<Option<T>>, index: u32, entry: T) {
    let index = index as usize;
    if table.len() <= index {
        table.resize_with(index + 1, || None);
    }
    table[index] = Some(entry);
}

impl Buffers {
    pub(crate) fn new(renaming: Option<Renaming>) -> Self {
        Self { given: Vec::new(), renaming }
    }

    /// A new buffer, with the index of its handle.
    pub(crate) fn declare(&mut self, index: u32, declared: Declared) {
        match &mut self.renaming {
            None => put(&mut self.given, index, declared),
            Some(renaming) => {
                let unique = declared.unique;
                let version = renaming.add(declared);
                put(&mut renaming.current, index, (unique, version));
            }
        }
    }

    /// Forgets a buffer, by its handle and as it is now; what the hazard engine has to forget.
    pub(crate) fn forget(&mut self, given: BufferId, now: BufferId) -> Option<Declared> {
        match &mut self.renaming {
            None => self.given.get_mut(given.index as usize)?.take(),
            Some(renaming) => {
                *renaming.current.get_mut(given.index as usize)? = None;
                renaming.take(now)
            }
        }
    }

    fn get(&self, id: BufferId) -> Option<&Declared> {
        let table = match &self.renaming {
            Some(renaming) if id.index & VERSION != 0 => &renaming.versions,
            _ => &self.given,
        };
        table.get((id.index & !VERSION) as usize)?.as_ref().filter(|declared| declared.unique == id.unique)
    }

    pub(crate) fn memory(&self, id: BufferId) -> Option<&Arc<dyn Memory>> {
        self.get(id).map(|declared| &declared.memory)
    }

    /// The version that a buffer is now.
    #[inline]
    pub(crate) fn resolve(&self, id: &mut BufferId) {
        if let Some(renaming) = &self.renaming
            && let Some(Some((unique, version))) = renaming.current.get(id.index as usize)
            && *unique == id.unique
        {
            *id = *version;
        }
    }

    /// As the hazard engine takes it.
    #[inline]
    pub(crate) fn range(&self, part: &Bytes) -> Result<Range, Error> {
        let unknown = Error::UnknownBuffer { buffer: u64::from(part.buffer.index) };
        let declared = self.get(part.buffer).ok_or(unknown)?;
        Ok(if part.offset == 0 && part.bytes == declared.bytes {
            Range::whole(declared.handle?)
        } else {
            Range::view(declared.handle?, part.offset, part.bytes)
        })
    }

    /// A buffer is about to be overwritten. Where these are all its bytes, and somebody uses them, it is memory of its own from here on, if
    /// there is any.
    pub(crate) fn overwrite(
        &mut self,
        part: &Bytes,
        engine: &mut Engine,
        poison: &mut Poison,
        shared: &Shared,
    ) {
        let mut now = part.buffer;
        self.resolve(&mut now);
        let Some(&Declared { handle: Ok(handle), bytes, element, .. }) = self.get(now) else { return };
        if part.offset != 0 || part.bytes != bytes || !engine.is_used(handle).unwrap_or(false) {
            return;
        }
        let Some(renaming) = &mut self.renaming else { return };
        let news = &mut *shared.news();
        renaming.sweep(engine, poison, news);
        let regions = bytes.div_ceil(REGION_BYTES);
        let fits = news.regions + regions <= MAX_REGIONS as u64;
        let Some(memory) = fits.then(|| renaming.memory(bytes, element)).flatten() else {
            news.renamed.refused += 1;
            return;
        };
        let Ok(handle) = engine.declare(bytes) else {
            renaming.pool.push_back((bytes, element, memory));
            news.renamed.refused += 1;
            return;
        };
        news.regions += regions;
        news.renamed.versions += 1;
        news.renamed.peak_bytes = news.renamed.peak_bytes.max(renaming.extra);
        let declared = Declared { unique: unique(), handle: Ok(handle), bytes, element, memory };
        let version = renaming.add(declared);
        renaming.old.push(now);
        if let Some(Some((_, current))) = renaming.current.get_mut(part.buffer.index as usize) {
            *current = version;
        }
    }
}
