//! Which values stand at the top of a part, which part a value belongs to, and in which order parts can be computed.

use std::hash::{Hash, Hasher};

use cotangent_ir::{Function, Op, Value};
use rustc_hash::{FxHashMap, FxHasher};

use super::LEAST;
use super::chains::Chains;

/// Who a value belongs to: a root by its number, a round of a chain by one behind those.
pub(super) type Owner = u32;

const NOBODY: Owner = u32::MAX;
const SEVERAL: Owner = u32::MAX - 1;

/// How a function is cut into parts.
pub(super) struct Plan {
    pub chains: Chains,
    /// The value itself for a root; constants and parameters belong to nobody.
    owners: Vec<Owner>,
    /// Roots, from those that need no other root on; each level needs only those before it.
    pub levels: Vec<Vec<Value>>,
    /// The owner of the first round of a chain, by its top.
    first_rounds: Vec<(Value, Owner)>,
    /// Whether a value is the condition of a guard.
    pub is_guard: Vec<bool>,
}

impl Plan {
    pub(super) fn new(f: &Function) -> Plan {
        let mut uses = vec![0_u32; f.len()];
        let mut root = vec![false; f.len()];
        let mut is_guard = vec![false; f.len()];
        f.values().flat_map(|v| f.operands(v)).for_each(|v| uses[v.index()] += 1);
        for guard in f.guards() {
            is_guard[guard.condition.index()] = true;
        }
        let guards = f.guards().iter().map(|g| g.condition);
        for value in f.results().iter().copied().chain(guards) {
            uses[value.index()] += 1;
            root[value.index()] = true;
        }
        let chains = Chains::new(f, &uses);
        let (mut owners, _) = owned(f, &chains, &root);
        // At the edges of what is repeated, somebody may be the only one to need what is shared elsewhere: a kernel of all is
        // better than parts that differ.
        for at in shared_elsewhere(f, &owners) {
            root[at] = true;
        }
        let first_rounds;
        (owners, first_rounds) = owned(f, &chains, &root);
        let mut plan = Plan { chains, owners, levels: Vec::new(), first_rounds, is_guard };
        plan.levels = plan.leveled(f);
        plan
    }

    /// The owner of the first round of a chain.
    pub(super) fn first_round(&self, top: Value) -> Owner {
        // From the last chain to the first.
        let found = self.first_rounds.binary_search_by(|(v, _)| top.cmp(v));
        found.map_or(NOBODY, |k| self.first_rounds[k].1)
    }

    /// Whether a value is computed within the part of somebody.
    pub(super) fn is_within(&self, value: Value, owner: Owner) -> bool {
        self.owners[value.index()] == owner
    }

    fn is_root(&self, value: Value) -> bool {
        self.owners[value.index()] == value.index() as Owner
    }

    fn leveled(&self, f: &Function) -> Vec<Vec<Value>> {
        let mut levels: Vec<Vec<Value>> = Vec::new();
        // The level of a root; of others, that of the last root they need.
        let mut level = vec![0_usize; f.len()];
        for value in f.values() {
            let at = value.index();
            if self.owners[at] >= SEVERAL {
                continue;
            }
            let needs = match self.chains.by_top.get(&value) {
                Some(chain) => {
                    let terms = chain.rounds.iter().flatten();
                    terms.map(|t| level[t.value.index()]).max().unwrap_or(0)
                }
                None => f.operands(value).map(|v| level[v.index()]).max().unwrap_or(0),
            };
            level[at] = needs;
            if self.is_root(value) {
                level[at] += 1;
                levels.resize_with(levels.len().max(level[at]), Vec::new);
                levels[level[at] - 1].push(value);
            }
        }
        levels
    }
}

/// Who each value belongs to, and who the first rounds of chains are, given what is a root in any case.
fn owned(f: &Function, chains: &Chains, root: &[bool]) -> (Vec<Owner>, Vec<(Value, Owner)>) {
    let mut next = f.len() as Owner;
    let mut first_rounds = Vec::new();
    let mut owners = vec![NOBODY; f.len()];
    for value in f.values().rev() {
        let at = value.index();
        if is_given(f, value) || chains.is_link[at] {
            continue;
        }
        let chain = chains.by_top.get(&value);
        if owners[at] == NOBODY && !root[at] {
            // Nobody needs it.
            continue;
        }
        if owners[at] == SEVERAL || root[at] || chain.is_some() {
            owners[at] = at as Owner;
        }
        let own = owners[at];
        let mut claim = |v: Value, owner: Owner| {
            if is_given(f, v) {
                return;
            }
            let of = &mut owners[v.index()];
            *of = match *of {
                NOBODY => owner,
                one if one == owner => owner,
                _ => SEVERAL,
            };
        };
        match chain {
            Some(chain) => {
                first_rounds.push((value, next));
                for (round, owner) in chain.rounds.iter().zip(next..) {
                    round.iter().for_each(|term| claim(term.value, owner));
                }
                next += chain.rounds.len() as Owner;
            }
            None => f.operands(value).for_each(|v| claim(v, own)),
        }
    }
    (owners, first_rounds)
}

/// Values that are no roots but look as many roots do.
fn shared_elsewhere(f: &Function, owners: &[Owner]) -> Vec<usize> {
    let mut looks = vec![0_u64; f.len()];
    // How many look so, and how many of these are roots.
    let mut counts: FxHashMap<u64, (usize, usize)> = FxHashMap::default();
    for value in f.values() {
        let at = value.index();
        let mut hasher = FxHasher::default();
        match f.op(value) {
            op if op.is_number() => 1.hash(&mut hasher),
            Op::Param(_) => 2.hash(&mut hasher),
            op => {
                op.hash(&mut hasher);
                f.operands(value).for_each(|v| looks[v.index()].hash(&mut hasher));
            }
        }
        looks[at] = hasher.finish();
        if owners[at] < SEVERAL {
            let (all, roots) = counts.entry(looks[at]).or_default();
            *all += 1;
            *roots += usize::from(owners[at] == at as Owner);
        }
    }
    let split = |at: &usize| {
        let own = owners[*at];
        own < SEVERAL
            && own != *at as Owner
            && matches!(counts.get(&looks[*at]), Some((all, roots)) if *all >= LEAST && 4 * roots >= *all)
    };
    (0..f.len()).filter(split).collect()
}

/// Whether a value is there from the beginning.
pub(super) fn is_given(f: &Function, value: Value) -> bool {
    matches!(f.op(value), Op::Param(_)) || f.op(value).is_constant()
}
