//! The execution trace: nodes, each with its tensors.
//!
//! Of a tensor PyTorch's observer writes `[tensor id, storage id, offset, elements, bytes per element, device]`. The offset is in elements and
//! the count is that of the tensor; a storage's id stands for the address of its first byte, so that memory which is freed and allocated again
//! at the same address has the same id.

use super::error::{Problem, PytorchErrors};
use super::input::{Document, Fault, number, shown, walk, wrong};
use super::schema::{Schema, split};
use super::triton::{Role, TritonSources};
use crate::launch::Precision;
use serde_json::Value as Json;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub(super) storage: u64,
    /// Bytes from the storage's beginning to the first element.
    pub(super) first: u64,
    /// Bytes from the first element to the end of the last.
    pub(super) extent: u64,
    /// Bytes from one index of the first dimension to the next.
    pub(super) leading: u64,
    pub(super) numel: u64,
    pub(super) itemsize: u64,
    /// Index into [`ExecutionTrace::devices`].
    pub(super) device: u32,
    pub(super) precision: Precision,
    pub(super) integer: bool,
    pub(super) shape: Vec<u64>,
}

impl Tensor {
    /// Bytes of its elements, each counted as often as the view has it.
    pub(super) fn payload(&self) -> u64 {
        self.numel.saturating_mul(self.itemsize)
    }
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Tensor(Tensor),
    List(Vec<Value>),
    Int(i64),
    Bool(bool),
    Text(String),
    Other,
}

impl Value {
    pub(super) fn tensors<'a>(&'a self, found: &mut Vec<&'a Tensor>) {
        match self {
            Self::Tensor(tensor) => found.push(tensor),
            Self::List(list) => list.iter().for_each(|value| value.tensors(found)),
            _ => {}
        }
    }
}

/// A Triton kernel.
#[derive(Debug)]
pub(super) struct Triton {
    /// Its source, on the machine that recorded.
    file: Option<String>,
    /// What it does with each of its tensors, where its source was given.
    pub(super) roles: Option<Vec<Role>>,
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) id: u64,
    pub(super) name: String,
    /// Index of the caller, where it is in the file.
    pub(super) parent: Option<usize>,
    parent_id: u64,
    pub(super) rf_id: u64,
    /// Nothing for nodes that are no operators: annotations, threads, autograd's nodes.
    pub(super) schema: Option<Rc<Schema>>,
    /// What the trace says of a kernel that a compiler has made.
    pub(super) triton: Option<Triton>,
    pub(super) inputs: Vec<Value>,
    pub(super) outputs: Vec<Value>,
}

impl Node {
    /// The input of this name.
    pub(super) fn input(&self, name: &str) -> Option<&Value> {
        self.schema.as_ref()?.position(name).and_then(|at| self.inputs.get(at))
    }

    pub(super) fn tensor(&self, name: &str) -> Option<&Tensor> {
        match self.input(name) {
            Some(Value::Tensor(tensor)) => Some(tensor),
            _ => None,
        }
    }
}

/// The tensors among values, in order, with the position of the value.
pub(super) fn tensors(values: &[Value]) -> Vec<(usize, &Tensor)> {
    let mut all = Vec::new();
    let mut found = Vec::new();
    for (at, value) in values.iter().enumerate() {
        value.tensors(&mut found);
        all.extend(found.drain(..).map(|tensor| (at, tensor)));
    }
    all
}

/// A trace's nodes in the order in which they began; callers come before what they call.
#[derive(Debug, Default)]
pub(super) struct ExecutionTrace {
    pub(super) schema: String,
    pub(super) nodes: Vec<Node>,
    pub(super) devices: Vec<String>,
    /// Tensors without a storage, by operator.
    pub(super) no_storage: BTreeMap<String, u64>,
    schemas: HashMap<String, Option<Rc<Schema>>>,
    ids: HashSet<u64>,
}

const HOW: &str = "record with torch.profiler.ExecutionTraceObserver, and let it finish: stop() and unregister_callback() write the file's end";

impl ExecutionTrace {
    /// Says what Triton kernels do with their tensors, as far as their sources tell.
    pub(super) fn explain(&mut self, sources: &TritonSources) {
        for node in &mut self.nodes {
            let given = tensors(&node.inputs).len();
            if let Some(triton) = &mut node.triton {
                triton.roles = sources.roles(&node.name, triton.file.as_deref(), given);
            }
        }
    }

    pub(super) fn read(file: &str, text: &[u8]) -> Result<Self, PytorchErrors> {
        let mut trace = Self::default();
        walk(file, text, &mut trace, HOW)?;
        let error = |node, field: &str, problem| {
            let file = file.to_owned();
            super::PytorchError { file, node, field: Some(field.to_owned()), problem }
        };
        if !trace.schema.starts_with("1.1.") {
            let found = std::mem::take(&mut trace.schema);
            return Err(error(None, "schema", Problem::UnknownSchema { found }).into());
        }
        trace.nodes.sort_by_key(|node| node.id);
        let index: HashMap<u64, usize> =
            trace.nodes.iter().enumerate().map(|(i, node)| (node.id, i)).collect();
        let mut errors = Vec::new();
        for (i, node) in trace.nodes.iter_mut().enumerate() {
            // The process is its own parent; what had not ended when recording stopped is missing.
            node.parent = index.get(&node.parent_id).copied().filter(|parent| *parent != i);
            if node.parent.is_some_and(|parent| parent > i) {
                let problem = Problem::ParentNotEarlier { parent: node.parent_id };
                errors.push(error(Some(node.id), "ctrl_deps", problem));
                if errors.len() >= crate::MAX_ERRORS {
                    break;
                }
            }
        }
        trace.schemas.clear();
        trace.ids.clear();
        if errors.is_empty() { Ok(trace) } else { Err(PytorchErrors(errors)) }
    }

    fn node(&mut self, json: &Json) -> Result<Node, Fault> {
        let text = |key: &str| json[key].as_str().ok_or_else(|| wrong(key, "a string", &json[key]));
        let id = number("id", &json["id"])?;
        if !self.ids.insert(id) {
            return Err((Some("id".to_owned()), Problem::SecondNode));
        }
        let name = text("name")?.to_owned();
        let parent_id = number("ctrl_deps", &json["ctrl_deps"])?;
        let attributes = json["attrs"].as_array().ok_or_else(|| wrong("attrs", "a list", &json["attrs"]))?;
        let attribute = |name: &str| {
            let found = attributes.iter().find(|attribute| attribute["name"] == name);
            found.map_or(&Json::Null, |attribute| &attribute["value"])
        };
        let rf_id = number("attrs.rf_id", attribute("rf_id"))?;
        let schema = attribute("op_schema").as_str().unwrap_or_default();
        let schema = match self.schemas.get(schema) {
            Some(known) => known.clone(),
            None => {
                let parsed = Schema::parse(schema).map(Rc::new);
                self.schemas.insert(schema.to_owned(), parsed.clone());
                parsed
            }
        };
        let triton = (attribute("kernel_backend") == "triton")
            .then(|| Triton { file: attribute("kernel_file").as_str().map(str::to_owned), roles: None });
        let inputs = self.values(&name, "inputs", &json["inputs"])?;
        let outputs = self.values(&name, "outputs", &json["outputs"])?;
        Ok(Node { id, name, parent: None, parent_id, rf_id, schema, triton, inputs, outputs })
    }

    fn values(&mut self, name: &str, side: &str, json: &Json) -> Result<Vec<Value>, Fault> {
        let list = |key: &str| {
            let found = &json[key];
            found.as_array().ok_or_else(|| wrong(&format!("{side}.{key}"), "a list", found))
        };
        let (values, shapes, types) = (list("values")?, list("shapes")?, list("types")?);
        let strides = &json["strides"];
        let one = |(at, value): (usize, &Json)| {
            let field = || format!("{side}.values[{at}]");
            let kind = types.get(at).unwrap_or(&Json::Null);
            let kind = kind.as_str().ok_or_else(|| wrong(&format!("{side}.types[{at}]"), "a type", kind))?;
            let shape = shapes.get(at).unwrap_or(&Json::Null);
            self.value(name, kind, value, shape, &strides[at], &field)
        };
        values.iter().enumerate().map(one).collect()
    }

    fn value(
        &mut self,
        name: &str,
        kind: &str,
        value: &Json,
        shape: &Json,
        strides: &Json,
        field: &dyn Fn() -> String,
    ) -> Result<Value, Fault> {
        if let Some(dtype) = kind.strip_prefix("Tensor(") {
            return self.tensor(name, dtype, value, shape, strides, field);
        }
        if let Json::Array(values) = value {
            // Lists of a thousand numbers are common, and name no tensor.
            let inner = if kind.contains("Tensor(") { inner_types(kind) } else { Vec::new() };
            let one = |(at, value): (usize, &Json)| {
                let kind = inner.get(at).copied().unwrap_or("");
                self.value(name, kind, value, &shape[at], &strides[at], field)
            };
            return Ok(Value::List(values.iter().enumerate().map(one).collect::<Result<_, _>>()?));
        }
        Ok(match value {
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(n) => n.as_i64().map_or(Value::Other, Value::Int),
            Json::String(text) => Value::Text(text.clone()),
            _ => Value::Other,
        })
    }

    fn tensor(
        &mut self,
        name: &str,
        dtype: &str,
        value: &Json,
        shape: &Json,
        strides: &Json,
        field: &dyn Fn() -> String,
    ) -> Result<Value, Fault> {
        let expected = "[tensor id, storage id, offset, elements, bytes per element, device]";
        let bad = || wrong(&field(), expected, value);
        let fields = value.as_array().filter(|fields| fields.len() == 6).ok_or_else(bad)?;
        let n = |at: usize| fields[at].as_u64().ok_or_else(bad);
        let (storage, offset, numel, itemsize) = (n(1)?, n(2)?, n(3)?, n(4)?);
        let device = fields[5].as_str().ok_or_else(bad)?;
        if device.is_empty() {
            // An undefined tensor is an optional argument that was left out.
            if !dtype.starts_with("nullptr") {
                *self.no_storage.entry(name.to_owned()).or_default() += 1;
            }
            return Ok(Value::Other);
        }
        let dims = |json: &Json, what: &str| -> Result<Vec<u64>, Fault> {
            let bad = || wrong(&format!("{} ({what})", field()), "a list of whole numbers", json);
            let list = json.as_array().ok_or_else(bad)?;
            list.iter().map(|d| d.as_u64().ok_or_else(bad)).collect()
        };
        let shape = dims(shape, "shapes")?;
        let product = shape.iter().fold(1_u64, |product, d| product.saturating_mul(*d));
        if product != numel {
            return Err((Some(field()), Problem::NumelMismatch { numel, product }));
        }
        // Schema 1.1.0 has no strides.
        let strides = if strides.is_null() { contiguous(&shape) } else { dims(strides, "strides")? };
        if strides.len() != shape.len() {
            return Err((
                Some(field()),
                Problem::WrongType { expected: "one stride per dimension", found: format!("{strides:?}") },
            ));
        }
        let span = shape.iter().zip(&strides).try_fold(1_u64, |last, (d, stride)| {
            d.saturating_sub(1).checked_mul(*stride).and_then(|far| last.checked_add(far))
        });
        let limit = windlass_runtime::ktrace::ADDRESS_LIMIT;
        let bytes =
            |elements: Option<u64>| elements.and_then(|e| e.checked_mul(itemsize)).filter(|b| *b < limit);
        let (Some(first), Some(extent), Some(_)) = (bytes(Some(offset)), bytes(span), bytes(Some(numel)))
        else {
            let found = shown(value);
            return Err((Some(field()), Problem::WrongType { expected: "a tensor below 2^53 bytes", found }));
        };
        let known = self.devices.iter().position(|known| known == device);
        let device = known.unwrap_or_else(|| {
            self.devices.push(device.to_owned());
            self.devices.len() - 1
        }) as u32;
        let dtype = dtype.strip_suffix(')').unwrap_or(dtype);
        let (precision, integer) = precision(dtype);
        let extent = if numel == 0 { 0 } else { extent };
        Ok(Value::Tensor(Tensor {
            storage,
            first,
            extent,
            leading: strides.first().map_or(0, |stride| stride.saturating_mul(itemsize)),
            numel,
            itemsize,
            device,
            precision,
            integer,
            shape,
        }))
    }
}

fn precision(dtype: &str) -> (Precision, bool) {
    let float = dtype.strip_prefix("c10::").unwrap_or(dtype);
    match float {
        "Half" | "BFloat16" => (Precision::Low, false),
        _ if float.starts_with("Float8") => (Precision::Low, false),
        "signed char" | "unsigned char" => (Precision::Low, true),
        "float" => (Precision::Single, false),
        _ => (Precision::Other, dtype.contains("int") || dtype == "bool" || dtype.contains("long")),
    }
}

fn contiguous(shape: &[u64]) -> Vec<u64> {
    let mut stride = 1_u64;
    let mut strides: Vec<u64> = shape
        .iter()
        .rev()
        .map(|d| {
            let this = stride;
            stride = stride.saturating_mul((*d).max(1));
            this
        })
        .collect();
    strides.reverse();
    strides
}

/// The types in `GenericList[Tensor(float),Int]`.
fn inner_types(kind: &str) -> Vec<&str> {
    let inner = kind.split_once('[').map_or("", |(_, rest)| rest);
    split(inner.strip_suffix(']').unwrap_or(inner))
}

impl Document for ExecutionTrace {
    const ARRAY: &'static str = "nodes";

    fn wants(&self, key: &str) -> bool {
        key == "schema"
    }

    fn field(&mut self, _: &str, value: Json) {
        self.schema = value.as_str().map_or_else(|| shown(&value), str::to_owned);
    }

    fn element(&mut self, _: u64, json: Json) -> Result<(), (Option<u64>, Fault)> {
        let node = self.node(&json).map_err(|fault| (json["id"].as_u64(), fault))?;
        self.nodes.push(node);
        Ok(())
    }
}
