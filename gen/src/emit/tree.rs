//! A block, probed into a tree.

use super::EmitError;
use rust_hdl::core::atom::{Atom, AtomKind};
use rust_hdl::prelude::{Block, Probe, TypeKind, Verilog};
use std::collections::BTreeMap;
use windlass_rtl::info::{BlockInfo, Form, Info};

/// One signal or constant of a block.
#[derive(Clone, Debug)]
pub struct AtomInfo {
    pub key: String,
    pub kind: AtomKind,
    pub width: u32,
    /// Hexadecimal digits of a constant's value.
    pub value: String,
    pub signed: bool,
    /// Names of an enumeration's variants, in the order of their values.
    pub variants: Vec<String>,
}

/// A block with its signals and sub-blocks.
#[derive(Clone, Debug)]
pub struct Node {
    pub info: BlockInfo,
    pub atoms: Vec<AtomInfo>,
    /// Sub-blocks by key (`rows[3]`), and in `order` as declared.
    pub children: BTreeMap<String, Node>,
    pub order: Vec<String>,
    pub hdl: Verilog,
}

impl Node {
    pub fn is_register(&self) -> bool {
        self.info.form == Form::Register
    }

    pub fn atom(&self, key: &str) -> Option<&AtomInfo> {
        self.atoms.iter().find(|a| a.key == key)
    }

    /// Puts `prefix` before the names of the module and of all below it.
    pub fn rename(&mut self, form: &super::Form) {
        self.info.module.insert_str(0, form.prefix.as_str());
        self.info.module.push_str(form.reset.suffix());
        self.children.values_mut().filter(|child| !child.is_register()).for_each(|child| child.rename(form));
    }

    /// Two nodes with the same fingerprint give the same module.
    pub fn fingerprint(&self) -> String {
        let children: Vec<String> =
            self.children.iter().map(|(k, c)| format!("{k}:{}", c.info.module)).collect();
        format!("{:?}{:?}{:?}{:?}", self.info, self.atoms, children, self.hdl)
    }
}

/// `rows$3` as rust-hdl names it becomes `rows[3]`.
fn key(name: &str) -> String {
    let mut parts = name.split('$');
    let mut key = parts.next().unwrap_or_default().to_string();
    for part in parts {
        if part.bytes().all(|b| b.is_ascii_digit()) {
            key.push_str(&format!("[{part}]"));
        } else {
            key.push_str(&format!(".{part}"));
        }
    }
    key
}

struct Open {
    name: String,
    info: Option<BlockInfo>,
    atoms: Vec<AtomInfo>,
    children: BTreeMap<String, Node>,
    order: Vec<String>,
    hdl: Verilog,
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Node>,
    error: Option<EmitError>,
}

impl Builder {
    fn path(&self) -> String {
        self.open.iter().map(|o| o.name.as_str()).collect::<Vec<_>>().join(".")
    }

    fn fail(&mut self, what: &str) {
        let block = self.path();
        self.error.get_or_insert(EmitError::refused(block, what));
    }
}

impl Probe for Builder {
    fn visit_start_scope(&mut self, name: &str, node: &dyn Block) {
        self.open.push(Open {
            name: key(name),
            info: None,
            atoms: Vec::new(),
            children: BTreeMap::new(),
            order: Vec::new(),
            hdl: node.hdl(),
        });
    }

    fn visit_start_namespace(&mut self, name: &str, _node: &dyn Block) {
        self.fail(&format!("{name} is an interface; use single signals as ports"));
    }

    fn visit_atom(&mut self, name: &str, signal: &dyn Atom) {
        let Some(open) = self.open.last_mut() else { return };
        if let Some(info) = Info::read(signal) {
            open.info = Some(info);
            return;
        }
        let text = format!("{:x}", signal.verilog());
        let value = text.split("'h").nth(1).unwrap_or("0").trim_start_matches('0').to_string();
        let variants = match signal.descriptor().kind {
            TypeKind::Enum(names) => names,
            _ => Vec::new(),
        };
        open.atoms.push(AtomInfo {
            key: key(name),
            kind: signal.kind(),
            width: signal.bits() as u32,
            value: if value.is_empty() { "0".into() } else { value },
            signed: matches!(signal.descriptor().kind, TypeKind::Signed(_)),
            variants,
        });
    }

    fn visit_end_scope(&mut self, _name: &str, _node: &dyn Block) {
        let path = self.path();
        let Some(open) = self.open.pop() else { return };
        let Some(info) = open.info else {
            let what = "has no `Info`, so the emitter does not know what it is called";
            self.error.get_or_insert(EmitError::refused(path, what));
            return;
        };
        let node =
            Node { info, atoms: open.atoms, children: open.children, order: open.order, hdl: open.hdl };
        match self.open.last_mut() {
            Some(parent) => {
                parent.order.push(open.name.clone());
                parent.children.insert(open.name, node);
            }
            None => self.root = Some(node),
        }
    }
}

/// Probes `block`.
pub fn probe(block: &dyn Block) -> Result<Node, EmitError> {
    let mut builder = Builder::default();
    block.accept("top", &mut builder);
    match (builder.error, builder.root) {
        (Some(error), _) => Err(error),
        (None, Some(root)) => Ok(root),
        (None, None) => Err(EmitError::refused("top", "is not a block")),
    }
}
