//! Compares what a kernel touched with what it declared.

use super::Ticket;
use super::error::Cause;
use super::kernel::{Access, Job, JobArg, Mode};
use super::memory::{BufferId, Bytes, HostMemory, Memory, zeroes};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What is wrong with a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Violation {
    /// Bytes are read that are not declared as read: the kernel may start before they are there.
    UndeclaredRead,
    /// Bytes are written that are not declared as written: another kernel may still read them.
    UndeclaredWrite,
    /// Bytes are declared as overwritten, and are not: what was there before is taken for dead, and is not.
    NotOverwritten,
    /// Bytes are declared as read, and none of them is: kernels wait for nothing.
    NeverRead,
    /// Bytes are declared as written, and none of them is: kernels wait for nothing.
    NeverWritten,
}

impl Violation {
    /// Whether a wrong result can come of it; else it only costs time.
    pub fn is_unsafe(self) -> bool {
        matches!(self, Self::UndeclaredRead | Self::UndeclaredWrite | Self::NotOverwritten)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UndeclaredRead => "read and not declared as read",
            Self::UndeclaredWrite => "written and not declared as written",
            Self::NotOverwritten => "declared as overwritten and not written",
            Self::NeverRead => "declared as read and never read",
            Self::NeverWritten => "declared as written and never written",
        })
    }
}

/// A range of bytes for which a declaration is wrong.
///
#[doc = concat!("```\n", include_str!("../../examples/check.rs"), "\n```")]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Which launch.
    pub ticket: Ticket,
    /// The kernel's name.
    pub kernel: String,
    /// Which argument, from 0.
    pub position: usize,
    /// The parameter's name.
    pub parameter: String,
    /// What is wrong.
    pub violation: Violation,
    /// The first byte, from the beginning of the buffer.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "launch {} ({}), argument {} ({}): {} bytes from offset {} of the buffer are {}",
            self.ticket.0,
            self.kernel,
            self.position,
            self.parameter,
            self.bytes,
            self.offset,
            self.violation
        )
    }
}

/// Findings that are kept until somebody asks for them.
pub(crate) const MOST_FINDINGS: usize = 10_000;

fn no_memory(bytes: u64) -> Cause {
    Cause::Executor(format!(
        "no memory for {bytes} bytes, to compare what it touches with what it declares; check with smaller buffers"
    ))
}

/// A bit for each byte of an argument.
#[derive(Debug)]
struct Bitmap(Vec<AtomicU64>);

impl Bitmap {
    fn new(bytes: u64) -> Result<Self, Cause> {
        let words = bytes.div_ceil(64);
        usize::try_from(words).ok().and_then(|n| zeroes(n).ok()).map(Self).ok_or_else(|| no_memory(words * 8))
    }

    fn mark(&self, first: usize, bytes: usize) {
        for byte in first..first.saturating_add(bytes) {
            if let Some(word) = self.0.get(byte / 64) {
                word.fetch_or(1 << (byte % 64), Ordering::Relaxed);
            }
        }
    }

    fn has(&self, byte: u64) -> bool {
        self.0.get((byte / 64) as usize).is_some_and(|w| w.load(Ordering::Relaxed) >> (byte % 64) & 1 == 1)
    }
}

/// The bytes of an argument that its kernel has read and written.
#[derive(Debug)]
pub(crate) struct Touched {
    reads: Bitmap,
    writes: Bitmap,
    /// Pointers were handed out: what is read through them is not seen, what is written shows where it is another byte, also through one to read.
    raw_reads: AtomicBool,
    raw_writes: AtomicBool,
    before: Arc<Before>,
}

/// A buffer as it was before anything wrote to it that is not seen; all arguments of a launch that are of that buffer share it.
#[derive(Debug)]
struct Before {
    memory: Option<Arc<HostMemory>>,
    /// Copied when the first pointer, or slice to write to, is asked for: other CTAs may run then, but what they do is atomic.
    bytes: OnceLock<Result<Vec<u8>, Cause>>,
}

impl Before {
    fn keep(&self) {
        self.bytes.get_or_init(|| contents(self.memory.as_deref()));
    }
}

impl Touched {
    /// Of an argument that comes after others of its launch.
    pub(crate) fn new(
        part: &Bytes,
        memory: Option<&Arc<HostMemory>>,
        others: &[JobArg],
    ) -> Result<Self, Cause> {
        let before = others.iter().find_map(|other| match other {
            JobArg::Buffer { part: of, touched: Some(touched), .. } if of.buffer == part.buffer => {
                Some(touched.before.clone())
            }
            _ => None,
        });
        Ok(Self {
            reads: Bitmap::new(part.bytes)?,
            writes: Bitmap::new(part.bytes)?,
            raw_reads: AtomicBool::new(false),
            raw_writes: AtomicBool::new(false),
            before: before
                .unwrap_or_else(|| Arc::new(Before { memory: memory.cloned(), bytes: OnceLock::new() })),
        })
    }

    pub(crate) fn raw_read(&self) {
        // Nothing keeps C from writing through it.
        self.before.keep();
        self.raw_reads.store(true, Ordering::Relaxed);
    }

    pub(crate) fn raw_write(&self) {
        self.before.keep();
        self.raw_writes.store(true, Ordering::Relaxed);
    }

    pub(crate) fn read(&self, first: usize, bytes: usize) {
        self.reads.mark(first, bytes);
    }

    pub(crate) fn write(&self, first: usize, bytes: usize) {
        self.writes.mark(first, bytes);
    }

    /// By plain writes, beside which nothing may be copied.
    pub(crate) fn slice_write(&self, first: usize, bytes: usize) {
        self.before.keep();
        self.write(first, bytes);
    }
}

/// All of a buffer.
fn contents(memory: Option<&HostMemory>) -> Result<Vec<u8>, Cause> {
    let count = memory.map_or(0, HostMemory::bytes);
    let mut bytes = zeroes(count).map_err(|_| no_memory(count as u64))?;
    if let Some(memory) = memory {
        // The range is all of it, which is whole elements.
        let _ = memory.read(0, &mut bytes);
    }
    Ok(bytes)
}

/// The bytes that are declared in such a mode, as ranges apart from each other, in order.
fn declared_as<'a>(accesses: impl Iterator<Item = &'a Access>, mode: fn(Mode) -> bool) -> Vec<Range<u64>> {
    let of = |access: &Access| access.part.offset..access.part.offset + access.part.bytes;
    let mut all: Vec<_> = accesses.filter(|access| mode(access.mode)).map(of).collect();
    all.sort_by_key(|range| range.start);
    all.dedup_by(|next, last| {
        let joins = next.start <= last.end;
        last.end = if joins { last.end.max(next.end) } else { last.end };
        joins
    });
    all
}

fn has(ranges: &[Range<u64>], byte: u64) -> bool {
    let at = ranges.partition_point(|range| range.end <= byte);
    ranges.get(at).is_some_and(|range| range.start <= byte)
}

/// Maximal ranges of `within` in which `wrong` holds.
fn ranges(within: Range<u64>, wrong: impl Fn(u64) -> bool) -> Vec<Range<u64>> {
    let mut found: Vec<Range<u64>> = Vec::new();
    for byte in within.filter(|b| wrong(*b)) {
        match found.last_mut() {
            Some(last) if last.end == byte => last.end += 1,
            _ => found.push(byte..byte + 1),
        }
    }
    found
}

/// What was touched through an argument, where it is of that buffer.
fn touched_of(arg: &JobArg, buffer: BufferId) -> Option<(&Bytes, &Touched)> {
    match arg {
        JobArg::Buffer { part, touched: Some(touched), .. } if part.buffer == buffer => Some((part, touched)),
        _ => None,
    }
}

/// Whether a declared access can have been declared of this argument.
fn is_of(access: &Access, arg: &JobArg) -> bool {
    let JobArg::Buffer { part, mode, .. } = arg else { return false };
    let Access { part: inner, mode: as_mode } = access;
    part.buffer == inner.buffer
        && (*mode == Mode::ReadWrite || mode == as_mode)
        && part.offset <= inner.offset
        && inner.offset + inner.bytes <= part.offset + part.bytes
}

/// What is wrong with the declaration of a kernel that has run, by argument, then by kind, then by offset; an error where there is no memory
/// to find it out.
pub(crate) fn findings(ticket: Ticket, job: &Job, declared: &[Access]) -> Result<Vec<Finding>, Cause> {
    let mut all = Vec::new();
    for (position, arg) in job.args.iter().enumerate() {
        let JobArg::Buffer { memory, part, touched: Some(touched), .. } = arg else { continue };
        let before = touched.before.bytes.get().map(Result::as_ref).transpose().map_err(Cause::clone)?;
        let span = part.offset..part.offset + part.bytes;
        let here = |access: &&Access| access.part.buffer == part.buffer;
        let [reads, writes] =
            [Mode::reads, Mode::writes].map(|mode| declared_as(declared.iter().filter(here), mode));
        let read = |byte: u64| touched.reads.has(byte - part.offset);
        let written = |byte: u64| touched.writes.has(byte - part.offset);
        let mut add = |violation, ranges: Vec<Range<u64>>| {
            all.extend(ranges.into_iter().map(|range| Finding {
                ticket,
                kernel: job.kernel.name.clone(),
                position,
                parameter: job.kernel.params.get(position).map(|p| p.name.clone()).unwrap_or_default(),
                violation,
                offset: range.start,
                bytes: range.end - range.start,
            }));
        };
        add(Violation::UndeclaredRead, ranges(span.clone(), |b| read(b) && !has(&reads, b)));
        add(Violation::UndeclaredWrite, ranges(span.clone(), |b| written(b) && !has(&writes, b)));
        // Arguments of one buffer may have the same bytes, and a pointer of one leads to all.
        let same: Vec<_> = job.args.iter().filter_map(|arg| touched_of(arg, part.buffer)).collect();
        let raw = |raw: fn(&Touched) -> &AtomicBool| same.iter().any(|(_, t)| raw(t).load(Ordering::Relaxed));
        let (raw_reads, raw_writes) = (raw(|t| &t.raw_reads), raw(|t| &t.raw_writes));
        // What was written through a pointer, anywhere in the buffer, and is another byte now. Told of the first argument that has it.
        if let Some(before) = before
            && (raw_reads || raw_writes)
            && same.first().is_some_and(|(_, first)| std::ptr::eq(*first, touched))
        {
            let after = contents(memory.as_deref())?;
            let changed = |b: u64| before[b as usize] != after[b as usize];
            let seen = |b: u64| span.contains(&b) && written(b);
            let all = 0..after.len() as u64;
            add(Violation::UndeclaredWrite, ranges(all, |b| changed(b) && !seen(b) && !has(&writes, b)));
        }
        for access in declared.iter().filter(here) {
            // Of several arguments that have it, the first.
            let first = job.args.iter().position(|arg| is_of(access, arg));
            if access.part.bytes == 0 || first != Some(position) {
                continue;
            }
            let bytes = access.part.offset..access.part.offset + access.part.bytes;
            let near = |(other, _): &&(&Bytes, &Touched)| {
                other.offset < bytes.end && bytes.start < other.offset + other.bytes
            };
            let near: Vec<_> = same.iter().filter(near).collect();
            let by_any = |touched: fn(&Touched) -> &Bitmap, byte: u64| {
                near.iter().any(|(part, t)| byte.checked_sub(part.offset).is_some_and(|b| touched(t).has(b)))
            };
            let (read, written) = (|b| by_any(|t| &t.reads, b), |b| by_any(|t| &t.writes, b));
            let (any_read, any_written) = (bytes.clone().any(read), bytes.clone().any(written));
            let all_written = bytes.clone().all(written);
            match access.mode {
                Mode::Read | Mode::ReadWrite if raw_reads => {}
                Mode::Write | Mode::ReadWrite if raw_writes => {}
                Mode::Read if !any_read => add(Violation::NeverRead, vec![bytes]),
                Mode::Write => add(Violation::NotOverwritten, ranges(bytes.clone(), |b| !written(b))),
                Mode::ReadWrite if !any_written => add(Violation::NeverWritten, vec![bytes]),
                // What is wholly overwritten and never read is a write, and waits for less.
                Mode::ReadWrite if all_written && !any_read => add(Violation::NeverRead, vec![bytes]),
                _ => {}
            }
        }
    }
    all.sort();
    Ok(all)
}
