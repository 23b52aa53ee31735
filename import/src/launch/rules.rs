//! Grids, blocks and FLOPs by rule, which `est` says: 512 elements per CTA of 128 threads for elementwise kernels, for products the largest
//! tile that still gives every SM a CTA, a warp per row for short rows. FLOPs and M, N, K come from the shapes.

use super::Draft;
use windlass_runtime::ktrace::KernelType;

/// What an element is, as far as it matters for how products are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    /// Half, bfloat16, 8 bits and fewer: tensor cores take them.
    Low,
    /// Single.
    Single,
    /// Anything else.
    Other,
}

impl Precision {
    /// The pipe that a product uses, and whether there is no doubt.
    pub(crate) fn pipe(self, tf32: bool) -> (KernelType, bool) {
        match self {
            Self::Low => (KernelType::Tensor, true),
            Self::Single if tf32 => (KernelType::Tensor, false),
            Self::Single => (KernelType::Simt, false),
            Self::Other => (KernelType::Simt, true),
        }
    }
}

/// Of dimensions, at most 2^64 - 1.
pub(crate) fn product(dims: &[u64]) -> u64 {
    dims.iter().fold(1, |product, d| product.saturating_mul(*d))
}

/// Which of a convolution's products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    Forward,
    Data,
    Weights,
}

/// Shapes of a convolution: input and result are [batch, channels, ..].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Convolution<'a> {
    pub(crate) input: &'a [u64],
    /// [out, in / groups, ..], of transposed ones [in, out / groups, ..].
    pub(crate) weight: &'a [u64],
    pub(crate) out: &'a [u64],
    /// Where it is known.
    pub(crate) groups: Option<u64>,
    pub(crate) transposed: bool,
}

/// Sizes of an attention.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heads {
    pub(crate) batch: u64,
    pub(crate) heads: u64,
    pub(crate) queries: u64,
    pub(crate) keys: u64,
    /// Of a query and a value together.
    pub(crate) depths: u64,
}

/// What the rules need to know beside the operator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) sms: u32,
    /// Whether matrix products in single precision use tensor cores.
    pub(crate) tf32: bool,
}

impl Rules {
    /// A product of M x K by K x N matrices, `batch` of them, on a pipe that is sure or not.
    pub(crate) fn tiles(self, prefix: &str, mnk: [u64; 4], (kind, sure): (KernelType, bool)) -> Draft {
        let [m, n, _, batch] = mnk;
        let mut draft = if m.min(n) == 1 {
            // A warp per result, which no tensor core helps.
            Draft::simt("gemv", m.max(n).saturating_mul(batch).div_ceil(4), 128, 0)
        } else {
            const TILES: [(u64, u64, u32); 4] =
                [(128, 128, 256), (128, 64, 128), (64, 64, 128), (64, 32, 64)];
            let ctas = |(rows, columns, _): (u64, u64, u32)| {
                m.div_ceil(rows).saturating_mul(n.div_ceil(columns)).saturating_mul(batch)
            };
            let fills = |tile: &(u64, u64, u32)| ctas(*tile) >= u64::from(self.sms);
            let tile = TILES.into_iter().find(fills).unwrap_or(TILES[3]);
            let mut draft = Draft::simt(format!("{prefix}_{}x{}", tile.0, tile.1), ctas(tile), tile.2, 0);
            draft.kind = kind;
            // Two stages of both operands in single precision, 32 deep.
            draft.smem = 32768;
            draft.est.push("smem");
            draft
        };
        if !sure && draft.kind == kind {
            draft.est.push("type");
        }
        draft.flops = product(&mnk).saturating_mul(2);
        draft.mnk = Some(mnk);
        draft
    }

    /// A convolution as an implicit product; `pass` says which of its three matrices is the result.
    pub(crate) fn convolution(self, pass: Pass, shapes: &Convolution<'_>, pipe: (KernelType, bool)) -> Draft {
        let prefix = match pass {
            Pass::Forward => "conv",
            Pass::Data => "conv_dgrad",
            Pass::Weights => "conv_wgrad",
        };
        let Convolution { input, weight, out, transposed, .. } = *shapes;
        let results = product(out);
        let kernel = weight.get(2..).map_or(1, product);
        let dim = |shape: &[u64], at: usize| shape.get(at).copied().unwrap_or(1).max(1);
        let (batch_in, channels_in) = (dim(input, 0), dim(input, 1));
        let groups = match shapes.groups {
            Some(groups) => groups.max(1),
            None if transposed => 1,
            None => (channels_in / dim(weight, 1)).max(1),
        };
        let (channels, spatial) = if transposed {
            (dim(weight, 1), product(input) / batch_in.saturating_mul(channels_in))
        } else {
            (dim(weight, 0) / groups, results / dim(weight, 0).saturating_mul(batch_in))
        };
        let depth = if transposed { channels_in / groups } else { dim(weight, 1) };
        if groups > 1 && groups == channels_in && depth == 1 {
            let mut draft = Draft::simt(format!("{prefix}_depthwise"), results.div_ceil(256), 256, 0);
            draft.flops = product(&[2, results, kernel]);
            return draft;
        }
        let pixels = spatial.saturating_mul(batch_in);
        // A transposed convolution is the gradient of one: its columns are the taps of the results.
        let mnk = if transposed {
            [pixels, channels.saturating_mul(kernel), depth, groups]
        } else {
            [pixels, channels, depth.saturating_mul(kernel), groups]
        };
        let [m, n, k, groups] = mnk;
        let mnk = match pass {
            Pass::Forward => mnk,
            // Every pixel gathers the taps of all results.
            Pass::Data if !transposed => [m, depth, n.saturating_mul(kernel), groups],
            Pass::Data => [m, k, n, groups],
            Pass::Weights => [n, k, m, groups],
        };
        self.tiles(&format!("{prefix}_implicit_gemm"), mnk, pipe)
    }
}

/// Kernels without their memory.
impl Draft {
    pub(crate) fn simt(name: impl Into<String>, ctas: u64, block: u32, flops: u64) -> Self {
        let mut est = vec!["grid", "block"];
        if flops > 0 {
            est.push("flops");
        }
        Self {
            name: name.into(),
            op: String::new(),
            kind: KernelType::Simt,
            grid: [ctas.max(1), 1, 1],
            block,
            smem: 0,
            flops,
            mnk: None,
            traffic: None,
            reads: Vec::new(),
            writes: Vec::new(),
            est,
            sync: None,
        }
    }

    pub(crate) fn elementwise(name: &str, elements: u64, flops: u64) -> Self {
        Self::simt(format!("elementwise_{name}"), elements.div_ceil(512), 128, flops)
    }

    /// Over several tensors of so many elements each: PyTorch's chunks of 64 Ki, none of two tensors.
    pub(crate) fn multi_tensor(name: &str, elements: impl Iterator<Item = u64>) -> Self {
        let add = |(all, ctas): (u64, u64), elements: u64| {
            (all.saturating_add(elements), ctas.saturating_add(elements.div_ceil(1 << 16)))
        };
        let (elements, ctas) = elements.fold((0, 0), add);
        Self::simt(format!("multi_tensor_{name}"), ctas, 512, elements)
    }

    /// Copies of so many parts into one, the largest of so many elements.
    pub(crate) fn cat(parts: u64, largest: u64) -> Self {
        let mut draft = Self::simt("cat_batched_copy", largest.div_ceil(512), 128, 0);
        draft.grid[1] = parts;
        draft
    }

    /// Windows of so many elements; where their size is not known, each input, or result, counts once.
    pub(crate) fn pool(name: &str, results: u64, read: u64, taps: Option<u64>) -> Self {
        let flops = taps.map_or(read.max(results), |taps| results.saturating_mul(taps));
        Self::simt(name, results.div_ceil(256), 256, flops)
    }

    /// As many threads per result as it has inputs, up to a CTA, and more CTAs past 16 inputs per thread.
    pub(crate) fn reduce(name: &str, results: u64, read: u64) -> Self {
        let length = (read / results.max(1)).max(1);
        let per_cta = 512 / length.clamp(1, 512).next_power_of_two();
        let ctas = results.div_ceil(per_cta).saturating_mul(length.div_ceil(512 * 16));
        Self::simt(format!("reduce_{name}"), ctas, 512, read)
    }

    pub(crate) fn softmax(rows: u64, elements: u64) -> Self {
        let flops = elements.saturating_mul(5);
        match elements / rows.max(1) {
            0..=1024 => Self::simt("softmax_warp", rows.div_ceil(4), 128, flops),
            _ => Self::simt("softmax_block", rows, 512, flops),
        }
    }

    /// Rows, or groups, that are normalised each by itself.
    pub(crate) fn row_norm(name: &str, rows: u64, elements: u64) -> Self {
        Self::simt(name, rows, 128, elements.saturating_mul(8))
    }

    /// With the statistics of the batch.
    pub(crate) fn batch_norm_train(channels: u64, elements: u64) -> Self {
        Self::simt("batch_norm_train", channels, 512, elements.saturating_mul(5))
    }

    pub(crate) fn batch_norm_infer(elements: u64) -> Self {
        Self::simt("batch_norm_infer", elements.div_ceil(512), 128, elements.saturating_mul(2))
    }

    /// Moves so many bytes of the tables that it names, where that is known.
    pub(crate) fn gather(name: &str, elements: u64) -> Self {
        let mut draft = Self::simt(name, elements.div_ceil(512), 128, 0);
        draft.est.push("bytes");
        draft
    }

    pub(crate) fn attention(name: &str, heads: Heads, (kind, sure): (KernelType, bool)) -> Self {
        let Heads { batch, heads, queries, keys, depths } = heads;
        let ctas = product(&[batch, heads, queries.div_ceil(128)]);
        let mut draft = Self::simt(name, ctas, 128, 0);
        draft.kind = kind;
        draft.smem = 65536;
        draft.flops = product(&[2, batch, heads, queries, keys, depths]);
        draft.est.push("smem");
        if !sure {
            draft.est.push("type");
        }
        draft
    }
}
