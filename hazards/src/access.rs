//! The words of the interface: buffers, accesses, slots, hazards, errors.

use core::fmt;
use thiserror::Error;

/// The smallest and the largest window.
pub const WINDOW: core::ops::RangeInclusive<usize> = 4..=4096;

/// Addresses of raw ranges lie below this, also at their end; the engine uses those above for buffers without an address.
pub const ADDRESS_LIMIT: u64 = 1 << 63;

/// Reads, or writes, of one kernel, counted after a range over several buffers is split: at most this many.
pub const MAX_SEGMENTS: usize = u8::MAX as usize;

/// A declared range of memory. Plain bits, for C; they mean something to the engine that gave them only.
// Bits 0..16 are the index of a region, 16..32 are zero, 32..64 the generation of that index. A region keeps the handle of
// the buffer that it is, so that one comparison checks index, generation, and that the access is to the whole buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Buffer(pub(crate) u64);

impl Buffer {
    pub(crate) fn new(index: u16, generation: u32) -> Self {
        Self(u64::from(generation) << 32 | u64::from(index))
    }

    /// The bits, to hand through C.
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// From [`Buffer::to_bits`]. Bits that no engine gave are refused as [`Error::UnknownBuffer`] when they are used.
    pub const fn from_bits(bits: u64) -> Self {
        // Where an access has its kind, no buffer has bits: all of them are a kind that there is not.
        Self(if bits & KIND == 0 { bits } else { bits | KIND })
    }
}

/// What a kernel reads or writes: a whole buffer, some bytes of one, or a raw address range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Access {
    /// The buffer's bits; for a view with `VIEW`; for a raw range nothing but `RAW`.
    pub(crate) head: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

const KIND: u64 = 0xFFFF << 16;
const VIEW: u64 = 1 << 16;
const RAW: u64 = 2 << 16;

/// An access, taken apart.
pub(crate) enum Target {
    Whole(Buffer),
    View(Buffer, u64, u64),
    Raw(u64, u64),
}

impl Access {
    /// All bytes of a buffer: the fast path.
    pub const fn whole(buffer: Buffer) -> Self {
        Self { head: buffer.0, offset: 0, bytes: 0 }
    }

    /// `bytes` bytes from `offset` into a buffer; none where `bytes` is 0.
    pub const fn view(buffer: Buffer, offset: u64, bytes: u64) -> Self {
        Self { head: buffer.0 | VIEW, offset, bytes }
    }

    /// `bytes` bytes from an address; none where `bytes` is 0.
    pub const fn raw(addr: u64, bytes: u64) -> Self {
        Self { head: RAW, offset: addr, bytes }
    }

    /// Whether it is a buffer by its handle.
    pub(crate) fn is_whole(&self) -> bool {
        self.head & KIND == 0
    }

    pub(crate) fn target(&self) -> Target {
        match self.head & KIND {
            RAW => Target::Raw(self.offset, self.bytes),
            VIEW => Target::View(Buffer(self.head & !KIND), self.offset, self.bytes),
            _ => Target::Whole(Buffer(self.head)),
        }
    }
}

impl From<Buffer> for Access {
    fn from(buffer: Buffer) -> Self {
        Self::whole(buffer)
    }
}

/// Where the window keeps a kernel from its insertion to its retirement: a number below the window's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Slot(pub u16);

impl Slot {
    /// To index a table with one entry per slot.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of slots, lent by the engine until its next call.
#[derive(Clone, Copy, Debug)]
pub enum Slots<'a> {
    /// Windows up to 512: bit s % 64 of word s / 64 is set for slot s.
    Mask(&'a [u64]),
    /// Larger windows: each slot once, in no particular order.
    List(&'a [Slot]),
}

impl<'a> Slots<'a> {
    /// True for the empty set.
    #[inline]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Mask(words) => words.iter().all(|w| *w == 0),
            Self::List(slots) => slots.is_empty(),
        }
    }

    /// How many slots.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Mask(words) => words.iter().map(|w| w.count_ones() as usize).sum(),
            Self::List(slots) => slots.len(),
        }
    }

    /// Whether `slot` is among them.
    pub fn contains(&self, slot: Slot) -> bool {
        match self {
            Self::Mask(words) => {
                words.get(slot.index() / 64).is_some_and(|w| w >> (slot.index() % 64) & 1 == 1)
            }
            Self::List(slots) => slots.contains(&slot),
        }
    }

    /// The slots; of a mask in ascending order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Slot> + 'a {
        let (words, list) = match *self {
            Self::Mask(words) => (words, &[][..]),
            Self::List(list) => (&[][..], list),
        };
        words
            .iter()
            .enumerate()
            .flat_map(|(n, w)| bits(*w).map(move |b| Slot((n * 64 + b) as u16)))
            .chain(list.iter().copied())
    }
}

/// The positions of the set bits, ascending.
#[inline]
pub(crate) fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        (word != 0).then(|| {
            word &= word - 1;
            bit
        })
    })
}

/// A kernel that was inserted.
#[derive(Clone, Copy, Debug)]
pub struct Inserted<'a> {
    /// Where it is.
    pub slot: Slot,
    /// What it waits for; empty where it is ready.
    pub upstream: Slots<'a>,
}

/// Why two kernels keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The later kernel reads what the earlier one writes.
    Raw,
    /// The later kernel writes what the earlier one reads.
    War,
    /// Both write it.
    Waw,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Raw => "RAW",
            Self::War => "WAR",
            Self::Waw => "WAW",
        })
    }
}

/// Bytes that two kernels share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shared {
    /// From an address.
    Address {
        /// The first.
        addr: u64,
        /// How many.
        bytes: u64,
    },
    /// Of a buffer without an address.
    Offset {
        /// Bits of the buffer.
        buffer: u64,
        /// The first, from the buffer's beginning.
        offset: u64,
        /// How many.
        bytes: u64,
    },
    /// One of the kernels has an access to no known allocation, which may touch anything.
    Unknown,
}

/// One reason why a later kernel waits for an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hazard {
    /// Which kind.
    pub class: Class,
    /// On which bytes.
    pub shared: Shared,
}

/// What follows a noun of which there are so many.
fn plural(number: u64) -> &'static str {
    if number == 1 { "" } else { "s" }
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shared {
            Shared::Address { addr, bytes } => {
                write!(f, "{} on {bytes} byte{} at {addr:#X}", self.class, plural(bytes))
            }
            Shared::Offset { buffer, offset, bytes } => {
                let s = plural(bytes);
                write!(f, "{} on {bytes} byte{s} at offset {offset} of buffer {buffer:#X}", self.class)
            }
            Shared::Unknown => write!(f, "{}, possibly: an access to no known allocation", self.class),
        }
    }
}

/// An access to addresses of no declared buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownRange {
    /// Its first address.
    pub addr: u64,
    /// Its length.
    pub bytes: u64,
}

impl fmt::Display for UnknownRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bytes at {:#X} are not all in declared buffers; such an access may touch anything, and its kernel waits \
             for all that it could conflict with: declare the allocation",
            self.bytes, self.addr
        )
    }
}

/// What the engine refuses. It is then as it was before the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A window outside [`WINDOW`].
    #[error("a window of {got} kernels; choose {} to {}", WINDOW.start(), WINDOW.end())]
    Window {
        /// What was asked.
        got: usize,
    },
    /// More segments beyond the slots' own than the engine can number.
    #[error("a spill pool for {got} segments; this window can have at most {max}")]
    Spill {
        /// What was asked.
        got: usize,
        /// The most.
        max: usize,
    },
    /// More edges than the engine can number (windows beyond 512 only).
    #[error("a pool of {got} edges; this window can have at most {max}")]
    Edges {
        /// What was asked.
        got: usize,
        /// The most.
        max: usize,
    },
    /// Vector instructions that this build or this CPU lacks.
    #[error("{0} is not available here; leave `Config::isa` unset to take the best there is")]
    Isa(crate::Isa),
    /// All slots hold unfinished kernels.
    #[error("all {slots} slots hold unfinished kernels; retire one first")]
    Full {
        /// Slots of the window.
        slots: usize,
    },
    /// No room for the segments beyond those that a slot holds itself.
    #[error(
        "a kernel of {segments} segments: its slot holds {inline}, and the spill pool has no room for the rest; retire kernels, \
         or raise `Config::spill`"
    )]
    SpillFull {
        /// Segments of the kernel.
        segments: usize,
        /// Segments that a slot holds.
        inline: usize,
    },
    /// No room for the edges to the upstream kernels (windows beyond 512 only).
    #[error("{needed} edges are needed and {free} are free; retire kernels, or raise `Config::edges`")]
    EdgesFull {
        /// Upstream kernels.
        needed: usize,
        /// Edges left.
        free: usize,
    },
    /// More reads, or more writes, than are counted.
    #[error(
        "a kernel with more than {MAX_SEGMENTS} reads or writes; join neighbouring ranges, or split the kernel"
    )]
    TooManySegments,
    /// A buffer that is not there.
    #[error("buffer {buffer:#X} was never declared here, or was released; declare it first")]
    UnknownBuffer {
        /// Its bits.
        buffer: u64,
    },
    /// A buffer of no bytes.
    #[error("a buffer of 0 bytes overlaps nothing; do not declare it")]
    EmptyBuffer,
    /// A range past the end of the address space.
    #[error("{bytes} bytes at {addr:#X} end past {ADDRESS_LIMIT:#X}; check the size")]
    RangeOverflow {
        /// First address.
        addr: u64,
        /// Length.
        bytes: u64,
    },
    /// A view past its buffer's end.
    #[error("{bytes} bytes from offset {offset} end past the buffer's {size} bytes; check offset and size")]
    OutOfBounds {
        /// First byte.
        offset: u64,
        /// Length.
        bytes: u64,
        /// Of the buffer.
        size: u64,
    },
    /// A buffer that would share bytes with another.
    #[error(
        "it would overlap the buffer of {bytes} bytes at {addr:#X}; declare the allocation once, and use views or raw ranges for \
         its parts"
    )]
    Overlaps {
        /// First address of the buffer that is there.
        addr: u64,
        /// Its length.
        bytes: u64,
    },
    /// No more regions. A buffer takes one for each 2 GiB or part of it.
    #[error(
        "more than 65535 regions of up to 2 GiB; release buffers, or declare one buffer for many small ones and use views"
    )]
    TooManyBuffers,
    /// A kernel in flight still uses the buffer.
    #[error("a kernel in flight uses the buffer; retire the kernels that use it first")]
    InUse,
    /// No kernel is in that slot.
    #[error("slot {0} holds no kernel; it was never inserted, or has retired", slot.0)]
    NotInFlight {
        /// The slot.
        slot: Slot,
    },
    /// A kernel cannot have finished before those that it waits for.
    #[error("the kernel in slot {0} waits for {waits_for} kernel{s}; retire those first", slot.0, s = plural(*waits_for as u64))]
    NotReady {
        /// The slot.
        slot: Slot,
        /// How many it waits for.
        waits_for: usize,
    },
}
