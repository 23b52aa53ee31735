//! Launches as kernels of a stream, and what is to be doubted of them.

use super::error::{Collected, Problem, Warning};
use super::kernel::Recorded;
use crate::{Counts, sorted};
use cpp_demangle::{DemangleOptions, Symbol};
use windlass_runtime::ktrace::{ADDRESS_LIMIT, Kernel, KernelType, Segment};

/// The most registers that a thread of any GPU so far has.
const MAX_REGISTERS: u64 = 255;

/// A launch and what came of it, its ranges as segments, of which there are few.
pub(super) struct Launch {
    recorded: Recorded,
    pub(super) stream: u64,
    reads: Vec<Segment>,
    writes: Vec<Segment>,
    /// Bytes that are touched, where the segments have more.
    touched: Option<u64>,
    /// There may be more of them.
    unsure: bool,
}

impl Launch {
    pub(super) fn new(mut recorded: Recorded, most: usize) -> Self {
        let (mut reads, mut writes) =
            (std::mem::take(&mut recorded.work.reads), std::mem::take(&mut recorded.work.writes));
        let touched = reads.bytes().saturating_add(writes.bytes());
        let unsure = reads.is_coarse() || writes.is_coarse();
        let (writes, untouched) = writes.segments(most);
        if untouched > 0 {
            // What lies between keeps its value: it is read, too.
            writes.iter().for_each(|segment| reads.add(segment.addr, segment.bytes));
        }
        let (reads, also_untouched) = reads.segments(most);
        let touched = (untouched + also_untouched > 0).then_some(touched);
        Self { stream: recorded.stream, recorded, reads, writes, touched, unsure }
    }

    /// Whether a trace can hold its segments.
    pub(super) fn check(&self, file: &str, errors: &mut Collected) {
        let mut segments = self.reads.iter().chain(&self.writes);
        if let Some(segment) = segments.find(|segment| segment.end() > ADDRESS_LIMIT) {
            errors.push(file, 0, Problem::PastAddressLimit { address: segment.end() - 1 });
        }
    }

    pub(super) fn kernel(self, index: u64, stream: u32, doubts: &mut Doubts) -> Kernel {
        let Self { recorded, reads, writes, touched, unsure, .. } = self;
        let work = recorded.work;
        let name = demangled(&recorded.name);
        let regs =
            u32::try_from(recorded.regs).ok().filter(|regs| (1..=MAX_REGISTERS).contains(&u64::from(*regs)));
        let ctas: u64 = recorded.grid.iter().map(|size| u64::from(*size)).product();
        let cut = recorded.ctas < ctas;
        let mut est: Vec<&str> = Vec::new();
        if cut
            || touched.is_some()
            || ![&work.unknown, &work.nowhere, &work.textures].iter().all(|counts| counts.is_empty())
        {
            est.extend(["r", "w"]);
        }
        if unsure {
            est.push("bytes");
        }
        if cut || !work.unsized_tensor.is_empty() {
            est.push("flops");
        }
        doubts.capabilities.push(recorded.capability);
        doubts.cut.note(cut, &name);
        doubts.coarse.note(touched.is_some(), &name);
        doubts.registers.note(regs.is_none(), &name);
        add(&mut doubts.unknown, work.unknown);
        add(&mut doubts.nowhere, work.nowhere);
        add(&mut doubts.textures, work.textures);
        add(&mut doubts.unsized_tensor, work.unsized_tensor);
        Kernel {
            index,
            op: function(&name).to_owned(),
            kind: if work.tensor { KernelType::Tensor } else { KernelType::Simt },
            grid: recorded.grid,
            block: recorded.block,
            smem: recorded.smem,
            regs,
            flops: work.flops,
            mnk: None,
            reads,
            writes,
            traffic: touched,
            dur_ns: None,
            stream,
            part: None,
            est: est.into_iter().map(str::to_owned).collect(),
            name,
        }
    }
}

/// A copy from the host, by the rule for kernels that move elements: 512 of 4 bytes per CTA of 128 threads.
pub(super) fn copy(index: u64, addr: u64, bytes: u64) -> Kernel {
    let ctas = bytes.div_ceil(512 * 4).clamp(1, u32::MAX.into());
    Kernel {
        index,
        name: "cuMemcpyHtoD".into(),
        op: "copy".into(),
        kind: KernelType::Copy,
        grid: [ctas as u32, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        regs: None,
        flops: 0,
        mnk: None,
        reads: Vec::new(),
        writes: vec![Segment { addr, bytes }],
        traffic: None,
        dur_ns: None,
        stream: 0,
        part: None,
        est: vec!["grid".into(), "block".into()],
    }
}

/// A name of C++ as its source has it, without parameters; any other as it is.
fn demangled(name: &str) -> String {
    let options = DemangleOptions::new().no_params().no_return_type();
    let demangled = Symbol::new(name).ok().and_then(|symbol| symbol.demangle_with_options(&options).ok());
    demangled.unwrap_or_else(|| name.to_owned())
}

/// The function's own name: without namespaces and template arguments.
fn function(name: &str) -> &str {
    let plain = name.split('<').next().unwrap_or(name);
    let own = plain.rsplit("::").next().unwrap_or(plain);
    if own.is_empty() { name } else { own }
}

/// How many kernels, and the first of them.
#[derive(Default)]
pub(super) struct Such(Option<(String, u64)>);

impl Such {
    fn note(&mut self, is_one: bool, name: &str) {
        if is_one {
            self.0.get_or_insert_with(|| (name.to_owned(), 0)).1 += 1;
        }
    }
}

/// What is to be doubted of all kernels together.
#[derive(Default)]
pub(super) struct Doubts {
    /// Lines of the list that are not known.
    commands: Counts,
    capabilities: Vec<u32>,
    cut: Such,
    coarse: Such,
    registers: Such,
    unknown: Counts,
    nowhere: Counts,
    textures: Counts,
    unsized_tensor: Counts,
}

impl Doubts {
    /// With the lines of the list that are not known.
    pub(super) fn new(commands: Counts) -> Self {
        Self { commands, ..Self::default() }
    }

    /// That of all kernels, where they have the same.
    pub(super) fn capability(&self) -> Option<u32> {
        let first = *self.capabilities.first().filter(|first| **first > 0)?;
        self.capabilities.iter().all(|capability| *capability == first).then_some(first)
    }

    pub(super) fn warnings(self, segments: usize) -> Vec<Warning> {
        let mut warnings = Vec::new();
        warnings.extend(self.cut.0.map(|(name, kernels)| Warning::MissingCtas { name, kernels }));
        warnings.extend(self.coarse.0.map(|(name, kernels)| Warning::Coarse { name, kernels, segments }));
        warnings.extend(self.registers.0.map(|(name, kernels)| Warning::Registers { name, kernels }));
        let counts: [(fn(_) -> _, _); 5] = [
            (Warning::UnknownInstructions, self.unknown),
            (Warning::NoAddresses, self.nowhere),
            (Warning::Textures, self.textures),
            (Warning::UnsizedProducts, self.unsized_tensor),
            (Warning::UnknownCommands, self.commands),
        ];
        warnings.extend(counts.into_iter().filter(|(_, c)| !c.is_empty()).map(|(kind, c)| kind(sorted(c))));
        warnings
    }
}

fn add(all: &mut Counts, more: Counts) {
    for (name, count) in more {
        *all.entry(name).or_default() += count;
    }
}
