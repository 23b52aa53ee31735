# SPDX-License-Identifier: MIT OR Apache-2.0
# round_robin_n4: constraints by Windlass 0.1.0, from mine.toml; do not edit.
create_clock -name clk_i -period 6.667 [get_ports {clk_i}]
set_clock_uncertainty -setup 0.050 [get_clocks {clk_i}]
set_clock_uncertainty -hold 0.020 [get_clocks {clk_i}]

set_input_delay -max 3.333 -clock [get_clocks {clk_i}] [get_ports {rst_ni}]
set_input_delay -min 0.000 -clock [get_clocks {clk_i}] [get_ports {rst_ni}]
set_input_delay -max 1.667 -clock [get_clocks {clk_i}] [get_ports {req_i[*] ack_i}]
set_input_delay -min 0.000 -clock [get_clocks {clk_i}] [get_ports {req_i[*] ack_i}]
set_output_delay -max 1.667 -clock [get_clocks {clk_i}] [get_ports {gnt_o[*]}]
set_output_delay -min 0.000 -clock [get_clocks {clk_i}] [get_ports {gnt_o[*]}]

# Reason: held for many cycles
set_false_path -from [get_ports {rst_ni}]

# Reason: two cycles are allowed
set_multicycle_path 2 -setup -from [get_ports {ack_i}] -to [get_ports {gnt_o[*]}]
set_multicycle_path 1 -hold -from [get_ports {ack_i}] -to [get_ports {gnt_o[*]}]
set_property PACKAGE_PIN W5 [get_ports {gnt_o[0]}]
set_property IOSTANDARD LVCMOS33 [get_ports {gnt_o[0]}]
set_property PACKAGE_PIN V5 [get_ports {gnt_o[1]}]
set_property IOSTANDARD LVCMOS33 [get_ports {gnt_o[1]}]
set_property PACKAGE_PIN U5 [get_ports {gnt_o[2]}]
set_property IOSTANDARD LVCMOS33 [get_ports {gnt_o[2]}]
set_property PACKAGE_PIN U4 [get_ports {gnt_o[3]}]
set_property IOSTANDARD LVCMOS33 [get_ports {gnt_o[3]}]
