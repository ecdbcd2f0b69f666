//! Elementary functions as text: those of `cotangent-math`, run on numbers that write down what is done with them.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

use cotangent_ir::Element;
use cotangent_ir::functions::{is_function, on_lanes};
use cotangent_math::{LaneBits, LaneMask, Lanes, Table};
use cotangent_ops::Opcode;

use super::llvm_type;
use super::value::{number, scalar_type, splat};

/// What is being written, on this thread.
struct Writer {
    code: String,
    /// The text of each value: its name, or a constant.
    texts: Vec<String>,
    next: usize,
    width: usize,
    /// Whether there are instructions of AVX-512 that look entries up in registers.
    permutes: bool,
    /// Tables that the function reads, and its name, which theirs begin with.
    tables: Vec<String>,
    name: String,
    declared: Vec<(String, String)>,
}

thread_local! {
    static WRITER: RefCell<Option<Writer>> = const { RefCell::new(None) };
}

fn with<T>(f: impl FnOnce(&mut Writer) -> T) -> T {
    WRITER.with_borrow_mut(|writer| {
        f(writer.get_or_insert_with(|| Writer {
            code: String::new(),
            texts: Vec::new(),
            next: 0,
            width: 1,
            permutes: false,
            tables: Vec::new(),
            name: String::new(),
            declared: Vec::new(),
        }))
    })
}

impl Writer {
    fn value(&mut self, text: String) -> u32 {
        self.texts.push(text);
        (self.texts.len() - 1) as u32
    }

    fn text(&self, value: u32) -> &str {
        &self.texts[value as usize]
    }

    fn op(&mut self, text: &str) -> u32 {
        self.next += 1;
        let name = format!("%m{}", self.next);
        let _ = writeln!(self.code, "  {name} = {text}");
        self.value(name)
    }

    fn call(&mut self, ret: &str, name: &str, args: &[(&str, u32)]) -> u32 {
        let types: Vec<&str> = args.iter().map(|(ty, _)| *ty).collect();
        let declaration = format!("declare {ret} @{name}({})", types.join(", "));
        self.declared.push((name.to_string(), declaration));
        let args: Vec<String> =
            args.iter().map(|(ty, x)| format!("{ty} {}", self.text(*x))).collect();
        self.op(&format!("call {ret} @{name}({})", args.join(", ")))
    }
}

impl Writer {
    /// The entries of a table that the lowest bits of `index` name.
    fn look_up(&mut self, entries: &[String], double: bool, index: u32) -> u32 {
        // Vectors are less than a register, one, or two: the doubles that singles are widened to.
        if self.permutes && self.width > 1 && self.width <= entries.len() {
            self.permute(entries, double, index)
        } else {
            self.load_each(entries, double, index)
        }
    }

    /// By an instruction that takes a table in two registers, once for each register of indices.
    fn permute(&mut self, entries: &[String], double: bool, index: u32) -> u32 {
        let lanes = entries.len() / 2;
        let (ty, indices) = (llvm_type(element(double), lanes), llvm_type(integer(double), lanes));
        let [low, high] = [0, lanes].map(|from| {
            let half: Vec<String> = entries[from..from + lanes]
                .iter()
                .map(|x| format!("{} {x}", scalar_type(element(double))))
                .collect();
            self.value(format!("<{}>", half.join(", ")))
        });
        let name = format!("llvm.x86.avx512.vpermi2var.p{}.512", if double { "d" } else { "s" });
        let mut all = None;
        for from in (0..self.width).step_by(lanes) {
            let part =
                self.shuffle(integer(double), self.width, (index, index), from..from + lanes);
            let found = self.call(&ty, &name, &[(&ty, low), (&indices, part), (&ty, high)]);
            all = Some(match all {
                None => found,
                Some(all) => self.shuffle(element(double), lanes, (all, found), 0..from + lanes),
            });
        }
        let all = all.unwrap_or(low);
        let wide = self.width.max(lanes);
        self.shuffle(element(double), wide, (all, all), 0..self.width)
    }

    /// Some lanes of two vectors beside each other, each `width` wide.
    fn shuffle(
        &mut self,
        element: Element,
        width: usize,
        (a, b): (u32, u32),
        lanes: std::ops::Range<usize>,
    ) -> u32 {
        if lanes == (0..width) {
            return a;
        }
        let ty = llvm_type(element, width);
        // Beyond the second one anything will do.
        let lane = |k: usize| if k < 2 * width { format!("i32 {k}") } else { "i32 poison".into() };
        let count = lanes.len();
        let mask = lanes.map(lane).collect::<Vec<String>>().join(", ");
        let (a, b) = (self.text(a), self.text(b));
        self.op(&format!("shufflevector {ty} {a}, {ty} {b}, <{count} x i32> <{mask}>"))
    }

    /// From memory, each lane by itself.
    fn load_each(&mut self, entries: &[String], double: bool, index: u32) -> u32 {
        let (one, place) = (scalar_type(element(double)), scalar_type(integer(double)));
        let (ty, indices) =
            (llvm_type(element(double), self.width), llvm_type(integer(double), self.width));
        let count = entries.len();
        let listed: Vec<String> = entries.iter().map(|x| format!("{one} {x}")).collect();
        let definition =
            format!("private unnamed_addr constant [{count} x {one}] [{}]", listed.join(", "));
        let known = self.tables.iter().position(|table| *table == definition);
        let number = known.unwrap_or(self.tables.len());
        if known.is_none() {
            self.tables.push(definition);
        }
        let name = format!("@{}.t{number}", self.name);
        let last = splat(&(count - 1).to_string(), place, self.width);
        let index = self.op(&format!("and {indices} {}, {last}", self.text(index)));
        let load = |w: &mut Self, at: u32| {
            let at = w.op(&format!(
                "getelementptr [{count} x {one}], ptr {name}, i64 0, {place} {}",
                w.text(at)
            ));
            w.op(&format!("load {one}, ptr {}", w.text(at)))
        };
        if self.width == 1 {
            return load(self, index);
        }
        let mut all = self.value("poison".to_string());
        for k in 0..self.width {
            let at = self.op(&format!("extractelement {indices} {}, i64 {k}", self.text(index)));
            let found = load(self, at);
            all = self.op(&format!(
                "insertelement {ty} {}, {one} {}, i64 {k}",
                self.text(all),
                self.text(found)
            ));
        }
        all
    }
}

/// Numbers: doubles or singles.
#[derive(Clone, Copy)]
struct Num<const DOUBLE: bool>(u32);

/// Integers of the same width.
#[derive(Clone, Copy)]
struct Int<const DOUBLE: bool>(u32);

/// Truth values.
#[derive(Clone, Copy)]
struct Truth(u32);

const fn element(double: bool) -> Element {
    if double { Element::F64 } else { Element::F32 }
}

const fn integer(double: bool) -> Element {
    if double { Element::I64 } else { Element::I32 }
}

fn binary(ty: Element, name: &str, x: u32, y: u32) -> u32 {
    with(|w| {
        let ty = llvm_type(ty, w.width);
        let text = format!("{name} {ty} {}, {}", w.text(x), w.text(y));
        w.op(&text)
    })
}

fn choose(ty: Element, mask: u32, yes: u32, no: u32) -> u32 {
    with(|w| {
        let (masks, ty) = (llvm_type(Element::Bool, w.width), llvm_type(ty, w.width));
        let text =
            format!("select {masks} {}, {ty} {}, {ty} {}", w.text(mask), w.text(yes), w.text(no));
        w.op(&text)
    })
}

fn convert(name: &str, x: u32, from: Element, to: Element) -> u32 {
    with(|w| {
        let (from, to) = (llvm_type(from, w.width), llvm_type(to, w.width));
        let text = format!("{name} {from} {} to {to}", w.text(x));
        w.op(&text)
    })
}

fn intrinsic(name: &str, double: bool, args: &[u32]) -> u32 {
    with(|w| {
        let ty = llvm_type(element(double), w.width);
        let bits = if double { "f64" } else { "f32" };
        let suffix = if w.width == 1 { bits.to_string() } else { format!("v{}{bits}", w.width) };
        let args: Vec<(&str, u32)> = args.iter().map(|x| (ty.as_str(), *x)).collect();
        w.call(&ty, &format!("llvm.{name}.{suffix}"), &args)
    })
}

macro_rules! arithmetic {
    ($($trait:ident $method:ident $name:literal),*) => {
        $(impl<const DOUBLE: bool> $trait for Num<DOUBLE> {
            type Output = Self;
            fn $method(self, o: Self) -> Self {
                Num(binary(element(DOUBLE), $name, self.0, o.0))
            }
        })*
    };
}

arithmetic!(Add add "fadd", Sub sub "fsub", Mul mul "fmul", Div div "fdiv");

impl<const DOUBLE: bool> Neg for Num<DOUBLE> {
    type Output = Self;
    fn neg(self) -> Self {
        Num(with(|w| {
            let ty = llvm_type(element(DOUBLE), w.width);
            let text = format!("fneg {ty} {}", w.text(self.0));
            w.op(&text)
        }))
    }
}

macro_rules! logic {
    ($($trait:ident $method:ident $name:literal),*) => {
        $(impl $trait for Truth {
            type Output = Self;
            fn $method(self, o: Self) -> Self {
                Truth(binary(Element::Bool, $name, self.0, o.0))
            }
        })*
    };
}

logic!(BitAnd bitand "and", BitOr bitor "or", BitXor bitxor "xor");

impl Not for Truth {
    type Output = Self;
    fn not(self) -> Self {
        let all = with(|w| {
            let text = splat("true", "i1", w.width);
            w.value(text)
        });
        Truth(binary(Element::Bool, "xor", self.0, all))
    }
}

impl LaneMask for Truth {}

impl<const DOUBLE: bool> LaneBits for Int<DOUBLE> {
    type Mask = Truth;

    fn splat(c: i64) -> Self {
        Int(with(|w| {
            let c = if DOUBLE { c } else { i64::from(c as i32) };
            let text = splat(&c.to_string(), scalar_type(integer(DOUBLE)), w.width);
            w.value(text)
        }))
    }
    fn add(self, o: Self) -> Self {
        Int(binary(integer(DOUBLE), "add", self.0, o.0))
    }
    fn sub(self, o: Self) -> Self {
        Int(binary(integer(DOUBLE), "sub", self.0, o.0))
    }
    fn and(self, o: Self) -> Self {
        Int(binary(integer(DOUBLE), "and", self.0, o.0))
    }
    fn or(self, o: Self) -> Self {
        Int(binary(integer(DOUBLE), "or", self.0, o.0))
    }
    fn xor(self, o: Self) -> Self {
        Int(binary(integer(DOUBLE), "xor", self.0, o.0))
    }
    fn shl(self, by: u32) -> Self {
        Int(binary(integer(DOUBLE), "shl", self.0, <Self as LaneBits>::splat(i64::from(by)).0))
    }
    fn shr(self, by: u32) -> Self {
        Int(binary(integer(DOUBLE), "lshr", self.0, <Self as LaneBits>::splat(i64::from(by)).0))
    }
    fn sar(self, by: u32) -> Self {
        Int(binary(integer(DOUBLE), "ashr", self.0, <Self as LaneBits>::splat(i64::from(by)).0))
    }
    fn eq(self, o: Self) -> Truth {
        Truth(binary(integer(DOUBLE), "icmp eq", self.0, o.0))
    }
    fn lt(self, o: Self) -> Truth {
        Truth(binary(integer(DOUBLE), "icmp slt", self.0, o.0))
    }
    fn select(mask: Truth, yes: Self, no: Self) -> Self {
        Int(choose(integer(DOUBLE), mask.0, yes.0, no.0))
    }
}

macro_rules! lanes {
    ($double:literal, $widen:expr, $narrow:expr) => {
        impl Lanes for Num<$double> {
            type Bits = Int<$double>;
            type Mask = Truth;
            type Wide = Num<true>;
            const DOUBLE: bool = $double;

            fn splat(c: f64) -> Self {
                Num(with(|w| {
                    let element = element($double);
                    let text = splat(&number(c, element), scalar_type(element), w.width);
                    w.value(text)
                }))
            }
            fn abs(self) -> Self {
                Num(intrinsic("fabs", $double, &[self.0]))
            }
            fn sqrt(self) -> Self {
                Num(intrinsic("sqrt", $double, &[self.0]))
            }
            fn fma(self, b: Self, c: Self) -> Self {
                Num(intrinsic("fma", $double, &[self.0, b.0, c.0]))
            }
            fn round_even(self) -> Self {
                Num(intrinsic("roundeven", $double, &[self.0]))
            }
            fn copysign(self, sign: Self) -> Self {
                Num(intrinsic("copysign", $double, &[self.0, sign.0]))
            }
            fn lt(self, o: Self) -> Truth {
                Truth(binary(element($double), "fcmp olt", self.0, o.0))
            }
            fn le(self, o: Self) -> Truth {
                Truth(binary(element($double), "fcmp ole", self.0, o.0))
            }
            fn gt(self, o: Self) -> Truth {
                Truth(binary(element($double), "fcmp ogt", self.0, o.0))
            }
            fn ge(self, o: Self) -> Truth {
                Truth(binary(element($double), "fcmp oge", self.0, o.0))
            }
            fn eq(self, o: Self) -> Truth {
                Truth(binary(element($double), "fcmp oeq", self.0, o.0))
            }
            fn ne(self, o: Self) -> Truth {
                Truth(binary(element($double), "fcmp une", self.0, o.0))
            }
            fn select(mask: Truth, yes: Self, no: Self) -> Self {
                Num(choose(element($double), mask.0, yes.0, no.0))
            }
            fn to_bits(self) -> Int<$double> {
                Int(convert("bitcast", self.0, element($double), integer($double)))
            }
            fn from_bits(bits: Int<$double>) -> Self {
                Num(convert("bitcast", bits.0, integer($double), element($double)))
            }
            fn look_up(table: &'static Table, index: Int<$double>) -> Self {
                let entries: Vec<String> = if $double {
                    table.doubles.iter().map(|&x| number(x, Element::F64)).collect()
                } else {
                    table.singles.iter().map(|&x| number(f64::from(x), Element::F32)).collect()
                };
                Num(with(|w| w.look_up(&entries, $double, index.0)))
            }
            fn widen(self) -> Num<true> {
                $widen(self)
            }
            fn narrow(wide: Num<true>) -> Self {
                $narrow(wide)
            }
            fn rarely<const K: usize>(
                mask: Truth,
                values: [Self; K],
                slow: impl FnOnce() -> [Self; K],
            ) -> [Self; K] {
                let (before, inside, after) = with(|w| {
                    w.next += 1;
                    let n = w.next;
                    let (masks, width) = (llvm_type(Element::Bool, w.width), w.width);
                    let any = match width {
                        1 => mask.0,
                        _ => w.call("i1", &format!("llvm.vector.reduce.or.v{width}i1"), &[(&masks, mask.0)]),
                    };
                    let labels = (format!("rb{n}"), format!("ri{n}"), format!("ra{n}"));
                    let any = w.text(any).to_string();
                    let _ = writeln!(w.code, "  br label %{0}\n{0}:\n  br i1 {any}, label %{1}, label %{2}, !prof !0\n{1}:", labels.0, labels.1, labels.2);
                    labels
                });
                let found = slow();
                let chosen: Vec<u32> =
                    (0..K).map(|k| choose(element($double), mask.0, found[k].0, values[k].0)).collect();
                with(|w| {
                    let end = format!("{inside}e");
                    let _ = writeln!(w.code, "  br label %{end}\n{end}:\n  br label %{after}\n{after}:");
                    let ty = llvm_type(element($double), w.width);
                    std::array::from_fn(|k| {
                        let text = format!(
                            "phi {ty} [ {}, %{before} ], [ {}, %{end} ]",
                            w.text(values[k].0), w.text(chosen[k])
                        );
                        Num(w.op(&text))
                    })
                })
            }
        }
    };
}

lanes!(true, |x: Num<true>| x, |x: Num<true>| x);
lanes!(false, |x: Num<false>| Num(convert("fpext", x.0, Element::F32, Element::F64)), |x: Num<
    true,
>| Num(
    convert("fptrunc", x.0, Element::F64, Element::F32)
));

/// A function in text, and what it calls.
pub(super) struct Definition {
    pub(super) text: String,
    pub(super) declared: Vec<(String, String)>,
}

/// The name of an operation as a function, if it is one that has text.
pub(super) fn name(code: Opcode, parameter: i32, element: Element, width: usize) -> Option<String> {
    is_function(code, parameter).then(|| {
        let power = if code == Opcode::Powi { format!("{parameter}.") } else { String::new() };
        format!("ct.{}.{power}{width}x{}", code.info().name, element.name())
    })
}

/// Writes a function, for a processor with vectors of so many bytes.
pub(super) fn define(
    name: &str,
    code: Opcode,
    parameter: i32,
    element: Element,
    width: usize,
    vector_bytes: usize,
) -> Definition {
    WRITER.with_borrow_mut(|writer| *writer = None);
    let arity = code.info().arity;
    let (x, y) = with(|w| {
        w.width = width;
        w.name = name.to_string();
        w.permutes = vector_bytes == 64;
        (w.value("%x".to_string()), w.value("%y".to_string()))
    });
    let result = match element {
        Element::F32 => on_lanes(code, parameter, Num::<false>(x), Num(y)).map(|y| y.0),
        _ => on_lanes(code, parameter, Num::<true>(x), Num(y)).map(|y| y.0),
    };
    let writer = WRITER.with_borrow_mut(Option::take);
    let (Some(writer), Some(result)) = (writer, result) else {
        return Definition { text: String::new(), declared: Vec::new() };
    };
    let ty = llvm_type(element, width);
    let params = if arity == 2 { format!("{ty} %x, {ty} %y") } else { format!("{ty} %x") };
    let mut text = String::new();
    for (k, table) in writer.tables.iter().enumerate() {
        let _ = writeln!(text, "@{name}.t{k} = {table}");
    }
    let _ = writeln!(
        text,
        "define internal {ty} @{name}({params}) #1 {{\n{}  ret {ty} {}\n}}",
        writer.code,
        writer.text(result)
    );
    Definition { text, declared: writer.declared }
}
