//! Vector instructions: the only unsafe code of the crate. Each function has a scalar twin that the tests compare it with.

use crate::access::{Access, Slot, bits};
use crate::masks::Masks;
use crate::memory::Piece;
use crate::window::{Common, Output};
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

/// One piece of a new kernel, and the slots whose segments it must be compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison<const N: usize> {
    pub piece: Piece,
    pub write: bool,
    pub candidates: [u64; N],
}

/// What is done with vectors. A value of such a type exists only where the CPU has the instructions: that makes the calls below sound.
pub(crate) trait Vectors: fmt::Debug + Send + Sync + 'static {
    const ISA: Isa;

    /// Which of the lanes in `used` overlap any of the pieces.
    fn group<const N: usize>(
        region: &[u16; LANES],
        ranges: &Group,
        pieces: &[Comparison<N>],
        used: u32,
    ) -> u32;

    /// Sets the word of a slot: what it waits for. Clears the slot's bit, which is of a kernel that has retired, in all others.
    fn set(waiting: &mut [u64], slot: usize, upstream: u64);

    /// The slots that wait for one slot, and for none in `live`.
    fn freed(waiting: &[u64], slot: usize, live: u64) -> u64;
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
    pub fn compare<V: Vectors>(&self, comparisons: &[Comparison<N>], upstream: &mut [u64; N]) {
        // Reads come first. A slot's reads matter to the writes only.
        let writes = &comparisons[comparisons.partition_point(|c| !c.write)..];
        for g in 0..G {
            let (n, shift) = (g / 2 % N, g % 2 * LANES);
            // Candidates of one piece are compared with all: the regions keep them apart.
            let candidates = comparisons.iter().fold(0, |all, c| all | c.candidates[n]) & !upstream[n];
            let candidates = (candidates >> shift) as u32;
            if candidates == 0 {
                continue;
            }
            let mut hits = 0;
            for j in 0..K {
                let (region, ranges) = (&self.region[j][g], &self.ranges[j][g]);
                let written = (self.writes[j][n] >> shift) as u32 & candidates;
                if written != 0 {
                    hits |= V::group(region, ranges, comparisons, written);
                }
                let read = (self.reads[j][n] >> shift) as u32 & candidates;
                if read != 0 && !writes.is_empty() {
                    hits |= V::group(region, ranges, writes, read);
                }
            }
            upstream[n] |= u64::from(hits) << shift;
        }
    }
}

#[derive(Debug)]
pub(crate) struct Scalar;

impl Vectors for Scalar {
    const ISA: Isa = Isa::Scalar;

    #[inline(always)]
    fn group<const N: usize>(
        region: &[u16; LANES],
        ranges: &Group,
        pieces: &[Comparison<N>],
        used: u32,
    ) -> u32 {
        bits(used.into())
            .filter(|s| {
                let old =
                    Piece { region: region[*s], whole: false, lo: ranges.lo[*s], last: ranges.last[*s] };
                pieces.iter().any(|new| new.piece.overlaps(&old))
            })
            .fold(0, |hits, s| hits | 1 << s)
    }

    #[inline(always)]
    fn set(waiting: &mut [u64], slot: usize, upstream: u64) {
        for word in waiting.iter_mut() {
            *word &= !(1 << slot);
        }
        if let Some(word) = waiting.get_mut(slot) {
            *word = upstream;
        }
    }

    #[inline(always)]
    fn freed(waiting: &[u64], slot: usize, live: u64) -> u64 {
        let waits = |word: &u64| (word >> slot & 1) & u64::from(word & live == 0);
        waiting.iter().enumerate().fold(0, |freed, (s, word)| freed | waits(word) << s)
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
            fn group<const N: usize>(
                region: &[u16; LANES],
                ranges: &Group,
                pieces: &[Comparison<N>],
                used: u32,
            ) -> u32 {
                // SAFETY: there is a value of the type, so the CPU has the features.
                unsafe { $group(region, ranges, pieces, used) }
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
            fn freed(waiting: &[u64], slot: usize, live: u64) -> u64 {
                #[allow(unused_unsafe)]
                // SAFETY: as above.
                unsafe {
                    $freed(waiting, slot, live)
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
fn group_avx512<const N: usize>(
    region: &[u16; LANES],
    ranges: &Group,
    pieces: &[Comparison<N>],
    used: u32,
) -> u32 {
    use core::arch::x86_64::*;
    let at = |lanes: &[u32; LANES], half: usize| lanes.as_ptr().wrapping_add(half * 16).cast();
    // SAFETY: loads of 64 bytes: an array of as many, and both halves of two of twice as many, aligned as `Group` is.
    let (region, lo, last) = unsafe {
        (
            _mm512_loadu_si512(region.as_ptr().cast()),
            [_mm512_load_si512(at(&ranges.lo, 0)), _mm512_load_si512(at(&ranges.lo, 1))],
            [_mm512_load_si512(at(&ranges.last, 0)), _mm512_load_si512(at(&ranges.last, 1))],
        )
    };
    let mut hits: [__mmask16; 2] = [0; 2];
    for Comparison { piece, .. } in pieces {
        let same = _mm512_mask_cmpeq_epi16_mask(used, region, _mm512_set1_epi16(piece.region.cast_signed()));
        for half in 0..2 {
            let same = (same >> (half * 16)) as u16;
            let before =
                _mm512_mask_cmple_epu32_mask(same, lo[half], _mm512_set1_epi32(piece.last.cast_signed()));
            let both =
                _mm512_mask_cmpge_epu32_mask(before, last[half], _mm512_set1_epi32(piece.lo.cast_signed()));
            hits[half] = _kor_mask16(hits[half], both);
        }
    }
    u32::from(hits[0]) | u32::from(hits[1]) << 16
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn group_avx2<const N: usize>(
    region: &[u16; LANES],
    ranges: &Group,
    pieces: &[Comparison<N>],
    used: u32,
) -> u32 {
    use core::arch::x86_64::*;
    let mut hits = 0;
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
        for Comparison { piece, .. } in pieces {
            let same = _mm256_cmpeq_epi32(region, _mm256_set1_epi32(piece.region.into()));
            // No unsigned comparison in AVX2: a <= b where min(a, b) is a.
            let before =
                _mm256_cmpeq_epi32(_mm256_min_epu32(lo, _mm256_set1_epi32(piece.last.cast_signed())), lo);
            let after =
                _mm256_cmpeq_epi32(_mm256_max_epu32(last, _mm256_set1_epi32(piece.lo.cast_signed())), last);
            any = _mm256_or_si256(any, _mm256_and_si256(same, _mm256_and_si256(before, after)));
        }
        hits |= (_mm256_movemask_ps(_mm256_castsi256_ps(any)) as u32) << (part * 8);
    }
    hits & used
}

#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
#[inline]
fn group_neon<const N: usize>(
    region: &[u16; LANES],
    ranges: &Group,
    pieces: &[Comparison<N>],
    used: u32,
) -> u32 {
    use core::arch::aarch64::*;
    const WEIGHTS: [u32; 4] = [1, 2, 4, 8];
    let mut hits = 0;
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
        for Comparison { piece, .. } in pieces {
            let same = vceqq_u32(region, vdupq_n_u32(piece.region.into()));
            let before = vcleq_u32(lo, vdupq_n_u32(piece.last));
            let after = vcgeq_u32(last, vdupq_n_u32(piece.lo));
            any = vorrq_u32(any, vandq_u32(same, vandq_u32(before, after)));
        }
        hits |= vaddvq_u32(vandq_u32(any, weights)) << (part * 4);
    }
    hits & used
}

// Whole vectors, not the one word: a load of a vector soon after a store to a part of it would stall.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
#[inline]
fn set_avx512(waiting: &mut [u64], slot: usize, upstream: u64) {
    use core::arch::x86_64::*;
    let bit = 1u64 << slot;
    let (bits, upstream) = (_mm512_set1_epi64(bit.cast_signed()), _mm512_set1_epi64(upstream.cast_signed()));
    for (g, words) in waiting.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let words: *mut __m512i = words.as_mut_ptr().cast();
        // SAFETY: an unaligned load and store of 64 bytes, at eight words.
        unsafe {
            let others = _mm512_andnot_si512(bits, _mm512_loadu_si512(words));
            _mm512_storeu_si512(words, _mm512_mask_mov_epi64(others, (bit >> (8 * g)) as u8, upstream));
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
#[inline]
fn freed_avx512(waiting: &[u64], slot: usize, live: u64) -> u64 {
    use core::arch::x86_64::*;
    let (bit, live) =
        (_mm512_set1_epi64((1u64 << slot).cast_signed()), _mm512_set1_epi64(live.cast_signed()));
    let mut freed = 0;
    for (g, words) in waiting.as_chunks::<8>().0.iter().enumerate() {
        // SAFETY: an unaligned load of 64 bytes, at eight words.
        let words = unsafe { _mm512_loadu_si512(words.as_ptr().cast()) };
        let waits = _mm512_test_epi64_mask(words, bit);
        freed |= u64::from(_mm512_mask_testn_epi64_mask(waits, words, live)) << (8 * g);
    }
    freed
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn set_avx2(waiting: &mut [u64], slot: usize, upstream: u64) {
    use core::arch::x86_64::*;
    let bits = _mm256_set1_epi64x((1u64 << slot).cast_signed());
    let upstream = _mm256_set1_epi64x(upstream.cast_signed());
    let own = _mm256_set1_epi64x(slot as i64);
    let mut lanes = _mm256_set_epi64x(3, 2, 1, 0);
    for words in waiting.as_chunks_mut::<4>().0 {
        let words: *mut __m256i = words.as_mut_ptr().cast();
        // SAFETY: an unaligned load and store of 32 bytes, at four words.
        unsafe {
            let others = _mm256_andnot_si256(bits, _mm256_loadu_si256(words));
            let mine = _mm256_cmpeq_epi64(lanes, own);
            _mm256_storeu_si256(words, _mm256_blendv_epi8(others, upstream, mine));
        }
        lanes = _mm256_add_epi64(lanes, _mm256_set1_epi64x(4));
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn freed_avx2(waiting: &[u64], slot: usize, live: u64) -> u64 {
    use core::arch::x86_64::*;
    let (bit, live) =
        (_mm256_set1_epi64x((1u64 << slot).cast_signed()), _mm256_set1_epi64x(live.cast_signed()));
    let mut freed = 0;
    for (g, words) in waiting.as_chunks::<4>().0.iter().enumerate() {
        // SAFETY: an unaligned load of 32 bytes, at four words.
        let words = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
        let waits = _mm256_cmpeq_epi64(_mm256_and_si256(words, bit), bit);
        let none = _mm256_cmpeq_epi64(_mm256_and_si256(words, live), _mm256_setzero_si256());
        let lanes = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_and_si256(waits, none)));
        freed |= (lanes as u64) << (4 * g);
    }
    freed
}
