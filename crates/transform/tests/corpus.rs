//! The functions of DiffTests as programs: their gradients are those of the tape, at a few times the
//! operations.

use cotangent_ir::{Traced, trace_at};
use cotangent_numbers::{Tape, Var};
use cotangent_testkit::difftests::*;
use cotangent_transform::gradient;

fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|i| 0.15 + 0.8 * (i as f64 * 0.37).sin().abs()).collect()
}

#[test]
fn gradients_of_the_corpus() {
    let (vector, mut matrix) = (numbers(13), numbers(9));
    for i in 0..3 {
        matrix[4 * i] += 1.5;
    }
    let mut ratios = Vec::new();
    macro_rules! all {
        ($x:expr; $($f:ident)*) => {$({
            let (x, name) = (&$x[..], stringify!($f));
            let f = trace_at(name, x, |x: &[Traced]| vec![$f(x)]).unwrap();
            let g = gradient(&f).unwrap();
            g.verify().unwrap();
            let found = g.run(x).unwrap();
            let mut tape = Tape::new();
            let y = tape.record(x, |x: &[Var]| $f(x)).unwrap();
            assert!((found[0] - y.peek()).abs() <= 1e-13 * (1.0 + y.peek().abs()), "{name}");
            let expected = tape.gradient(y).unwrap();
            for (a, b) in found[1..].iter().zip(expected) {
                assert!((a - b).abs() <= 1e-10 * (1.0 + b.abs()), "{name}: {a} for {b}");
            }
            if f.operations() > 5 {
                ratios.push((g.operations() as f64 / f.operations() as f64, name));
            }
        })*};
    }
    all!(vector; vec2num_1 vec2num_2 vec2num_3 vec2num_4 vec2num_5 vec2num_6 vec2num_7 rosenbrock_1
        rosenbrock_2 rosenbrock_3 rosenbrock_4 ackley self_weighted_logit nested_array_mul first);
    all!(matrix; determinant mat2num_1 mat2num_2 mat2num_3 mat2num_4 softmax);
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    #[allow(clippy::print_stdout, reason = "the table is of interest when the test is run by hand")]
    {
        println!("{ratios:.2?}");
    }
    // Operations of the gradient program to those of the function, guards included.
    assert!(ratios[ratios.len() - 1].0 <= 4.0 && ratios[ratios.len() / 2].0 <= 2.5, "{ratios:.2?}");
}
