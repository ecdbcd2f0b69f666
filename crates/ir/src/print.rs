//! The text of a function: one operation a line, values numbered densely, constants where they are used.

use std::fmt;

use crate::function::{Function, Op, Type, Value, takes_parameter};

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fn @{}(", self.name())?;
        for (k, param) in self.params().iter().enumerate() {
            let comma = if k > 0 { ", " } else { "" };
            let linear = if param.linear { "lin " } else { "" };
            write!(f, "{comma}%{}: {linear}{}", param.name, param.ty)?;
        }
        f.write_str(") -> ")?;
        match self.results() {
            [one] => write!(f, "{}", self.ty(*one))?,
            many => {
                f.write_str("(")?;
                for (k, value) in many.iter().enumerate() {
                    write!(f, "{}{}", if k > 0 { ", " } else { "" }, self.ty(*value))?;
                }
                f.write_str(")")?;
            }
        }
        f.write_str(" {\n")?;
        let mut names = vec![u32::MAX; self.len()];
        // Parameters may be named by numbers, too.
        let taken: Vec<u32> = self.params().iter().filter_map(|p| p.name.parse().ok()).collect();
        let mut free = (0..u32::MAX).filter(|name| !taken.contains(name));
        for value in self.values().filter(|v| self.op(*v).arity() > 0) {
            let name = free.next().unwrap_or(u32::MAX);
            names[value.index()] = name;
            write!(f, "  %{name} = {}", self.op(value).name())?;
            if let Op::Elementary(code, parameter) = self.op(value)
                && takes_parameter(code)
            {
                write!(f, "{{{parameter}}}")?;
            }
            self.write_list(f, self.operands(value), &names)?;
            f.write_str("\n")?;
        }
        for guard in self.guards() {
            f.write_str("  guard ")?;
            self.write_value(f, guard.condition, &names)?;
            writeln!(f, ", {}", guard.expected)?;
        }
        f.write_str("  ret")?;
        self.write_list(f, self.results().iter().copied(), &names)?;
        f.write_str("\n}\n")
    }
}

impl Function {
    fn write_list(
        &self,
        f: &mut fmt::Formatter<'_>,
        values: impl Iterator<Item = Value>,
        names: &[u32],
    ) -> fmt::Result {
        for (k, value) in values.enumerate() {
            f.write_str(if k > 0 { ", " } else { " " })?;
            self.write_value(f, value, names)?;
        }
        Ok(())
    }

    fn write_value(&self, f: &mut fmt::Formatter<'_>, value: Value, names: &[u32]) -> fmt::Result {
        match self.op(value) {
            Op::Param(k) => write!(f, "%{}", self.params()[k as usize].name),
            Op::Truth(truth) => write!(f, "{truth}"),
            Op::Constant(bits) => write_number(f, "", f64::from_bits(bits), self.ty(value)),
            Op::Rounded(bits) => write_number(f, "~", f64::from_bits(bits), self.ty(value)),
            _ => write!(f, "%{}", names[value.index()]),
        }
    }
}

/// The shortest decimal that reads back to the same bits; a NaN by its bits.
fn write_number(f: &mut fmt::Formatter<'_>, mark: &str, c: f64, ty: Type) -> fmt::Result {
    f.write_str(mark)?;
    let suffix = if ty == Type::F32 { "f32" } else { "" };
    if c.is_nan() {
        write!(f, "nan[{:x}]{suffix}", c.to_bits())
    } else if c.is_infinite() {
        write!(f, "{}inf{suffix}", if c < 0.0 { "-" } else { "" })
    } else if ty == Type::F32 {
        write!(f, "{:?}{suffix}", c as f32)
    } else {
        write!(f, "{c:?}")
    }
}
