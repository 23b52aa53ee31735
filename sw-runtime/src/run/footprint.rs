//! What a footprint kernel computes: one definition, here for the CPU and in `footprint.cu` for GPUs; they agree in every bit.
//!
//! A kernel reads every word of its read segments and writes every word of its write segments. The words that it writes are numbered
//! `j` = 0.. W, segment after segment, those that it reads and does not write `r` = 0.. R. Word `j` becomes
//! `last(step(term(kernel, j), digest))`. Its digest is the sum, modulo 2^32, of [`SEED`], of `term(r, value)` over the read words `j`, `j + W`,
//! `j + 2W`, .. below R (over `j % R` alone where `j` is at least R), and, where the kernel reads the written word too (an update in place),
//! of `term(u32::MAX, old value)`. So each word that is read changes a word that is written, and a kernel that runs too early or too late
//! leaves another image; and as sums may be taken in any order, any number of threads can share the work.

use super::device::DeviceError;
use super::program::Work;
use crate::ktrace::{Kernel, KernelType};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// What digests and terms begin with.
pub const SEED: u32 = 0x811C_9DC5;

/// Words of the image, from `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first.
    pub start: u64,
    /// One past the last.
    pub end: u64,
}

impl Span {
    /// How many words.
    pub fn len(self) -> u64 {
        self.end - self.start
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// Words that a kernel touches side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Number, among the kernel's words, of the first.
    pub number: u64,
    /// Where the first is in the image.
    pub start: u64,
    /// The kernel reads them, too: only where it writes them.
    pub in_place: bool,
}

/// One kernel of a program.
#[derive(Clone, Debug)]
pub struct Footprint {
    /// Its name.
    pub name: String,
    /// Which pipe it uses.
    pub kind: KernelType,
    /// CTAs per dimension.
    pub grid: [u32; 3],
    /// Threads of a CTA per dimension.
    pub block: [u32; 3],
    /// Shared memory per CTA in bytes.
    pub smem: u64,
    /// What a CTA does besides touching memory.
    pub work: Work,
    /// The words it reads, as its segments say: for hazards.
    pub reads: Vec<Span>,
    /// The words it writes, as its segments say: for hazards.
    pub writes: Vec<Span>,
    /// The words that it reads and does not write, numbered.
    pub read_pieces: Vec<Piece>,
    /// How many those are: R.
    pub read_words: u64,
    /// The words that it writes, numbered.
    pub write_pieces: Vec<Piece>,
    /// How many those are: W, at least 1.
    pub write_words: u64,
}

/// One step of a mix.
#[inline]
pub fn step(digest: u32, value: u32) -> u32 {
    let x = (digest ^ value).wrapping_mul(0x9E37_79B1);
    x ^ (x >> 15)
}

/// What a read word adds to a digest; of a kernel and a number of a word, what its value begins with. Kernel and number are mixed in one
/// after the other: what depends on their exclusive or alone is the same for kernel 1's word 2 and kernel 2's word 1.
#[inline]
pub fn term(place: u32, value: u32) -> u32 {
    step(step(SEED, place), value)
}

/// The end of a digest (the finaliser of MurmurHash3).
#[inline]
pub fn last(digest: u32) -> u32 {
    let x = (digest ^ (digest >> 16)).wrapping_mul(0x85EB_CA6B);
    let x = (x ^ (x >> 13)).wrapping_mul(0xC2B2_AE35);
    x ^ (x >> 16)
}

/// What a word of the image holds before the first kernel.
#[inline]
pub fn initial(word: u64) -> u32 {
    last(step(SEED, word as u32))
}

/// The image before the first kernel.
///
/// # Errors
/// [`DeviceError::OutOfMemory`].
pub fn initial_image(words: u64) -> Result<Vec<u32>, DeviceError> {
    let mut image = Vec::new();
    let count = usize::try_from(words).unwrap_or(usize::MAX);
    image.try_reserve_exact(count).map_err(|e| DeviceError::OutOfMemory {
        device: "the host".into(),
        bytes: words.saturating_mul(4),
        what: "an image",
        reason: e.to_string(),
    })?;
    image.extend((0..words).map(initial));
    Ok(image)
}

/// Memory that footprint kernels run on.
pub trait Image {
    /// The word there.
    fn load(&self, word: u64) -> u32;
    /// Another value for it.
    fn store(&mut self, word: u64, value: u32);
}

impl Image for Vec<u32> {
    #[inline]
    fn load(&self, word: u64) -> u32 {
        self[word as usize]
    }
    #[inline]
    fn store(&mut self, word: u64, value: u32) {
        self[word as usize] = value;
    }
}

/// Kernels that run at the same time share it: a schedule that is wrong gives a wrong image, and nothing worse.
impl Image for &[AtomicU32] {
    #[inline]
    fn load(&self, word: u64) -> u32 {
        self[word as usize].load(Ordering::Relaxed)
    }
    #[inline]
    fn store(&mut self, word: u64, value: u32) {
        self[word as usize].store(value, Ordering::Relaxed);
    }
}

/// Where words of ascending numbers are.
struct Cursor<'a> {
    pieces: &'a [Piece],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn new(pieces: &'a [Piece]) -> Self {
        Self { pieces, at: 0 }
    }

    /// Where word `number` is, and whether it is updated in place.
    #[inline]
    fn find(&mut self, number: u64) -> (u64, bool) {
        let inside = |at: usize| {
            let next = self.pieces.get(at + 1).map_or(u64::MAX, |p| p.number);
            self.pieces[at].number <= number && number < next
        };
        if !inside(self.at) {
            self.at = self.pieces.partition_point(|p| p.number <= number) - 1;
        }
        let piece = &self.pieces[self.at];
        (piece.start + (number - piece.number), piece.in_place)
    }
}

impl Footprint {
    pub(crate) fn new(kernel: &Kernel, reads: &[Span], writes: &[Span], work: Work) -> Self {
        let (read_set, write_set) = (union(reads), union(writes));
        let mut read_pieces = Vec::new();
        let mut write_pieces = Vec::new();
        let read_words = number(&split(&read_set, &write_set), false, &mut read_pieces);
        let write_words = number(&split(&write_set, &read_set), true, &mut write_pieces);
        Self {
            name: kernel.name.clone(),
            kind: kernel.kind,
            grid: kernel.grid,
            block: kernel.block,
            smem: kernel.smem,
            work,
            reads: reads.to_vec(),
            writes: writes.to_vec(),
            read_pieces,
            read_words,
            write_pieces,
            write_words,
        }
    }

    /// CTAs of the grid.
    pub fn ctas(&self) -> u64 {
        self.grid.iter().map(|d| u64::from(*d)).product()
    }

    /// Threads of a CTA.
    pub fn threads(&self) -> u64 {
        self.block.iter().map(|d| u64::from(*d)).product()
    }

    /// The value of written word `j`, which is where `at` says.
    #[inline]
    fn value(&self, kernel: u32, j: u64, at: (u64, bool), reads: &mut Cursor<'_>, image: &impl Image) -> u32 {
        let mut digest = SEED;
        if at.1 {
            digest = digest.wrapping_add(term(u32::MAX, image.load(at.0)));
        }
        if self.read_words > 0 {
            let mut r = if j < self.read_words { j } else { j % self.read_words };
            while r < self.read_words {
                digest = digest.wrapping_add(term(r as u32, image.load(reads.find(r).0)));
                r += self.write_words;
            }
        }
        last(step(term(kernel, j as u32), digest))
    }

    /// What CTA `cta` does to memory, as kernel number `kernel`. It has the written words of an equal part of all; past the last CTA there
    /// is none that does anything.
    pub fn run_cta(&self, kernel: u32, cta: u64, mut image: impl Image) {
        if cta >= self.ctas() {
            return;
        }
        let ctas = u128::from(self.ctas());
        let part = |n: u64| (u128::from(self.write_words) * u128::from(n) / ctas) as u64;
        self.write(kernel, part(cta)..part(cta + 1), &mut image);
    }

    /// What the whole kernel does to memory while no other runs.
    pub fn run_alone(&self, kernel: u32, image: &mut impl Image) {
        self.write(kernel, 0..self.write_words, image);
    }

    fn write(&self, kernel: u32, words: Range<u64>, image: &mut impl Image) {
        let (mut writes, mut reads) = (Cursor::new(&self.write_pieces), Cursor::new(&self.read_pieces));
        for j in words {
            let at = writes.find(j);
            let value = self.value(kernel, j, at, &mut reads, image);
            image.store(at.0, value);
        }
    }

    /// What the whole kernel would write, from what it reads now: words and values.
    pub fn outputs(&self, kernel: u32, image: &impl Image) -> Vec<(u64, u32)> {
        let (mut writes, mut reads) = (Cursor::new(&self.write_pieces), Cursor::new(&self.read_pieces));
        let word = |j| {
            let at = writes.find(j);
            (at.0, self.value(kernel, j, at, &mut reads, image))
        };
        (0..self.write_words).map(word).collect()
    }
}

/// The same words as ascending spans that do not touch.
fn union(spans: &[Span]) -> Vec<Span> {
    let mut sorted = spans.to_vec();
    sorted.sort_unstable();
    let mut union: Vec<Span> = Vec::new();
    for span in sorted.into_iter().filter(|s| !s.is_empty()) {
        match union.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => union.push(span),
        }
    }
    union
}

/// `spans` cut where `other` (ascending, and none touches another) begins and ends, each part with whether `other` has it.
fn split(spans: &[Span], other: &[Span]) -> Vec<(Span, bool)> {
    let mut parts = Vec::new();
    for span in spans {
        let mut at = span.start;
        let first = other.partition_point(|o| o.end <= span.start);
        for o in other[first..].iter().take_while(|o| o.start < span.end) {
            let (start, end) = (o.start.max(span.start), o.end.min(span.end));
            if at < start {
                parts.push((Span { start: at, end: start }, false));
            }
            parts.push((Span { start, end }, true));
            at = end;
        }
        if at < span.end {
            parts.push((Span { start: at, end: span.end }, false));
        }
    }
    parts
}

/// Numbers the words of the parts; of those that `other` has only where they are wanted.
fn number(parts: &[(Span, bool)], both: bool, pieces: &mut Vec<Piece>) -> u64 {
    let mut number = 0;
    for (span, shared) in parts.iter().filter(|(_, shared)| both || !shared) {
        pieces.push(Piece { number, start: span.start, in_place: *shared });
        number += span.len();
    }
    number
}
