//! PyTorch: an execution trace, and with it what its profiler saw on a GPU.
//!
//! An execution trace (`torch.profiler.ExecutionTraceObserver`, schema 1.1.x) has every operator with its tensors and their storages, and no
//! kernels. Without a profile the kernels follow from the operators by rules ([`Imported::trace`] names every guess in `est`); with a profile
//! (Kineto) of the same run they are those that ran, with their grids, and the operators say what memory they touch.
//!
//! The format is what PyTorch's `execution_trace_observer.cpp` writes; the profile's is libkineto's `output_json.cpp` and its CUPTI activities.

mod error;
mod et;
mod input;
mod kineto;
mod launched;
mod lifetime;
mod operators;
mod recurrent;
mod schema;
mod storage;
mod triton;

pub use error::{Problem, PytorchError, PytorchErrors, Warning};
pub use triton::TritonSources;

use crate::launch::{self, Access, Launched, Placed, Rules, SMS, Step};
use crate::{Counts, count, file, sorted};
use et::ExecutionTrace;
use kineto::Profile;
use lifetime::Ends;
use operators::{Accesses, Class, Work, short};
use std::collections::HashMap;
use std::path::Path;
use storage::Memories;
use windlass_runtime::ktrace::{Event, Gpu, Header, Run, Trace};

/// How to import.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The workload's name in the kernel stream.
    pub name: String,
    /// The GPU that it is for; without it that of the profile, or none (`assumed`). Its SMs decide the tiles of products.
    pub gpu: Option<Gpu>,
    /// Whether freed memory is used again, where a profile of a GPU says, else as by PyTorch's caching allocator; otherwise each memory has
    /// addresses of its own.
    pub reuse: bool,
    /// Whether matrix products in single precision use tensor cores (`torch.backends.cuda.matmul.allow_tf32`, which the trace does not
    /// have; off in PyTorch). Convolutions go by the `allow_tf32` that is recorded with them.
    pub tf32: bool,
    /// Sources of the kernels that `torch.compile` has made; they say which tensors a kernel writes. Without its source a kernel is taken to
    /// write all that it reads.
    pub triton: TritonSources,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "pytorch".to_owned(),
            gpu: None,
            reuse: true,
            tf32: false,
            triton: TritonSources::default(),
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The kernel stream, in one run.
    pub trace: Trace,
    /// What is to be doubted, beside what `est` and `notes` say.
    pub warnings: Vec<Warning>,
}

/// Imports an execution trace, and the profile of the same run where there is one; both plain or compressed with zstd or gzip, and at most 2 GiB unpacked.
/// One of them may be stdin, `-`.
///
/// # Errors
/// All that is wrong in the trace, or else in the profile, up to [`MAX_ERRORS`](crate::MAX_ERRORS).
pub fn import(trace: &Path, profile: Option<&Path>, options: &Options) -> Result<Imported, PytorchErrors> {
    let text = input::read(trace)?;
    let mut nodes = ExecutionTrace::read(&file::name(trace), &text)?;
    drop(text);
    nodes.explain(&options.triton);
    let profile = match profile {
        None => None,
        Some(path) => Some((file::name(path), Profile::read(&file::name(path), &input::read(path)?)?)),
    };
    build(&file::name(trace), &nodes, profile, options)
}

/// The same from text, for tests and fuzzing: `file` stands for it in errors.
///
/// # Errors
/// As [`import`].
#[doc(hidden)]
pub fn import_text(
    file: &str,
    trace: &[u8],
    profile: Option<(&str, &[u8])>,
    options: &Options,
) -> Result<Imported, PytorchErrors> {
    let mut nodes = ExecutionTrace::read(file, trace)?;
    nodes.explain(&options.triton);
    let profile = match profile {
        None => None,
        Some((file, text)) => Some((file.to_owned(), Profile::read(file, text)?)),
    };
    build(file, &nodes, profile, options)
}

fn build(
    file: &str,
    trace: &ExecutionTrace,
    mut profile: Option<(String, Profile)>,
    options: &Options,
) -> Result<Imported, PytorchErrors> {
    let mut memories = Memories::of(trace);
    let gpu_device = trace.devices.iter().position(|device| !["cpu", "meta"].contains(&device.as_str()));
    // A trace of the CPU's stands for the same program on a GPU.
    let device = gpu_device.or_else(|| trace.devices.iter().position(|device| device == "cpu")).unwrap_or(0);
    let mut ends = Ends::default();
    let mut elsewhere = Counts::new();
    if let Some((file, profile)) = &mut profile {
        // The number in `cuda:0` is the profile's, too.
        let number = trace.devices.get(device).and_then(|name| name.rsplit_once(':')?.1.parse().ok());
        profile.keep_one_gpu(number).iter().for_each(|name| count(&mut elsewhere, name));
        check_same_run(file, trace, profile, gpu_device.is_some())?;
        ends = lifetime::correct(trace, &mut memories, profile, gpu_device.is_some());
    }
    let measured = profile.as_ref().map(|(_, profile)| profile).filter(|profile| profile.gpu_events() > 0);
    let of_profile = measured.and_then(|profile| profile.device());
    let gpu = match (&options.gpu, of_profile) {
        (Some(gpu), _) => gpu.clone(),
        (None, Some((name, sms))) => Gpu { name: name.clone(), sms: *sms },
        (None, None) => Gpu { name: "assumed".to_owned(), sms: Some(SMS) },
    };
    let rules = Rules { sms: gpu.sms.unwrap_or(SMS), tf32: options.tf32 };
    let class = |node| operators::class_on(node, device as u32, &trace.devices);
    let classes: Vec<Class> = trace.nodes.iter().map(class).collect();
    let mut importer = Importer {
        trace,
        memories,
        classes,
        device: device as u32,
        on_gpu: gpu_device.is_some(),
        rules,
        steps: Vec::new(),
        unknown: Counts::new(),
        no_source: Counts::new(),
        unexplained: Counts::new(),
        elsewhere,
        overlapping: 0,
        ends,
    };
    match measured {
        Some(profile) => importer.launched(profile),
        None => importer.estimated(),
    }
    let mut warnings = Vec::new();
    if profile.is_some() && measured.is_none() {
        warnings.push(Warning::NoGpuKernels);
    }
    warnings.extend(importer.warnings());
    let (steps, memories) = (std::mem::take(&mut importer.steps), std::mem::take(&mut importer.memories.all));
    let Placed { events, span, recorded } =
        launch::events(steps, memories, options.reuse).ok_or_else(|| PytorchError {
            file: file.to_owned(),
            node: None,
            field: None,
            problem: Problem::AddressSpace,
        })?;
    let notes = importer.notes(measured.is_some(), recorded, options);
    let kernels = events.iter().filter(|event| matches!(event, Event::Kernel(_))).count() as u64;
    let header = Header {
        name: options.name.clone(),
        source: if measured.is_some() { "pytorch-et+kineto" } else { "pytorch-et" }.to_owned(),
        producer: format!("windlass {} import pytorch", env!("CARGO_PKG_VERSION")),
        gpu,
        params: serde_json::json!({
            "schema": trace.schema,
            "device": trace.devices.get(device).map_or("", String::as_str),
            "reuse": options.reuse,
            "tf32": options.tf32,
        }),
        kernels,
        span: Some(span),
        notes,
    };
    let runs = vec![Run { number: 0, input: None, events }];
    Ok(Imported { trace: Trace { header, runs, warnings: Vec::new() }, warnings })
}

/// That a profile is of the run that was traced: record functions have the same names in both.
fn check_same_run(
    file: &str,
    trace: &ExecutionTrace,
    profile: &Profile,
    has_gpu: bool,
) -> Result<(), PytorchError> {
    let located = |problem| PytorchError { file: file.to_owned(), node: None, field: None, problem };
    if !has_gpu && profile.gpu_events() > 0 {
        return Err(located(Problem::NoGpuInTrace { kernels: profile.gpu_events() }));
    }
    let names: HashMap<u64, &str> = trace.nodes.iter().map(|node| (node.rf_id, node.name.as_str())).collect();
    let mut both: Vec<(u64, &str, &str)> = profile
        .operators()
        .filter_map(|(rf_id, name)| {
            names.get(&rf_id).filter(|_| rf_id > 0).map(|known| (rf_id, name, *known))
        })
        .collect();
    both.sort_unstable();
    let others = both.iter().filter(|(_, name, known)| name != known);
    // Annotations may be renamed on their way into the profile; most operators are not.
    match others.clone().next() {
        Some((rf_id, name, known)) if others.count() * 2 > both.len() => Err(located(Problem::AnotherRun {
            rf_id: *rf_id,
            profile: (*name).to_owned(),
            trace: (*known).to_owned(),
        })),
        _ => Ok(()),
    }
}

struct Importer<'a> {
    trace: &'a ExecutionTrace,
    memories: Memories<'a>,
    classes: Vec<Class>,
    device: u32,
    /// Whether the trace is a GPU's.
    on_gpu: bool,
    rules: Rules,
    /// With the moment of each, in order.
    steps: Vec<(usize, Step)>,
    unknown: Counts,
    no_source: Counts,
    unexplained: Counts,
    elsewhere: Counts,
    /// Kernels with another beside them.
    overlapping: u64,
    /// What the profile says of memories' ends.
    ends: Ends,
}

impl<'a> Importer<'a> {
    fn accesses(&self, at: usize, device: u32) -> Accesses<'a> {
        let (inputs, outputs) = (&self.memories.inputs[at], &self.memories.outputs[at]);
        Accesses::of(&self.trace.nodes[at], self.classes[at], inputs, outputs, device)
    }

    /// Whether an operator has work for the device, by itself.
    fn works(&self, at: usize, device: u32) -> bool {
        let node = &self.trace.nodes[at];
        let accesses = || self.accesses(at, device);
        match self.classes[at] {
            _ if node.schema.is_none() && node.triton.is_none() => false,
            Class::Free => false,
            Class::Known(Work::ToHost { .. } | Work::Equal) => !accesses().is_empty(),
            Class::Known(_) | Class::Unknown => !accesses().writes.is_empty(),
        }
    }

    /// The kernels that follow from the operators: of those that call each other the outermost that is one kernel on a GPU.
    fn estimated(&mut self) {
        let nodes = &self.trace.nodes;
        let mut calls_work = vec![false; nodes.len()];
        for at in (0..nodes.len()).rev() {
            let works = calls_work[at] || self.works(at, self.device);
            if let Some(parent) = nodes[at].parent.filter(|_| works) {
                calls_work[parent] = true;
            }
        }
        // What an operator that was taken calls is part of it.
        let mut taken = vec![false; nodes.len()];
        for (at, node) in nodes.iter().enumerate() {
            if node.parent.is_some_and(|parent| taken[parent]) {
                taken[at] = true;
                continue;
            }
            let class = self.classes[at];
            let by_calls = match class {
                Class::Free => true,
                // A GPU's comparison, too, is what it calls.
                Class::Unknown | Class::Known(Work::Equal) => calls_work[at],
                // On a GPU they call cuDNN's convolution, and the addition of the bias.
                Class::Known(Work::Convolution) => {
                    self.on_gpu
                        && calls_work[at]
                        && ["convolution", "_convolution"].contains(&short(&node.name))
                }
                Class::Known(_) => false,
            };
            if by_calls || (calls_work[at] && !self.works(at, self.device)) {
                continue;
            }
            if !self.works(at, self.device) {
                let other = tensors_device(&self.memories, at).filter(|other| *other != self.device);
                if other.is_some_and(|other| self.works(at, other)) {
                    count(&mut self.elsewhere, &node.name);
                }
                continue;
            }
            taken[at] = true;
            self.take(at, self.accesses(at, self.device));
        }
        self.rest(&calls_work, &taken);
        self.steps.sort_by_key(|(moment, _)| *moment);
    }

    /// What operators without a rule do beside what they call: results of theirs that no kernel of that has written.
    fn rest(&mut self, calls_work: &[bool], taken: &[bool]) {
        let mut written: HashMap<usize, Vec<usize>> = HashMap::new();
        for (moment, step) in &self.steps {
            let Step::Kernel(launched) = step else { continue };
            for access in &launched.draft.writes {
                written.entry(access.memory).or_default().push(*moment);
            }
        }
        // Threads are beside each other, so the steps are not in order yet.
        written.values_mut().for_each(|moments| moments.sort_unstable());
        // Callers after what they call.
        let mut unknown: Vec<usize> = (0..taken.len())
            .filter(|at| self.classes[*at] == Class::Unknown && calls_work[*at] && !taken[*at])
            .filter(|at| self.works(*at, self.device))
            .collect();
        unknown.sort_unstable_by_key(|at| self.memories.ends[*at]);
        for at in unknown {
            let mut accesses = self.accesses(at, self.device);
            let (begins, ends) = (self.memories.begins[at], self.memories.ends[at]);
            accesses.keep_writes(|access| {
                let moments = written.get(&access.memory).map_or(&[][..], Vec::as_slice);
                let within = moments.partition_point(|moment| *moment < begins);
                moments.get(within).is_none_or(|moment| *moment > ends)
            });
            for access in &accesses.writes {
                let moments = written.entry(access.memory).or_default();
                moments.insert(moments.partition_point(|moment| *moment <= ends), ends);
            }
            // What it reads of what it called is not known.
            let first = self.steps.len();
            self.take(at, accesses);
            for (_, step) in &mut self.steps[first..] {
                if let Step::Kernel(launched) = step {
                    launched.draft.est.push("r");
                }
            }
        }
    }

    /// The kernels of an operator by its rule.
    fn take(&mut self, at: usize, mut accesses: Accesses<'_>) {
        let (node, class, moment) = (&self.trace.nodes[at], self.classes[at], self.memories.ends[at]);
        if class == Class::Known(Work::Equal) {
            // The answer is no tensor, but is on the GPU before it is the host's.
            let born = Some((moment, at));
            self.memories.all.push(launch::Memory {
                bytes: 1,
                born,
                last: moment,
                result: false,
                recorded: None,
            });
            let answer = Access { memory: self.memories.all.len() - 1, first: 0, bytes: 1, moved: 1 };
            accesses.writes.push(answer);
        }
        let drafts = operators::kernels(node, class, &accesses, self.rules);
        if class == Class::Unknown && !drafts.is_empty() {
            count(&mut self.unknown, &node.name);
        }
        if node.triton.as_ref().is_some_and(|triton| triton.roles.is_none()) {
            count(&mut self.no_source, &node.name);
        }
        for mut draft in drafts {
            if class == Class::Unknown {
                draft.est.push("type");
            }
            let sync = draft.sync.take();
            let launched = Launched::by_rule(draft);
            self.steps.push((moment, Step::Kernel(Box::new(launched))));
            self.steps.extend(sync.map(|why| (moment, Step::Sync(why))));
        }
    }

    /// What was met and is not known; it is counted anew from here on.
    fn warnings(&mut self) -> Vec<Warning> {
        let counted = [
            (std::mem::take(&mut self.unknown), Warning::UnknownOperators as fn(_) -> _),
            (std::mem::take(&mut self.no_source), Warning::NoSource),
            (std::mem::take(&mut self.unexplained), Warning::UnexplainedKernels),
            (self.trace.no_storage.clone(), Warning::NoStorage),
        ];
        let counted = counted.into_iter().filter(|(counts, _)| !counts.is_empty());
        let mut warnings: Vec<Warning> = counted.map(|(counts, warning)| warning(sorted(counts))).collect();
        let operators = std::mem::take(&mut self.elsewhere);
        if !operators.is_empty() {
            let device = self.trace.devices[self.device as usize].clone();
            warnings.push(Warning::ElsewhereOperators { device, operators: sorted(operators) });
        }
        warnings
    }

    fn notes(&self, measured: bool, recorded: u64, options: &Options) -> String {
        let mut notes = Vec::new();
        if measured {
            notes.push(
                "kernels, grids, blocks and durations from a profile, segments from the operator that launched each: where an operator has several \
                 kernels, every one has all of its segments, and reads what those before it wrote"
                    .to_owned(),
            );
            if self.overlapping > 0 {
                notes.push(match self.overlapping {
                    1 => "1 kernel overlapped others and has no duration".into(),
                    n => format!("{n} kernels overlapped others and have no duration"),
                });
            }
        } else {
            notes.push(
                "kernels, grids and blocks by rule from an execution trace, without a profile".to_owned(),
            );
            if !self.on_gpu {
                notes.push(
                    "recorded on a CPU: operators as a GPU would run them, all memory taken as the GPU's"
                        .to_owned(),
                );
            }
        }
        notes.push(match options.reuse {
            true if recorded > 0 => format!(
                "{recorded} allocations are where a profile says, moved together, and any others where an emulated CUDA caching allocator puts them; it says when {} end",
                self.ends.known
            ),
            true if self.ends.known > 0 => format!(
                "memory from an emulated CUDA caching allocator; a profile says when {} allocations end, any others do after the last operator that names them",
                self.ends.known
            ),
            true => "memory from an emulated CUDA caching allocator, freed after the last operator that names it: the program may have kept it longer".to_owned(),
            false => "every memory has addresses of its own: the reuse of the program's allocator is not in the trace".to_owned(),
        });
        notes.join("; ")
    }
}

/// The device of an operator's first result.
fn tensors_device(memories: &Memories<'_>, at: usize) -> Option<u32> {
    memories.outputs[at].first().or(memories.inputs[at].first()).map(|(_, tensor, _)| tensor.device)
}
