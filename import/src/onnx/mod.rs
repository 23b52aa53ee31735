//! ONNX: a model, whose nodes say what a GPU would launch.
//!
//! Shapes follow from those of the inputs, and from the model where it has them (`value_info`). What is the same in every run is computed
//! before it, as runtimes do, and launches nothing; of small constants the numbers are known, for shapes are made of them. Kernels follow
//! from the operators by rules, which `est` names.

mod error;
mod fold;
mod layout;
mod node;
mod operators;
mod product;
pub mod proto;
mod recurrent;
mod shape;
mod spatial;
mod tensor;

pub use error::{NodeName, OnnxError, OnnxErrors, Problem, Warning};

use crate::launch::{self, Launched, Memory, Placed, Rules, SMS, Step};
use crate::{Counts, MAX_ERRORS, count, file, sorted};
use node::{Fault, Operator};
use operators::Launcher;
use prost::Message;
use prost::bytes::Bytes;
use proto::{Dimension, GraphProto, ModelProto, NodeProto, TypeProto, ValueInfoProto};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use tensor::{Element, Numbers, Tensor, Value};
use windlass_runtime::ktrace::{Event, Gpu, Header, Run, Trace};

/// The largest protobuf that there may be.
const MAX_BYTES: u64 = 2 << 30;

/// The most kernels of a stream, as many as of one of XLA's.
const MAX_KERNELS: usize = 1 << 18;

/// Numbers of constants that are kept, all together: a few bytes of a model may ask for many.
const MAX_ALL_NUMBERS: usize = 1 << 24;

/// How to import.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The workload's name in the kernel stream.
    pub name: String,
    /// The GPU that it is for, or none (`assumed`). Its SMs decide the tiles of products.
    pub gpu: Option<Gpu>,
    /// Whether freed memory is used again, as by PyTorch's caching allocator; otherwise each tensor has addresses of its own.
    pub reuse: bool,
    /// Whether an elementwise node writes over an input of the same size that nothing reads later, as ONNX Runtime plans memory.
    pub in_place: bool,
    /// Whether matrix products in single precision use tensor cores. Convolutions do.
    pub tf32: bool,
    /// Sizes of dimensions that the model names, or of the inputs' that have no name, `INPUT[AXIS]`.
    pub dims: BTreeMap<String, u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "onnx".to_owned(),
            gpu: None,
            reuse: true,
            in_place: false,
            tf32: false,
            dims: BTreeMap::new(),
        }
    }
}

impl Options {
    /// Gives a dimension its size.
    ///
    /// # Errors
    /// [`Problem::DimTwice`] where it has one.
    pub fn set_dim(&mut self, name: &str, size: u64) -> Result<(), Problem> {
        match self.dims.insert(name.to_owned(), size) {
            None => Ok(()),
            Some(before) => Err(Problem::DimTwice { sizes: [before, size] }),
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

/// Imports a model, plain or compressed with zstd, of at most 2 GiB unpacked, or from stdin, `-`. Weights in other files are not looked for.
///
/// # Errors
/// All that is wrong in the model, up to [`MAX_ERRORS`].
pub fn import(model: &Path, options: &Options) -> Result<Imported, OnnxErrors> {
    let name = file::name(model);
    match file::read(model, MAX_BYTES) {
        Ok(bytes) => import_bytes(&name, bytes, options),
        Err(error) => Err(OnnxErrors(vec![whole(&name, Problem::File(error))])),
    }
}

/// The same from bytes: `file` stands for it in errors.
///
/// # Errors
/// As [`import`].
pub fn import_bytes(file: &str, bytes: Vec<u8>, options: &Options) -> Result<Imported, OnnxErrors> {
    let decoded = ModelProto::decode(Bytes::from(bytes));
    let model = decoded.map_err(|error| whole(file, Problem::NotOnnx(error.to_string())))?;
    let Some(graph) = model.graph.as_ref().filter(|graph| !graph.node.is_empty()) else {
        return Err(whole(file, Problem::NoGraph).into());
    };
    let gpu = options.gpu.clone().unwrap_or(Gpu { name: "assumed".to_owned(), sms: Some(SMS) });
    let mut importer = Importer {
        file,
        opsets: model.opset_import.iter().map(|set| (plain(&set.domain), set.version)).collect(),
        rules: Rules { sms: gpu.sms.unwrap_or(SMS), tf32: options.tf32 },
        options,
        last_uses: last_uses(graph),
        declared: graph
            .value_info
            .iter()
            .chain(&graph.output)
            .map(|info| (info.name.as_str(), info))
            .collect(),
        values: HashMap::new(),
        memories: Vec::new(),
        last_readers: Vec::new(),
        numbers: 0,
        functions: model.functions.iter().map(|f| (f.domain.as_str(), f.name.as_str())).collect(),
        moment: 0,
        steps: Vec::new(),
        kernels: 0,
        asked: BTreeSet::new(),
        unknown: Counts::new(),
        other_shapes: Counts::new(),
        errors: Vec::new(),
    };
    let opset = importer.opset("");
    importer.begin(graph);
    importer.nodes(graph, None);
    importer.end(graph);
    let Importer { memories, steps, unknown, other_shapes, errors, kernels, .. } = importer;
    if !errors.is_empty() {
        return Err(OnnxErrors(errors));
    }
    let placed = launch::events(steps, memories, options.reuse);
    let Placed { events, span, .. } = placed.ok_or_else(|| whole(file, Problem::AddressSpace))?;
    let mut warnings = Vec::new();
    if !unknown.is_empty() {
        warnings.push(Warning::UnknownOperators(sorted(unknown)));
    }
    if !other_shapes.is_empty() {
        warnings.push(Warning::OtherShapes(sorted(other_shapes)));
    }
    let trace = Trace {
        header: header(&model, opset, options, gpu, kernels, span),
        runs: runs(events),
        warnings: Vec::new(),
    };
    Ok(Imported { trace, warnings })
}

fn runs(events: Vec<Event>) -> Vec<Run> {
    vec![Run { number: 0, input: None, events }]
}

fn header(
    model: &ModelProto,
    opset: i64,
    options: &Options,
    gpu: Gpu,
    kernels: usize,
    span: [u64; 2],
) -> Header {
    let memory = match options.reuse {
        true => "memory from an emulated CUDA caching allocator, freed after the last node that reads it",
        false => "every tensor has addresses of its own",
    };
    Header {
        name: options.name.clone(),
        source: "onnx".to_owned(),
        producer: format!("windlass {} import onnx", env!("CARGO_PKG_VERSION")),
        gpu,
        params: serde_json::json!({
            "producer": format!("{} {}", model.producer_name, model.producer_version).trim(),
            "opset": opset,
            "dims": options.dims,
            "reuse": options.reuse,
            "in_place": options.in_place,
            "tf32": options.tf32,
        }),
        kernels: kernels as u64,
        span: Some(span),
        notes: format!(
            "kernels, grids and blocks by rule from the nodes of a model; what is constant is computed before the run; {memory}"
        ),
    }
}

/// ONNX's own operators have two names.
fn plain(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

/// The last node that reads each value, itself or in a branch; of results, one past the last node.
fn last_uses(graph: &GraphProto) -> HashMap<&str, usize> {
    fn add<'a>(graph: &'a GraphProto, outer: Option<usize>, uses: &mut HashMap<&'a str, usize>) {
        for (at, node) in graph.node.iter().enumerate() {
            let at = outer.unwrap_or(at);
            uses.extend(node.input.iter().map(|name| (name.as_str(), at)));
            node.attribute.iter().filter_map(|a| a.g.as_ref()).for_each(|g| add(g, Some(at), uses));
        }
        uses.extend(graph.output.iter().map(|info| (info.name.as_str(), outer.unwrap_or(graph.node.len()))));
    }
    let mut uses = HashMap::new();
    add(graph, None, &mut uses);
    uses
}

fn whole(file: &str, problem: Problem) -> OnnxError {
    OnnxError { file: file.to_owned(), node: None, field: None, problem }
}

impl From<OnnxError> for OnnxErrors {
    fn from(error: OnnxError) -> Self {
        Self(vec![error])
    }
}

/// What is known of a dimension.
enum Size {
    Known(u64),
    /// Its name, or that of an input's that has none.
    Named(String),
}

fn dimensions(info: &ValueInfoProto) -> Option<(Element, Vec<Size>)> {
    let TypeProto { tensor_type } = info.r#type.as_ref()?;
    let tensor = tensor_type.as_ref().filter(|tensor| tensor.elem_type != 0)?;
    let dim = |(axis, dim): (usize, &proto::DimensionProto)| match &dim.value {
        Some(Dimension::Size(size)) if *size >= 0 => Size::Known(size.unsigned_abs()),
        // Some write a question mark for what has no name.
        Some(Dimension::Name(name)) if !["", "?"].contains(&name.as_str()) => Size::Named(name.clone()),
        _ => Size::Named(format!("{}[{axis}]", info.name)),
    };
    Some((Element(tensor.elem_type), tensor.shape.as_ref()?.dim.iter().enumerate().map(dim).collect()))
}

struct Importer<'a> {
    file: &'a str,
    /// Versions of the operators, by domain.
    opsets: HashMap<&'a str, i64>,
    /// Operators that the model defines, with their domains.
    functions: HashSet<(&'a str, &'a str)>,
    rules: Rules,
    options: &'a Options,
    /// The last node that reads a value; none for results.
    last_uses: HashMap<&'a str, usize>,
    /// The same of each memory, by all values in it so far: those that come later are made of one of them.
    last_readers: Vec<usize>,
    /// What the model says about its values.
    declared: HashMap<&'a str, &'a ValueInfoProto>,
    /// Nothing for what is not known because of an error that was reported.
    values: HashMap<&'a str, Option<Value>>,
    memories: Vec<Memory>,
    /// How many are kept.
    numbers: usize,
    /// Counts nodes, those of branches, too.
    moment: usize,
    /// With the moment of each.
    steps: Vec<(usize, Step)>,
    kernels: usize,
    /// Dimensions of inputs that have no size.
    asked: BTreeSet<String>,
    unknown: Counts,
    other_shapes: Counts,
    errors: Vec<OnnxError>,
}

impl<'a> Importer<'a> {
    fn opset(&self, domain: &str) -> i64 {
        self.opsets.get(plain(domain)).copied().unwrap_or(1)
    }

    fn full(&self) -> bool {
        self.errors.len() >= MAX_ERRORS
    }

    fn error(&mut self, node: Option<(usize, &NodeProto)>, field: Option<String>, problem: Problem) {
        if !self.full() {
            let node = node.map(|(at, node)| NodeName::of(at, node));
            self.errors.push(OnnxError { file: self.file.to_owned(), node, field, problem });
        }
    }

    /// Memory for a value: of a node, or there before.
    fn memory(&mut self, tensor: &Tensor, born: Option<usize>) -> usize {
        let bytes = tensor.bytes();
        self.memories.push(Memory {
            bytes,
            born: born.map(|at| (at, at)),
            last: born.unwrap_or(0),
            result: false,
            recorded: None,
        });
        self.last_readers.push(0);
        self.memories.len() - 1
    }

    fn kept(&mut self, numbers: Option<Numbers>) -> Option<Numbers> {
        let numbers = numbers?;
        self.numbers += numbers.len();
        (self.numbers <= MAX_ALL_NUMBERS).then_some(numbers)
    }

    /// What is there before the first node.
    fn begin(&mut self, graph: &'a GraphProto) {
        let mut names = BTreeSet::new();
        for info in graph.input.iter().chain(&graph.value_info).chain(&graph.output) {
            let dims = dimensions(info).map(|(_, dims)| dims).unwrap_or_default();
            names.extend(
                dims.into_iter()
                    .filter_map(|dim| if let Size::Named(name) = dim { Some(name) } else { None }),
            );
        }
        for name in self.options.dims.keys().filter(|name| !names.contains(*name)) {
            let known = names.iter().take(MAX_ERRORS).cloned().collect();
            self.error(None, Some(format!("--dim {name}")), Problem::UnknownDim { known });
        }
        self.constants(graph);
        for info in &graph.input {
            // Old models name their initializers as inputs, too.
            if !self.values.contains_key(info.name.as_str()) {
                let value = self.input(info);
                self.define(None, &info.name, value);
            }
        }
    }

    fn constants(&mut self, graph: &'a GraphProto) {
        let sparse = graph
            .sparse_initializer
            .iter()
            .filter_map(|sparse| Some((sparse.values.as_ref()?, &sparse.dims)));
        let dense = graph.initializer.iter().map(|dense| (dense, &dense.dims));
        for (proto, dims) in dense.chain(sparse) {
            let constant = if std::ptr::eq(dims, &proto.dims) {
                tensor::constant(proto)
            } else {
                tensor::sizes(dims).and_then(|dims| Ok((Tensor::new(Element(proto.data_type), dims)?, None)))
            };
            let value = match constant {
                Ok((tensor, numbers)) => {
                    let (memory, numbers) = (self.memory(&tensor, None), self.kept(numbers));
                    Some(Value { tensor, constant: true, made: false, numbers, memory })
                }
                Err(problem) => {
                    self.error(None, Some(format!("initializer {}", proto.name)), problem);
                    None
                }
            };
            self.define(None, &proto.name, value);
        }
    }

    fn input(&mut self, info: &ValueInfoProto) -> Option<Value> {
        let field = || Some(format!("input {}", info.name));
        let Some((element, dims)) = dimensions(info) else {
            self.error(None, field(), Problem::NotATensor);
            return None;
        };
        let mut shape = Vec::with_capacity(dims.len());
        for (axis, dim) in dims.into_iter().enumerate() {
            match dim {
                Size::Known(size) => shape.push(size),
                Size::Named(name) => match self.options.dims.get(&name) {
                    Some(size) => shape.push(*size),
                    // Each name is asked for once.
                    None => {
                        if self.asked.insert(name.clone()) {
                            self.error(None, field(), Problem::NoSize { axis, name });
                        }
                    }
                },
            }
        }
        if shape.len() != dimensions(info)?.1.len() {
            return None;
        }
        match Tensor::new(element, shape) {
            Ok(tensor) => {
                let memory = self.memory(&tensor, None);
                Some(Value { tensor, constant: false, made: false, numbers: None, memory })
            }
            Err(problem) => {
                self.error(None, field(), problem);
                None
            }
        }
    }

    fn define(&mut self, node: Option<(usize, &NodeProto)>, name: &'a str, value: Option<Value>) {
        if name.is_empty() {
            return;
        }
        if let Some(value) = &value {
            let last = self.last_uses.get(name).copied().unwrap_or(0);
            let reader = &mut self.last_readers[value.memory];
            *reader = last.max(*reader);
        }
        if self.values.insert(name, value).is_some() {
            let field = node.is_none().then(|| format!("input {name}"));
            self.error(node, field, Problem::Twice(name.to_owned()));
        }
    }

    /// The nodes of the graph, or of a branch, which is part of the graph's node `outer`.
    fn nodes(&mut self, graph: &'a GraphProto, outer: Option<usize>) {
        for (at, node) in graph.node.iter().enumerate() {
            if self.full() {
                return;
            }
            self.moment += 1;
            let at = outer.unwrap_or(at);
            let ours = plain(&node.domain).is_empty();
            let results = match node.op_type.as_str() {
                name if self.functions.contains(&(node.domain.as_str(), name)) => {
                    Err(Problem::Function.into())
                }
                "If" if ours => self.branch(at, node),
                "Loop" | "Scan" if ours => Err(Problem::ControlFlow.into()),
                _ => self.node(at, outer.is_some(), node),
            };
            let results = results.unwrap_or_else(|Fault { field, problem }| {
                self.error(Some((at, node)), field, problem);
                Vec::new()
            });
            let results = results.into_iter().chain(std::iter::repeat(None));
            for (name, value) in node.output.iter().zip(results) {
                self.define(Some((at, node)), name, value);
            }
        }
    }

    /// The results of the branch that is taken, where that is known before the run.
    fn branch(&mut self, at: usize, node: &'a NodeProto) -> Result<Vec<Option<Value>>, Fault> {
        let Some(inputs) = self.inputs(at, node) else { return Ok(Vec::new()) };
        let condition = inputs.first().and_then(|value| value.as_ref()?.numbers.as_ref()?.first().copied());
        let name = match condition {
            Some(0.0) => "else_branch",
            Some(_) => "then_branch",
            None => return Err(Problem::ControlFlow.into()),
        };
        let branch = node.attribute.iter().find(|attribute| attribute.name == name);
        let Some(branch) = branch.and_then(|attribute| attribute.g.as_deref()) else {
            return Err(Fault { field: Some(name.to_owned()), problem: Problem::Missing("a graph") });
        };
        self.declared.extend(branch.value_info.iter().map(|info| (info.name.as_str(), info)));
        self.constants(branch);
        self.nodes(branch, Some(at));
        let result = |info: &ValueInfoProto| match self.values.get(info.name.as_str()) {
            Some(value) => Ok(value.clone()),
            None if self.full() => Ok(None),
            None => {
                let problem = Problem::NotDefined(info.name.clone());
                Err(Fault { field: Some(format!("{name} output {}", info.name)), problem })
            }
        };
        let results = branch.output.iter().map(result).collect();
        // Another branch may use the names again.
        let nodes = branch.node.iter().flat_map(|node| &node.output);
        let sparse = branch.sparse_initializer.iter().filter_map(|sparse| sparse.values.as_ref());
        let constants = branch.initializer.iter().chain(sparse).map(|constant| &constant.name);
        for name in constants.chain(nodes) {
            self.values.remove(name.as_str());
        }
        for info in &branch.value_info {
            self.declared.remove(info.name.as_str());
        }
        results
    }

    /// What a node is given; nothing where one of it is not known because of an error.
    fn inputs(&mut self, at: usize, node: &NodeProto) -> Option<Vec<Option<Value>>> {
        let mut inputs: Vec<Option<Value>> = Vec::with_capacity(node.input.len());
        let mut known = true;
        for (position, name) in node.input.iter().enumerate() {
            match self.values.get(name.as_str()) {
                _ if name.is_empty() => inputs.push(None),
                Some(Some(value)) => inputs.push(Some(value.clone())),
                Some(None) => known = false,
                None => {
                    let problem = Problem::NotDefined(name.clone());
                    self.error(Some((at, node)), Some(format!("input[{position}]")), problem);
                    known = false;
                }
            }
        }
        known.then_some(inputs)
    }

    /// The results of a node, and its kernels into `steps`; none of them where an input is not known because of another's error.
    fn node(&mut self, at: usize, in_branch: bool, node: &'a NodeProto) -> Result<Vec<Option<Value>>, Fault> {
        let Some(inputs) = self.inputs(at, node) else { return Ok(Vec::new()) };
        let operator = Operator {
            node,
            name: match node.domain.as_str() {
                "" | "ai.onnx" => &node.op_type,
                // Of two operators of one name ONNX Runtime's has one tensor for query, key and value.
                "com.microsoft" if node.op_type == "Attention" => "PackedAttention",
                "com.microsoft" => &node.op_type,
                _ => "",
            },
            inputs: inputs.iter().map(Option::as_ref).collect(),
            opset: self.opset(&node.domain),
        };
        let tensors = self.tensors(&operator)?;
        let given = || operator.inputs.iter().copied().flatten();
        let constant = match operator.name {
            "Constant" | "Shape" | "Size" => true,
            "CastLike" => operator.given(0).is_some_and(|value| value.constant),
            name => given().count() > 0 && given().all(|value| value.constant) && !operators::is_random(name),
        };
        let mut numbers = if constant { operator.fold(&tensors) } else { Vec::new() }.into_iter();
        let mut results = Vec::with_capacity(tensors.len());
        let mut view = false;
        for (position, tensor) in tensors.into_iter().enumerate() {
            let numbers = numbers.next().flatten();
            if !operator.wants(position) {
                results.push(None);
                continue;
            }
            let viewed = operator.given(0).filter(|_| position == 0 && operator.is_view(&tensor));
            view |= viewed.is_some();
            let may = position == 0 && !in_branch;
            let overwritten =
                || given().find(|value| may && self.may_overwrite(at, &operator, value, &tensor));
            let memory = match viewed.or_else(overwritten) {
                Some(value) => value.memory,
                None => self.memory(&tensor, (!constant).then_some(self.moment)),
            };
            let numbers = self.kept(numbers);
            results.push(Some(Value { tensor, constant, made: true, numbers, memory }));
        }
        if constant || view {
            return Ok(results);
        }
        let launches = Launcher {
            operator: &operator,
            results: &results,
            rules: self.rules,
            memories: self.memories.len(),
        }
        .kernels();
        for tensor in &launches.scratch {
            self.memory(tensor, Some(self.moment));
        }
        if !launches.known && !launches.drafts.is_empty() {
            count(&mut self.unknown, &error::operator(node));
        }
        self.kernels += launches.drafts.len();
        if self.kernels > MAX_KERNELS {
            return Err(Problem::TooManyKernels { limit: MAX_KERNELS }.into());
        }
        let moment = self.moment;
        for mut draft in launches.drafts {
            let sync = draft.sync.take();
            self.steps.push((moment, Step::Kernel(Box::new(Launched::by_rule(draft)))));
            self.steps.extend(sync.map(|why| (moment, Step::Sync(why))));
        }
        Ok(results)
    }

    /// Whether a node may write its result where this input is: it alone reads that, and for the last time.
    fn may_overwrite(&self, at: usize, operator: &Operator<'_>, value: &Value, result: &Tensor) -> bool {
        self.options.in_place
            && self.memories[value.memory].born.is_some()
            && operators::is_elementwise(operator.name)
            && value.tensor == *result
            && self.last_readers[value.memory] == at
    }

    /// Types of a node's results: by its rule, or else as the model says.
    fn tensors(&mut self, operator: &Operator<'_>) -> Result<Vec<Tensor>, Fault> {
        let by_rule = operator.results()?.unwrap_or_default();
        let mut tensors = Vec::with_capacity(operator.node.output.len());
        let mut other = false;
        for (at, name) in operator.node.output.iter().enumerate() {
            let declared = self.declared_tensor(name)?;
            match (by_rule.get(at), declared) {
                (Some(rule), declared) => {
                    other |= declared.is_some_and(|declared| declared != *rule);
                    tensors.push(rule.clone());
                }
                (None, Some(declared)) => tensors.push(declared),
                // Nobody asks.
                (None, None) if name.is_empty() => tensors.push(Tensor::new(Element::BOOL, Vec::new())?),
                (None, None) => return Err(self.unknown_shape(name)),
            }
        }
        if other {
            count(&mut self.other_shapes, &error::operator(operator.node));
        }
        Ok(tensors)
    }

    /// What is to be done about it: the model may have a name for the size.
    fn unknown_shape(&self, output: &str) -> Fault {
        let dims = self.declared.get(output).and_then(|info| dimensions(info)).map(|(_, dims)| dims);
        for (axis, dim) in dims.into_iter().flatten().enumerate() {
            if let Size::Named(name) = dim
                && !self.options.dims.contains_key(&name)
            {
                return Fault {
                    field: Some(format!("output {output}")),
                    problem: Problem::NoSize { axis, name },
                };
            }
        }
        Problem::UnknownShape(output.to_owned()).into()
    }

    fn declared_tensor(&self, name: &str) -> Result<Option<Tensor>, Problem> {
        let Some((element, dims)) = self.declared.get(name).and_then(|info| dimensions(info)) else {
            return Ok(None);
        };
        let size = |dim| match dim {
            Size::Known(size) => Some(size),
            Size::Named(name) => self.options.dims.get(&name).copied(),
        };
        let shape: Option<Vec<u64>> = dims.into_iter().map(size).collect();
        shape.map(|shape| Tensor::new(element, shape)).transpose()
    }

    /// Results stay.
    fn end(&mut self, graph: &GraphProto) {
        for info in &graph.output {
            match self.values.get(info.name.as_str()) {
                Some(Some(value)) => self.memories[value.memory].result = true,
                Some(None) => {}
                None if self.full() => {}
                None => {
                    let problem = Problem::NotDefined(info.name.clone());
                    self.error(None, Some(format!("output {}", info.name)), problem);
                }
            }
        }
    }
}
