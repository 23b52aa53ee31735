//! Buffers, parts of them, and the memory behind them.

use super::error::Error;
use std::alloc::{Layout, alloc_zeroed};
use std::any::Any;
use std::collections::TryReserveError;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::{Bound, Range, RangeBounds};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// The kinds of numbers that buffers hold and kernels take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "each is the Rust type of its name")]
pub enum ElementKind {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
}

impl ElementKind {
    /// Size of one element.
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// Whether elements can be at an address, which they are at a multiple of their size.
    ///
    /// # Errors
    /// Why not.
    pub fn can_be_at(self, first: *const u8) -> Result<(), String> {
        let size = self.bytes();
        if first.addr().is_multiple_of(size) {
            return Ok(());
        }
        Err(format!("its address {first:p} is not a multiple of {size}, as that of each {self} is"))
    }
}

impl fmt::Display for ElementKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

mod sealed {
    /// # Safety
    /// Implementations touch `size_of::<Self>()` bytes at `at` and nothing else, atomically. They have no padding, and any bits are one.
    pub unsafe trait Bits: Sized {
        /// # Safety
        /// `at` is aligned for `Self` and valid for atomic reads.
        unsafe fn load(at: *mut u8) -> Self;
        /// # Safety
        /// `at` is aligned for `Self` and valid for atomic writes.
        unsafe fn store(at: *mut u8, value: Self);
        fn to_bits64(self) -> u64;
        fn from_bits64(bits: u64) -> Self;
    }
}
pub(crate) use sealed::Bits;

/// Numbers that buffers hold and kernels take: integers of 8 to 64 bits, `f32` and `f64`.
pub trait Element: Bits + Copy + Default + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Which one.
    const KIND: ElementKind;
}

macro_rules! element {
    ($($type:ty, $kind:ident, $atomic:ty, $bits:ty, $to:expr, $from:expr;)*) => {$(
        // SAFETY: one atomic access of the type's own size; a number.
        unsafe impl Bits for $type {
            #[inline]
            unsafe fn load(at: *mut u8) -> Self {
                // SAFETY: the caller's.
                $from(unsafe { <$atomic>::from_ptr(at.cast()) }.load(Ordering::Relaxed))
            }
            #[inline]
            unsafe fn store(at: *mut u8, value: Self) {
                // SAFETY: the caller's.
                unsafe { <$atomic>::from_ptr(at.cast()) }.store($to(value), Ordering::Relaxed);
            }
            #[inline]
            fn to_bits64(self) -> u64 {
                u64::from($to(self))
            }
            #[inline]
            fn from_bits64(bits: u64) -> Self {
                $from(bits as $bits)
            }
        }
        impl Element for $type {
            const KIND: ElementKind = ElementKind::$kind;
        }
    )*};
}

element! {
    u8, U8, AtomicU8, u8, |v: u8| v, |b: u8| b;
    i8, I8, AtomicU8, u8, |v: i8| v.cast_unsigned(), |b: u8| b.cast_signed();
    u16, U16, AtomicU16, u16, |v: u16| v, |b: u16| b;
    i16, I16, AtomicU16, u16, |v: i16| v.cast_unsigned(), |b: u16| b.cast_signed();
    u32, U32, AtomicU32, u32, |v: u32| v, |b: u32| b;
    i32, I32, AtomicU32, u32, |v: i32| v.cast_unsigned(), |b: u32| b.cast_signed();
    u64, U64, AtomicU64, u64, |v: u64| v, |b: u64| b;
    i64, I64, AtomicU64, u64, |v: i64| v.cast_unsigned(), |b: u64| b.cast_signed();
    f32, F32, AtomicU32, u32, f32::to_bits, f32::from_bits;
    f64, F64, AtomicU64, u64, f64::to_bits, f64::from_bits;
}

/// Which buffer of which runtime. `unique` is given once in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BufferId {
    /// Of a buffer below 2^16, for there are no more than regions of the hazard engine.
    pub(crate) index: u32,
    /// Of a buffer below 2^48.
    pub(crate) unique: u64,
}

/// Memory on the executor's device: a number of elements, zero at first. A handle, to be copied at will; the memory lives
/// until it is released or its runtime is dropped.
// Derived, what a handle can do would ask for the same of its element.
pub struct Buffer<T> {
    pub(crate) id: BufferId,
    pub(crate) len: usize,
    pub(crate) element: PhantomData<fn() -> T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Buffer<T> {}

impl<T> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.id, self.len) == (other.id, other.len)
    }
}

impl<T> Eq for Buffer<T> {}

impl<T> Hash for Buffer<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.id, self.len).hash(state);
    }
}

impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("id", &self.id).field("len", &self.len).finish()
    }
}

impl<T: Element> Buffer<T> {
    /// How many elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// False: no buffer is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bits, to hand through C, together with the length.
    pub const fn to_bits(&self) -> u64 {
        self.id.unique << 16 | self.id.index as u64
    }

    /// From [`Buffer::to_bits`]. Bits that no runtime gave are refused as [`Error::UnknownBuffer`] when they are used.
    pub const fn from_bits(bits: u64, len: usize) -> Self {
        let id = BufferId { index: bits as u32 & 0xFFFF, unique: bits >> 16 };
        Self { id, len, element: PhantomData }
    }

    /// Some of its elements: `x.slice(2..5)`, `x.slice(..5)`. A range past the end is refused where the view is used.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> View<T> {
        View { buffer: *self, range: resolve(&range, self.len) }
    }
}

/// Where a range of `len` elements begins and ends.
fn resolve(range: &impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(first) => *first,
        Bound::Excluded(before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => len,
    };
    start..end
}

/// Elements of a buffer that lie side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct View<T> {
    pub(crate) buffer: Buffer<T>,
    pub(crate) range: Range<usize>,
}

impl<T: PartialEq> Eq for View<T> {}

impl<T: Element> View<T> {
    /// The buffer that it is a part of.
    pub fn buffer(&self) -> Buffer<T> {
        self.buffer
    }

    /// Which of the buffer's elements; not checked against its end before it is used.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Some of its elements, counted from its first one. A range past its end is refused where the new view is used, also where the
    /// buffer goes on.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Self {
        let part = resolve(&range, self.range.len());
        let inside =
            self.range.start <= self.range.end && part.start <= part.end && part.end <= self.range.len();
        // As any range that ends before it begins.
        let nowhere = Range { start: usize::MAX, end: 0 };
        let first = self.range.start;
        Self {
            buffer: self.buffer,
            range: if inside { first + part.start..first + part.end } else { nowhere },
        }
    }
}

impl<T: Element> From<&View<T>> for View<T> {
    fn from(view: &View<T>) -> Self {
        view.clone()
    }
}

impl<T: Element> From<Buffer<T>> for View<T> {
    fn from(buffer: Buffer<T>) -> Self {
        buffer.slice(..)
    }
}

impl<T: Element> From<&Buffer<T>> for View<T> {
    fn from(buffer: &Buffer<T>) -> Self {
        buffer.slice(..)
    }
}

/// What a kernel is launched with: a view of a buffer, or a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arg(pub(crate) ArgKind);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ArgKind {
    Buffer(Bytes),
    Value { bits: u64, element: ElementKind },
}

/// Bytes of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes {
    pub(crate) buffer: BufferId,
    pub(crate) element: ElementKind,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Bytes {
    /// The size of a range that ends before it begins: past any end.
    const NONE: u64 = u64::MAX;
}

impl<T: Element> From<&View<T>> for Bytes {
    fn from(view: &View<T>) -> Self {
        let size = size_of::<T>() as u64;
        let len = view.range.end.checked_sub(view.range.start);
        Self {
            buffer: view.buffer.id,
            element: T::KIND,
            offset: (view.range.start as u64).saturating_mul(size),
            bytes: len.map_or(Self::NONE, |len| (len as u64).saturating_mul(size).min(Self::NONE - 1)),
        }
    }
}

impl<T: Element> From<View<T>> for Arg {
    fn from(view: View<T>) -> Self {
        Self(ArgKind::Buffer((&view).into()))
    }
}

impl<T: Element> From<&View<T>> for Arg {
    fn from(view: &View<T>) -> Self {
        Self(ArgKind::Buffer(view.into()))
    }
}

impl<T: Element> From<Buffer<T>> for Arg {
    fn from(buffer: Buffer<T>) -> Self {
        View::from(buffer).into()
    }
}

impl<T: Element> From<&Buffer<T>> for Arg {
    fn from(buffer: &Buffer<T>) -> Self {
        View::from(*buffer).into()
    }
}

macro_rules! value_arg {
    ($($type:ty)*) => {$(
        impl From<$type> for Arg {
            fn from(value: $type) -> Self {
                Self(ArgKind::Value { bits: value.to_bits64(), element: <$type as Element>::KIND })
            }
        }
    )*};
}
value_arg!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

/// Memory of an executor.
pub trait Memory: Any + Send + Sync + fmt::Debug {
    /// Copies from the device: `to.len()` bytes from `offset`, a range that the caller has checked.
    ///
    /// # Errors
    /// What the device says.
    fn read(&self, offset: u64, to: &mut [u8]) -> Result<(), String>;

    /// Copies to the device: `from.len()` bytes to `offset`, a range that the caller has checked.
    ///
    /// # Errors
    /// What the device says.
    fn write(&self, offset: u64, from: &[u8]) -> Result<(), String>;
}

/// Gives the memory of an executor; called from the launching thread, and for renaming from the scheduler's.
pub trait Allocator: Send + Sync {
    /// So many elements, all zero; at least 1.
    ///
    /// # Errors
    /// Why there is no such memory.
    fn allocate(&self, elements: usize, element: ElementKind) -> Result<Arc<dyn Memory>, String>;

    /// Memory that is there already, of so many elements from `first`, at least 1; `owner` is dropped when nobody uses it any more, and
    /// where it is refused. An executor that does not say otherwise takes none.
    ///
    /// # Errors
    /// Why it cannot be used.
    ///
    /// # Safety
    /// As of [`Runtime::import`](super::Runtime::import).
    unsafe fn import(
        &self,
        first: *mut u8,
        elements: usize,
        element: ElementKind,
        owner: Owner,
    ) -> Result<Arc<dyn Memory>, String> {
        let _ = (first, elements, element, owner);
        Err("this executor uses only what it allocates; make a buffer, and copy".into())
    }
}

/// Keeps imported memory alive.
pub type Owner = Box<dyn Any + Send + Sync>;

// Beyond 16, Rust's allocator zeroes what the system has zeroed already.
#[derive(Debug)]
#[repr(C, align(16))]
struct Line([AtomicU64; 2]);

/// Memory of this process. All that safe code does to it is atomic and of the element's size: a kernel whose CTAs race computes something
/// that depends on chance, and nothing worse.
#[derive(Debug)]
pub struct HostMemory {
    place: Place,
    element: ElementKind,
}

#[derive(Debug)]
enum Place {
    Own(Box<[Line]>),
    Imported(Imported),
}

#[derive(Debug)]
struct Imported {
    first: NonNull<u8>,
    bytes: usize,
    _owner: Owner,
}

// SAFETY: the pointer's memory may be used from any thread, says whoever imports it.
unsafe impl Send for Imported {}
// SAFETY: as above.
unsafe impl Sync for Imported {}

impl HostMemory {
    /// So many elements, all zero, at an address that is a multiple of 16.
    ///
    /// # Errors
    /// Where there is no such memory.
    pub fn new(elements: usize, element: ElementKind) -> Result<Self, String> {
        let bytes = elements.checked_mul(element.bytes()).ok_or("more bytes than there are addresses")?;
        let lines = bytes.div_ceil(size_of::<Line>()).max(1);
        let layout = Layout::array::<Line>(lines).map_err(|e| e.to_string())?;
        // Pages that nobody touches cost nothing; a vector's zeroes would.
        // SAFETY: the layout is not of size 0.
        let first = unsafe { alloc_zeroed(layout) }.cast::<Line>();
        if first.is_null() {
            return Err("the allocator refuses".into());
        }
        // SAFETY: allocated by the global allocator with the layout of such a slice; all zero is a valid `Line`.
        let lines = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(first, lines)) };
        Ok(Self { place: Place::Own(lines), element })
    }

    /// Memory that is there already: so many elements from `first`. `owner` is dropped with it, and where it is refused.
    ///
    /// # Errors
    /// Where `first` is null, or no address of such an element, or there are more bytes than addresses.
    ///
    /// # Safety
    /// From `first` on so many elements are valid for reads and writes from any thread as long as `owner` lives, and initialised. What
    /// uses them besides keeps to the rules of atomic memory.
    pub unsafe fn import(
        first: *mut u8,
        elements: usize,
        element: ElementKind,
        owner: Owner,
    ) -> Result<Self, String> {
        let first = NonNull::new(first).ok_or("its address is null")?;
        element.can_be_at(first.as_ptr())?;
        let bytes = elements.checked_mul(element.bytes()).filter(|bytes| *bytes <= isize::MAX as usize);
        let bytes = bytes.ok_or("more bytes than there are addresses")?;
        Ok(Self { place: Place::Imported(Imported { first, bytes, _owner: owner }), element })
    }

    /// Its first byte. Valid for reads and writes of its whole size while `self` lives and stays where it is.
    pub fn as_ptr(&self) -> *mut u8 {
        match &self.place {
            // All of it is atomic integers: written through a shared reference by right.
            Place::Own(lines) => lines.as_ptr().cast_mut().cast(),
            Place::Imported(imported) => imported.first.as_ptr(),
        }
    }

    /// Its size in bytes: that of its elements; where it was not imported, rounded up to 16.
    pub fn bytes(&self) -> usize {
        match &self.place {
            Place::Own(lines) => size_of_val(&**lines),
            Place::Imported(imported) => imported.bytes,
        }
    }

    /// Whether it is memory for such a part: of elements of that size, and large enough.
    pub(crate) fn holds(&self, part: &Bytes) -> Result<(), String> {
        if self.element.bytes() != part.element.bytes() {
            return Err(format!("its memory is of {}, and it of {}", self.element, part.element));
        }
        match part.offset.checked_add(part.bytes) {
            Some(end) if end <= self.bytes() as u64 => Ok(()),
            _ => Err(format!(
                "{} bytes from {} are not in its memory of {} bytes",
                part.bytes,
                part.offset,
                self.bytes()
            )),
        }
    }

    /// Where a range of whole elements begins.
    fn at(&self, offset: u64, bytes: usize) -> Result<*mut u8, String> {
        let size = self.element.bytes();
        let start = usize::try_from(offset).ok().filter(|start| {
            let inside = start.checked_add(bytes).is_some_and(|end| end <= self.bytes());
            inside && start.is_multiple_of(size) && bytes.is_multiple_of(size)
        });
        match start {
            Some(start) => Ok(self.as_ptr().wrapping_add(start)),
            None => Err(format!(
                "{bytes} bytes from {offset} are not elements of {size} bytes in {}",
                self.bytes()
            )),
        }
    }

    fn read_as<T: Element>(from: *mut u8, to: &mut [u8]) {
        for (i, bytes) in to.chunks_exact_mut(size_of::<T>()).enumerate() {
            // SAFETY: `at` has checked range and alignment.
            let value = unsafe { T::load(from.wrapping_add(i * size_of::<T>())) };
            bytes.copy_from_slice(&value.to_bits64().to_le_bytes()[..size_of::<T>()]);
        }
    }

    fn write_as<T: Element>(to: *mut u8, from: &[u8]) {
        for (i, bytes) in from.chunks_exact(size_of::<T>()).enumerate() {
            let mut wide = [0; 8];
            wide[..bytes.len()].copy_from_slice(bytes);
            let value = T::from_bits64(u64::from_le_bytes(wide));
            // SAFETY: `at` has checked range and alignment.
            unsafe { T::store(to.wrapping_add(i * size_of::<T>()), value) };
        }
    }
}

impl Memory for HostMemory {
    fn read(&self, offset: u64, to: &mut [u8]) -> Result<(), String> {
        let from = self.at(offset, to.len())?;
        match self.element.bytes() {
            1 => Self::read_as::<u8>(from, to),
            2 => Self::read_as::<u16>(from, to),
            4 => Self::read_as::<u32>(from, to),
            _ => Self::read_as::<u64>(from, to),
        }
        Ok(())
    }

    fn write(&self, offset: u64, from: &[u8]) -> Result<(), String> {
        let to = self.at(offset, from.len())?;
        match self.element.bytes() {
            1 => Self::write_as::<u8>(to, from),
            2 => Self::write_as::<u16>(to, from),
            4 => Self::write_as::<u32>(to, from),
            _ => Self::write_as::<u64>(to, from),
        }
        Ok(())
    }
}

/// As bytes in the machine's order, which is what kernels see.
pub(crate) fn as_bytes<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: no element has padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

pub(crate) fn as_bytes_mut<T: Element>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: no element has padding, and any bits are one.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// So many zeroes: what an application asks for need not be to be had, which is no reason to end its process.
pub(crate) fn zeroes<T: Default>(count: usize) -> Result<Vec<T>, TryReserveError> {
    let mut values = Vec::new();
    values.try_reserve_exact(count)?;
    values.resize_with(count, T::default);
    Ok(values)
}

#[cfg(target_endian = "big")]
compile_error!("buffers are copied as little-endian bytes; this machine's order is another");

/// The part of a buffer of `size` bytes, checked.
pub(crate) fn check_bounds(part: &Bytes, size: u64, what: impl FnOnce() -> String) -> Result<(), Error> {
    if part.offset.checked_add(part.bytes).is_some_and(|end| end <= size) {
        Ok(())
    } else if part.bytes == Bytes::NONE {
        Err(Error::Range { what: what() })
    } else {
        Err(Error::OutOfBounds { offset: part.offset, bytes: part.bytes, size, what: Some(what()) })
    }
}
