//! A kernel stream with its exact dependencies, as the simulations need it.

use super::SimError;
use std::ops::Range;
use windlass_runtime::graph::{DependencyGraph, Rule};
use windlass_runtime::host::HazardRule;
use windlass_runtime::ktrace::{Kernel, Trace};

/// The kernels of a trace in program order, cut into sections between which the host waits.
#[derive(Clone, Debug)]
pub struct Stream {
    name: String,
    kernels: Vec<Kernel>,
    sections: Vec<Range<usize>>,
    upstream: Vec<Vec<u32>>,
}

impl Stream {
    /// All runs of a trace. A new run and a `sync` event begin a new section.
    pub fn new(trace: &Trace) -> Result<Self, SimError> {
        let parts = trace.runs.iter().flat_map(|run| run.parts());
        let parts = parts.map(|part| part.into_iter().cloned().collect()).collect();
        Self::from_sections(&trace.header.name, parts)
    }

    /// A stream of these sections; empty ones are left out.
    pub fn from_sections(name: &str, parts: Vec<Vec<Kernel>>) -> Result<Self, SimError> {
        let mut kernels: Vec<Kernel> = Vec::new();
        let mut sections = Vec::new();
        for part in parts {
            if !part.is_empty() {
                sections.push(kernels.len()..kernels.len() + part.len());
                kernels.extend(part);
            }
        }
        let mut stream = Self { name: name.into(), kernels, sections, upstream: Vec::new() };
        stream.upstream = stream.upstream_by(HazardRule::Exact)?;
        Ok(stream)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All kernels; their positions here are what reports and errors count in.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The sections, in order: ranges of positions.
    pub fn sections(&self) -> &[Range<usize>] {
        &self.sections
    }

    /// The earlier kernels of the section with which kernel `k` has a hazard, ascending: exact, whatever a host says.
    pub fn upstream(&self, k: usize) -> &[u32] {
        self.upstream.get(k).map_or(&[], Vec::as_slice)
    }

    /// As [`Self::upstream`] of every kernel, as a host finds it that uses `rule`.
    pub fn upstream_by(&self, rule: HazardRule) -> Result<Vec<Vec<u32>>, SimError> {
        let rule = match rule {
            HazardRule::Exact => Rule::All,
            HazardRule::StrictAlgorithm1 => Rule::StrictAlgorithm1,
        };
        if u32::try_from(self.kernels.len()).is_err() {
            return Err(SimError::TooManyKernels { kernels: self.kernels.len() });
        }
        let mut upstream = Vec::with_capacity(self.kernels.len());
        for section in &self.sections {
            let kernels: Vec<&Kernel> = self.kernels[section.clone()].iter().collect();
            let graph = DependencyGraph::build_with(&kernels, rule)
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
