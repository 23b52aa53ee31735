//! What streams, events and graphs mean: the order in which what they hold may start. Runs nothing itself; the devices on the CPU do.

use super::device::{GraphShape, KernelTime};
use std::collections::VecDeque;
use std::sync::Arc;

/// A kernel that may start: to be given back to [`Streams::ended`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    stream: usize,
    /// Its node, where it is a graph's.
    node: Option<u32>,
    /// Its number in the program.
    pub(super) kernel: u32,
}

enum Op {
    Kernel(u32),
    Record(usize),
    Wait(usize),
    Mark(u32),
    Graph(Arc<GraphShape>),
}

/// A graph that runs.
struct Active {
    shape: Arc<GraphShape>,
    /// Unfinished nodes that each waits for.
    waits_for: Vec<u32>,
    /// Of each node those that wait for it.
    downstream: Vec<Vec<u32>>,
    left: usize,
}

#[derive(Default)]
struct Stream {
    ops: VecDeque<Op>,
    /// A kernel, or a graph, has not ended.
    busy: bool,
    graph: Option<Active>,
    progress: u32,
}

/// What a device does not have.
pub(super) type Lacking = &'static str;
const NO_STREAM: Lacking = "a stream of that number";
const NO_KERNEL: Lacking = "a kernel of that number";

/// Events there can be: as many as of a `CudaDevice`. A wild number must not take all memory.
const MAX_EVENTS: usize = (1 << 24) - 1;

/// All streams of a device.
#[derive(Default)]
pub(super) struct Streams {
    streams: Vec<Stream>,
    /// Of each event, its newest record.
    events: Vec<Option<usize>>,
    /// Of each record, whether it has happened.
    records: Vec<bool>,
    pub(super) times: Vec<KernelTime>,
}

impl Streams {
    pub(super) fn new(streams: u32, kernels: usize) -> Self {
        Self {
            streams: (0..streams).map(|_| Stream::default()).collect(),
            times: vec![KernelTime::default(); kernels],
            ..Self::default()
        }
    }

    /// Gives a stream something; an error where there is no such stream.
    fn give(&mut self, stream: u32, op: Op) -> Result<(), Lacking> {
        let stream = self.streams.get_mut(stream as usize).ok_or(NO_STREAM)?;
        stream.ops.push_back(op);
        Ok(())
    }

    pub(super) fn kernel(&mut self, stream: u32, kernel: u32) -> Result<(), Lacking> {
        match self.times.get(kernel as usize) {
            Some(_) => self.give(stream, Op::Kernel(kernel)),
            None => Err(NO_KERNEL),
        }
    }

    pub(super) fn graph(&mut self, stream: u32, shape: Option<Arc<GraphShape>>) -> Result<(), Lacking> {
        let shape = shape.ok_or("a graph of that number")?;
        let kernels = self.times.len();
        if shape.kernels.iter().any(|k| *k as usize >= kernels) {
            return Err(NO_KERNEL);
        }
        // A node waits for nodes before it, each once.
        let ordered = |(node, upstream): (usize, &Vec<u32>)| {
            upstream.is_sorted_by(|a, b| a < b) && upstream.last().is_none_or(|u| (*u as usize) < node)
        };
        if shape.upstream.len() != shape.kernels.len() || !shape.upstream.iter().enumerate().all(ordered) {
            return Err("graphs whose nodes do not wait for earlier ones alone");
        }
        self.give(stream, Op::Graph(shape))
    }

    pub(super) fn record(&mut self, stream: u32, event: u32) -> Result<(), Lacking> {
        if event as usize >= MAX_EVENTS {
            return Err("that many events");
        }
        let record = self.records.len();
        self.give(stream, Op::Record(record))?;
        self.records.push(false);
        let event = event as usize;
        if self.events.len() <= event {
            self.events.resize(event + 1, None);
        }
        self.events[event] = Some(record);
        Ok(())
    }

    /// As in CUDA, an event that was never recorded makes nobody wait.
    pub(super) fn wait(&mut self, stream: u32, event: u32) -> Result<(), Lacking> {
        match self.events.get(event as usize).copied().flatten() {
            Some(record) => self.give(stream, Op::Wait(record)),
            None => Ok(()),
        }
    }

    pub(super) fn mark(&mut self, stream: u32, value: u32) -> Result<(), Lacking> {
        self.give(stream, Op::Mark(value))
    }

    pub(super) fn progress(&self, stream: u32) -> u32 {
        self.streams.get(stream as usize).map_or(0, |s| s.progress)
    }

    /// Nothing of the stream is left.
    pub(super) fn is_idle(&self, stream: u32) -> bool {
        self.streams.get(stream as usize).is_none_or(|s| s.ops.is_empty() && !s.busy)
    }

    /// What may start now, in the order of the streams.
    pub(super) fn settle(&mut self, starts: &mut Vec<Start>) {
        loop {
            let mut recorded = false;
            for (n, stream) in self.streams.iter_mut().enumerate() {
                while !stream.busy {
                    match stream.ops.front() {
                        None => break,
                        Some(Op::Wait(record)) if !self.records[*record] => break,
                        Some(_) => {}
                    }
                    match stream.ops.pop_front() {
                        Some(Op::Kernel(kernel)) => {
                            stream.busy = true;
                            starts.push(Start { stream: n, node: None, kernel });
                        }
                        Some(Op::Graph(shape)) => {
                            let waits_for: Vec<u32> = shape.upstream.iter().map(|u| u.len() as u32).collect();
                            for (node, _) in waits_for.iter().enumerate().filter(|(_, w)| **w == 0) {
                                let kernel = shape.kernels[node];
                                starts.push(Start { stream: n, node: Some(node as u32), kernel });
                            }
                            let mut downstream = vec![Vec::new(); waits_for.len()];
                            for (node, upstream) in shape.upstream.iter().enumerate() {
                                upstream.iter().for_each(|u| downstream[*u as usize].push(node as u32));
                            }
                            let left = shape.kernels.len();
                            stream.busy = left > 0;
                            stream.graph = Some(Active { shape, waits_for, downstream, left });
                        }
                        Some(Op::Record(record)) => {
                            self.records[record] = true;
                            recorded = true;
                        }
                        Some(Op::Mark(value)) => stream.progress = value,
                        Some(Op::Wait(_)) | None => {}
                    }
                }
            }
            if !recorded {
                return;
            }
        }
    }

    /// A kernel has ended; then [`Streams::settle`].
    pub(super) fn ended(&mut self, start: Start, starts: &mut Vec<Start>) {
        let stream = &mut self.streams[start.stream];
        let (Some(node), Some(graph)) = (start.node, &mut stream.graph) else {
            stream.busy = false;
            return;
        };
        graph.left -= 1;
        stream.busy = graph.left > 0;
        for later in &graph.downstream[node as usize] {
            let waits_for = &mut graph.waits_for[*later as usize];
            *waits_for -= 1;
            if *waits_for == 0 {
                let kernel = graph.shape.kernels[*later as usize];
                starts.push(Start { stream: start.stream, node: Some(*later), kernel });
            }
        }
    }
}

/// Graphs that were built.
#[derive(Default)]
pub(super) struct Graphs(Vec<Option<Arc<GraphShape>>>);

impl Graphs {
    pub(super) fn build(&mut self, shape: &GraphShape) -> super::GraphId {
        self.0.push(Some(Arc::new(shape.clone())));
        super::GraphId((self.0.len() - 1) as u32)
    }

    /// As CUDA does: the same nodes and edges, other kernels in them.
    pub(super) fn update(&mut self, graph: super::GraphId, shape: &GraphShape) -> bool {
        match self.0.get_mut(graph.0 as usize) {
            Some(Some(old)) if old.upstream == shape.upstream => {
                *old = Arc::new(shape.clone());
                true
            }
            _ => false,
        }
    }

    pub(super) fn get(&self, graph: super::GraphId) -> Option<Arc<GraphShape>> {
        self.0.get(graph.0 as usize).cloned().flatten()
    }

    pub(super) fn destroy(&mut self, graph: super::GraphId) {
        if let Some(graph) = self.0.get_mut(graph.0 as usize) {
            *graph = None;
        }
    }
}
