//! What a loop keeps for the way back: a minimum cut.
//!
//! The way back needs some values of each round. It can be given them, or what they are computed from, or anything
//! between: every set of values that cuts the needed ones off from the carries will do, and the rest is computed
//! again. The cut that takes the fewest bytes is a minimum cut of the graph of the round, with the bytes of a
//! value as its capacity (a stack is as long for each of them). Where all that could be kept stays in a cache, computing again
//! has its price, too: an edge from the source to each operation, which is cut if the operation is done on the way back. Of cuts of
//! the same price the last is taken, so that little is computed again. What does not depend on the carries costs nothing: it is
//! always at hand.

use cotangent_ir::{Dim, Function, Op, Type, Value};
use petgraph::algo::ford_fulkerson;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;

/// More than any value has.
const NEVER: u64 = 1 << 50;

/// How many elements a dimension without a size is taken to have.
const UNKNOWN: u64 = 1000;

/// The cost at which an operation with a body is computed again for every byte that need not be kept then.
const RECOMPUTE: f64 = 1000.0;

/// Up to so many bytes for all rounds, what is kept is taken to be in a cache of the processor when it is needed: time is saved,
/// not memory. Beyond, the fewest bytes are kept. (The gradient of a path of some hundred steps that keeps 4 numbers a step instead of 2:
/// 5.7 µs instead of 7.3. A network that keeps 29 MB of gates was slower than one that computes them again.)
const CACHED: u64 = 2 << 20;

/// What a byte in a cache costs, written and read again, where an addition costs one ([`Cost`](cotangent_ir::Cost)).
const BYTE: f64 = 0.5;

/// Prices of bytes are whole numbers of these parts of an addition.
const PARTS: f64 = 8.0;

/// Which values of a round are kept, given those that are needed, and how many rounds there are: of the best cuts the last and the first.
///
/// `free` says which values are at hand anyway, or are tangents; `capacity` what it takes to keep a carry that is not kept as it is.
pub(crate) fn kept(
    body: &Function,
    free: &[bool],
    needed: &[Value],
    rounds: Option<u64>,
    capacity: impl Fn(usize) -> Option<u64>,
) -> Option<[Vec<Value>; 2]> {
    if needed.is_empty() {
        return Some([Vec::new(), Vec::new()]);
    }
    let all = needed.iter().map(|v| bytes(body.ty(*v))).fold(0, u64::saturating_add);
    let cached = all.saturating_mul(rounds.unwrap_or(UNKNOWN)) <= CACHED;
    let price =
        |bytes: u64| if cached { bytes.saturating_mul((BYTE * PARTS) as u64) } else { bytes };
    let mut graph: DiGraph<(), u64> = DiGraph::new();
    let (source, sink) = (graph.add_node(()), graph.add_node(()));
    // By value: where it comes in and where it goes out; between them what it takes to keep it.
    let mut nodes: Vec<Option<(NodeIndex, NodeIndex)>> = vec![None; body.len()];
    // What is computed again is not kept under the name it had before.
    let mut never = vec![false; body.len()];
    for value in body.values().filter(|v| body.op(*v) == Op::Recompute) {
        let before = body.operand(value, 0);
        never[before.index()] = !matches!(body.op(before), Op::Param(_));
        never[value.index()] = true;
    }
    for value in body.values().filter(|v| !free[v.index()]) {
        let (inward, outward) = (graph.add_node(()), graph.add_node(()));
        nodes[value.index()] = Some((inward, outward));
        let mut bytes = bytes(body.ty(value));
        let mut again = true;
        match body.op(value) {
            Op::Param(k) => {
                bytes = capacity(k as usize).unwrap_or(bytes);
                again = false;
            }
            Op::Keep => (bytes, again) = (0, false),
            _ if never[value.index()] => bytes = NEVER,
            Op::Structure(_) => bytes = NEVER,
            Op::Part(_) => again = !is_dear(body, body.operand(value, 0), bytes),
            _ => {}
        }
        graph.add_edge(inward, outward, price(bytes).min(NEVER));
        if !again {
            graph.add_edge(source, inward, NEVER);
        } else if cached {
            let work = body.cost_of(value).total() * PARTS;
            graph.add_edge(source, inward, work.min(NEVER as f64) as u64);
        }
        for operand in body.operands(value) {
            if let Some((_, from)) = nodes[operand.index()] {
                graph.add_edge(from, inward, NEVER);
            }
        }
    }
    for value in needed {
        if let Some((_, outward)) = nodes[value.index()] {
            graph.add_edge(outward, sink, NEVER);
        }
    }
    let (flow, flows) = ford_fulkerson(&graph, source, sink);
    if flow >= NEVER {
        return None;
    }
    // What can still be reached from the source, or from what the sink can still be reached: cuts stand at the ends of these.
    let reached = |start: NodeIndex, ahead: bool| {
        let mut reached = vec![false; graph.node_count()];
        reached[start.index()] = true;
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            let spare =
                |e: &petgraph::graph::EdgeReference<'_, u64>| flows[e.id().index()] < *e.weight();
            let used = |e: &petgraph::graph::EdgeReference<'_, u64>| flows[e.id().index()] > 0;
            let (forth, back) = (graph.edges(node), graph.edges_directed(node, petgraph::Incoming));
            let next: Vec<NodeIndex> = match ahead {
                true => forth
                    .filter(spare)
                    .map(|e| e.target())
                    .chain(back.filter(used).map(|e| e.source()))
                    .collect(),
                false => back
                    .filter(spare)
                    .map(|e| e.source())
                    .chain(forth.filter(used).map(|e| e.target()))
                    .collect(),
            };
            for next in next {
                if !std::mem::replace(&mut reached[next.index()], true) {
                    open.push(next);
                }
            }
        }
        reached
    };
    let (behind, ahead) = (reached(sink, false), reached(source, true));
    let cut = |is_in: &dyn Fn(NodeIndex, NodeIndex) -> bool| -> Vec<Value> {
        let cut =
            |v: &Value| nodes[v.index()].is_some_and(|(inward, outward)| is_in(inward, outward));
        body.values().filter(cut).collect()
    };
    Some([
        cut(&|inward, outward| !behind[inward.index()] && behind[outward.index()]),
        cut(&|inward, outward| ahead[inward.index()] && !ahead[outward.index()]),
    ])
}

/// What it takes to write a value and to read it again, where an addition costs one.
pub(crate) fn price(ty: Type) -> f64 {
    bytes(ty) as f64 * BYTE
}

/// Whether a part of an operation with a body takes too much to be computed again for the bytes it saves. Loops
/// of values and tangents are gone through again in any case.
fn is_dear(body: &Function, whole: Value, bytes: u64) -> bool {
    let Some(structure) = body.structure(whole) else { return false };
    let mixed = structure.linear_parts().is_ok_and(|parts| parts.contains(&true));
    !mixed && body.cost_of(whole).total() > RECOMPUTE * bytes as f64
}

fn elements(dim: Dim) -> u64 {
    match dim {
        Dim::Size(n) => n as u64,
        _ => UNKNOWN,
    }
}

/// How many bytes a value takes in a stack, for each round.
pub(crate) fn bytes(ty: Type) -> u64 {
    // What has no size before it is run cannot be stacked.
    if ty == Type::PARTS || ty.dims().contains(&Dim::Any) {
        return NEVER;
    }
    let count = ty.dims().iter().fold(1u64, |all, dim| all.saturating_mul(elements(*dim)));
    count.saturating_mul(ty.element().bytes() as u64).min(NEVER / 1024)
}
