//! Synthetic streams that mix SIMT and TENSOR kernels, in shapes after Figure 2 of Kitsune (Davies et al., 2025).
//!
//! A tile is a piece of the batch with memory of its own: nothing joins two tiles but the weights that both read, so that their
//! kernels may overlap in any way that the data flow within each leaves open. Nothing is measured or random: the same
//! parameters give the same trace.

use crate::ktrace::{Event, Gpu, Header, Kernel, KernelType, Run, Segment, Trace};
use std::ops::RangeInclusive;
use thiserror::Error;

/// Rows and columns of the output that one CTA of a GEMM computes.
const GEMM_TILE: u64 = 128;

/// CTAs across the output of a GEMM.
const GEMM_COLUMNS: u32 = 4;

/// Columns of every matrix, and with that N and K of every GEMM.
const WIDTH: u64 = GEMM_TILE * GEMM_COLUMNS as u64;

/// Three stages of a 128x32 and a 32x128 slice of fp16.
const GEMM_SMEM: u64 = 3 * (128 * 32 + 32 * 128) * FP16;

/// With 256 threads half of an SM's 65536: one GEMM CTA leaves room for SIMT CTAs beside it.
const GEMM_REGS: u32 = 128;

const SIMT_REGS: u32 = 24;

/// Threads of every CTA.
const THREADS: u32 = 256;

/// What a SIMT thread reads of each input: one vector load.
const VECTOR_BYTES: u64 = 16;

const FP16: u64 = 2;

const FP32: u64 = 4;

/// Where memory begins, and what every buffer is aligned to.
const BASE: u64 = 1 << 24;
const ALIGNMENT: u64 = 256;

/// Version of what is generated: another number where the same parameters give another trace.
const GENERATOR: u32 = 1;

/// A shape of data flow within a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A chain of stages, GEMM and elementwise by turns.
    Pipeline,
    /// GEMMs over slices of K, whose partial results a binary tree of SIMT kernels adds up; a stage is a level of the tree.
    Reduction,
    /// A GEMM whose result a SIMT kernel and a second GEMM read; with more stages, that of the second GEMM forks again.
    Fork,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Pipeline, Self::Reduction, Self::Fork];

    /// The name on the command line and, after `mix-`, in traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pipeline => "pipeline",
            Self::Reduction => "reduction",
            Self::Fork => "fork",
        }
    }

    /// The stages that it can have.
    pub fn stages(self) -> RangeInclusive<u32> {
        match self {
            Self::Pipeline => 2..=64,
            Self::Reduction => 1..=6,
            Self::Fork => 1..=32,
        }
    }
}

/// Parameters that no mix can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MixError {
    /// Too few or too many.
    #[error("--{parameter} {got} is outside {min}..={max} for a {}; choose a number in that range", shape.name())]
    OutOfRange {
        /// Its name.
        parameter: &'static str,
        /// The shape that was asked for.
        shape: Shape,
        /// What was asked.
        got: u32,
        /// Least value.
        min: u32,
        /// Greatest value.
        max: u32,
    },
    /// CTAs that do not fill their rows.
    #[error(
        "--ctas {got} is not a multiple of {GEMM_COLUMNS}, the number of CTAs across a GEMM; choose {less} or {more}"
    )]
    NotAMultiple {
        /// What was asked.
        got: u32,
        /// The multiple below.
        less: u32,
        /// The multiple above.
        more: u32,
    },
}

/// A synthetic mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    /// The data flow within a tile.
    pub shape: Shape,
    /// How much of it, in [`Shape::stages`].
    pub stages: u32,
    /// Independent tiles, in [`Mix::TILES`].
    pub tiles: u32,
    /// CTAs of each GEMM, in [`Mix::CTAS`], a multiple of 4.
    pub ctas: u32,
}

impl Mix {
    /// The tiles that a mix can have.
    pub const TILES: RangeInclusive<u32> = 1..=1024;

    /// The CTAs that each GEMM can have.
    pub const CTAS: RangeInclusive<u32> = 4..=16_384;

    /// A mix of 48 to 60 kernels. With one GEMM CTA on an SM, and SIMT CTAs beside it, each kernel takes one or two waves on the 132
    /// SMs of an H100, and three to eight on the 46 of an RTX 3070.
    pub fn new(shape: Shape) -> Self {
        let (stages, tiles) = match shape {
            Shape::Pipeline => (6, 8),
            Shape::Reduction => (3, 4),
            Shape::Fork => (1, 16),
        };
        Self { shape, stages, tiles, ctas: 128 }
    }

    /// Its name in traces: that of its shape, and its parameters where they are not those of [`Mix::new`].
    pub fn name(&self) -> String {
        let name = format!("mix-{}", self.shape.name());
        if *self == Self::new(self.shape) {
            name
        } else {
            format!("{name}-s{}-t{}-c{}", self.stages, self.tiles, self.ctas)
        }
    }

    fn check(&self) -> Result<(), MixError> {
        let shape = self.shape;
        for (parameter, got, range) in [
            ("stages", self.stages, shape.stages()),
            ("tiles", self.tiles, Self::TILES),
            ("ctas", self.ctas, Self::CTAS),
        ] {
            let (min, max) = range.into_inner();
            if !(min..=max).contains(&got) {
                return Err(MixError::OutOfRange { parameter, shape, got, min, max });
            }
        }
        let less = self.ctas - self.ctas % GEMM_COLUMNS;
        if less != self.ctas {
            return Err(MixError::NotAMultiple { got: self.ctas, less, more: less + GEMM_COLUMNS });
        }
        Ok(())
    }

    /// The trace: one run, tile after tile as an application launches it.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn trace(&self) -> Result<Trace, MixError> {
        self.check()?;
        let mut flow = Flow { ctas: self.ctas, tile: 0, free: BASE, kernels: Vec::new() };
        let stages = self.stages as usize;
        let (weights, biases) = match self.shape {
            Shape::Pipeline => (stages.div_ceil(2), stages / 2),
            Shape::Reduction => (0, 0), // both operands are the tile's own
            Shape::Fork => (stages + 1, stages),
        };
        let weights: Vec<Segment> = (0..weights).map(|_| flow.weights()).collect();
        let biases: Vec<Segment> = (0..biases).map(|_| flow.buffer(WIDTH * FP16)).collect();
        for tile in 0..self.tiles {
            flow.tile = tile;
            match self.shape {
                Shape::Pipeline => flow.pipeline(&weights, &biases),
                Shape::Reduction => flow.reduction(stages),
                Shape::Fork => flow.fork(&weights, &biases),
            }
        }
        let span = [BASE, flow.free];
        let kernels = flow.kernels.len() as u64;
        let events = flow.kernels.into_iter().map(Event::Kernel).collect();
        let runs = vec![Run { number: 0, input: None, events }];
        Ok(Trace { header: self.header(kernels, span), runs, warnings: Vec::new() })
    }

    fn header(&self, kernels: u64, span: [u64; 2]) -> Header {
        let Self { shape, stages, tiles, ctas } = *self;
        let shape = shape.name();
        Header {
            name: self.name(),
            source: "synthetic".into(),
            producer: format!("windlass mix, generator {GENERATOR}"),
            gpu: Gpu { name: "assumed".into(), sms: None },
            params: serde_json::json!({ "ctas": ctas, "shape": shape, "stages": stages, "tiles": tiles }),
            kernels,
            span: Some(span),
            notes: format!(
                "synthetic, nothing is recorded or measured; a {shape} after Figure 2 of Kitsune (Davies et al., 2025), made by \
                 `windlass mix {shape} --stages {stages} --tiles {tiles} --ctas {ctas}`; GEMM CTAs of 128x128x32 in fp16, \
                 SIMT threads with one vector of 16 bytes per input; tiles share weights and biases only"
            ),
        }
    }
}

/// A stream in the making.
struct Flow {
    ctas: u32,
    /// The tile that kernels are for.
    tile: u32,
    /// One past the last address in use.
    free: u64,
    kernels: Vec<Kernel>,
}

impl Flow {
    fn pipeline(&mut self, weights: &[Segment], biases: &[Segment]) {
        let mut data = self.activations(FP16);
        for (i, weights) in weights.iter().enumerate() {
            data = self.gemm(&format!("s{}", 2 * i), data, *weights, FP16);
            if let Some(bias) = biases.get(i) {
                data = self.bias_relu(&format!("s{}", 2 * i + 1), data, *bias);
            }
        }
    }

    fn reduction(&mut self, levels: usize) {
        let slices = 1 << levels;
        let mut partial: Vec<Segment> = (0..slices)
            .map(|slice| {
                let (a, b) = (self.activations(FP16), self.weights());
                self.gemm(&format!("k{slice}"), a, b, FP32)
            })
            .collect();
        for level in 1..=levels {
            let pairs = partial.chunks_exact(2).enumerate();
            partial = pairs.map(|(i, pair)| self.add(&format!("l{level}_{i}"), pair)).collect();
        }
    }

    fn fork(&mut self, weights: &[Segment], biases: &[Segment]) {
        let input = self.activations(FP16);
        let mut produced = self.gemm("s0", input, weights[0], FP16);
        for (stage, (weights, bias)) in (1..).zip(weights[1..].iter().zip(biases)) {
            self.bias_relu(&format!("s{stage}"), produced, *bias);
            produced = self.gemm(&format!("s{stage}"), produced, *weights, FP16);
        }
    }

    fn rows(&self) -> u64 {
        u64::from(self.ctas / GEMM_COLUMNS) * GEMM_TILE
    }

    fn buffer(&mut self, bytes: u64) -> Segment {
        let segment = Segment { addr: self.free, bytes };
        self.free = segment.end().next_multiple_of(ALIGNMENT);
        segment
    }

    fn activations(&mut self, element: u64) -> Segment {
        self.buffer(self.rows() * WIDTH * element)
    }

    fn weights(&mut self) -> Segment {
        self.buffer(WIDTH * WIDTH * FP16)
    }

    /// A product; accumulators are of fp32, and `element` bytes of each are kept.
    fn gemm(&mut self, place: &str, a: Segment, b: Segment, element: u64) -> Segment {
        let product = self.activations(element);
        let mnk = [self.rows(), WIDTH, WIDTH, 1];
        self.kernels.push(Kernel {
            name: format!("gemm_128x128x32_t{}_{place}", self.tile),
            op: "matmul".into(),
            kind: KernelType::Tensor,
            grid: [GEMM_COLUMNS, self.ctas / GEMM_COLUMNS, 1],
            smem: GEMM_SMEM,
            regs: Some(GEMM_REGS),
            flops: 2 * mnk.iter().product::<u64>(),
            mnk: Some(mnk),
            ..self.kernel(vec![a, b], product)
        });
        product
    }

    /// max(0, x + b) with a bias for each column: two operations per element.
    fn bias_relu(&mut self, place: &str, data: Segment, bias: Segment) -> Segment {
        self.elementwise("bias_relu", place, vec![data, bias], FP16, 2)
    }

    /// The sum of partial results.
    fn add(&mut self, place: &str, partial: &[Segment]) -> Segment {
        self.elementwise("add", place, partial.to_vec(), FP32, 1)
    }

    fn elementwise(
        &mut self,
        op: &str,
        place: &str,
        inputs: Vec<Segment>,
        element: u64,
        flops: u64,
    ) -> Segment {
        let result = self.activations(element);
        let ctas = result.bytes.div_ceil(u64::from(THREADS) * VECTOR_BYTES);
        self.kernels.push(Kernel {
            name: format!("{op}_t{}_{place}", self.tile),
            op: op.into(),
            grid: [ctas as u32, 1, 1], // at most 2^18, by the ranges of the parameters
            flops: flops * result.bytes / element,
            ..self.kernel(inputs, result)
        });
        result
    }

    /// What all kernels have in common, as a SIMT kernel.
    fn kernel(&self, reads: Vec<Segment>, write: Segment) -> Kernel {
        Kernel {
            index: self.kernels.len() as u64,
            name: String::new(),
            op: String::new(),
            kind: KernelType::Simt,
            grid: [1; 3],
            block: [THREADS, 1, 1],
            smem: 0,
            regs: Some(SIMT_REGS),
            flops: 0,
            mnk: None,
            reads,
            writes: vec![write],
            traffic: None,
            dur_ns: None,
            stream: 0,
            part: None,
            est: ["grid", "block", "smem", "regs"].map(String::from).to_vec(),
        }
    }
}
