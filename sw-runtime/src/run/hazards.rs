//! What each kernel of a program declares, and the check of it while the program runs.

use super::footprint::Span;
use super::program::Program;
pub(crate) use windlass_hazards::MAX_SPILL as MOST_SPILLED;
use windlass_hazards::{Access, Config, Engine, Error, MAX_REGIONS, REGION_BYTES, Rule, Slot};

/// What each kernel reads and writes, as an application declares it with its launches.
#[derive(Clone, Debug)]
pub struct Declarations {
    /// Words that some kernel's segments join: what an application would have allocated at once.
    regions: Vec<Span>,
    kernels: Vec<(Vec<Access>, Vec<Access>)>,
    rule: Rule,
}

impl Declarations {
    /// What the program's kernels really touch.
    pub fn new(program: &Program) -> Self {
        let kernels = program.kernels();
        let mut spans: Vec<Span> =
            kernels.iter().flat_map(|k| k.reads.iter().chain(&k.writes)).copied().collect();
        spans.sort_unstable();
        let mut regions: Vec<Span> = Vec::new();
        for span in spans {
            match regions.last_mut() {
                Some(last) if span.start < last.end => last.end = last.end.max(span.end),
                _ => regions.push(span),
            }
        }
        let taken: u64 = regions.iter().map(|r| (r.len() * 4).div_ceil(REGION_BYTES)).sum();
        if taken > MAX_REGIONS as u64 {
            regions = vec![Span { start: 0, end: program.words() }];
        }
        let access = |span: &Span| Access::raw(span.start * 4, span.len() * 4);
        let list = |spans: &[Span]| spans.iter().map(access).collect();
        let kernels = kernels.iter().map(|k| (list(&k.reads), list(&k.writes))).collect();
        Self { regions, kernels, rule: Rule::Exact }
    }

    /// How many kernels there are.
    pub fn kernels(&self) -> usize {
        self.kernels.len()
    }

    /// Compares as ACE's Algorithm 1 is printed, which misses RAW: wrong, and the image shows it.
    pub fn strict_algorithm1(&mut self, strict: bool) {
        self.rule = if strict { Rule::StrictAlgorithm1 } else { Rule::Exact };
    }

    /// Makes kernel `k` declare nothing, although it touches what it touches: a mistake on purpose, which the image must show.
    /// Past the last kernel there is none to forget.
    pub fn forget(&mut self, k: usize) {
        if let Some(declared) = self.kernels.get_mut(k) {
            *declared = (Vec::new(), Vec::new());
        }
    }
}

/// A window of kernels in flight, and what a new one waits for.
pub(super) struct Checker<'a> {
    engine: Engine,
    declared: &'a Declarations,
    /// The kernel in each slot.
    kernels: Vec<u32>,
    /// Of the kernel inserted last: the kernels and slots that it waits for, oldest kernel first unless it was inserted without order.
    pub(super) upstream: Vec<(u32, Slot)>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(declared: &'a Declarations, window: usize) -> Result<Self, Error> {
        let mut config = Config::new(window);
        config.rule = declared.rule;
        // A window that is full of segments before it is full of kernels makes a policy wait for the device where it has no reason to:
        // room for as many as the kernels of the longest run of `window` have, where that can be had.
        let segments: Vec<usize> =
            declared.kernels.iter().map(|(reads, writes)| reads.len() + writes.len()).collect();
        let most = segments.windows(window.min(segments.len()).max(1)).map(|w| w.iter().sum::<usize>()).max();
        config.spill = most.unwrap_or(0).clamp(config.spill, MOST_SPILLED);
        let mut engine = Engine::with_config(&config)?;
        for region in &declared.regions {
            engine.declare_at(region.start * 4, region.len() * 4)?;
        }
        Ok(Self { engine, declared, kernels: vec![0; window], upstream: Vec::with_capacity(window) })
    }

    /// Puts the next kernel in; `None` where retirements must come first.
    pub(super) fn insert(&mut self, k: u32) -> Result<Option<Slot>, Error> {
        let inserted = self.insert_without_order(k);
        self.upstream.sort_unstable();
        inserted
    }

    /// The same, and what it waits for is in no order.
    pub(super) fn insert_without_order(&mut self, k: u32) -> Result<Option<Slot>, Error> {
        let (reads, writes) = &self.declared.kernels[k as usize];
        self.upstream.clear();
        let empty = self.engine.is_empty();
        match self.engine.insert(reads, writes) {
            Ok(inserted) => {
                let slot = inserted.slot;
                self.upstream.extend(inserted.upstream.iter().map(|s| (self.kernels[s.index()], s)));
                self.kernels[slot.index()] = k;
                Ok(Some(slot))
            }
            Err(Error::Full { .. } | Error::SpillFull { .. } | Error::EdgesFull { .. }) if !empty => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes a kernel out, which is done; calls `freed` with the kernels and slots that now wait for nothing. `false` where a kernel
    /// that it waits for is still in.
    pub(super) fn retire(&mut self, slot: Slot, mut freed: impl FnMut(u32, Slot)) -> Result<bool, Error> {
        match self.engine.retire(slot) {
            Ok(slots) => {
                slots.iter().for_each(|s| freed(self.kernels[s.index()], s));
                Ok(true)
            }
            Err(Error::NotReady { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.engine.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ktrace::{Kernel, KernelType, Segment};
    use crate::run::Work;

    /// As many as the engine tells apart; with one more, all are one.
    #[test]
    fn regions_are_told_apart_as_far_as_the_engine_can() {
        for (words, regions) in [(MAX_REGIONS, MAX_REGIONS), (MAX_REGIONS + 1, 1)] {
            let kernel = Kernel {
                index: 0,
                name: "k".into(),
                op: String::new(),
                kind: KernelType::Simt,
                grid: [1, 1, 1],
                block: [32, 1, 1],
                smem: 0,
                regs: None,
                flops: 0,
                traffic: None,
                mnk: None,
                reads: Vec::new(),
                writes: (0..words as u64).map(|n| Segment { addr: 4096 + 8 * n, bytes: 4 }).collect(),
                dur_ns: None,
                stream: 0,
                part: None,
                est: Vec::new(),
            };
            let program = Program::new("apart", &[&[kernel]], &[Work::default()], 1).unwrap();
            assert_eq!(Declarations::new(&program).regions.len(), regions);
        }
    }
}
