//! Shapes of convolutions, poolings, paddings and resizing.

use super::node::{Fault, Listed, Operator, mismatch};
use super::shape::Results;
use super::tensor::{Element, Tensor, Value, sizes};

/// A window that moves over one dimension.
struct Window {
    taps: u64,
    stride: u64,
    dilation: u64,
    /// Before and behind.
    pads: [i64; 2],
}

impl Window {
    /// From the first to the last tap.
    fn extent(&self) -> Option<i64> {
        let taps = i64::try_from(self.taps).ok()?.checked_sub(1)?;
        taps.checked_mul(i64::try_from(self.dilation).ok()?)?.checked_add(1)
    }

    /// Places of the window, also one that is only begun if `ceil`; nothing where it does not fit.
    fn places(&self, size: u64, ceil: bool) -> Option<u64> {
        let (size, stride) = (i64::try_from(size).ok()?, i64::try_from(self.stride).ok()?.max(1));
        let [before, behind] = self.pads;
        let room = size.checked_add(before)?.checked_add(behind)?.checked_sub(self.extent()?)?;
        if room < 0 {
            return None;
        }
        let mut places = if ceil { room.checked_add(stride - 1)? / stride } else { room / stride };
        // None begins in the padding behind.
        if ceil && places.checked_mul(stride)? >= size.checked_add(before)? {
            places -= 1;
        }
        u64::try_from(places.checked_add(1)?).ok()
    }
}

impl Operator<'_> {
    /// Input and weights of a convolution.
    pub(super) fn convolved(&self) -> Result<(&Value, &Value), Fault> {
        Ok((self.input(0)?, self.input(if self.name == "QLinearConv" { 3 } else { 1 })?))
    }

    pub(super) fn convolution(&self) -> Result<Vec<Tensor>, Fault> {
        let (input, weight) = self.convolved()?;
        let (shape, taps) = (input.shape(), weight.shape());
        if shape.len() != taps.len() || shape.len() < 3 {
            return mismatch(format!("an input {shape:?} and weights {taps:?}"));
        }
        let groups = self.group();
        let transposed = self.name == "ConvTranspose";
        let (given, wanted) =
            if transposed { (shape[1], taps[0]) } else { (shape[1], taps[1].saturating_mul(groups)) };
        if given != wanted {
            return mismatch(format!("the input has {given} channels, the weights {wanted}"));
        }
        let mut result = vec![shape[0], if transposed { taps[1].saturating_mul(groups) } else { taps[0] }];
        result.extend(if transposed {
            self.spread(&shape[2..], &taps[2..])?
        } else {
            self.windows(&shape[2..], &taps[2..])?
        });
        let element = match self.name {
            "ConvInteger" => Element::INT32,
            "QLinearConv" => self.input(7)?.tensor.element,
            _ => input.tensor.element,
        };
        Ok(vec![self.tensor(element, result)?])
    }

    pub(super) fn group(&self) -> u64 {
        self.size("group").unwrap_or(1).max(1)
    }

    pub(super) fn pool(&self) -> Result<Vec<Tensor>, Fault> {
        let input = self.input(0)?;
        let taps = self.need(self.ints("kernel_shape"), "kernel_shape", "a size per dimension")?;
        let taps = sizes(taps)?;
        let Some(outer) = input.shape().len().checked_sub(taps.len()).filter(|outer| *outer == 2) else {
            return mismatch(format!("a window {taps:?} over {:?}", input.shape()));
        };
        let (channels, sides) = input.shape().split_at(outer);
        let mut shape = channels.to_vec();
        shape.extend(self.windows(sides, &taps)?);
        let indices = self.tensor(Element::INT64, shape.clone())?;
        Ok(vec![self.tensor(input.tensor.element, shape)?, indices])
    }

    /// What an attribute has for a dimension.
    fn per_dimension(&self, name: &str, at: usize, default: i64) -> i64 {
        self.ints(name).and_then(|ints| ints.get(at).copied()).unwrap_or(default)
    }

    fn window(&self, at: usize, taps: u64, dimensions: usize) -> Window {
        let positive = |name| u64::try_from(self.per_dimension(name, at, 1)).unwrap_or(1).max(1);
        let pads = [at, at.saturating_add(dimensions)].map(|at| self.per_dimension("pads", at, 0));
        Window { taps, stride: positive("strides"), dilation: positive("dilations"), pads }
    }

    fn windows(&self, sides: &[u64], taps: &[u64]) -> Result<Vec<u64>, Fault> {
        let ceil = self.flag("ceil_mode");
        let one = |(at, (size, taps)): (usize, (&u64, &u64))| {
            let mut window = self.window(at, *taps, sides.len());
            match self.text("auto_pad") {
                Some("SAME_UPPER" | "SAME_LOWER") => return Ok(size.div_ceil(window.stride)),
                Some("VALID") => window.pads = [0; 2],
                _ => {}
            }
            match window.places(*size, ceil) {
                Some(places) => Ok(places),
                None => mismatch(format!("a window of {taps} does not fit into {size}")),
            }
        };
        sides.iter().zip(taps).enumerate().map(one).collect()
    }

    /// Sides of the result of a transposed convolution.
    fn spread(&self, sides: &[u64], taps: &[u64]) -> Result<Vec<u64>, Fault> {
        if let Some(shape) = self.ints("output_shape") {
            let from = shape.len().saturating_sub(sides.len());
            return Ok(sizes(&shape[from..])?);
        }
        let one = |(at, (size, taps)): (usize, (&u64, &u64))| {
            let window = self.window(at, *taps, sides.len());
            let same = matches!(self.text("auto_pad"), Some("SAME_UPPER" | "SAME_LOWER"));
            let result = || {
                let (size, stride) = (i64::try_from(*size).ok()?, i64::try_from(window.stride).ok()?);
                if same {
                    return size.checked_mul(stride);
                }
                let [before, behind] =
                    if self.text("auto_pad") == Some("VALID") { [0; 2] } else { window.pads };
                let last = stride.checked_mul(size.checked_sub(1)?)?.checked_add(window.extent()?)?;
                let padded = last.checked_add(self.per_dimension("output_padding", at, 0))?;
                padded.checked_sub(before)?.checked_sub(behind)
            };
            match result().and_then(|size| u64::try_from(size).ok()) {
                Some(size) => Ok(size),
                None => mismatch(format!("{size} pixels spread by a window of {taps}")),
            }
        };
        sides.iter().zip(taps).enumerate().map(one).collect()
    }

    pub(super) fn pad(&self) -> Result<Results, Fault> {
        let input = self.input(0)?;
        let (shape, rank) = (input.shape(), input.shape().len());
        let pads = match (self.ints_or_input("pads", 1), self.ints("paddings")) {
            (Listed::Known(pads), _) => pads,
            (Listed::Absent, Some(pads)) => pads.to_vec(),
            (Listed::Absent, None) => self.need(None, "pads", "a list of sizes")?,
            (Listed::Unknown, _) => return Ok(None),
        };
        let axes = match self.ints_or_input("", 3) {
            Listed::Known(axes) => axes,
            Listed::Absent => (0..rank as i64).collect(),
            Listed::Unknown => return Ok(None),
        };
        if pads.len() != 2 * axes.len() {
            return mismatch(format!("{} sizes for {} axes", pads.len(), axes.len()));
        }
        let mut padded = shape.to_vec();
        for (at, axis) in axes.iter().enumerate() {
            let axis = self.axis(*axis, rank)?;
            let pads = i128::from(pads[at]) + i128::from(pads[at + axes.len()]);
            match u64::try_from(i128::from(shape[axis]) + pads) {
                Ok(size) => padded[axis] = size,
                Err(_) => return mismatch(format!("a padding of {pads} for a side of {}", shape[axis])),
            }
        }
        Ok(Some(vec![self.tensor(input.tensor.element, padded)?]))
    }

    pub(super) fn resize(&self) -> Result<Results, Fault> {
        let input = self.input(0)?;
        let (shape, rank) = (input.shape(), input.shape().len());
        let axes: Vec<i64> = self.ints("axes").map_or_else(|| (0..rank as i64).collect(), <[i64]>::to_vec);
        // Version 10 and Upsample: input, scales; then: input, region, scales, sizes.
        let (scales_at, sizes_at) = if self.name == "Upsample" || self.opset < 11 { (1, 4) } else { (2, 3) };
        let there = |at| self.given(at).is_some_and(|value| value.numel() > 0);
        let mut resized = shape.to_vec();
        if there(sizes_at) {
            let Some(sides) = self.numbers(sizes_at) else { return Ok(None) };
            let sides = sizes(&sides)?;
            if sides.len() != axes.len() {
                return mismatch(format!("{} sizes for {} axes", sides.len(), axes.len()));
            }
            let aspect = self.text("keep_aspect_ratio_policy").unwrap_or("stretch");
            let axes = axes.iter().map(|axis| self.axis(*axis, rank)).collect::<Result<Vec<_>, _>>()?;
            let scale = |(axis, side): (&usize, &u64)| *side as f64 / shape[*axis].max(1) as f64;
            let scales = axes.iter().zip(&sides).map(scale);
            let scale = match aspect {
                "not_larger" => Some(scales.fold(f64::INFINITY, f64::min)),
                "not_smaller" => Some(scales.fold(0.0, f64::max)),
                _ => None,
            };
            for (axis, side) in axes.into_iter().zip(sides) {
                resized[axis] = scale.map_or(side, |scale| (shape[axis] as f64 * scale).round() as u64);
            }
        } else {
            let scales: Vec<f64> = match self.attribute("scales") {
                Some(attribute) => attribute.floats.iter().map(|n| f64::from(*n)).collect(),
                None if there(scales_at) => match &self.input(scales_at)?.numbers {
                    Some(numbers) => numbers.to_vec(),
                    None => return Ok(None),
                },
                None => self.need(None, "scales", "a scale per axis")?,
            };
            if scales.len() != axes.len() {
                return mismatch(format!("{} scales for {} axes", scales.len(), axes.len()));
            }
            for (axis, scale) in axes.iter().zip(scales) {
                let axis = self.axis(*axis, rank)?;
                resized[axis] = (shape[axis] as f64 * scale).floor() as u64;
            }
        }
        Ok(Some(vec![self.tensor(input.tensor.element, resized)?]))
    }
}
