//! Verilog that is written around designs.

use std::fmt::Write as _;
use windlass_rtl::port::{Direction, Port};

/// The word for a port's direction.
pub(crate) fn direction(port: &Port) -> &'static str {
    match port.direction {
        Direction::Input => "input",
        Direction::Output => "output",
    }
}

/// A port in a module's header.
pub(crate) fn declaration(port: &Port) -> String {
    format!("{} [{}:0] {}", direction(port), port.width - 1, port.name)
}

/// An instance of a module beside others.
pub(crate) struct Instance<'a> {
    pub module: &'a str,
    pub name: String,
    pub ports: &'a [Port],
    /// What the names of its ports begin with outside, but for those that are shared.
    pub prefix: String,
}

/// The module `name` that holds `instances` side by side: its text and its ports. Ports that are `shared` are there once.
pub(crate) fn side_by_side(
    name: &str,
    instances: &[Instance<'_>],
    shared: impl Fn(&Port) -> bool,
) -> (String, Vec<Port>) {
    let mut ports: Vec<Port> = Vec::new();
    let mut inside = String::new();
    for Instance { module, name, ports: own, prefix } in instances {
        let mut connections = Vec::new();
        for port in *own {
            let outer = if shared(port) { port.name.clone() } else { format!("{prefix}{}", port.name) };
            connections.push(format!(".{}({outer})", port.name));
            if ports.iter().all(|p| p.name != outer) {
                ports.push(Port { name: outer, ..port.clone() });
            }
        }
        let _ = writeln!(inside, "  {module} {name} ({});", connections.join(", "));
    }
    let declared: Vec<String> = ports
        .iter()
        .map(|port| format!("  {} wire [{}:0] {}", direction(port), port.width - 1, port.name))
        .collect();
    (format!("module {name} (\n{}\n);\n{inside}endmodule\n", declared.join(",\n")), ports)
}
