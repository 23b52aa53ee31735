//! The pieces of an exploration, done side by side, each kept as soon as it is finished.

use super::cost::{Effort, Synthesis, Tools, cost};
use super::report::{Failure, Piece, Ran, Report, Results};
use super::store::Store;
use super::{Design, Ended, Exploration, ExploreError, FrontEndClock};
use crate::engine::{DispatcherKind, EngineOptions, STACK, engine};
use crate::latency::Distribution;
use crate::policy::Policy;
use crate::profile::Profile;
use crate::run::CoSimulation;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use windlass_catalog::BlockSpec;
use windlass_gen::cache::hex;
use windlass_gen::constraints::Sdc;
use windlass_gen::rtl::Rtl;
use windlass_gen::synth::wires::COLOQUINTE_VERSION;
use windlass_netlist::liberty::Library;
use windlass_rtl::params::FrontEndParams;

/// How often the stop flag is looked at.
const GLANCE: Duration = Duration::from_millis(50);

/// What happens, to be told while it does.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A piece was finished, or found finished on disk.
    Done {
        /// Finished and failed pieces by now.
        done: usize,
        /// All pieces.
        total: usize,
        /// Which.
        label: &'a str,
        /// It was there from an earlier run.
        kept: bool,
    },
    /// A piece failed.
    Failed {
        /// Finished and failed pieces by now.
        done: usize,
        /// All pieces.
        total: usize,
        /// Which.
        label: &'a str,
        /// Why.
        message: &'a str,
    },
    /// It was told to stop, and these many pieces are still at work.
    Stopping {
        /// How many.
        running: usize,
    },
}

/// A design, ready for its pieces.
struct Ready {
    params: FrontEndParams,
    profile: Profile,
    top: String,
    files: Vec<(String, String)>,
    /// Its Verilog, where that is somebody's own.
    own: Option<Rtl>,
    /// What its netlists are timed with.
    sdc: Option<Sdc>,
    /// SHA-256 of the Verilog.
    sha256: String,
}

/// What goes wrong with a piece; `wrong` where hardware was checked and found wrong.
struct Trouble {
    message: String,
    wrong: bool,
}

impl Trouble {
    fn new(error: impl ToString) -> Self {
        Self { message: error.to_string(), wrong: false }
    }
}

/// What the threads share.
#[derive(Default)]
struct State {
    /// The next piece, in the list of those to do.
    next: usize,
    /// Memory that running pieces may need, in MiB, one entry each.
    running: Vec<u64>,
    done: usize,
    /// Designs whose synthesis is over, whatever came out.
    synthesized: BTreeSet<usize>,
    results: Results,
    /// What ends all of it: the directory cannot be written.
    broken: Option<ExploreError>,
}

/// Synthesizes and co-simulates every design; `stop` ends it early, between two pieces.
///
/// A piece that fails is in the report and does not keep the others from being done.
pub fn explore(
    exploration: &Exploration<'_>,
    stop: &AtomicBool,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Ended, ExploreError> {
    check(exploration)?;
    let work = Work::new(exploration, stop, tell)?;
    work.in_threads()?;
    let total = work.pieces.len();
    let State { results, broken, done, .. } = work.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = broken {
        return Err(error);
    }
    if done < total {
        return Ok(Ended::Stopped { kept: results.costs.len() + results.runs.len(), total });
    }
    Ok(Ended::Complete(Box::new(Report::new(exploration, results))))
}

/// That there is something to do, and that tables can tell it apart.
fn check(exploration: &Exploration<'_>) -> Result<(), ExploreError> {
    if exploration.designs.is_empty() {
        return Err(ExploreError::Nothing("there is no design"));
    }
    if exploration.workloads.is_empty() {
        return Err(ExploreError::Nothing("there is no workload"));
    }
    let timed = exploration.synthesis.as_ref().is_some_and(|synthesis| synthesis.effort != Effort::Area);
    if exploration.clock == FrontEndClock::Own && !timed {
        return Err(ExploreError::NoClock);
    }
    let mut names = BTreeSet::new();
    match exploration.workloads.iter().find(|w| !names.insert(&w.name)) {
        Some(twice) => Err(ExploreError::SameName(twice.name.clone())),
        None => Ok(()),
    }
}

/// What synthesis needs, found once.
struct Synthesizer<'a> {
    synthesis: &'a Synthesis,
    tools: Tools,
    /// SHA-256 of the library.
    library: String,
}

impl<'a> Synthesizer<'a> {
    fn new(synthesis: &'a Synthesis) -> Result<Self, ExploreError> {
        let tools = Tools::find(synthesis.effort).map_err(|e| ExploreError::Tool(e.to_string()))?;
        let library = std::fs::read(&synthesis.liberty)
            .map_err(|source| ExploreError::Io { path: synthesis.liberty.clone(), source })?;
        Ok(Self { synthesis, tools, library: hex(&Sha256::digest(&library)) })
    }
}

/// An exploration at work.
struct Work<'a> {
    exploration: &'a Exploration<'a>,
    stop: &'a AtomicBool,
    tell: &'a (dyn Fn(Event<'_>) + Sync),
    store: Store,
    synthesizer: Option<Synthesizer<'a>>,
    pieces: Vec<Piece>,
    /// Each design, once a piece of it is begun.
    ready: Vec<OnceLock<Result<Ready, String>>>,
    /// Memory for pieces in MiB.
    budget: u64,
    state: Mutex<State>,
    /// A piece was done.
    changed: Condvar,
}

impl<'a> Work<'a> {
    fn new(
        exploration: &'a Exploration<'a>,
        stop: &'a AtomicBool,
        tell: &'a (dyn Fn(Event<'_>) + Sync),
    ) -> Result<Self, ExploreError> {
        Ok(Self {
            exploration,
            stop,
            tell,
            store: Store::new(exploration.out.join("points"))?,
            synthesizer: exploration.synthesis.as_ref().map(Synthesizer::new).transpose()?,
            pieces: pieces(exploration),
            ready: exploration.designs.iter().map(|_| OnceLock::new()).collect(),
            budget: memory_mib(),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Does the pieces on so many threads as are asked for, and says once that it was told to stop.
    fn in_threads(&self) -> Result<(), ExploreError> {
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for n in 0..self.exploration.jobs.clamp(1, self.pieces.len()) {
                let builder = std::thread::Builder::new().name(format!("explore {n}")).stack_size(STACK);
                match builder.spawn_scoped(scope, || self.worker()) {
                    Ok(thread) => threads.push(thread),
                    Err(_) if n > 0 => break,
                    Err(source) => {
                        return Err(ExploreError::Io { path: self.exploration.out.clone(), source });
                    }
                }
            }
            let mut told = false;
            while threads.iter().any(|thread| !thread.is_finished()) {
                let state = self.lock();
                if self.stopped() && !told && !state.running.is_empty() {
                    (self.tell)(Event::Stopping { running: state.running.len() });
                    told = true;
                }
                drop(self.changed.wait_timeout(state, GLANCE).unwrap_or_else(PoisonError::into_inner));
            }
            Ok(())
        })
    }

    /// Takes pieces until there are none, or it is told to stop.
    fn worker(&self) {
        while let Some((piece, memory)) = self.take() {
            let outcome = catch_unwind(AssertUnwindSafe(|| self.piece(piece))).unwrap_or_else(|panic| {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
                Err(Trouble::new(format!("internal error: {text}")))
            });
            self.done(piece, memory, outcome);
            self.changed.notify_all();
        }
    }

    /// The next piece and the memory that it may need; none where there is none, or it is to stop. Waits where those that run may need
    /// what memory there is, and for the clock of a design that is being synthesized; one always runs.
    fn take(&self) -> Option<(Piece, u64)> {
        let mut state = self.lock();
        loop {
            let piece = *self.pieces.get(state.next)?;
            if self.stopped() || state.broken.is_some() {
                return None;
            }
            let design = self.exploration.designs[piece.design()];
            // Measured: Yosys on 64 slots takes 1 to 2 GiB, a C++ compiler on a front end up to 0.8 GiB.
            let memory = match (piece, self.exploration.dispatcher) {
                (Piece::Cost(_), _) => 256 + 16 * design.slots as u64 + 4 * u64::from(design.sms),
                (Piece::Run(..), DispatcherKind::Behavioural) => 128,
                (Piece::Run(..), _) => 1024,
            };
            let has_clock = match piece {
                Piece::Run(design, _) if self.exploration.clock == FrontEndClock::Own => {
                    state.synthesized.contains(&design)
                }
                _ => true,
            };
            let fits = state.running.is_empty() || state.running.iter().sum::<u64>() + memory <= self.budget;
            if has_clock && fits {
                state.next += 1;
                state.running.push(memory);
                return Some((piece, memory));
            }
            state = self.changed.wait_timeout(state, GLANCE).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Does a piece, or finds it done; true where it was there.
    fn piece(&self, piece: Piece) -> Result<bool, Trouble> {
        let design = piece.design();
        let prepared =
            self.ready[design].get_or_init(|| prepare(self.exploration, self.exploration.designs[design]));
        let ready = prepared.as_ref().map_err(Trouble::new)?;
        match piece {
            Piece::Cost(_) => {
                let (Some(Synthesizer { synthesis, tools, library }), Some(sdc)) =
                    (&self.synthesizer, &ready.sdc)
                else {
                    return Ok(true);
                };
                let mut inputs = json!({
                    "top": ready.top, "verilog": ready.sha256, "library": library,
                    "effort": synthesis.effort.name(), "sdc": sdc.text, "period": synthesis.period_ns,
                    "clock_gates": synthesis.clock_gates, "tools": tools.versions,
                });
                if let Some(wires) = synthesis.wires {
                    inputs["wires"] = json!([wires, COLOQUINTE_VERSION]);
                }
                let (result, kept) = self.keep("cost", inputs, || {
                    cost(&ready.files, &ready.top, synthesis, sdc.clone(), tools).map_err(Trouble::new)
                })?;
                self.lock().results.costs.insert(design, result);
                Ok(kept)
            }
            Piece::Run(_, workload) => {
                let mhz = self.clock_mhz(design);
                let mhz = mhz.ok_or_else(|| Trouble::new("its clock is not known, for it has no netlist"))?;
                let inputs = run_inputs(self.exploration, ready, mhz, workload);
                let (result, kept) =
                    self.keep("run", inputs, || run(self.exploration, ready, mhz, workload))?;
                self.lock().results.runs.insert((design, workload), result);
                Ok(kept)
            }
        }
    }

    /// The clock of a design, once it is known.
    fn clock_mhz(&self, design: usize) -> Option<u32> {
        self.exploration.clock_mhz(self.lock().results.costs.get(&design))
    }

    /// What is on disk for these inputs; else what `make` makes, kept. True where it was there.
    fn keep<T: Serialize + DeserializeOwned>(
        &self,
        kind: &str,
        inputs: Value,
        make: impl FnOnce() -> Result<T, Trouble>,
    ) -> Result<(T, bool), Trouble> {
        let inputs = self.store.inputs(kind, inputs);
        if let Some(result) = self.store.load(&inputs) {
            return Ok((result, true));
        }
        let result = make()?;
        // Without a place for results, going on would be for nothing.
        self.store.save(&inputs, &result).map_err(|error| {
            let trouble = Trouble::new(&error);
            self.lock().broken = Some(error);
            trouble
        })?;
        Ok((result, false))
    }

    /// Counts a piece, and tells of it.
    fn done(&self, piece: Piece, memory: u64, outcome: Result<bool, Trouble>) {
        let total = self.pieces.len();
        let label = label(self.exploration, piece);
        let design = piece.design();
        let has_clock = self.clock_mhz(design).is_some();
        let mut state = self.lock();
        if matches!(piece, Piece::Cost(_)) {
            state.synthesized.insert(design);
        }
        if let Some(at) = state.running.iter().position(|m| *m == memory) {
            state.running.swap_remove(at);
        }
        match outcome {
            Ok(kept) => {
                state.done += 1;
                (self.tell)(Event::Done { done: state.done, total, label: &label, kept });
            }
            // Ctrl-C reaches the tools, too: what they were at is done again next time.
            Err(_) if self.stopped() => {}
            Err(Trouble { message, wrong }) => {
                state.done += 1;
                // A design that cannot be is told once, not for each of its pieces.
                let never = matches!(self.ready[design].get(), Some(Err(_)));
                if never && !state.results.impossible.insert(design) {
                    return;
                }
                // Nor one without a netlist for each of its runs, for which it has no clock.
                if !never && !has_clock && matches!(piece, Piece::Run(..)) {
                    return;
                }
                let label =
                    if never { self.exploration.full_name(self.exploration.designs[design]) } else { label };
                (self.tell)(Event::Failed { done: state.done, total, label: &label, message: &message });
                state.results.failures.push(Failure { piece, label, message, wrong });
            }
        }
    }
}

/// All pieces: first what costs most to have failed late, then workload by workload, so that neighbours need different libraries
/// and do not wait for each other to build one.
fn pieces(exploration: &Exploration<'_>) -> Vec<Piece> {
    let designs = || 0..exploration.designs.len();
    let costs = designs().filter(|_| exploration.synthesis.is_some()).map(Piece::Cost);
    let runs = (0..exploration.workloads.len()).flat_map(|w| designs().map(move |d| Piece::Run(d, w)));
    costs.chain(runs).collect()
}

fn label(exploration: &Exploration<'_>, piece: Piece) -> String {
    let design = exploration.designs[piece.design()];
    let what = match piece {
        Piece::Cost(_) => "synthesis",
        Piece::Run(_, workload) => &exploration.workloads[workload].name,
    };
    format!("{}: {what}", exploration.full_name(design))
}

/// Four fifths of the memory that is free now, in MiB; no limit where the system does not say.
fn memory_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map_or(u64::MAX, |kib| kib / 1024 * 4 / 5)
}

fn prepare(exploration: &Exploration<'_>, design: Design) -> Result<Ready, String> {
    let profile = Profile { sms: design.sms, ..exploration.profile.clone() };
    let own = exploration.own_of(design);
    let params = match own {
        Some(own) => own.params,
        None => {
            let scheduler = (exploration.scheduler)(design.window, design.slots)?;
            let sms = profile.sm_params().map_err(|e| e.to_string())?.with_hold(exploration.hold_idle);
            FrontEndParams::new(scheduler, design.arbiter, sms)
                .and_then(|params| params.with_places(design.places))
                .map_err(|e| e.to_string())?
        }
    };
    let block = BlockSpec::FrontEnd(params);
    let own = own.map(|own| own.rtl.clone());
    let Rtl { top, files, ports, .. } = match &own {
        Some(rtl) => rtl.clone(),
        None => Rtl::emitted(block).map_err(|e| e.to_string())?,
    };
    let mut hash = Sha256::new();
    for text in files.iter().flat_map(|(name, text)| [name, text]) {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    let timing = |synthesis: &Synthesis| -> Result<Sdc, String> {
        let library = Library::load(&synthesis.liberty).map_err(|e| e.to_string())?;
        let resolved = synthesis.constraints.resolve(block.name(), &top, &ports);
        Ok(resolved.map_err(|e| e.to_string())?.timing(&library.name))
    };
    let sdc = exploration.synthesis.as_ref().map(timing).transpose()?;
    Ok(Ready { params, profile, top, files, own, sdc, sha256: hex(&hash.finalize()) })
}

fn run_inputs(exploration: &Exploration<'_>, ready: &Ready, mhz: u32, workload: usize) -> Value {
    let workload = &exploration.workloads[workload];
    let dispatcher = match exploration.dispatcher {
        DispatcherKind::Hardware => "hardware",
        DispatcherKind::Behavioural => "behavioural",
        DispatcherKind::Both => "both",
    };
    let mut inputs = json!({
        "top": ready.top, "verilog": ready.sha256, "dispatcher": dispatcher,
        "conditions": exploration.conditions, "driver_launch": exploration.driver_launch,
        "front_end_mhz": mhz, "kernel_end_ns": exploration.kernel_end_ns, "workload": workload.name, "trace": workload.sha256, "profile": ready.profile,
    });
    // The Verilog of a generated one says all of this.
    if ready.own.is_some() {
        inputs["own"] = json!([BlockSpec::FrontEnd(ready.params).arguments(), exploration.step_own]);
    }
    inputs
}

fn run(exploration: &Exploration<'_>, ready: &Ready, mhz: u32, workload: usize) -> Result<Ran, Trouble> {
    let mut simulation = CoSimulation::new(ready.profile.clone(), ready.params.scheduler());
    simulation.policies = vec![Policy::Serial, Policy::Queue, Policy::Window];
    simulation.front_end_mhz = Some(mhz);
    simulation.driver_launch = exploration.driver_launch;
    simulation.kernel_end_ns = exploration.kernel_end_ns;
    simulation.arbiters = vec![ready.params.dispatch().arbiter()];
    simulation.places = ready.params.dispatch().places();
    simulation.hold_idle = ready.params.dispatch().sms().holds();
    simulation.step = ready.own.is_some() && exploration.step_own;
    let options = EngineOptions { rtl: ready.own.clone(), ..EngineOptions::default() };
    let engine = |params| engine(exploration.dispatcher, params, &options);
    let stream = &exploration.workloads[workload].stream;
    let outcome = simulation
        .run(stream, engine)
        .map_err(|e| Trouble { message: e.to_string(), wrong: e.is_wrong() })?;
    let report = outcome.report;
    let cycles = |policy| report.policies.iter().find(|p| p.policy == policy).map_or(0, |p| p.cycles);
    let window = report.policies.iter().find_map(|p| p.window).unwrap_or_default();
    let pair =
        |d: &Distribution| super::report::Cycles { count: d.count, min: d.min, median: d.median, max: d.max };
    Ok(Ran {
        kernels: report.kernels as u64,
        ctas: report.ctas,
        serial_cycles: cycles(Policy::Serial),
        queue_cycles: cycles(Policy::Queue),
        window_cycles: cycles(Policy::Window),
        insert: pair(&window.insert),
        retire_to_dispatch: pair(&window.retire_to_dispatch),
        done_to_first_cta: pair(&window.done_to_first_cta),
        fill_max: window.fill_max.into(),
    })
}
