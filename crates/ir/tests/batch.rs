//! Many points at a time.

mod random;

use cotangent_ir::{Batch, parse, trace};
use cotangent_numbers::{Dual, Interval};
use random::{INPUTS, point, program};

#[test]
fn batches_are_equal_to_single_points_to_the_bit() {
    let mut compared = 0;
    for seed in 0..150 {
        let f = program(seed);
        let mut rng = fastrand::Rng::with_seed(seed);
        let count = [1, 7, 40, 300][seed as usize % 4];
        let points: Vec<f64> = (0..count).flat_map(|_| point(&mut rng)).collect();
        let each: Result<Vec<Vec<f64>>, _> = points.chunks(INPUTS).map(|x| f.run(x)).collect();
        let Ok(each) = each else {
            assert!(f.run_batch(&points, count).is_err(), "seed {seed}");
            continue;
        };
        let batch = f.run_batch(&points, count).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}"));
        let bits = |x: &[f64]| -> Vec<u64> {
            x.iter().map(|x| if x.is_nan() { 1 } else { x.to_bits() }).collect()
        };
        assert_eq!(bits(&batch), bits(&each.concat()), "seed {seed}\n{f}");
        let duals: Vec<Dual<f64>> = points.iter().map(|x| Dual::new(*x, [1.0])).collect();
        let slopes: Vec<f64> =
            f.run_batch(&duals, count).unwrap().iter().map(|y| y.partials[0]).collect();
        let single: Vec<f64> =
            duals.chunks(INPUTS).flat_map(|x| f.run(x).unwrap()).map(|y| y.partials[0]).collect();
        assert_eq!(bits(&slopes), bits(&single), "seed {seed}\n{f}");
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn batches_of_intervals_take_undecided_branches_lane_by_lane() {
    let f = parse(
        "fn @f(%x: f64) -> f64 { %c = lt %x, 1.0 \
         %y = if %c { %a = mul %x, 2.0 yield %a } else { %b = add %x, 1.0 yield %b } ret %y }",
    )
    .unwrap();
    let x: Vec<Interval> =
        (0..40).map(|k| Interval::new(f64::from(k) / 20.0, f64::from(k + 1) / 20.0)).collect();
    let batch = f.run_batch(&x, 40).unwrap();
    for (x, y) in x.iter().zip(&batch) {
        let single = f.run(&[*x]).unwrap()[0];
        assert_eq!((y.low(), y.high()), (single.low(), single.high()));
    }
}

#[test]
fn additions_in_blocks_go_in_the_order_of_the_points() {
    // Sums that depend on their order, by far more points than a block has, at places that repeat.
    let f = parse(
        "fn @f(%x: [1000]f64, %t: [7]f64, %u: [7]f64) -> ([7]f64, [7]f64) {
          %y, %z = acc (%i < 1000) (%p = %t, %q = %u) {
            %a = ld %x[%i]
            %k = irem %i, 7
            %m = imul %i, 3
            %l = irem %m, 7
            %b = exp %a
            %p1 = put_add %p[%k], %b
            %p2 = put_add %p1[%l], %a
            %q1 = put_add %q[%l], %b
            yield %p2, %q1
          }
          ret %y, %z
        }",
    )
    .unwrap();
    let mut rng = fastrand::Rng::with_seed(3);
    let x: Vec<f64> = (0..1014).map(|_| (rng.f64() - 0.5) * 30.0).collect();
    let (mut p, mut q) = (x[1000..1007].to_vec(), x[1007..].to_vec());
    let exp = |x: f64| cotangent_math::Unary::Exp.apply(x);
    for i in 0..1000 {
        p[i % 7] += exp(x[i]);
        p[3 * i % 7] += x[i];
        q[3 * i % 7] += exp(x[i]);
    }
    let expected: Vec<f64> = p.into_iter().chain(q).collect();
    assert_eq!(f.run(&x).unwrap(), expected);
    // Branches and kernels on the targets, which are not computed in blocks themselves.
    let f = parse(
        "fn @f(%x: [600]f64, %t: [5]f64) -> [5]f64 {
          %y = acc (%i < 600) (%p = %t) {
            %a = ld %x[%i]
            %k = irem %i, 5
            %c = gt %a, 0.0
            %r = if %c { %b = mul %a, 3.0 %p1 = put_add %p[%k], %b yield %p1 } else { yield %p }
            %s = acc (%j < 3) (%q = %r) { %v = mul %a, %a %q1 = put_add %q[%j], %v yield %q1 }
            yield %s
          }
          ret %y
        }",
    )
    .unwrap();
    let x = &x[..605];
    let mut p = x[600..].to_vec();
    for i in 0..600 {
        if x[i] > 0.0 {
            p[i % 5] += x[i] * 3.0;
        }
        (0..3).for_each(|j| p[j] += x[i] * x[i]);
    }
    assert_eq!(f.run(x).unwrap(), p);
}

/// Points together give what they give one by one, to the bit, however often the room is used.
#[test]
fn points_together_are_points_one_by_one() {
    let f = trace("f", 3, |x| {
        let (mut a, mut b) = (x[0], x[1]);
        for k in 0..25 {
            a = a * b + x[2];
            b = b * 0.5 - a * (f64::from(k) * 0.01);
        }
        vec![a + b, a.sin()]
    })
    .unwrap();
    let mut rng = fastrand::Rng::with_seed(1);
    let mut batch = Batch::new(&f);
    for count in [0, 1, 7, 64, 1000, 3] {
        let points: Vec<f64> = (0..3 * count).map(|_| rng.f64()).collect();
        let single: Vec<f64> = points.chunks(3).flat_map(|x| f.run(x).unwrap()).collect();
        assert_eq!(batch.run(&points, count).unwrap(), single);
    }
}
