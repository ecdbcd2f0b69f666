//! The order of the passes, again and again until nothing changes.

use cotangent_ir::Function;

use crate::options::Options;
use crate::rewrite::algebra;
use crate::stats::{Stats, Tally};
use crate::{accumulate, branch, dead, distribute, fuse, hoist, merge, reduce, unroll, unswitch};

/// A function made simpler, and what was done.
#[derive(Clone, Debug)]
pub struct Optimized {
    /// The function.
    pub function: Function,
    /// What was done.
    pub stats: Stats,
}

type Pass = fn(&Function, &mut Tally) -> Function;

/// Passes in their order. The rules of algebra come first and after each round again; what changes loops
/// comes before what changes kernels, because loops become kernels.
pub(crate) const PASSES: [(&str, Pass); 12] = [
    ("algebra", |f, tally| algebra(f, tally, false)),
    ("inline", branch::inline),
    ("branch", branch::branch),
    ("dead", dead::dead),
    ("unroll", unroll::unroll),
    ("hoist", hoist::hoist),
    ("distribute", distribute::distribute),
    ("unswitch", unswitch::unswitch),
    ("reduce", reduce::reduce),
    ("accumulate", accumulate::accumulate),
    ("fuse", fuse::fuse),
    ("merge", merge::merge),
];

/// Makes a function simpler, as far as the options allow: all passes in their order until nothing changes.
///
/// What a pass makes dearer by the [cost model](Function::cost) is taken back, so the result never costs
/// more. A function that is not well formed comes back as it is.
///
/// ```
/// use cotangent_ir::parse;
/// use cotangent_optimize::{Options, optimize};
///
/// let f = parse("fn @f(%x: f64, %y: f64) -> f64 {
///   %a = neg %y %b = add %x, %a %c = add %b, 0.0 ret %c
/// }").unwrap();
/// let simpler = optimize(&f, &Options::default());
/// assert_eq!(simpler.function.to_string(), "\
/// fn @f(%x: f64, %y: f64) -> f64 {
///   %0 = sub %x, %y
///   ret %0
/// }
/// ");
/// assert_eq!(simpler.stats.rules["add_neg"], 1);
/// ```
pub fn optimize(f: &Function, options: &Options) -> Optimized {
    let mut stats = Stats { before: f.cost(), after: f.cost(), ..Stats::default() };
    if f.verify().is_err() {
        return Optimized { function: f.clone(), stats };
    }
    let mut tally = Tally::new(*options);
    let mut f = f.clone();
    let mut cost = f.cost().total();
    for _ in 0..options.rounds {
        stats.rounds += 1;
        let start = f.clone();
        for (name, pass) in PASSES {
            let runs = stats.passes.entry(name).or_default();
            runs.runs += 1;
            let mark = tally.clone();
            let mut new = pass(&f, &mut tally).settled();
            let mut now = new.cost().total();
            if name == "algebra" && now > cost * (1.0 + 1e-12) {
                // Some rule counted on an operation to vanish that others needed.
                tally = mark.clone();
                new = algebra(&f, &mut tally, true).settled();
                now = new.cost().total();
            }
            debug_assert!(new.verify().is_ok(), "{name}: {:?}\n{f}\n{new}", new.verify());
            if now > cost * (1.0 + 1e-12) {
                runs.dropped += 1;
                tally = mark;
                continue;
            }
            if new == f {
                continue;
            }
            runs.changed += 1;
            (f, cost) = (new, now);
        }
        if f == start {
            break;
        }
    }
    stats.after = f.cost();
    (stats.rules, stats.steps) = (tally.rules, tally.steps);
    Optimized { function: f, stats }
}

/// The function made simpler with the default [`Options`]: what to do between derivatives.
///
/// ```
/// use cotangent_ir::parse;
/// use cotangent_optimize::simplify;
/// use cotangent_transform::gradient;
///
/// let f = parse("fn @dot(%x: [9]f64, %y: [9]f64) -> f64 {
///   %s = red sum (%i < 9) { %a = ld %x[%i] %b = ld %y[%i] %p = mul %a, %b yield %p }
///   ret %s
/// }").unwrap();
/// // The gradient of a product of vectors is the vectors.
/// assert_eq!(simplify(&gradient(&f).unwrap()).to_string(), "\
/// fn @dot.grad(%x: [9]f64, %y: [9]f64) -> (f64, [9]f64, [9]f64) {
///   %0 = red sum (%i < 9) {
///     %1 = ld %x[%i]
///     %2 = ld %y[%i]
///     %3 = mul %1, %2
///     yield %3
///   }
///   ret %0, %y, %x
/// }
/// ");
/// ```
#[must_use]
pub fn simplify(f: &Function) -> Function {
    optimize(f, &Options::default()).function
}
