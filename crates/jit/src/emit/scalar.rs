//! Numbers, integers and truth values: scalars or vectors of them.

use cotangent_ir::{Element, Integral, Op};
use cotangent_ops::{Comparison, Opcode};

use super::value::{Val, is_constant, number, scalar_type, splat, suffix};
use super::{Emitter, Lanes, Result, internal, llvm_type, math};
use crate::runtime;

impl Emitter<'_> {
    /// A value as a vector.
    pub(super) fn many(&mut self, val: &Val, element: Element, cx: &Lanes) -> String {
        let w = cx.width;
        match val {
            Val::One(x) if w == 1 => x.clone(),
            Val::One(x) if is_constant(x) => splat(x, scalar_type(element), w),
            Val::One(x) => {
                let (one, many) = (scalar_type(element), llvm_type(element, w));
                let first = self.op(format_args!("insertelement {many} poison, {one} {x}, i64 0"));
                self.op(format_args!(
                    "shufflevector {many} {first}, {many} poison, <{w} x i32> zeroinitializer"
                ))
            }
            Val::Affine(base, step) => {
                let from = self.many(&Val::One(base.clone()), Element::I64, cx);
                let steps: Vec<String> =
                    (0..w as i64).map(|k| format!("i64 {}", k.wrapping_mul(*step))).collect();
                let ty = llvm_type(Element::I64, w);
                self.op(format_args!("add {ty} {from}, <{}>", steps.join(", ")))
            }
            Val::Many(x) => x.clone(),
            Val::Array(_) | Val::Target(_) | Val::Kept(..) => "poison".to_string(),
        }
    }

    /// Operands as scalars, if all are, or else as vectors; and how many lanes that are.
    fn alike(&mut self, vals: &[Val], elements: &[Element], cx: &Lanes) -> (Vec<String>, usize) {
        if vals.iter().all(|v| matches!(v, Val::One(_))) {
            let texts = vals.iter().map(|v| match v {
                Val::One(x) => x.clone(),
                _ => String::new(),
            });
            return (texts.collect(), 1);
        }
        let texts = vals.iter().zip(elements).map(|(v, e)| self.many(v, *e, cx)).collect();
        (texts, cx.width)
    }

    fn wrap(text: String, width: usize) -> Val {
        if width == 1 { Val::One(text) } else { Val::Many(text) }
    }

    /// An operation without a body on scalars. `from` is what the operands are made of, `to` what the result is.
    pub(super) fn pointwise(
        &mut self,
        op: Op,
        vals: &[Val],
        from: &[Element],
        to: Element,
        cx: &Lanes,
    ) -> Result<Val> {
        Ok(match op {
            Op::Elementary(code, parameter) => {
                let (x, w) = self.alike(vals, from, cx);
                Self::wrap(self.elementary(code, parameter, &x, to, w), w)
            }
            Op::Compare(comparison) => {
                if cx.width > 1
                    && from[0].is_integer()
                    && let Some(val) = Val::compared(comparison, &vals[0], &vals[1], cx.width)
                {
                    return Ok(val);
                }
                let (x, w) = self.alike(vals, from, cx);
                let ty = llvm_type(from[0], w);
                let (kind, name) = match from[0].is_float() {
                    true => ("fcmp", float_predicate(comparison)),
                    false if from[0] == Element::Bool => {
                        return Err(internal("a comparison of truth values"));
                    }
                    false => ("icmp", integer_predicate(comparison)),
                };
                let text = self.op(format_args!("{kind} {name} {ty} {}, {}", x[0], x[1]));
                Self::wrap(text, w)
            }
            Op::And | Op::Or => {
                let (x, w) = self.alike(vals, from, cx);
                let (ty, name) =
                    (llvm_type(Element::Bool, w), if op == Op::And { "and" } else { "or" });
                Self::wrap(self.op(format_args!("{name} {ty} {}, {}", x[0], x[1])), w)
            }
            Op::Not => {
                let (x, w) = self.alike(vals, from, cx);
                let (ty, all) = (llvm_type(Element::Bool, w), splat("true", "i1", w));
                Self::wrap(self.op(format_args!("xor {ty} {}, {all}", x[0])), w)
            }
            Op::Select => {
                // A condition that is the same everywhere chooses between vectors as wholes.
                if let Val::One(c) = &vals[0] {
                    let (x, w) = self.alike(&vals[1..], &from[1..], cx);
                    let ty = llvm_type(to, w);
                    let text = self.op(format_args!("select i1 {c}, {ty} {}, {ty} {}", x[0], x[1]));
                    return Ok(Self::wrap(text, w));
                }
                let (x, w) = self.alike(vals, from, cx);
                let (mask, ty) = (llvm_type(Element::Bool, w), llvm_type(to, w));
                Self::wrap(
                    self.op(format_args!("select {mask} {}, {ty} {}, {ty} {}", x[0], x[1], x[2])),
                    w,
                )
            }
            Op::Integral(integral) => self.integral(integral, &vals[0], &vals[1], to, cx),
            Op::Cast => {
                // Wider integers than it takes: an index stays one.
                if from[0] == to {
                    return Ok(vals[0].clone());
                }
                let (x, w) = self.alike(vals, from, cx);
                Self::wrap(self.cast(&x[0], from[0], to, w), w)
            }
            Op::Stop | Op::Keep | Op::Recompute => vals[0].clone(),
            other => return Err(internal(&format!("`{}` on scalars", other.name()))),
        })
    }

    fn cast(&mut self, x: &str, from: Element, to: Element, w: usize) -> String {
        let (ft, tt) = (llvm_type(from, w), llvm_type(to, w));
        match (from, to) {
            (Element::F64, Element::F32) => self.op(format_args!("fptrunc {ft} {x} to {tt}")),
            (Element::F32, Element::F64) => self.op(format_args!("fpext {ft} {x} to {tt}")),
            (f, Element::Bool) if f.is_float() => {
                let zero = splat(&number(0.0, f), scalar_type(f), w);
                self.op(format_args!("fcmp une {ft} {x}, {zero}"))
            }
            (_, Element::Bool) => {
                let zero = splat("0", scalar_type(from), w);
                self.op(format_args!("icmp ne {ft} {x}, {zero}"))
            }
            (Element::Bool, t) if t.is_float() => self.op(format_args!("uitofp {ft} {x} to {tt}")),
            (Element::Bool, _) => self.op(format_args!("zext {ft} {x} to {tt}")),
            (f, t) if f.is_float() && t.is_integer() => {
                // To the nearest that there is, as Rust does; then 32 bits wrap.
                let wide = llvm_type(Element::I64, w);
                let name = format!("llvm.fptosi.sat.{}.{}", suffix(Element::I64, w), suffix(f, w));
                let long = self.call(&wide, &name, &[(&ft, x)]);
                match t {
                    Element::I32 => self.op(format_args!("trunc {wide} {long} to {tt}")),
                    _ => long,
                }
            }
            (_, t) if t.is_float() => self.op(format_args!("sitofp {ft} {x} to {tt}")),
            (Element::I64, _) => self.op(format_args!("trunc {ft} {x} to {tt}")),
            _ => self.op(format_args!("sext {ft} {x} to {tt}")),
        }
    }

    /// Integers; what is known is computed here, and steps from lane to lane stay steps.
    pub(super) fn integral(
        &mut self,
        integral: Integral,
        x: &Val,
        y: &Val,
        element: Element,
        cx: &Lanes,
    ) -> Val {
        if let (Some(a), Some(b)) = (x.known(), y.known()) {
            return Val::int(integral.apply(a, b, element));
        }
        if cx.width > 1
            && let Some(val) = Val::folded(integral, x, y, element, cx.width)
        {
            return val;
        }
        if let Some(val) = self.stepped(integral, x, y, element) {
            return val;
        }
        match (integral, x.known(), y.known()) {
            (Integral::Add, Some(0), _) | (Integral::Mul, Some(1), _) => return y.clone(),
            (Integral::Add | Integral::Sub, _, Some(0))
            | (Integral::Mul | Integral::Div, _, Some(1)) => {
                return x.clone();
            }
            (Integral::Mul, Some(0), _) | (Integral::Mul, _, Some(0)) => return Val::int(0),
            _ => {}
        }
        let (v, w) = self.alike(&[x.clone(), y.clone()], &[element, element], cx);
        let ty = llvm_type(element, w);
        let (a, b) = (&v[0], &v[1]);
        let text = match integral {
            Integral::Add => self.op(format_args!("add {ty} {a}, {b}")),
            Integral::Sub => self.op(format_args!("sub {ty} {a}, {b}")),
            Integral::Mul => self.op(format_args!("mul {ty} {a}, {b}")),
            Integral::Min | Integral::Max => {
                let name = if integral == Integral::Min { "slt" } else { "sgt" };
                let less = self.op(format_args!("icmp {name} {ty} {a}, {b}"));
                let mask = llvm_type(Element::Bool, w);
                self.op(format_args!("select {mask} {less}, {ty} {a}, {ty} {b}"))
            }
            Integral::Div | Integral::Rem => self.divide(integral, a, b, element, w),
        };
        Self::wrap(text, w)
    }

    /// Division that rounds down; by zero it gives zero, and the smallest by −1 wraps.
    fn divide(
        &mut self,
        integral: Integral,
        a: &str,
        b: &str,
        element: Element,
        w: usize,
    ) -> String {
        let (ty, mask) = (llvm_type(element, w), llvm_type(Element::Bool, w));
        let one = scalar_type(element);
        let constant = |c: i64| splat(&c.to_string(), one, w);
        let (zero, unit, minus) = (constant(0), constant(1), constant(-1));
        let known = Self::wrap(b.to_string(), w).lanes(w);
        let sure = known.is_some_and(|lanes| lanes.iter().all(|c| *c != 0 && *c != -1));
        // By zero, and by −1, go through 1.
        let safe = if sure {
            b.to_string()
        } else {
            let none = self.op(format_args!("icmp eq {ty} {b}, {zero}"));
            let turn = self.op(format_args!("icmp eq {ty} {b}, {minus}"));
            let odd = self.op(format_args!("or {mask} {none}, {turn}"));
            self.op(format_args!("select {mask} {odd}, {ty} {unit}, {ty} {b}"))
        };
        let q = self.op(format_args!("sdiv {ty} {a}, {safe}"));
        let back = self.op(format_args!("mul {ty} {q}, {safe}"));
        let r = self.op(format_args!("sub {ty} {a}, {back}"));
        let rest = self.op(format_args!("icmp ne {ty} {r}, {zero}"));
        let signs = self.op(format_args!("xor {ty} {r}, {safe}"));
        let opposite = self.op(format_args!("icmp slt {ty} {signs}, {zero}"));
        let down = self.op(format_args!("and {mask} {rest}, {opposite}"));
        let result = match integral {
            Integral::Div => {
                let less = self.op(format_args!("sub {ty} {q}, {unit}"));
                self.op(format_args!("select {mask} {down}, {ty} {less}, {ty} {q}"))
            }
            _ => {
                let more = self.op(format_args!("add {ty} {r}, {safe}"));
                self.op(format_args!("select {mask} {down}, {ty} {more}, {ty} {r}"))
            }
        };
        if sure {
            return result;
        }
        let none = self.op(format_args!("icmp eq {ty} {b}, {zero}"));
        let turn = self.op(format_args!("icmp eq {ty} {b}, {minus}"));
        let turned = match integral {
            Integral::Div => self.op(format_args!("sub {ty} {zero}, {a}")),
            _ => zero.clone(),
        };
        let result = self.op(format_args!("select {mask} {turn}, {ty} {turned}, {ty} {result}"));
        self.op(format_args!("select {mask} {none}, {ty} {zero}, {ty} {result}"))
    }

    /// Arithmetic that keeps a step from lane to lane.
    fn stepped(&mut self, integral: Integral, x: &Val, y: &Val, element: Element) -> Option<Val> {
        if element != Element::I64 {
            return None;
        }
        let parts = |v: &Val| match v {
            Val::One(x) => Some((x.clone(), 0)),
            Val::Affine(x, step) => Some((x.clone(), *step)),
            _ => None,
        };
        let ((a, s), (b, t)) = (parts(x)?, parts(y)?);
        if s == 0 && t == 0 {
            return None;
        }
        let one = Lanes::none();
        let step = match integral {
            Integral::Add => s.wrapping_add(t),
            Integral::Sub => s.wrapping_sub(t),
            Integral::Mul => match (x.known(), y.known()) {
                (Some(c), _) => c.wrapping_mul(t),
                (_, Some(c)) => s.wrapping_mul(c),
                _ => return None,
            },
            _ => return None,
        };
        match self.integral(integral, &Val::One(a), &Val::One(b), element, &one) {
            Val::One(base) if step == 0 => Some(Val::One(base)),
            Val::One(base) => Some(Val::Affine(base, step)),
            _ => None,
        }
    }

    /// An operation of the table.
    fn elementary(
        &mut self,
        code: Opcode,
        parameter: i32,
        x: &[String],
        element: Element,
        w: usize,
    ) -> String {
        let ty = llvm_type(element, w);
        let mask = llvm_type(Element::Bool, w);
        let constant = |c: f64| splat(&number(c, element), scalar_type(element), w);
        let (zero, unit) = (constant(0.0), constant(1.0));
        let flags = if self.contracts { "contract " } else { "" };
        let a = &x[0];
        let b = x.get(1).cloned().unwrap_or_default();
        let intrinsic = |name: &str| format!("llvm.{name}.{}", suffix(element, w));
        match code {
            Opcode::Neg => self.op(format_args!("fneg {ty} {a}")),
            Opcode::Add => self.op(format_args!("fadd {flags}{ty} {a}, {b}")),
            Opcode::Sub => self.op(format_args!("fsub {flags}{ty} {a}, {b}")),
            Opcode::Mul => self.op(format_args!("fmul {flags}{ty} {a}, {b}")),
            Opcode::Div => self.op(format_args!("fdiv {ty} {a}, {b}")),
            Opcode::Rem => self.op(format_args!("frem {ty} {a}, {b}")),
            Opcode::Recip => self.op(format_args!("fdiv {ty} {unit}, {a}")),
            Opcode::Abs => self.call(&ty, &intrinsic("fabs"), &[(&ty, a)]),
            Opcode::Sqrt => self.call(&ty, &intrinsic("sqrt"), &[(&ty, a)]),
            Opcode::Floor => self.call(&ty, &intrinsic("floor"), &[(&ty, a)]),
            Opcode::Ceil => self.call(&ty, &intrinsic("ceil"), &[(&ty, a)]),
            Opcode::Trunc => self.call(&ty, &intrinsic("trunc"), &[(&ty, a)]),
            Opcode::Round => self.call(&ty, &intrinsic("round"), &[(&ty, a)]),
            Opcode::Fract => {
                let whole = self.call(&ty, &intrinsic("trunc"), &[(&ty, a)]);
                self.op(format_args!("fsub {ty} {a}, {whole}"))
            }
            Opcode::Signum => {
                let sign = self.call(&ty, &intrinsic("copysign"), &[(&ty, &unit), (&ty, a)]);
                let nan = self.op(format_args!("fcmp uno {ty} {a}, {zero}"));
                self.op(format_args!("select {mask} {nan}, {ty} {a}, {ty} {sign}"))
            }
            Opcode::Sgn => {
                let minus = constant(-1.0);
                let above = self.op(format_args!("fcmp ogt {ty} {a}, {zero}"));
                let below = self.op(format_args!("fcmp olt {ty} {a}, {zero}"));
                let low = self.op(format_args!("select {mask} {below}, {ty} {minus}, {ty} {a}"));
                self.op(format_args!("select {mask} {above}, {ty} {unit}, {ty} {low}"))
            }
            Opcode::Max | Opcode::Min => {
                let name = if code == Opcode::Max { "oge" } else { "ole" };
                let first = self.op(format_args!("fcmp {name} {ty} {a}, {b}"));
                let nan = self.op(format_args!("fcmp uno {ty} {b}, {zero}"));
                let first = self.op(format_args!("or {mask} {first}, {nan}"));
                self.op(format_args!("select {mask} {first}, {ty} {a}, {ty} {b}"))
            }
            Opcode::Copysign => self.call(&ty, &intrinsic("copysign"), &[(&ty, a), (&ty, &b)]),
            Opcode::StrongMul | Opcode::StrongDiv => {
                let result = match code {
                    Opcode::StrongMul => self.op(format_args!("fmul {flags}{ty} {a}, {b}")),
                    _ => self.op(format_args!("fdiv {ty} {a}, {b}")),
                };
                let mut none = self.op(format_args!("fcmp oeq {ty} {a}, {zero}"));
                if code == Opcode::StrongMul {
                    let right = self.op(format_args!("fcmp oeq {ty} {b}, {zero}"));
                    none = self.op(format_args!("or {mask} {none}, {right}"));
                }
                self.op(format_args!("select {mask} {none}, {ty} {zero}, {ty} {result}"))
            }
            Opcode::MulAdd => {
                self.call(&ty, &intrinsic("fma"), &[(&ty, a), (&ty, &b), (&ty, &x[2])])
            }
            Opcode::Clamp => {
                let (low, high) = (&x[1], &x[2]);
                let above = self.op(format_args!("fcmp ogt {ty} {a}, {high}"));
                let top = self.op(format_args!("select {mask} {above}, {ty} {high}, {ty} {a}"));
                let below = self.op(format_args!("fcmp olt {ty} {a}, {low}"));
                self.op(format_args!("select {mask} {below}, {ty} {low}, {ty} {top}"))
            }
            Opcode::ToDegrees => {
                let factor = match element {
                    Element::F32 => constant(f64::from(1.0f32.to_degrees())),
                    _ => constant(1.0f64.to_degrees()),
                };
                self.op(format_args!("fmul {ty} {a}, {factor}"))
            }
            Opcode::ToRadians => {
                let factor = match element {
                    Element::F32 => constant(f64::from(1.0f32.to_radians())),
                    _ => constant(1.0f64.to_radians()),
                };
                self.op(format_args!("fmul {ty} {a}, {factor}"))
            }
            Opcode::Powi if parameter.unsigned_abs() <= 16 => {
                self.integer_power(a, parameter, (&ty, &unit))
            }
            _ => self.outside_call(code, parameter, x, element, w),
        }
    }

    /// Repeated squaring, in the table's order of products.
    fn integer_power(&mut self, x: &str, n: i32, (ty, unit): (&str, &str)) -> String {
        match n {
            0 => return unit.to_string(),
            1 => return x.to_string(),
            -1 => return self.op(format_args!("fdiv {ty} {unit}, {x}")),
            _ => {}
        }
        let mut power: Option<String> = None;
        let mut square = x.to_string();
        let mut rest = n.unsigned_abs();
        loop {
            if rest & 1 == 1 {
                power = Some(match power {
                    None => square.clone(),
                    Some(power) => self.op(format_args!("fmul {ty} {power}, {square}")),
                });
            }
            rest >>= 1;
            if rest == 0 {
                break;
            }
            square = self.op(format_args!("fmul {ty} {square}, {square}"));
        }
        let power = power.unwrap_or_else(|| unit.to_string());
        if n < 0 { self.op(format_args!("fdiv {ty} {unit}, {power}")) } else { power }
    }

    /// An operation that the table computes: through memory, all lanes at once.
    fn outside_call(
        &mut self,
        code: Opcode,
        parameter: i32,
        x: &[String],
        element: Element,
        w: usize,
    ) -> String {
        let ty = llvm_type(element, w);
        if let Some(name) = math::name(code, parameter, element, w) {
            if !self.functions.contains_key(&name) {
                let found = math::define(&name, code, parameter, element, w, self.vector_bytes);
                self.functions.insert(name.clone(), found.text);
                self.declared.extend(found.declared);
            }
            self.calls += 1;
            let args: Vec<String> = x.iter().map(|x| format!("{ty} {x}")).collect();
            return self.op(format_args!("call {ty} @{name}({})", args.join(", ")));
        }
        let out = self.slot(&ty);
        let mut args: Vec<(&str, String)> = vec![
            ("i32", runtime::code_number(code).to_string()),
            ("i32", parameter.to_string()),
            ("i64", w.to_string()),
            ("ptr", out.clone()),
        ];
        for k in 0..3 {
            let place = match x.get(k) {
                Some(x) => {
                    let place = self.slot(&ty);
                    self.line(format_args!("store {ty} {x}, ptr {place}"));
                    place
                }
                None => "null".to_string(),
            };
            args.push(("ptr", place));
        }
        let args: Vec<(&str, &str)> = args.iter().map(|(ty, x)| (*ty, x.as_str())).collect();
        let name =
            if element == Element::F32 { "cotangent_table_f32" } else { "cotangent_table_f64" };
        self.call("void", name, &args);
        self.op(format_args!("load {ty}, ptr {out}"))
    }
}

fn float_predicate(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Less => "olt",
        Comparison::AtMost => "ole",
        Comparison::Greater => "ogt",
        Comparison::AtLeast => "oge",
        Comparison::Equal => "oeq",
        Comparison::Differ => "une",
    }
}

fn integer_predicate(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Less => "slt",
        Comparison::AtMost => "sle",
        Comparison::Greater => "sgt",
        Comparison::AtLeast => "sge",
        Comparison::Equal => "eq",
        Comparison::Differ => "ne",
    }
}
