//! Which properties a block has.

use super::SolverKind;
use crate::emit::Design;
use windlass_catalog::BlockSpec;
use windlass_rtl::params::{
    DONE_PORTS, DispatchParams, Encoding, FrontEndParams, PickerParams, Requesters, RoundRobinParams,
    SchedulerParams, SmLimits, SmParams, TableParams, UpstreamParams, WindowKind, WindowParams, slot_bits,
};
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

impl Lemmas {
    fn new(name: &'static str, text: &'static str) -> Self {
        Self { name, text, copies: 1 }
    }
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
    /// The block.
    pub spec: BlockSpec,
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
    /// Properties by themselves, that are looked at from a reset on: a block says what it has beside them.
    pub fn new(name: &'static str, text: &'static str, params: Vec<(&'static str, usize)>) -> Self {
        Self {
            name,
            text,
            params,
            lemma_params: Vec::new(),
            lemmas: None,
            induction: None,
            parts: Vec::new(),
            solver: SolverKind::Yices,
        }
    }

    /// The properties of a block.
    pub fn of(spec: BlockSpec) -> Self {
        match spec {
            BlockSpec::FindFirst(params) => find_first(params),
            BlockSpec::OldestFirst(params) => oldest_first(params),
            BlockSpec::RoundRobin(params) => round_robin(params),
            BlockSpec::Window { kind: WindowKind::Matrix, params } => window_matrix(params),
            BlockSpec::Window { kind: WindowKind::List, params } => window_list(params),
            BlockSpec::UpstreamLoad(params) => upstream_load(params),
            BlockSpec::KernelScheduler(params) => kernel_scheduler(params),
            BlockSpec::KernelTable(params) => kernel_table(params),
            BlockSpec::SmOccupancy { params, requesters } => sm_occupancy(params, requesters),
            BlockSpec::SmPartitions { params, requesters } => sm_partitions(params, requesters),
            BlockSpec::CtaArbiter(params) => cta_arbiter(params),
            BlockSpec::FrontEnd(params) => front_end(params),
        }
    }

    /// Nothing but this part of a design.
    pub fn of_part(part: Part) -> Self {
        let text = "module nothing_properties (input clk_i);\nendmodule\n";
        Self { parts: vec![part], ..Self::new("nothing", text, Vec::new()) }
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

fn find_first(params: PickerParams) -> Bench {
    let text = include_str!("properties/find_first.sv");
    Bench { induction: Some(0), ..Bench::new("find_first", text, vec![("N", params.requests())]) }
}

fn oldest_first(params: PickerParams) -> Bench {
    let text = include_str!("properties/oldest_first.sv");
    let lemmas = Lemmas::new("oldest_first", include_str!("properties/oldest_first_lemmas.sv"));
    Bench {
        lemmas: Some(lemmas),
        induction: Some(1),
        solver: SolverKind::Bitwuzla,
        ..Bench::new("oldest_first", text, vec![("N", params.requests())])
    }
}

fn round_robin(params: RoundRobinParams) -> Bench {
    let text = include_str!("properties/round_robin.sv");
    let lemmas = Lemmas::new("round_robin", include_str!("properties/round_robin_lemmas.sv"));
    Bench {
        lemmas: Some(lemmas),
        induction: Some(1),
        ..Bench::new("round_robin", text, vec![("N", params.requests())])
    }
}

fn window_matrix(params: WindowParams) -> Bench {
    let late = usize::from(params.pipelined());
    let lemmas = Lemmas::new("window_matrix", include_str!("properties/window_matrix_lemmas.sv"));
    Bench {
        lemmas: Some(lemmas),
        ..window(params, &[("LATE", late), ("FIXED", 0), ("READY", 0), ("CLOSE", 2 + late)])
    }
}

fn window_list(params: WindowParams) -> Bench {
    let lemmas = Lemmas::new("window_list", include_str!("properties/window_list_lemmas.sv"));
    Bench {
        // Entries of each slot's list.
        lemma_params: vec![("E", params.slots() - 1)],
        lemmas: Some(lemmas),
        // A list is walked in N cycles.
        ..window(params, &[("LATE", 0), ("FIXED", 1), ("READY", params.slots()), ("CLOSE", 2)])
    }
}

/// What is asked of both windows, which are the same from outside but for latency.
fn window(params: WindowParams, latency: &[(&'static str, usize)]) -> Bench {
    let size = [("N", params.slots()), ("LN", params.slot_bits()), ("R", params.retire_ports())];
    Bench {
        induction: Some(1),
        solver: SolverKind::Bitwuzla,
        ..Bench::new("window", include_str!("properties/window.sv"), [&size, latency].concat())
    }
}

fn upstream_load(params: UpstreamParams) -> Bench {
    let text = include_str!("properties/upstream_load.sv");
    let lanes = lanes(params.encoding());
    // For masks the block has no state.
    let lemmas =
        (lanes > 0).then(|| Lemmas::new("upstream_load", include_str!("properties/upstream_load_lemmas.sv")));
    let params = vec![("N", params.slots()), ("M", params.scheduled()), ("K", lanes)];
    Bench { lemmas, induction: Some(1), ..Bench::new("upstream_load", text, params) }
}

fn kernel_scheduler(params: SchedulerParams) -> Bench {
    let (window, upstream) = (params.window(), params.upstream());
    let (lemmas, walk) = match params.kind() {
        WindowKind::Matrix => {
            let text = include_str!("properties/kernel_scheduler_matrix_lemmas.sv");
            (Lemmas::new("kernel_scheduler_matrix", text), 0)
        }
        WindowKind::List => {
            let text = include_str!("properties/kernel_scheduler_list_lemmas.sv");
            (Lemmas::new("kernel_scheduler_list", text), window.slots() - 1)
        }
    };
    let text = include_str!("properties/kernel_scheduler.sv");
    let params = vec![
        ("N", window.slots()),
        ("LN", window.slot_bits()),
        ("R", window.retire_ports()),
        ("M", upstream.scheduled()),
        ("MASK", (upstream.encoding() == Encoding::Mask).into()),
        ("WALK", walk),
    ];
    Bench {
        lemma_params: vec![("LATE", window.pipelined().into())],
        lemmas: Some(lemmas),
        induction: Some(1),
        solver: SolverKind::Bitwuzla,
        ..Bench::new("kernel_scheduler", text, params)
    }
}

fn kernel_table(params: TableParams) -> Bench {
    let text = include_str!("properties/kernel_table.sv");
    let lemmas = Lemmas::new("kernel_table", include_str!("properties/kernel_table_lemmas.sv"));
    let params = vec![
        ("N", params.slots()),
        ("LN", slot_bits(params.slots())),
        ("R", params.retire_ports()),
        ("Q", params.queues()),
    ];
    Bench {
        lemmas: Some(lemmas),
        induction: Some(1),
        solver: SolverKind::Bitwuzla,
        ..Bench::new("kernel_table", text, params)
    }
}

fn sm_occupancy(params: SmParams, requesters: Requesters) -> Bench {
    let text = include_str!("properties/sm_occupancy.sv");
    let lemmas = Lemmas::new("sm_occupancy", include_str!("properties/sm_occupancy_lemmas.sv"));
    Bench {
        lemma_params: vec![("L", params.lanes()), ("D", DONE_PORTS)],
        lemmas: Some(lemmas),
        induction: Some(1),
        ..Bench::new(
            "sm_occupancy",
            text,
            [&sm_array(params, requesters)[..], &limits(params.limits())].concat(),
        )
    }
}

fn sm_partitions(params: SmParams, requesters: Requesters) -> Bench {
    let text = include_str!("properties/sm_partitions.sv");
    let lemmas = Lemmas::new("sm_partitions", include_str!("properties/sm_partitions_lemmas.sv"));
    Bench {
        lemma_params: vec![("L", params.lanes())],
        lemmas: Some(lemmas),
        induction: Some(1),
        ..Bench::new("sm_partitions", text, sm_array(params, requesters).into())
    }
}

fn cta_arbiter(params: DispatchParams) -> Bench {
    let text = include_str!("properties/cta_arbiter.sv");
    let lemmas = Lemmas::new("cta_arbiter", include_str!("properties/cta_arbiter_lemmas.sv"));
    let (sms, arbiter, places) = (params.sms(), params.arbiter(), params.places());
    let params = vec![
        ("LN", slot_bits(params.slots())),
        ("S", sms.sms()),
        ("C", arbiter.channels()),
        ("K", arbiter.active()),
        ("P", places),
        ("L", sms.lanes()),
        ("G", sms.lanes().div_ceil(8)),
        ("HOLDS", sms.holds().into()),
    ];
    Bench {
        lemmas: Some(Lemmas { copies: arbiter.channels(), ..lemmas }),
        induction: Some(1),
        ..Bench::new("cta_arbiter", text, params)
    }
}

fn front_end(params: FrontEndParams) -> Bench {
    let text = include_str!("properties/front_end.sv");
    let lemmas = Lemmas::new("front_end", include_str!("properties/front_end_lemmas.sv"));
    let (scheduler, dispatch) = (params.scheduler(), params.dispatch());
    let (window, arbiter) = (scheduler.window(), dispatch.arbiter());
    let mut of_all = vec![
        ("N", dispatch.slots()),
        ("LN", slot_bits(dispatch.slots())),
        ("LIST", (scheduler.kind() == WindowKind::List).into()),
        ("R", window.retire_ports()),
        ("LANES", lanes(scheduler.upstream().encoding())),
        ("M", scheduler.upstream().scheduled()),
        ("C", arbiter.channels()),
        ("K", arbiter.active()),
        ("P", dispatch.places()),
        ("S", dispatch.sms().sms()),
    ];
    of_all.extend(limits(dispatch.sms().limits()));
    Bench {
        lemma_params: vec![("LATE", window.pipelined().into()), ("HOLDS", dispatch.sms().holds().into())],
        lemmas: Some(lemmas),
        induction: Some(1),
        parts: front_end_parts(params),
        ..Bench::new("front_end", text, of_all)
    }
}

/// The parts of a front end, whose properties carry its own.
fn front_end_parts(params: FrontEndParams) -> Vec<Part> {
    let (scheduler, dispatch) = (params.scheduler(), params.dispatch());
    let (sms, requesters) = (dispatch.sms(), dispatch.arbiter().requesters());
    let part = |within, spec: BlockSpec| Part { within, bench: Bench::of(spec), spec, ports: spec.ports() };
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

/// Ids that the host sends in a beat; none where it sends a mask.
fn lanes(encoding: Encoding) -> usize {
    match encoding {
        Encoding::Ids { lanes } => lanes,
        Encoding::Mask => 0,
    }
}

/// SMs, kinds of CTA that are looked at in one cycle, groups of lanes, and whether they stand still at times.
fn sm_array(params: SmParams, requesters: Requesters) -> [(&'static str, usize); 4] {
    [
        ("S", params.sms()),
        ("Q", requesters.count()),
        ("G", params.lanes().div_ceil(8)),
        ("HOLDS", params.holds().into()),
    ]
}

/// What an SM has.
fn limits(limits: SmLimits) -> [(&'static str, usize); 4] {
    [
        ("CTAS", limits.ctas().into()),
        ("WARPS", limits.warps().into()),
        ("REGS", limits.registers().into()),
        ("SMEM", limits.smem().into()),
    ]
}
