//! Which properties a block has.

use super::SolverKind;
use crate::emit::Design;
use windlass_catalog::BlockSpec;
use windlass_rtl::params::{DONE_PORTS, Encoding, FrontEndParams, WindowKind, slot_bits};
use windlass_rtl::port::Port;

/// A module of lemmas: what ties a design's registers to what its properties see.
pub(crate) struct Lemmas {
    /// Its name, without `_lemmas`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
    /// Instances of it: one for each of the block's parts that are alike.
    pub copies: usize,
}

/// What is asked of a block.
pub(crate) struct Bench {
    /// Name of the properties' module, without `_properties`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
    /// Its parameters.
    pub params: Vec<(&'static str, usize)>,
    /// Parameters that only the lemmas have.
    pub lemma_params: Vec<(&'static str, usize)>,
    /// What an induction needs beside them; none where properties are inductive by themselves or are only bounded.
    pub lemmas: Option<Lemmas>,
    /// Cycles that an induction looks back; none where nothing is proved for all time.
    pub induction: Option<usize>,
    /// Blocks inside, each with what is asked of it.
    pub parts: Vec<Part>,
    /// The quicker one (docs/measurements/proofs.md).
    pub solver: SolverKind,
}

/// A block inside another. Its properties and lemmas hold there too, if its neighbours keep what it assumes: that becomes something to show.
pub(crate) struct Part {
    /// Instances that it is in, from the top on.
    pub within: &'static str,
    /// What is asked of it.
    pub bench: Bench,
    /// Its ports.
    pub ports: Vec<Port>,
}

impl Part {
    /// Its own name.
    pub fn name(&self) -> &'static str {
        self.bench.name
    }

    /// The text of its properties, where what it assumes of its neighbours is asserted. What it assumes of its free choices, which is marked
    /// `// a choice`, it goes on to assume.
    pub fn text(&self) -> String {
        let line = |line: &str| match line.ends_with("// a choice") {
            true => format!("{line}\n"),
            false => line.replace("assume (", "assert (") + "\n",
        };
        self.bench.text.lines().map(line).collect()
    }
}

impl Bench {
    /// The parts of a front end, whose properties carry its own.
    fn parts(params: FrontEndParams) -> Vec<Part> {
        let (scheduler, dispatch) = (params.scheduler(), params.dispatch());
        let (sms, requesters) = (dispatch.sms(), dispatch.arbiter().requesters());
        let part = |within, spec: BlockSpec| Part { within, bench: Self::of(spec), ports: spec.ports() };
        vec![
            part("u_scheduler", BlockSpec::KernelScheduler(scheduler)),
            part(
                "u_scheduler.u_window",
                BlockSpec::Window { kind: scheduler.kind(), params: scheduler.window() },
            ),
            part("u_table", BlockSpec::KernelTable(params.table())),
            part("u_dispatch.u_arbiter", BlockSpec::CtaArbiter(dispatch)),
            part("u_dispatch.u_sms", BlockSpec::SmOccupancy { params: sms, requesters }),
            part("u_partitions", BlockSpec::SmPartitions { params: sms, requesters }),
        ]
    }

    /// The properties of a block.
    pub fn of(spec: BlockSpec) -> Self {
        match spec {
            BlockSpec::Window { kind, params } => {
                let list = kind == WindowKind::List;
                let late = usize::from(params.pipelined() && !list);
                Self {
                    name: "window",
                    text: include_str!("properties/window.sv"),
                    params: vec![
                        ("N", params.slots()),
                        ("LN", params.slot_bits()),
                        ("R", params.retire_ports()),
                        ("LATE", late),
                        ("FIXED", list.into()),
                        // A list is walked in N cycles.
                        ("READY", if list { params.slots() } else { 0 }),
                        ("CLOSE", 2 + late),
                    ],
                    // Entries of each slot's list.
                    lemma_params: if list { vec![("E", params.slots() - 1)] } else { Vec::new() },
                    lemmas: Some(if list {
                        Lemmas {
                            name: "window_list",
                            text: include_str!("properties/window_list_lemmas.sv"),
                            copies: 1,
                        }
                    } else {
                        Lemmas {
                            name: "window_matrix",
                            text: include_str!("properties/window_matrix_lemmas.sv"),
                            copies: 1,
                        }
                    }),
                    induction: Some(1),
                    parts: Vec::new(),
                    solver: SolverKind::Bitwuzla,
                }
            }
            BlockSpec::FindFirst(params) => Self {
                name: "find_first",
                text: include_str!("properties/find_first.sv"),
                params: vec![("N", params.requests())],
                lemma_params: Vec::new(),
                lemmas: None,
                induction: Some(0),
                parts: Vec::new(),
                solver: SolverKind::Yices,
            },
            BlockSpec::OldestFirst(params) => Self {
                name: "oldest_first",
                text: include_str!("properties/oldest_first.sv"),
                params: vec![("N", params.requests())],
                lemma_params: Vec::new(),
                lemmas: Some(Lemmas {
                    name: "oldest_first",
                    text: include_str!("properties/oldest_first_lemmas.sv"),
                    copies: 1,
                }),
                induction: Some(1),
                parts: Vec::new(),
                solver: SolverKind::Bitwuzla,
            },
            BlockSpec::RoundRobin(params) => Self {
                name: "round_robin",
                text: include_str!("properties/round_robin.sv"),
                params: vec![("N", params.requests())],
                lemma_params: Vec::new(),
                lemmas: Some(Lemmas {
                    name: "round_robin",
                    text: include_str!("properties/round_robin_lemmas.sv"),
                    copies: 1,
                }),
                induction: Some(1),
                parts: Vec::new(),
                solver: SolverKind::Yices,
            },
            BlockSpec::KernelTable(params) => Self {
                name: "kernel_table",
                text: include_str!("properties/kernel_table.sv"),
                params: vec![
                    ("N", params.slots()),
                    ("LN", slot_bits(params.slots())),
                    ("R", params.retire_ports()),
                    ("Q", params.queues()),
                ],
                lemma_params: Vec::new(),
                lemmas: Some(Lemmas {
                    name: "kernel_table",
                    text: include_str!("properties/kernel_table_lemmas.sv"),
                    copies: 1,
                }),
                induction: Some(1),
                parts: Vec::new(),
                solver: SolverKind::Bitwuzla,
            },
            BlockSpec::UpstreamLoad(params) => {
                let lanes = match params.encoding() {
                    Encoding::Ids { lanes } => lanes,
                    Encoding::Mask => 0,
                };
                Self {
                    name: "upstream_load",
                    text: include_str!("properties/upstream_load.sv"),
                    params: vec![("N", params.slots()), ("M", params.scheduled()), ("K", lanes)],
                    lemma_params: Vec::new(),
                    lemmas: (lanes > 0).then_some(Lemmas {
                        name: "upstream_load",
                        text: include_str!("properties/upstream_load_lemmas.sv"),
                        copies: 1,
                    }),
                    induction: Some(1),
                    parts: Vec::new(),
                    solver: SolverKind::Yices,
                }
            }
            BlockSpec::SmOccupancy { params, requesters } => {
                let limits = params.limits();
                Self {
                    name: "sm_occupancy",
                    text: include_str!("properties/sm_occupancy.sv"),
                    params: vec![
                        ("S", params.sms()),
                        ("Q", requesters.count()),
                        ("G", params.lanes().div_ceil(8)),
                        ("CTAS", limits.ctas().into()),
                        ("WARPS", limits.warps().into()),
                        ("REGS", limits.registers().into()),
                        ("SMEM", limits.smem().into()),
                    ],
                    lemma_params: vec![("L", params.lanes()), ("D", DONE_PORTS)],
                    lemmas: Some(Lemmas {
                        name: "sm_occupancy",
                        text: include_str!("properties/sm_occupancy_lemmas.sv"),
                        copies: 1,
                    }),
                    induction: Some(1),
                    parts: Vec::new(),
                    solver: SolverKind::Yices,
                }
            }
            BlockSpec::SmPartitions { params, requesters } => Self {
                name: "sm_partitions",
                text: include_str!("properties/sm_partitions.sv"),
                params: vec![
                    ("S", params.sms()),
                    ("Q", requesters.count()),
                    ("G", params.lanes().div_ceil(8)),
                ],
                lemma_params: vec![("L", params.lanes())],
                lemmas: Some(Lemmas {
                    name: "sm_partitions",
                    text: include_str!("properties/sm_partitions_lemmas.sv"),
                    copies: 1,
                }),
                induction: Some(1),
                parts: Vec::new(),
                solver: SolverKind::Yices,
            },
            BlockSpec::CtaArbiter(params) => Self {
                name: "cta_arbiter",
                text: include_str!("properties/cta_arbiter.sv"),
                params: vec![
                    ("LN", slot_bits(params.slots())),
                    ("S", params.sms().sms()),
                    ("C", params.arbiter().channels()),
                    ("K", params.arbiter().active()),
                    ("L", params.sms().lanes()),
                    ("G", params.sms().lanes().div_ceil(8)),
                ],
                lemma_params: Vec::new(),
                lemmas: Some(Lemmas {
                    name: "cta_arbiter",
                    text: include_str!("properties/cta_arbiter_lemmas.sv"),
                    copies: params.arbiter().channels(),
                }),
                induction: Some(1),
                parts: Vec::new(),
                solver: SolverKind::Yices,
            },
            BlockSpec::FrontEnd(params) => {
                let (scheduler, dispatch) = (params.scheduler(), params.dispatch());
                let lanes = match scheduler.upstream().encoding() {
                    Encoding::Ids { lanes } => lanes,
                    Encoding::Mask => 0,
                };
                let (window, arbiter) = (scheduler.window(), dispatch.arbiter());
                let limits = dispatch.sms().limits();
                Self {
                    name: "front_end",
                    text: include_str!("properties/front_end.sv"),
                    params: vec![
                        ("N", dispatch.slots()),
                        ("LN", slot_bits(dispatch.slots())),
                        ("LIST", (scheduler.kind() == WindowKind::List).into()),
                        ("R", window.retire_ports()),
                        ("LANES", lanes),
                        ("M", scheduler.upstream().scheduled()),
                        ("C", arbiter.channels()),
                        ("K", arbiter.active()),
                        ("S", dispatch.sms().sms()),
                        ("CTAS", limits.ctas().into()),
                        ("WARPS", limits.warps().into()),
                        ("REGS", limits.registers().into()),
                        ("SMEM", limits.smem().into()),
                    ],
                    lemma_params: vec![("LATE", window.pipelined().into())],
                    lemmas: Some(Lemmas {
                        name: "front_end",
                        text: include_str!("properties/front_end_lemmas.sv"),
                        copies: 1,
                    }),
                    induction: Some(1),
                    parts: Self::parts(params),
                    solver: SolverKind::Yices,
                }
            }
            BlockSpec::KernelScheduler(params) => {
                let (window, upstream) = (params.window(), params.upstream());
                let list = params.kind() == WindowKind::List;
                Self {
                    name: "kernel_scheduler",
                    text: include_str!("properties/kernel_scheduler.sv"),
                    params: vec![
                        ("N", window.slots()),
                        ("LN", window.slot_bits()),
                        ("R", window.retire_ports()),
                        ("M", upstream.scheduled()),
                        ("MASK", (upstream.encoding() == Encoding::Mask).into()),
                        ("WALK", if list { window.slots() - 1 } else { 0 }),
                    ],
                    lemma_params: vec![("LATE", window.pipelined().into())],
                    lemmas: Some(if list {
                        Lemmas {
                            name: "kernel_scheduler_list",
                            text: include_str!("properties/kernel_scheduler_list_lemmas.sv"),
                            copies: 1,
                        }
                    } else {
                        Lemmas {
                            name: "kernel_scheduler_matrix",
                            text: include_str!("properties/kernel_scheduler_matrix_lemmas.sv"),
                            copies: 1,
                        }
                    }),
                    induction: Some(1),
                    parts: Vec::new(),
                    solver: SolverKind::Bitwuzla,
                }
            }
        }
    }

    /// Its properties without what an induction needs.
    pub fn alone(self) -> Self {
        Self { lemmas: None, induction: None, parts: Vec::new(), ..self }
    }

    /// Adds what only the design says: into how many groups a round robin is divided, and how many requests each has.
    pub fn complete(mut self, design: &Design) -> Self {
        if let Some(group) = design.modules.iter().find(|m| m.name.starts_with("round_robin_group_")) {
            let requests = group.params.iter().find(|(name, _)| name == "REQUESTS").map_or(0, |(_, n)| *n);
            let groups = design.top().instances.iter().filter(|(_, module)| *module == group.name).count();
            self.lemma_params.extend([("W", requests), ("G", groups)]);
        }
        self
    }

    /// The value of a parameter; 0 where there is none.
    pub fn param(&self, name: &str) -> usize {
        self.params.iter().chain(&self.lemma_params).find(|(n, _)| *n == name).map_or(0, |(_, value)| *value)
    }

    /// What would go wrong without each property: the comment above it. One comment may stand for several.
    pub fn reasons(&self) -> Vec<(&'static str, &'static str)> {
        let mut reason = "";
        let mut reasons = Vec::new();
        for line in self.text.lines() {
            let line = line.trim();
            if let Some(comment) = line.strip_prefix("// ") {
                reason = comment;
            } else if let Some(lemma) = line.strip_prefix("lemma ") {
                reasons.push((lemma.split(' ').next().unwrap_or_default(), reason));
            } else if let Some((label, rest)) = line.split_once(": ")
                && (rest.starts_with("assert (") || rest.starts_with("cover ("))
            {
                reasons.push((label, reason));
            }
        }
        reasons
    }
}
