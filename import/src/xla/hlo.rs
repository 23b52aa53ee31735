//! `*gpu_after_optimizations.txt`: the instructions, as far as launches need them.

use crate::launch::product;
use std::collections::HashMap;

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Instruction<'a> {
    pub(super) name: &'a str,
    pub(super) shape: &'a str,
    pub(super) opcode: &'a str,
    pub(super) operands: Vec<&'a str>,
    /// What follows the operands.
    pub(super) attributes: &'a str,
}

/// A module's instructions.
#[derive(Debug, Default)]
pub(super) struct Hlo<'a> {
    by_name: HashMap<&'a str, Instruction<'a>>,
    /// Names of the instructions of each computation, in their order.
    computations: HashMap<&'a str, Vec<&'a str>>,
    roots: HashMap<&'a str, &'a str>,
}

/// The end of what the first bracket of a text opens.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut quoted = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Names in a list of operands; their shapes and the comments of every fifth are left out.
fn operands(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let name = &rest[at + 1..];
        let end = name.find([',', ' ', ')', '(']).unwrap_or(name.len());
        names.push(&name[..end]);
        rest = &name[end..];
    }
    names
}

/// Of `name#1`, as XLA writes an element of a tuple since JAX 0.11, the tuple's name and the element's index, or of a tuple within it the indices
/// with `#` between; before, each element was a `get-tuple-element` of its own.
pub(super) fn element_of(operand: &str) -> (&str, &str) {
    operand.split_once('#').unwrap_or((operand, ""))
}

/// `  ROOT %name = SHAPE opcode(operands), attributes`
fn instruction(line: &str) -> Option<Instruction<'_>> {
    let text = line.trim_start();
    let text = text.strip_prefix("ROOT ").unwrap_or(text).strip_prefix('%')?;
    let (name, rest) = text.split_once(" = ")?;
    let end = if rest.starts_with('(') { closing(rest)? + 1 } else { rest.find(' ')? };
    let (shape, rest) = rest.split_at(end);
    let rest = rest.trim_start();
    let (opcode, _) = rest.split_once('(')?;
    let inside = &rest[opcode.len()..];
    let end = closing(inside)?;
    let operands = if opcode == "constant" { Vec::new() } else { operands(&inside[1..end]) };
    Some(Instruction { name, shape, opcode, operands, attributes: &inside[end + 1..] })
}

impl<'a> Hlo<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut hlo = Self::default();
        let mut computation = "";
        for line in text.lines() {
            if line.starts_with([' ', '\t']) {
                let Some(instruction) = instruction(line) else { continue };
                if line.trim_start().starts_with("ROOT ") {
                    hlo.roots.insert(computation, instruction.name);
                }
                hlo.computations.entry(computation).or_default().push(instruction.name);
                hlo.by_name.insert(instruction.name, instruction);
            } else if line.ends_with('{') {
                let name = line.strip_prefix("ENTRY ").unwrap_or(line).trim_start_matches('%');
                computation = name.split([' ', '(']).next().unwrap_or_default();
            }
        }
        hlo
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The instruction of this name; of an operand such as `%name#1`, the one whose tuple it is an element of.
    pub(super) fn get(&self, name: &str) -> Option<&Instruction<'a>> {
        self.by_name.get(element_of(name).0)
    }

    /// The shape of an operand.
    pub(super) fn shape(&self, operand: &str) -> Option<&'a str> {
        let (name, path) = element_of(operand);
        let mut shape = self.by_name.get(name)?.shape;
        for index in path.split('#').filter(|index| !index.is_empty()) {
            shape = element(shape, index.parse().ok()?)?;
        }
        Some(shape)
    }

    pub(super) fn computation(&self, name: &str) -> impl Iterator<Item = &Instruction<'a>> {
        let names = self.computations.get(name).map_or(&[][..], Vec::as_slice);
        names.iter().filter_map(|name| self.get(name))
    }
}

impl<'a> Hlo<'a> {
    /// What a fusion writes: the root of its computation, or all that the root's tuple has.
    pub(super) fn roots(&self, fusion: &Instruction<'a>) -> impl Iterator<Item = &Instruction<'a>> {
        let root =
            fusion.called("calls").and_then(|name| self.roots.get(name)).and_then(|root| self.get(root));
        let (root, tuple) = match root {
            Some(root) if root.opcode == "tuple" => (None, root.operands.as_slice()),
            root => (root, &[][..]),
        };
        root.into_iter().chain(tuple.iter().filter_map(|name| self.get(name)))
    }
}

impl<'a> Instruction<'a> {
    /// The computation that it calls under this attribute: `calls`, `to_apply`, `body`.
    pub(super) fn called(&self, attribute: &str) -> Option<&'a str> {
        let at = self.attributes.find(&format!("{attribute}=%"))? + attribute.len() + 2;
        self.attributes[at..].split([',', ' ', ')']).next()
    }

    /// The numbers of an attribute such as `lhs_contracting_dims={1,2}`.
    pub(super) fn dimensions(&self, attribute: &str) -> Vec<usize> {
        let Some(at) = self.attributes.find(&format!("{attribute}={{")) else { return Vec::new() };
        let list = &self.attributes[at + attribute.len() + 2..];
        let list = list.split('}').next().unwrap_or_default();
        list.split(',').filter_map(|number| number.trim().parse().ok()).collect()
    }

    /// A string in its attributes, without its quotes.
    fn string(&self, key: &str) -> Option<&'a str> {
        let at = self.attributes.find(&format!("{key}=\""))? + key.len() + 2;
        let text = &self.attributes[at..];
        let mut escaped = false;
        let end = text.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        Some(&text[..end?])
    }

    pub(super) fn custom_call_target(&self) -> Option<&'a str> {
        self.string("custom_call_target")
    }

    /// What the application calls it: the end of `op_name`, which is a path through the program; or else the opcode.
    pub(super) fn operation(&self) -> &'a str {
        let path = self.string("op_name").unwrap_or_default();
        let last = path.rsplit('/').next().filter(|last| !last.is_empty());
        last.unwrap_or(self.opcode)
    }

    /// Rounds of a `while`, where XLA has found out.
    pub(super) fn trip_count(&self) -> Option<u64> {
        let (_, rest) = self.attributes.split_once("\"known_trip_count\":{\"n\":\"")?;
        rest.split('"').next()?.parse().ok()
    }
}

/// The shape of an element of a tuple's.
fn element(shape: &str, index: usize) -> Option<&str> {
    let inside = shape.strip_prefix('(')?.strip_suffix(')')?;
    let (mut depth, mut start, mut at) = (0_usize, 0, 0);
    for (here, byte) in inside.bytes().enumerate() {
        match byte {
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 && at == index => return Some(bare(&inside[start..here])),
            b',' if depth == 0 => (start, at) = (here + 1, at + 1),
            _ => {}
        }
    }
    (at == index).then(|| bare(&inside[start..]))
}

/// Without the comment before every fifth element.
fn bare(shape: &str) -> &str {
    let shape = shape.trim();
    shape.strip_prefix("/*").and_then(|rest| rest.split_once("*/")).map_or(shape, |(_, shape)| shape.trim())
}

/// The dimensions of the arrays in a shape.
fn arrays(shape: &str) -> impl Iterator<Item = Vec<u64>> {
    let open = shape.split('[').skip(1);
    open.map(|rest| {
        let inside = rest.split(']').next().unwrap_or_default();
        let number = |text: &str| text.trim().trim_start_matches("<=").parse().ok();
        inside.split(',').filter_map(number).collect()
    })
}

/// Dimensions of the first array of a shape.
pub(super) fn dims(shape: &str) -> Vec<u64> {
    arrays(shape).next().unwrap_or_default()
}

/// Elements of all arrays of a shape together.
pub(super) fn elements(shape: &str) -> u64 {
    arrays(shape).map(|dims| product(&dims)).fold(0, u64::saturating_add)
}

/// Bytes of an element: of `f32[2]` four, of `pred[2]` one.
pub(super) fn element_bytes(shape: &str) -> u64 {
    let bits = shape.trim_start_matches(|c: char| c.is_alphabetic());
    let end = bits.find(|c: char| !c.is_ascii_digit()).unwrap_or(bits.len());
    bits[..end].parse::<u64>().map_or(1, |bits| bits.div_ceil(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_has_its_parts() {
        let line = r#"  ROOT %fusion.3 = (f32[2,3]{1,0:T(8,128)}, /*index=5*/pred[]) fusion(f32[2]{0} %a.1, /*index=5*/%b), kind=kInput, calls=%fused.3, metadata={op_name="jit(f)/a \")\"/sin" stack_frame_id=2}"#;
        let found = instruction(line).expect("an instruction");
        assert_eq!((found.name, found.opcode), ("fusion.3", "fusion"));
        assert_eq!(found.operands, ["a.1", "b"]);
        assert_eq!(found.called("calls"), Some("fused.3"));
        assert_eq!(found.operation(), "sin");
        assert_eq!((elements(found.shape), dims(found.shape)), (7, vec![2, 3]));
        let constant = instruction("  %c = s32[8,1]{1,0} constant({ {0}, {1} })").expect("a constant");
        assert_eq!((constant.operands.len(), constant.operation()), (0, "constant"));
        for text in [
            "",
            "  %x",
            "  %x = ",
            "  %x = f32[2]",
            "  %x = (f32[2] add(",
            "  %x = f32[] add(%a",
            "}",
            "  %x = f32[] )(",
        ] {
            assert_eq!(instruction(text), None, "{text}");
        }
    }

    #[test]
    fn elements_of_tuples_have_shapes() {
        let text = "%c {\n  %w.1 = (s32[], (f32[2,3]{1,0}, /*index=5*/pred[4]{0})) while(%t)\n}\n";
        let hlo = Hlo::new(text);
        let shapes = ["w.1#0", "w.1#1#0", "w.1#1#1", "w.1#1", "w.1#2", "w.1#x", "w.1#0#0", "v#0"];
        let shapes = shapes.map(|operand| hlo.shape(operand));
        let tuple = "(f32[2,3]{1,0}, /*index=5*/pred[4]{0})";
        let expected = [Some("s32[]"), Some("f32[2,3]{1,0}"), Some("pred[4]{0}"), Some(tuple)];
        assert_eq!(shapes[..4], expected);
        assert_eq!(shapes[4..], [None; 4]);
        assert_eq!(hlo.get("w.1#0").map(|w| w.opcode), Some("while"));
    }

    #[test]
    fn attributes_are_found() {
        let line = r#"  %w = (s32[]) while(%t), condition=%c, body=%b, backend_config={"known_trip_count":{"n":"5"},"x":1}"#;
        assert_eq!(instruction(line).and_then(|w| w.trip_count()), Some(5));
        let line = "  %d = f32[8,256,2]{2,1,0} dot(%x, %y), lhs_batch_dims={0,1}, lhs_contracting_dims={3}";
        assert_eq!(instruction(line).map(|d| d.dimensions("lhs_batch_dims")), Some(vec![0, 1]));
    }

    #[test]
    fn shapes_have_elements_of_some_bytes() {
        let shapes = [
            ("f32[]", 1, 4),
            ("bf16[3,<=4]{1,0}", 12, 2),
            ("pred[0]", 0, 1),
            ("f8e4m3fn[2]", 2, 1),
            ("token[]", 1, 1),
        ];
        for (shape, count, bytes) in shapes {
            assert_eq!((elements(shape), element_bytes(shape)), (count, bytes), "{shape}");
        }
        assert_eq!(elements("f32[18446744073709551615,2]"), u64::MAX);
    }
}
