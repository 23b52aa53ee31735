//! Registers on all ports of a design, so that its clock is that of what lies between them.

use std::process::Command;
use windlass_gen::tools::{self, Tool};

const CLOCKS: [&str; 3] = ["clk_i", "clk", "clock"];

/// A port as Yosys sees it.
struct Port {
    name: String,
    input: bool,
    width: usize,
}

/// The module `registered`: the module `top` of `files` with a register on every port but the clock; and how many bits these are.
pub fn registered(
    top: &str,
    files: &[(String, String)],
) -> Result<(String, usize), Box<dyn std::error::Error>> {
    let (mut declared, mut inside, mut clocked) =
        (vec!["input wire clk_i".to_string()], String::new(), String::new());
    let (mut connected, mut bits) = (Vec::new(), 0);
    for Port { name, input, width } in &ports(top, files)? {
        if CLOCKS.contains(&name.as_str()) {
            connected.push(format!(".{name}(clk_i)"));
            continue;
        }
        bits += width;
        let range = format!("[{}:0]", width - 1);
        if *input {
            declared.push(format!("input wire {range} {name}"));
            inside += &format!("  reg {range} {name}_r;\n");
            clocked += &format!("    {name}_r <= {name};\n");
            connected.push(format!(".{name}({name}_r)"));
        } else {
            declared.push(format!("output reg {range} {name}"));
            inside += &format!("  wire {range} {name}_w;\n");
            clocked += &format!("    {name} <= {name}_w;\n");
            connected.push(format!(".{name}({name}_w)"));
        }
    }
    let text = format!(
        "module registered (\n  {}\n);\n{inside}  always @(posedge clk_i) begin\n{clocked}  end\n  {top} inner ({});\nendmodule\n",
        declared.join(",\n  "),
        connected.join(", ")
    );
    Ok((text, bits))
}

/// The ports of the top, as Yosys reads them: of RTL that nobody described otherwise.
fn ports(top: &str, files: &[(String, String)]) -> Result<Vec<Port>, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text)?;
    }
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let script =
        format!("read_verilog {}; hierarchy -top {top}; proc; write_json ports.json", names.join(" "));
    let yosys = tools::find(Tool::Yosys)?;
    let done = Command::new(&yosys.path).args(["-q", "-p", &script]).current_dir(folder.path()).output()?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into());
    }
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.path().join("ports.json"))?)?;
    let ports = json["modules"][top]["ports"].as_object().ok_or("Yosys names no ports")?;
    Ok(ports
        .iter()
        .map(|(name, port)| Port {
            name: name.clone(),
            input: port["direction"] == "input",
            width: port["bits"].as_array().map_or(1, Vec::len),
        })
        .collect())
}
