//! A program as a picture: a box for each operation, with its line of the text in it; bodies are inside the
//! box of theirs.

use std::fmt::Write;

use super::outline::{Body, Line};
use super::place::place;
use crate::Failure;

/// The width and height of a letter, in a font of 12.
const LETTER: (f64, f64) = (7.3, 16.0);
/// Longer lines are cut; the whole line is shown when pointed at.
const LETTERS: usize = 56;
/// Between a box and what is in it.
const PAD: f64 = 10.0;

const STYLE: &str = "\
text { font: 12px ui-monospace, Menlo, 'DejaVu Sans Mono', monospace; fill: #1b1f24; }
text.title { fill: #57606a; }
rect { fill: #ffffff; stroke: #57606a; }
rect.param { fill: #ddf4ff; stroke: #54aeff; }
rect.end { fill: #dafbe1; stroke: #4ac26b; }
rect.region { fill: #f6f8fa; stroke: #8c959f; }
rect.body { fill: #ffffff; stroke: #d0d7de; stroke-dasharray: 4 3; }
path.arrow { fill: none; stroke: #8c959f; marker-end: url(#head); }
";

/// Something drawn from (0, 0) on.
struct Picture {
    width: f64,
    height: f64,
    text: String,
    /// How many lines between boxes were left out.
    left_out: usize,
}

/// The picture of a program.
pub(super) fn svg(name: &str, functions: &[Body]) -> Result<String, Failure> {
    let (mut text, mut width, mut height, mut left_out) = (String::new(), 0.0, PAD, 0);
    for function in functions {
        let inner = body(function)?;
        text += &moved(&inner, PAD, height);
        height += inner.height + PAD;
        width = f64::max(width, inner.width + 2.0 * PAD);
        left_out += inner.left_out;
    }
    if left_out > 0 {
        let note = format!("{left_out} long arrows are left out: names say where from");
        text += &label(PAD, height, &note, "title");
        height += LETTER.1 + PAD;
        width = width.max(letters(&note) + 2.0 * PAD);
    }
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<title>@{}</title>\n<style>\n{STYLE}</style>\n\
         <defs><marker id=\"head\" markerWidth=\"8\" markerHeight=\"6\" refX=\"8\" refY=\"3\" orient=\"auto\">\
         <path d=\"M0 0 L8 3 L0 6 Z\" fill=\"#8c959f\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" style=\"stroke: none\"/>\n{text}</svg>\n",
        escaped(name)
    ))
}

/// A body in a frame, its title above.
fn body(of: &Body) -> Result<Picture, Failure> {
    let mut nodes = Vec::new();
    let mut owners: Vec<(&str, usize)> = Vec::new();
    for name in &of.params {
        owners.push((name, nodes.len()));
        nodes.push(boxed(&format!("%{name}"), "param"));
    }
    let mut edges = Vec::new();
    let mut by_name: std::collections::HashMap<&str, usize> = owners.into_iter().collect();
    for line in &of.lines {
        let here = nodes.len();
        let mut from: Vec<usize> =
            line.needs().iter().filter_map(|name| by_name.get(name).copied()).collect();
        from.sort_unstable();
        from.dedup();
        edges.extend(from.into_iter().map(|from| (from, here)));
        nodes.push(operation(line)?);
        by_name.extend(line.gives.iter().map(|name| (name.as_str(), here)));
    }
    let sizes: Vec<(f64, f64)> = nodes.iter().map(|n| (n.width, n.height)).collect();
    let placed = place(&sizes, &edges)?;
    let above = if of.title.is_empty() { PAD } else { PAD + LETTER.1 + PAD / 2.0 };
    let width = (placed.size.0).max(letters(&cut(&of.title))) + 2.0 * PAD;
    let height = above + placed.size.1 + PAD;
    let mut text = rect(width, height, "body");
    if !of.title.is_empty() {
        text += &label(PAD, PAD / 2.0, &of.title, "title");
    }
    for path in &placed.paths {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "<path class=\"arrow\" transform=\"translate({PAD} {above})\" d=\"{path}\"/>"
        );
    }
    for (node, (x, y)) in nodes.iter().zip(&placed.corners) {
        text += &moved(node, PAD + x, above + y);
    }
    let left_out = placed.left_out + nodes.iter().map(|n| n.left_out).sum::<usize>();
    Ok(Picture { width, height, text, left_out })
}

/// An operation: its line, and its bodies side by side below it.
fn operation(line: &Line) -> Result<Picture, Failure> {
    if line.bodies.is_empty() {
        return Ok(boxed(&line.text, if line.is_end() { "end" } else { "" }));
    }
    let bodies: Vec<Picture> = line.bodies.iter().map(body).collect::<Result<_, _>>()?;
    let inner: f64 = bodies.iter().map(|b| b.width + PAD).sum();
    let width = (inner - PAD).max(letters(&cut(&line.text))) + 2.0 * PAD;
    let above = PAD + LETTER.1;
    let height = above + bodies.iter().map(|b| b.height).fold(0.0, f64::max) + PAD;
    let mut text = rect(width, height, "region") + &label(PAD, PAD / 2.0, &line.text, "");
    let mut x = PAD;
    for body in &bodies {
        text += &moved(body, x, above);
        x += body.width + PAD;
    }
    let left_out = bodies.iter().map(|b| b.left_out).sum();
    Ok(Picture { width, height, text, left_out })
}

/// A box with a line in it.
fn boxed(line: &str, class: &str) -> Picture {
    let (width, height) = (letters(&cut(line)) + PAD, LETTER.1 + PAD / 2.0);
    let text = rect(width, height, class) + &label(PAD / 2.0, PAD / 4.0, line, "");
    Picture { width, height, text, left_out: 0 }
}

fn rect(width: f64, height: f64, class: &str) -> String {
    format!("<rect class=\"{class}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"4\"/>")
}

/// A line of text, from its upper left corner on.
fn label(x: f64, y: f64, line: &str, class: &str) -> String {
    let (shown, whole) = (cut(line), escaped(line));
    let title = if shown == line { String::new() } else { format!("<title>{whole}</title>") };
    let shown = escaped(&shown);
    format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\">{title}{shown}</text>", y + 12.0)
}

fn moved(picture: &Picture, x: f64, y: f64) -> String {
    format!("<g transform=\"translate({x:.1} {y:.1})\">{}</g>\n", picture.text)
}

fn letters(line: &str) -> f64 {
    line.chars().count() as f64 * LETTER.0
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(LETTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_string(),
    }
}

/// As it may stand in an element or an attribute; characters that XML has no place for are left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}
