//! The kernels of a profile, each with the memory of the operator that launched it.
//!
//! A profile does not say which kernel of an operator does what. So each has all of the operator's memory, and what one has written those after
//! it read, the workspaces of what the operator calls among it: no order within an operator is lost, not even where memory is renamed.

use super::Importer;
use super::et::Node;
use super::kineto::{GpuEvent, Kind, Launch, Profile};
use super::operators::{self, Accesses, Class, short};
use crate::count;
use crate::launch::{Access, Draft, Launched, Step};
use std::collections::{HashMap, HashSet};
use windlass_runtime::ktrace::KernelType;

/// What the kernels of a stream, or those so far, have written: by memory, each write with its operator, once.
#[derive(Default)]
struct Written {
    by_memory: HashMap<usize, Vec<(usize, Access)>>,
    known: HashSet<(usize, Access)>,
}

impl Written {
    fn add(&mut self, node: usize, writes: &[Access]) {
        for access in writes {
            if self.known.insert((node, *access)) {
                self.by_memory.entry(access.memory).or_default().push((node, *access));
            }
        }
    }

    fn of(&self, memory: usize) -> &[(usize, Access)] {
        self.by_memory.get(&memory).map_or(&[], Vec::as_slice)
    }
}

/// What the launches are, taken together.
struct Operators {
    /// Which operator explains each launch.
    explained: Vec<Option<usize>>,
    /// How many kernels an operator has, and which took longest.
    kernels: HashMap<usize, (usize, usize)>,
    written: Written,
    /// Memories that have not been there from the beginning, by the moment of their birth.
    born: Vec<(usize, usize)>,
}

impl Importer<'_> {
    /// The kernels that ran, each with the memory of the operator that launched it.
    pub(super) fn launched(&mut self, profile: &Profile) {
        let launches = profile.launches();
        let operators = self.operators(profile, &launches);
        let mut so_far = Written::default();
        let mut moment = 0;
        for (i, launch) in launches.into_iter().enumerate() {
            let event = match launch {
                Launch::Sync(why) => {
                    self.steps.push((moment, Step::Sync(why)));
                    continue;
                }
                Launch::Gpu(event) => event,
            };
            let mut draft = Draft::measured(&event.name);
            let node = operators.explained[i];
            if let Some(at) = node {
                // Launch order is the stream's; an operator that launches before what it calls ends after it.
                moment = moment.max(self.memories.ends[at]);
                self.explain(at, i, &operators, &mut draft);
                if event.kind == Kind::Set {
                    let begins = self.memories.begins[at];
                    let fresh =
                        |memory: usize| self.memories.all[memory].born.is_some_and(|(born, _)| born > begins);
                    draft.sets(event.bytes, fresh);
                }
                self.order(at, &so_far, &operators, profile.launched_at(&event), &mut draft);
                so_far.add(at, &draft.writes);
            } else {
                count(&mut self.unexplained, &event.name);
                draft.est.extend(["r", "w", "bytes", "flops"]);
                // How much of everything it moves is not known; its duration, where it has one, stands for that.
                draft.traffic = Some(0);
            }
            self.overlapping += u64::from(!event.alone);
            let launched = draft.ran(event, node.is_none());
            self.steps.push((moment, Step::Kernel(Box::new(launched))));
        }
    }

    fn operators(&self, profile: &Profile, launches: &[Launch]) -> Operators {
        let nodes = &self.trace.nodes;
        let by_function: HashMap<u64, usize> = nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.rf_id > 0)
            .map(|(at, node)| (node.rf_id, at))
            .collect();
        // The operator that explains it: the one that ran, or the nearest around it that has tensors.
        let explains = |launch: &Launch| -> Option<usize> {
            let Launch::Gpu(event) = launch else { return None };
            let mut at = by_function.get(&profile.record_function(event)?).copied();
            while let Some(node) = at.filter(|node| self.accesses(*node, self.device).is_empty()) {
                at = nodes[node].parent;
            }
            at
        };
        let explained: Vec<Option<usize>> = launches.iter().map(explains).collect();
        let mut kernels: HashMap<usize, (usize, usize)> = HashMap::new();
        let mut written = Written::default();
        for (i, (launch, node)) in launches.iter().zip(&explained).enumerate() {
            let (Launch::Gpu(event), Some(node)) = (launch, node) else { continue };
            let (count, longest) = kernels.entry(*node).or_insert((0, i));
            *count += 1;
            if matches!(&launches[*longest], Launch::Gpu(other) if other.dur_ns() < event.dur_ns()) {
                *longest = i;
            }
            if *count == 1 {
                written.add(*node, &self.accesses(*node, self.device).writes);
            }
        }
        let born = self.memories.all.iter().enumerate();
        let mut born: Vec<(usize, usize)> = born.filter_map(|(at, m)| Some((m.born?.0, at))).collect();
        born.sort_unstable();
        Operators { explained, kernels, written, born }
    }

    /// What the operator of a launch says about it.
    fn explain(&mut self, at: usize, i: usize, operators: &Operators, draft: &mut Draft) {
        let (node, class) = (&self.trace.nodes[at], self.classes[at]);
        let accesses = self.accesses(at, self.device);
        draft.take(node, &accesses);
        let (kernels, longest) = operators.kernels.get(&at).copied().unwrap_or((1, i));
        if kernels > 1 {
            draft
                .est
                .extend(["r", "w", "bytes"].iter().filter(|field| !accesses.unsure || **field == "bytes"));
        }
        // An operator's arithmetic counts once: with the kernel that took longest.
        if longest != i {
            return;
        }
        let mut rules = operators::kernels(node, class, &accesses, self.rules);
        if class == Class::Unknown && !rules.is_empty() {
            count(&mut self.unknown, &node.name);
        }
        if let Some(triton) = &node.triton {
            // Its name does not tell whether it is a product.
            draft.kind = rules.first().map_or(draft.kind, |rule| rule.kind);
            if triton.roles.is_none() {
                count(&mut self.no_source, &node.name);
            }
        }
        if rules.len() > 1 {
            // What is left to an operator that it calls counts there.
            let elsewhere = |access: &Access| {
                let all = operators.written.of(access.memory);
                all.iter().any(|(other, _)| *other != at && self.within(*other, at))
            };
            rules.retain(|rule| rule.writes.is_empty() || !rule.writes.iter().all(elsewhere));
        }
        draft.flops = rules.iter().map(|rule| rule.flops).fold(0, u64::saturating_add);
        let mut products = rules.iter().filter_map(|rule| rule.mnk);
        // Of several products none is the operator's.
        draft.mnk = products.next().filter(|_| products.next().is_none());
        if rules.iter().any(|rule| rule.est.contains(&"flops")) {
            draft.est.push("flops");
        }
        if let [rule] = &rules[..]
            && kernels == 1
            && rule.est.contains(&"bytes")
        {
            draft.traffic = rule.traffic;
            draft.est.push("bytes");
        }
    }

    /// What an operator's kernel needs of those before it, of the same operator and of what that calls: its own results as far as they are, and
    /// memory that came within the operator and was not free again when the kernel was launched.
    fn order(
        &self,
        at: usize,
        so_far: &Written,
        operators: &Operators,
        launched: Option<f64>,
        draft: &mut Draft,
    ) {
        let place = |access: &Access| (access.memory, access.first, access.bytes);
        let mut known: HashSet<_> = draft.reads.iter().map(place).collect();
        let named: HashSet<usize> =
            draft.reads.iter().chain(&draft.writes).map(|access| access.memory).collect();
        let mine = |node: usize| node == at || self.within(node, at);
        let results = draft.writes.iter();
        let results = results.filter(|access| so_far.of(access.memory).iter().any(|(node, _)| mine(*node)));
        // It may read them, or just leave them as they are.
        let mut more: Vec<Access> = results.map(|access| Access { moved: 0, ..*access }).collect();
        let (begins, ends) = (self.memories.begins[at], self.memories.ends[at]);
        let first = operators.born.partition_point(|(born, _)| *born < begins);
        let inner = operators.born[first..].iter().take_while(|(born, _)| *born <= ends);
        for (_, memory) in inner.filter(|(_, memory)| !named.contains(memory)) {
            let freed = self.ends.freed.get(memory).zip(launched);
            if freed.is_none_or(|(freed, launched)| *freed >= launched) {
                let written = so_far.of(*memory).iter().filter(|(node, _)| mine(*node));
                more.extend(written.map(|(_, access)| *access));
            }
        }
        more.retain(|access| known.insert(place(access)));
        if more.is_empty() {
            return;
        }
        let traffic = draft.traffic;
        draft.reads.extend(more);
        if !draft.est.contains(&"r") {
            draft.est.push("r");
        }
        draft.count_gaps();
        draft.traffic = traffic.filter(|_| draft.est.contains(&"bytes")).or(draft.traffic);
    }

    /// Whether an operator was called by another, or by what that called.
    fn within(&self, node: usize, caller: usize) -> bool {
        let memories = &self.memories;
        let mut at = Some(node).filter(|node| {
            memories.begins[caller] < memories.begins[*node] && memories.ends[*node] < memories.ends[caller]
        });
        // Operators of other threads may run meanwhile.
        while let Some(node) = at.filter(|node| *node != caller) {
            at = self.trace.nodes[node].parent;
        }
        at.is_some()
    }
}

/// Whether a kernel uses matrix units, by the names that NVIDIA's libraries and CUTLASS give theirs.
fn kernel_type(name: &str) -> KernelType {
    const TENSOR: [&str; 14] = [
        "tensorop", "xmma", "nvjet", "wgmma", "hmma", "imma", "s1688", "s16816", "h16816", "s884", "h884",
        "i16832", "flash", "fmha",
    ];
    let name = name.to_ascii_lowercase();
    let simt = name.contains("simt") || name.contains("ffma");
    if !simt && TENSOR.iter().any(|part| name.contains(part)) { KernelType::Tensor } else { KernelType::Simt }
}

impl Draft {
    /// A kernel of a profile, of which nothing else is known yet.
    fn measured(name: &str) -> Self {
        let draft = Self::simt(name, 1, 1, 0);
        Self { op: "unknown".to_owned(), kind: kernel_type(name), est: Vec::new(), ..draft }
    }

    /// What its operator says about it.
    fn take(&mut self, node: &Node, accesses: &Accesses<'_>) {
        self.op = short(&node.name).to_owned();
        self.reads = accesses.reads.iter().map(|(_, access)| *access).collect();
        self.writes = accesses.writes.clone();
        if accesses.unsure {
            self.est.extend(["r", "w"]);
        }
        self.count_gaps();
    }

    /// A fill of so many bytes reads nothing; one of less than the results leaves the rest of them as it was, where that was anything.
    fn sets(&mut self, bytes: Option<u64>, fresh: impl Fn(usize) -> bool) {
        let all = self.writes.iter().fold(0, |sum: u64, write| sum.saturating_add(write.moved));
        self.reads.clear();
        if bytes.is_none_or(|bytes| bytes < all) {
            let old = self.writes.iter().filter(|write| !fresh(write.memory));
            self.reads.extend(old.map(|write| Access { moved: 0, ..*write }));
        }
    }

    /// With what the profile has measured.
    fn ran(mut self, event: GpuEvent, everything: bool) -> Launched {
        match event.kind {
            Kind::Kernel => self.est.push("type"),
            Kind::Copy | Kind::Set => {
                self.kind = KernelType::Copy;
                self.est.extend(["grid", "block"]);
                // Both ends of a copy within the GPU are its memory.
                let ends = if event.name.contains("DtoD") { 2 } else { 1 };
                if let Some(bytes) = event.bytes {
                    self.traffic = Some(bytes.saturating_mul(ends));
                    self.est.retain(|field| *field != "bytes");
                }
            }
        }
        self.smem = event.smem;
        Launched {
            everything,
            grid: event.grid,
            block: event.block,
            regs: event.regs,
            stream: event.stream,
            dur_ns: event.alone.then(|| event.dur_ns()),
            draft: self,
        }
    }
}
