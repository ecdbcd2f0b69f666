//! Dense linear algebra by kernels: which products, factorisations and solves machine code hands to `faer`.
//!
//! What is large enough is a call; what is small stays loops that LLVM writes out (`pays_product`, [`known_call`]: the limits
//! stand here and nowhere else). Products are known by their loops (`product.rs`), wherever they come from, and taken out of
//! the kernels around them (`extract.rs`); factorisations and solves are known by the names that the library gives them, in
//! derivatives, too. `kernels.rs` is what is called, `plain.rs` what is done where the numbers are not what kernels expect.
//!
//! The digits of a product or a factorisation are those of `faer` on one thread: they depend on the processor and the sizes,
//! not on the number of threads.

mod extract;
mod kernels;
mod plain;
mod product;

use cotangent_ir::{Dim, Element, Function, Type};

pub(crate) use extract::extracted;
pub(crate) use kernels::{Shape, cholesky_scratch, lu_scratch, ready};
pub(crate) use plain::Triangle;
pub(crate) use product::Product;

/// A factorisation or a solve that is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// The Cholesky factor.
    Cholesky,
    /// L and U with the order of the rows.
    Lu,
    /// A triangular solve, with so many numbers in each row of the right-hand side.
    Triangular(Triangle, usize),
}

/// Whether a product of matrices is faster as a call than as loops.
pub(crate) fn pays_product(shape: &Shape, _element: Element) -> bool {
    let Shape { m, n, k, .. } = *shape;
    let least = m.min(n).min(k);
    least >= LEAST_PRODUCT
}

const LEAST_PRODUCT: usize = 8;
const LEAST_FACTOR: usize = 16;

/// The call that a function of the library is, with the size of its matrix, if that is faster than its loops.
pub(crate) fn known_call(function: &Function) -> Option<(Call, usize)> {
    let name = function.library_name()?;
    let first: Type = function.params().first()?.ty;
    let (Some(Dim::Size(n)), Element::F64 | Element::F32) = (first.dims().first(), first.element())
    else {
        return None;
    };
    let triangle = |lower, transposed, unit| {
        let strong = function.is_strong();
        let m = function.params().get(1)?.ty.len()?.checked_div(*n)?;
        Some(Call::Triangular(Triangle { lower, transposed, unit, strong }, m))
    };
    let call = match name {
        "lib.cholesky" => Call::Cholesky,
        "lib.lu" => Call::Lu,
        "lib.solve_lower" => triangle(true, false, false)?,
        "lib.solve_lower_transposed" => triangle(true, true, false)?,
        "lib.solve_upper" => triangle(false, false, false)?,
        "lib.solve_upper_transposed" => triangle(false, true, false)?,
        "lib.solve_unit_lower" => triangle(true, false, true)?,
        "lib.solve_unit_lower_transposed" => triangle(true, true, true)?,
        _ => return None,
    };
    (*n >= LEAST_FACTOR).then_some((call, *n))
}

/// Whether a function calls kernels anywhere: then it is not for lanes.
pub(crate) fn has_kernels(f: &Function) -> bool {
    use cotangent_ir::Structure;
    f.values().any(|v| match f.structure(v) {
        Some(Structure::Call { function }) if known_call(function).is_some() => true,
        Some(Structure::Tab { dims, body }) if product_call(dims, body).is_some() => true,
        Some(structure) => structure.bodies().any(|body| has_kernels(body)),
        None => false,
    })
}

/// The product that a table is, if it is faster as a call.
pub(crate) fn product_call(dims: &[Dim], body: &Function) -> Option<Product> {
    let product = Product::of(dims, body)?;
    let element = body.ty(*body.results().first()?).element();
    pays_product(&product.shape, element).then_some(product)
}

/// The address of a kernel that machine code may call.
pub(crate) fn address(name: &str) -> Option<usize> {
    Some(match name {
        "cotangent_product_f64" => kernels::product_f64 as *const () as usize,
        "cotangent_product_f32" => kernels::product_f32 as *const () as usize,
        "cotangent_triangular_f64" => kernels::triangular_f64 as *const () as usize,
        "cotangent_triangular_f32" => kernels::triangular_f32 as *const () as usize,
        "cotangent_cholesky_f64" => kernels::cholesky_f64 as *const () as usize,
        "cotangent_cholesky_f32" => kernels::cholesky_f32 as *const () as usize,
        "cotangent_lu_f64" => kernels::lu_f64 as *const () as usize,
        "cotangent_lu_f32" => kernels::lu_f32 as *const () as usize,
        _ => return None,
    })
}
