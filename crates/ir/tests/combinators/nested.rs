//! Random nests of combinators against plain loops.

use super::*;

/// A program of combinators or of plain loops, by the same seed: the world it runs in says which.
trait World {
    type Number: cotangent_numbers::Scalar;
    type Index: Copy;
    fn sum(&self, n: usize, f: &mut dyn FnMut(Self::Index) -> Self::Number) -> Self::Number;
    fn largest(&self, n: usize, f: &mut dyn FnMut(Self::Index) -> Self::Number) -> Self::Number;
    fn rounds(
        &self,
        n: usize,
        init: Self::Number,
        f: &mut dyn FnMut(Self::Index, Self::Number) -> Self::Number,
    ) -> Self::Number;
    fn halve(
        &self,
        init: Self::Number,
        f: &mut dyn FnMut(Self::Number) -> Self::Number,
    ) -> Self::Number;
    fn branch(
        &self,
        x: Self::Number,
        y: Self::Number,
        yes: &mut dyn FnMut() -> Self::Number,
        no: &mut dyn FnMut() -> Self::Number,
    ) -> Self::Number;
    /// An element of the input of the list that is made by a function, at an index that is computed.
    fn gather(
        &self,
        at: Self::Index,
        shift: usize,
        f: &mut dyn FnMut(Self::Index) -> Self::Number,
    ) -> Self::Number;
    fn input(&self, at: Self::Index, shift: usize) -> Self::Number;
    fn number(&self, i: Self::Index) -> Self::Number;
}

const SIZE: usize = 5;
const PERMUTED: [usize; SIZE] = [3, 0, 4, 2, 1];

struct Plain<'x>(&'x [f64]);

impl World for Plain<'_> {
    type Number = f64;
    type Index = usize;
    fn sum(&self, n: usize, f: &mut dyn FnMut(usize) -> f64) -> f64 {
        (0..n).map(f).reduce(|a, b| a + b).unwrap_or(0.0)
    }
    fn largest(&self, n: usize, f: &mut dyn FnMut(usize) -> f64) -> f64 {
        (0..n).map(f).reduce(Elementary::max).unwrap_or(f64::NEG_INFINITY)
    }
    fn rounds(&self, n: usize, init: f64, f: &mut dyn FnMut(usize, f64) -> f64) -> f64 {
        (0..n).fold(init, |s, i| f(i, s))
    }
    fn halve(&self, init: f64, f: &mut dyn FnMut(f64) -> f64) -> f64 {
        let mut s = init;
        while s.abs() > 0.5 {
            s = f(s).tanh() * s * 0.5;
        }
        s
    }
    fn branch(
        &self,
        x: f64,
        y: f64,
        yes: &mut dyn FnMut() -> f64,
        no: &mut dyn FnMut() -> f64,
    ) -> f64 {
        if x < y { yes() } else { no() }
    }
    fn gather(&self, at: usize, shift: usize, f: &mut dyn FnMut(usize) -> f64) -> f64 {
        let list: Vec<f64> = (0..SIZE).map(f).collect();
        list[PERMUTED[(at + shift) % SIZE]]
    }
    fn input(&self, at: usize, shift: usize) -> f64 {
        self.0[PERMUTED[(at + shift) % SIZE]]
    }
    fn number(&self, i: usize) -> f64 {
        i as f64
    }
}

struct Recorded(TracedArray, IndexTable);

impl World for Recorded {
    type Number = Traced;
    type Index = TracedIndex;
    fn sum(&self, n: usize, f: &mut dyn FnMut(TracedIndex) -> Traced) -> Traced {
        sum_over(0..n, f)
    }
    fn largest(&self, n: usize, f: &mut dyn FnMut(TracedIndex) -> Traced) -> Traced {
        max_over(0..n, f)
    }
    fn rounds(
        &self,
        n: usize,
        init: Traced,
        f: &mut dyn FnMut(TracedIndex, Traced) -> Traced,
    ) -> Traced {
        fori(n, init, f)
    }
    fn halve(&self, init: Traced, f: &mut dyn FnMut(Traced) -> Traced) -> Traced {
        while_(init, |s| s.abs().greater(0.5), |s| f(s).tanh() * s * 0.5)
    }
    fn branch(
        &self,
        x: Traced,
        y: Traced,
        yes: &mut dyn FnMut() -> Traced,
        no: &mut dyn FnMut() -> Traced,
    ) -> Traced {
        cond(x.less(y), yes, no)
    }
    fn gather(
        &self,
        at: TracedIndex,
        shift: usize,
        f: &mut dyn FnMut(TracedIndex) -> Traced,
    ) -> Traced {
        map_over(0..SIZE, f).at(self.1.at((at + shift) % SIZE))
    }
    fn input(&self, at: TracedIndex, shift: usize) -> Traced {
        self.0.at(self.1.at((at + shift) % SIZE))
    }
    fn number(&self, i: TracedIndex) -> Traced {
        i.to_number()
    }
}

/// A random program whose closures use numbers and indices of all closures around them. What it does depends
/// on the seed alone, so a closure does the same in every round.
fn nested<W: World>(
    world: &W,
    seed: u64,
    depth: usize,
    numbers: &[W::Number],
    indices: &[W::Index],
) -> W::Number {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut numbers = numbers.to_vec();
    let mut deeper = (0..).map(|k| seed.wrapping_mul(31).wrapping_add(k + 1));
    for _ in 0..3 {
        let (a, b) = (numbers[rng.usize(..numbers.len())], numbers[rng.usize(..numbers.len())]);
        let (n, shift) = (rng.usize(..4), rng.usize(..7));
        let inner = deeper.next().unwrap();
        let go = |index: Option<W::Index>, extra: &[W::Number]| {
            let indices: Vec<W::Index> = indices.iter().copied().chain(index).collect();
            let numbers: Vec<W::Number> = numbers.iter().chain(extra).copied().collect();
            nested(world, inner, depth - 1, &numbers, &indices)
        };
        let kind = if depth == 0 { rng.u8(6..12) } else { rng.u8(..12) };
        let value = match kind {
            0 => world.sum(n, &mut |i| go(Some(i), &[])),
            1 => world.largest(n + 1, &mut |i| go(Some(i), &[])),
            2 => world.rounds(n, a, &mut |i, s| go(Some(i), &[s]).sin() + s * 0.5),
            3 => world.halve(a, &mut |s| go(None, &[s])),
            4 => world.branch(a, b, &mut || go(None, &[]), &mut || b * 0.5),
            5 if !indices.is_empty() => {
                let at = indices[rng.usize(..indices.len())];
                world.gather(at, shift, &mut |i| go(Some(i), &[]))
            }
            6 | 7 if !indices.is_empty() => world.input(indices[rng.usize(..indices.len())], shift),
            8 if !indices.is_empty() => world.number(indices[rng.usize(..indices.len())]) * a,
            9 => a.sin() * b,
            10 => (a - b) * 0.7,
            _ => a.tanh() + 1.25,
        };
        numbers.push(value);
    }
    numbers[numbers.len() - 1] + numbers[numbers.len() - 2] * 0.25
}

#[test]
fn random_nested_programs_are_what_they_compute_eagerly() {
    let table = IndexTable::new(&PERMUTED);
    let mut structures = 0;
    for seed in 0..400 {
        let x = point(seed, SIZE);
        let f = trace_arrays("f", &[&[SIZE]], |arrays| {
            let world = Recorded(arrays[0], table.clone());
            let numbers = [arrays[0].at(0), arrays[0].at(1)];
            nested(&world, seed, 4, &numbers, &[])
        })
        .unwrap();
        sound(&f);
        let expected = nested(&Plain(&x), seed, 4, &x[..2], &[]);
        // Numbers that carry more than a value have the functions that code outside of programs has.
        let duals: Vec<Dual<f64, 1>> = x.iter().map(|x| Dual::new(*x, [0.0])).collect();
        let found = f.run(&duals).unwrap()[0].value;
        assert_eq!(found.to_bits(), expected.to_bits(), "seed {seed}: {found}, {expected}\n{f}");
        let plain = f.run(&x).unwrap()[0];
        assert!((plain - expected).abs() <= 1e-10 * (1.0 + expected.abs()), "{plain}, {expected}");
        structures += f.to_string().matches(" {\n").count() - 1;
    }
    assert!(structures > 1000, "{structures}");
}

#[test]
fn a_point_that_goes_on_by_itself_can_have_kernels_inside() {
    // Point i goes round i times, the last one alone; a sum inside has points of its own.
    let f = trace_arrays("f", &[&[3]], |x| {
        map_over(0..3, |i| fori(i, x[0].at(i), |_, s| s + sum_over(0..4, |j| (i + j).to_number())))
    })
    .unwrap();
    gives(&f, &[1.0, 1.0, 1.0], &[1.0, 11.0, 29.0]);
    let g = trace_arrays("g", &[&[3]], |x| {
        map_over(0..3, |i| {
            let y = x[0].at(i);
            cond(i.equal(1), || sum_over(0..3, |j| y * (i + j).to_number()), || y)
        })
    })
    .unwrap();
    gives(&g, &[1.0, 2.0, 3.0], &[1.0, 12.0, 3.0]);
}
