//! From thunks to the kernels of one execution, with loops unrolled.

use super::Options;
use super::buffers::Buffers;
use super::error::{Collected, XlaErrors, XlaProblem, XlaWarning};
use super::flops::{self, Counter};
use super::hlo::{Hlo, Instruction};
use super::thunks::{Group, Thunk};
use std::collections::HashMap;
use windlass_runtime::ktrace::{Event, Kernel, KernelType, Segment};

/// Kernels of one import, and waits of the host; more would take gigabytes.
pub const MAX_EVENTS: u64 = 1 << 18;

/// Threads per CTA of a launch that the dump does not have.
const BLOCK: u32 = 128;

/// Bytes that a CTA of such a launch writes: 16 per thread.
const CTA_BYTES: u64 = 16 * BLOCK as u64;

/// Rows and columns that a CTA of a library's matrix product computes, where nobody knows.
const TILE: u64 = 64;

/// A piece of the stream.
enum Step {
    Kernel(Box<Kernel>),
    Wait(String),
    Loop { steps: Vec<Step>, rounds: u64 },
}

impl Step {
    fn events(steps: &[Self]) -> u64 {
        let one = |step: &Self| match step {
            Self::Loop { steps, rounds } => Self::events(steps).saturating_mul(*rounds),
            Self::Kernel(_) | Self::Wait(_) => 1,
        };
        steps.iter().map(one).fold(0, u64::saturating_add)
    }

    fn unroll(steps: &[Self], events: &mut Vec<Event>, kernels: &mut u64) {
        for step in steps {
            match step {
                // Rounds of nothing could be very many.
                Self::Loop { steps, rounds } if Self::events(steps) > 0 => {
                    (0..*rounds).for_each(|_| Self::unroll(steps, events, kernels));
                }
                Self::Loop { .. } => {}
                Self::Wait(why) => events.push(Event::Sync { why: why.clone() }),
                Self::Kernel(kernel) => {
                    let mut kernel = Kernel::clone(kernel);
                    kernel.index = *kernels;
                    *kernels += 1;
                    events.push(Event::Kernel(kernel));
                }
            }
        }
    }
}

/// What a kind of thunk is, that has neither a launch of its own nor thunks inside.
enum Kind {
    /// Moves memory.
    Move,
    /// Fills memory.
    Fill,
    /// One call of a library.
    Library(KernelType),
    /// Nothing is launched: what a `..Start` has begun, in stream order, is over.
    Done,
    Unknown,
}

fn kind(name: &str) -> Kind {
    match name {
        "kMemzero" | "kMemset32BitValue" => Kind::Fill,
        "kGemm" | "kCublasLtMatmul" | "kConvolution" | "kCuDnn" | "kCholesky" => {
            Kind::Library(KernelType::Tensor)
        }
        "kTriangularSolve"
        | "kFft"
        | "kNorm"
        | "kCubSort"
        | "kCustomCall"
        | "kSelectK"
        | "kConvolutionReorder" => Kind::Library(KernelType::Simt),
        "kWaitForStreams" => Kind::Done,
        _ if name.ends_with("Done") => Kind::Done,
        _ if name.ends_with("Copy") || name.contains("emcpy") => Kind::Move,
        _ => Kind::Unknown,
    }
}

pub(super) struct Stream<'h, 'a> {
    options: &'h Options,
    hlo: &'h Hlo<'a>,
    buffers: &'h Buffers,
    names: &'h HashMap<u64, String>,
    file: &'h str,
    counter: Counter<'h, 'a>,
    errors: Collected,
    warnings: &'h mut Vec<XlaWarning>,
}

impl<'h, 'a> Stream<'h, 'a> {
    /// The events of one execution of these thunks, and how many of them are kernels.
    pub(super) fn events(
        thunks: &[Thunk],
        file: &'h str,
        names: &'h HashMap<u64, String>,
        hlo: &'h Hlo<'a>,
        buffers: &'h Buffers,
        options: &'h Options,
        warnings: &'h mut Vec<XlaWarning>,
    ) -> Result<(Vec<Event>, u64), XlaErrors> {
        let counter = Counter::new(hlo);
        let errors = Collected::default();
        let mut stream = Self { options, hlo, buffers, names, file, counter, errors, warnings };
        let steps = stream.steps(thunks);
        let kernels = Step::events(&steps);
        if kernels > MAX_EVENTS {
            stream.errors.push(file, 0, XlaProblem::TooManyKernels { kernels, limit: MAX_EVENTS });
        }
        stream.errors.result()?;
        let (mut events, mut kernels) = (Vec::new(), 0);
        Step::unroll(&steps, &mut events, &mut kernels);
        Ok((events, kernels))
    }

    fn steps(&mut self, thunks: &[Thunk]) -> Vec<Step> {
        let mut steps = Vec::new();
        for thunk in thunks {
            self.thunk(thunk, &mut steps);
        }
        steps
    }

    /// The instruction's name, or where the metadata has none, what can be said of the thunk.
    fn name(&self, thunk: &Thunk) -> String {
        self.names.get(&thunk.id).cloned().unwrap_or_else(|| format!("{}.{}", thunk.kind, thunk.id))
    }

    fn thunk(&mut self, thunk: &Thunk, steps: &mut Vec<Step>) {
        match thunk.kind.as_str() {
            "kWhile" => self.repeat(thunk, steps),
            "kConditional" => self.branch(thunk, steps),
            _ if !thunk.groups.is_empty() => {
                thunk.groups.iter().for_each(|group| steps.extend(self.steps(&group.thunks)));
            }
            _ => steps.extend(self.leaf(thunk)),
        }
    }

    /// XLA runs a loop with a known trip count as the body that many times, without its condition. Any other it runs as condition, read by the
    /// host, and body by turns.
    fn repeat(&mut self, thunk: &Thunk, steps: &mut Vec<Step>) {
        let name = self.name(thunk);
        let group = |label: &str| thunk.groups.iter().find(|group| group.label == label);
        let Some(body) = group("body") else {
            self.errors.line(self.file, thunk.line, &thunk.kind, "a loop with its `body:` below");
            return;
        };
        let mut body = self.steps(&body.thunks);
        if let Some(known) = self.hlo.get(&name).and_then(Instruction::trip_count) {
            let rounds = known.min(self.options.max_trip_count.unwrap_or(u64::MAX));
            if rounds < known {
                self.warnings.push(XlaWarning::CutTrips { name, known, trips: rounds });
            }
            steps.push(Step::Loop { steps: body, rounds });
            return;
        }
        let Some(trips) = self.options.trip_count else {
            self.errors.push(self.file, thunk.line, XlaProblem::NoTripCount { name });
            return;
        };
        let condition = group("condition").map_or(&[][..], |group| &group.thunks);
        let condition = |stream: &mut Self| {
            let mut steps = stream.steps(condition);
            steps.push(Step::Wait(format!("whether {name} goes on")));
            steps
        };
        steps.extend(condition(self));
        body.extend(condition(self));
        steps.push(Step::Loop { steps: body, rounds: trips });
        self.warnings.push(XlaWarning::AssumedTrips { name, trips });
    }

    fn branch(&mut self, thunk: &Thunk, steps: &mut Vec<Step>) {
        let name = self.name(thunk);
        steps.push(Step::Wait(format!("which branch {name} takes")));
        let branches = thunk.groups.iter().map(|Group { thunks, .. }| self.steps(thunks)).collect::<Vec<_>>();
        self.warnings.push(XlaWarning::Branch { name, branches: branches.len() });
        // The first of those that are equally long.
        let longest = branches.into_iter().rev().max_by_key(|steps| Step::events(steps));
        steps.extend(longest.unwrap_or_default());
    }

    fn leaf(&mut self, thunk: &Thunk) -> Option<Step> {
        let name = self.name(thunk);
        let instruction = self.hlo.get(&name).cloned();
        let kind = kind(&thunk.kind);
        match (&thunk.launch, &kind) {
            (None, Kind::Done) => return None,
            (None, Kind::Unknown) => {
                self.unknown_kind(&thunk.kind, instruction.is_none());
                if instruction.is_none() {
                    return Some(Step::Wait(format!("{name}, which is not known")));
                }
            }
            _ => {}
        }
        let (mut reads, writes) = self.memory(&name, instruction.as_ref());
        match kind {
            Kind::Fill => reads.clear(),
            // It may leave some of its result as it was.
            Kind::Unknown if thunk.launch.is_none() => {
                reads.extend(&writes);
                reads.sort_unstable();
                reads.dedup();
            }
            _ => {}
        }
        let mut kernel = Kernel {
            index: 0,
            op: instruction.as_ref().map_or(thunk.kind.as_str(), |i| i.operation()).to_owned(),
            name,
            kind: KernelType::Copy,
            grid: [1; 3],
            block: [BLOCK, 1, 1],
            smem: 0,
            regs: None,
            flops: 0,
            mnk: None,
            reads,
            writes,
            traffic: None,
            dur_ns: None,
            stream: 0,
            part: None,
            est: Vec::new(),
        };
        match &thunk.launch {
            Some(launch) => {
                kernel.name.clone_from(&launch.name);
                (kernel.grid, kernel.block) = (launch.grid, launch.block);
                kernel.smem = launch.smem.unwrap_or(0);
                if launch.smem.is_none() {
                    kernel.est.push("smem".to_owned());
                }
                kernel.kind = KernelType::Simt;
                if let Some(instruction) = &instruction {
                    kernel.flops = self.counter.flops(instruction);
                    self.product(instruction, &mut kernel);
                }
            }
            None => {
                let bytes = kernel.writes.iter().fold(0, |sum: u64, s| sum.saturating_add(s.bytes));
                kernel.grid[0] = ctas(bytes.div_ceil(CTA_BYTES));
                kernel.est = ["grid", "block"].map(str::to_owned).to_vec();
                if let Kind::Library(pipe) = kind {
                    kernel.kind = pipe;
                    self.library(instruction.as_ref(), &mut kernel);
                }
            }
        }
        Some(Step::Kernel(Box::new(kernel)))
    }

    /// A kernel with a matrix product or a convolution in it uses matrix units.
    fn product(&self, instruction: &Instruction<'a>, kernel: &mut Kernel) {
        let inside: Vec<&Instruction<'a>> = match instruction.called("calls") {
            Some(computation) => self.hlo.computation(computation).collect(),
            None => vec![instruction],
        };
        let dots: Vec<_> = inside.iter().filter(|i| i.opcode == "dot").collect();
        if !dots.is_empty() || inside.iter().any(|i| i.opcode == "convolution") {
            kernel.kind = KernelType::Tensor;
        }
        if let [dot] = dots[..] {
            kernel.mnk = flops::dot(self.hlo, dot);
        }
    }

    /// What can be said of a call of a library: it chooses its kernels as it runs.
    fn library(&self, instruction: Option<&Instruction<'a>>, kernel: &mut Kernel) {
        kernel.est.push("smem".to_owned());
        let target = instruction.and_then(Instruction::custom_call_target).unwrap_or_default();
        if let Some(instruction) = instruction.filter(|_| target.starts_with("__cublas$"))
            && let Some(mnk @ [m, n, _, batch]) = flops::gemm(self.hlo, instruction)
        {
            kernel.kind = KernelType::Tensor;
            kernel.mnk = Some(mnk);
            kernel.flops = mnk.iter().fold(2, |flops, n| flops.saturating_mul(*n));
            kernel.grid = [ctas(m.div_ceil(TILE)), ctas(n.div_ceil(TILE)), ctas(batch)];
        } else if let Some(instruction) = instruction.filter(|_| target.starts_with("__cudnn$convForward"))
            && let Some(flops) = flops::convolution(self.hlo, instruction)
        {
            kernel.kind = KernelType::Tensor;
            kernel.flops = flops;
        } else {
            kernel.est.push("flops".to_owned());
        }
    }

    /// What an instruction reads and writes, each in order of addresses; everything, where that is not known.
    fn memory(&mut self, name: &str, instruction: Option<&Instruction<'a>>) -> (Vec<Segment>, Vec<Segment>) {
        let known = |name: &str| -> Option<Vec<Segment>> {
            if let Some(segments) = self.buffers.of(name) {
                return Some(segments.collect());
            }
            let shape = self.hlo.get(name)?.shape;
            // Tokens and empty tuples have no memory.
            matches!(shape, "token[]" | "()").then(Vec::new)
        };
        let both = instruction.and_then(|instruction| {
            let reads: Option<Vec<_>> = instruction.operands.iter().map(|name| known(name)).collect();
            Some((reads?.concat(), known(name)?))
        });
        let Some((mut reads, mut writes)) = both else {
            self.unknown_memory(name);
            return (vec![self.buffers.span], vec![self.buffers.span]);
        };
        for segments in [&mut reads, &mut writes] {
            segments.sort_unstable();
            segments.dedup();
        }
        (reads, writes)
    }

    fn unknown_kind(&mut self, kind: &str, waits_here: bool) {
        for warning in self.warnings.iter_mut() {
            if let XlaWarning::UnknownKind { kind: known, thunks, waits } = warning
                && known == kind
            {
                *thunks += 1;
                *waits |= waits_here;
                return;
            }
        }
        self.warnings.push(XlaWarning::UnknownKind { kind: kind.to_owned(), thunks: 1, waits: waits_here });
    }

    fn unknown_memory(&mut self, name: &str) {
        for warning in self.warnings.iter_mut() {
            if let XlaWarning::UnknownMemory { thunks, .. } = warning {
                *thunks += 1;
                return;
            }
        }
        self.warnings.push(XlaWarning::UnknownMemory { name: name.to_owned(), thunks: 1 });
    }
}

/// A grid dimension.
fn ctas(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX).max(1)
}
