//! Vector instructions: the only unsafe code of the crate. Each function has a scalar twin that the tests compare it with.

use crate::access::{Access, MAX_SEGMENTS, Slot, bits};
use crate::masks::Masks;
use crate::memory::Piece;
use crate::window::{Common, Output};
use alloc::boxed::Box;
use core::fmt;

/// The instructions that the engine uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// None in particular.
    Scalar,
    /// ARM, four lanes.
    Neon,
    /// x86, eight lanes (with BMI and POPCNT).
    Avx2,
    /// x86, sixteen lanes (F, BW and VL, and what `Avx2` has).
    Avx512,
}

impl Isa {
    /// All of them, slowest first.
    pub const ALL: [Self; 4] = [Self::Scalar, Self::Neon, Self::Avx2, Self::Avx512];

    /// Whether this CPU, or without `std` this build, has it.
    pub fn is_available(self) -> bool {
        match self {
            Self::Scalar => true,
            Self::Neon => cfg!(all(target_arch = "aarch64", target_feature = "neon")),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Self::Avx2 => {
                std::is_x86_feature_detected!("avx2")
                    && std::is_x86_feature_detected!("bmi1")
                    && std::is_x86_feature_detected!("bmi2")
                    && std::is_x86_feature_detected!("popcnt")
            }
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Self::Avx512 => {
                std::is_x86_feature_detected!("avx512f")
                    && std::is_x86_feature_detected!("avx512bw")
                    && std::is_x86_feature_detected!("avx512vl")
                    && Self::Avx2.is_available()
            }
            #[cfg(not(all(target_arch = "x86_64", feature = "std")))]
            Self::Avx2 => cfg!(all(
                target_arch = "x86_64",
                target_feature = "avx2",
                target_feature = "bmi1",
                target_feature = "bmi2",
                target_feature = "popcnt"
            )),
            #[cfg(not(all(target_arch = "x86_64", feature = "std")))]
            Self::Avx512 => {
                Self::Avx2.is_available()
                    && cfg!(all(
                        target_feature = "avx512f",
                        target_feature = "avx512bw",
                        target_feature = "avx512vl"
                    ))
            }
        }
    }

    /// The fastest that is available.
    pub fn best() -> Self {
        Self::ALL.into_iter().rev().find(|isa| isa.is_available()).unwrap_or(Self::Scalar)
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scalar => "scalar code",
            Self::Neon => "NEON",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
        })
    }
}

/// Slots are compared in groups of this many.
pub(crate) const LANES: usize = 32;

/// One segment of each slot of a group.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Group {
    pub lo: [u32; LANES],
    pub last: [u32; LANES],
}

/// The K segments of all slots, in G groups. A row is the segments j of all slots.
pub(crate) struct Rows<'a, const N: usize, const G: usize, const K: usize> {
    pub region: &'a [[[u16; LANES]; G]; K],
    pub ranges: &'a [[Group; G]; K],
    /// Slots whose segment j is a read, a write; other lanes of the row are stale.
    pub reads: &'a [[u64; N]; K],
    pub writes: &'a [[u64; N]; K],
}

/// The parts of regions that a new kernel has and others have parts of, too: they must be compared with the segments of slots.
#[derive(Debug)]
pub(crate) struct Comparisons<const N: usize> {
    /// Reads, then writes.
    pieces: Box<[Piece; 2 * MAX_SEGMENTS]>,
    reads: usize,
    len: usize,
    /// Slots with a segment that may overlap.
    candidates: [u64; N],
}

impl<const N: usize> Comparisons<N> {
    pub fn new() -> Self {
        Self { pieces: Box::new([Piece::default(); _]), reads: 0, len: 0, candidates: [0; N] }
    }

    #[inline(always)]
    pub fn clear(&mut self) {
        (self.reads, self.len, self.candidates) = (0, 0, [0; N]);
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a piece, reads first, and the slots that it may have a hazard with.
    #[inline(always)]
    pub fn push(&mut self, piece: Piece, write: bool, candidates: &[u64; N]) {
        if let Some(next) = self.pieces.get_mut(self.len) {
            *next = piece;
            self.len += 1;
            self.reads += usize::from(!write);
            self.candidates.iter_mut().zip(candidates).for_each(|(all, new)| *all |= new);
        }
    }

    /// The candidates that are not in `known`.
    #[inline(always)]
    pub fn candidates(&self, known: &[u64; N]) -> [u64; N] {
        core::array::from_fn(|n| self.candidates[n] & !known[n])
    }

    /// Which pieces are compared with a slot's writes, and which with its reads: those matter to writes only.
    #[inline(always)]
    pub fn sides(&self) -> Sides<'_> {
        let with_writes = self.pieces.get(..self.len).unwrap_or_default();
        Sides { with_writes, with_reads: with_writes.get(self.reads..).unwrap_or_default() }
    }
}

/// See [`Comparisons::sides`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides<'a> {
    pub with_writes: &'a [Piece],
    pub with_reads: &'a [Piece],
}

/// What is done with vectors. A value of such a type exists only where the CPU has the instructions: that makes the calls below sound.
pub(crate) trait Vectors: fmt::Debug + Send + Sync + 'static {
    const ISA: Isa;

    /// Which of the lanes in `candidates` of group `g` have a hazard with any of the pieces.
    fn group<const N: usize, const G: usize, const K: usize>(
        rows: &Rows<'_, N, G, K>,
        g: usize,
        pieces: Sides<'_>,
        candidates: u32,
    ) -> u32;

    /// Sets the word of a slot: what it waits for.
    fn set(waiting: &mut [u64], slot: usize, upstream: u64);

    /// Takes a slot out of all words: the slots that waited for it and now wait for none.
    fn freed(waiting: &mut [u64], slot: usize) -> u64;
}

/// Functions of the window, each compiled for the instruction set that the window is of.
macro_rules! specialised {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($masks:ident $(, $arg:ident: $type:ty)*) -> $result:ty;
    )*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub(crate) fn $name<const N: usize, const G: usize, const K: usize, V: Vectors>(
            $masks: &mut Masks<N, G, K, V> $(, $arg: $type)*
        ) -> $result {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,popcnt")]
            fn avx512<const N: usize, const G: usize, const K: usize, V: Vectors>(
                $masks: &mut Masks<N, G, K, V> $(, $arg: $type)*
            ) -> $result {
                $masks.$name($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
            fn avx2<const N: usize, const G: usize, const K: usize, V: Vectors>(
                $masks: &mut Masks<N, G, K, V> $(, $arg: $type)*
            ) -> $result {
                $masks.$name($($arg),*)
            }
            match V::ISA {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the window holds a `V`, so that the CPU has what the function is compiled for.
                Isa::Avx512 => unsafe { avx512($masks $(, $arg)*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                Isa::Avx2 => unsafe { avx2($masks $(, $arg)*) },
                _ => $masks.$name($($arg),*),
            }
        }
    )*};
}

specialised! {
    /// [`Masks::insert_whole`].
    fn insert_whole(masks, common: &mut Common, reads: &[Access], writes: &[Access]) -> Option<Slot>;
    /// [`Masks::insert_simple`].
    fn insert_simple(masks, common: &mut Common, reads: &[Access], writes: &[Access]) -> Option<Slot>;
    /// [`Masks::insert_pieces`].
    fn insert_pieces(masks, common: &mut Common, slot: usize) -> Slot;
    /// [`Masks::retire_ready`].
    fn retire_ready(masks, freed: &mut Output, slot: Slot) -> bool;
}

impl<const N: usize, const G: usize, const K: usize> Rows<'_, N, G, K> {
    /// Adds to `upstream` the candidates that a piece has a hazard with.
    #[inline(always)]
    pub fn compare<V: Vectors>(&self, comparisons: &Comparisons<N>, upstream: &mut [u64; N]) {
        // Candidates of one piece are compared with all: the regions keep them apart.
        let candidates = comparisons.candidates(upstream);
        for g in 0..G {
            let (n, shift) = (g / 2 % N, g % 2 * LANES);
            let candidates = (candidates[n] >> shift) as u32;
            if candidates != 0 {
                upstream[n] |= u64::from(V::group(self, g, comparisons.sides(), candidates)) << shift;
            }
        }
    }

    /// What row `j` of a group is to be compared with: lanes in use, and pieces.
    #[inline(always)]
    fn sides<'a>(&self, j: usize, g: usize, pieces: Sides<'a>, candidates: u32) -> [(u32, &'a [Piece]); 2] {
        let lanes = |row: &[u64; N]| (row[g / 2 % N] >> (g % 2 * LANES)) as u32 & candidates;
        [(lanes(&self.writes[j]), pieces.with_writes), (lanes(&self.reads[j]), pieces.with_reads)]
    }
}

#[derive(Debug)]
pub(crate) struct Scalar;

impl Vectors for Scalar {
    const ISA: Isa = Isa::Scalar;

    #[inline(always)]
    fn group<const N: usize, const G: usize, const K: usize>(
        rows: &Rows<'_, N, G, K>,
        g: usize,
        pieces: Sides<'_>,
        candidates: u32,
    ) -> u32 {
        let mut hits = 0;
        for j in 0..K {
            let (region, ranges) = (&rows.region[j][g], &rows.ranges[j][g]);
            for (used, pieces) in rows.sides(j, g, pieces, candidates) {
                for s in bits((used & !hits).into()) {
                    let old =
                        Piece { region: region[s], whole: false, lo: ranges.lo[s], last: ranges.last[s] };
                    hits |= u32::from(pieces.iter().any(|new| new.overlaps(&old))) << s;
                }
            }
        }
        hits
    }

    #[inline(always)]
    fn set(waiting: &mut [u64], slot: usize, upstream: u64) {
        if let Some(word) = waiting.get_mut(slot) {
            *word = upstream;
        }
    }

    #[inline(always)]
    fn freed(waiting: &mut [u64], slot: usize) -> u64 {
        waiting.iter_mut().enumerate().fold(0, |freed, (s, word)| {
            let waited = *word >> slot & 1;
            *word &= !(1 << slot);
            freed | (waited & u64::from(*word == 0)) << s
        })
    }
}

/// The same by functions that are compiled for some CPU features, called where the caller is, too.
macro_rules! vectors {
    ($name:ident, $group:ident, $set:path, $freed:path) => {
        #[derive(Debug)]
        pub(crate) struct $name(());

        impl $name {
            pub fn new() -> Option<Self> {
                Isa::$name.is_available().then_some(Self(()))
            }
        }

        impl Vectors for $name {
            const ISA: Isa = Isa::$name;

            #[inline(always)]
            fn group<const N: usize, const G: usize, const K: usize>(
                rows: &Rows<'_, N, G, K>,
                g: usize,
                pieces: Sides<'_>,
                candidates: u32,
            ) -> u32 {
                // SAFETY: there is a value of the type, so the CPU has the features.
                unsafe { $group(rows, g, pieces, candidates) }
            }

            #[inline(always)]
            fn set(waiting: &mut [u64], slot: usize, upstream: u64) {
                #[allow(unused_unsafe)] // Where it is the scalar one.
                // SAFETY: as above.
                unsafe {
                    $set(waiting, slot, upstream)
                }
            }

            #[inline(always)]
            fn freed(waiting: &mut [u64], slot: usize) -> u64 {
                #[allow(unused_unsafe)]
                // SAFETY: as above.
                unsafe {
                    $freed(waiting, slot)
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
vectors!(Avx512, group_avx512, set_avx512, freed_avx512);
#[cfg(target_arch = "x86_64")]
vectors!(Avx2, group_avx2, set_avx2, freed_avx2);
#[cfg(target_arch = "aarch64")]
vectors!(Neon, group_neon, Scalar::set, Scalar::freed);

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
#[inline]
fn group_avx512<const N: usize, const G: usize, const K: usize>(
    rows: &Rows<'_, N, G, K>,
    g: usize,
    pieces: Sides<'_>,
    candidates: u32,
) -> u32 {
    use core::arch::x86_64::*;
    let at = |lanes: &[u32; LANES], half: usize| lanes.as_ptr().wrapping_add(half * 16).cast();
    // A lane's sign is its hit: offsets are below 2^31, so that differences do not overflow.
    let mut hits = [_mm512_setzero_si512(); 2];
    for j in 0..K {
        let (region, ranges) = (&rows.region[j][g], &rows.ranges[j][g]);
        for (used, pieces) in rows.sides(j, g, pieces, candidates) {
            if used == 0 {
                continue;
            }
            // SAFETY: loads of 64 bytes: an array of as many, and both halves of two of twice as many, aligned as `Group` is.
            let (region, lo, last) = unsafe {
                (
                    _mm512_loadu_si512(region.as_ptr().cast()),
                    [_mm512_load_si512(at(&ranges.lo, 0)), _mm512_load_si512(at(&ranges.lo, 1))],
                    [_mm512_load_si512(at(&ranges.last, 0)), _mm512_load_si512(at(&ranges.last, 1))],
                )
            };
            for piece in pieces {
                let same =
                    _mm512_mask_cmpeq_epi16_mask(used, region, _mm512_set1_epi16(piece.region.cast_signed()));
                let new_lo = _mm512_set1_epi32(piece.lo.cast_signed());
                let new_last = _mm512_set1_epi32(piece.last.cast_signed());
                for half in 0..2 {
                    // Neither is negative where it does not begin after the new one ends, nor end before that begins.
                    let before = _mm512_sub_epi32(new_last, lo[half]);
                    let after = _mm512_sub_epi32(last[half], new_lo);
                    let lanes = (same >> (half * 16)) as u16;
                    // hits | !(before | after)
                    hits[half] = _mm512_mask_ternarylogic_epi32::<0xF1>(hits[half], lanes, before, after);
                }
            }
        }
    }
    let sign = _mm512_set1_epi32(i32::MIN);
    let hits = hits.map(|h| u32::from(_mm512_test_epi32_mask(h, sign)));
    hits[0] | hits[1] << 16
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn group_avx2<const N: usize, const G: usize, const K: usize>(
    rows: &Rows<'_, N, G, K>,
    g: usize,
    pieces: Sides<'_>,
    candidates: u32,
) -> u32 {
    use core::arch::x86_64::*;
    let mut hits = 0;
    for j in 0..K {
        let (region, ranges) = (&rows.region[j][g], &rows.ranges[j][g]);
        for (used, pieces) in rows.sides(j, g, pieces, candidates) {
            if used == 0 || pieces.is_empty() {
                continue;
            }
            for part in 0..4 {
                // SAFETY: loads of 8 lanes, from lane 0, 8, 16 or 24 of arrays of 32, those of 32 bytes aligned as `Group` is.
                let (region, lo, last) = unsafe {
                    (
                        _mm_loadu_si128(region.as_ptr().add(part * 8).cast()),
                        _mm256_load_si256(ranges.lo.as_ptr().add(part * 8).cast()),
                        _mm256_load_si256(ranges.last.as_ptr().add(part * 8).cast()),
                    )
                };
                let region = _mm256_cvtepu16_epi32(region);
                let mut any = _mm256_setzero_si256();
                for piece in pieces {
                    let same = _mm256_cmpeq_epi32(region, _mm256_set1_epi32(piece.region.into()));
                    // No unsigned comparison in AVX2: a <= b where min(a, b) is a.
                    let before = _mm256_cmpeq_epi32(
                        _mm256_min_epu32(lo, _mm256_set1_epi32(piece.last.cast_signed())),
                        lo,
                    );
                    let after = _mm256_cmpeq_epi32(
                        _mm256_max_epu32(last, _mm256_set1_epi32(piece.lo.cast_signed())),
                        last,
                    );
                    any = _mm256_or_si256(any, _mm256_and_si256(same, _mm256_and_si256(before, after)));
                }
                hits |= used & (_mm256_movemask_ps(_mm256_castsi256_ps(any)) as u32) << (part * 8);
            }
        }
    }
    hits
}

#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
#[inline]
fn group_neon<const N: usize, const G: usize, const K: usize>(
    rows: &Rows<'_, N, G, K>,
    g: usize,
    pieces: Sides<'_>,
    candidates: u32,
) -> u32 {
    use core::arch::aarch64::*;
    const WEIGHTS: [u32; 4] = [1, 2, 4, 8];
    let mut hits = 0;
    for j in 0..K {
        let (region, ranges) = (&rows.region[j][g], &rows.ranges[j][g]);
        for (used, pieces) in rows.sides(j, g, pieces, candidates) {
            if used == 0 || pieces.is_empty() {
                continue;
            }
            for part in 0..8 {
                // SAFETY: loads of 4 lanes, from lane 0, 4, ... 28 of arrays of 32, and of 4 weights.
                let (region, lo, last, weights) = unsafe {
                    (
                        vld1_u16(region.as_ptr().add(part * 4)),
                        vld1q_u32(ranges.lo.as_ptr().add(part * 4)),
                        vld1q_u32(ranges.last.as_ptr().add(part * 4)),
                        vld1q_u32(WEIGHTS.as_ptr()),
                    )
                };
                let region = vmovl_u16(region);
                let mut any = vdupq_n_u32(0);
                for piece in pieces {
                    let same = vceqq_u32(region, vdupq_n_u32(piece.region.into()));
                    let before = vcleq_u32(lo, vdupq_n_u32(piece.last));
                    let after = vcgeq_u32(last, vdupq_n_u32(piece.lo));
                    any = vorrq_u32(any, vandq_u32(same, vandq_u32(before, after)));
                }
                hits |= used & vaddvq_u32(vandq_u32(any, weights)) << (part * 4);
            }
        }
    }
    hits
}

// A whole vector, not the one word: a load of a vector soon after a store to a part of it would stall.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
#[inline]
fn set_avx512(waiting: &mut [u64], slot: usize, upstream: u64) {
    use core::arch::x86_64::*;
    if let Some(words) = waiting.as_chunks_mut::<8>().0.get_mut(slot / 8) {
        let words: *mut __m512i = words.as_mut_ptr().cast();
        let upstream = _mm512_set1_epi64(upstream.cast_signed());
        // SAFETY: an unaligned load and store of 64 bytes, at eight words.
        unsafe {
            let set = _mm512_mask_mov_epi64(_mm512_loadu_si512(words), 1 << (slot % 8), upstream);
            _mm512_storeu_si512(words, set);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
#[inline]
fn freed_avx512(waiting: &mut [u64], slot: usize) -> u64 {
    use core::arch::x86_64::*;
    let bit = _mm512_set1_epi64((1u64 << slot).cast_signed());
    let mut freed = 0;
    for (g, words) in waiting.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let words: *mut __m512i = words.as_mut_ptr().cast();
        // SAFETY: an unaligned load and store of 64 bytes, at eight words.
        unsafe {
            let old = _mm512_loadu_si512(words);
            let left = _mm512_andnot_si512(bit, old);
            _mm512_storeu_si512(words, left);
            let waited = _mm512_test_epi64_mask(old, bit);
            freed |= u64::from(_mm512_mask_testn_epi64_mask(waited, left, left)) << (8 * g);
        }
    }
    freed
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn set_avx2(waiting: &mut [u64], slot: usize, upstream: u64) {
    use core::arch::x86_64::*;
    if let Some(words) = waiting.as_chunks_mut::<4>().0.get_mut(slot / 4) {
        let words: *mut __m256i = words.as_mut_ptr().cast();
        let own = _mm256_cmpeq_epi64(_mm256_set_epi64x(3, 2, 1, 0), _mm256_set1_epi64x((slot % 4) as i64));
        let upstream = _mm256_set1_epi64x(upstream.cast_signed());
        // SAFETY: an unaligned load and store of 32 bytes, at four words.
        unsafe {
            let set = _mm256_blendv_epi8(_mm256_loadu_si256(words), upstream, own);
            _mm256_storeu_si256(words, set);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn freed_avx2(waiting: &mut [u64], slot: usize) -> u64 {
    use core::arch::x86_64::*;
    let bit = _mm256_set1_epi64x((1u64 << slot).cast_signed());
    let mut freed = 0;
    for (g, words) in waiting.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let words: *mut __m256i = words.as_mut_ptr().cast();
        // SAFETY: an unaligned load and store of 32 bytes, at four words.
        let (old, left) = unsafe {
            let old = _mm256_loadu_si256(words);
            let left = _mm256_andnot_si256(bit, old);
            _mm256_storeu_si256(words, left);
            (old, left)
        };
        let waited = _mm256_cmpeq_epi64(_mm256_and_si256(old, bit), bit);
        let none = _mm256_cmpeq_epi64(left, _mm256_setzero_si256());
        let lanes = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_and_si256(waited, none)));
        freed |= (lanes as u64) << (4 * g);
    }
    freed
}
