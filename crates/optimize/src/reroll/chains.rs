//! Long sums, and chains of `max` and `min`: (((a + b) − c) + d) …

use std::hash::{Hash, Hasher};

use cotangent_ir::{Function, Op, Value};
use cotangent_ops::Opcode;
use rustc_hash::{FxHashMap, FxHasher};

use super::LEAST;

/// The most terms that one round of a loop adds.
const LONGEST_PERIOD: usize = 16;

/// A term of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Term {
    pub value: Value,
    /// Whether it is taken away.
    pub negative: bool,
}

/// What is put together by one operation again and again.
#[derive(Debug)]
pub(super) struct Chain {
    pub code: Opcode,
    /// The terms, some together: those that one round of a loop has added.
    pub rounds: Vec<Vec<Term>>,
}

/// Chains by the value they end in, and whether a value is a link of one.
pub(super) struct Chains {
    pub by_top: FxHashMap<Value, Chain>,
    pub is_link: Vec<bool>,
}

impl Chains {
    pub(super) fn new(f: &Function, uses: &[u32]) -> Chains {
        let mut length = vec![0_u32; f.len()];
        let mut before: Vec<Option<Value>> = vec![None; f.len()];
        let mut goes_on = vec![false; f.len()];
        for value in f.values() {
            let Some(code) = chained(f, value) else { continue };
            let link = |v: &Value| chained(f, *v) == Some(code) && uses[v.index()] == 1;
            // Which is the sum so far and which the term, only the length tells. The first of equal ones, so that a chain of `max`
            // keeps its order.
            let either = f.op(value) == Op::Elementary(Opcode::Add, 0);
            let candidates = f.operands(value).take(if either { 2 } else { 1 });
            let longest =
                candidates.filter(link).max_by_key(|v| (length[v.index()], usize::MAX - v.index()));
            before[value.index()] = longest;
            length[value.index()] = 1 + longest.map_or(0, |v| length[v.index()]);
            if let Some(v) = longest {
                goes_on[v.index()] = true;
            }
        }
        let tops: Vec<Value> = f
            .values()
            .filter(|v| length[v.index()] as usize + 1 >= LEAST && !goes_on[v.index()])
            .collect();
        // As many chains as they have terms are themselves what is repeated.
        let mut alike: FxHashMap<u32, usize> = FxHashMap::default();
        for top in &tops {
            *alike.entry(length[top.index()]).or_default() += 1;
        }
        let mut chains = Chains { by_top: FxHashMap::default(), is_link: vec![false; f.len()] };
        for top in tops {
            let Some(code) = chained(f, top) else { continue };
            let count = alike[&length[top.index()]];
            if count >= LEAST && 4 * count >= length[top.index()] as usize {
                continue;
            }
            let mut terms = Vec::new();
            let mut at = top;
            loop {
                let prior = before[at.index()];
                let rest: Vec<Value> = f.operands(at).collect();
                let from = match prior {
                    Some(prior) => usize::from(rest[0] == prior),
                    None => 1,
                };
                let negative = f.op(at) == Op::Elementary(Opcode::Sub, 0);
                terms.push(Term { value: rest[from], negative });
                let Some(prior) = prior else {
                    terms.push(Term { value: rest[0], negative: false });
                    break;
                };
                chains.is_link[prior.index()] = true;
                at = prior;
            }
            terms.reverse();
            chains.by_top.insert(top, Chain { code, rounds: rounds(f, &terms) });
        }
        chains
    }
}

/// Which chain an operation is a link of.
fn chained(f: &Function, value: Value) -> Option<Opcode> {
    match f.op(value) {
        Op::Elementary(Opcode::Add | Opcode::Sub, _) => Some(Opcode::Add),
        Op::Elementary(code @ (Opcode::Max | Opcode::Min), _) => Some(code),
        _ => None,
    }
}

/// Terms together that come together: the shortest pattern that most of them repeat.
fn rounds(f: &Function, terms: &[Term]) -> Vec<Vec<Term>> {
    let looks: Vec<u64> =
        terms.iter().map(|t| look(f, t.value, 4) ^ u64::from(t.negative)).collect();
    let repeats = |p: usize| looks.iter().zip(&looks[p..]).filter(|(a, b)| a == b).count();
    let period = (1..=LONGEST_PERIOD).find(|p| 5 * repeats(*p) >= 4 * (terms.len() - p));
    let period = period.unwrap_or(1);
    let first = (0..terms.len().saturating_sub(2 * period))
        .find(|k| looks[*k..k + period] == looks[k + period..k + 2 * period]);
    let pattern = &looks[first.unwrap_or(0)..][..period];
    let (mut found, mut at) = (Vec::new(), 0);
    while at < terms.len() {
        let whole = looks.get(at..at + period) == Some(pattern);
        let many = if whole { period } else { 1 };
        found.push(terms[at..at + many].to_vec());
        at += many;
    }
    found
}

/// What a value looks like from above, so many operations deep.
fn look(f: &Function, value: Value, depth: usize) -> u64 {
    let mut hasher = FxHasher::default();
    match f.op(value) {
        op if op.is_constant() => 1.hash(&mut hasher),
        Op::Param(_) => 2.hash(&mut hasher),
        _ if depth == 0 => 3.hash(&mut hasher),
        op => {
            op.hash(&mut hasher);
            f.operands(value).for_each(|v| look(f, v, depth - 1).hash(&mut hasher));
        }
    }
    hasher.finish()
}
