//! What all kinds of windows do.

use crate::access::{Access, Error, Slot, Slots};
use crate::memory::{Memory, Piece, Pieces};
use alloc::vec::Vec;
use core::fmt::Debug;

/// A set of slots that is handed out.
#[derive(Debug)]
pub(crate) struct Output {
    pub mask: [u64; 8],
    /// Words of the mask; 0 where the set is a list.
    pub words: usize,
    pub list: Vec<Slot>,
}

impl Output {
    pub fn new(window: usize) -> Self {
        let (words, list) =
            if window <= 512 { (window.div_ceil(64).next_power_of_two(), 0) } else { (0, window) };
        Self { mask: [0; 8], words, list: Vec::with_capacity(list) }
    }

    #[inline(always)]
    pub fn slots(&self) -> Slots<'_> {
        match self.words {
            0 => Slots::List(&self.list),
            words => Slots::Mask(&self.mask[..words]),
        }
    }
}

/// What an engine has beside its window.
#[derive(Debug)]
pub(crate) struct Common {
    pub memory: Memory,
    pub pieces: Pieces,
    /// What the kernel inserted last waits for.
    pub upstream: Output,
}

/// Kernels in flight.
pub(crate) trait Window: Debug + Send + Sync {
    /// The common cases. Where the kernel was put; `None` where nothing was changed, and [`Window::insert_any`] must look into it.
    fn insert(&mut self, common: &mut Common, reads: &[Access], writes: &[Access]) -> Option<Slot>;

    /// Any accesses, under any rule.
    fn insert_any(&mut self, common: &mut Common, reads: &[Access], writes: &[Access])
    -> Result<Slot, Error>;

    /// Takes a kernel out. False where it cannot be, which [`Window::refusal`] explains.
    fn retire(&mut self, freed: &mut Output, slot: Slot) -> bool;

    fn refusal(&self, slot: Slot) -> Error;

    /// Adds a region, all of which `whole` is; `buffer` are the bits of the buffer that is just this region, if one is.
    fn add_region(&mut self, whole: Piece, buffer: Option<u64>);

    fn remove_region(&mut self, region: u16);

    /// Whether a kernel in flight has an access to it.
    fn is_used(&self, region: u16) -> bool;

    /// What a kernel in flight reads and writes: each piece, and whether it is a write.
    fn pieces(&self, memory: &Memory, slot: Slot) -> Result<Vec<(Piece, bool)>, Error>;

    /// Whether a kernel has a read, a write of no known allocation.
    fn unknown(&self, slot: Slot) -> (bool, bool);

    fn len(&self) -> usize;

    fn inline_segments(&self) -> usize;

    /// Bytes of all that there is once per slot, and of the spill pool.
    fn bytes(&self) -> (usize, usize);
}
