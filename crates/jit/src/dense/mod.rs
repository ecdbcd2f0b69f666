//! Dense linear algebra by kernels: which products, factorisations and solves machine code hands to `faer`.
//!
//! What is large enough is a call; what is small stays loops that LLVM writes out (`pays_product`, [`known_call`]: the limits
//! stand here and nowhere else). Products are known by their loops (`product.rs`), wherever they come from, and taken out of
//! the kernels around them (`extract.rs`, `nest.rs`); factorisations and solves are known by the names that the library gives them, in
//! derivatives, too. `kernels.rs` is what is called, `plain.rs` what is done where the numbers are not what kernels expect.
//!
//! The digits of a product or a factorisation are those of `faer` on one thread: they depend on the processor and the sizes,
//! not on the number of threads.

mod extract;
mod kernels;
mod nest;
mod plain;
mod product;

use cotangent_ir::{Dim, Element, Function, Structure, Type};

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

// Limits, measured on a processor with AVX-512 (time of loops over time of calls): products 0.7 at 8³, 1.0 at 12³, 1.2 at 16³,
// 2.3 at 32³, 4.9 at 128³; 0.7 at 32·4·32, 1.9 at 256·4·256; a matrix and a list 0.5 to 1.0 up to 256², but 2.1 with the
// transpose of 256²; Cholesky 2.0 at 4, 4.0 at 16, 13 at 64; LU 0.9 at 16, 2.1 at 24, 6.2 at 64; triangular solves 2 and more
// from 4 on. In tables of 64 matrices, where loops have lanes: Cholesky 0.9 at 16, LU 1.4, solves 1.2, products 1.2.

/// The fewest multiplications of a product that is called, and of one that sums few of them for each element.
const PRODUCT: usize = 16 * 16 * 16;
const FLAT_PRODUCT: usize = 1 << 16;

/// The fewest elements of a matrix whose transpose is multiplied with a list by a call. Rows are read as fast by loops.
const ACROSS: usize = 1 << 15;

/// The fewest rows of matrices for factorisations and solves that are called.
const LEAST_LU: usize = 20;
const LEAST: usize = 4;

/// The fewest rows of matrices for which a table has no lanes, so that there may be calls at each of its points.
const LEAST_IN_TABLES: usize = 16;

/// Whether a product of matrices is faster as a call than as loops.
pub(crate) fn pays_product(shape: &Shape) -> bool {
    let Shape { m, n, k, x, .. } = *shape;
    let work = m.saturating_mul(n).saturating_mul(k);
    match () {
        () if n == 1 => x[1] > 1 && work >= ACROSS,
        () if m == 1 => false,
        () if k < 8 => work >= FLAT_PRODUCT,
        () => work >= PRODUCT,
    }
}

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
    let least = if call == Call::Lu { LEAST_LU } else { LEAST };
    (*n >= least).then_some((call, *n))
}

/// Whether a function calls kernels anywhere that are worth more than lanes.
pub(crate) fn has_kernels(f: &Function) -> bool {
    let large =
        |function: &Function| known_call(function).is_some_and(|(_, n)| n >= LEAST_IN_TABLES);
    f.values().any(|v| match f.structure(v) {
        Some(Structure::Call { function }) if large(function) => true,
        Some(Structure::Tab { dims, body }) if product_call(dims, body).is_some() => true,
        Some(structure) => structure.bodies().any(|body| has_kernels(body)),
        None => false,
    })
}

/// The product that a table is, if it is faster as a call.
pub(crate) fn product_call(dims: &[Dim], body: &Function) -> Option<Product> {
    Product::of(dims, body).filter(|product| pays_product(&product.shape))
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
