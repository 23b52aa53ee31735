//! What a GPU launches for a node: its kernels by the [rules](crate::launch), and the memory that they touch.

use super::node::{Listed, Operator};
use super::tensor::{Tensor, Value, sizes};
use crate::launch::{Access, Convolution, Draft, Heads, Pass, Rules, product};
use std::collections::HashSet;
use windlass_runtime::ktrace::KernelType;

/// What kind of work an operator is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// One result per element.
    Elementwise,
    /// The same, with nothing computed.
    Move,
    /// Writes without reading.
    Fill,
    Cat,
    Product,
    /// Products of two, one after another.
    Einsum,
    Convolution,
    Pool,
    Reduce,
    Softmax,
    RowNorm,
    BatchNorm,
    /// Elements of a table, chosen by an index.
    Gather,
    /// The same the other way: into a copy.
    Scatter,
    Attention,
    /// The same with the product before it.
    PackedAttention,
    Embedding,
    Recurrent,
    DynamicQuantize,
}

const ELEMENTWISE: &str = " Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Ceil Celu Clip Cos Cosh Div \
    Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod \
    Mul Neg Not Or PRelu Pow Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh \
    ThresholdedRelu Where Xor ";

/// Elementwise, but that their results are not of the shape that all inputs spread to.
const ALIKE: &str = " BiasGelu CumSum DequantizeLinear Dropout FastGelu GridSample LRN QLinearAdd QLinearLeakyRelu QLinearMul QLinearSigmoid QuantizeLinear \
    QuickGelu Resize RotaryEmbedding Upsample ";

const MOVE: &str = " Cast CastLike DepthToSpace Expand Flatten Identity OneHot Pad Reshape ReverseSequence Slice SpaceToDepth Split Squeeze Tile Transpose Trilu \
    Unsqueeze ";

const FILL: &str =
    " Bernoulli ConstantOfShape EyeLike RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range ";

const PRODUCT: &str = " DynamicQuantizeMatMul FusedGemm FusedMatMul Gemm MatMul MatMulInteger MatMulIntegerToFloat MatMulNBits QGemm QLinearMatMul ";

const CONVOLUTION: &str = " Conv ConvInteger ConvTranspose FusedConv QLinearConv ";

const POOL: &str = " AveragePool LpPool MaxPool MaxRoiPool QLinearAveragePool RoiAlign ";

const REDUCE: &str = " ArgMax ArgMin GlobalAveragePool GlobalLpPool GlobalMaxPool QLinearGlobalAveragePool ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax \
    ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare ";

const SOFTMAX: &str = " Hardmax LogSoftmax QLinearSoftmax Softmax ";

const ROW_NORM: &str = " GroupNormalization InstanceNormalization LayerNormalization LpNormalization MeanVarianceNormalization RMSNormalization \
    SimplifiedLayerNormalization SkipLayerNormalization SkipSimplifiedLayerNormalization ";

const GATHER: &str = " Compress Gather GatherElements GatherND NonMaxSuppression NonZero TopK Unique ";

const SCATTER: &str = " Scatter ScatterElements ScatterND TensorScatter ";

/// Their results' sizes are needed on the host.
const WAITS: &str = " Compress NonMaxSuppression NonZero Unique ";

/// Another each run.
const RANDOM: &str = " Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike ";

pub(super) fn listed(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == name)
}

pub(super) fn is_elementwise(name: &str) -> bool {
    listed(ELEMENTWISE, name)
}

pub(super) fn is_random(name: &str) -> bool {
    listed(RANDOM, name)
}

fn work(name: &str) -> Option<Work> {
    let tables = [
        (ELEMENTWISE, Work::Elementwise),
        (ALIKE, Work::Elementwise),
        (MOVE, Work::Move),
        (FILL, Work::Fill),
        (PRODUCT, Work::Product),
        (" Einsum ", Work::Einsum),
        (CONVOLUTION, Work::Convolution),
        (POOL, Work::Pool),
        (REDUCE, Work::Reduce),
        (SOFTMAX, Work::Softmax),
        (ROW_NORM, Work::RowNorm),
        (" BatchNormalization ", Work::BatchNorm),
        (GATHER, Work::Gather),
        (SCATTER, Work::Scatter),
        (" Concat QLinearConcat ", Work::Cat),
        (" Attention GroupQueryAttention MultiHeadAttention ", Work::Attention),
        (" PackedAttention ", Work::PackedAttention),
        (" EmbedLayerNormalization ", Work::Embedding),
        (" GRU LSTM RNN ", Work::Recurrent),
        (" DynamicQuantizeLinear ", Work::DynamicQuantize),
    ];
    tables.into_iter().find(|(list, _)| listed(list, name)).map(|(_, work)| work)
}

/// `LeakyRelu` as `leaky_relu`.
fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    let mut lower = false;
    for c in name.chars() {
        if lower && c.is_ascii_uppercase() {
            snake.push('_');
        }
        lower = c.is_ascii_lowercase();
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// All of a value.
pub(super) fn access(value: &Value) -> Access {
    let bytes = value.tensor.bytes();
    Access { memory: value.memory, first: 0, bytes, moved: bytes }
}

/// All of several values, each once, without those that have no bytes.
fn accesses<'a>(values: impl IntoIterator<Item = &'a Value>) -> Vec<Access> {
    let mut known = HashSet::new();
    let all = values.into_iter().map(access).filter(|access| access.bytes > 0);
    all.filter(|access| known.insert(*access)).collect()
}

/// The kernels of a node, and how it came to them.
pub(super) struct Launches {
    pub(super) drafts: Vec<Draft>,
    /// What only they have memory for, the first of it behind all others.
    pub(super) scratch: Vec<Tensor>,
    /// Whether there is a rule for the operator.
    pub(super) known: bool,
}

/// A node with its results.
pub(super) struct Launcher<'a> {
    pub(super) operator: &'a Operator<'a>,
    /// Those that are wanted.
    pub(super) results: &'a [Option<Value>],
    pub(super) rules: Rules,
    /// How many memories there are.
    pub(super) memories: usize,
}

impl Operator<'_> {
    /// Whether the first result is the first input in the same memory.
    pub(super) fn is_view(&self, result: &Tensor) -> bool {
        let Some(input) = self.given(0) else { return false };
        let same = input.tensor == *result;
        match self.name {
            "Identity" | "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" => true,
            "Dropout" => !self.wants(1) && self.given(2).is_none_or(Value::is_zero),
            "Cast" | "CastLike" | "Expand" | "Tile" => same,
            "Concat" | "Sum" | "Max" | "Min" | "Mean" => same && self.inputs.len() == 1,
            "Slice" => {
                same && self
                    .slices()
                    .is_ok_and(|all| all.is_some_and(|all| all.iter().all(|(_, step, _)| *step == 1)))
            }
            "Split" => same && self.node.output.len() == 1,
            "Pad" => {
                same && matches!(self.ints_or_input("pads", 1), Listed::Known(pads) if pads.iter().all(|pad| *pad == 0))
            }
            "Transpose" => {
                // Dimensions of 1 may go anywhere.
                let order = self.permutation().unwrap_or_default();
                order.iter().filter(|axis| input.shape().get(**axis) != Some(&1)).is_sorted()
            }
            name => name.starts_with("Reduce") && same && self.flag("noop_with_empty_axes"),
        }
    }

    /// Inputs that the host needs, and no kernel reads: sizes and axes.
    fn is_of_host(&self, at: usize) -> bool {
        match self.name {
            "Clip" | "CumSum" | "Dropout" | "Expand" | "Pad" | "Resize" | "Slice" | "Split" | "Tile"
            | "TopK" | "Trilu" | "Upsample" | "CastLike" => at > 0,
            "OneHot" => at == 1,
            "ConstantOfShape" | "EyeLike" | "Range" | "RandomNormalLike" | "RandomUniformLike" => true,
            name => name.starts_with("Reduce") && at > 0,
        }
    }
}

impl Launcher<'_> {
    /// None where nothing is written.
    pub(super) fn kernels(&self) -> Launches {
        let work = work(self.operator.name);
        // A rule may need more than there is.
        let mut work =
            work.filter(|work| *work != Work::Attention || matches!(self.operator.attention(), Ok(Some(_))));
        let chained = match work {
            Some(Work::PackedAttention) => self.packed_attention(),
            Some(Work::Einsum) => self.einsum(),
            _ => None,
        };
        if chained.is_none() {
            work = work.filter(|work| ![Work::Einsum, Work::PackedAttention].contains(work));
        }
        let mut launches = Launches { drafts: Vec::new(), scratch: Vec::new(), known: work.is_some() };
        if self.written().is_empty() {
            return launches;
        }
        match chained {
            Some((drafts, scratch)) => (launches.drafts, launches.scratch) = (drafts, scratch),
            None => launches.drafts = self.drafts(work),
        }
        if listed(WAITS, self.operator.name)
            && let Some(last) = launches.drafts.last_mut()
        {
            last.sync = Some(self.operator.name.to_owned());
        }
        launches
    }

    fn read(&self) -> Vec<Access> {
        let operator = self.operator;
        let values = operator.inputs.iter().enumerate().filter(|(at, _)| !operator.is_of_host(*at));
        accesses(values.filter_map(|(_, value)| *value))
    }

    fn written(&self) -> Vec<Access> {
        accesses(self.results.iter().flatten())
    }

    /// With all memory of the node.
    pub(super) fn touching(&self, draft: Draft) -> Draft {
        self.of(draft, self.read(), self.written())
    }

    pub(super) fn of(&self, mut draft: Draft, reads: Vec<Access>, writes: Vec<Access>) -> Draft {
        self.operator.node.op_type.clone_into(&mut draft.op);
        (draft.reads, draft.writes) = (reads, writes);
        draft.count_gaps();
        draft
    }

    fn drafts(&self, work: Option<Work>) -> Vec<Draft> {
        let operator = self.operator;
        let name = &snake(operator.name);
        let elements = self.results.iter().flatten().map(Value::numel).max().unwrap_or(1);
        let read = operator.inputs.iter().flatten().map(|value| value.numel()).max().unwrap_or(0);
        let shape = operator.given(0).map_or(&[][..], Value::shape);
        let one = match work {
            None | Some(Work::PackedAttention | Work::Einsum) => {
                let mut draft = Draft::elementwise(&snake(&operator.node.op_type), elements, elements);
                draft.est.push("type");
                draft
            }
            Some(Work::Elementwise) => Draft::elementwise(name, elements, elements),
            // One kernel for all parts.
            Some(Work::Move) if operator.name == "Split" => Draft::elementwise(name, read, 0),
            Some(Work::Move) if operator.name == "Slice" => return vec![self.slice(name, elements)],
            Some(Work::Move | Work::Fill) => Draft::elementwise(name, elements, 0),
            Some(Work::Cat) => Draft::cat(self.read().len().max(1) as u64, read),
            Some(Work::Pool) => {
                let taps = operator.ints("kernel_shape").and_then(|taps| sizes(taps).ok());
                Draft::pool(name, elements, read, taps.map(|taps| product(&taps)))
            }
            Some(Work::Reduce) => Draft::reduce(name.trim_start_matches("reduce_"), elements, read),
            Some(Work::Softmax) => {
                let axis = operator.axis_or(if operator.opset < 13 { 1 } else { -1 }, shape.len());
                // Older ones take all dimensions from the axis on as one.
                let rows = match axis {
                    Ok(axis) if operator.opset < 13 => product(&shape[..axis]),
                    Ok(axis) => elements / shape[axis].max(1),
                    Err(_) => 1,
                };
                Draft::softmax(rows, elements)
            }
            Some(Work::RowNorm) => Draft::row_norm(name, self.normalised_rows(shape), elements),
            Some(Work::BatchNorm) if operator.flag("training_mode") => {
                Draft::batch_norm_train(shape.get(1).copied().unwrap_or(1), elements)
            }
            Some(Work::BatchNorm) => Draft::batch_norm_infer(elements),
            Some(Work::Gather) if operator.name.starts_with("Gather") => {
                let draft = self.touching(Draft::gather(name, elements));
                return vec![Draft { traffic: Some(self.gathered()), ..draft }];
            }
            // These look at all of their input.
            Some(Work::Gather) => Draft::simt(name, read.div_ceil(512), 128, read),
            Some(Work::Embedding) => {
                let draft = Draft::row_norm(name, product(shape), elements);
                let mut draft = self.touching(draft);
                draft.est.push("bytes");
                // A row of each of three tables, and the result.
                let written = self.written().first().map_or(0, |access| access.moved);
                return vec![Draft { traffic: Some(written.saturating_mul(4)), ..draft }];
            }
            Some(Work::Scatter) => return self.scatter(name),
            Some(Work::Attention) => return self.attend(name),
            Some(Work::Recurrent) => return self.recurrent(),
            Some(Work::DynamicQuantize) => return self.quantise(elements),
            Some(Work::Product) => return vec![self.product(name, elements)],
            Some(Work::Convolution) => return self.convolve(),
        };
        vec![self.touching(one)]
    }

    /// Reads from the first to the last element that it takes, or where those are known only to a run, somewhere in all of its input.
    fn slice(&self, name: &str, elements: u64) -> Draft {
        let written = self.written();
        let taken = written.iter().fold(0_u64, |sum, access| sum.saturating_add(access.moved));
        let from = |input: &Value| {
            let whole = access(input);
            let [first, end] = match self.operator.sliced_elements() {
                Ok(Some(elements)) => input.tensor.byte_range(elements).map(|byte| byte.min(whole.bytes)),
                _ => [0, whole.bytes],
            };
            let bytes = end.saturating_sub(first);
            Access { first, bytes, moved: bytes.min(taken), ..whole }
        };
        let reads = self.operator.given(0).map(from).filter(|read| read.bytes > 0);
        self.of(Draft::elementwise(name, elements, 0), reads.into_iter().collect(), written)
    }

    fn normalised_rows(&self, shape: &[u64]) -> u64 {
        let operator = self.operator;
        let outer = |count: usize| product(&shape[..count.min(shape.len())]);
        let rows = match operator.name {
            "GroupNormalization" => outer(1).saturating_mul(operator.size("num_groups").unwrap_or(1)),
            "InstanceNormalization" => outer(2),
            // A channel of all.
            "MeanVarianceNormalization" => shape.get(1).copied().unwrap_or(1),
            _ => {
                let axis = operator.axis_or(-1, shape.len()).unwrap_or(0);
                match operator.name {
                    "LpNormalization" => product(shape) / shape.get(axis).copied().unwrap_or(1).max(1),
                    name if name.starts_with("Skip") => outer(shape.len().saturating_sub(1)),
                    _ => outer(axis),
                }
            }
        };
        rows.max(1)
    }

    /// Bytes that a gather moves: the indices, and of the table as much as it writes.
    fn gathered(&self) -> u64 {
        let sum = |all: &[Access]| all.iter().fold(0_u64, |sum, access| sum.saturating_add(access.moved));
        let table = self.operator.given(0).map_or(0, |table| table.tensor.bytes());
        let written = sum(&self.written());
        sum(&self.read()).saturating_sub(table).saturating_add(table.min(written)).saturating_add(written)
    }

    /// A copy, and then the updates in it; with a reduction they read what is there, and each is an addition, a product or a comparison.
    fn scatter(&self, name: &str) -> Vec<Draft> {
        let inputs = &self.operator.inputs;
        let written = self.written();
        let numel = |at: usize| self.operator.given(at).map_or(0, Value::numel);
        let copy = Draft::simt(format!("memcpy_{name}"), numel(0).div_ceil(512), 128, 0);
        let mut copy = self.of(copy, accesses(inputs.first().copied().flatten()), written.clone());
        copy.kind = KernelType::Copy;
        let given = accesses(inputs.iter().skip(1).copied().flatten());
        let updates = self.operator.given(2).map_or(0, |updates| updates.tensor.bytes());
        let reduces = self.operator.text("reduction").is_some_and(|reduction| reduction != "none");
        let touched = if reduces { updates.saturating_mul(2) } else { updates };
        let moved = given.iter().fold(touched, |sum, access| sum.saturating_add(access.moved));
        let reads = given.into_iter().chain(written.iter().copied()).collect();
        let scatter = self.of(Draft::gather(name, numel(2)), reads, written);
        let flops = if reduces { numel(2) } else { scatter.flops };
        vec![copy, Draft { traffic: Some(moved), flops, ..scatter }]
    }

    /// The largest and the smallest, and then the quantisation.
    fn quantise(&self, elements: u64) -> Vec<Draft> {
        let [quantised, ref scales @ ..] = self.written()[..] else { return Vec::new() };
        let range = self.of(Draft::reduce("min_max", 1, elements), self.read(), scales.to_vec());
        let reads = self.read().into_iter().chain(scales.iter().copied()).collect();
        let quantise =
            self.of(Draft::elementwise("quantize_linear", elements, elements), reads, vec![quantised]);
        if scales.is_empty() { vec![quantise] } else { vec![range, quantise] }
    }

    fn product(&self, name: &str, elements: u64) -> Draft {
        let operator = self.operator;
        let draft = match (operator.mnk(), operator.factors()) {
            (Ok(Some(mnk)), Ok((a, b))) => {
                // One quantises its first factor on the way.
                let quantised = b.filter(|_| operator.name == "DynamicQuantizeMatMul").unwrap_or(a);
                self.rules.tiles("gemm", mnk, quantised.tensor.element.precision().pipe(self.rules.tf32))
            }
            _ => Draft::elementwise(name, elements, elements),
        };
        self.touching(draft)
    }

    fn convolve(&self) -> Vec<Draft> {
        let operator = self.operator;
        let (Ok((input, weight)), Some(Some(out))) = (operator.convolved(), self.results.first()) else {
            return Vec::new();
        };
        let shapes = Convolution {
            input: input.shape(),
            weight: weight.shape(),
            out: out.shape(),
            groups: Some(operator.group()),
            transposed: operator.name == "ConvTranspose",
        };
        // cuDNN's default allows it, unlike cuBLAS's.
        let pipe = input.tensor.element.precision().pipe(true);
        let convolution = self.rules.convolution(Pass::Forward, &shapes, pipe);
        // The operators of a runtime add the bias themselves; cuDNN's have none, and an addition follows.
        let bias = operator.given(2).filter(|_| ["Conv", "ConvTranspose"].contains(&operator.name));
        let Some(bias) = bias else { return vec![self.touching(convolution)] };
        let result = self.written();
        let convolution = self.of(convolution, accesses([input, weight]), result.clone());
        if bias.made && bias.is_zero() {
            return vec![convolution];
        }
        let add = Draft::simt("conv_bias_add", out.numel().div_ceil(512), 128, out.numel());
        let reads = accesses([bias]).into_iter().chain(result.iter().copied()).collect();
        vec![convolution, self.of(add, reads, result)]
    }

    /// All of a memory that only this node's kernels have.
    fn scratch(&self, number: usize, bytes: u64) -> Access {
        Access { memory: self.memories.saturating_add(number), first: 0, bytes, moved: bytes }
    }

    /// A product for each term but the first, each of which reads what the one before has written; of one term a sum, or a move.
    fn einsum(&self) -> Option<(Vec<Draft>, Vec<Tensor>)> {
        let operator = self.operator;
        let (equation, first) = (operator.equation().ok()??, operator.given(0)?);
        let element = first.tensor.element;
        let chain = equation.chain();
        let (mut drafts, mut scratch) = (Vec::new(), Vec::new());
        let mut left = accesses([first]);
        for (at, step) in chain.iter().enumerate() {
            let elements = product(&step.shape());
            let draft = match step.mnk() {
                Some(mnk) => self.rules.tiles("gemm", mnk, element.precision().pipe(self.rules.tf32)),
                None if operator.given(1).is_some() => Draft::elementwise("einsum", elements, elements),
                None if step.sums() => Draft::reduce("einsum", elements, first.numel()),
                None => Draft::elementwise("einsum", elements, 0),
            };
            let right = accesses(operator.given(at + 1));
            let reads =
                left.iter().copied().chain(right.into_iter().filter(|read| !left.contains(read))).collect();
            let writes = if at + 1 == chain.len() {
                self.written()
            } else {
                let between = Tensor::new(element, step.shape()).ok()?;
                scratch.push(between);
                let between = self.scratch(at, scratch[at].bytes());
                Some(between).filter(|between| between.bytes > 0).into_iter().collect()
            };
            left.clone_from(&writes);
            drafts.push(self.of(draft, reads, writes));
        }
        Some((drafts, scratch))
    }

    /// Query, key and value are a product, which only the attention reads.
    fn packed_attention(&self) -> Option<(Vec<Draft>, Vec<Tensor>)> {
        let operator = self.operator;
        let (input, weights) = (operator.given(0)?, operator.given(1)?);
        let ([batch, length, depth], [_, width]) = (input.shape(), weights.shape()) else { return None };
        let packed = Tensor::new(input.tensor.element, vec![*batch, *length, *width]).ok()?;
        let bytes = packed.bytes();
        let scratch = self.scratch(0, bytes);
        let precision = input.tensor.element.precision();
        let rows = batch.saturating_mul(*length);
        let product = self.rules.tiles("gemm", [rows, *width, *depth, 1], precision.pipe(self.rules.tf32));
        let given = |from: usize, to: usize| accesses((from..to).filter_map(|at| operator.given(at)));
        let product = self.of(product, given(0, 3), vec![scratch]);
        let heads = operator.size("num_heads").unwrap_or(1).max(1);
        let before = operator.given(4).and_then(|past| past.shape().get(3).copied()).unwrap_or(0);
        let out = self.results.first()?.as_ref()?.shape().last().copied()?;
        let sizes = Heads {
            batch: *batch,
            heads,
            queries: *length,
            keys: length.saturating_add(before),
            depths: width.saturating_sub(out) / 2 / heads + out / heads,
        };
        let attention = Draft::attention("attention", sizes, precision.pipe(false));
        let mut reads = given(3, operator.inputs.len());
        reads.push(scratch);
        Some((vec![product, self.of(attention, reads, self.written())], vec![packed]))
    }

    /// Present keys and values are copied together first.
    fn attend(&self, name: &str) -> Vec<Draft> {
        let operator = self.operator;
        let Ok(Some(attention)) = operator.attention() else { return Vec::new() };
        let mut reads = self.read();
        let mut writes = self.written();
        let mut drafts = Vec::new();
        for ((given, past), present) in [1, 2].into_iter().zip(operator.past()).zip([1, 2]) {
            let Some(Some(present)) = self.results.get(present) else { continue };
            let parts = accesses([past, given].into_iter().filter_map(|at| operator.given(at)));
            let largest =
                [past, given].into_iter().filter_map(|at| operator.given(at)).map(Value::numel).max();
            let whole = access(present);
            reads.retain(|read| !parts.contains(read));
            reads.push(whole);
            writes.retain(|write| *write != whole);
            let cat = Draft::cat(parts.len().max(1) as u64, largest.unwrap_or(1));
            drafts.push(self.of(cat, parts, vec![whole]));
        }
        let precision = operator.given(0).map(|query| query.tensor.element.precision().pipe(false));
        let draft = Draft::attention(name, attention.heads, precision.unwrap_or((KernelType::Simt, false)));
        drafts.push(self.of(draft, reads, writes));
        drafts
    }
}
