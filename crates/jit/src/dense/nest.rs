//! A kernel and one in it, seen as one domain: which indices values depend on, and factors of products as arrays.

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Dim, Function, Op, Structure, Type, Value};

use super::extract::kernel;
use super::pays_product;
use super::product::{self, Factor, Product, Strong};

/// Which indices something depends on, as bits; nothing is known of targets.
pub(super) type Indices = Option<u32>;

/// A kernel, and possibly one in it: indices are counted through, those of the outer one first.
pub(super) struct Nest<'n> {
    pub(super) structure: &'n Structure,
    pub(super) operands: &'n [Value],
    pub(super) body: &'n Function,
    pub(super) rank: usize,
    pub(super) sizes: Vec<usize>,
    pub(super) depends: Vec<Indices>,
    pub(super) inner: Option<Inner<'n>>,
}

pub(super) struct Inner<'n> {
    pub(super) whole: Value,
    pub(super) structure: &'n Structure,
    pub(super) body: &'n Function,
    pub(super) depends: Vec<Indices>,
}

/// A factor of a product: an array that is there, or a value that has yet to be made one.
pub(super) enum Side {
    There(Factor<Value>),
    Made(Value, Vec<usize>),
}

impl Side {
    pub(super) fn along(&self) -> &[usize] {
        match self {
            Side::There(factor) => &factor.along,
            Side::Made(_, along) => along,
        }
    }
}

fn sizes_of(dims: &[Dim]) -> Option<Vec<usize>> {
    dims.iter().map(|dim| if let Dim::Size(n) = dim { Some(*n) } else { None }).collect()
}

/// By value of a body: the indices it depends on, given those of the parameters.
pub(super) fn dependences(body: &Function, param: impl Fn(usize) -> Indices) -> Vec<Indices> {
    let mut found: Vec<Indices> = Vec::with_capacity(body.len());
    for value in body.values() {
        found.push(match body.op(value) {
            Op::Param(k) => param(k as usize),
            _ => body.operands(value).try_fold(0, |all, v| Some(all | found[v.index()]?)),
        });
    }
    found
}

impl<'n> Nest<'n> {
    pub(super) fn new(structure: &'n Structure, operands: &'n [Value]) -> Option<Nest<'n>> {
        let body = structure.bodies().next()?;
        let sizes = sizes_of(structure.domain())?;
        let rank = sizes.len();
        if !(1..=4).contains(&rank) {
            return None;
        }
        let (own, _) = structure.own_params();
        let depends = dependences(body, |k| match k {
            k if k < rank => Some(1 << k),
            k if k < own => None,
            _ => Some(0),
        });
        Some(Nest { structure, operands, body, rank, sizes, depends, inner: None })
    }

    /// The same with a kernel in its body.
    pub(super) fn within(&self, whole: Value) -> Option<Nest<'n>> {
        let structure = self.body.structure(whole)?;
        let body: &'n Function = structure.bodies().next()?;
        let mut sizes = self.sizes.clone();
        sizes.extend(sizes_of(structure.domain())?);
        let (rank, count) = (self.rank, structure.domain().len());
        let (own, _) = structure.own_params();
        if sizes.len() > 5 || count == 0 {
            return None;
        }
        let depends = dependences(body, |k| match k {
            k if k < count => Some(1 << (rank + k)),
            k if k < own => None,
            k => {
                let operand = self.body.operand(whole, structure.operand_of(k)?);
                self.depends[operand.index()]
            }
        });
        let inner = Some(Inner { whole, structure, body, depends });
        Some(Nest { sizes, depends: self.depends.clone(), inner, ..*self })
    }

    /// The body in which products stand.
    pub(super) fn innermost(&self) -> &'n Function {
        self.inner.as_ref().map_or(self.body, |inner| inner.body)
    }

    /// The value of the outer body that a parameter of the innermost one stands for; an index of the inner kernel is none.
    pub(super) fn outer(&self, param: usize) -> Option<Value> {
        match &self.inner {
            None => self.body.param_values().get(param).copied().flatten(),
            Some(inner) => {
                let (own, _) = inner.structure.own_params();
                let operand = inner.structure.operand_of(param).filter(|_| param >= own)?;
                Some(self.body.operand(inner.whole, operand))
            }
        }
    }

    /// The index that a parameter of the innermost body is.
    pub(super) fn index(&self, param: usize) -> Option<usize> {
        if let Some(inner) = &self.inner
            && param < inner.structure.domain().len()
        {
            return Some(self.rank + param);
        }
        match self.body.op(self.outer(param)?) {
            Op::Param(k) => Some(k as usize).filter(|k| *k < self.rank),
            _ => None,
        }
    }

    /// The array outside that a parameter of the innermost body is.
    pub(super) fn array(&self, param: usize) -> Option<Value> {
        let (own, _) = self.structure.own_params();
        match self.body.op(self.outer(param)?) {
            Op::Param(k) if k as usize >= own => {
                self.structure.operand_of(k as usize).map(|operand| self.operands[operand])
            }
            _ => None,
        }
    }

    /// A factor in the innermost body.
    pub(super) fn side(&self, b: &Builder, value: Value) -> Option<Side> {
        let body = self.innermost();
        let load = product::load(body, value, |k| self.array(k), |k| self.index(k));
        if let Some((array, along)) = load {
            let fits = |(dim, k): (&Dim, &usize)| *dim == Dim::Size(self.sizes[*k]);
            if b.ty(array).dims().iter().zip(&along).all(fits) && apart(&along) {
                return Some(Side::There(Factor { array, along }));
            }
        }
        let depends = self.inner.as_ref().map_or(&self.depends, |inner| &inner.depends);
        let bits = depends[value.index()]?;
        let along: Vec<usize> = (0..self.sizes.len()).filter(|k| bits >> k & 1 == 1).collect();
        (1..=2).contains(&along.len()).then_some(Side::Made(value, along))
    }

    /// The array of a factor.
    pub(super) fn factor(&self, b: &mut Builder, side: &Side) -> Option<Factor<Value>> {
        let (value, along) = match side {
            Side::There(factor) => return Some(factor.clone()),
            Side::Made(value, along) => (*value, along.clone()),
        };
        let mut t = Builder::new("");
        let indices: Vec<Value> = along.iter().map(|_| t.param("i", Type::I64)).collect();
        let given = |k: usize| along.iter().position(|id| *id == k).map(|place| indices[place]);
        let (own, _) = self.structure.own_params();
        let captured = self.structure.operand_of(own)?;
        let outside = &self.operands[captured..];
        let mut args: Vec<Option<Value>> = (0..own).map(given).collect();
        args[self.rank..].fill(None);
        args.extend(outside.iter().map(|v| Some(t.param("x", b.ty(*v)))));
        let entry = match &self.inner {
            None => needed(&mut t, self.body, &args, &[value])?[0],
            Some(inner) => {
                let count = inner.structure.domain().len();
                let own = inner.structure.own_params().0;
                let used = used_params(inner.body, value);
                let mut wanted = Vec::new();
                for param in (own..inner.body.params().len()).filter(|k| used[*k]) {
                    wanted.push(self.outer(param)?);
                }
                let mut found = needed(&mut t, self.body, &args, &wanted)?.into_iter();
                let all: Vec<Option<Value>> = (0..inner.body.params().len())
                    .map(|param| match param {
                        k if k < count => given(self.rank + k),
                        k if k < own => None,
                        k if used[k] => found.next(),
                        _ => None,
                    })
                    .collect();
                needed(&mut t, inner.body, &all, &[value])?[0]
            }
        };
        let body = Arc::new(t.finish(vec![entry]));
        let dims = along.iter().map(|k| Dim::Size(self.sizes[*k])).collect();
        let tab = Structure::Tab { dims, body };
        // What it is computed from may be a product in its turn.
        let parts = kernel(b, &tab, outside).unwrap_or_else(|| b.structure(tab, outside));
        Some(Factor { array: parts[0], along })
    }

    /// The numbers of the indices of both factors among those that a product goes over, and how many each goes to.
    pub(super) fn renumbered(&self, term: &Term) -> Option<(Vec<usize>, [Vec<usize>; 2])> {
        let along = |side: &Side| -> Option<Vec<usize>> {
            side.along().iter().map(|k| term.over.iter().position(|id| id == k)).collect()
        };
        let sizes = term.over.iter().map(|k| self.sizes[*k]).collect();
        Some((sizes, [along(&term.sides[0])?, along(&term.sides[1])?]))
    }

    /// Whether it is a product that pays.
    pub(super) fn is_product(&self, term: &Term) -> bool {
        let Some((sizes, along)) = self.renumbered(term).filter(|_| term.summed) else {
            return false;
        };
        let [x, y] = [0, 1].map(|k| Factor { array: k, along: along[k].clone() });
        let Some(product) = Product::from_factors(&sizes, [x, y], term.strong) else {
            return false;
        };
        // With a list nothing is gained: the loops around it read the matrix once for all that is done with it, on all threads.
        product.shape.n > 1 && pays_product(&product.shape)
    }

    /// The table of a product, whether it is summed over or not.
    pub(super) fn table(&self, b: &mut Builder, term: &Term) -> Option<Value> {
        let (sizes, [x, y]) = self.renumbered(term)?;
        let first = self.factor(b, &term.sides[0])?;
        let second = self.factor(b, &term.sides[1])?;
        let factors =
            [Factor { array: first.array, along: x }, Factor { array: second.array, along: y }];
        Some(product::table(b, &sizes, term.summed, &factors, term.strong == Strong::First))
    }
}

/// A product, and the indices it goes over: those of the result in their order, then the one that is summed over.
pub(super) struct Term {
    pub(super) sides: [Side; 2],
    pub(super) strong: Strong,
    pub(super) over: Vec<usize>,
    pub(super) summed: bool,
    /// Whether it is taken away.
    pub(super) negative: bool,
}

pub(super) fn apart(along: &[usize]) -> bool {
    along.iter().enumerate().all(|(place, k)| !along[..place].contains(k))
}

/// By parameter of a body: whether a value needs it.
fn used_params(body: &Function, value: Value) -> Vec<bool> {
    let mut needs = vec![false; body.len()];
    needs[value.index()] = true;
    let mut used = vec![false; body.params().len()];
    for value in body.values().rev() {
        if needs[value.index()] {
            body.operands(value).for_each(|v| needs[v.index()] = true);
            if let Op::Param(k) = body.op(value) {
                used[k as usize] = true;
            }
        }
    }
    used
}

/// Copies what some values need; none if that is a parameter which is not given.
pub(super) fn needed(
    b: &mut Builder,
    f: &Function,
    args: &[Option<Value>],
    roots: &[Value],
) -> Option<Vec<Value>> {
    let mut needs = vec![false; f.len()];
    roots.iter().for_each(|v| needs[v.index()] = true);
    for value in f.values().rev() {
        if needs[value.index()] {
            f.operands(value).for_each(|v| needs[v.index()] = true);
        }
    }
    let mut copies = Copied::new(f.len());
    for value in f.values().filter(|v| needs[v.index()]) {
        match f.op(value) {
            Op::Param(k) => copies.set(value, args[k as usize]?),
            _ => copies.value(b, f, value, &[]),
        }
    }
    Some(roots.iter().map(|v| copies.of(*v)).collect())
}
