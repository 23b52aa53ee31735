//! From thunks to the kernels of one execution, with loops unrolled.

use super::Options;
use super::buffers::Buffers;
use super::error::{Collected, Problem, Warning, XlaErrors};
use super::flops::{self, Counter};
use super::hlo::{self, Hlo, Instruction};
use super::thunks::{Group, Launch, Thunk};
use std::collections::{HashMap, HashSet};
use windlass_runtime::ktrace::{Event, Kernel, KernelType, Segment};

/// Kernels of one import, and waits of the host; more would take gigabytes.
pub const MAX_EVENTS: u64 = 1 << 18;

/// Threads per CTA of a launch that the dump does not have.
const BLOCK: u32 = 128;

/// Bytes that a CTA of such a launch writes: 16 per thread.
const CTA_BYTES: u64 = 16 * BLOCK as u64;

/// Rows and columns that a CTA of a library's matrix product computes, where nobody knows.
const TILE: u64 = 64;

/// Elements that a transposing kernel stages in shared memory: a tile of 32 x 32, its rows one longer than the banks.
const TRANSPOSE_TILE: u64 = 32 * 33;

/// A piece of the stream.
enum Step {
    Kernel(Box<Kernel>),
    Wait(String),
    /// Condition and body by turns, and the condition once more; a loop that just counts has no condition.
    Loop {
        condition: Vec<Step>,
        body: Vec<Step>,
        rounds: u64,
    },
}

impl Step {
    fn events(steps: &[Self]) -> u64 {
        let one = |step: &Self| match step {
            Self::Loop { condition, body, rounds } => {
                let conditions = Self::events(condition).saturating_mul(rounds.saturating_add(1));
                Self::events(body).saturating_mul(*rounds).saturating_add(conditions)
            }
            Self::Kernel(_) | Self::Wait(_) => 1,
        };
        steps.iter().map(one).fold(0, u64::saturating_add)
    }

    fn unroll(steps: &[Self], events: &mut Vec<Event>, kernels: &mut u64) {
        for step in steps {
            match step {
                Self::Loop { condition, body, rounds } => {
                    for _ in 0..*rounds {
                        Self::unroll(condition, events, kernels);
                        Self::unroll(body, events, kernels);
                    }
                    Self::unroll(condition, events, kernels);
                }
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
        "kGemm" | "kCublasLtMatmul" | "kConvolution" | "kCuDnn" => Kind::Library(KernelType::Tensor),
        "kCholesky"
        | "kTriangularSolve"
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

/// What was read of a module, but for its thunks.
#[derive(Clone, Copy)]
pub(super) struct Dump<'h, 'a> {
    /// The thunk sequence's, for errors.
    pub(super) file: &'h str,
    /// Instructions by thunk id.
    pub(super) names: &'h HashMap<u64, String>,
    pub(super) hlo: &'h Hlo<'a>,
    /// Its file, for errors.
    pub(super) hlo_file: &'h str,
    pub(super) buffers: &'h Buffers,
    /// Bytes of static shared memory by kernel, where there is PTX.
    pub(super) shared: &'h HashMap<&'h str, u64>,
}

impl Dump<'_, '_> {
    /// The events of one execution of these thunks, and how many of them are kernels.
    pub(super) fn events(
        self,
        thunks: &[Thunk],
        options: &Options,
        warnings: &mut Vec<Warning>,
    ) -> Result<(Vec<Event>, u64), XlaErrors> {
        let counter = Counter::new(self.hlo);
        let errors = Collected::default();
        let mut stream = Stream { dump: self, options, counter, graph: false, errors, warnings };
        let steps = stream.steps(thunks);
        let kernels = Step::events(&steps);
        if kernels > MAX_EVENTS {
            stream.errors.push(self.file, 0, Problem::TooManyKernels { kernels, limit: MAX_EVENTS });
        }
        stream.errors.result()?;
        let (mut events, mut kernels) = (Vec::new(), 0);
        Step::unroll(&steps, &mut events, &mut kernels);
        Ok((events, kernels))
    }
}

struct Stream<'h, 'a> {
    dump: Dump<'h, 'a>,
    options: &'h Options,
    counter: Counter<'h, 'a>,
    /// Within a command buffer, where the GPU itself decides: the host does not wait.
    graph: bool,
    errors: Collected,
    warnings: &'h mut Vec<Warning>,
}

impl<'a> Stream<'_, 'a> {
    fn steps(&mut self, thunks: &[Thunk]) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut before = HashSet::new();
        for thunk in thunks {
            let first = steps.len();
            self.thunk(thunk, &mut steps);
            let again = thunk.groups.is_empty() && !before.insert(self.name(thunk));
            if again && let Some(Step::Kernel(kernel)) = steps.get_mut(first) {
                // Of several launches for one instruction, such as the rounds of a sort, each goes on with what those before it wrote.
                kernel.reads.extend(&kernel.writes);
                kernel.reads.sort_unstable();
                kernel.reads.dedup();
            }
        }
        steps
    }

    /// The instruction's name, or where the metadata has none, what can be said of the thunk.
    fn name(&self, thunk: &Thunk) -> String {
        self.dump.names.get(&thunk.id).cloned().unwrap_or_else(|| format!("{}.{}", thunk.kind, thunk.id))
    }

    fn thunk(&mut self, thunk: &Thunk, steps: &mut Vec<Step>) {
        match thunk.kind.as_str() {
            "kWhile" => self.repeat(thunk, steps),
            "kConditional" => self.branch(thunk, steps),
            _ if !thunk.groups.is_empty() => {
                let outside = self.graph;
                self.graph |= thunk.kind == "kCommandBuffer";
                thunk.groups.iter().for_each(|group| steps.extend(self.steps(&group.thunks)));
                self.graph = outside;
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
            self.errors.line(self.dump.file, thunk.line, &thunk.kind, "a loop with its `body:` below");
            return;
        };
        let body = self.steps(&body.thunks);
        // Without it nobody knows whether there is a trip count.
        let Some(instruction) = self.dump.hlo.get(&name) else {
            let problem = Problem::NotInHlo { name, file: self.dump.hlo_file.to_owned() };
            self.errors.push(self.dump.file, thunk.line, problem);
            return;
        };
        let (condition, rounds) = match (instruction.trip_count(), self.options.trip_count) {
            (Some(known), _) => {
                let rounds = known.min(self.options.max_trip_count.unwrap_or(u64::MAX));
                if rounds < known {
                    self.warnings.push(Warning::CutTrips { name, known, trips: rounds });
                }
                (Vec::new(), rounds)
            }
            (None, Some(trips)) => {
                let mut condition =
                    group("condition").map_or_else(Vec::new, |group| self.steps(&group.thunks));
                condition.extend(self.wait(format!("whether {name} goes on")));
                self.warnings.push(Warning::AssumedTrips { name, trips });
                (condition, trips)
            }
            (None, None) => {
                self.errors.push(self.dump.file, thunk.line, Problem::NoTripCount { name });
                return;
            }
        };
        // Rounds of nothing could be very many.
        if Step::events(&condition).max(Step::events(&body)) > 0 {
            steps.push(Step::Loop { condition, body, rounds });
        }
    }

    fn wait(&self, why: String) -> Option<Step> {
        (!self.graph).then_some(Step::Wait(why))
    }

    fn branch(&mut self, thunk: &Thunk, steps: &mut Vec<Step>) {
        let name = self.name(thunk);
        steps.extend(self.wait(format!("which branch {name} takes")));
        let branches = thunk.groups.iter().map(|Group { thunks, .. }| self.steps(thunks)).collect::<Vec<_>>();
        self.warnings.push(Warning::Branch { name, branches: branches.len() });
        // The first of those that are equally long.
        let longest = branches.into_iter().rev().max_by_key(|steps| Step::events(steps));
        steps.extend(longest.unwrap_or_default());
    }

    fn leaf(&mut self, thunk: &Thunk) -> Option<Step> {
        let name = self.name(thunk);
        let instruction = self.dump.hlo.get(&name).cloned();
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
                kernel.kind = KernelType::Simt;
                self.shared(launch, instruction.as_ref(), &mut kernel);
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

    /// Shared memory: what the launch gives, and what the kernel declares.
    fn shared(&self, launch: &Launch, fusion: Option<&Instruction<'a>>, kernel: &mut Kernel) {
        let dynamic = launch.smem.unwrap_or(0);
        if let Some(declared) = self.dump.shared.get(launch.name.as_str()) {
            kernel.smem = dynamic.saturating_add(*declared);
            return;
        }
        kernel.smem = dynamic;
        // Of the kernels that XLA writes itself, those that transpose or reduce across threads declare some.
        let fusion = fusion.filter(|fusion| fusion.attributes.contains("kind=kInput"));
        let staged = fusion.and_then(|fusion| self.staged(fusion));
        if let Some(root) = staged.filter(|root| root.opcode == "transpose" && dynamic == 0) {
            kernel.smem = hlo::element_bytes(root.shape).saturating_mul(TRANSPOSE_TILE);
        }
        if staged.is_some() || launch.smem.is_none() {
            kernel.est.push("smem".to_owned());
        }
    }

    /// What a fusion stages in shared memory: the transpose that XLA has named it after, or a reduction that it ends with.
    fn staged(&self, fusion: &Instruction<'a>) -> Option<&Instruction<'a>> {
        let hlo = self.dump.hlo;
        if fusion.name.contains("transpose") {
            return hlo.computation(fusion.called("calls")?).find(|inside| inside.opcode == "transpose");
        }
        hlo.roots(fusion).find(|root| root.opcode == "reduce")
    }

    /// A kernel with a matrix product or a convolution in it uses matrix units.
    fn product(&self, instruction: &Instruction<'a>, kernel: &mut Kernel) {
        let inside: Vec<&Instruction<'a>> = match instruction.called("calls") {
            Some(computation) => self.dump.hlo.computation(computation).collect(),
            None => vec![instruction],
        };
        let dots: Vec<_> = inside.iter().filter(|i| i.opcode == "dot").collect();
        if !dots.is_empty() || inside.iter().any(|i| i.opcode == "convolution") {
            kernel.kind = KernelType::Tensor;
        }
        if let [dot] = dots[..] {
            kernel.mnk = flops::dot(self.dump.hlo, dot);
        }
    }

    /// What can be said of a call of a library: it chooses its kernels as it runs.
    fn library(&self, instruction: Option<&Instruction<'a>>, kernel: &mut Kernel) {
        kernel.est.push("smem".to_owned());
        let target = instruction.and_then(Instruction::custom_call_target).unwrap_or_default();
        if let Some(instruction) = instruction.filter(|_| target.starts_with("__cublas$"))
            && let Some(mnk @ [m, n, _, batch]) = flops::gemm(self.dump.hlo, instruction)
        {
            kernel.kind = KernelType::Tensor;
            kernel.mnk = Some(mnk);
            kernel.flops = mnk.iter().fold(2, |flops, n| flops.saturating_mul(*n));
            kernel.grid = [ctas(m.div_ceil(TILE)), ctas(n.div_ceil(TILE)), ctas(batch)];
        } else if let Some(instruction) = instruction.filter(|_| convolves(target))
            && let Some(flops) = flops::convolution(self.dump.hlo, instruction)
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
            if let Some(segments) = self.dump.buffers.of(name) {
                return Some(segments);
            }
            let shape = self.dump.hlo.shape(name)?;
            // Tokens and empty tuples have no memory.
            matches!(shape, "token[]" | "()").then(Vec::new)
        };
        let both = instruction.and_then(|instruction| {
            let reads: Option<Vec<_>> = instruction.operands.iter().map(|name| known(name)).collect();
            Some((reads?.concat(), known(name)?))
        });
        let Some((mut reads, mut writes)) = both else {
            self.unknown_memory(name);
            return (vec![self.dump.buffers.span], vec![self.dump.buffers.span]);
        };
        for segments in [&mut reads, &mut writes] {
            segments.retain(|segment| segment.bytes > 0);
            segments.sort_unstable();
            segments.dedup();
        }
        (reads, writes)
    }

    fn unknown_kind(&mut self, kind: &str, waits_here: bool) {
        for warning in self.warnings.iter_mut() {
            if let Warning::UnknownKind { kind: known, thunks, waits } = warning
                && known == kind
            {
                *thunks += 1;
                *waits |= waits_here;
                return;
            }
        }
        self.warnings.push(Warning::UnknownKind { kind: kind.to_owned(), thunks: 1, waits: waits_here });
    }

    fn unknown_memory(&mut self, name: &str) {
        for warning in self.warnings.iter_mut() {
            if let Warning::UnknownMemory { thunks, .. } = warning {
                *thunks += 1;
                return;
            }
        }
        self.warnings.push(Warning::UnknownMemory { name: name.to_owned(), thunks: 1 });
    }
}

/// Whether a call of cuDNN is a forward convolution: `__cudnn$convForward`, or one with a bias and an activation, `..$convBiasActivationForward`.
fn convolves(target: &str) -> bool {
    target.strip_prefix("__cudnn$conv").is_some_and(|kind| kind.contains("Forward"))
}

/// A grid dimension.
fn ctas(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX).max(1)
}
