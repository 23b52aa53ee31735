//! Buffers as a kernel's body sees them. Indices are in elements, from the beginning of the argument.

use super::check::Touched;
use super::memory::{Bytes, Element, HostMemory};
use std::marker::PhantomData;
use std::ops::Range;

/// The elements of an argument, whatever may be done with them.
#[derive(Debug)]
pub(crate) struct Raw<'a, T> {
    first: *mut u8,
    len: usize,
    touched: Option<&'a Touched>,
    memory: PhantomData<&'a [T]>,
}

// SAFETY: the pointer leads to memory that any thread may use, and that `'a` keeps; `get` and `set` are atomic, and whoever asks for a
// slice or uses a pointer answers for all threads.
unsafe impl<T: Element> Send for Raw<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Element> Sync for Raw<'_, T> {}

impl<'a, T: Element> Raw<'a, T> {
    /// `part` is a view that the launch has checked against the buffer's size, of elements of type `T`; an empty one needs no memory.
    pub(crate) fn new(memory: Option<&'a HostMemory>, part: &Bytes, touched: Option<&'a Touched>) -> Self {
        let (first, len) = match memory {
            Some(memory) => {
                (memory.as_ptr().wrapping_add(part.offset as usize), part.bytes as usize / size_of::<T>())
            }
            None => (std::ptr::NonNull::<T>::dangling().as_ptr().cast(), 0),
        };
        Self { first, len, touched, memory: PhantomData }
    }

    #[inline]
    fn at(&self, index: usize) -> *mut u8 {
        assert!(index < self.len, "element {index} of an argument of {}", self.len);
        self.first.wrapping_add(index * size_of::<T>())
    }

    #[inline]
    fn get(&self, index: usize) -> T {
        let at = self.at(index);
        if let Some(touched) = self.touched {
            touched.read(index * size_of::<T>(), size_of::<T>());
        }
        // SAFETY: inside the argument, which lies inside memory that `'a` keeps; offsets are multiples of the element's size.
        unsafe { T::load(at) }
    }

    #[inline]
    fn set(&self, index: usize, value: T) {
        let at = self.at(index);
        if let Some(touched) = self.touched {
            touched.write(index * size_of::<T>(), size_of::<T>());
        }
        // SAFETY: as in `get`; the memory is atomic integers, written through shared references by right.
        unsafe { T::store(at, value) }
    }

    fn raw(&self, touch: fn(&Touched)) -> *mut T {
        if let Some(touched) = self.touched {
            touch(touched);
        }
        self.first.cast()
    }

    /// The first element of a range, and how many there are.
    fn slice(&self, range: Range<usize>, touch: fn(&Touched, usize, usize)) -> (*mut T, usize) {
        let inside = range.start <= range.end && range.end <= self.len;
        assert!(inside, "elements {range:?} of an argument of {}", self.len);
        if let Some(touched) = self.touched {
            touch(touched, range.start * size_of::<T>(), range.len() * size_of::<T>());
        }
        (self.first.cast::<T>().wrapping_add(range.start), range.len())
    }
}

macro_rules! view {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<'a, T>(pub(crate) Raw<'a, T>);

        impl<T: Element> $name<'_, T> {
            /// How many elements.
            pub fn len(&self) -> usize {
                self.0.len
            }

            /// True where there are none.
            pub fn is_empty(&self) -> bool {
                self.0.len == 0
            }
        }
    };
}

macro_rules! get {
    ($name:ident) => {
        impl<'a, T: Element> $name<'a, T> {
            /// An element.
            ///
            /// # Panics
            /// Past the end; the kernel then fails, and nothing else does.
            #[inline]
            pub fn get(&self, index: usize) -> T {
                self.0.get(index)
            }

            /// The first element. What is read through it must be declared as read; a check of declarations does not see it. What is
            /// written through it all the same, as C can, a check sees where it changes a byte.
            pub fn as_ptr(&self) -> *const T {
                self.0.raw(Touched::raw_read)
            }

            /// Elements as a plain slice, for code that wants vector instructions.
            ///
            /// # Safety
            /// While the slice is in use nobody writes these elements. That needs a declaration of this kernel that says it reads them;
            /// CTAs of this kernel that do not write them; declarations of all other kernels of this runtime that leave out nothing
            /// they write; an executor that completes no kernel before it has ended; and an allocator that gives no memory twice.
            ///
            /// # Panics
            /// Past the end, as [`Self::get`].
            pub unsafe fn as_slice(&self, range: Range<usize>) -> &'a [T] {
                let (first, len) = self.0.slice(range, Touched::read);
                // SAFETY: inside the argument, aligned; the caller sees to it that nobody writes.
                unsafe { std::slice::from_raw_parts(first, len) }
            }
        }
    };
}

macro_rules! set {
    ($name:ident) => {
        impl<'a, T: Element> $name<'a, T> {
            /// Writes an element.
            ///
            /// # Panics
            /// Past the end; the kernel then fails, and nothing else does.
            #[inline]
            pub fn set(&self, index: usize, value: T) {
                self.0.set(index, value);
            }

            /// The first element. What is written through it must be declared as written; a check of declarations sees it where it
            /// changes a byte.
            pub fn as_mut_ptr(&self) -> *mut T {
                self.0.raw(Touched::raw_write)
            }

            /// Elements as a plain slice, for code that wants vector instructions.
            ///
            /// # Safety
            /// While the slice is in use nothing else reads or writes these elements, in this CTA or another. That needs a declaration
            /// of this kernel that says it writes them; declarations of all other kernels of this runtime that leave out nothing they
            /// read or write; an executor that completes no kernel before it has ended; and an allocator that gives no memory twice.
            /// All of the elements count as written.
            ///
            /// # Panics
            /// Past the end, as [`Self::set`].
            pub unsafe fn as_mut_slice(&self, range: Range<usize>) -> &'a mut [T] {
                let (first, len) = self.0.slice(range, Touched::slice_write);
                // SAFETY: inside the argument, aligned; the caller sees to it that nobody else is there.
                unsafe { std::slice::from_raw_parts_mut(first, len) }
            }
        }
    };
}

view! {
    /// An argument that is read.
    ReadView
}
view! {
    /// An argument that is overwritten.
    WriteView
}
view! {
    /// An argument that is read and written.
    ReadWriteView
}
get!(ReadView);
get!(ReadWriteView);
set!(WriteView);
set!(ReadWriteView);
