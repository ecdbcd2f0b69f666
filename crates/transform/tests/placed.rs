//! Every operation of the table inside a kernel, a loop and a branch: forward, reverse and central
//! differences.

use std::fmt::Write;

use cotangent_ir::{Function, parse, takes_parameter};
use cotangent_ops::Opcode;
use cotangent_testkit::sample::{parameters, points};
use cotangent_transform::{gradient, linearize};

/// The operation at each of three points, put together in one of several ways.
fn placed(code: Opcode, parameter: i32, how: &str) -> Function {
    let info = code.info();
    let mut params = String::new();
    let mut loads = String::new();
    let mut operands = String::new();
    for k in 0..info.arity {
        let comma = if k > 0 { ", " } else { "" };
        write!(params, "{comma}%x{k}: [3]f64").unwrap();
        writeln!(loads, "    %a{k} = ld %x{k}[%i]").unwrap();
        write!(operands, "{comma}%a{k}").unwrap();
    }
    let braces = if takes_parameter(code) { format!("{{{parameter}}}") } else { String::new() };
    let once = format!("{loads}    %r = {}{braces} {operands}\n", info.name);
    let total = "  %s = red sum (%i < 3) { %e = ld %t[%i] yield %e }\n  ret %s\n";
    let body = match how {
        "tab" => format!("  %t = tab (%i < 3) {{\n{once}    yield %r\n  }}\n{total}"),
        "red" => format!("  %s = red sum (%i < 3) {{\n{once}    yield %r\n  }}\n  ret %s\n"),
        "acc" => format!(
            "  %z = fill 0.0 : [3]f64\n  %t = acc (%i < 3) (%q = %z) {{\n{once}    %p = put_add %q[%i], %r\n    \
             yield %p\n  }}\n{total}"
        ),
        "for" => format!(
            "  %s = for %i < 3 (%q = 0.0) {{\n{once}    %p = add %q, %r\n    yield %p\n  }}\n  ret %s\n"
        ),
        "stack" => format!("  %t = for %i < 3 () {{\n{once}    yield %r\n  }}\n{total}"),
        "while" => format!(
            "  _, %s, _ = while (%i = 0, %q = 0.0) {{\n    %c = lt %i, 3\n    yield %c\n  }} do {{\n{once}    %p = add \
             %q, %r\n    %j = iadd %i, 1\n    yield %j, %p\n  }}\n  ret %s\n"
        ),
        "if" => format!(
            "  %s = for %i < 3 (%q = 0.0) {{\n    %c = lt %i, 2\n    %v = if %c {{\n{once}    yield %r\n    }} else {{\n\
             {once}    %h = mul %r, 0.5\n    yield %h\n    }}\n    %p = add %q, %v\n    yield %p\n  }}\n  ret %s\n"
        ),
        // Element by element, without a body.
        _ => {
            let arrays: Vec<String> = (0..info.arity).map(|k| format!("%x{k}")).collect();
            format!("  %t = {}{braces} {}\n{total}", info.name, arrays.join(", "))
        }
    };
    let text = format!("fn @f({params}) -> f64 {{\n{body}}}\n");
    parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn operations_have_their_derivatives_wherever_they_stand() {
    let mut checked = 0;
    for code in Opcode::ALL {
        let info = code.info();
        for parameter in parameters(*code).iter().take(3) {
            let at = points(*code, 3, 1e-2, 5);
            // First arguments first: three points of each.
            let x: Vec<f64> = (0..info.arity).flat_map(|k| at.iter().map(move |p| p[k])).collect();
            for how in ["tab", "red", "acc", "for", "stack", "while", "if", "whole"] {
                let f = placed(*code, *parameter, how);
                f.verify().unwrap();
                let (forward, backward) = (linearize(&f).unwrap(), gradient(&f).unwrap());
                let g = backward.run(&x).unwrap();
                for k in 0..x.len() {
                    let mut unit = vec![0.0; x.len()];
                    unit[k] = 1.0;
                    let t = forward.run(&[&x[..], &unit].concat()).unwrap()[1];
                    let name = format!("{} in {how}, entry {k}", info.name);
                    let size = 1.0 + t.abs();
                    assert!((t - g[1 + k]).abs() <= 1e-12 * size, "{name}: {t} and {}", g[1 + k]);
                    let h = 1e-5 * (1.0 + x[k].abs());
                    let moved = |h: f64| {
                        let mut x = x.clone();
                        x[k] += h;
                        f.run(&x).unwrap()[0]
                    };
                    // Of fourth order, so that steep functions do.
                    let near = (moved(h) - moved(-h)) / (2.0 * h);
                    let far = (moved(2.0 * h) - moved(-2.0 * h)) / (4.0 * h);
                    let difference = (4.0 * near - far) / 3.0;
                    let rounding = 1e-10 * (1.0 + g[0].abs()) / h * 1e-5;
                    let own = matches!(code, Opcode::StrongMul | Opcode::StrongDiv);
                    assert!(
                        own || (t - difference).abs() <= 1e-5 * size + rounding,
                        "{name}: {t} for {difference}"
                    );
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 1500, "{checked}");
}
