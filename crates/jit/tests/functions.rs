//! Elementary functions in machine code have the bits that `cotangent_math` has, whatever the processor's vectors are.

use cotangent_ir::{Function, parse, trace_arrays};
use cotangent_jit::{Compiled, Cpu, Llvm, Number, Options};
use cotangent_math::{Binary, Level, Unary, apply_at, apply2_at};

const N: usize = 1003;

/// Everything from 0 and NaN to the usual.
fn numbers(seed: u64) -> Vec<f64> {
    let special =
        [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310, 1e300];
    let mut random = fastrand::Rng::with_seed(seed);
    let usual = |k: usize| match k % 4 {
        0 => special[random.usize(..special.len())],
        1 => (random.f64() - 0.5) * 2000.0,
        _ => random.f64() * 10.0,
    };
    (0..N).map(usual).collect()
}

/// The LLVM of this process, for several processors; none if there is none.
#[allow(clippy::print_stdout, reason = "who runs the tests is told what was left out")]
fn for_each_processor(check: impl Fn(&Llvm)) {
    let native = match Llvm::get() {
        Ok(llvm) => llvm,
        Err(why) => return println!("skipped: {why}"),
    };
    check(native);
    for level in ["x86-64", "x86-64-v3", "x86-64-v4"] {
        let cpu = Cpu::level(level).unwrap();
        if cpu.vector_bytes <= native.cpu.vector_bytes {
            let mut llvm = Llvm::open(&native.path).unwrap();
            llvm.cpu = cpu;
            check(&llvm);
        }
    }
}

fn run<T: Number>(llvm: &Llvm, f: &Function, inputs: &[&[T]]) -> Vec<T> {
    let compiled = Compiled::with(llvm, f, &Options::default()).unwrap();
    let mut out = vec![T::nearest(0.0); N];
    compiled.run_slices(inputs, &mut [&mut out], &mut compiled.workspace()).unwrap();
    out
}

fn check<T: Number + cotangent_math::Number + Into<f64>>(kind: &str) {
    let list = |seed| -> Vec<T> { numbers(seed).into_iter().map(T::nearest).collect() };
    let (x, y) = (list(1), list(2));
    let of_kind = |f: Function| parse(&f.to_string().replace("f64", kind)).unwrap();
    let same = |name: &str, llvm: &Llvm, found: &[T], want: &[T]| {
        for i in 0..N {
            let (a, b): (f64, f64) = (found[i].into(), want[i].into());
            let (x, y): (f64, f64) = (x[i].into(), y[i].into());
            let same = a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            assert!(same, "{name} {kind} for {}: {a:e}, not {b:e}, at {x:e} {y:e}", llvm.cpu.name);
        }
    };
    for_each_processor(|llvm| {
        let mut want = vec![T::nearest(0.0); N];
        let f = of_kind(trace_arrays("f", &[&[N]], |x| x[0].exp()).unwrap());
        apply_at(Level::Avx512, Unary::Exp, &x, &mut want);
        same("exp", llvm, &run(llvm, &f, &[&x]), &want);
        let f = of_kind(trace_arrays("f", &[&[N]], |x| x[0].tanh()).unwrap());
        apply_at(Level::Avx512, Unary::Tanh, &x, &mut want);
        same("tanh", llvm, &run(llvm, &f, &[&x]), &want);
        let f = of_kind(trace_arrays("f", &[&[N], &[N]], |x| x[0].powf(x[1])).unwrap());
        apply2_at(Level::Avx512, Binary::Pow, &x, &y, &mut want);
        same("pow", llvm, &run(llvm, &f, &[&x, &y]), &want);
    });
}

#[test]
fn doubles_have_the_bits_of_the_library() {
    check::<f64>("f64");
}

#[test]
fn singles_have_the_bits_of_the_library() {
    check::<f32>("f32");
}
