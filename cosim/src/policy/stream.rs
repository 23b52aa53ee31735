//! A kernel stream with its exact dependencies, as the simulations need it.

use super::SimError;
use std::borrow::Cow;
use std::ops::Range;
use windlass_runtime::graph::{Reduction, Rule};
use windlass_runtime::host::HazardRule;
use windlass_runtime::ktrace::{ADDRESS_LIMIT, Kernel, PARTITIONS, Segment, Trace};
use windlass_runtime::rename::RenameReport;

/// Relocated traces begin on a page, with the offset in it that they had: alignments stay what they were.
const PAGE: u64 = 4096;

/// The kernels of a trace in program order, cut into sections between which the host waits.
#[derive(Clone, Debug)]
pub struct Stream {
    name: String,
    kernels: Vec<Kernel>,
    sections: Vec<Range<usize>>,
    upstream: Vec<Vec<u32>>,
    /// Names of the traces that it is made of; one where they do not run side by side.
    traces: Vec<String>,
    /// The trace of each kernel; empty where there is one.
    origins: Vec<usize>,
    /// What was renamed in each trace before; empty where nothing was.
    renaming: Vec<RenameReport>,
}

fn check_partition(partition: u8) -> Result<(), SimError> {
    let (option, got) = ("partition", usize::from(partition));
    let error = SimError::Option { option, got, remedy: "choose 0 to 7" };
    if partition < PARTITIONS { Ok(()) } else { Err(error) }
}

impl Stream {
    /// All runs of a trace. A new run and a `sync` event begin a new section.
    pub fn new(trace: &Trace) -> Result<Self, SimError> {
        Self::from_sections(&trace.header.name, sections(trace))
    }

    /// Several traces at once, each with the SM partition that its CTAs may use, whatever partition its kernels name.
    ///
    /// Kernels alternate between the traces that have some left, in program order of each. One host thread drives all of them:
    /// the k-th sections of all make up the k-th section here, so that its k-th wait is for every trace. Each trace after the
    /// first moves behind the memory of those before it, so that hazards are those within each trace.
    ///
    /// # Errors
    /// A partition that does not exist, memory that reaches past [`ADDRESS_LIMIT`], too many kernels.
    pub fn side_by_side(traces: &[(&Trace, u8)]) -> Result<Self, SimError> {
        // Of each kernel its place in its own section, and its trace.
        let mut merged: Vec<Vec<(usize, usize, Kernel)>> = Vec::new();
        let mut free = 0; // one past the last address that the traces before use
        for (origin, (trace, partition)) in traces.iter().enumerate() {
            check_partition(*partition)?;
            let memory = Relocation::new(trace, free, origin > 0)?;
            free = memory.end;
            for (k, section) in sections(trace).into_iter().enumerate() {
                if merged.len() == k {
                    merged.push(Vec::new());
                }
                merged[k].extend(section.into_iter().enumerate().map(|(place, mut kernel)| {
                    kernel.part = Some(*partition);
                    kernel.reads.iter_mut().chain(&mut kernel.writes).for_each(|s| memory.relocate(s));
                    (place, origin, kernel)
                }));
            }
        }
        merged.iter_mut().for_each(|section| section.sort_by_key(|(place, origin, _)| (*place, *origin)));
        let origins = merged.iter().flatten().map(|(_, origin, _)| *origin).collect();
        let parts = merged.into_iter().map(|s| s.into_iter().map(|(.., kernel)| kernel).collect()).collect();
        let names: Vec<String> = traces.iter().map(|(trace, _)| trace.header.name.clone()).collect();
        Ok(Self { traces: names.clone(), origins, ..Self::from_sections(&names.join(" + "), parts)? })
    }

    /// A stream of these sections; empty ones are left out.
    pub fn from_sections(name: &str, parts: Vec<Vec<Kernel>>) -> Result<Self, SimError> {
        parts.iter().flatten().filter_map(|kernel| kernel.part).try_for_each(check_partition)?;
        let mut kernels: Vec<Kernel> = Vec::new();
        let mut sections = Vec::new();
        for part in parts {
            if !part.is_empty() {
                sections.push(kernels.len()..kernels.len() + part.len());
                kernels.extend(part);
            }
        }
        let mut stream = Self {
            name: name.into(),
            kernels,
            sections,
            upstream: Vec::new(),
            traces: vec![name.into()],
            origins: Vec::new(),
            renaming: Vec::new(),
        };
        stream.upstream = stream.find_upstream(Rule::All)?;
        Ok(stream)
    }

    /// Keeps for reports what was renamed in each of its traces, in their order, before they became this stream.
    pub fn with_renaming(self, renaming: Vec<RenameReport>) -> Self {
        Self { renaming, ..self }
    }

    /// What was renamed in each of its traces; empty where nothing was.
    pub fn renaming(&self) -> &[RenameReport] {
        &self.renaming
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All kernels; their positions here are what reports and errors count in.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The names of the traces that run side by side in it, in the order given; else its own name alone.
    pub fn traces(&self) -> &[String] {
        &self.traces
    }

    /// The trace that kernel `k` is from, as a position in [`Self::traces`]; 0 where no traces run side by side.
    pub fn origin(&self, k: usize) -> usize {
        self.origins.get(k).copied().unwrap_or(0)
    }

    /// The sections, in order: ranges of positions.
    pub fn sections(&self) -> &[Range<usize>] {
        &self.sections
    }

    /// The earlier kernels of the section that kernel `k` must wait for, ascending: of those with which it has a hazard the ones that none
    /// of the others waits for. Exact, whatever a host says.
    pub fn upstream(&self, k: usize) -> &[u32] {
        self.upstream.get(k).map_or(&[], Vec::as_slice)
    }

    /// As [`Self::upstream`] of every kernel, as a host finds it that uses `rule`.
    pub fn upstream_by(&self, rule: HazardRule) -> Result<Cow<'_, [Vec<u32>]>, SimError> {
        Ok(match rule {
            HazardRule::Exact => Cow::Borrowed(&self.upstream),
            HazardRule::StrictAlgorithm1 => Cow::Owned(self.find_upstream(Rule::StrictAlgorithm1)?),
        })
    }

    /// Linear in memory where pairs with hazards are not.
    fn find_upstream(&self, rule: Rule) -> Result<Vec<Vec<u32>>, SimError> {
        if u32::try_from(self.kernels.len()).is_err() {
            return Err(SimError::TooManyKernels { kernels: self.kernels.len() });
        }
        let mut upstream = Vec::with_capacity(self.kernels.len());
        for section in &self.sections {
            let kernels: Vec<&Kernel> = self.kernels[section.clone()].iter().collect();
            let Reduction { graph, .. } = Reduction::build(&kernels, rule)
                .map_err(|error| SimError::TooManyKernels { kernels: error.kernels })?;
            let first = section.start as u32;
            upstream.extend(graph.iter().map(|(_, up)| up.iter().map(|u| first + u).collect()));
        }
        Ok(upstream)
    }

    /// A kernel in an error or a timeline: position and name.
    pub fn label(&self, k: usize) -> String {
        format!("{k} `{}`", self.kernels.get(k).map_or("?", |kernel| kernel.name.as_str()))
    }
}

/// The kernels of a trace, cut where the host waits; a new run is such a place.
fn sections(trace: &Trace) -> Vec<Vec<Kernel>> {
    let parts = trace.runs.iter().flat_map(|run| run.parts());
    parts.map(|part| part.into_iter().cloned().collect()).collect()
}

/// Where a trace's memory goes.
struct Relocation {
    /// Its first address, before and after.
    from: u64,
    to: u64,
    /// One past its last address, after.
    end: u64,
}

impl Relocation {
    /// Behind `free`, or where it is.
    fn new(trace: &Trace, free: u64, moves: bool) -> Result<Self, SimError> {
        let segments = || trace.kernels().flat_map(|k| k.reads.iter().chain(&k.writes));
        let from = segments().map(|s| s.addr).min().unwrap_or(0);
        let bytes = segments().map(|s| s.end()).max().unwrap_or(0) - from;
        let to = if moves { free.next_multiple_of(PAGE) + from % PAGE } else { from };
        match to.checked_add(bytes) {
            Some(end) if end <= ADDRESS_LIMIT => Ok(Self { from, to, end }),
            _ => Err(SimError::PastAddressLimit { trace: trace.header.name.clone(), bytes, addr: to }),
        }
    }

    fn relocate(&self, segment: &mut Segment) {
        segment.addr = segment.addr - self.from + self.to;
    }
}
