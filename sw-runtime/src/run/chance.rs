//! A device whose kernels start and end when a seed says, as late and as much at the same time as streams and events allow: what a policy's
//! order leaves to luck shows in the image.

use super::device::{Device, DeviceError, GraphId, GraphShape, KernelTime};
use super::footprint::initial_image;
use super::program::Program;
use super::streams::{Graphs, Lacking, Start, Streams};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A program on a device of chance. A kernel reads all its words when it starts and writes all of them when it ends.
pub struct ChanceDevice {
    program: Arc<Program>,
    streams: u32,
    state: Mutex<State>,
}

struct State {
    streams: Streams,
    graphs: Graphs,
    image: Vec<u32>,
    /// May start.
    ready: Vec<Start>,
    /// Have started, with what they will write.
    running: Vec<(Start, Vec<(u64, u32)>)>,
    random: u64,
    clock: u64,
}

impl State {
    /// SplitMix64.
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn settle(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        self.streams.settle(&mut ready);
        self.ready = ready;
    }

    /// Starts or ends one kernel; `false` where there is none.
    fn step(&mut self, program: &Program) -> bool {
        let choices = self.ready.len() + self.running.len();
        if choices == 0 {
            return false;
        }
        self.clock += 1;
        let choice = (self.random() % choices as u64) as usize;
        if choice < self.ready.len() {
            let start = self.ready.swap_remove(choice);
            let kernel = &program.kernels()[start.kernel as usize];
            let outputs = kernel.outputs(start.kernel, &self.image);
            self.streams.times[start.kernel as usize].start = self.clock;
            self.running.push((start, outputs));
        } else {
            let (start, outputs) = self.running.swap_remove(choice - self.ready.len());
            for (word, value) in outputs {
                self.image[word as usize] = value;
            }
            self.streams.times[start.kernel as usize].end = self.clock;
            self.streams.ended(start, &mut self.ready);
            self.settle();
        }
        true
    }
}

impl ChanceDevice {
    /// So many streams, at least one, and a seed.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`].
    pub fn new(program: Arc<Program>, streams: u32, seed: u64) -> Result<Self, DeviceError> {
        let streams = streams.max(1);
        let state = State {
            streams: Streams::new(streams, program.kernels().len()),
            graphs: Graphs::default(),
            image: initial_image(program.words())?,
            ready: Vec::new(),
            running: Vec::new(),
            random: seed,
            clock: 0,
        };
        Ok(Self { streams, state: Mutex::new(state), program })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the streams something; now and then something happens.
    fn give(&self, f: impl FnOnce(&mut State) -> Result<(), Lacking>) -> Result<(), DeviceError> {
        let mut state = self.lock();
        f(&mut state).map_err(|what| DeviceError::Unsupported { device: self.name(), what })?;
        state.settle();
        while state.random().is_multiple_of(4) && state.step(&self.program) {}
        Ok(())
    }
}

impl Device for ChanceDevice {
    fn name(&self) -> String {
        "chance".into()
    }

    fn streams(&self) -> u32 {
        self.streams
    }

    fn reset(&self) -> Result<(), DeviceError> {
        let mut state = self.lock();
        state.streams = Streams::new(self.streams, self.program.kernels().len());
        state.image = initial_image(self.program.words())?;
        state.ready.clear();
        state.running.clear();
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
        self.lock().streams.progress(stream)
    }

    fn check(&self, _: u32) -> Result<(), DeviceError> {
        self.lock().step(&self.program);
        Ok(())
    }

    fn synchronise(&self, stream: u32) -> Result<(), DeviceError> {
        loop {
            let mut state = self.lock();
            if state.streams.is_idle(stream) {
                return Ok(());
            }
            let stepped = state.step(&self.program);
            drop(state);
            // Others that synchronise have their turn.
            std::thread::yield_now();
            if !stepped {
                // A wait for an event that nobody will record: on a real device, for ever.
                let suspects = "none".into();
                return Err(DeviceError::Timeout {
                    device: self.name(),
                    waited: Default::default(),
                    suspects,
                });
            }
        }
    }

    fn build_graph(&self, shape: &GraphShape) -> Result<GraphId, DeviceError> {
        Ok(self.lock().graphs.build(shape))
    }

    fn update_graph(&self, graph: GraphId, shape: &GraphShape) -> Result<bool, DeviceError> {
        Ok(self.lock().graphs.update(graph, shape))
    }

    fn launch_graph(&self, stream: u32, graph: GraphId) -> Result<(), DeviceError> {
        self.give(|state| {
            let shape = state.graphs.get(graph);
            state.streams.graph(stream, shape)
        })
    }

    fn destroy_graph(&self, graph: GraphId) {
        self.lock().graphs.destroy(graph);
    }

    fn image(&self) -> Result<Vec<u32>, DeviceError> {
        Ok(self.lock().image.clone())
    }

    fn times(&self) -> Result<Vec<KernelTime>, DeviceError> {
        Ok(self.lock().streams.times.clone())
    }
}
