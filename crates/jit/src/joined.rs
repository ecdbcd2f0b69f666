//! Tables that read others at their own points, made together with them: what one has in a register the next does not read from
//! memory, and what nobody else reads is never written there.
//!
//! A step of a solver is a chain of tables over one domain: stages that read their neighbours' points, and sums of stages that do
//! not. The sums join the stages.

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Dim, Function, Op, Param, Structure, Type, Value};
use rustc_hash::FxHashMap;

use crate::emit::is_read_at_points;

/// The most operations of tables that are joined: registers run out.
const MOST: usize = 64;

/// The function with tables joined, also in loops and branches, not within kernels.
pub(crate) fn joined(f: &Function) -> Function {
    let groups = Groups::of(f);
    let control = |s: &&Structure| {
        matches!(s, Structure::For { .. } | Structure::While { .. } | Structure::If { .. })
    };
    f.rebuilt(|b, copies, value| {
        let Some(structure) = f.structure(value) else { return false };
        if let Some(structure) = Some(structure).filter(control) {
            let operands = copies.operands(f, value);
            let inner = structure.with_bodies(|body| Arc::new(joined(body)));
            copies.set_parts(value, b.structure(inner, &operands));
            return true;
        }
        match groups.leader(value) {
            Some(leader) if leader != value => true,
            Some(_) => groups.write(f, value, b, copies),
            None => false,
        }
    })
}

/// A table: its dimensions and its body, if it can be made together with others. One with sums in it may be a product of matrices,
/// which is known by its loops.
pub(crate) fn table(f: &Function, value: Value) -> Option<(&[Dim], &Function)> {
    let Some(Structure::Tab { dims, body }) = f.structure(value) else { return None };
    let sized = dims.iter().all(|dim| matches!(dim, Dim::Size(n) if *n > 1));
    let numbers = body.results().iter().all(|v| body.ty(*v).is_scalar());
    let plain = body.values().all(|v| !matches!(body.op(v), Op::Structure(_)));
    (!dims.is_empty() && sized && numbers && plain).then_some((&dims[..], body))
}

/// Tables that are made together, by the first of them.
struct Groups {
    leaders: FxHashMap<Value, Value>,
    members: FxHashMap<Value, Vec<Value>>,
}

impl Groups {
    fn of(f: &Function) -> Groups {
        let mut groups = Groups { leaders: FxHashMap::default(), members: FxHashMap::default() };
        for value in f.values() {
            if table(f, value).is_none() {
                continue;
            }
            let leader = groups.fitting(f, value).unwrap_or(value);
            groups.leaders.insert(value, leader);
            groups.members.entry(leader).or_default().push(value);
        }
        groups.members.retain(|_, members| members.len() > 1);
        let members = &groups.members;
        groups.leaders.retain(|_, leader| members.contains_key(leader));
        groups
    }

    fn leader(&self, value: Value) -> Option<Value> {
        self.leaders.get(&value).copied()
    }

    /// The table that makes a value, by the first of its group.
    fn maker(&self, f: &Function, value: Value) -> Option<Value> {
        match f.op(value) {
            Op::Part(_) => self.leader(f.operand(value, 0)),
            _ => None,
        }
    }

    /// The latest group that a table fits into: it reads something of it, that at its own points only, and all else is there before
    /// the group is made.
    fn fitting(&self, f: &Function, value: Value) -> Option<Value> {
        let (dims, body) = table(f, value)?;
        let operands: Vec<Value> = f.operands(value).collect();
        let mut makers: Vec<Value> = operands.iter().filter_map(|v| self.maker(f, *v)).collect();
        makers.sort_unstable();
        makers.dedup();
        makers.into_iter().rev().find(|leader| {
            let own = |v: Value| self.maker(f, v) == Some(*leader);
            let before = |v: Value| self.maker(f, v).unwrap_or(v) < *leader;
            let fits = operands.iter().enumerate().all(|(k, v)| match own(*v) {
                true => is_read_at_points(body, dims.len() + k, dims.len()),
                false => before(*v),
            });
            let members = self.members.get(leader).map_or(&[][..], |m| m);
            let tables = members.iter().filter_map(|m| table(f, *m));
            let all = tables.map(|(_, body)| body.operations()).sum::<usize>() + body.operations();
            let same = table(f, *leader).is_some_and(|(other, _)| other == dims);
            fits && same && all <= MOST
        })
    }

    /// Writes the tables of a group as one.
    fn write(&self, f: &Function, leader: Value, b: &mut Builder, copies: &mut Copied) -> bool {
        let Some((dims, _)) = table(f, leader) else { return false };
        let members = &self.members[&leader];
        let mut own = Builder::new("");
        let indices: Vec<Value> = dims.iter().map(|_| own.param("i", Type::I64)).collect();
        let mut captures: Vec<Value> = Vec::new();
        let mut params: FxHashMap<Value, Value> = FxHashMap::default();
        // By table: what it gives at a point.
        let mut given: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
        for member in members {
            let Some((_, body)) = table(f, *member) else { return false };
            let mut args = indices.clone();
            let mut known: Vec<Option<Value>> = vec![None; dims.len()];
            for operand in f.operands(*member) {
                let made = match f.op(operand) {
                    Op::Part(k) => given.get(&f.operand(operand, 0)).map(|all| all[k as usize]),
                    _ => None,
                };
                known.push(made);
                args.push(match made {
                    Some(number) => number,
                    None => *params.entry(operand).or_insert_with(|| {
                        captures.push(operand);
                        let ty = f.ty(operand);
                        own.add_param(Param { name: "x".to_string(), ty, linear: false })
                    }),
                });
            }
            let written = body.write_into(&mut own, &args, |_, copies, value| {
                let array = match body.op(value) {
                    Op::Load => body.op(body.operand(value, 0)),
                    _ => return Ok::<_, std::convert::Infallible>(false),
                };
                let made = match array {
                    Op::Param(k) => known[k as usize],
                    _ => None,
                };
                if let Some(number) = made {
                    copies.set(value, number);
                }
                Ok(made.is_some())
            });
            let Ok(results) = written;
            given.insert(*member, results);
        }
        let results = members.iter().flat_map(|m| given[m].iter().copied()).collect();
        let body = Arc::new(own.finish(results));
        // Tables of an earlier group are there before their parts have their turn.
        let captured = captures.iter().map(|v| match f.op(*v) {
            Op::Part(k) => {
                copies.parts(f.operand(*v, 0)).and_then(|parts| parts.get(k as usize)).copied()
            }
            _ => copies.get(*v),
        });
        let Some(captured) = captured.collect::<Option<Vec<Value>>>() else { return false };
        let mut parts =
            b.structure(Structure::Tab { dims: dims.to_vec(), body }, &captured).into_iter();
        for member in members {
            copies.set_parts(*member, parts.by_ref().take(given[member].len()).collect());
        }
        true
    }
}
