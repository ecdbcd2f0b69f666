//! Functions written anew with a change.

use std::convert::Infallible;

use crate::build::Builder;
use crate::build_arrays::Copied;
use crate::function::{Function, Value};

impl Function {
    /// Writes the function into another one, with values in the place of its parameters; its results.
    ///
    /// `change` is asked at every value before it is copied, its operands have been: it says whether it has
    /// set the copy itself.
    ///
    /// # Errors
    /// Those of `change`.
    ///
    /// # Panics
    /// If there are fewer values than parameters.
    pub fn write_into<E>(
        &self,
        b: &mut Builder,
        args: &[Value],
        mut change: impl FnMut(&mut Builder, &mut Copied, Value) -> Result<bool, E>,
    ) -> Result<Vec<Value>, E> {
        let mut copies = Copied::new(self.len());
        for value in self.values() {
            if !change(b, &mut copies, value)? {
                copies.value(b, self, value, args);
            }
        }
        for guard in self.guards() {
            b.guard(copies.of(guard.condition), guard.expected);
        }
        Ok(self.results().iter().map(|v| copies.of(*v)).collect())
    }

    /// The function with a [change](Function::write_into), of the same parameters, with the same rule.
    ///
    /// # Errors
    /// Those of `change`.
    pub fn try_rebuilt<E>(
        &self,
        change: impl FnMut(&mut Builder, &mut Copied, Value) -> Result<bool, E>,
    ) -> Result<Function, E> {
        let mut b = Builder::new(self.name());
        let args = b.params_of(self.params());
        let results = self.write_into(&mut b, &args, change)?;
        Ok(b.finish(results).with_rule_of(self))
    }

    /// [`try_rebuilt`](Function::try_rebuilt) with a change that cannot fail.
    ///
    /// ```
    /// use cotangent_ir::{Op, parse};
    /// use cotangent_ops::Opcode;
    ///
    /// let f = parse("fn @f(%x: f64) -> f64 { %s = sin %x %r = mul %s, %x ret %r }").unwrap();
    /// let g = f.rebuilt(|b, copies, value| {
    ///     let sine = f.op(value) == Op::Elementary(Opcode::Sin, 0);
    ///     if sine {
    ///         let cosine = b.elementary(Opcode::Cos, 0, &copies.operands(&f, value));
    ///         copies.set(value, cosine);
    ///     }
    ///     sine
    /// });
    /// assert_eq!(g.run(&[0.0]).unwrap(), [0.0]);
    /// assert!(g.to_string().contains("cos %x"));
    /// ```
    #[must_use]
    pub fn rebuilt(
        &self,
        mut change: impl FnMut(&mut Builder, &mut Copied, Value) -> bool,
    ) -> Function {
        let change = |b: &mut Builder, copies: &mut Copied, value| -> Result<bool, Infallible> {
            Ok(change(b, copies, value))
        };
        let Ok(new) = self.try_rebuilt(change);
        new
    }

    /// The function with its values in another order, in which each one still stands behind its operands.
    ///
    /// ```
    /// use cotangent_ir::parse;
    ///
    /// let f = parse("fn @f(%x: f64) -> f64 { %s = sin %x %c = cos %x %t = tan %s %r = mul %t, %c ret %r }").unwrap();
    /// let mut order: Vec<_> = f.values().collect();
    /// order.swap(2, 3);
    /// let text = f.in_order(&order).to_string();
    /// assert!(text.find("tan") < text.find("cos"));
    /// ```
    ///
    /// # Panics
    /// If a value comes before one of its operands, or a result is missing.
    #[must_use]
    pub fn in_order(&self, order: &[Value]) -> Function {
        let mut b = Builder::new(self.name());
        let args = b.params_of(self.params());
        let mut copies = Copied::new(self.len());
        order.iter().for_each(|value| copies.value(&mut b, self, *value, &args));
        for guard in self.guards() {
            b.guard(copies.of(guard.condition), guard.expected);
        }
        b.finish(self.results().iter().map(|v| copies.of(*v)).collect()).with_rule_of(self)
    }
}

impl Copied {
    /// The copies of the operands of a value.
    ///
    /// # Panics
    /// If one has not been copied.
    pub fn operands(&self, f: &Function, value: Value) -> Vec<Value> {
        f.operands(value).map(|v| self.of(v)).collect()
    }
}
