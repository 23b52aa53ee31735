//! What a GPU launches for an operator: its kernels by the [rules](crate::launch), and the memory that they touch.

use super::et::{Node, Tensor, Value, tensors};
use super::schema::Alias;
use super::storage::Placed;
use super::triton::Role;
use crate::launch::{Access, Convolution, Draft, Heads, Pass, Rules, product};
use std::collections::HashSet;
use windlass_runtime::ktrace::KernelType;

/// What kind of work an operator is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// One result per element.
    Elementwise,
    /// The same, with nothing computed: copies with a change of layout or type, padding.
    Move,
    /// Writes without reading.
    Fill,
    /// Copies several tensors into one.
    Cat,
    Product,
    Convolution,
    ConvolutionBackward,
    Pool,
    Reduce,
    Softmax,
    RowNorm,
    BatchNorm,
    /// Rows of a table, chosen by an index.
    Gather,
    /// The same the other way: into the table, or a copy of it.
    Scatter,
    /// Looks at all of its input, whatever it gives.
    Search,
    Attention {
        backward: bool,
    },
    /// Layers of a recurrent network.
    Recurrent {
        backward: bool,
    },
    Fourier,
    Collective,
    /// A kernel that a compiler made; its source says which of its arguments it writes.
    Triton,
    /// Copies to the host, or to another GPU.
    ToHost {
        /// Whether the host waits for it.
        waits: bool,
    },
    /// Copies from there.
    FromHost,
    /// A comparison of two tensors, of which the host gets one answer.
    Equal,
}

/// What the importer knows of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Launches nothing of its own: views, allocations, metadata.
    Free,
    /// One operator of the GPU, whatever it calls here.
    Known(Work),
    /// By what it calls; where it calls nothing, one elementwise kernel.
    Unknown,
}

/// No alias annotation tells these from kernels.
const FREE: &str = " empty empty_like empty_strided empty_permuted new_empty new_empty_strided empty_quantized resize_ resize_as_ as_strided_ set_ set_data \
    detach_ transpose_ t_ squeeze_ unsqueeze_ swapaxes_ swapdims_ movedim_ rename_ requires_grad_ record_stream lift_fresh wait_tensor \
    pin_memory _pin_memory retain_grad _nnpack_available _efficientzerotensor ";

const ELEMENTWISE: &str = " abs absolute acos acosh add addcdiv addcmul angle asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not bitwise_or \
    bitwise_right_shift bitwise_xor ceil celu clamp clamp_max clamp_min clip complex conj_physical copysign cos cosh cummax cummin cumprod cumsum \
    deg2rad digamma div divide elu elu_backward eq erf erfc erfinv exp exp2 expm1 fix float_power floor floor_divide fmax fmin fmod frac \
    gelu gelu_backward glu glu_backward ge greater greater_equal gt hardshrink hardshrink_backward hardsigmoid hardsigmoid_backward hardswish \
    hardswish_backward hardtanh hardtanh_backward heaviside huber_loss_backward hypot isfinite isinf isnan isneginf isposinf ldexp le \
    leaky_relu leaky_relu_backward lerp less less_equal lgamma log log10 log1p log2 log_sigmoid_backward log_sigmoid_forward logaddexp \
    logaddexp2 logcumsumexp logical_and logical_not logical_or logical_xor logit logit_backward lt masked_fill maximum minimum mish \
    mish_backward mse_loss_backward mul multiply mvlgamma nan_to_num native_dropout native_dropout_backward ne neg negative nextafter \
    nll_loss_backward nll_loss2d_backward not_equal pow positive prelu _prelu_kernel reciprocal relu relu6 remainder round rsqrt rsub \
    rrelu_with_noise select_backward selu sgn sigmoid sigmoid_backward sign signbit silu silu_backward sin sinc sinh slice_backward \
    smooth_l1_loss_backward softplus softplus_backward softshrink softshrink_backward sqrt square sub subtract tan tanh tanh_backward \
    threshold threshold_backward trunc true_divide where xlogy _transform_bias_rescale_qkv _thnn_fused_lstm_cell \
    _thnn_fused_lstm_cell_backward_impl _thnn_fused_gru_cell _thnn_fused_gru_cell_backward binary_cross_entropy binary_cross_entropy_backward \
    upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d \
    upsample_nearest2d_backward upsample_bilinear2d_backward grid_sampler_2d grid_sampler_2d_backward addr polar ";

const MOVE: &str = " copy clone _to_copy contiguous flip roll constant_pad_nd reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d \
    replication_pad2d replication_pad3d repeat tril triu diag_embed im2col col2im unfold_backward pixel_shuffle pixel_unshuffle channel_shuffle \
    repeat_interleave ";

const FILL: &str = " fill zero normal uniform random bernoulli exponential geometric log_normal cauchy arange linspace logspace eye randperm ";

const REDUCE: &str = " sum nansum mean nanmean prod amax amin aminmax max min argmax argmin any all norm linalg_vector_norm std std_mean var var_mean logsumexp \
    count_nonzero mse_loss l1_loss huber_loss smooth_l1_loss nll_loss_forward nll_loss2d_forward median mode kthvalue dist ";

const PRODUCT: &str = " mm addmm bmm baddbmm addbmm mv addmv dot vdot linear _scaled_mm _addmm_activation mkldnn_linear _int_mm ";

const CONVOLUTION: &str = " convolution _convolution convolution_overrideable mkldnn_convolution thnn_conv2d _slow_conv2d_forward slow_conv3d_forward \
    slow_conv_dilated2d slow_conv_dilated3d slow_conv_transpose2d slow_conv_transpose3d cudnn_convolution cudnn_convolution_transpose \
    cudnn_convolution_relu cudnn_convolution_add_relu miopen_convolution miopen_convolution_transpose miopen_depthwise_convolution \
    _conv_depthwise2d conv_depthwise3d ";

const POOL: &str = " max_pool2d_with_indices max_pool3d_with_indices avg_pool2d avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_max_pool2d \
    adaptive_max_pool3d fractional_max_pool2d max_pool2d_with_indices_backward max_pool3d_with_indices_backward avg_pool2d_backward \
    avg_pool3d_backward _adaptive_avg_pool2d_backward adaptive_max_pool2d_backward ";

const SOFTMAX: &str =
    " _softmax _log_softmax _safe_softmax _softmax_backward_data _log_softmax_backward_data _masked_softmax ";

const ROW_NORM: &str = " native_layer_norm native_layer_norm_backward native_group_norm native_group_norm_backward _fused_rms_norm _fused_rms_norm_backward ";

const BATCH_NORM: &str = " native_batch_norm native_batch_norm_backward cudnn_batch_norm cudnn_batch_norm_backward miopen_batch_norm \
    miopen_batch_norm_backward _native_batch_norm_legit _native_batch_norm_legit_no_training _batch_norm_with_update batch_norm_backward ";

const GATHER: &str =
    " index_select embedding gather index take _embedding_bag embedding_bag embedding_dense_backward ";

const SCATTER: &str =
    " index_add index_put _index_put_impl index_copy index_fill scatter scatter_add scatter_reduce ";

const SEARCH: &str = " masked_select masked_scatter nonzero sort topk argsort searchsorted bucketize bincount unique_dim unique_consecutive _unique _unique2 ";

/// Their results' sizes, or results, are needed on the host.
const WAITS: &str = " nonzero masked_select unique_dim unique_consecutive _unique _unique2 equal ";

const ATTENTION: &str = " _scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_efficient_attention \
    _scaled_dot_product_cudnn_attention _scaled_dot_product_attention_math_for_mps _flash_attention_forward _efficient_attention_forward \
    _scaled_dot_product_flash_attention_backward _scaled_dot_product_flash_attention_for_cpu_backward \
    _scaled_dot_product_efficient_attention_backward _scaled_dot_product_cudnn_attention_backward _flash_attention_backward \
    _efficient_attention_backward _cudnn_attention_forward _cudnn_attention_backward ";

const RECURRENT: &str = " mkldnn_rnn_layer mkldnn_rnn_layer_backward _cudnn_rnn _cudnn_rnn_backward miopen_rnn miopen_rnn_backward ";

const FOURIER: &str = " _fft_r2c _fft_c2r _fft_c2c ";

fn listed(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == name)
}

/// A dimension counted from the front.
fn axis(dim: i64, rank: usize) -> Option<usize> {
    usize::try_from(dim).ok().or_else(|| rank.checked_add_signed(dim as isize))
}

fn moved(accesses: &[Access]) -> u64 {
    accesses.iter().fold(0, |sum, access| sum.saturating_add(access.moved))
}

/// The name without its namespace.
pub(super) fn short(name: &str) -> &str {
    name.rsplit_once("::").map_or(name, |(_, short)| short)
}

pub(super) fn class(node: &Node) -> Class {
    use Class::{Free, Known, Unknown};
    if node.triton.is_some() {
        return Known(Work::Triton);
    }
    let (space, name) = node.name.rsplit_once("::").unwrap_or(("", &node.name));
    if listed(FREE, name) {
        return Free;
    }
    if ["c10d", "_c10d_functional", "c10d_functional"].contains(&space) {
        return Known(Work::Collective);
    }
    if space != "aten" {
        return Unknown;
    }
    // `relu_` is `relu` in place.
    let plain = name.strip_suffix('_').unwrap_or(name);
    let overload = node.schema.as_ref().map_or("", |schema| &schema.overload);
    let tables = [
        (MOVE, Work::Move),
        (FILL, Work::Fill),
        (PRODUCT, Work::Product),
        (CONVOLUTION, Work::Convolution),
        (POOL, Work::Pool),
        (SOFTMAX, Work::Softmax),
        (ROW_NORM, Work::RowNorm),
        (BATCH_NORM, Work::BatchNorm),
        (GATHER, Work::Gather),
        (SCATTER, Work::Scatter),
        (SEARCH, Work::Search),
        (ATTENTION, Work::Attention { backward: name.ends_with("backward") }),
        (RECURRENT, Work::Recurrent { backward: name.ends_with("backward") }),
        (FOURIER, Work::Fourier),
        (ELEMENTWISE, Work::Elementwise),
    ];
    match plain {
        "equal" => Known(Work::Equal),
        "_local_scalar_dense" => Known(Work::ToHost { waits: true }),
        "cat" | "_cat" | "stack" => Known(Work::Cat),
        "convolution_backward" => Known(Work::ConvolutionBackward),
        // `max(a, b)` is elementwise, and so is `any` of two.
        _ if listed(REDUCE, plain) && ["other", "binary_out"].contains(&overload) => Known(Work::Elementwise),
        _ if listed(REDUCE, plain) => Known(Work::Reduce),
        // One kernel over many tensors, where a GPU has them.
        _ if plain.starts_with("_foreach_") => Known(Work::Elementwise),
        _ if plain.starts_with("_fused_") && !listed(ROW_NORM, plain) => Known(Work::Elementwise),
        _ => tables.iter().find(|(list, _)| listed(list, plain)).map_or(Unknown, |(_, work)| Known(*work)),
    }
}

/// The same on a device, given the names of all: what copies between two of them is no kernel on either.
pub(super) fn class_on(node: &Node, device: u32, devices: &[String]) -> Class {
    let class = class(node);
    let (inputs, outputs) = (tensors(&node.inputs), tensors(&node.outputs));
    let Some((_, to)) = outputs.first().filter(|_| class == Class::Known(Work::Move)) else { return class };
    let other = |tensor: &Tensor| tensor.device != device;
    if !other(to) {
        return if inputs.iter().any(|(_, from)| other(from)) { Class::Known(Work::FromHost) } else { class };
    }
    let waits = devices.get(to.device as usize).is_some_and(|name| name == "cpu")
        && !matches!(node.input("non_blocking"), Some(Value::Bool(true)));
    if inputs.iter().any(|(_, from)| !other(from)) { Class::Known(Work::ToHost { waits }) } else { class }
}

impl Access {
    fn of(tensor: &Tensor, memory: usize) -> Self {
        let moved = tensor.payload().min(tensor.extent);
        Self { memory, first: tensor.first, bytes: tensor.extent, moved }
    }
}

/// What an operator reads and writes on the GPU.
#[derive(Clone, Debug, Default)]
pub(super) struct Accesses<'a> {
    /// With the argument's position.
    pub(super) reads: Vec<(usize, Access)>,
    pub(super) writes: Vec<Access>,
    /// What `writes` are.
    pub(super) written: Vec<&'a Tensor>,
    /// Whether it is not known which arguments are written.
    pub(super) unsure: bool,
    /// What is in both already: the lists of an optimizer's kernel are long.
    known: HashSet<(bool, usize, u64, u64)>,
}

impl<'a> Accesses<'a> {
    /// Of a node, on the device of this number.
    pub(super) fn of(
        node: &Node,
        class: Class,
        inputs: &Placed<'a>,
        outputs: &Placed<'a>,
        device: u32,
    ) -> Self {
        let name = short(&node.name);
        let plain = name.strip_suffix('_').unwrap_or(name);
        let roles = node.triton.as_ref().and_then(|triton| triton.roles.as_deref());
        let mut found = Self {
            // Collectives' schemas have no aliases though they work in place.
            unsure: roles.is_none() && node.schema.is_none() || class == Class::Known(Work::Collective),
            ..Self::default()
        };
        let overwrites = listed(FILL, plain) || plain == "copy";
        // Running statistics change without the schema saying so.
        let training = matches!(node.input("training"), Some(Value::Bool(true)))
            && class == Class::Known(Work::BatchNorm);
        for (at, (argument, tensor, memory)) in inputs.iter().enumerate() {
            let Some(memory) = memory.filter(|_| tensor.device == device) else { continue };
            let declared = node.schema.as_ref().and_then(|schema| schema.arguments.get(*argument));
            let name = declared.map_or("", |argument| &argument.name);
            let access = Access::of(tensor, memory);
            let statistic = training && ["running_mean", "running_var"].contains(&name);
            let role = roles.and_then(|roles| roles.get(at));
            let written = found.unsure
                || statistic
                || role.is_some_and(|role| *role != Role::Reads)
                || declared.is_some_and(|a| a.alias == Alias::Written);
            let read = match role {
                Some(role) => *role != Role::Writes,
                None => !written || found.unsure || statistic || !(overwrites || name.starts_with("out")),
            };
            if read {
                found.read(*argument, access);
            }
            if written {
                found.write(*argument, access, tensor);
            }
        }
        let given: HashSet<usize> = inputs.iter().filter_map(|(_, _, memory)| *memory).collect();
        for (_, tensor, memory) in outputs {
            let Some(memory) = memory.filter(|_| tensor.device == device) else { continue };
            // What was given and comes back is written where the schema says so, above.
            if !given.contains(&memory) {
                found.write(usize::MAX, Access::of(tensor, memory), tensor);
            }
        }
        found
    }

    fn read(&mut self, argument: usize, access: Access) {
        if self.known.insert((false, access.memory, access.first, access.bytes)) {
            self.reads.push((argument, access));
        }
    }

    fn write(&mut self, argument: usize, access: Access, tensor: &'a Tensor) {
        if !self.known.insert((true, access.memory, access.first, access.bytes)) {
            return;
        }
        self.writes.push(access);
        self.written.push(tensor);
        // What a trace calls written is written whole; naming it as read, too, keeps what is in the gaps.
        if access.moved < access.bytes {
            self.read(argument, Access { moved: 0, ..access });
        }
    }

    pub(super) fn keep_writes(&mut self, keep: impl Fn(&Access) -> bool) {
        let all = std::mem::take(&mut self.writes).into_iter().zip(std::mem::take(&mut self.written));
        (self.writes, self.written) = all.filter(|(access, _)| keep(access)).unzip();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty()
    }
}

/// The kernels of an operator, in order; none where it touches no memory of the GPU.
pub(super) fn kernels(node: &Node, class: Class, accesses: &Accesses<'_>, rules: Rules) -> Vec<Draft> {
    let operator = Operator { node, accesses, rules };
    let work = match class {
        Class::Free => return Vec::new(),
        Class::Known(work) => work,
        Class::Unknown => Work::Elementwise,
    };
    let copies_out = matches!(work, Work::ToHost { .. }) && !accesses.is_empty();
    if accesses.writes.is_empty() && !copies_out {
        return Vec::new();
    }
    let mut drafts = operator.drafts(work);
    if listed(WAITS, short(&node.name))
        && let Some(last) = drafts.last_mut()
    {
        last.sync = Some(node.name.clone());
    }
    drafts
}

pub(super) struct Operator<'a> {
    pub(super) node: &'a Node,
    pub(super) accesses: &'a Accesses<'a>,
    pub(super) rules: Rules,
}

impl Operator<'_> {
    fn drafts(&self, work: Work) -> Vec<Draft> {
        let name = short(&self.node.name);
        let elements = self.elements();
        let read = self.read_elements();
        let one = match work {
            Work::Elementwise if self.is_multi_tensor() => {
                Draft::multi_tensor(name, self.accesses.written.iter().map(|tensor| tensor.numel))
            }
            Work::Elementwise => Draft::elementwise(name, elements, elements),
            Work::Move if self.is_plain_copy() => Draft {
                kind: KernelType::Copy,
                ..Draft::simt(format!("memcpy_{name}"), elements.div_ceil(512), 128, 0)
            },
            Work::Move | Work::Fill => Draft::elementwise(name, elements, 0),
            Work::Cat => {
                let parts = self.accesses.reads.len().max(1) as u64;
                Draft::cat(parts, self.tensors().map(|tensor| tensor.numel).max().unwrap_or(elements))
            }
            Work::Pool => Draft::pool(name, elements, read, self.taps()),
            Work::Reduce => Draft::reduce(name, elements, read),
            Work::Softmax => Draft::softmax(self.rows(elements), elements),
            Work::RowNorm => Draft::row_norm(name, self.normalised_rows(), elements),
            Work::BatchNorm => match self.node.input("training") {
                Some(Value::Bool(true)) => {
                    let channels = self.tensors().next().and_then(|t| t.shape.get(1).copied()).unwrap_or(1);
                    Draft::batch_norm_train(channels, elements)
                }
                Some(_) => Draft::batch_norm_infer(elements),
                None => Draft::simt(name, elements.div_ceil(512), 128, elements.saturating_mul(5)),
            },
            Work::Gather => {
                let draft = self.touching(Draft::gather(name, elements));
                return vec![Draft { traffic: self.gathered(), ..draft }];
            }
            Work::Scatter => return self.scatter(),
            Work::Search => Draft::simt(name, read.div_ceil(512), 128, read),
            Work::Attention { backward } => self.attention(backward),
            Work::Collective => Draft::simt(name, elements.div_ceil(512).min(32), 512, elements),
            Work::Triton => self.triton(),
            Work::ToHost { waits } => {
                Draft { sync: waits.then(|| self.node.name.clone()), ..self.memcpy("memcpy_d2h") }
            }
            Work::FromHost => self.memcpy("memcpy_h2d"),
            Work::Equal => {
                let reduce = self.touching(Draft::reduce(name, 1, read));
                let mut copy = self.touching(self.memcpy("memcpy_d2h"));
                (copy.reads, copy.writes) = (reduce.writes.clone(), Vec::new());
                copy.count_gaps();
                return vec![reduce, copy];
            }
            Work::Product => self.product(),
            Work::Convolution => return self.convolution(),
            Work::ConvolutionBackward => return self.convolution_backward(),
            Work::Recurrent { backward } => return self.recurrent(backward),
            Work::Fourier => return self.fourier(),
        };
        vec![self.touching(one)]
    }

    /// Input tensors, in order.
    fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        let mut found = Vec::new();
        self.node.inputs.iter().for_each(|value| value.tensors(&mut found));
        found.into_iter()
    }

    /// Elements of the result; of all results where they are a list.
    fn elements(&self) -> u64 {
        let all = self.accesses.written.iter().map(|tensor| tensor.numel);
        let many =
            self.is_multi_tensor() || self.node.outputs.iter().any(|value| matches!(value, Value::List(_)));
        if many { all.fold(0, u64::saturating_add) } else { all.max().unwrap_or(1) }
    }

    /// One kernel over lists of tensors.
    fn is_multi_tensor(&self) -> bool {
        let named = ["_foreach_", "_fused_"].iter().any(|prefix| short(&self.node.name).starts_with(prefix));
        let list = |value: &Value| match value {
            Value::List(list) => list.iter().any(|value| matches!(value, Value::Tensor(_))),
            _ => false,
        };
        named && self.node.inputs.iter().any(list)
    }

    /// Elements of the largest input.
    fn read_elements(&self) -> u64 {
        self.tensors().map(|tensor| tensor.numel).max().unwrap_or(0)
    }

    /// A copy that the GPU's copy engine takes: same elements, one piece.
    fn is_plain_copy(&self) -> bool {
        if short(&self.node.name) != "copy_" {
            return false;
        }
        let tensors: Vec<&Tensor> = self.tensors().collect();
        let [to, from] = tensors[..] else { return false };
        let whole = |tensor: &Tensor| tensor.extent == tensor.payload();
        let same = to.numel == from.numel && to.itemsize == from.itemsize && to.precision == from.precision;
        same && to.integer == from.integer && whole(to) && whole(from)
    }

    /// Elements of a pooling's window; a backward pass has one of each result, whatever its window.
    fn taps(&self) -> Option<u64> {
        let name = short(&self.node.name);
        let Some(Value::List(sides)) = self.node.input("kernel_size").filter(|_| !name.ends_with("backward"))
        else {
            return None;
        };
        let side = |side: &Value| match side {
            Value::Int(side) => u64::try_from(*side).ok(),
            _ => None,
        };
        let sides: Vec<u64> = sides.iter().filter_map(side).collect();
        let dimensions = if name.contains("3d") { 3 } else { 2 };
        match sides[..] {
            [] => None,
            // One number stands for all dimensions.
            [side] => Some(product(&vec![side; dimensions])),
            ref sides => Some(product(sides)),
        }
    }

    /// Rows that a softmax is over.
    fn rows(&self, elements: u64) -> u64 {
        let shape = self.tensors().next().map_or(&[][..], |tensor| &tensor.shape);
        let dim = match self.node.input("dim") {
            Some(Value::Int(dim)) => axis(*dim, shape.len()),
            _ => shape.len().checked_sub(1),
        };
        elements / dim.and_then(|dim| shape.get(dim).copied()).unwrap_or(1).max(1)
    }

    /// Rows, or groups, that are normalised each by itself.
    fn normalised_rows(&self) -> u64 {
        let Some(input) = self.node.tensor("input").or_else(|| self.tensors().next()) else { return 1 };
        let rows = match (self.node.input("normalized_shape"), self.node.input("group")) {
            (Some(Value::List(dims)), _) => {
                let kept = input.shape.len().saturating_sub(dims.len());
                input.shape[..kept].iter().fold(1, |rows: u64, d| rows.saturating_mul(*d))
            }
            (_, Some(Value::Int(groups))) => {
                let groups = u64::try_from(*groups).unwrap_or(1);
                input.shape.first().map_or(1, |n| n.saturating_mul(groups))
            }
            _ => input
                .shape
                .split_last()
                .map_or(1, |(_, rest)| rest.iter().fold(1_u64, |rows, d| rows.saturating_mul(*d))),
        };
        rows.max(1)
    }

    /// Bytes that a gather moves: whole tables are named, and of their rows those that the index names are moved.
    fn gathered(&self) -> Option<u64> {
        let written = moved(&self.accesses.writes);
        let all: Vec<Access> = self.accesses.reads.iter().map(|(_, access)| *access).collect();
        let table = self.reads_of(&["self", "weight"]).first().map(|table| table.moved);
        // Of what has no table, such as a gradient, the largest input stands for it.
        let table = table.or_else(|| all.iter().map(|read| read.moved).max())?;
        Some(moved(&all).saturating_sub(table).saturating_add(table.min(written)).saturating_add(written))
    }

    /// The updates of a table; where it is not in place, the table is copied first.
    fn scatter(&self) -> Vec<Draft> {
        let name = short(&self.node.name);
        let (table, writes) = (self.reads_of(&["self"]), &self.accesses.writes);
        let updates = self.updates();
        let mut scatter = self.touching(Draft::gather(name, updates));
        let given: Vec<Access> = scatter.reads.iter().copied().filter(|read| !table.contains(read)).collect();
        let itemsize = self.accesses.written.first().map_or(0, |table| table.itemsize);
        // What adds to a table reads it, too.
        let adds = name.contains("add")
            || self.node.input("reduce").is_some()
            || matches!(self.node.input("accumulate"), Some(Value::Bool(true)));
        let times = if adds { 2 } else { 1 };
        // What is updated again and again is not moved again.
        let updated = updates.saturating_mul(itemsize).min(moved(writes));
        let traffic = Some(moved(&given).saturating_add(updated.saturating_mul(times)));
        if table.iter().all(|table| writes.contains(table)) {
            return vec![Draft { traffic, ..scatter }];
        }
        let elements = self.elements();
        let copy = Draft::simt(format!("memcpy_{name}"), elements.div_ceil(512), 128, 0);
        let mut copy = Draft { kind: KernelType::Copy, reads: table, ..self.touching(copy) };
        copy.writes.clone_from(writes);
        copy.count_gaps();
        scatter.reads = given.into_iter().chain(writes.iter().copied()).collect();
        vec![copy, Draft { traffic, ..scatter }]
    }

    /// Elements of a table that are updated: as many as there are values, or as the index names.
    fn updates(&self) -> u64 {
        let mut index = Vec::new();
        let lists = ["index", "indices"].iter().find_map(|name| self.node.input(name));
        lists.iter().for_each(|list| list.tensors(&mut index));
        let named = index.iter().map(|index| index.numel).max().unwrap_or(0);
        if short(&self.node.name).starts_with("scatter") {
            return named;
        }
        let values = ["source", "values", "value"].iter().filter_map(|name| self.node.tensor(name));
        let values = values.map(|values| values.numel).max().unwrap_or(0).max(named);
        let Some(table) = self.node.tensor("self") else { return values };
        // Elements of one byte are a mask's, which does not say how many it names.
        if index.iter().any(|index| index.itemsize == 1) {
            return values;
        }
        let indexed: Vec<usize> = match (self.node.input("dim"), lists) {
            (Some(Value::Int(dim)), _) => axis(*dim, table.shape.len()).into_iter().collect(),
            (_, Some(Value::List(list))) => {
                (0..list.len()).filter(|at| matches!(list[*at], Value::Tensor(_))).collect()
            }
            _ => Vec::new(),
        };
        let rows = indexed.iter().filter_map(|axis| table.shape.get(*axis));
        let rows = rows.fold(1_u64, |rows, d| rows.saturating_mul(*d)).max(1);
        values.max(named.saturating_mul(table.numel / rows))
    }

    /// With all memory that the operator touches.
    pub(super) fn touching(&self, mut draft: Draft) -> Draft {
        draft.op = short(&self.node.name).to_owned();
        draft.reads = self.accesses.reads.iter().map(|(_, access)| *access).collect();
        draft.writes.clone_from(&self.accesses.writes);
        if self.accesses.unsure {
            draft.est.extend(["r", "w"]);
        }
        draft.count_gaps();
        draft
    }

    /// A kernel per dimension, all but the first in place.
    fn fourier(&self) -> Vec<Draft> {
        let Some(larger) =
            self.tensors().chain(self.accesses.written.iter().copied()).max_by_key(|t| t.numel)
        else {
            return Vec::new();
        };
        let rank = larger.shape.len();
        let index = |dim: &Value| match dim {
            Value::Int(dim) => axis(*dim, rank),
            _ => None,
        };
        let mut dims: Vec<u64> = match self.node.input("dim") {
            Some(Value::List(dims)) => {
                dims.iter().filter_map(|dim| larger.shape.get(index(dim)?).copied()).collect()
            }
            _ => Vec::new(),
        };
        if dims.is_empty() {
            dims.push(larger.numel);
        }
        // Half of what is real is the other half's mirror image.
        let real = ["_fft_r2c", "_fft_c2r"].contains(&short(&self.node.name));
        let elements = if real { larger.numel.div_ceil(2) } else { larger.numel };
        let one = |(at, length): (usize, u64)| {
            let flops = elements.saturating_mul(5).saturating_mul(u64::from(length.max(1).ilog2()));
            let mut draft = self.touching(Draft::simt("fft", larger.numel.div_ceil(512), 128, flops));
            if at > 0 {
                draft.reads = self.accesses.writes.clone();
                draft.count_gaps();
            }
            draft
        };
        dims.into_iter().enumerate().map(one).collect()
    }

    /// What it reads by arguments of these names.
    pub(super) fn reads_of(&self, names: &[&str]) -> Vec<Access> {
        let schema = self.node.schema.as_ref();
        let wanted = |at: usize| {
            schema
                .and_then(|schema| schema.arguments.get(at))
                .is_some_and(|a| names.contains(&a.name.as_str()))
        };
        self.accesses.reads.iter().filter(|(at, _)| wanted(*at)).map(|(_, access)| *access).collect()
    }

    fn product(&self) -> Draft {
        let name = short(&self.node.name).trim_end_matches('_');
        let (a, b) = match name {
            "addmm" | "_addmm_activation" => ("mat1", "mat2"),
            "baddbmm" | "addbmm" => ("batch1", "batch2"),
            "mv" => ("self", "vec"),
            "addmv" => ("mat", "vec"),
            "dot" => ("self", "tensor"),
            "vdot" => ("self", "other"),
            "linear" | "mkldnn_linear" => ("input", "weight"),
            _ => ("self", "mat2"),
        };
        let mut factors = self.tensors();
        let (a, b) = match (self.node.tensor(a), self.node.tensor(b)) {
            (Some(a), Some(b)) => (a, b),
            _ => match (factors.next(), factors.next()) {
                (Some(a), Some(b)) => (a, b),
                _ => return Draft::elementwise(name, self.elements(), self.elements()),
            },
        };
        let last = |tensor: &Tensor, back: usize| {
            tensor.shape.len().checked_sub(back).map_or(1, |at| tensor.shape[at])
        };
        let k = last(a, 1);
        let mnk = match name {
            "linear" | "mkldnn_linear" => [a.numel / k.max(1), last(b, 2), k, 1],
            "mv" | "addmv" => [last(a, 2), 1, k, 1],
            "dot" | "vdot" => [1, 1, k, 1],
            _ if a.shape.len() >= 3 => [last(a, 2), last(b, 1), k, a.shape[0]],
            _ => [last(a, 2), last(b, 1), k, 1],
        };
        self.rules.tiles("gemm", mnk, a.precision.pipe(self.rules.tf32))
    }

    fn convolution(&self) -> Vec<Draft> {
        let name = short(&self.node.name);
        let input = self.node.tensor("input").or_else(|| self.node.tensor("self"));
        let (Some(input), Some(weight), Some(out)) =
            (input, self.node.tensor("weight"), self.accesses.written.first().copied())
        else {
            let elements = self.elements();
            return vec![self.touching(Draft::elementwise(name, elements, elements))];
        };
        let convolution = self.one_convolution(Pass::Forward, input, weight, out);
        let mut convolution = self.touching(convolution);
        // Where the trace is a CPU's, the bias is part of the operator; cuDNN's operators have none, and an addition follows.
        let bias = self.node.schema.as_ref().and_then(|schema| schema.position("bias"));
        let bias = bias.and_then(|bias| self.accesses.reads.iter().find(|(argument, _)| *argument == bias));
        let Some((_, bias)) = bias else { return vec![convolution] };
        if ["_conv_depthwise2d", "conv_depthwise3d", "cudnn_convolution_relu", "cudnn_convolution_add_relu"]
            .contains(&name)
        {
            return vec![convolution];
        }
        convolution.reads.retain(|access| access != bias);
        convolution.count_gaps();
        let results = self.accesses.writes.clone();
        let add = Draft::simt("conv_bias_add", out.numel.div_ceil(512), 128, out.numel);
        let mut add = Draft { op: "add_".to_owned(), ..self.touching(add) };
        add.reads = std::iter::once(*bias).chain(results.iter().copied()).collect();
        add.writes = results;
        add.count_gaps();
        vec![convolution, add]
    }

    /// `pass` says which of the three matrices of the product is the result.
    fn one_convolution(&self, pass: Pass, input: &Tensor, weight: &Tensor, out: &Tensor) -> Draft {
        let shapes = Convolution {
            input: &input.shape,
            weight: &weight.shape,
            out: &out.shape,
            groups: match self.node.input("groups") {
                Some(Value::Int(groups)) => Some(u64::try_from(*groups).unwrap_or(1)),
                _ => None,
            },
            transposed: matches!(self.node.input("transposed"), Some(Value::Bool(true)))
                || short(&self.node.name).contains("transpose"),
        };
        let allowed = match self.node.input("allow_tf32") {
            Some(Value::Bool(allowed)) => *allowed,
            // cuDNN's default, unlike cuBLAS's.
            _ => true,
        };
        self.rules.convolution(pass, &shapes, input.precision.pipe(allowed))
    }

    /// Up to three kernels: the gradients of the input, of the weights and of the bias.
    fn convolution_backward(&self) -> Vec<Draft> {
        let named = ["grad_output", "input", "weight"].map(|name| self.node.tensor(name));
        let [Some(gradient), Some(input), Some(weight)] = named else {
            let elements = self.elements();
            let one = Draft::elementwise("convolution_backward", elements, elements);
            return vec![self.touching(one)];
        };
        let mut drafts = Vec::new();
        for (result, write) in self.accesses.written.iter().zip(&self.accesses.writes) {
            // Every product of the forward convolution is in each gradient once more.
            let (draft, reads) = if result.shape == input.shape {
                (self.one_convolution(Pass::Data, input, weight, gradient), &["grad_output", "weight"][..])
            } else if result.shape == weight.shape {
                (self.one_convolution(Pass::Weights, input, weight, gradient), &["grad_output", "input"][..])
            } else {
                let sum = Draft::simt("reduce_conv_bias", result.numel, 512, gradient.numel);
                (sum, &["grad_output"][..])
            };
            let mut draft =
                Draft { reads: self.reads_of(reads), writes: vec![*write], ..self.touching(draft) };
            draft.count_gaps();
            drafts.push(draft);
        }
        drafts
    }

    fn attention(&self, backward: bool) -> Draft {
        let name = short(&self.node.name);
        let [Some(query), Some(key), Some(value)] =
            ["query", "key", "value"].map(|name| self.node.tensor(name))
        else {
            return Draft::simt(name, self.elements().div_ceil(512), 128, self.elements());
        };
        let dim = |tensor: &Tensor, at: usize| tensor.shape.get(at).copied().unwrap_or(1);
        if let [total, heads, depth] = query.shape[..]
            && !name.starts_with("_scaled")
        {
            let draft = self.packed_attention([total, heads, depth], key, value);
            return if backward { draft.backward() } else { draft };
        }
        // [batch, heads, length, depth] at the outer operators and cuDNN's, [batch, length, heads, depth] at the other inner ones.
        let outer = ["_scaled", "_cudnn"].iter().any(|prefix| name.starts_with(prefix));
        let (heads, length) = if outer { (1, 2) } else { (2, 1) };
        let sizes = Heads {
            batch: dim(query, 0),
            heads: dim(query, heads),
            queries: dim(query, length),
            keys: dim(key, length),
            depths: dim(query, 3).saturating_add(dim(value, 3)),
        };
        let draft = Draft::attention(name, sizes, query.precision.pipe(false));
        if backward { draft.backward() } else { draft }
    }

    /// Sequences behind each other: [all lengths, heads, depth]. Which length each has is in a tensor, whose numbers are not recorded.
    fn packed_attention(&self, [total, heads, depth]: [u64; 3], key: &Tensor, value: &Tensor) -> Draft {
        let longest = |name: &str, total: u64| match self.node.input(name) {
            Some(Value::Int(longest)) => u64::try_from(*longest).unwrap_or(total).min(total),
            _ => total,
        };
        let ends = self.node.tensor("cum_seq_q").map_or(0, |ends| ends.numel);
        let sizes = Heads {
            batch: ends.saturating_sub(1).max(1),
            heads,
            queries: longest("max_q", total),
            keys: longest("max_k", key.shape.first().copied().unwrap_or(1)),
            depths: depth.saturating_add(value.shape.last().copied().unwrap_or(1)),
        };
        let mut draft = Draft::attention(short(&self.node.name), sizes, key.precision.pipe(false));
        // At most: every query by as many keys as the longest sequence has.
        draft.flops = product(&[2, total, heads, sizes.keys, sizes.depths]);
        draft.est.push("flops");
        draft
    }

    /// What a copy engine does: it has no grid.
    fn memcpy(&self, name: &str) -> Draft {
        Draft { kind: KernelType::Copy, ..Draft::simt(name, 1, 32, 0) }
    }

    fn triton(&self) -> Draft {
        let elements = self.elements();
        let product = self.node.name.starts_with("triton_tem_fused").then(|| self.template()).flatten();
        let mut draft =
            product.unwrap_or_else(|| Draft::simt(&self.node.name, elements.div_ceil(512), 128, elements));
        // The observer appends the grid as text, such as `(98, 1, 1)`.
        let texts = self.node.inputs.iter().rev().filter_map(|value| match value {
            Value::Text(text) if text.contains('(') => Some(text),
            _ => None,
        });
        let numbers = |text: &String| -> Vec<u64> {
            text.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
        };
        if let Some(grid) =
            texts.map(numbers).find(|grid| (1..=3).contains(&grid.len()) && !grid.contains(&0))
        {
            draft.grid = [1; 3];
            draft.grid[..grid.len()].copy_from_slice(&grid);
            draft.est.retain(|field| *field != "grid");
        }
        draft
    }

    /// A template that multiplies its first two tensors, if they are matrices that fit, or as many of each.
    fn template(&self) -> Option<Draft> {
        let mut factors = self.tensors();
        let mnk = match (&factors.next()?.shape[..], &factors.next()?.shape[..]) {
            ([m, k], [l, n]) if k == l => [*m, *n, *k, 1],
            ([i, m, k], [j, l, n]) if k == l && i == j => [*m, *n, *k, *i],
            _ => return None,
        };
        let precision = self.tensors().next()?.precision;
        Some(self.rules.tiles(&self.node.name, mnk, precision.pipe(self.rules.tf32)))
    }
}

impl Draft {
    /// An attention's other pass: the scores again, and four gradients.
    fn backward(mut self) -> Self {
        self.flops = self.flops.saturating_mul(5) / 2;
        self
    }
}
