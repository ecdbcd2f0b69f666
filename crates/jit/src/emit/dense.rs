//! Calls of kernels for products, factorisations and solves, on arrays in memory.

use cotangent_ir::{Dim, Element, Function, Type, Value};

use super::value::{Array, Val};
use super::{Emitter, Frame, Lanes, Result, internal};
use crate::dense::{Call, Product, cholesky_scratch, known_call, lu_scratch, product_call};

impl Emitter<'_> {
    /// Whether lanes and options leave it to kernels to do what they are made for.
    fn calls_kernels(&self, cx: &Lanes) -> bool {
        self.options.kernels && cx.width == 1
    }

    /// The arrays that some operands are; none if one is anything else, or differs from lane to lane.
    fn uniform(frame: &Frame<'_>, operands: &[Value]) -> Result<Option<Vec<Array>>> {
        let mut arrays = Vec::with_capacity(operands.len());
        for operand in operands {
            match frame.get(*operand)? {
                Val::Array(array) if !array.varies && array.rows.is_none() => {
                    arrays.push(array.clone());
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(arrays))
    }

    /// A table that is a product, by a call; none if it is none, or loops are better.
    pub(super) fn product(
        &mut self,
        frame: &Frame<'_>,
        value: Value,
        (dims, body): (&[Dim], &Function),
        operands: &[Value],
        cx: &Lanes,
    ) -> Result<Option<Vec<Val>>> {
        if !self.calls_kernels(cx) {
            return Ok(None);
        }
        let Some(Product { operands: [x, y], shape }) = product_call(dims, body) else {
            return Ok(None);
        };
        let Some(arrays) = Self::uniform(frame, &[operands[x], operands[y]])? else {
            return Ok(None);
        };
        let ty = body.ty(body.results()[0]).within(dims);
        let out = self.room(frame, value, 0, ty, cx)?;
        self.kernels = true;
        // Within a table threads have its points.
        let shape = match self.options.parallel {
            Some(least) if self.nested == 0 => shape.shared(least),
            _ => shape,
        };
        let words = shape.words().iter().flat_map(|word| (*word as u64).to_le_bytes()).collect();
        let shape = self.global(words);
        let (x, y) = (self.pointer(&arrays[0]), self.pointer(&arrays[1]));
        let z = self.pointer(&out);
        let args = [("ptr", shape.as_str()), ("ptr", &x), ("ptr", &y), ("ptr", &z)];
        self.call("void", &named("product", ty), &args);
        Ok(Some(vec![Val::Array(out)]))
    }

    /// A factorisation or a solve of the library, by a call; none if it is neither, or loops are better.
    pub(super) fn library_call(
        &mut self,
        frame: &Frame<'_>,
        value: Value,
        function: &Function,
        operands: &[Value],
        cx: &Lanes,
    ) -> Result<Option<Vec<Val>>> {
        if !self.calls_kernels(cx) {
            return Ok(None);
        }
        let Some((call, n)) = known_call(function) else { return Ok(None) };
        let Some(arrays) = Self::uniform(frame, operands)? else { return Ok(None) };
        let types: Vec<Type> = function.results().iter().map(|v| function.ty(*v)).collect();
        let mut outs = Vec::with_capacity(types.len());
        for (k, ty) in types.iter().enumerate() {
            outs.push(self.room(frame, value, k, *ty, cx)?);
        }
        self.kernels = true;
        let single = types[0].element() == Element::F32;
        let scratch = match (call, single) {
            (Call::Cholesky, false) => cholesky_scratch::<f64>(n),
            (Call::Cholesky, true) => cholesky_scratch::<f32>(n),
            (Call::Lu, false) => lu_scratch::<f64>(n),
            (Call::Lu, true) => lu_scratch::<f32>(n),
            (Call::Triangular(..), _) => 0,
        };
        let places: Vec<String> =
            arrays.iter().chain(&outs).map(|array| self.pointer(array)).collect();
        let mut args: Vec<(&str, String)> = Vec::new();
        let name = match call {
            Call::Cholesky => "cholesky",
            Call::Lu => "lu",
            Call::Triangular(triangle, _) => {
                args.push(("i64", triangle.code().to_string()));
                "triangular"
            }
        };
        args.push(("i64", n.to_string()));
        if let Call::Triangular(_, m) = call {
            args.push(("i64", m.to_string()));
        }
        args.extend(places.into_iter().map(|place| ("ptr", place)));
        let mut room = None;
        if scratch > 0 {
            let memory = self.allocate(Type::I64, scratch.div_ceil(8), false, 1);
            args.push(("ptr", self.pointer(&memory)));
            room = Some(memory);
        }
        let args: Vec<(&str, &str)> = args.iter().map(|(ty, x)| (*ty, x.as_str())).collect();
        self.call("void", &named(name, types[0]), &args);
        if let Some(memory) = room {
            self.release(Val::Array(memory));
        }
        Ok(Some(outs.into_iter().map(Val::Array).collect()))
    }

    /// Room for a part of a structure.
    fn room(
        &mut self,
        frame: &Frame<'_>,
        value: Value,
        part: usize,
        ty: Type,
        cx: &Lanes,
    ) -> Result<Array> {
        if ty.is_scalar() {
            return Err(internal("a kernel that gives a number"));
        }
        let len = self.known(ty)?;
        Ok(match frame.parts_of(value, part + 1)[part] {
            Some(used) => self.allocate_for(frame, used, (ty, len), cx, false),
            None => self.allocate(ty, len, false, 1),
        })
    }
}

/// The name of a kernel for an element.
fn named(kernel: &str, ty: Type) -> String {
    match ty.element() {
        Element::F32 => format!("cotangent_{kernel}_f32"),
        _ => format!("cotangent_{kernel}_f64"),
    }
}
