//! What others see of functions in a library: a header for C, a file for Rust.

use std::fmt::Write as _;

use cotangent_ir::{Element, Type};
use cotangent_jit::Object;

/// An argument of a function: its name, what it points to, how many there are, and whether it is written.
struct Argument {
    name: String,
    element: Element,
    len: usize,
    out: bool,
}

fn arguments(object: &Object) -> Vec<Argument> {
    let len = |ty: Type| ty.len().unwrap_or(0);
    if object.packed {
        let x = object.params.iter().map(|(_, ty)| len(*ty)).sum();
        let y = object.results.iter().map(|ty| len(*ty)).sum();
        // They are all of one kind.
        let mut types = object.params.iter().map(|(_, ty)| ty).chain(&object.results);
        let element = types.next().map_or(Element::F64, |ty| ty.element());
        let argument =
            |name: &str, len, out| Argument { name: name.to_string(), element, len, out };
        return vec![argument("x", x, false), argument("y", y, true)];
    }
    let inputs = object.params.iter().enumerate().map(|(k, (_, ty))| Argument {
        name: format!("x{k}"),
        element: ty.element(),
        len: len(*ty),
        out: false,
    });
    let outputs = object.results.iter().enumerate().map(|(k, ty)| Argument {
        name: format!("y{k}"),
        element: ty.element(),
        len: len(*ty),
        out: true,
    });
    inputs.chain(outputs).collect()
}

/// What a function takes and gives, in words.
fn words(object: &Object) -> String {
    let list = |types: Vec<String>| types.join(", ");
    let takes = object.params.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
    let gives = object.results.iter().map(Type::to_string).collect();
    let mut text = format!("({}) -> {}", list(takes), list(gives));
    if object.packed {
        text += ", one behind the other";
    }
    text
}

/// The header for C and C++.
pub(super) fn header(library: &str, objects: &[Object]) -> String {
    let guard = format!("{}_H", library.to_uppercase());
    let mut text = format!(
        "/* Made by cotangent. Each function gives 0, or a status that stands above it; `workspace` is memory\n   \
         of as many bytes as its macro says, aligned to 64. Threads need one each. */\n\
         #ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n"
    );
    for object in objects {
        let name = &object.name;
        let _ = writeln!(text, "\n/* {}", words(object));
        for (k, status) in object.statuses.iter().enumerate() {
            let _ = writeln!(text, "   {}: {}", k + 1, status.replace("*/", "* /"));
        }
        let _ =
            writeln!(text, "*/\n#define {}_WORKSPACE {}", name.to_uppercase(), object.workspace);
        let arguments: Vec<String> = arguments(object)
            .iter()
            .map(|a| {
                let ty = match a.element {
                    Element::F64 => "double",
                    Element::F32 => "float",
                    Element::I64 => "int64_t",
                    Element::I32 => "int32_t",
                    Element::Bool => "uint8_t",
                };
                let constant = if a.out { "" } else { "const " };
                format!("{constant}{ty} {}[{}], ", a.name, a.len.max(1))
            })
            .collect();
        let _ = writeln!(text, "uint64_t {name}({}void *workspace);", arguments.concat());
    }
    text += "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
    text
}

/// The file for Rust.
pub(super) fn rust(objects: &[Object]) -> String {
    let lines = objects.iter().map(|o| o.workspace.div_ceil(64)).max().unwrap_or(1);
    let mut text = format!(
        "// Made by cotangent.

/// Memory for the functions of this library: one for each thread, used again.
#[derive(Clone, Debug)]
pub struct Workspace(Vec<Line>);

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl Workspace {{
    /// Memory that is enough for each of the functions.
    pub fn new() -> Workspace {{
        Workspace(vec![Line([0; 64]); {lines}])
    }}
}}

impl Default for Workspace {{
    fn default() -> Workspace {{
        Workspace::new()
    }}
}}
"
    );
    for object in objects {
        let (name, arguments) = (&object.name, arguments(object));
        let ty = |a: &Argument| match a.element {
            Element::F64 => "f64",
            Element::F32 => "f32",
            Element::I64 => "i64",
            Element::I32 => "i32",
            Element::Bool => "bool",
        };
        let outer: Vec<String> = arguments
            .iter()
            .map(|a| {
                let mutable = if a.out { "mut " } else { "" };
                format!("    {}: &{mutable}[{}; {}],\n", a.name, ty(a), a.len)
            })
            .collect();
        let inner: Vec<String> = arguments
            .iter()
            .map(|a| {
                let kind = if a.out { "mut" } else { "const" };
                format!("{}: *{kind} {}, ", a.name, ty(a))
            })
            .collect();
        let pass: Vec<String> = arguments
            .iter()
            .map(|a| match a.out {
                true => format!("{}.as_mut_ptr(), ", a.name),
                false => format!("{}.as_ptr(), ", a.name),
            })
            .collect();
        let _ = write!(
            text,
            "
/// `{}`
#[allow(clippy::too_many_arguments, dead_code, reason = \"as the program has them\")]
pub fn {name}(
{}    workspace: &mut Workspace,
) -> Result<(), &'static str> {{
    mod outside {{
        unsafe extern \"C\" {{
            pub(super) fn {name}({}workspace: *mut u8) -> u64;
        }}
    }}
    // SAFETY: the arrays have as many elements as the function reads and writes, the workspace as many bytes.
    let status = unsafe {{ outside::{name}({}workspace.0.as_mut_ptr().cast()) }};
    match status {{
        0 => Ok(()),
",
            words(object),
            outer.concat(),
            inner.concat(),
            pass.concat()
        );
        for (k, status) in object.statuses.iter().enumerate() {
            let _ = writeln!(text, "        {} => Err({status:?}),", k + 1);
        }
        text += "        _ => Err(\"an unknown status\"),\n    }\n}\n";
    }
    text
}
