//! The cpu device: threads of this process as SMs.

use super::device::{Device, DeviceError, GraphId, GraphShape, KernelTime, digest_of};
use super::footprint::initial;
use super::program::Program;
use super::streams::{Graphs, Lacking, Start, Streams};
use crate::runtime::{Cause, Ctas, Grid, Left, MAX_THREADS, Queue, Sms};
use crate::words::counted;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Options of a [`CpuDevice`].
#[derive(Clone, Debug)]
pub struct CpuOptions {
    /// Threads, each an SM that runs one CTA at a time; as many as the machine has processors for 0.
    pub threads: usize,
    /// Streams, at least 1.
    pub streams: u32,
    /// Spend the time that the program's CTAs take; otherwise only touch memory.
    pub work: bool,
    /// Nothing ending for so long, where somebody waits, is an error.
    pub timeout: Duration,
    /// This kernel faults; for tests of what happens then.
    pub fault: Option<u32>,
}

impl Default for CpuOptions {
    fn default() -> Self {
        Self { threads: 0, streams: 8, work: true, timeout: Duration::from_secs(60), fault: None }
    }
}

/// A program on threads of this process. What its memory holds does not depend on the threads' number or luck, but on the order of its kernels
/// alone, as far as hazards are met.
pub struct CpuDevice {
    _sms: Sms,
    shared: Arc<Shared>,
}

struct Shared {
    program: Arc<Program>,
    options: CpuOptions,
    sms: Arc<Queue>,
    image: Vec<AtomicU32>,
    progress: Vec<AtomicU32>,
    began: Instant,
    state: Mutex<State>,
    something_ended: Condvar,
    /// The device goes: nobody waits for what runs, nor can see what it leaves.
    gone: AtomicBool,
}

struct State {
    streams: Streams,
    graphs: Graphs,
    fault: Option<DeviceError>,
    /// Kernels that run.
    running: usize,
    last_end: Instant,
}

/// A kernel whose CTAs are being run.
struct Running {
    start: Start,
    ctas: Ctas,
    shared: Arc<Shared>,
}

/// More only takes memory.
const MAX_STREAMS: usize = 1024;

impl CpuDevice {
    /// Puts a program on threads.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`], [`DeviceError::Call`] where there are no threads to be had, or too many are asked for.
    pub fn new(program: Arc<Program>, options: CpuOptions) -> Result<Self, DeviceError> {
        let device = "cpu".to_string();
        for (call, got, max) in
            [("threads", options.threads, MAX_THREADS), ("streams", options.streams as usize, MAX_STREAMS)]
        {
            if got > max {
                let reason = format!("{got} are too many, choose at most {max}");
                return Err(DeviceError::Call { device, call, reason });
            }
        }
        let sms = Sms::new(options.threads).map_err(|e| DeviceError::Call {
            device: device.clone(),
            call: "thread",
            reason: e.to_string(),
        })?;
        let mut image = Vec::new();
        let words = usize::try_from(program.words()).unwrap_or(usize::MAX);
        image.try_reserve_exact(words).map_err(|e| DeviceError::OutOfMemory {
            device,
            bytes: program.words() * 4,
            what: "the image",
            reason: e.to_string(),
        })?;
        image.extend((0..program.words()).map(|word| AtomicU32::new(initial(word))));
        let streams = options.streams.max(1);
        let now = Instant::now();
        let state = State {
            streams: Streams::new(streams, program.kernels().len()),
            graphs: Graphs::default(),
            fault: None,
            running: 0,
            last_end: now,
        };
        let shared = Shared {
            image,
            progress: (0..streams).map(|_| AtomicU32::new(0)).collect(),
            began: now,
            state: Mutex::new(state),
            something_ended: Condvar::new(),
            gone: AtomicBool::new(false),
            options: CpuOptions { streams, ..options },
            sms: sms.queue().clone(),
            program,
        };
        Ok(Self { _sms: sms, shared: Arc::new(shared) })
    }

    /// Gives the streams something, and starts what may start.
    fn give(&self, f: impl FnOnce(&mut State) -> Result<(), Lacking>) -> Result<(), DeviceError> {
        let mut state = self.shared.lock();
        if let Some(fault) = &state.fault {
            return Err(fault.clone());
        }
        f(&mut state).map_err(|what| DeviceError::Unsupported { device: self.name(), what })?;
        self.shared.settle(state, Vec::new());
        Ok(())
    }
}

/// The threads end with the device, and so must what they run: a kernel that took too long would keep whoever gave it up waiting all the same.
impl Drop for CpuDevice {
    fn drop(&mut self) {
        self.shared.gone.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts what may start.
    fn settle(self: &Arc<Self>, mut state: MutexGuard<'_, State>, mut starts: Vec<Start>) {
        state.streams.settle(&mut starts);
        for (stream, progress) in self.progress.iter().enumerate() {
            progress.store(state.streams.progress(stream as u32), Ordering::Release);
        }
        if state.fault.is_some() {
            starts.clear();
        }
        state.running += starts.len();
        drop(state);
        for start in starts {
            let ctas = self.program.kernels()[start.kernel as usize].ctas();
            let running = Running { start, ctas: Ctas::new(ctas), shared: self.clone() };
            self.sms.give(0, ctas, Arc::new(running));
        }
    }

    /// Waits until the state is so: for the options' timeout after the last end of a kernel, or after the call, but no longer.
    fn wait_until(
        &self,
        done: impl Fn(&State) -> Result<bool, DeviceError>,
    ) -> Result<MutexGuard<'_, State>, DeviceError> {
        let called = Instant::now();
        let mut state = self.lock();
        while !done(&state)? {
            let waited = state.last_end.max(called).elapsed();
            let Some(left) = self.options.timeout.checked_sub(waited) else {
                let suspects = counted(state.running, "kernel");
                return Err(DeviceError::Timeout { device: self.name(), waited, suspects });
            };
            let woken = self.something_ended.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(state)
    }

    fn name(&self) -> String {
        format!("cpu, {}", counted(self.sms.threads(), "thread"))
    }
}

impl Grid for Running {
    fn work(&self, go_on: &dyn Fn() -> bool) -> bool {
        let (shared, k) = (&self.shared, self.start.kernel);
        let kernel = &shared.program.kernels()[k as usize];
        let time = Duration::from_nanos(if shared.options.work { kernel.work.cta_ns } else { 0 });
        let run = |cta| {
            if shared.options.fault == Some(k) {
                return Err(Cause::Returned("a fault that was asked for".into()));
            }
            let gone = || shared.gone.load(Ordering::Relaxed);
            if gone() {
                return Err(Cause::Returned("its device is gone".into()));
            }
            let began = Instant::now();
            kernel.run_cta(k, cta, &shared.image[..]);
            while !time.is_zero() && began.elapsed() < time && !gone() {
                std::hint::spin_loop();
            }
            Ok(())
        };
        let failed = |cause: Cause| {
            let (name, reason) = (kernel.name.clone(), cause.to_string());
            shared.lock().fault.get_or_insert(DeviceError::Kernel { kernel: k, name, reason });
        };
        let began = match self.ctas.work(run, failed, go_on) {
            Left::Ended(began) => began,
            left => return left == Left::Some,
        };
        let since_then = |moment: Instant| (moment - shared.began).as_nanos() as u64;
        let mut state = shared.lock();
        state.running -= 1;
        state.last_end = Instant::now();
        state.streams.times[k as usize] =
            KernelTime { start: since_then(began), end: since_then(state.last_end) };
        let mut starts = Vec::new();
        state.streams.ended(self.start, &mut starts);
        shared.settle(state, starts);
        shared.something_ended.notify_all();
        false
    }
}

impl Device for CpuDevice {
    fn name(&self) -> String {
        self.shared.name()
    }

    fn streams(&self) -> u32 {
        self.shared.options.streams
    }

    fn reset(&self) -> Result<(), DeviceError> {
        // What runs still writes.
        let mut state = self.shared.wait_until(|state| Ok(state.running == 0))?;
        state.streams = Streams::new(self.streams(), self.shared.program.kernels().len());
        state.fault = None;
        self.shared.progress.iter().for_each(|p| p.store(0, Ordering::Relaxed));
        for (word, value) in self.shared.image.iter().enumerate() {
            value.store(initial(word as u64), Ordering::Relaxed);
        }
        Ok(())
    }

    fn launch(&self, stream: u32, kernel: u32, _: bool) -> Result<(), DeviceError> {
        self.give(|state| state.streams.kernel(stream, kernel))
    }

    fn record(&self, stream: u32, event: u32) -> Result<(), DeviceError> {
        self.give(|state| state.streams.record(stream, event))
    }

    fn wait(&self, stream: u32, event: u32) -> Result<(), DeviceError> {
        self.give(|state| state.streams.wait(stream, event))
    }

    fn mark(&self, stream: u32, value: u32) -> Result<(), DeviceError> {
        self.give(|state| state.streams.mark(stream, value))
    }

    fn progress(&self, stream: u32) -> u32 {
        self.shared.progress.get(stream as usize).map_or(0, |p| p.load(Ordering::Acquire))
    }

    fn check(&self, _: u32) -> Result<(), DeviceError> {
        // A thread that polls leaves the processor to those that work.
        std::thread::yield_now();
        self.shared.lock().fault.clone().map_or(Ok(()), Err)
    }

    fn synchronise(&self, stream: u32) -> Result<(), DeviceError> {
        let idle = |state: &State| match &state.fault {
            Some(fault) => Err(fault.clone()),
            None => Ok(state.streams.is_idle(stream)),
        };
        self.shared.wait_until(idle).map(|_| ())
    }

    fn build_graph(&self, shape: &GraphShape) -> Result<GraphId, DeviceError> {
        Ok(self.shared.lock().graphs.build(shape))
    }

    fn update_graph(&self, graph: GraphId, shape: &GraphShape) -> Result<bool, DeviceError> {
        Ok(self.shared.lock().graphs.update(graph, shape))
    }

    fn launch_graph(&self, stream: u32, graph: GraphId) -> Result<(), DeviceError> {
        self.give(|state| {
            let shape = state.graphs.get(graph);
            state.streams.graph(stream, shape)
        })
    }

    fn destroy_graph(&self, graph: GraphId) {
        self.shared.lock().graphs.destroy(graph);
    }

    fn image(&self) -> Result<Vec<u32>, DeviceError> {
        let words = &self.shared.image;
        let mut image = Vec::new();
        image.try_reserve_exact(words.len()).map_err(|e| DeviceError::OutOfMemory {
            device: self.name(),
            bytes: words.len() as u64 * 4,
            what: "a copy of the image",
            reason: e.to_string(),
        })?;
        image.extend(words.iter().map(|word| word.load(Ordering::Relaxed)));
        Ok(image)
    }

    fn digest(&self) -> Result<u64, DeviceError> {
        Ok(digest_of(self.shared.image.iter().map(|word| word.load(Ordering::Relaxed))))
    }

    fn times(&self) -> Result<Vec<KernelTime>, DeviceError> {
        Ok(self.shared.lock().streams.times.clone())
    }
}
