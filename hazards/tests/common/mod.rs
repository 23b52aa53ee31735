//! Random kernels over a few hundred bytes, and what the engine must say of them, by brute force over sets of bytes.

#![allow(dead_code)] // Each test uses its part.

use windlass_hazards::{Access, Buffer, Config, Engine, Error, Inserted, Rule, Slot, Slots};

/// SplitMix64: a few lines instead of a dependency, the same on every machine.
#[derive(Clone)]
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `n`, which is small.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// `WINDLASS_SEED`, or a fixed one; printed, so that a failure can be repeated.
pub fn seed() -> u64 {
    let seed = match std::env::var("WINDLASS_SEED") {
        Ok(text) => text.parse().expect("WINDLASS_SEED is a number"),
        Err(_) => 2026,
    };
    println!("WINDLASS_SEED={seed}");
    seed
}

/// `short`, or `long` where `WINDLASS_LONG=1` asks for it; little under Miri, where all takes a thousand times as long.
pub fn amount(short: u64, long: u64) -> u64 {
    if cfg!(miri) {
        return short / 1000;
    }
    if std::env::var("WINDLASS_LONG").is_ok_and(|v| v == "1") { long } else { short }
}

/// Bytes of the small memory.
pub const BYTES: usize = 256;

/// A set of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Set(pub [u64; BYTES / 64]);

impl Set {
    pub const ALL: Self = Self([u64::MAX; BYTES / 64]);

    pub fn range(from: usize, count: usize) -> Self {
        let mut set = Self::default();
        (from..from + count).for_each(|b| set.0[b / 64] |= 1 << (b % 64));
        set
    }

    pub fn or(self, other: Self) -> Self {
        Self(std::array::from_fn(|n| self.0[n] | other.0[n]))
    }

    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    pub fn contains(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| b & !a == 0)
    }
}

/// Where the buffers are in the small memory, and where that is in the engine's.
pub struct Layout {
    pub base: u64,
    /// Bytes of the engine for one of ours.
    pub scale: u64,
    pub buffers: Vec<(Buffer, usize, usize)>,
    pub declared: Set,
}

impl Layout {
    /// Fills the memory with buffers, with gaps here and there if so wanted.
    pub fn random(rng: &mut Rng, engine: &mut Engine, largest: usize, gaps: bool, scale: u64) -> Self {
        let base = 0x7F00_0000_0000 + rng.below(1 << 20) as u64;
        let mut layout = Self { base, scale, buffers: Vec::new(), declared: Set::default() };
        let mut from = 0;
        while from < BYTES {
            let count = (1 + rng.below(largest)).min(BYTES - from);
            if !(gaps && rng.one_in(6)) {
                let buffer = engine.declare_at(base + from as u64 * scale, count as u64 * scale).unwrap();
                layout.buffers.push((buffer, from, count));
                layout.declared = layout.declared.or(Set::range(from, count));
            }
            from += count;
        }
        layout
    }

    /// A random access, and the bytes that it touches: all where some are in no buffer.
    pub fn access(&self, rng: &mut Rng, mix: Mix) -> (Access, Set) {
        let (buffer, start, size) = self.buffers[rng.below(self.buffers.len())];
        let kind = match mix {
            Mix::Handles => 0,
            Mix::Views => 1,
            Mix::Raw => 2,
            Mix::All => rng.below(3),
        };
        match kind {
            0 => (Access::whole(buffer), Set::range(start, size)),
            1 => {
                let offset = rng.below(size + 1);
                let count = rng.below(size - offset + 1);
                let access = Access::view(buffer, offset as u64 * self.scale, count as u64 * self.scale);
                (access, Set::range(start + offset, count))
            }
            _ => {
                let from = rng.below(BYTES);
                let count = rng.below((BYTES - from).min(24) + 1);
                let access = Access::raw(self.base + from as u64 * self.scale, count as u64 * self.scale);
                let set = Set::range(from, count);
                (access, if self.declared.contains(&set) { set } else { Set::ALL })
            }
        }
    }
}

/// What kinds of accesses kernels have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    Handles,
    Views,
    Raw,
    All,
}

/// A kernel, and the bytes that it touches.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    pub reads: Vec<Access>,
    pub writes: Vec<Access>,
    pub read: Set,
    pub written: Set,
}

impl Kernel {
    pub fn random(rng: &mut Rng, layout: &Layout, mix: Mix) -> Self {
        let mut kernel = Self::default();
        // Now and then more than a slot holds.
        let most = if rng.one_in(16) { 24 } else { 4 };
        for _ in 0..rng.below(most + 1) {
            let (access, set) = layout.access(rng, mix);
            kernel.reads.push(access);
            kernel.read = kernel.read.or(set);
        }
        for _ in 0..rng.below(most / 2 + 1) {
            let (access, set) = layout.access(rng, mix);
            kernel.writes.push(access);
            kernel.written = kernel.written.or(set);
        }
        kernel
    }

    /// Whether it must wait for an earlier one.
    pub fn waits_for(&self, earlier: &Self, rule: Rule) -> bool {
        let (old, new) = (earlier, self);
        new.written.meets(&old.written)
            || new.written.meets(&old.read)
            || rule == Rule::Exact && new.read.meets(&old.written)
    }
}

/// A set of slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotSet(pub Vec<u64>);

impl SlotSet {
    pub fn new(window: usize) -> Self {
        Self(vec![0; window.div_ceil(64)])
    }

    pub fn insert(&mut self, s: usize) {
        self.0[s / 64] |= 1 << (s % 64);
    }

    pub fn remove(&mut self, s: usize) {
        self.0[s / 64] &= !(1 << (s % 64));
    }

    pub fn or(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    pub fn contains_all(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| b & !a == 0)
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|w| *w == 0)
    }

    pub fn of(slots: Slots<'_>, window: usize) -> Self {
        let mut set = Self::new(window);
        slots.iter().for_each(|s| set.insert(s.index()));
        assert_eq!(set.0.iter().map(|w| w.count_ones() as usize).sum::<usize>(), slots.len(), "a slot twice");
        set
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.0.len() * 64).filter(|s| self.0[s / 64] >> (s % 64) & 1 == 1)
    }
}

/// An engine beside the plain truth about the kernels in flight.
pub struct Checked {
    pub engine: Engine,
    pub window: usize,
    rule: Rule,
    kernels: Vec<Option<Kernel>>,
    /// Unfinished kernels that each one has a hazard with; and those that follow from it, which must come before it too.
    upstream: Vec<SlotSet>,
    closure: Vec<SlotSet>,
    /// In flight and waiting for nothing.
    pub ready: Vec<Slot>,
    pub len: usize,
    pub pairs: u64,
}

impl Checked {
    pub fn new(config: &Config) -> Self {
        let window = config.window;
        Self {
            engine: Engine::with_config(config).unwrap(),
            window,
            rule: config.rule,
            kernels: vec![None; window],
            upstream: vec![SlotSet::new(window); window],
            closure: vec![SlotSet::new(window); window],
            ready: Vec::new(),
            len: 0,
            pairs: 0,
        }
    }

    pub fn is_full(&self) -> bool {
        self.len == self.window
    }

    pub fn kernel(&self, slot: Slot) -> &Kernel {
        self.kernels[slot.index()].as_ref().unwrap()
    }

    /// Inserts, and compares the upstream set with that of the bytes.
    pub fn insert(&mut self, kernel: Kernel) -> Result<Slot, Error> {
        let Inserted { slot, upstream } = self.engine.insert(&kernel.reads, &kernel.writes)?;
        let found = SlotSet::of(upstream, self.window);
        let s = slot.index();
        assert!(self.kernels[s].is_none(), "slot {s} is taken");
        let mut expected = SlotSet::new(self.window);
        for (u, old) in self.kernels.iter().enumerate() {
            if let Some(old) = old
                && kernel.waits_for(old, self.rule)
            {
                expected.insert(u);
            }
        }
        self.pairs += self.len as u64;
        if self.window <= 512 {
            assert_eq!(found, expected, "kernel {kernel:?} in slot {s}");
        } else {
            // Fewer edges, but none without a hazard, and with the same consequences.
            assert!(expected.contains_all(&found), "kernel {kernel:?} in slot {s}: an edge without a hazard");
            assert_eq!(self.close(&found), self.close(&expected), "kernel {kernel:?} in slot {s}");
        }
        self.closure[s] = self.close(&expected);
        if expected.is_empty() {
            self.ready.push(slot);
        }
        self.upstream[s] = expected;
        self.kernels[s] = Some(kernel);
        self.len += 1;
        Ok(slot)
    }

    fn close(&self, edges: &SlotSet) -> SlotSet {
        let mut closed = edges.clone();
        edges.iter().for_each(|u| closed.or(&self.closure[u]));
        closed
    }

    /// Retires a ready kernel, and compares the freed set.
    pub fn retire(&mut self, at: usize) -> Slot {
        let slot = self.ready.swap_remove(at);
        let freed = SlotSet::of(self.engine.retire(slot).unwrap(), self.window);
        let s = slot.index();
        self.kernels[s] = None;
        self.len -= 1;
        let mut expected = SlotSet::new(self.window);
        for d in 0..self.window {
            if self.kernels[d].is_some() {
                let waited = !self.upstream[d].is_empty();
                self.upstream[d].remove(s);
                self.closure[d].remove(s);
                if waited && self.upstream[d].is_empty() {
                    expected.insert(d);
                    self.ready.push(Slot(d as u16));
                }
            }
        }
        assert_eq!(freed, expected, "freed by slot {s}");
        slot
    }

    /// One of those that are not ready, if any.
    pub fn waiting(&self) -> Option<(Slot, usize)> {
        let d = (0..self.window).find(|d| self.kernels[*d].is_some() && !self.upstream[*d].is_empty())?;
        Some((Slot(d as u16), self.upstream[d].iter().count()))
    }
}
