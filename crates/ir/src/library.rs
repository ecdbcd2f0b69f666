//! The library: functions on arrays and matrices that are known by name, written in the IR itself.
//!
//! A name and the types of the arguments say which function is meant, so a program calls one without
//! defining it, and its text has the name only:
//!
//! ```
//! use cotangent_ir::parse;
//!
//! let f = parse("fn @f(%a: [2, 2]f64) -> [2, 2]f64 { %l = call @lib.cholesky(%a) ret %l }").unwrap();
//! assert_eq!(f.run(&[4.0, 2.0, 2.0, 5.0]).unwrap(), [2.0, 0.0, 1.0, 2.0]);
//! assert_eq!(parse(&f.to_string()).unwrap(), f);
//! let wrong = parse("fn @f(%a: [2, 3]f64) -> [2, 3]f64 { %l = call @lib.cholesky(%a) ret %l }");
//! assert_eq!(
//!     wrong.unwrap_err().to_string(),
//!     "1:47: `@lib.cholesky` takes a square matrix [n, n]f64; it is given [2, 3]f64"
//! );
//! ```
//!
//! Names that begin with `lib.` belong to the library; a text cannot define them. A size that no argument
//! tells stands behind the name: `@lib.slice.5`, `@lib.reshape.2.3`. Sizes may have names, as those of the
//! function around. What is named `f64` here may be `f32` throughout.
//!
//! | name | takes | gives |
//! |---|---|---|
//! | `lib.dot` | list or matrix, list or matrix | their product |
//! | `lib.dot_tn`, `lib.dot_nt` | the same | the product with the first or the second transposed |
//! | `lib.transpose` | matrix | its transpose |
//! | `lib.slice.5` | array, i64 | five of the first dimension, from there on |
//! | `lib.put_slice` | array, i64, array | the first one with the second one in it, from there on |
//! | `lib.concat` | array, array | one behind the other along the first dimension |
//! | `lib.reshape.2.3` | array | the same elements row by row in another shape |
//! | `lib.broadcast.5` | array | five of it along a new first dimension |
//! | `lib.take` | array, indices | elements or rows |
//! | `lib.put`, `lib.put_add` | array, indices, elements or rows | the array with these put or added there |
//! | `lib.cumsum` | array | sums so far along the first dimension |
//! | `lib.sort` | list | the smallest first |
//! | `lib.cholesky` | symmetric positive definite matrix | its lower factor |
//! | `lib.lu` | square matrix | L and U in one matrix, the order of the rows |
//! | `lib.solve` | square matrix, list or matrix | the solution through LU |
//! | `lib.lu_solve`, `lib.lu_solve_transposed` | square matrix, what `lib.lu` gave for it, list or matrix | the solution with it or its transpose |
//! | `lib.solve_lower`, `lib.solve_lower_transposed` | square matrix, list or matrix | the solution with its lower triangle |
//! | `lib.solve_upper`, `lib.solve_upper_transposed` | square matrix, list or matrix | the solution with its upper triangle |
//! | `lib.solve_unit_lower`, `lib.solve_unit_lower_transposed` | square matrix, list or matrix | the same with ones in the place of the diagonal |
//! | `lib.determinant`, `lib.log_determinant` | square matrix | det A; ln \|det A\| |
//!
//! Cholesky looks at the lower triangle of A only, and so do its derivatives: a tangent of A is its lower
//! triangle, and the cotangent C of A is zero above the diagonal. That is the derivative of what is computed,
//! element by element; for symmetric changes of A the symmetric (C + Cᵀ)/2 says the same. The derivative of
//! LU is that for the order of the rows at the point. Derivatives through LU want a matrix that is not
//! singular.
//!
//! Factorisations and solves have derivatives of their own, again by name (*rules*): a tangent is one more
//! pass over matrices, and reverse mode keeps the factors, not what the loops went through. A rule is
//! written down when it is asked for, since it may call the function whose rule it is. All else is kernels,
//! whose derivatives are as good as rules.
//!
//! A solution is linear in its right-hand side, and what is linear is turned around by name, too: derivatives call
//! `@lib.solve_lower.lin`, whose right-hand side is a tangent or a cotangent, and reverse mode turns that into
//! `@lib.solve_lower_transposed.lin`. In `.lin` a right-hand side that is zero stays zero whatever the matrix is, as
//! with `strong_mul`; `@lib.solve_lower.strong` is the same where nothing is linear any more. So solves are still solves
//! when the last derivative has been taken, and whoever makes machine code knows them.
//!
//! Nothing here panics on numbers: a matrix that is not positive definite has a factor with NaN in it, a
//! singular one a solution with infinities or NaN. An index out of range is an error of the run.

use std::sync::{Arc, OnceLock};

use crate::build::Builder;
use crate::function::{Function, Value};
use crate::parse::{nearest_of, parse};
use crate::structure::Structure;
use crate::types::{Dim, Element, Type};

mod arrays;
mod factors;
mod solves;

/// What names of the library begin with.
pub(crate) const PREFIX: &str = "lib.";

/// Why there is no such function in the library.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// A name that no function has.
    #[error("there is no library function `@{name}`{near}")]
    Name {
        /// The name.
        name: String,
        /// One that is like it, as a question.
        near: String,
    },
    /// Arguments that the function does not take.
    #[error("`@{name}` takes {takes}; it is given {given}")]
    Arguments {
        /// The name.
        name: String,
        /// What it takes.
        takes: &'static str,
        /// What it is given.
        given: String,
    },
}

/// A function of the library, for the reader.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Described {
    /// The name, as it is called: `lib.dot`.
    pub name: &'static str,
    /// What it takes.
    pub takes: &'static str,
    /// What it gives.
    pub gives: &'static str,
}

/// What is asked for: the sizes behind the name, the types of the arguments, and in which form.
struct Request<'r> {
    sizes: &'r [usize],
    types: &'r [Type],
    form: Form,
}

/// In which form a function is asked for that is linear in one of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As it is called by users.
    Plain,
    /// A zero stays a zero whatever it is multiplied with: what a derivative computes.
    Strong,
    /// The same, and the argument is a tangent or a cotangent.
    Linear,
}

impl Form {
    /// What stands behind the name.
    fn suffix(self) -> &'static str {
        match self {
            Form::Plain => "",
            Form::Strong => ".strong",
            Form::Linear => ".lin",
        }
    }
}

/// The text of a function, in which sizes have names, and those that its arguments do not tell.
struct Source {
    text: String,
    sizes: Vec<(&'static str, Dim)>,
}

impl From<String> for Source {
    fn from(text: String) -> Self {
        Source { text, sizes: Vec::new() }
    }
}

/// A function of the library: how it is described, and how it is written.
struct Entry {
    described: Described,
    /// Whether it works on numbers only, not on integers and truth values.
    numbers: bool,
    /// Its text, if the arguments have the right number of dimensions.
    text: fn(&Request<'_>) -> Option<Source>,
    /// The text of its rule: of the arguments and a tangent of each number among them.
    rule: Option<fn(&Request<'_>) -> Option<Source>>,
    /// The argument that it is linear in, and which function is its transpose.
    linear: Option<(usize, &'static str)>,
}

fn entries() -> impl Iterator<Item = &'static Entry> {
    arrays::ENTRIES.iter().chain(factors::ENTRIES).chain(solves::ENTRIES)
}

/// All functions of the library.
///
/// ```
/// let names: Vec<&str> = cotangent_ir::library::all().map(|f| f.name).collect();
/// assert!(names.contains(&"lib.cholesky") && names.contains(&"lib.take"));
/// ```
pub fn all() -> impl Iterator<Item = Described> {
    entries().map(|entry| entry.described)
}

/// The function of the library with this name for arguments of these types.
///
/// ```
/// use cotangent_ir::{Type, library};
///
/// let slice = library::function("lib.slice.2", &[Type::f64s(&[4]), Type::I64])?;
/// assert_eq!(slice.run(&[1.0, 2.0, 3.0, 4.0, 1.0]).unwrap(), [2.0, 3.0]);
/// # Ok::<(), cotangent_ir::library::LibraryError>(())
/// ```
///
/// # Errors
/// A name that there is not, and arguments that the function does not take.
pub fn function(name: &str, types: &[Type]) -> Result<Function, LibraryError> {
    let (entry, sizes, form) = find(name)?;
    let request = Request { sizes: &sizes, types, form };
    let mut function = written(entry, entry.text, &request, types, name)?;
    let origin =
        Origin { name: name.to_string(), types: types.to_vec(), form, rule: OnceLock::new() };
    function.library = Some(Arc::new(origin));
    Ok(function)
}

impl Builder {
    /// Calls a function of the library; its results.
    ///
    /// ```
    /// use cotangent_ir::{Builder, Type};
    ///
    /// let mut b = Builder::new("norm");
    /// let x = b.param("x", Type::f64s(&[2]));
    /// let square = b.library("lib.dot", &[x, x])?;
    /// assert_eq!(b.finish(square).run(&[3.0, 4.0]).unwrap(), [25.0]);
    /// # Ok::<(), cotangent_ir::library::LibraryError>(())
    /// ```
    ///
    /// # Errors
    /// As [`library::function`](function).
    pub fn library(&mut self, name: &str, args: &[Value]) -> Result<Vec<Value>, LibraryError> {
        let types: Vec<Type> = args.iter().map(|v| self.ty(*v)).collect();
        let function = Arc::new(function(name, &types)?);
        Ok(self.structure(Structure::Call { function }, args))
    }
}

/// Which function of the library a function is.
#[derive(Debug)]
pub(crate) struct Origin {
    name: String,
    pub(crate) types: Vec<Type>,
    pub(crate) form: Form,
    /// Its rule, written when it is first asked for.
    rule: OnceLock<Option<Arc<Function>>>,
}

impl Origin {
    pub(crate) fn is(&self, other: &Origin) -> bool {
        self.name == other.name && self.types == other.types
    }

    pub(crate) fn has_rule(&self) -> bool {
        find(&self.name).is_ok_and(|(entry, ..)| entry.rule.is_some())
    }

    /// The function that does the same in another form.
    fn in_form(&self, form: Form) -> Option<Function> {
        let (entry, ..) = find(&self.name).ok()?;
        entry.linear?;
        function(&format!("{}{}", entry.described.name, form.suffix()), &self.types).ok()
    }

    pub(crate) fn rule(&self) -> Option<&Arc<Function>> {
        let write = || {
            let (entry, sizes, form) = find(&self.name).ok()?;
            let request = Request { sizes: &sizes, types: &self.types, form };
            let tangents = self.types.iter().copied().filter(|ty| ty.is_float());
            let types: Vec<Type> = self.types.iter().copied().chain(tangents).collect();
            let name = format!("{}.jvp", self.name);
            written(entry, entry.rule?, &request, &types, &name).ok().map(Arc::new)
        };
        self.rule.get_or_init(write).as_ref()
    }
}

/// Solves of matrices of fewer rows are written out in programs of derivatives: what is around them is then made simpler
/// together with them. With 4 rows their loops take as long either way, and a call of a kernel half of that.
const WRITTEN_OUT: usize = 4;

/// What a function of the library is known to be beyond its operations.
impl Function {
    /// Its name in the library, without the sizes and the form behind it.
    ///
    /// ```
    /// use cotangent_ir::{Type, library};
    ///
    /// let matrix = Type::f64s(&[3, 3]);
    /// let solve = library::function("lib.solve_upper.strong", &[matrix, Type::f64s(&[3])])?;
    /// assert_eq!(solve.library_name(), Some("lib.solve_upper"));
    /// assert_eq!(solve.linear_operand(), Some(1));
    /// assert_eq!(solve.linear_form().unwrap().name(), "lib.solve_upper.lin");
    /// assert_eq!(solve.transposed_form().unwrap().name(), "lib.solve_upper_transposed.lin");
    /// # Ok::<(), library::LibraryError>(())
    /// ```
    pub fn library_name(&self) -> Option<&'static str> {
        let origin = self.library.as_ref()?;
        find(&origin.name).ok().map(|(entry, ..)| entry.described.name)
    }

    /// The argument that a function of the library is linear in, if it has forms for that.
    pub fn linear_operand(&self) -> Option<usize> {
        let origin = self.library.as_ref()?;
        find(&origin.name).ok()?.0.linear.map(|(operand, _)| operand)
    }

    /// The function of the library with that argument a tangent or a cotangent.
    pub fn linear_form(&self) -> Option<Function> {
        self.library.as_ref()?.in_form(Form::Linear)
    }

    /// The same as one of ordinary numbers: a zero stays a zero, whatever the matrix is.
    pub fn strong_form(&self) -> Option<Function> {
        self.library.as_ref()?.in_form(Form::Strong)
    }

    /// Whether a zero stays a zero in it, whatever it is multiplied with: it is in one of the two forms.
    pub fn is_strong(&self) -> bool {
        self.library.as_ref().is_some_and(|origin| origin.form != Form::Plain)
    }

    /// The transpose of a function of the library that is linear in an argument, of a cotangent in its place.
    pub fn transposed_form(&self) -> Option<Function> {
        let origin = self.library.as_ref()?;
        let (entry, ..) = find(&origin.name).ok()?;
        let (_, name) = entry.linear?;
        function(&format!("{name}{}", Form::Linear.suffix()), &origin.types).ok()
    }

    /// Whether a call of it in the program of a derivative is to be written out, so that what is around it is made simpler
    /// with it: a linear solve with few rows. All other calls of functions with a rule stay.
    pub fn is_written_out(&self) -> bool {
        let Some(origin) = self.library.as_ref().filter(|origin| origin.form != Form::Plain) else {
            return false;
        };
        let first = origin.types.first().and_then(|ty| ty.dims().first().copied());
        matches!(first, Some(Dim::Size(n)) if n < WRITTEN_OUT)
    }
}

/// The entry with a name, the sizes behind it, and the form behind them.
fn find(name: &str) -> Result<(&'static Entry, Vec<usize>, Form), LibraryError> {
    let forms = [Form::Strong, Form::Linear];
    let form = forms.into_iter().find(|form| name.ends_with(form.suffix()));
    let stem = form.and_then(|form| name.strip_suffix(form.suffix())).unwrap_or(name);
    let form = form.unwrap_or(Form::Plain);
    let mut words = stem.split('.');
    let (prefix, stem) = (words.next(), words.next().unwrap_or(""));
    let sizes: Option<Vec<usize>> =
        words.map(|size| size.parse().ok().filter(|n| *n < 1 << 40)).collect();
    let named = |entry: &&Entry| entry.described.name.strip_prefix(PREFIX) == Some(stem);
    match (entries().find(named), sizes) {
        (Some(entry), Some(sizes))
            if prefix == Some("lib") && (form == Form::Plain || entry.linear.is_some()) =>
        {
            Ok((entry, sizes, form))
        }
        _ => {
            let near = nearest_of(name, all().map(|f| f.name));
            let near = near.map_or(String::new(), |near| format!("; did you mean `@{near}`?"));
            Err(LibraryError::Name { name: name.to_string(), near })
        }
    }
}

/// A function from its text, for arguments of these types.
fn written(
    entry: &Entry,
    text: fn(&Request<'_>) -> Option<Source>,
    request: &Request<'_>,
    types: &[Type],
    name: &str,
) -> Result<Function, LibraryError> {
    let known = types.iter().all(|ty| !ty.dims().contains(&Dim::Any));
    let element = types.first().map(|ty| ty.element());
    let fits = known && (!entry.numbers || element.is_some_and(Element::is_float));
    let source = if fits { text(request) } else { None };
    let made = source.and_then(|source| {
        let text = match element {
            Some(element) => source.text.replace("f64", element.name()),
            None => source.text,
        };
        // A text that does not parse is seen by the tests of this crate.
        let template = written_out(&parse(&text).ok()?);
        let mut sizes = source.sizes;
        sizes.extend(template.sizes_for(types).filter(|_| template.params().len() == types.len())?);
        Some(template.specialised(&sizes).renamed(name))
    });
    made.ok_or_else(|| {
        let given: Vec<String> = types.iter().map(ToString::to_string).collect();
        let given = if given.is_empty() { "nothing".to_string() } else { given.join(", ") };
        LibraryError::Arguments { name: name.to_string(), takes: entry.described.takes, given }
    })
}

/// The function with the helpers of its text written out; calls of the library stay.
fn written_out(f: &Function) -> Function {
    f.rebuilt(|b, copies, value| match f.structure(value) {
        Some(Structure::Call { function }) if function.library.is_none() => {
            let results = b.inline(function, &copies.operands(f, value));
            copies.set_parts(value, results);
            true
        }
        _ => false,
    })
}

/// The type of an array whose first dimension has a name, and its other dimensions: `[n, d1, d2]f64`.
fn array(first: &str, rest: usize) -> String {
    let dims: Vec<String> =
        std::iter::once(first.to_string()).chain((0..rest).map(|k| format!("d{k}"))).collect();
    format!("[{}]f64", dims.join(", "))
}

/// The names of dimensions that a function declares: those given, and other dimensions of arrays.
fn names(own: &str, rest: usize) -> String {
    (0..rest).fold(own.to_string(), |names, k| format!("{names}, d{k}"))
}

/// The ranks of the arguments.
fn ranks(request: &Request<'_>) -> Vec<usize> {
    request.types.iter().map(|ty| ty.dims().len()).collect()
}
