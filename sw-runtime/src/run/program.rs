//! A kernel stream as a program that can really be run: footprint kernels over one image of memory.

use super::device::DeviceError;
use super::footprint::{Footprint, Span, initial_image};
use crate::ktrace::{Kernel, Segment};
use std::ops::Range;
use thiserror::Error;

/// Most words of an image: an index fits in 32 bits, and on no device is more to be had.
pub const MAX_WORDS: u64 = 1 << 32;

/// Most CTAs of a kernel, and bytes of shared memory of a CTA: what CUDA takes in a grid's x, and what an SM has.
const MAX_CTAS: u64 = i32::MAX as u64;

/// A stream that cannot be made a program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// The image is too large.
    #[error(
        "the stream's memory is {words} words of 4 bytes, but at most 2^32 are possible; divide it by a scale of {needed} or more"
    )]
    TooLarge {
        /// Words that it would take.
        words: u64,
        /// A divisor with which it fits.
        needed: u64,
    },
    /// A divisor of 0.
    #[error("the scale is 0; choose 1 (memory as it is) or more")]
    Scale,
    /// The grid is beyond what is run.
    #[error("kernel {kernel} `{name}` has {ctas} CTAs, but at most {MAX_CTAS} can run; check its `grid`")]
    TooManyCtas {
        /// Position in the stream, from 0.
        kernel: usize,
        /// Its name.
        name: String,
        /// CTAs of its grid.
        ctas: u64,
    },
    /// The grid or the block has a dimension of 0.
    #[error("kernel {kernel} `{name}` has no thread; each dimension of its `grid` and `block` is at least 1")]
    NoThread {
        /// Position in the stream, from 0.
        kernel: usize,
        /// Its name.
        name: String,
    },
    /// The block is beyond what a GPU takes.
    #[error(
        "kernel {kernel} `{name}` has {threads} threads per CTA, but at most 1024 can run; check its `block`"
    )]
    TooManyThreads {
        /// Position in the stream, from 0.
        kernel: usize,
        /// Its name.
        name: String,
        /// Threads of a CTA.
        threads: u64,
    },
    /// One entry of work for each kernel.
    #[error("there are {kernels} kernels, but the work of {work}; give the work of each kernel")]
    Work {
        /// Kernels of the stream.
        kernels: usize,
        /// Entries given.
        work: usize,
    },
    /// More kernels than are counted.
    #[error("the stream has {0} kernels, but a program holds at most 2^32 - 1; split the stream")]
    TooManyKernels(usize),
}

/// What a CTA does besides touching memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Time of one CTA that has an SM to itself, in nanoseconds: what the cpu device spends.
    pub cta_ns: u64,
    /// Multiply-adds of each of its threads: what a GPU computes.
    pub fma_per_thread: u32,
    /// A CTA takes at least so many nanoseconds on a GPU; 0 where no duration was measured.
    pub least_ns: u64,
}

/// A stream of footprint kernels in program order, cut into sections between which the host waits.
#[derive(Clone, Debug)]
pub struct Program {
    name: String,
    kernels: Vec<Footprint>,
    sections: Vec<Range<usize>>,
    words: u64,
    scale: u64,
    /// Bytes that the stream's kernels name, each counted once: the image before it was shrunk.
    bytes: u64,
}

/// Address ranges of a stream and where they are in the image.
struct Layout {
    /// Ends of all segments, ascending.
    points: Vec<u64>,
    /// The word of the image at each point.
    words: Vec<u64>,
}

impl Layout {
    /// Between two neighbouring points all bytes are touched by the same segments. Such a stretch becomes its words, divided by `scale`
    /// and at least one; a stretch that nobody touches vanishes. So two segments share words where, and only where, they shared bytes.
    fn new<'a>(segments: impl Iterator<Item = &'a Segment> + Clone, scale: u64) -> (Self, u64) {
        let mut changes: Vec<(u64, i64)> = Vec::new();
        for s in segments.filter(|s| s.bytes > 0) {
            changes.extend([(s.addr, 1), (s.end(), -1)]);
        }
        changes.sort_unstable();
        let (mut points, mut words) = (Vec::new(), Vec::new());
        let (mut depth, mut word, mut bytes) = (0, 0u64, 0);
        for (point, change) in changes {
            match points.last() {
                Some(last) if *last == point => {}
                Some(last) => {
                    if depth > 0 {
                        let stretch: u64 = point - last;
                        bytes += stretch;
                        word += stretch.div_ceil(4).div_ceil(scale);
                    }
                    points.push(point);
                    words.push(word);
                }
                None => {
                    points.push(point);
                    words.push(0);
                }
            }
            depth += change;
        }
        (Self { points, words }, bytes)
    }

    fn words(&self) -> u64 {
        self.words.last().copied().unwrap_or(0)
    }

    fn span(&self, segment: &Segment) -> Span {
        let at = |address| match self.points.binary_search(&address) {
            Ok(n) => self.words[n],
            // Every end of a segment is a point.
            Err(_) => 0,
        };
        Span { start: at(segment.addr), end: at(segment.end()) }
    }
}

impl Program {
    /// The program of a stream: its sections of kernels, with the work of each kernel, and its memory divided by `scale`.
    ///
    /// # Errors
    /// [`ProgramError`].
    pub fn new(name: &str, sections: &[&[Kernel]], work: &[Work], scale: u64) -> Result<Self, ProgramError> {
        if scale == 0 {
            return Err(ProgramError::Scale);
        }
        let count = sections.iter().map(|s| s.len()).sum::<usize>();
        if u32::try_from(count).is_err() {
            return Err(ProgramError::TooManyKernels(count));
        }
        if work.len() != count {
            return Err(ProgramError::Work { kernels: count, work: work.len() });
        }
        let all = sections.iter().flat_map(|s| s.iter());
        let (layout, bytes) = Layout::new(all.clone().flat_map(|k| k.reads.iter().chain(&k.writes)), scale);
        // A kernel that writes nothing gets a word of its own behind all others, or nobody would see what it read.
        let mut words = layout.words();
        let mut kernels = Vec::with_capacity(count);
        for (k, (kernel, work)) in all.zip(work).enumerate() {
            if kernel.grid.contains(&0) || kernel.block.contains(&0) {
                return Err(ProgramError::NoThread { kernel: k, name: kernel.name.clone() });
            }
            if kernel.ctas() > MAX_CTAS {
                let name = kernel.name.clone();
                return Err(ProgramError::TooManyCtas { kernel: k, name, ctas: kernel.ctas() });
            }
            if kernel.threads() > 1024 {
                let name = kernel.name.clone();
                return Err(ProgramError::TooManyThreads { kernel: k, name, threads: kernel.threads() });
            }
            let spans =
                |list: &[Segment]| list.iter().filter(|s| s.bytes > 0).map(|s| layout.span(s)).collect();
            let (reads, mut writes): (Vec<Span>, Vec<Span>) = (spans(&kernel.reads), spans(&kernel.writes));
            if writes.is_empty() {
                writes.push(Span { start: words, end: words + 1 });
                words += 1;
            }
            kernels.push(Footprint::new(kernel, &reads, &writes, *work));
        }
        if words > MAX_WORDS {
            return Err(ProgramError::TooLarge { words, needed: scale * words.div_ceil(MAX_WORDS) + 1 });
        }
        let mut start = 0;
        let sections = sections.iter().map(|s| {
            start += s.len();
            start - s.len()..start
        });
        Ok(Self { name: name.into(), kernels, sections: sections.collect(), words, scale, bytes })
    }

    /// The stream's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All kernels, in program order.
    pub fn kernels(&self) -> &[Footprint] {
        &self.kernels
    }

    /// Ranges of kernels between which the host waits.
    pub fn sections(&self) -> &[Range<usize>] {
        &self.sections
    }

    /// Words of 4 bytes of the image, at most [`MAX_WORDS`].
    pub fn words(&self) -> u64 {
        self.words
    }

    /// What the stream's memory was divided by.
    pub fn scale(&self) -> u64 {
        self.scale
    }

    /// Bytes that the stream's kernels name, each counted once: what the image would be at scale 1.
    pub fn stream_bytes(&self) -> u64 {
        self.bytes
    }

    /// The image after all kernels, one after another in program order: what every schedule must leave.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`].
    pub fn serial_image(&self) -> Result<Vec<u32>, DeviceError> {
        let mut image = initial_image(self.words)?;
        for (k, kernel) in self.kernels.iter().enumerate() {
            kernel.run_alone(k as u32, &mut image);
        }
        Ok(image)
    }
}
