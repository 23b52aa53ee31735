//! The buffers by their handles, and where renaming is on, the memory of each of their versions.
//!
//! A launch names buffers. Without renaming a buffer is one memory for good. With it, what a launch overwrites as a whole while others still
//! use it gets memory of its own, a *version*: neither WAR nor WAW holds the launch back then, and those that come later mean the new one.
//! A version is a buffer of its own to the hazard engine, to poison and to executors; only this file knows which are of one buffer.

use super::caught;
use super::guard::discard;
use super::memory::{Allocator, BufferId, Bytes, ElementKind, Memory};
use super::poison::Poison;
use super::scheduler::{News, Shared};
use crate::ktrace::Segment;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use windlass_hazards::{Access as Range, Buffer as Handle, Engine, Error, MAX_REGIONS, REGION_BYTES};

/// Set in the index of a version; applications get no such index, for there are no more buffers than regions.
const VERSION: u32 = 1 << 31;

/// Memory that kernels in the window name.
#[derive(Debug)]
pub(crate) struct Declared {
    /// Another may have had the index before, and a kernel that did not declare its access to that one may still name it.
    pub(crate) unique: u64,
    /// Or why the hazard engine does not know it.
    pub(crate) handle: Result<Handle, Error>,
    pub(crate) bytes: u64,
    pub(crate) element: ElementKind,
    pub(crate) memory: Arc<dyn Memory>,
    /// Where it is memory of others, its addresses: what kernels write is to be found there.
    pub(crate) imported: Option<Segment>,
    /// It is a version that nobody will name again, and somebody still uses.
    pub(crate) replaced: bool,
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

/// The executor's memory, with what renaming may take of it. Both threads use it, and neither holds it while memory is given or taken back.
pub(crate) struct Pool {
    allocator: Arc<dyn Allocator>,
    budget: u64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Memory that nobody uses, the one that was used last at the end.
    free: VecDeque<(u64, ElementKind, Arc<dyn Memory>)>,
    free_bytes: u64,
    /// Bytes beyond the buffers' own: those of `free`, and of replaced versions.
    extra: u64,
    renamed: Renamed,
}

impl Kept {
    fn remove(&mut self, at: usize) -> Option<Arc<dyn Memory>> {
        let (bytes, _, memory) = self.free.remove(at)?;
        self.free_bytes -= bytes;
        Some(memory)
    }

    /// As `remove`, for good.
    fn give_back(&mut self, at: usize) -> Option<Arc<dyn Memory>> {
        let before = self.free_bytes;
        let memory = self.remove(at)?;
        self.extra -= before - self.free_bytes;
        Some(memory)
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("budget", &self.budget).field("kept", &self.kept).finish_non_exhaustive()
    }
}

impl Pool {
    pub(crate) fn new(allocator: Arc<dyn Allocator>, budget: u64) -> Self {
        Self { allocator, budget, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn renamed(&self) -> Renamed {
        self.kept().renamed
    }

    /// A buffer's memory. Where there is none, what the pool holds is given back for it.
    pub(crate) fn allocate(&self, elements: usize, element: ElementKind) -> Result<Arc<dyn Memory>, String> {
        let allocate = || caught(|| self.allocator.allocate(elements, element));
        allocate().or_else(|reason| if self.trim() { allocate() } else { Err(reason) })
    }

    pub(crate) fn allocator(&self) -> &dyn Allocator {
        &*self.allocator
    }

    /// Gives back all memory that nobody uses; whether there was any.
    pub(crate) fn trim(&self) -> bool {
        self.drop_where(|_| true)
    }

    fn drop_where(&self, unwanted: impl Fn((u64, ElementKind)) -> bool) -> bool {
        let gone: VecDeque<_> = {
            let kept = &mut *self.kept();
            let all = std::mem::take(&mut kept.free).into_iter();
            let (gone, free) = all.partition(|(bytes, element, _)| unwanted((*bytes, *element)));
            kept.free = free;
            let bytes: u64 = VecDeque::iter(&gone).map(|(bytes, ..)| bytes).sum();
            kept.free_bytes -= bytes;
            kept.extra -= bytes;
            gone
        };
        let any = !gone.is_empty();
        gone.into_iter().for_each(discard);
        any
    }

    /// Memory for a version, from the pool or new, within the budget. What has rested longest in the pool goes first.
    fn take(&self, bytes: u64, element: ElementKind) -> Option<Arc<dyn Memory>> {
        let mut gone = Vec::new();
        {
            let kept = &mut *self.kept();
            if let Some(found) = kept.free.iter().position(|(b, e, _)| (*b, *e) == (bytes, element)) {
                return kept.remove(found);
            }
            // What will not fit takes nothing from those that do.
            if (kept.extra - kept.free_bytes).saturating_add(bytes) > self.budget {
                return None;
            }
            while kept.extra.saturating_add(bytes) > self.budget
                && let Some(memory) = kept.give_back(0)
            {
                gone.push(memory);
            }
            kept.extra += bytes;
        }
        gone.into_iter().for_each(discard);
        let elements = usize::try_from(bytes / element.bytes() as u64).ok();
        // What is refused here is not an error: the old memory serves, later.
        let memory = elements.and_then(|elements| self.allocate(elements, element).ok());
        if memory.is_none() {
            self.kept().extra -= bytes;
        }
        memory
    }

    /// Memory of a version that nobody uses any more.
    fn give(&self, bytes: u64, element: ElementKind, memory: Arc<dyn Memory>) {
        let kept = &mut *self.kept();
        kept.free.push_back((bytes, element, memory));
        kept.free_bytes += bytes;
    }

    /// Whether a value that would have liked memory of its own got it.
    fn count(&self, got: bool) {
        let Kept { extra, renamed, .. } = &mut *self.kept();
        renamed.versions += u64::from(got);
        renamed.refused += u64::from(!got);
        if got {
            renamed.peak_bytes = renamed.peak_bytes.max(*extra);
        }
    }
}

/// See [`super::Builder::rename`].
pub(crate) struct Renaming {
    pool: Arc<Pool>,
    /// Which version a buffer is now, by the index of its handle.
    current: Vec<Option<(u64, BufferId)>>,
    versions: Vec<Option<Declared>>,
    free: Vec<u32>,
    /// What the next version is called.
    next: u64,
    /// Of each size and element, how many buffers there are: memory of others need not be kept.
    sizes: HashMap<(u64, ElementKind), usize>,
}

impl fmt::Debug for Renaming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renaming").field("versions", &self.versions).finish_non_exhaustive()
    }
}

impl Renaming {
    pub(crate) fn new(pool: Arc<Pool>) -> Self {
        let (current, versions, free) = (Vec::new(), Vec::new(), Vec::new());
        Self { pool, current, versions, free, next: 0, sizes: HashMap::new() }
    }

    /// A new version; it has a number that none had before.
    fn add(&mut self, declared: Declared) -> BufferId {
        let unique = self.next;
        self.next += 1;
        let index = self.free.pop().unwrap_or_else(|| {
            self.versions.push(None);
            (self.versions.len() - 1) as u32
        });
        self.versions[index as usize] = Some(Declared { unique, ..declared });
        BufferId { index: VERSION | index, unique }
    }

    fn version(&mut self, id: BufferId) -> Option<&mut Declared> {
        let version = self.versions.get_mut((id.index & !VERSION) as usize)?;
        version.as_mut().filter(|version| version.unique == id.unique)
    }

    fn take(&mut self, id: BufferId) -> Option<Declared> {
        let index = id.index & !VERSION;
        let declared = self.versions.get_mut(index as usize)?.take()?;
        self.free.push(index);
        Some(declared)
    }

    /// A user of a version has retired. Where it was replaced, and this was its last one, its memory serves again.
    fn let_go(&mut self, id: BufferId, engine: &mut Engine, poison: &mut Poison, shared: &Shared) {
        let Some(version) = self.version(id).filter(|version| version.replaced) else { return };
        if version.handle.is_ok_and(|handle| engine.release(handle) == Err(Error::InUse)) {
            return;
        }
        poison.clear(&version.whole(id));
        shared.news().regions -= version.bytes.div_ceil(REGION_BYTES);
        let Some(Declared { bytes, element, memory, .. }) = self.take(id) else { return };
        self.pool.give(bytes, element, memory);
        self.drop_unwanted((bytes, element));
    }

    /// There are no buffers of some size any more: nothing will be renamed into such memory.
    fn drop_unwanted(&self, size: (u64, ElementKind)) {
        if !self.sizes.contains_key(&size) {
            self.pool.drop_where(|other| other == size);
        }
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
                *renaming.sizes.entry((declared.bytes, declared.element)).or_default() += 1;
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
                let declared = renaming.take(now)?;
                let size = (declared.bytes, declared.element);
                if let Some(count) = renaming.sizes.get_mut(&size) {
                    *count -= 1;
                    if *count == 0 {
                        renaming.sizes.remove(&size);
                        renaming.drop_unwanted(size);
                    }
                }
                Some(declared)
            }
        }
    }

    /// A user of these has retired.
    #[inline]
    pub(crate) fn let_go(
        &mut self,
        used: impl Iterator<Item = BufferId>,
        engine: &mut Engine,
        poison: &mut Poison,
        shared: &Shared,
    ) {
        if let Some(renaming) = &mut self.renaming {
            used.for_each(|id| renaming.let_go(id, engine, poison, shared));
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
    /// there is any: whether it got it, `None` where it needs none. Who insists asks again, and no refusal is counted.
    pub(crate) fn overwrite(
        &mut self,
        part: &Bytes,
        insist: bool,
        engine: &mut Engine,
        shared: &Shared,
    ) -> Option<bool> {
        let mut now = part.buffer;
        self.resolve(&mut now);
        let Some(&Declared { handle: Ok(handle), bytes, element, imported: None, .. }) = self.get(now) else {
            return None;
        };
        if part.offset != 0 || part.bytes != bytes || !engine.is_used(handle).unwrap_or(false) {
            return None;
        }
        let Some(renaming) = &mut self.renaming else { return None };
        let pool = renaming.pool.clone();
        let regions = bytes.div_ceil(REGION_BYTES);
        let reserve = |news: &mut News| {
            let fits = news.regions + regions <= MAX_REGIONS as u64;
            news.regions += if fits { regions } else { 0 };
            fits
        };
        let count = |got| {
            if got || !insist {
                pool.count(got);
            }
            Some(got)
        };
        if !reserve(&mut shared.news()) {
            return count(false);
        }
        let new = pool.take(bytes, element).and_then(|memory| match engine.declare(bytes) {
            Ok(handle) => Some((Ok(handle), memory)),
            Err(_) => {
                pool.give(bytes, element, memory);
                None
            }
        });
        let Some((handle, memory)) = new else {
            shared.news().regions -= regions;
            return count(false);
        };
        let version = renaming.add(Declared {
            unique: 0,
            handle,
            bytes,
            element,
            memory,
            imported: None,
            replaced: false,
        });
        if let Some(old) = renaming.version(now) {
            old.replaced = true;
        }
        if let Some(Some((_, current))) = renaming.current.get_mut(part.buffer.index as usize) {
            *current = version;
        }
        count(true)
    }
}
