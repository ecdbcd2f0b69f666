//! A program as a graph for Graphviz: bodies are clusters, and what they give leaves from their last line.

use std::collections::HashMap;
use std::fmt::{self, Write};

use super::outline::{Body, Line};

/// The graph of a program.
pub(super) fn dot(name: &str, functions: &[Body]) -> Result<String, fmt::Error> {
    let mut graph = Graph { text: String::new(), nodes: 0, clusters: 0 };
    writeln!(graph.text, "digraph \"{}\" {{", escaped(name))?;
    graph.text.push_str("  node [shape=box, style=rounded, fontname=monospace];\n");
    for function in functions {
        graph.body(function, None, &mut HashMap::new(), 1)?;
    }
    graph.text.push_str("}\n");
    Ok(graph.text)
}

struct Graph {
    text: String,
    nodes: usize,
    clusters: usize,
}

/// The nodes that a name stands for: two behind a branch.
type Scope<'b> = HashMap<&'b str, Vec<usize>>;

impl Graph {
    fn line(&mut self, depth: usize, text: &str) -> fmt::Result {
        writeln!(self.text, "{:1$}{text}", "", 2 * depth)
    }

    fn node(&mut self, depth: usize, label: &str, more: &str) -> Result<usize, fmt::Error> {
        self.nodes += 1;
        let node = self.nodes;
        self.line(depth, &format!("n{node} [label=\"{}\"{more}];", escaped(label)))?;
        Ok(node)
    }

    fn open(&mut self, depth: usize, title: &str) -> fmt::Result {
        self.clusters += 1;
        let head = format!("subgraph cluster_{} {{", self.clusters);
        self.line(depth, &head)?;
        self.line(depth + 1, &format!("label=\"{}\"; style=rounded;", escaped(title)))
    }

    /// A body, its parameters coming from a node; the node of its last line.
    fn body<'b>(
        &mut self,
        body: &'b Body,
        from: Option<usize>,
        scope: &mut Scope<'b>,
        depth: usize,
    ) -> Result<Option<usize>, fmt::Error> {
        self.open(depth, &body.title)?;
        for name in &body.params {
            let node = self.node(depth + 1, &format!("%{name}"), ", shape=ellipse")?;
            scope.insert(name, vec![node]);
            if let Some(from) = from {
                self.line(depth + 1, &format!("n{from} -> n{node} [style=dashed];"))?;
            }
        }
        let mut last = None;
        for line in &body.lines {
            let node = self.operation(line, scope, depth + 1)?;
            if line.is_end() {
                last = Some(node);
            }
        }
        self.line(depth, "}")?;
        Ok(last)
    }

    fn operation<'b>(
        &mut self,
        line: &'b Line,
        scope: &mut Scope<'b>,
        depth: usize,
    ) -> Result<usize, fmt::Error> {
        let node =
            self.node(depth, &line.text, if line.is_end() { ", shape=plain" } else { "" })?;
        for name in &line.uses {
            for from in scope.get(name.as_str()).cloned().unwrap_or_default() {
                self.line(depth, &format!("n{from} -> n{node};"))?;
            }
        }
        let mut ends = Vec::new();
        for body in &line.bodies {
            let end = self.body(body, Some(node), scope, depth)?;
            // A condition gives nothing but itself.
            if body.title != "while" {
                ends.extend(end);
            }
        }
        for name in &line.gives {
            scope.insert(name, if ends.is_empty() { vec![node] } else { ends.clone() });
        }
        Ok(node)
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
