//! Shapes and elements of a node's results, from those of its inputs.

use super::error::Problem;
use super::node::{Fault, Listed, Operator, mismatch};
use super::operators::{is_elementwise, listed};
use super::proto::TensorProto;
use super::tensor::{Element, Tensor, sizes};
use crate::launch::product;

/// Results that are true or false.
const TRUTHS: &str = " Equal Greater GreaterOrEqual Less LessOrEqual IsInf IsNaN And Or Xor Not ";

/// Results like the first input.
const SAME: &str = " Identity BatchNormalization InstanceNormalization GroupNormalization LpNormalization RMSNormalization MeanVarianceNormalization LRN \
    Softmax LogSoftmax Hardmax ScatterElements ScatterND Scatter CumSum Trilu ReverseSequence SimplifiedLayerNormalization RotaryEmbedding \
    QLinearSigmoid QLinearLeakyRelu QLinearSoftmax TensorScatter BiasGelu FastGelu QuickGelu Bernoulli RandomNormalLike RandomUniformLike EyeLike ";

/// Results as far as they follow: nothing where that needs what is computed as the model runs, or the operator has no rule.
pub(super) type Results = Option<Vec<Tensor>>;

/// The shape that both spread to.
pub(super) fn broadcast(a: &[u64], b: &[u64]) -> Result<Vec<u64>, Fault> {
    let rank = a.len().max(b.len());
    let dim = |shape: &[u64], at: usize| (at + shape.len()).checked_sub(rank).map_or(1, |at| shape[at]);
    let both = |at| match (dim(a, at), dim(b, at)) {
        (a, b) if a == b || b == 1 => Ok(a),
        (1, b) => Ok(b),
        _ => mismatch(format!("{a:?} and {b:?} do not broadcast")),
    };
    (0..rank).map(both).collect()
}

impl Operator<'_> {
    pub(super) fn results(&self) -> Result<Results, Fault> {
        let name = self.name;
        if is_elementwise(name) {
            return self.elementwise().map(Some);
        }
        if listed(SAME, name) {
            return self.like_first().map(Some);
        }
        match name {
            "Conv" | "ConvInteger" | "QLinearConv" | "FusedConv" | "ConvTranspose" => {
                self.convolution().map(Some)
            }
            "MaxPool" | "AveragePool" | "LpPool" | "QLinearAveragePool" => self.pool().map(Some),
            "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" | "QLinearGlobalAveragePool" => {
                let input = self.input(0)?;
                let shape = input.shape().iter().enumerate().map(|(at, d)| if at < 2 { *d } else { 1 });
                Ok(Some(vec![self.tensor(input.tensor.element, shape.collect())?]))
            }
            "MaxRoiPool" | "RoiAlign" => self.regions(),
            "DynamicQuantizeMatMul"
            | "MatMulIntegerToFloat"
            | "QGemm"
            | "MatMul"
            | "MatMulInteger"
            | "QLinearMatMul"
            | "FusedMatMul"
            | "Gemm"
            | "FusedGemm"
            | "MatMulNBits" => self.product().map(Some),
            "Einsum" => self.einsum(),
            "PackedAttention" => self.packed_attention_results(),
            "EmbedLayerNormalization" => self.embedding().map(Some),
            "QLinearConcat" => {
                let parts: Vec<&[u64]> =
                    self.inputs.iter().skip(2).step_by(3).flatten().map(|v| v.shape()).collect();
                Ok(Some(vec![self.tensor(self.input(1)?.tensor.element, self.joined(&parts)?)?]))
            }
            "Attention" | "MultiHeadAttention" | "GroupQueryAttention" => self.attention_results(),
            "LSTM" | "GRU" | "RNN" => self.recurrent_results().map(Some),
            "Resize" | "Upsample" => self.resize(),
            "Pad" => self.pad(),
            _ if name.starts_with("Reduce") || ["ArgMax", "ArgMin"].contains(&name) => self.reduction(),
            "LayerNormalization" | "SkipLayerNormalization" | "SkipSimplifiedLayerNormalization" => {
                self.layer_norm().map(Some)
            }
            "Dropout" => {
                let [out] = self.one(self.like_first()?)?;
                let mask = self.tensor(Element::BOOL, out.shape.clone())?;
                Ok(Some(vec![out, mask]))
            }
            "QuantizeLinear" | "DequantizeLinear" | "DynamicQuantizeLinear" => self.quantisation().map(Some),
            "QLinearAdd" | "QLinearMul" => {
                let (a, b) = (self.input(0)?, self.input(3)?);
                Ok(Some(vec![self.tensor(a.tensor.element, broadcast(a.shape(), b.shape())?)?]))
            }
            "Constant" | "ConstantOfShape" | "Range" | "Shape" | "Size" | "RandomNormal"
            | "RandomUniform" | "OneHot" => self.made(),
            "GridSample" => {
                let (input, grid) = (self.input(0)?, self.input(1)?);
                let shape = input.shape().iter().take(2).chain(grid.shape().iter().skip(1)).copied();
                let shape = shape.take(input.shape().len()).collect();
                Ok(Some(vec![self.tensor(input.tensor.element, shape)?]))
            }
            _ => self.layout(),
        }
    }

    fn one<const N: usize>(&self, tensors: Vec<Tensor>) -> Result<[Tensor; N], Fault> {
        tensors.try_into().or_else(|_| mismatch("another number of results"))
    }

    fn elementwise(&self) -> Result<Vec<Tensor>, Fault> {
        let first = self.input(0)?;
        let mut shape = first.shape().to_vec();
        // Others are parameters, and of an old version broadcast into the first.
        let operands = match self.name {
            "Clip" => 1,
            _ if self.opset < 7 && self.node.domain != "com.microsoft" && self.name != "Sum" => 1,
            _ => self.inputs.len(),
        };
        for value in self.inputs[..operands.min(self.inputs.len())].iter().flatten() {
            shape = broadcast(&shape, value.shape())?;
        }
        let element = match self.name {
            name if listed(TRUTHS, name) => Element::BOOL,
            "Where" => self.input(1)?.tensor.element,
            _ => first.tensor.element,
        };
        Ok(vec![self.tensor(element, shape)?])
    }

    fn like_first(&self) -> Result<Vec<Tensor>, Fault> {
        let first = self.input(0)?.tensor.clone();
        let mut all = vec![first];
        match self.name {
            // Statistics, where the model trains.
            "BatchNormalization" => {
                for at in 1..self.node.output.len().min(5) {
                    all.push(self.input(if at % 2 == 1 { 3 } else { 4 })?.tensor.clone());
                }
            }
            "EyeLike" | "Bernoulli" | "RandomNormalLike" | "RandomUniformLike" => {
                if let Some(element) = self.data_type("dtype") {
                    all[0] = self.tensor(element, std::mem::take(&mut all[0].shape))?;
                }
            }
            _ => {}
        }
        Ok(all)
    }

    pub(super) fn data_type(&self, name: &str) -> Option<Element> {
        self.int(name).and_then(|code| i32::try_from(code).ok()).filter(|code| *code != 0).map(Element)
    }

    fn layer_norm(&self) -> Result<Vec<Tensor>, Fault> {
        let input = self.input(0)?;
        let (shape, rank) = (input.shape(), input.shape().len());
        if self.name.starts_with("Skip") {
            let statistics = shape.iter().enumerate().map(|(at, d)| if at + 1 < rank { *d } else { 1 });
            let statistics = self.tensor(Element::FLOAT, statistics.collect())?;
            return Ok(vec![input.tensor.clone(), statistics.clone(), statistics, input.tensor.clone()]);
        }
        let axis = self.axis_or(-1, rank)?;
        let statistics = shape.iter().enumerate().map(|(at, d)| if at < axis { *d } else { 1 }).collect();
        let statistics = self.tensor(self.data_type("stash_type").unwrap_or(Element::FLOAT), statistics)?;
        Ok(vec![input.tensor.clone(), statistics.clone(), statistics])
    }

    fn embedding(&self) -> Result<Vec<Tensor>, Fault> {
        let (ids, table) = (self.input(0)?.shape(), self.input(2)?);
        let Some((width, batch)) = table.shape().last().zip(ids.first()) else {
            return mismatch("ids or a table of one number");
        };
        let out = self.tensor(table.tensor.element, ids.iter().chain([width]).copied().collect())?;
        Ok(vec![out.clone(), self.tensor(Element::INT32, vec![*batch])?, out])
    }

    fn quantisation(&self) -> Result<Vec<Tensor>, Fault> {
        let input = self.input(0)?;
        let shape = input.shape().to_vec();
        if self.name == "DynamicQuantizeLinear" {
            let scalar = |element| self.tensor(element, Vec::new());
            return Ok(vec![
                self.tensor(Element::UINT8, shape)?,
                scalar(Element::FLOAT)?,
                scalar(Element::UINT8)?,
            ]);
        }
        let scale = self.input(1)?.tensor.element;
        let element = match (self.data_type("output_dtype"), self.given(2)) {
            (Some(element), _) => element,
            _ if self.name == "DequantizeLinear" => scale,
            (None, Some(zero)) => zero.tensor.element,
            (None, None) => Element::UINT8,
        };
        Ok(vec![self.tensor(element, shape)?])
    }

    fn product(&self) -> Result<Vec<Tensor>, Fault> {
        let (a, b) = self.factors()?;
        let (left, right) = (a.shape().to_vec(), b.map_or(&[][..], |b| b.shape()).to_vec());
        if self.name == "MatMulNBits" {
            let n = self.need(self.size("N"), "N", "the columns of the result")?;
            let rows = left[..left.len().saturating_sub(1)].iter().copied();
            return Ok(vec![self.tensor(a.tensor.element, rows.chain([n]).collect())?]);
        }
        let gemm = self.name.ends_with("Gemm");
        let like = |at: usize| self.input(at).map(|other| other.tensor.element);
        let swapped = |mut shape: Vec<u64>, by: &str| {
            if let (true, [.., a, b]) = (self.flag(by), &mut shape[..]) {
                std::mem::swap(a, b);
            }
            shape
        };
        let (left, right) = (swapped(left, "transA"), swapped(right, "transB"));
        let fault = || mismatch(format!("no product of {left:?} and {right:?}"));
        let shape = match (&left[..], &right[..]) {
            ([m, k], [l, n]) if k == l => vec![*m, *n],
            _ if gemm => return fault(),
            ([k], [l]) if k == l => Vec::new(),
            ([k], [batch @ .., l, n]) if k == l => batch.iter().chain([n]).copied().collect(),
            ([batch @ .., m, k], [l]) if k == l => batch.iter().chain([m]).copied().collect(),
            ([first @ .., m, k], [second @ .., l, n]) if k == l => {
                let mut shape = broadcast(first, second)?;
                shape.extend([m, n]);
                shape
            }
            _ => return fault(),
        };
        let element = match self.name {
            "MatMulInteger" => Element::INT32,
            "QLinearMatMul" => like(7)?,
            // As their scales are, where they are not quantised again.
            "DynamicQuantizeMatMul" | "MatMulIntegerToFloat" => like(2)?,
            "QGemm" => like(8).or_else(|_| like(1))?,
            _ => a.tensor.element,
        };
        Ok(vec![self.tensor(element, shape)?])
    }

    fn einsum(&self) -> Result<Results, Fault> {
        let Some(equation) = self.equation()? else { return Ok(None) };
        let element = self.input(0)?.tensor.element;
        let shape = equation.shape();
        Ok(Some(vec![self.tensor(element, shape)?]))
    }

    fn reduction(&self) -> Result<Results, Fault> {
        let input = self.input(0)?;
        let (shape, rank) = (input.shape(), input.shape().len());
        let arguments = self.name.starts_with("Arg");
        let axes = if arguments {
            Listed::Known(vec![self.int("axis").unwrap_or(0)])
        } else {
            self.ints_or_input("axes", 1)
        };
        let axes = match axes {
            Listed::Unknown => return Ok(None),
            Listed::Known(axes) if !axes.is_empty() => axes,
            _ if self.flag("noop_with_empty_axes") => return Ok(Some(vec![input.tensor.clone()])),
            _ => (0..rank as i64).collect(),
        };
        let mut reduced = vec![false; rank];
        for axis in axes {
            reduced[self.axis(axis, rank)?] = true;
        }
        let keeps = self.int("keepdims").unwrap_or(1) != 0;
        let kept = shape.iter().zip(reduced).filter(|(_, reduced)| keeps || !reduced);
        let shape = kept.map(|(d, reduced)| if reduced { 1 } else { *d }).collect();
        let element = if arguments { Element::INT64 } else { input.tensor.element };
        Ok(Some(vec![self.tensor(element, shape)?]))
    }

    /// Constants, and what is made of sizes alone.
    fn made(&self) -> Result<Results, Fault> {
        let tensor = match self.name {
            "Constant" => self.constant_type()?,
            "Shape" => {
                let (from, to) = self.shape_range(self.input(0)?.shape().len());
                self.tensor(Element::INT64, vec![(to - from) as u64])?
            }
            "Size" => self.tensor(Element::INT64, Vec::new())?,
            "ConstantOfShape" => {
                let Some(dims) = self.numbers(0) else { return Ok(None) };
                let value = self.attribute("value").and_then(|attribute| attribute.t.as_ref());
                self.tensor(value.map_or(Element::FLOAT, |value| Element(value.data_type)), sizes(&dims)?)?
            }
            "Range" => {
                let scalar =
                    |at| Ok::<_, Fault>(self.input(at)?.numbers.as_ref().and_then(|n| n.first().copied()));
                let (Some(start), Some(limit), Some(delta)) = (scalar(0)?, scalar(1)?, scalar(2)?) else {
                    return Ok(None);
                };
                let count = ((limit - start) / delta).ceil().max(0.0);
                if !count.is_finite() {
                    return mismatch(format!("a range from {start} to {limit} by {delta}"));
                }
                self.tensor(self.input(0)?.tensor.element, vec![count as u64])?
            }
            "OneHot" => {
                let (indices, values) = (self.input(0)?, self.input(2)?);
                let Some([depth]) = self.numbers(1).as_deref().and_then(|n| <[i64; 1]>::try_from(n).ok())
                else {
                    return Ok(None);
                };
                let mut shape = indices.shape().to_vec();
                let axis = self.axis_or(-1, shape.len() + 1)?;
                shape.splice(axis..axis, sizes(&[depth])?);
                self.tensor(values.tensor.element, shape)?
            }
            _ => {
                let dims = self.need(self.ints("shape"), "shape", "a shape")?;
                self.tensor(self.data_type("dtype").unwrap_or(Element::FLOAT), sizes(dims)?)?
            }
        };
        Ok(Some(vec![tensor]))
    }

    /// Which dimensions `Shape` gives.
    pub(super) fn shape_range(&self, rank: usize) -> (usize, usize) {
        let place = |at: i64| {
            let at = if at < 0 { at.saturating_add(rank as i64) } else { at };
            at.clamp(0, rank as i64) as usize
        };
        let from = place(self.int("start").unwrap_or(0));
        (from, place(self.int("end").unwrap_or(i64::MAX)).max(from))
    }

    /// The tensor that a `Constant` has in its attribute.
    pub(super) fn constant_tensor(&self) -> Option<&TensorProto> {
        self.attribute("value")?.t.as_ref()
    }

    fn constant_type(&self) -> Result<Tensor, Fault> {
        let length = |ints: usize| vec![ints as u64];
        if let Some(value) = self.constant_tensor() {
            return Ok(super::tensor::constant(value)?.0);
        }
        if let Some(sparse) = self.attribute("sparse_value") {
            let fault = Problem::Missing("a dense tensor");
            return Err(Fault { field: Some(sparse.name.clone()), problem: fault });
        }
        let (element, shape) = match self.node.attribute.first() {
            Some(a) if a.name == "value_int" => (Element::INT64, Vec::new()),
            Some(a) if a.name == "value_float" => (Element::FLOAT, Vec::new()),
            Some(a) if a.name == "value_ints" => (Element::INT64, length(a.ints.len())),
            Some(a) if a.name == "value_floats" => (Element::FLOAT, length(a.floats.len())),
            Some(a) if a.name.starts_with("value_string") => (Element(8), Vec::new()),
            _ => self.need(None, "value", "a constant")?,
        };
        self.tensor(element, shape)
    }

    fn recurrent_results(&self) -> Result<Vec<Tensor>, Fault> {
        let (input, hidden) = (self.input(0)?, self.input(2)?);
        let element = input.tensor.element;
        let ([a, b, _], [directions, _, units]) = (input.shape(), hidden.shape()) else {
            return mismatch("input and recurrent weights have three dimensions each");
        };
        let (all, last) = if self.flag("layout") {
            (vec![*a, *b, *directions, *units], vec![*a, *directions, *units])
        } else {
            (vec![*a, *directions, *b, *units], vec![*directions, *b, *units])
        };
        let last = self.tensor(element, last)?;
        Ok(vec![self.tensor(element, all)?, last.clone(), last])
    }

    fn regions(&self) -> Result<Results, Fault> {
        let (input, regions) = (self.input(0)?, self.input(1)?);
        let (Some(count), Some(channels)) = (regions.shape().first(), input.shape().get(1)) else {
            return mismatch("input and regions have a first dimension each");
        };
        let side = |name| self.size(name).unwrap_or(1);
        let pooled = match self.ints("pooled_shape") {
            Some(dims) => sizes(dims)?,
            None => vec![side("output_height"), side("output_width")],
        };
        let shape = [*count, *channels].into_iter().chain(pooled).collect();
        Ok(Some(vec![self.tensor(input.tensor.element, shape)?]))
    }

    /// Elements of a shape that has 0 and -1 in it, as `Reshape` takes them.
    pub(super) fn reshaped(&self, from: &Tensor, dims: &[i64]) -> Result<Vec<u64>, Fault> {
        let zero = self.flag("allowzero");
        let mut shape = Vec::with_capacity(dims.len());
        let mut rest = None;
        for (at, d) in dims.iter().enumerate() {
            match u64::try_from(*d) {
                Ok(0) if !zero => match from.shape.get(at) {
                    Some(d) => shape.push(*d),
                    None => return mismatch(format!("dimension {at} is to be that of {:?}", from.shape)),
                },
                Ok(d) => shape.push(d),
                Err(_) if *d == -1 && rest.is_none() => {
                    rest = Some(at);
                    shape.push(1);
                }
                Err(_) => return mismatch(format!("the new shape is {dims:?}")),
            }
        }
        let known = product(&shape);
        if let Some(rest) = rest {
            shape[rest] = from.numel().checked_div(known).unwrap_or(0);
        }
        if product(&shape) != from.numel() {
            return mismatch(format!("{:?} as {dims:?}", from.shape));
        }
        Ok(shape)
    }
}
