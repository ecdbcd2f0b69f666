//! Arrays in memory: elements read and written, one after the other or side by side.

use cotangent_ir::ranges::range;
use cotangent_ir::{Dim, Element, Entries, Integral, Type, Value};

use super::stream::STREAMED;
use super::value::{Array, Base, Target, Val, splat, stored_type, suffix};
use super::{Emitter, Failure, Frame, Lanes, Result, internal, llvm_type};

impl Emitter<'_> {
    /// The pointer to an array.
    pub(super) fn pointer(&mut self, array: &Array) -> String {
        match &array.base {
            Base::Arena(0) => "%arena".to_string(),
            Base::Arena(at) => self.op(format_args!("getelementptr i8, ptr %arena, i64 {at}")),
            Base::Private(at) => self.op(format_args!("getelementptr i8, ptr %private, i64 {at}")),
            Base::Arg(k, at) if *at > 0 => {
                let whole = Array { base: Base::Arg(*k, 0), ..array.clone() };
                let pointer = self.pointer(&whole);
                self.op(format_args!("getelementptr i8, ptr {pointer}, i64 {at}"))
            }
            Base::Arg(k, _) => {
                if let Some(pointer) = self.text.pointers.get(k) {
                    return pointer.clone();
                }
                use std::fmt::Write as _;
                let (place, name) = (self.fresh("%q"), self.fresh("%p"));
                let entry = &mut self.text.entry;
                let _ = writeln!(entry, "  {place} = getelementptr ptr, ptr %args, i64 {k}");
                let _ = writeln!(entry, "  {name} = load ptr, ptr {place}");
                self.text.pointers.insert(*k, name.clone());
                name
            }
            Base::Global(name) | Base::Pointer(name) => name.clone(),
        }
    }

    /// The address of an element that is the same for all lanes.
    pub(super) fn address(&mut self, array: &Array, index: &str, width: usize) -> String {
        let pointer = self.pointer(array);
        let element = stored_type(array.element(), if array.varies { width } else { 1 });
        if index == "0" {
            return pointer;
        }
        self.op(format_args!("getelementptr {element}, ptr {pointer}, i64 {index}"))
    }

    /// The addresses of an element of each lane.
    fn addresses(&mut self, array: &Array, index: &Val, cx: &Lanes) -> String {
        let pointer = self.pointer(array);
        let index = match array.varies {
            false => index.clone(),
            true => {
                let wide = Val::int(cx.width as i64);
                let row = self.integral(Integral::Mul, index, &wide, Element::I64, cx);
                let lane = Val::Affine("0".to_string(), 1);
                self.integral(Integral::Add, &row, &lane, Element::I64, cx)
            }
        };
        let places = self.many(&index, Element::I64, cx);
        let (element, w) = (stored_type(array.element(), 1), cx.width);
        self.op(format_args!("getelementptr {element}, ptr {pointer}, <{w} x i64> {places}"))
    }

    fn mask_of(cx: &Lanes) -> String {
        cx.mask.clone().unwrap_or_else(|| splat("true", "i1", cx.width))
    }

    /// Truth values are bytes in memory.
    pub(super) fn loaded(&mut self, text: String, element: Element, width: usize) -> String {
        match element {
            Element::Bool => {
                let ty = stored_type(element, width);
                let zero = splat("0", "i8", width);
                self.op(format_args!("icmp ne {ty} {text}, {zero}"))
            }
            _ => text,
        }
    }

    fn stored(&mut self, text: String, element: Element, width: usize) -> String {
        match element {
            Element::Bool => {
                let (from, to) = (llvm_type(element, width), stored_type(element, width));
                self.op(format_args!("zext {from} {text} to {to}"))
            }
            _ => text,
        }
    }

    /// Elements side by side in the lanes that a mask names; the others are nothing.
    pub(super) fn load_masked(
        &mut self,
        place: &str,
        element: Element,
        w: usize,
        mask: &str,
    ) -> String {
        let (ty, masks) = (stored_type(element, w), llvm_type(Element::Bool, w));
        let name = format!("llvm.masked.load.{}.p0", suffix(element, w));
        let bytes = element.bytes().to_string();
        let rest = (&*ty, "zeroinitializer");
        self.call(&ty, &name, &[("ptr", place), ("i32", &bytes), (&masks, mask), rest])
    }

    /// Writes some lanes of a vector, as it stands in memory.
    pub(super) fn store_masked(
        &mut self,
        x: &str,
        place: &str,
        (element, w): (Element, usize),
        align: usize,
        mask: &str,
    ) {
        let (ty, masks) = (stored_type(element, w), llvm_type(Element::Bool, w));
        let name = format!("llvm.masked.store.{}.p0", suffix(element, w));
        let bytes = align.to_string();
        self.call("void", &name, &[(&ty, x), ("ptr", place), ("i32", &bytes), (&masks, mask)]);
    }

    /// An element; the index counts elements, and is in the array.
    pub(super) fn load(&mut self, array: &Array, index: &Val, cx: &Lanes) -> Val {
        let (element, w) = (array.element(), cx.width);
        let align = element.bytes();
        match (index, array.varies) {
            (Val::One(i), varies) => {
                let width = if varies { w } else { 1 };
                let place = self.address(array, i, w);
                let ty = stored_type(element, width);
                let align = if varies { align * w } else { align };
                let x = self.op(format_args!("load {ty}, ptr {place}, align {align}"));
                let x = self.loaded(x, element, width);
                if varies { Val::Many(x) } else { Val::One(x) }
            }
            (Val::Affine(i, 1), false) => {
                let place = self.address(array, i, w);
                let ty = stored_type(element, w);
                let x = match &cx.mask {
                    None => self.op(format_args!("load {ty}, ptr {place}, align {align}")),
                    Some(mask) => self.load_masked(&place, element, w, mask),
                };
                Val::Many(self.loaded(x, element, w))
            }
            _ => {
                if !array.varies
                    && let Some(known) = self.load_known(array, index, cx)
                {
                    return known;
                }
                let places = self.addresses(array, index, cx);
                let ty = stored_type(element, w);
                let name = format!("llvm.masked.gather.{}.v{w}p0", suffix(element, w));
                let (pointers, masks) = (format!("<{w} x ptr>"), llvm_type(Element::Bool, w));
                let (mask, bytes) = (Self::mask_of(cx), align.to_string());
                let x = self.call(
                    &ty,
                    &name,
                    &[
                        (&pointers, &places),
                        ("i32", &bytes),
                        (&masks, &mask),
                        (&ty, "zeroinitializer"),
                    ],
                );
                Val::Many(self.loaded(x, element, w))
            }
        }
    }

    /// Writes an element, in the lanes that count. Lanes that write to the same place of an array that they share are
    /// the caller's affair.
    pub(super) fn store(&mut self, array: &Array, index: &Val, val: &Val, cx: &Lanes) {
        let (element, w) = (array.element(), cx.width);
        let align = element.bytes();
        if let (Val::One(i), Val::One(x), false) = (index, val, array.varies) {
            let place = self.address(array, i, w);
            let ty = stored_type(element, 1);
            if array.watched {
                self.watch(x, element, &Lanes { width: 1, mask: None });
            }
            let x = self.stored(x.clone(), element, 1);
            self.line(format_args!("store {ty} {x}, ptr {place}, align {align}"));
            return;
        }
        let x = self.many(val, element, cx);
        if array.watched {
            self.watch(&x, element, cx);
        }
        let x = self.stored(x, element, w);
        let (ty, masks) = (stored_type(element, w), llvm_type(Element::Bool, w));
        let side_by_side = match index {
            Val::One(i) if array.varies => Some((i.clone(), align * w)),
            Val::Affine(i, 1) if !array.varies => Some((i.clone(), align)),
            _ => None,
        };
        if let Some((i, align)) = side_by_side {
            let place = self.address(array, &i, w);
            match cx.mask.clone() {
                None if self.streaming.as_ref() == Some(&array.base) => {
                    let align = align * w;
                    self.line(format_args!("store {ty} {x}, ptr {place}, align {align}{STREAMED}"));
                }
                None => self.line(format_args!("store {ty} {x}, ptr {place}, align {align}")),
                Some(mask) => self.store_masked(&x, &place, (element, w), align, &mask),
            }
            return;
        }
        let places = self.addresses(array, index, cx);
        let name = format!("llvm.masked.scatter.{}.v{w}p0", suffix(element, w));
        let pointers = format!("<{w} x ptr>");
        let (mask, bytes) = (Self::mask_of(cx), align.to_string());
        self.call(
            "void",
            &name,
            &[(&ty, &x), (&pointers, &places), ("i32", &bytes), (&masks, &mask)],
        );
    }

    /// The place that indices lead to, in elements of the array; what may be outside is checked.
    pub(super) fn place(
        &mut self,
        frame: &Frame<'_>,
        (ty, rows): (Type, Option<&String>),
        indices: &[Value],
        cx: &Lanes,
    ) -> Result<Val> {
        let dims = ty.dims();
        let mut strides = vec![1usize; dims.len()];
        for k in (0..dims.len().saturating_sub(1)).rev() {
            strides[k] = strides[k + 1] * self.size(dims[k + 1], ty)?;
        }
        let mut place = Val::int(0);
        for (k, index) in indices.iter().enumerate() {
            let size = match (k, rows) {
                (0, Some(rows)) => rows.clone(),
                _ => self.size(dims[k], ty)?.to_string(),
            };
            let limit = size.parse::<i64>().unwrap_or(0);
            let mut val = frame.get(*index)?.clone();
            let element = frame.f.ty(*index).element();
            if element != Element::I64 {
                val =
                    self.pointwise(cotangent_ir::Op::Cast, &[val], &[element], Element::I64, cx)?;
            }
            let sure = match (val.known(), range(frame.f, *index, &frame.ranges)) {
                (Some(c), _) => (0..limit).contains(&c),
                (None, Some((least, most))) => least >= 0 && most < limit,
                _ => self.is_counted(frame, *index, &size),
            };
            if !sure {
                let inside = match &val {
                    Val::One(i) => Val::One(self.op(format_args!("icmp ult i64 {i}, {size}"))),
                    many => {
                        let x = self.many(many, Element::I64, cx);
                        let all = self.many(&Val::One(size), Element::I64, cx);
                        Val::Many(self.op(format_args!("icmp ult <{} x i64> {x}, {all}", cx.width)))
                    }
                };
                let function = frame.f.name().to_string();
                self.require(&inside, true, Failure::Index { function, dimension: k, ty }, cx);
            }
            let step = Val::int(strides[k] as i64);
            let far = self.integral(Integral::Mul, &val, &step, Element::I64, cx);
            place = self.integral(Integral::Add, &place, &far, Element::I64, cx);
        }
        Ok(place)
    }

    fn size(&self, dim: Dim, ty: Type) -> Result<usize> {
        match dim {
            Dim::Size(n) => Ok(n),
            _ => Err(crate::JitError::Unsupported(format!(
                "an array of type {ty}, whose size is not known before it runs"
            ))),
        }
    }

    /// Elements of an array from a place on: an array of its own kind.
    pub(super) fn part_of(
        &mut self,
        array: &Array,
        place: &Val,
        (ty, len): (Type, usize),
        cx: &Lanes,
    ) -> Result<Val> {
        if let Val::One(i) = place {
            // A view.
            let view = Array { ty, len, rows: None, roomy: false, ..array.clone() };
            let lanes = if array.varies { cx.width } else { 1 };
            let base = match (&array.base, place.known()) {
                (Base::Arena(at), Some(i)) => {
                    Base::Arena(at + i as usize * lanes * array.element().bytes())
                }
                (Base::Private(at), Some(i)) => {
                    Base::Private(at + i as usize * lanes * array.element().bytes())
                }
                _ => Base::Pointer(self.address(array, i, cx.width)),
            };
            let val = Val::Array(Array { base, ..view });
            self.retain(&val);
            return Ok(val);
        }
        let to = self.allocate(ty, len, true, cx.width);
        self.each(len, |e, k| {
            let from = e.integral(Integral::Add, place, k, Element::I64, cx);
            let x = e.load(array, &from, cx);
            e.store(&to, k, &x, cx);
            Ok(())
        })?;
        Ok(Val::Array(to))
    }

    /// How many lanes a loop over elements has.
    pub(super) fn width(&self, element: Element) -> usize {
        match element {
            Element::Bool => self.vector_bytes / 8,
            _ => self.vector_bytes / element.bytes(),
        }
    }

    /// Copies an array to another of the same kind, or to one that varies.
    pub(super) fn copy(&mut self, from: &Array, to: &Array, cx: &Lanes) {
        let (a, b) = (self.pointer(from), self.pointer(to));
        if a == b || from.len == 0 {
            return;
        }
        if !from.varies && !to.varies && cx.mask.is_none() && self.copy_whole(from, to) {
            return;
        }
        if from.varies == to.varies && cx.mask.is_none() {
            let lanes = if from.varies { cx.width } else { 1 };
            let bytes = (from.len * lanes * from.element().bytes()).to_string();
            self.call(
                "void",
                "llvm.memcpy.p0.p0.i64",
                &[("ptr", &b), ("ptr", &a), ("i64", &bytes), ("i1", "false")],
            );
            return;
        }
        // Nothing in the loop can fail.
        let _ = self.each(from.len, |e, k| {
            let x = e.load(from, k, cx);
            e.store(to, k, &x, cx);
            Ok(())
        });
    }

    /// An array of one value everywhere.
    pub(super) fn fill(&mut self, to: &Array, val: &Val, cx: &Lanes) -> Result<()> {
        let width = self.width(to.element());
        if let Val::One(x) = val
            && !to.varies
            && (x == "0" || x == "false" || *x == super::value::number(0.0, to.element()))
        {
            let pointer = self.pointer(to);
            let bytes = (to.len * to.element().bytes()).to_string();
            self.call(
                "void",
                "llvm.memset.p0.i64",
                &[("ptr", &pointer), ("i8", "0"), ("i64", &bytes), ("i1", "false")],
            );
            return Ok(());
        }
        self.side_by_side(to.len, width, cx, |e, k, cx| {
            e.store(to, k, val, cx);
            Ok(())
        })
    }

    /// A table of constants.
    pub(super) fn table(&mut self, frame: &Frame<'_>, value: Value) -> Result<Val> {
        let ty = frame.f.ty(value);
        let len = self.known(ty)?;
        let Some(table) = frame.f.table(value) else { return Err(internal("no table")) };
        let mut bytes: Vec<u8> = Vec::new();
        match (table.entries(), ty.element()) {
            (Entries::Numbers(bits), Element::F32) => {
                bits.iter().for_each(|b| bytes.extend((f64::from_bits(*b) as f32).to_le_bytes()));
            }
            (Entries::Numbers(bits), _) => bits.iter().for_each(|b| bytes.extend(b.to_le_bytes())),
            (Entries::Integers(all), Element::I32) => {
                all.iter().for_each(|c| bytes.extend((*c as i32).to_le_bytes()));
            }
            (Entries::Integers(all), Element::Bool) => {
                all.iter().for_each(|c| bytes.push(u8::from(*c != 0)));
            }
            (Entries::Integers(all), _) => all.iter().for_each(|c| bytes.extend(c.to_le_bytes())),
        }
        let name = self.global(bytes);
        Ok(Val::Array(Array::new(Base::Global(name), ty, len)))
    }

    /// The name of a constant with these bytes.
    pub(super) fn global(&mut self, bytes: Vec<u8>) -> String {
        use std::fmt::Write as _;
        if let Some(name) = self.table_names.get(&bytes) {
            return name.clone();
        }
        let name = format!("@t{}", self.table_names.len());
        let mut text = String::with_capacity(bytes.len() * 3);
        bytes.iter().for_each(|b| {
            let _ = write!(text, "\\{b:02X}");
        });
        let _ = writeln!(
            self.tables,
            "{name} = private unnamed_addr constant [{} x i8] c\"{text}\", align 64",
            bytes.len()
        );
        self.table_names.insert(bytes, name.clone());
        name
    }

    /// An array with other elements at a place, or with something added there.
    pub(super) fn put(
        &mut self,
        frame: &Frame<'_>,
        value: Value,
        adds: bool,
        cx: &Lanes,
    ) -> Result<Val> {
        let f = frame.f;
        let operands: Vec<Value> = f.operands(value).collect();
        let place = self.place(frame, (f.ty(operands[0]), None), &operands[2..], cx)?;
        let val = frame.get(operands[1])?.clone();
        let array = match frame.get(operands[0])?.clone() {
            Val::Target(target) => {
                self.add_to(&target, &place, &val, cx)?;
                let target = Val::Target(target);
                self.retain(&target);
                return Ok(target);
            }
            Val::Array(array) => array,
            _ => return Err(internal("a put into no array")),
        };
        // One that all lanes share becomes one of each, where lanes write differently.
        let varies = array.varies || cx.width > 1;
        let own = Self::dies(frame, operands[0], value)
            && self.is_alone(&array)
            && varies == array.varies;
        let to = match own {
            true => {
                self.retain(&Val::Array(array.clone()));
                array
            }
            false => {
                let to = self.allocate_for(frame, value, (array.ty, array.len), cx, varies);
                // In lanes that do not count nothing is read later.
                let all = Lanes { mask: None, ..cx.clone() };
                self.copy(&array, &to, &all);
                to
            }
        };
        let len = self.known(f.ty(operands[1]))?;
        self.each(len, |e, k| {
            let at = e.integral(Integral::Add, &place, k, Element::I64, cx);
            let mut x = e.element_of(&val, k, cx);
            if adds {
                let old = e.load(&to, &at, cx);
                x = e.sum(&old, &x, to.element(), cx)?;
            }
            e.store(&to, &at, &x, cx);
            Ok(())
        })?;
        Ok(Val::Array(to))
    }

    /// An element of an array; a scalar is all its elements.
    pub(super) fn element_of(&mut self, val: &Val, index: &Val, cx: &Lanes) -> Val {
        match val {
            Val::Array(array) => self.load(array, index, cx),
            other => other.clone(),
        }
    }

    pub(super) fn sum(&mut self, x: &Val, y: &Val, element: Element, cx: &Lanes) -> Result<Val> {
        if element.is_integer() {
            return Ok(self.integral(Integral::Add, x, y, element, cx));
        }
        let add = cotangent_ir::Op::Elementary(cotangent_ops::Opcode::Add, 0);
        self.pointwise(add, &[x.clone(), y.clone()], &[element, element], element, cx)
    }

    /// Adds to a target of an accumulation.
    pub(super) fn add_to(
        &mut self,
        target: &Target,
        place: &Val,
        val: &Val,
        cx: &Lanes,
    ) -> Result<()> {
        // Of several additions only one, if the points are gone through for each.
        if let Some((time, times, count)) = self.only {
            self.only = Some((time, times, count + 1));
            if count.min(times - 1) != time {
                return Ok(());
            }
        }
        let (array, len) = match target {
            Target::Number(..) => return self.add_number(target, val, cx),
            Target::Shared(array) | Target::Own(array) => {
                let len = if let Val::Array(from) = val { from.len } else { 1 };
                (array.clone(), len)
            }
        };
        self.each(len, |e, k| {
            let at = e.integral(Integral::Add, place, k, Element::I64, cx);
            let x = e.element_of(val, k, cx);
            e.add_at(&array, &at, &x, cx)
        })
    }
}
