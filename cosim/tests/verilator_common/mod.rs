//! What the Verilator tests share: small modules, and one cache for all of them, kept between runs.
#![allow(dead_code)] // each test file uses its part

use windlass_cosim::verilator::{BuildSpec, Cache, InstanceOptions, Library, Verilated};
use windlass_rtl::port::{Direction, Port};

pub fn cache() -> Cache {
    Cache::at(concat!(env!("CARGO_TARGET_TMPDIR"), "/verilator-cache"))
}

/// Ports from words such as `a_i:33`; the suffix tells the direction.
pub fn ports(list: &str) -> Vec<Port> {
    list.split_whitespace()
        .map(|word| {
            let (name, width) = word.split_once(':').unwrap_or((word, "1"));
            let direction = if name.ends_with("_o") { Direction::Output } else { Direction::Input };
            let width = width.parse().expect("a width");
            Port { name: name.into(), direction, width, channel: String::new(), doc: String::new() }
        })
        .collect()
}

pub fn spec(top: &str, verilog: &str, port_list: &str) -> BuildSpec {
    BuildSpec::new(top, vec![(format!("{top}.v"), verilog.to_string())], ports(port_list))
}

pub fn build(spec: &BuildSpec) -> Library {
    Verilated::build(spec, &cache()).unwrap_or_else(|e| panic!("{e}"))
}

pub fn instance(library: &Library, seed: u64) -> Verilated {
    library.instance(InstanceOptions { seed, wave: None }).unwrap_or_else(|e| panic!("{e}"))
}

/// Counts while `en_i`; `fail_i` chooses a way to stop; `raw_o` is state that nothing initialises.
pub fn counter() -> BuildSpec {
    spec(
        "counter",
        r#"
module counter (input clk_i, input rst_ni, input en_i, input [2:0] fail_i, output reg [15:0] count_o, output reg [63:0] raw_o);
  always @(posedge clk_i) begin
    if (!rst_ni) count_o <= 16'd0;
    else if (en_i) count_o <= count_o + 16'd1;
    if (fail_i == 3'd1) $stop;
    if (fail_i == 3'd2) $fatal(1, "the end is near");
    if (fail_i == 3'd3) $finish;
    if (fail_i == 3'd5) $display("hello from the design");
    not_four: assert (fail_i != 3'd4) else $error("four at count %0d", count_o);
    if (en_i && !rst_ni) raw_o <= 64'd0;
  end
endmodule
"#,
        "clk_i rst_ni en_i fail_i:3 count_o:16 raw_o:64",
    )
}
