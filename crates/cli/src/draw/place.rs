//! Where the nodes of a graph go, and the lines between them. `layout-rs` does it; this file keeps it to what
//! it can do in a moment.

use std::panic::{AssertUnwindSafe, catch_unwind};

use layout::core::base::Orientation;
use layout::core::format::{ClipHandle, RenderBackend};
use layout::core::geometry::{Point, Position};
use layout::core::style::StyleAttr;
use layout::std_shapes::shapes::{Arrow, Element, ShapeKind};
use layout::topo::layout::VisualGraph;

use crate::Failure;

/// The most places: nodes, and the bends of lines that pass rows on their way.
const PLACES: usize = 1500;
/// The most comparisons in one search for lines that cross; there are some hundred of them.
const COMPARISONS: usize = 200_000;
/// Lines that pass more rows than this are left out first.
const SPANS: [usize; 6] = [usize::MAX, 24, 12, 6, 3, 1];
/// Between nodes, sideways and downwards.
const GAPS: (f64, f64) = (18.0, 36.0);

/// Where everything is.
pub(super) struct Placed {
    /// The upper left corner of each node.
    pub(super) corners: Vec<(f64, f64)>,
    /// The lines, as paths of SVG.
    pub(super) paths: Vec<String>,
    pub(super) size: (f64, f64),
    /// How many lines were left out.
    pub(super) left_out: usize,
}

/// Places nodes of these sizes. An edge goes from a node to a later one.
pub(super) fn place(sizes: &[(f64, f64)], edges: &[(usize, usize)]) -> Result<Placed, Failure> {
    let (span, tidy) = affordable(sizes.len(), edges);
    let rows = rows(sizes.len(), edges, tidy);
    let mut kept: Vec<(usize, usize)> =
        edges.iter().copied().filter(|(a, b)| rows[*b] - rows[*a] <= span).collect();
    // By where they end: then the library's search for cycles ends where it begins.
    kept.sort_by_key(|(a, b)| (*b, *a));
    let mut graph = VisualGraph::new(Orientation::TopToBottom);
    // It verifies by following every path there is, and there are too many.
    graph.dag.set_validate(false);
    let look = StyleAttr::simple();
    let nodes: Vec<_> = sizes
        .iter()
        .map(|(width, height)| {
            let size = Point::new(*width, *height);
            let shape = ShapeKind::new_box("");
            let mut node = Element::create(shape, look.clone(), Orientation::TopToBottom, size);
            node.pos =
                Position::new(Point::zero(), size, Point::zero(), Point::new(GAPS.0, GAPS.1));
            graph.add_node(node)
        })
        .collect();
    for (from, to) in &kept {
        graph.add_edge(Arrow::simple(""), nodes[*from], nodes[*to]);
    }
    let mut lines = Lines::default();
    if !nodes.is_empty() {
        // The library asserts what it relies on.
        quietly(|| graph.do_it(false, !tidy, false, &mut lines))?;
    }
    let boxes: Vec<(Point, Point)> = nodes.iter().map(|n| graph.pos(*n).bbox(false)).collect();
    let levels: Vec<usize> = nodes.iter().map(|n| graph.dag.level(*n)).collect();
    let heights = heights(&boxes, &levels);
    let ways: Vec<Vec<Point>> = kept
        .iter()
        .zip(&lines.0)
        .map(|((from, to), bends)| way(&heights, (boxes[*from], levels[*from]), boxes[*to], bends))
        .collect();
    let points = || boxes.iter().flat_map(|(a, b)| [*a, *b]).chain(ways.iter().flatten().copied());
    let least = |least: f64, x: f64| if nodes.is_empty() { 0.0 } else { least.min(x) };
    let left = points().map(|p| p.x).fold(f64::INFINITY, least);
    let top = points().map(|p| p.y).fold(f64::INFINITY, least);
    let far = points()
        .fold((0.0, 0.0), |far: (f64, f64), p| (far.0.max(p.x - left), far.1.max(p.y - top)));
    Ok(Placed {
        corners: boxes.iter().map(|(p, _)| (p.x - left, p.y - top)).collect(),
        paths: ways.iter().map(|way| written(way, left, top)).collect(),
        size: far,
        left_out: edges.len() - kept.len(),
    })
}

/// Where each row begins and ends.
fn heights(boxes: &[(Point, Point)], levels: &[usize]) -> Vec<(f64, f64)> {
    let rows = levels.iter().max().map_or(0, |last| last + 1);
    let mut heights = vec![(f64::INFINITY, f64::NEG_INFINITY); rows];
    for ((above, below), level) in boxes.iter().zip(levels) {
        let (top, bottom) = heights[*level];
        heights[*level] = (top.min(above.y), bottom.max(below.y));
    }
    heights
}

/// The way of a line from box to box: straight down through each row, so that it passes beside the boxes there,
/// however tall they are. The library's bends say where.
fn way(
    heights: &[(f64, f64)],
    (from, level): ((Point, Point), usize),
    to: (Point, Point),
    bends: &[Point],
) -> Vec<Point> {
    let within = |x: f64, (a, b): (Point, Point)| x.clamp(a.x + 4.0, (b.x - 4.0).max(a.x + 4.0));
    let [first, between @ .., last] = bends else { return Vec::new() };
    let mut way = vec![Point::new(within(first.x, from), from.1.y)];
    let mut down = |x: f64, row: usize, part: (bool, bool)| {
        if let Some((top, bottom)) = heights.get(row) {
            way.extend(part.0.then_some(Point::new(x, *top)));
            way.extend(part.1.then_some(Point::new(x, *bottom)));
        }
    };
    down(within(first.x, from), level, (false, true));
    for (k, bend) in between.iter().enumerate() {
        down(bend.x, level + 1 + k, (true, true));
    }
    down(within(last.x, to), level + 1 + between.len(), (true, false));
    way.push(Point::new(within(last.x, to), to.0.y));
    way
}

/// How many rows a line may go down, and whether there is time to look for a tidy order in the rows.
fn affordable(nodes: usize, edges: &[(usize, usize)]) -> (usize, bool) {
    for tidy in [true, false] {
        let rows = rows(nodes, edges, tidy);
        let depth = rows.iter().max().map_or(0, |deepest| deepest + 1);
        for span in SPANS {
            let mut widths = vec![0usize; depth];
            rows.iter().for_each(|row| widths[*row] += 1);
            for (from, to) in edges {
                if rows[*to] - rows[*from] <= span {
                    (rows[*from] + 1..rows[*to]).for_each(|row| widths[row] += 1);
                }
            }
            let places: usize = widths.iter().sum();
            let comparisons: usize = widths.windows(2).map(|w| w[0] * w[0] * w[1]).sum();
            // Few lines in a tidy order say more than many in none.
            if places <= PLACES && (!tidy || comparisons <= COMPARISONS) {
                return (span, tidy);
            }
        }
    }
    (1, false)
}

/// The row of each node: below all it uses. Nodes that use nothing go down to where they are used, if the
/// library is asked to.
fn rows(nodes: usize, edges: &[(usize, usize)], tidy: bool) -> Vec<usize> {
    let mut rows = vec![0usize; nodes];
    let mut sorted = edges.to_vec();
    sorted.sort_by_key(|(_, to)| *to);
    for (from, to) in &sorted {
        rows[*to] = rows[*to].max(rows[*from] + 1);
    }
    if tidy {
        let mut first = vec![usize::MAX; nodes];
        let mut uses = vec![false; nodes];
        for (from, to) in &sorted {
            first[*from] = first[*from].min(rows[*to]);
            uses[*to] = true;
        }
        for node in 0..nodes {
            if !uses[node] && first[node] != usize::MAX {
                rows[node] = first[node].saturating_sub(1);
            }
        }
    }
    rows
}

/// Runs what may panic; the panic says nothing by itself.
fn quietly(run: impl FnOnce()) -> Result<(), Failure> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let done = catch_unwind(AssertUnwindSafe(run));
    std::panic::set_hook(hook);
    done.map_err(|_| {
        Failure::Input(
            "the picture could not be laid out; `--emit dot` gives the graph for Graphviz"
                .to_string(),
        )
    })
}

/// A path that goes down at each of its points.
fn written(way: &[Point], left: f64, top: f64) -> String {
    let mut text = String::new();
    let mut last: Option<(f64, f64)> = None;
    for point in way {
        let (x, y) = (point.x - left, point.y - top);
        text += &match last {
            None => format!("M{x:.1} {y:.1}"),
            Some((a, b)) if (a - x).abs() < 0.5 && (b - y).abs() < 0.5 => continue,
            Some((a, _)) if (a - x).abs() < 0.5 => format!(" L{x:.1} {y:.1}"),
            Some((a, b)) => {
                let middle = (b + y) / 2.0;
                format!(" C{a:.1} {middle:.1} {x:.1} {middle:.1} {x:.1} {y:.1}")
            }
        };
        last = Some((x, y));
    }
    text
}

/// Takes the points that lines go through and leaves the rest.
#[derive(Default)]
struct Lines(Vec<Vec<Point>>);

impl RenderBackend for Lines {
    fn draw_rect(
        &mut self,
        _: Point,
        _: Point,
        _: &StyleAttr,
        _: Option<String>,
        _: Option<ClipHandle>,
    ) {
    }

    fn draw_line(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}

    fn draw_circle(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}

    fn draw_text(&mut self, _: Point, _: &str, _: &StyleAttr) {}

    fn draw_arrow(
        &mut self,
        path: &[(Point, Point)],
        _: bool,
        _: (bool, bool),
        _: &StyleAttr,
        _: Option<String>,
        _: &str,
    ) {
        // The first pair is the beginning and the way out, all others a way in and where it ends.
        let ends = path.iter().enumerate().map(|(k, (a, b))| if k == 0 { *a } else { *b });
        self.0.push(ends.collect());
    }

    fn create_clip(&mut self, _: Point, _: Point, _: usize) -> ClipHandle {
        0
    }
}
