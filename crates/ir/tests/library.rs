//! The library: what its functions give, how they are called in text and in traces, and what goes wrong.

use cotangent_ir::library::{self, LibraryError};
use cotangent_ir::{
    Builder, Dim, Element, Function, Hunted, IndexTable, Type, explain, hunt, jacobian_pattern,
    parse, trace_arrays,
};
use faer::linalg::solvers::Solve as _;
use faer::{Mat, Side};

fn random(seed: u64, count: usize) -> Vec<f64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| 2.0 * rng.f64() - 1.0).collect()
}

/// A symmetric positive definite matrix, row by row.
fn positive(seed: u64, n: usize) -> Vec<f64> {
    let m = random(seed, n * n);
    let entry = |i: usize, j: usize| -> f64 { (0..n).map(|k| m[i * n + k] * m[j * n + k]).sum() };
    (0..n * n).map(|p| entry(p / n, p % n) + if p / n == p % n { 0.5 } else { 0.0 }).collect()
}

fn dense(x: &[f64], n: usize, m: usize) -> Mat<f64> {
    Mat::from_fn(n, m, |i, j| x[i * m + j])
}

fn rows(x: &Mat<f64>) -> Vec<f64> {
    (0..x.nrows()).flat_map(|i| (0..x.ncols()).map(move |j| x[(i, j)])).collect()
}

#[track_caller]
fn close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len(), "{a:?} {b:?}");
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= tolerance * (1.0 + y.abs()), "{a:?} {b:?}");
    }
}

/// A function of the library for arrays of numbers of these shapes.
fn of(name: &str, shapes: &[&[usize]]) -> Function {
    let types: Vec<Type> = shapes.iter().map(|shape| Type::f64s(shape)).collect();
    library::function(name, &types).unwrap()
}

fn indices(n: usize) -> Type {
    Type::array(Element::I64, &[Dim::Size(n)])
}

/// Arguments for each function, in all its forms.
fn samples() -> Vec<(&'static str, Vec<Type>)> {
    let f = Type::f64s;
    let (n, m, k) = (3, 2, 4);
    let mut all = vec![
        ("lib.dot", vec![f(&[n]), f(&[n])]),
        ("lib.dot", vec![f(&[m, n]), f(&[n])]),
        ("lib.dot", vec![f(&[n]), f(&[n, k])]),
        ("lib.dot", vec![f(&[m, n]), f(&[n, k])]),
        ("lib.dot_tn", vec![f(&[n, m]), f(&[n])]),
        ("lib.dot_tn", vec![f(&[n, m]), f(&[n, k])]),
        ("lib.dot_nt", vec![f(&[n]), f(&[k, n])]),
        ("lib.dot_nt", vec![f(&[m, n]), f(&[k, n])]),
        ("lib.transpose", vec![f(&[n, m])]),
        ("lib.slice.2", vec![f(&[n]), Type::I64]),
        ("lib.slice.2", vec![f(&[n, m, k]), Type::I64]),
        ("lib.put_slice", vec![f(&[n]), Type::I64, f(&[m])]),
        ("lib.put_slice", vec![f(&[n, k]), Type::I64, f(&[m, k])]),
        ("lib.concat", vec![f(&[n]), f(&[k])]),
        ("lib.concat", vec![f(&[n, m]), f(&[k, m])]),
        ("lib.reshape.2.3", vec![f(&[6])]),
        ("lib.reshape.6", vec![f(&[n, m])]),
        ("lib.reshape.4.3.2", vec![f(&[m, n, k])]),
        ("lib.broadcast.3", vec![f(&[m])]),
        ("lib.broadcast.3", vec![f(&[m, k])]),
        ("lib.take", vec![f(&[n]), indices(k)]),
        ("lib.take", vec![f(&[n, m]), indices(k)]),
        ("lib.put", vec![f(&[n]), indices(m), f(&[m])]),
        ("lib.put", vec![f(&[n, k]), indices(m), f(&[m, k])]),
        ("lib.put_add", vec![f(&[n]), indices(m), f(&[m])]),
        ("lib.put_add", vec![f(&[n, k]), indices(m), f(&[m, k])]),
        ("lib.cumsum", vec![f(&[n])]),
        ("lib.cumsum", vec![f(&[n, m, k])]),
        ("lib.sort", vec![f(&[n])]),
    ];
    for name in [
        "lib.lu_solve",
        "lib.lu_solve.strong",
        "lib.lu_solve_transposed",
        "lib.lu_solve_transposed.strong",
    ] {
        all.push((name, vec![f(&[n, n]), f(&[n, n]), indices(n), f(&[n])]));
        all.push((name, vec![f(&[n, n]), f(&[n, n]), indices(n), f(&[n, m])]));
    }
    for name in ["lib.cholesky", "lib.lu", "lib.determinant", "lib.log_determinant"] {
        all.push((name, vec![f(&[n, n])]));
    }
    for name in [
        "lib.solve_lower",
        "lib.solve_lower_transposed",
        "lib.solve_upper",
        "lib.solve_upper_transposed",
        "lib.solve_upper_transposed.strong",
        "lib.solve_unit_lower",
        "lib.solve_unit_lower.strong",
        "lib.solve_unit_lower_transposed",
        "lib.solve",
    ] {
        all.push((name, vec![f(&[n, n]), f(&[n])]));
        all.push((name, vec![f(&[n, n]), f(&[n, m])]));
    }
    all
}

/// A function that calls one of the library with its parameters.
fn caller(name: &str, types: &[Type]) -> Function {
    let mut b = Builder::new("f");
    let args: Vec<_> = types.iter().map(|ty| b.param("x", *ty)).collect();
    let results = b.library(name, &args).unwrap();
    b.finish(results)
}

#[test]
fn every_function_verifies_and_so_does_its_rule() {
    let samples = samples();
    for described in library::all() {
        let named = |name: &str| name.split('.').nth(1) == described.name.split('.').nth(1);
        assert!(samples.iter().any(|(name, _)| named(name)), "{}", described.name);
        assert!(include_str!("../src/library.rs").contains(&format!("`{}", described.name)));
    }
    for (name, types) in samples {
        let f = library::function(name, &types).unwrap();
        f.verify().unwrap();
        assert!(f.is_library() && f.name() == name);
        if let Some(rule) = f.rule() {
            rule.verify().unwrap();
            let numbers = types.iter().filter(|ty| ty.is_float()).count();
            assert_eq!(rule.params().len(), types.len() + numbers, "{name}");
            assert_eq!(rule.params().iter().filter(|p| p.linear).count(), numbers, "{name}");
        }
    }
}

#[test]
fn what_is_linear_has_forms_for_that() {
    for (name, types) in samples() {
        let f = library::function(name, &types).unwrap();
        let Some(k) = f.linear_operand() else {
            let forms = [f.linear_form(), f.strong_form(), f.transposed_form()];
            assert!(forms.iter().all(Option::is_none), "{name}");
            assert!(library::function(&format!("{name}.lin"), &types).is_err(), "{name}");
            continue;
        };
        let (linear, strong) = (f.linear_form().unwrap(), f.strong_form().unwrap());
        for form in [&linear, &strong] {
            form.verify().unwrap();
            assert!(form.is_strong() && form.library_name() == f.library_name(), "{name}");
        }
        assert!(linear.linear_values().unwrap().contains(&true), "{name}");
        assert!(linear.params().iter().enumerate().all(|(j, p)| p.linear == (j == k)), "{name}");
        // Without what is linear it is the other.
        let ordinary = linear.clone().map_params(&|p| p.linear = false);
        assert_eq!(ordinary.name(), strong.name());
        assert!(ordinary.is_library());
        // Twice turned around is as it was.
        assert_eq!(linear.transposed_form().unwrap().transposed_form().unwrap(), linear);
    }
}

#[test]
fn texts_have_the_name_and_read_back() {
    for (name, types) in samples() {
        let f = caller(name, &types);
        f.verify().unwrap();
        let text = f.to_string();
        assert!(text.contains(&format!("call @{name}(")) && text.lines().count() == 4, "{text}");
        let again = parse(&text).unwrap();
        assert_eq!(again, f);
        assert_eq!(again.to_string(), text);
        assert_eq!(again.structural_hash(), f.structural_hash());
        // By itself it is written out, under a name that is free, and is the same function.
        let whole = library::function(name, &types).unwrap();
        let text = whole.to_string();
        assert!(!text.contains("fn @lib."), "{text}");
        let again = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(again, whole);
        assert_eq!(again.to_string(), text);
        assert_eq!(again.structural_hash(), whole.structural_hash());
    }
}

#[test]
fn singles_and_named_sizes_do_as_well() {
    for (name, types) in samples() {
        let singles: Vec<Type> =
            types.iter().map(|ty| if ty.is_float() { ty.of(Element::F32) } else { *ty }).collect();
        let f = library::function(name, &singles).unwrap();
        f.verify().unwrap();
        f.rule().into_iter().for_each(|rule| rule.verify().unwrap());
    }
    let f = parse(
        "fn @f<n>(%a: [n, n]f64, %b: [n]f64) -> [n]f64 {
           %l = call @lib.cholesky(%a)
           %y = call @lib.solve_lower(%l, %b)
           %x = call @lib.solve_lower_transposed(%l, %y)
           ret %x
         }",
    )
    .unwrap();
    f.verify().unwrap();
    assert_eq!(parse(&f.to_string()).unwrap(), f);
    let three = f.specialised(&[("n", Dim::Size(3))]);
    assert!(three.to_string().contains("call @lib.cholesky("));
    let (a, b) = (positive(1, 3), random(2, 3));
    let x = three.run(&[a.clone(), b.clone()].concat()).unwrap();
    close(&rows(&(dense(&a, 3, 3) * dense(&x, 3, 1))), &b, 1e-12);
}

#[test]
fn factors_and_solutions_are_those_of_faer() {
    for n in 1..9 {
        for seed in 0..5 {
            let a = positive(seed, n);
            // Only the lower triangle is looked at.
            let mut half = a.clone();
            for i in 0..n {
                half[i * n + i + 1..(i + 1) * n].fill(f64::NAN);
            }
            let l = of("lib.cholesky", &[&[n, n]]).run(&half).unwrap();
            let llt = dense(&a, n, n).llt(Side::Lower).unwrap();
            close(&l, &rows(&llt.L().to_owned()), 1e-12);

            let m = random(seed + 100, n * n);
            let lu = of("lib.lu", &[&[n, n]]).run(&m).unwrap();
            let (f, p) = lu.split_at(n * n);
            let lower = Mat::from_fn(n, n, |i, j| match i.cmp(&j) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => 1.0,
                std::cmp::Ordering::Greater => f[i * n + j],
            });
            assert!(rows(&lower).iter().all(|e| e.abs() <= 1.0));
            let upper = Mat::from_fn(n, n, |i, j| if i <= j { f[i * n + j] } else { 0.0 });
            let permuted: Vec<f64> =
                p.iter().flat_map(|r| m[*r as usize * n..][..n].to_vec()).collect();
            close(&rows(&(lower * upper)), &permuted, 1e-12);

            let reference = dense(&m, n, n);
            let determinant = reference.determinant();
            close(&of("lib.determinant", &[&[n, n]]).run(&m).unwrap(), &[determinant], 1e-12);
            let log = of("lib.log_determinant", &[&[n, n]]).run(&m).unwrap();
            close(&log, &[determinant.abs().ln()], 1e-10);
            for columns in [0, 1, 3] {
                let (shape, count) =
                    if columns == 0 { (vec![n], 1) } else { (vec![n, columns], columns) };
                let b = random(seed + 200, n * count);
                let x = of("lib.solve", &[&[n, n], &shape])
                    .run(&[m.clone(), b.clone()].concat())
                    .unwrap();
                let expected = reference.partial_piv_lu().solve(dense(&b, n, count));
                close(&x, &rows(&expected), 1e-8);
            }
        }
    }
}

#[test]
fn triangular_solves_look_at_their_triangle_only() {
    for n in 1..9 {
        for columns in [0, 1, 3] {
            let (shape, count) =
                if columns == 0 { (vec![n], 1) } else { (vec![n, columns], columns) };
            for (name, lower, transposed) in [
                ("lib.solve_lower", true, false),
                ("lib.solve_lower_transposed", true, true),
                ("lib.solve_upper", false, false),
                ("lib.solve_upper_transposed", false, true),
            ] {
                let mut a = random(n as u64, n * n);
                (0..n).for_each(|i| a[i * n + i] += 3.0);
                let inside = |i: usize, j: usize| if lower { j <= i } else { j >= i };
                let triangle =
                    Mat::from_fn(n, n, |i, j| if inside(i, j) { a[i * n + j] } else { 0.0 });
                let b = random(7, n * count);
                for i in 0..n {
                    for j in (0..n).filter(|j| !inside(i, *j)) {
                        a[i * n + j] = f64::NAN;
                    }
                }
                let x = of(name, &[&[n, n], &shape]).run(&[a, b.clone()].concat()).unwrap();
                let x = dense(&x, n, count);
                let back = if transposed { triangle.transpose() * x } else { triangle * x };
                close(&rows(&back), &b, 1e-12);
            }
        }
    }
}

#[test]
fn arrays_are_put_together_and_taken_apart() {
    let run = |name: &str, types: &[Type], x: &[f64]| {
        library::function(name, types).unwrap().run(x).unwrap()
    };
    let f = Type::f64s;
    assert_eq!(run("lib.dot", &[f(&[2]), f(&[2])], &[1.0, 2.0, 3.0, 4.0]), [11.0]);
    let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, -1.0, 2.0]);
    let ab = [&a[..], &b].concat();
    assert_eq!(run("lib.dot", &[f(&[2, 3]), f(&[3])], &ab), [5.0, 11.0]);
    assert_eq!(run("lib.dot_tn", &[f(&[3, 2]), f(&[3])], &ab), [8.0, 10.0]);
    let ba = [&b[..], &a].concat();
    assert_eq!(run("lib.dot", &[f(&[3]), f(&[3, 2])], &ba), [8.0, 10.0]);
    assert_eq!(run("lib.dot_nt", &[f(&[3]), f(&[2, 3])], &ba), [5.0, 11.0]);
    let aa = [&a[..], &a].concat();
    let square = [22.0, 28.0, 49.0, 64.0];
    assert_eq!(run("lib.dot", &[f(&[2, 3]), f(&[3, 2])], &aa), square);
    assert_eq!(run("lib.dot_nt", &[f(&[2, 3]), f(&[2, 3])], &aa), [14.0, 32.0, 32.0, 77.0]);
    assert_eq!(run("lib.dot_tn", &[f(&[3, 2]), f(&[3, 2])], &aa), [35.0, 44.0, 44.0, 56.0]);
    assert_eq!(run("lib.transpose", &[f(&[2, 3])], &a), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    assert_eq!(
        run("lib.slice.1", &[f(&[3, 2]), Type::I64], &[&a[..], &[1.0]].concat()),
        [3.0, 4.0]
    );
    assert_eq!(
        run("lib.concat", &[f(&[3, 2]), f(&[1, 2])], &[&a[..], &[7.0, 8.0]].concat()),
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    );
    assert_eq!(run("lib.concat", &[f(&[0]), f(&[2])], &[7.0, 8.0]), [7.0, 8.0]);
    let into = [&a[..], &[1.0], &[7.0, 8.0]].concat();
    assert_eq!(
        run("lib.put_slice", &[f(&[3, 2]), Type::I64, f(&[1, 2])], &into),
        [1.0, 2.0, 7.0, 8.0, 5.0, 6.0]
    );
    assert_eq!(run("lib.reshape.3.2", &[f(&[2, 3])], &a), a);
    assert_eq!(run("lib.broadcast.2", &[f(&[3])], &b), [1.0, -1.0, 2.0, 1.0, -1.0, 2.0]);
    let take = [&a[..], &[2.0, 0.0, 2.0]].concat();
    assert_eq!(run("lib.take", &[f(&[3, 2]), indices(3)], &take), [5.0, 6.0, 1.0, 2.0, 5.0, 6.0]);
    let put = [&b[..], &[2.0, 0.0, 2.0], &[10.0, 20.0, 30.0]].concat();
    assert_eq!(run("lib.put", &[f(&[3]), indices(3), f(&[3])], &put), [20.0, -1.0, 30.0]);
    assert_eq!(run("lib.put_add", &[f(&[3]), indices(3), f(&[3])], &put), [21.0, -1.0, 42.0]);
    assert_eq!(run("lib.cumsum", &[f(&[3, 2])], &a), [1.0, 2.0, 4.0, 6.0, 9.0, 12.0]);
    assert_eq!(run("lib.sort", &[f(&[3])], &b), [-1.0, 1.0, 2.0]);
    let ordered = run("lib.take", &[indices(2), indices(3)], &[7.0, 8.0, 1.0, 0.0, 1.0]);
    assert_eq!(ordered, [8.0, 7.0, 8.0]);
    let beyond = library::function("lib.slice.2", &[f(&[3]), Type::I64]).unwrap();
    assert!(beyond.run(&[1.0, 2.0, 3.0, 2.0]).unwrap_err().to_string().contains("out of range"));
}

#[test]
fn of_nothing_comes_nothing() {
    assert!(of("lib.cholesky", &[&[0, 0]]).run::<f64>(&[]).unwrap().is_empty());
    assert!(of("lib.lu", &[&[0, 0]]).run::<f64>(&[]).unwrap().is_empty());
    assert!(of("lib.solve", &[&[0, 0], &[0]]).run::<f64>(&[]).unwrap().is_empty());
    assert!(of("lib.solve_upper", &[&[2, 2], &[2, 0]]).run(&[1.0; 4]).unwrap().is_empty());
    assert_eq!(of("lib.determinant", &[&[0, 0]]).run::<f64>(&[]).unwrap(), [1.0]);
    assert_eq!(of("lib.log_determinant", &[&[0, 0]]).run::<f64>(&[]).unwrap(), [0.0]);
    assert_eq!(of("lib.dot", &[&[2, 0], &[0, 2]]).run::<f64>(&[]).unwrap(), [0.0; 4]);
    assert!(of("lib.cumsum", &[&[0]]).run::<f64>(&[]).unwrap().is_empty());
    assert!(of("lib.sort", &[&[0]]).run::<f64>(&[]).unwrap().is_empty());
}

#[test]
fn matrices_without_a_factor_give_nan_and_the_hunt_finds_where() {
    let f = caller("lib.cholesky", &[Type::f64s(&[2, 2])]);
    let l = f.run(&[1.0, 2.0, 2.0, 1.0]).unwrap();
    assert!(l[0] == 1.0 && l[2] == 2.0 && l[3].is_nan(), "{l:?}");
    let found = hunt(&f, &[1.0, 2.0, 2.0, 1.0], Hunted::Nan).unwrap().unwrap();
    assert!(found.operation.contains("sqrt") && found.operands == [-3.0], "{found:?}");
    assert!(found.line > f.to_string().lines().count());
    let told = explain(&f, &[4.0, 2.0, 2.0, 5.0]).unwrap();
    assert!(told.contains("// fn @lib.cholesky") && parse(&told).unwrap() == f, "{told}");

    let singular = [1.0, 2.0, 2.0, 4.0];
    let x = of("lib.solve", &[&[2, 2], &[2]]).run(&[&singular[..], &[1.0, 1.0]].concat()).unwrap();
    assert!(x.iter().all(|x| !x.is_finite()), "{x:?}");
    assert_eq!(of("lib.determinant", &[&[2, 2]]).run(&singular).unwrap(), [0.0]);
    assert_eq!(of("lib.determinant", &[&[3, 3]]).run(&[0.0; 9]).unwrap(), [0.0]);
    assert_eq!(of("lib.log_determinant", &[&[2, 2]]).run(&singular).unwrap(), [f64::NEG_INFINITY]);
    let nan = of("lib.lu", &[&[2, 2]]).run(&[f64::NAN; 4]).unwrap();
    assert!(nan[0].is_nan());
}

#[test]
fn what_does_not_fit_is_said_where_it_stands() {
    let error = |types: &str, call: &str| {
        let text = format!("fn @f({types}) -> f64 {{\n  %r = call @lib.{call}\n  ret %r\n}}");
        parse(&text).unwrap_err().to_string()
    };
    assert_eq!(
        error("%a: [2, 3]f64", "cholesky(%a)"),
        "2:13: `@lib.cholesky` takes a square matrix [n, n]f64; it is given [2, 3]f64"
    );
    assert_eq!(
        error("%a: [2, 2]f64, %b: [3]f64", "solve(%a, %b)"),
        "2:13: `@lib.solve` takes a square matrix [n, n]f64 and a right-hand side [n]f64 or [n, m]f64; it is \
         given [2, 2]f64, [3]f64"
    );
    assert_eq!(
        error("%a: [2, 2]f64", "choleski(%a)"),
        "2:13: there is no library function `@lib.choleski`; did you mean `@lib.cholesky`?"
    );
    for (types, call) in [
        ("%a: [2, 2]f64", "cholesky(%a, %a)"),
        ("%a: [2, 2]f64", "cholesky()"),
        ("%a: [2, 2]i64", "cholesky(%a)"),
        ("%a: [2, 2]f64", "cholesky.2(%a)"),
        ("%a: [2, 2]f64", "reshape.5(%a)"),
        ("%a: [2, 2]f64", "slice(%a, 0)"),
        ("%a: [2, 2]f64", "slice.1(%a, 0.5)"),
        ("%a: [2, 2]f64, %b: [2]f64", "concat(%a, %b)"),
        ("%a: [2]f64, %b: [2]f32", "dot(%a, %b)"),
        ("%a: [2]f64, %b: [3]f64", "dot(%a, %b)"),
        ("%a: f64", "cumsum(%a)"),
        ("%a: [2]f64", "slice.99999999999999999999(%a, 0)"),
    ] {
        let message = error(types, call);
        assert!(message.starts_with("2:13: "), "{call}: {message}");
    }
    assert!(matches!(library::function("cholesky", &[]), Err(LibraryError::Name { .. })));
    assert!(matches!(library::function("lib", &[]), Err(LibraryError::Name { .. })));
    assert!(matches!(library::function("lib.dot", &[]), Err(LibraryError::Arguments { .. })));
}

#[test]
fn names_of_the_library_are_not_taken_by_others() {
    let defined = parse("fn @lib.dot(%x: f64) -> f64 { ret %x }").unwrap_err().to_string();
    assert_eq!(
        defined,
        "1:4: names that begin with `lib.` belong to the library; choose another than `@lib.dot`"
    );
    let both = parse(
        "fn @cholesky(%a: [2, 2]f64) -> [2, 2]f64 { ret %a }
         fn @f(%a: [2, 2]f64) -> ([2, 2]f64, [2, 2]f64) {
           %x = call @cholesky(%a)
           %y = call @lib.cholesky(%a)
           ret %x, %y
         }",
    )
    .unwrap();
    let results = both.run(&[4.0, 0.0, 0.0, 4.0]).unwrap();
    assert_eq!(results, [4.0, 0.0, 0.0, 4.0, 2.0, 0.0, 0.0, 2.0]);
    assert_eq!(parse(&both.to_string()).unwrap(), both);
    // With another rule, or with none, it is a function like others.
    let other = of("lib.cholesky", &[&[2, 2]]).without_rule();
    assert!(!other.is_library() && other.rule().is_none());
    assert!(other.to_string().starts_with("fn @cholesky(%a: [2, 2]f64)"));
    assert_ne!(other, of("lib.cholesky", &[&[2, 2]]));
    // Written anew without a change it is the same.
    let again = of("lib.cholesky", &[&[2, 2]]).rebuilt(|_, _, _| false);
    assert!(again.is_library() && again == of("lib.cholesky", &[&[2, 2]]));
    let renamed = of("lib.cholesky", &[&[2, 2]]).renamed("mine");
    assert!(!renamed.is_library() && renamed.rule().is_some());
    assert_eq!(renamed, of("lib.cholesky", &[&[2, 2]]));
}

#[test]
fn equal_calls_are_one() {
    let f = parse(
        "fn @f(%a: [2, 2]f64) -> ([2, 2]f64, [2, 2]f64) {
           %x = call @lib.cholesky(%a)
           %y = call @lib.cholesky(%a)
           ret %x, %y
         }",
    )
    .unwrap();
    assert_eq!(f.results()[0], f.results()[1]);
}

#[test]
fn traces_call_the_library_and_say_what_does_not_fit() {
    let order = IndexTable::new(&[1, 0]);
    let f = trace_arrays("f", &[&[2, 2], &[2]], |x| {
        let (a, b) = (x[0], x[1]);
        let x = a.solve(b).take(order.traced()).concat(b.cumsum()).slice(1, 2);
        let l = a.cholesky();
        let y = l.solve_lower_transposed(l.solve_lower(b));
        let b = b.put_slice(0, b.slice(0, 1));
        (x, y, a.reshape([4]).sorted(), a.determinant(), b.broadcast(2), a.lu().1.at(0).to_number())
    })
    .unwrap();
    f.verify().unwrap();
    assert_eq!(parse(&f.to_string()).unwrap(), f);
    let results = f.run(&[4.0, 2.0, 2.0, 5.0, 8.0, 12.0]).unwrap();
    let (x, det) = ([1.0, 2.0], 16.0);
    let expected = [x[0], 8.0, x[0], x[1], 2.0, 2.0, 4.0, 5.0, det, 8.0, 12.0, 8.0, 12.0, 0.0];
    close(&results, &expected, 1e-14);
    let wrong = trace_arrays("f", &[&[2, 3]], |x| x[0].cholesky()).unwrap_err().to_string();
    assert!(
        wrong.contains("`@lib.cholesky` takes a square matrix [n, n]f64; it is given [2, 3]f64")
            && wrong.contains("library.rs"),
        "{wrong}"
    );
    assert!(trace_arrays("f", &[&[2, 3]], |x| x[0].reshape([5])).is_err());
    assert!(trace_arrays("f", &[&[2, 3]], |x| x[0].reshape([])).is_err());
    let inside = trace_arrays("f", &[&[3, 2, 2]], |x| {
        cotangent_ir::map_over(0..3, |k| x[0].row(k).determinant())
    })
    .unwrap();
    let points = [1.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 2.0, 0.0, 1.0, 1.0, 0.0];
    assert_eq!(inside.run(&points).unwrap(), [1.0, 4.0, -1.0]);
}

#[test]
fn whatever_is_asked_for_is_a_function_or_an_error() {
    let mut rng = fastrand::Rng::with_seed(1);
    let samples = samples();
    let elements = [Element::F64, Element::F32, Element::I64, Element::I32, Element::Bool];
    let dims =
        [Dim::Size(0), Dim::Size(1), Dim::Size(2), Dim::symbol("n"), Dim::symbol("k"), Dim::Any];
    let (mut made, asked) = (0, 5000);
    for _ in 0..asked {
        let (name, mut types) = samples[rng.usize(..samples.len())].clone();
        let mut name = name.to_string();
        if rng.usize(..4) == 0 {
            name += [".0", ".1", ".2", ".4", ".x", "."][rng.usize(..6)];
        }
        for _ in 0..rng.usize(..3) {
            let dims: Vec<Dim> = (0..rng.usize(..4)).map(|_| dims[rng.usize(..6)]).collect();
            let ty = Type::array(elements[rng.usize(..5)], &dims);
            match rng.usize(..6) {
                0 => types.push(ty),
                1 => drop(types.pop()),
                2 | 3 => {
                    let k = rng.usize(..types.len().max(1));
                    types.get_mut(k).into_iter().for_each(|own| *own = ty);
                }
                // All sizes that are the same become another.
                _ => {
                    let from = Dim::Size(2 + rng.usize(..3));
                    let to = dims.first().copied().unwrap_or(Dim::Any);
                    let change = |d: &Dim| if *d == from { to } else { *d };
                    for own in &mut types {
                        let new: Vec<Dim> = own.dims().iter().map(change).collect();
                        *own = Type::array(own.element(), &new);
                    }
                }
            }
        }
        if let Ok(f) = library::function(&name, &types) {
            f.verify().unwrap_or_else(|error| panic!("{error}\n{f}"));
            f.rule().into_iter().for_each(|rule| rule.verify().unwrap());
            made += 1;
        }
    }
    assert!(made > asked / 4 && made < asked * 3 / 4, "{made}");
}

#[test]
fn patterns_of_the_library_are_those_of_its_loops() {
    let f = Type::f64s;
    let pattern =
        |name: &str, types: &[Type]| jacobian_pattern(&caller(name, types)).unwrap().to_string();
    assert_eq!(pattern("lib.transpose", &[f(&[2, 2])]), "1···\n··1·\n·1··\n···1\n");
    assert_eq!(pattern("lib.concat", &[f(&[1]), f(&[2])]), "1··\n·1·\n··1\n");
    assert_eq!(pattern("lib.cumsum", &[f(&[3])]), "1··\n11·\n111\n");
    // Of the matrix the lower triangle, of the factor nothing above the diagonal.
    assert_eq!(pattern("lib.cholesky", &[f(&[2, 2])]), "1···\n····\n1·1·\n1·11\n");
    let solved = pattern("lib.solve_upper", &[f(&[2, 2]), f(&[2])]);
    assert_eq!(solved, "11·111\n···1·1\n");
}
