//! A network whose kernels depend on the image: gates skip blocks or take a short way through them, and a router picks an expert.
//!
//! ```text
//! image ─ convolution ─ block ─ … ─ block ─ sums ─ layer norm ─ router ─ one expert of many ─ + ─ classes
//!                         │ gate: skip │ 1×1 convolution │ two 3×3 convolutions
//! ```
//!
//! Gates are as in SkipNet (Wang et al., ECCV 2018), the experts as in Switch Transformers (Fedus et al., 2022). Gate and router are read back
//! by the host, which then launches what they ask for. While the host waits for one image's gate, the kernels of the others run.
//! Weights come from a generator and mean nothing.

use crate::error::{MAX_ELEMENTS, number, size};
use crate::random::Random;
use crate::{Activation, Binary, Convolution, Error, Library};
use windlass_runtime::runtime::{Buffer, Runtime, Ticket, View};

const NAME: &str = "dynamic_network";
/// Colours of an image.
const COLOURS: usize = 3;
const EPSILON: f32 = 1e-5;

/// The network and what goes through it.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// For the weights.
    pub seed: u64,
    /// Images of 3 × side × side, 1 to 4096 of them; each number finite.
    pub images: Vec<Vec<f32>>,
    /// Rows and columns of an image, 1 to 1024.
    pub side: usize,
    /// Channels within the network, 1 to 1024.
    pub channels: usize,
    /// Blocks that can be skipped, 0 to 256.
    pub blocks: usize,
    /// 1 to 256.
    pub experts: usize,
    /// 1 to 65536.
    pub classes: usize,
    /// The experts' products on tensor cores; the result is then another, by their rounding.
    pub tensor_cores: bool,
}

impl Config {
    /// A small network of 8 channels, 6 blocks, 4 experts and 10 classes, for images of 3 × 12 × 12 that come from a seed of their own.
    pub fn new(seed: u64, images: usize, image_seed: u64) -> Self {
        let side = 12;
        let mut random = Random::new(image_seed);
        let images = (0..images).map(|_| image(&mut random, side)).collect();
        Self { seed, images, side, channels: 8, blocks: 6, experts: 4, classes: 10, tensor_cores: false }
    }

    fn check(&self) -> Result<(), Error> {
        size(NAME, "images", self.images.len(), 1..=4096)?;
        size(NAME, "side", self.side, 1..=1024)?;
        size(NAME, "channels", self.channels, 1..=1024)?;
        size(NAME, "blocks", self.blocks, 0..=256)?;
        size(NAME, "experts", self.experts, 1..=256)?;
        size(NAME, "classes", self.classes, 1..=65536)?;
        let pixels = self.images.len() * self.channels * self.side * self.side;
        size(NAME, "images × channels × side²", pixels, 1..=MAX_ELEMENTS)?;
        let want = COLOURS * self.side * self.side;
        for image in &self.images {
            if image.len() != want {
                let shape = vec![COLOURS, self.side, self.side];
                return Err(Error::Length { of: NAME, argument: "image", got: image.len(), want, shape });
            }
            image.iter().try_for_each(|x| number(NAME, "image", *x, f32::MIN..=f32::MAX))?;
        }
        Ok(())
    }
}

/// Stripes of a random direction, width, contrast and brightness in each colour, and noise.
fn image(random: &mut Random, side: usize) -> Vec<f32> {
    let mut pixels = Vec::with_capacity(COLOURS * side * side);
    for _ in 0..COLOURS {
        let [across, down, contrast, bright, noise] = [2.0, 2.0, 1.5, 1.0, 0.5].map(|x| x * random.signed());
        for at in 0..side * side {
            let phase = across * (at % side) as f32 + down * (at / side) as f32;
            // A wave of parabolas, which is the same on every machine.
            let turn = phase - 2.0 * (phase / 2.0).floor() - 1.0;
            pixels.push(bright + contrast * turn * (1.0 - turn.abs()) * 4.0 + noise * random.signed());
        }
    }
    pixels
}

/// What a gate lets an image do at a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Branch {
    /// Nothing.
    Skip,
    /// A 1×1 convolution beside the image.
    Light,
    /// Two 3×3 convolutions beside the image.
    Heavy,
}

/// In the order of a gate's numbers.
const BRANCHES: [Branch; 3] = [Branch::Skip, Branch::Light, Branch::Heavy];

/// What became of the images.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Images × classes; each row adds up to 1.
    pub scores: Vec<f32>,
    /// Images × channels × side × side: what the last block left.
    pub activations: Vec<f32>,
    /// The way of each image through the blocks.
    pub branches: Vec<Vec<Branch>>,
    /// The expert of each image.
    pub experts: Vec<usize>,
    /// Kernels launched.
    pub kernels: u64,
}

/// Weights of a block, and of its gate.
struct Block {
    gate: [Buffer<f32>; 2],
    light: [Buffer<f32>; 2],
    heavy: [[Buffer<f32>; 2]; 2],
}

/// Takes memory, and gives it back at the end.
struct Pool<'a> {
    rt: &'a mut Runtime,
    random: Random,
    taken: Vec<Buffer<f32>>,
}

impl Pool<'_> {
    fn zeros(&mut self, len: usize) -> Result<Buffer<f32>, Error> {
        let buffer = self.rt.buffer(len)?;
        self.taken.push(buffer);
        Ok(buffer)
    }

    /// Weights for sums of `inputs` products, and a bias for each of `outputs`.
    fn layer(&mut self, inputs: usize, outputs: usize) -> Result<[Buffer<f32>; 2], Error> {
        let scale = (3.0 / inputs as f32).sqrt();
        let (weights, biases) =
            (self.random.vector(inputs * outputs, scale), self.random.vector(outputs, 0.2));
        let layer = [self.rt.buffer_from(&weights)?, self.rt.buffer_from(&biases)?];
        self.taken.extend(layer);
        Ok(layer)
    }

    fn each<T>(
        &mut self,
        count: usize,
        make: impl Fn(&mut Self) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        (0..count).map(|_| make(self)).collect()
    }
}

/// The first of the largest.
fn largest(values: &[f32]) -> usize {
    let better = |best: usize, at: usize| if values[at] > values[best] { at } else { best };
    (0..values.len()).fold(0, better)
}

/// Runs the images through the network. All results are the same to the last bit for every window and policy of an executor.
///
/// # Errors
/// [`Error::Range`], [`Error::Length`]: a part of the configuration. [`Error::Runtime`]; buffers are left behind with the runtime then.
pub fn run(rt: &mut Runtime, config: &Config) -> Result<Output, Error> {
    config.check()?;
    let kernels = Library::register(rt)?;
    let mut pool = Pool { rt, random: Random::new(config.seed), taken: Vec::new() };
    let output = forward(&kernels, &mut pool, config)?;
    pool.taken.iter().try_for_each(|buffer| pool.rt.release(*buffer))?;
    Ok(output)
}

/// All weights.
struct Weights {
    stem: [Buffer<f32>; 2],
    blocks: Vec<Block>,
    router: [Buffer<f32>; 2],
    experts: Vec<[[Buffer<f32>; 2]; 2]>,
    classifier: [Buffer<f32>; 2],
    /// Ones and zeros: a layer norm that only norms.
    norm: [Buffer<f32>; 2],
}

impl Weights {
    fn new(pool: &mut Pool<'_>, config: &Config) -> Result<Self, Error> {
        let Config { channels, blocks, experts, classes, .. } = *config;
        let hidden = 4 * channels;
        let norm = [pool.zeros(channels)?, pool.zeros(channels)?];
        pool.rt.write(norm[0], &vec![1.0; channels])?;
        Ok(Self {
            stem: pool.layer(COLOURS * 9, channels)?,
            blocks: pool.each(blocks, |pool| {
                Ok(Block {
                    gate: pool.layer(channels, BRANCHES.len())?,
                    light: pool.layer(channels, channels)?,
                    heavy: [pool.layer(channels * 9, channels)?, pool.layer(channels * 9, channels)?],
                })
            })?,
            router: pool.layer(channels, experts)?,
            experts: pool
                .each(experts, |pool| Ok([pool.layer(channels, hidden)?, pool.layer(hidden, channels)?]))?,
            classifier: pool.layer(channels, classes)?,
            norm,
        })
    }
}

/// Memory of one image. Each has its own, so that nothing but its own kernels holds it up.
struct Image {
    state: View<f32>,
    scratch: [Buffer<f32>; 2],
    sums: Buffer<f32>,
    features: Buffer<f32>,
    logits: Buffer<f32>,
    gate: Buffer<f32>,
}

fn forward(kernels: &Library, pool: &mut Pool<'_>, config: &Config) -> Result<Output, Error> {
    let weights = Weights::new(pool, config)?;
    let (count, plane) = (config.images.len(), config.side * config.side);
    let size = config.channels * plane;
    let states = pool.zeros(count * size)?;
    let images = (0..count)
        .map(|i| {
            Ok(Image {
                state: states.slice(i * size..(i + 1) * size),
                scratch: [pool.zeros(size)?, pool.zeros(size)?],
                sums: pool.zeros(config.channels)?,
                features: pool.zeros(config.channels)?,
                logits: pool.zeros(BRANCHES.len())?,
                gate: pool.zeros(BRANCHES.len())?,
            })
        })
        .collect::<Result<Vec<_>, Error>>()?;

    let mut first = None;
    for (image, pixels) in images.iter().zip(&config.images) {
        let input = pool.zeros(pixels.len())?;
        pool.rt.write(input, pixels)?;
        let [stem, bias] = weights.stem;
        let sizes = convolution(config, COLOURS, 3);
        let ticket = kernels.conv2d(pool.rt, input, stem, image.scratch[0], sizes)?;
        first.get_or_insert(ticket);
        let relu = Activation::Relu;
        kernels.bias_activation(pool.rt, relu, image.scratch[0], bias, &image.state, plane)?;
    }
    let mut branches = vec![Vec::new(); count];
    for block in &weights.blocks {
        for image in &images {
            open_gate(kernels, pool.rt, config, image, block.gate, weights.norm)?;
        }
        for (image, branches) in images.iter().zip(&mut branches) {
            let branch = BRANCHES[largest(&pool.rt.read(image.gate)?)];
            through(kernels, pool.rt, config, image, block, branch)?;
            branches.push(branch);
        }
    }
    let (scores, experts, last) = classify(kernels, pool, config, &images, &weights)?;
    let kernels = first.map_or(0, |first| last.0 - first.0 + 1);
    Ok(Output { scores, activations: pool.rt.read(states)?, branches, experts, kernels })
}

fn convolution(config: &Config, channels: usize, width: usize) -> Convolution {
    Convolution {
        batch: 1,
        channels,
        height: config.side,
        width: config.side,
        filters: config.channels,
        filter: [width, width],
        stride: 1,
        padding: width / 2,
    }
}

/// What the gate of a block says to an image.
fn open_gate(
    kernels: &Library,
    rt: &mut Runtime,
    config: &Config,
    image: &Image,
    [weights, bias]: [Buffer<f32>; 2],
    [ones, zeros]: [Buffer<f32>; 2],
) -> Result<(), Error> {
    let Config { channels, side, .. } = *config;
    let branches = BRANCHES.len();
    kernels.sum_rows(rt, &image.state, image.sums, [channels, side * side])?;
    kernels.layer_norm_rows(rt, image.sums, ones, zeros, image.features, [1, channels], EPSILON)?;
    kernels.gemm(rt, image.features, weights, image.logits, [1, branches, channels])?;
    kernels.bias_activation(rt, Activation::Identity, image.logits, bias, image.logits, 1)?;
    kernels.softmax_rows(rt, image.logits, image.gate, [1, branches])?;
    Ok(())
}

/// An image's way through a block.
fn through(
    kernels: &Library,
    rt: &mut Runtime,
    config: &Config,
    image: &Image,
    block: &Block,
    branch: Branch,
) -> Result<(), Error> {
    let (channels, plane) = (config.channels, config.side * config.side);
    let [one, other] = image.scratch;
    match branch {
        Branch::Skip => return Ok(()),
        Branch::Light => {
            let [weights, bias] = block.light;
            kernels.conv2d(rt, &image.state, weights, one, convolution(config, channels, 1))?;
            kernels.bias_activation(rt, Activation::Relu, one, bias, one, plane)?;
        }
        Branch::Heavy => {
            let [[weights, bias], [second_weights, second_bias]] = block.heavy;
            kernels.conv2d(rt, &image.state, weights, one, convolution(config, channels, 3))?;
            kernels.bias_activation(rt, Activation::Relu, one, bias, other, plane)?;
            kernels.conv2d(rt, other, second_weights, one, convolution(config, channels, 3))?;
            kernels.bias_activation(rt, Activation::Tanh, one, second_bias, one, plane)?;
        }
    }
    kernels.binary(rt, Binary::Add, &image.state, one, &image.state)?;
    Ok(())
}

/// Features of all images, each through the expert that the router picks; the classes' scores, the experts, and the last launch.
fn classify(
    kernels: &Library,
    pool: &mut Pool<'_>,
    config: &Config,
    images: &[Image],
    weights: &Weights,
) -> Result<(Vec<f32>, Vec<usize>, Ticket), Error> {
    let Config { channels, side, experts, classes, tensor_cores, .. } = *config;
    let (count, hidden) = (images.len(), 4 * channels);
    let matrix = count * channels;
    let [sums, features, packed, done] =
        [pool.zeros(matrix)?, pool.zeros(matrix)?, pool.zeros(matrix)?, pool.zeros(matrix)?];
    let [inner, mixed] = [pool.zeros(count * hidden)?, pool.zeros(matrix)?];
    let [logits, chances] = [pool.zeros(count * experts)?, pool.zeros(count * experts)?];
    let [class_logits, scores] = [pool.zeros(count * classes)?, pool.zeros(count * classes)?];
    let [ones, zeros] = weights.norm;
    let rt = &mut *pool.rt;

    for (i, image) in images.iter().enumerate() {
        let to = sums.slice(i * channels..(i + 1) * channels);
        kernels.sum_rows(rt, &image.state, to, [channels, side * side])?;
    }
    kernels.layer_norm_rows(rt, sums, ones, zeros, features, [count, channels], EPSILON)?;
    kernels.gemm(rt, features, weights.router[0], logits, [count, experts, channels])?;
    kernels.bias_activation(rt, Activation::Identity, logits, weights.router[1], logits, 1)?;
    kernels.softmax_rows(rt, logits, chances, [count, experts])?;
    let picked: Vec<usize> = rt.read(chances)?.chunks_exact(experts).map(largest).collect();

    // Images of one expert side by side, so that each expert has bytes of its own; and back.
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|image| picked[*image]);
    let mut places = vec![0u32; count];
    order.iter().enumerate().for_each(|(place, image)| places[*image] = place as u32);
    let there = rt.buffer_from(&order.iter().map(|image| *image as u32).collect::<Vec<_>>())?;
    let back = rt.buffer_from(&places)?;
    let product = |rt: &mut Runtime, a: &View<f32>, b: Buffer<f32>, c: &View<f32>, sizes| {
        if tensor_cores { kernels.gemm_tf32(rt, a, b, c, sizes) } else { kernels.gemm(rt, a, b, c, sizes) }
    };
    let mut row = 0;
    for (expert, [[up, up_bias], [down, down_bias]]) in weights.experts.iter().enumerate() {
        let rows = picked.iter().filter(|picked| **picked == expert).count();
        if rows == 0 {
            continue;
        }
        let narrow = row * channels..(row + rows) * channels;
        let (x, y) = (packed.slice(narrow.clone()), done.slice(narrow));
        let wide = inner.slice(row * hidden..(row + rows) * hidden);
        kernels.gather_rows(rt, features, there.slice(row..row + rows), &x, [rows, channels, count])?;
        product(rt, &x, *up, &wide, [rows, hidden, channels])?;
        kernels.bias_activation(rt, Activation::Gelu, &wide, up_bias, &wide, 1)?;
        product(rt, &wide, *down, &y, [rows, channels, hidden])?;
        kernels.bias_activation(rt, Activation::Identity, &y, down_bias, &y, 1)?;
        row += rows;
    }
    kernels.gather_rows(rt, done, back, mixed, [count, channels, count])?;
    kernels.binary(rt, Binary::Add, features, mixed, mixed)?;
    kernels.gemm(rt, mixed, weights.classifier[0], class_logits, [count, classes, channels])?;
    kernels.bias_activation(
        rt,
        Activation::Identity,
        class_logits,
        weights.classifier[1],
        class_logits,
        1,
    )?;
    let last = kernels.softmax_rows(rt, class_logits, scores, [count, classes])?;
    let scores = rt.read(scores)?;
    rt.release(there)?;
    rt.release(back)?;
    Ok((scores, picked, last))
}
