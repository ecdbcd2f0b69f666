//! The fewest colours, by branch and bound: for small patterns, and to judge greedy colourings by.

use crate::coloring::{Coloring, ColoringError};
use crate::graph::{Adjacency, Bipartite, Lists};
use crate::order::{Neighbours, Stamps};
use crate::{Decompression, Greedy, Index, Pattern, Problem};

/// Colouring with the fewest colours there can be. The time grows exponentially; patterns of more than 2000
/// rows and columns are refused.
///
/// ```
/// use cotangent_sparse::{Exact, Greedy, Pattern, Problem};
///
/// // In the natural order the columns of this matrix take three colours; two are enough.
/// let p = Pattern::from_entries(4, 4, [(0, 2), (0, 3), (1, 1), (1, 3), (2, 2), (2, 3), (3, 0), (3, 1)]).unwrap();
/// assert_eq!(Greedy::default().color(&p, Problem::Column)?.count(), 3);
/// assert_eq!(Exact::default().color(&p, Problem::Column)?.count(), 2);
/// # Ok::<(), cotangent_sparse::ColoringError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Exact {
    /// How many partial colourings are looked at before it is given up.
    pub steps: u64,
}

impl Default for Exact {
    fn default() -> Self {
        Exact { steps: 20_000_000 }
    }
}

/// Larger patterns are not tried.
const VERTICES: usize = 2000;

/// What a colouring must not have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Two neighbours of one colour.
    Proper,
    /// That, or a path of four vertices in two colours.
    Star,
    /// That, or a cycle in two colours.
    Acyclic,
}

impl Exact {
    /// Colours columns, rows, both, or a symmetric matrix with the fewest colours. Of a symmetric matrix
    /// every vertex gets a colour: neutral ones, as [`Greedy::postprocess`] makes them, may save one more.
    ///
    /// # Errors
    /// As [`Greedy::color`]; for bidirectional problems by substitution, which it does not solve; and if
    /// it takes too many steps.
    pub fn color<I: Index>(
        &self,
        pattern: &Pattern<I>,
        problem: Problem,
    ) -> Result<Coloring, ColoringError> {
        // The search goes as deep as there are vertices.
        if pattern.nrows().saturating_add(pattern.ncols()) > VERTICES {
            return Err(ColoringError::TooHard { steps: self.steps });
        }
        let greedy = Greedy { orders: crate::Order::ALL.to_vec(), ..Greedy::default() };
        let start = greedy.color(pattern, problem)?;
        let (lists, rule, colors) = match problem {
            Problem::Column => (near(&Bipartite::new(pattern)), Rule::Proper, &start.columns),
            Problem::Row => {
                (near(&Bipartite::new(pattern).transposed()), Rule::Proper, &start.rows)
            }
            Problem::Symmetric(decompression) => {
                let rule = match decompression {
                    Decompression::Direct => Rule::Star,
                    Decompression::Substitution => Rule::Acyclic,
                };
                (near(&Adjacency::symmetric(pattern)?), rule, &start.columns)
            }
            Problem::Bidirectional(Decompression::Direct) => {
                let mut search = Both::new(pattern, &start, self.steps);
                search.extend(0, [0, 0]);
                if search.steps == 0 {
                    return Err(ColoringError::TooHard { steps: self.steps });
                }
                let (columns, rows) = search.best.split_at(pattern.ncols());
                return Coloring::given_both(pattern, columns, rows);
            }
            Problem::Bidirectional(Decompression::Substitution) => {
                return Err(ColoringError::GreedyOnly);
            }
        };
        let mut search = Search::new(lists, rule, colors, start.count() as u32, self.steps);
        search.extend(0, 0);
        if search.steps == 0 {
            return Err(ColoringError::TooHard { steps: self.steps });
        }
        Coloring::given(pattern, problem, &search.best)
    }
}

/// The neighbours of each vertex.
fn near<G: Neighbours>(graph: &G) -> Vec<Vec<u32>> {
    let mut seen = Stamps::new(graph.vertices());
    (0..graph.vertices() as u32)
        .map(|v| {
            let mut list = Vec::new();
            graph.each(v, &mut seen, |w| list.push(w));
            list
        })
        .collect()
}

struct Search {
    lists: Vec<Vec<u32>>,
    rule: Rule,
    /// The vertices, those with the most neighbours first.
    order: Vec<u32>,
    colors: Vec<u32>,
    best: Vec<u32>,
    least: u32,
    steps: u64,
}

impl Search {
    fn new(lists: Vec<Vec<u32>>, rule: Rule, best: &[u32], least: u32, steps: u64) -> Self {
        let mut order: Vec<u32> = (0..lists.len() as u32).collect();
        order.sort_by_key(|v| std::cmp::Reverse(lists[*v as usize].len()));
        let colors = vec![0; lists.len()];
        Search { lists, rule, order, colors, best: best.to_vec(), least, steps }
    }

    /// Colours the vertices from place `at` on, with `used` colours so far.
    fn extend(&mut self, at: usize, used: u32) {
        if at == self.order.len() {
            self.least = used;
            self.best.clone_from(&self.colors);
            return;
        }
        let v = self.order[at];
        // One new colour is as good as another.
        for color in 1..=(used + 1) {
            if color.max(used) >= self.least || self.steps == 0 {
                break;
            }
            self.steps -= 1;
            self.colors[v as usize] = color;
            if self.allowed(v) {
                self.extend(at + 1, used.max(color));
            }
        }
        self.colors[v as usize] = 0;
    }

    fn allowed(&self, v: u32) -> bool {
        let own = self.color(v);
        if self.colored(v).any(|w| self.color(w) == own) {
            return false;
        }
        match self.rule {
            Rule::Proper => true,
            Rule::Star => !self.on_two_colored_path(v),
            Rule::Acyclic => !self.on_two_colored_cycle(v),
        }
    }

    fn color(&self, v: u32) -> u32 {
        self.colors[v as usize]
    }

    fn colored(&self, v: u32) -> impl Iterator<Item = u32> + '_ {
        self.lists[v as usize].iter().copied().filter(|w| self.color(*w) > 0)
    }

    fn on_two_colored_path(&self, v: u32) -> bool {
        let own = self.color(v);
        self.colored(v).any(|w| {
            let other = self.color(w);
            // v at the end: v w x y; v inside: w v x y.
            let end = self.colored(w).any(|x| {
                x != v
                    && self.color(x) == own
                    && self.colored(x).any(|y| y != w && self.color(y) == other)
            });
            let inside = self.colored(v).any(|x| {
                x != w
                    && self.color(x) == other
                    && self.colored(x).any(|y| y != v && self.color(y) == own)
            });
            end || inside
        })
    }

    /// Whether two neighbours of one colour are joined by another path in the same two colours.
    fn on_two_colored_cycle(&self, v: u32) -> bool {
        let own = self.color(v);
        let neighbours: Vec<u32> = self.colored(v).collect();
        neighbours.iter().any(|&start| {
            let other = self.color(start);
            let (mut seen, mut open) = (vec![v, start], vec![start]);
            while let Some(w) = open.pop() {
                for x in self.colored(w) {
                    let color = self.color(x);
                    if (color == own || color == other) && !seen.contains(&x) {
                        seen.push(x);
                        open.push(x);
                    }
                }
            }
            neighbours.iter().any(|&w| w != start && self.color(w) == other && seen.contains(&w))
        })
    }
}

/// The search over colours of columns and rows together, 0 for neutral.
struct Both {
    /// Of each vertex, the columns first: its opposite ones.
    lists: Lists,
    columns: usize,
    order: Vec<u32>,
    colors: Vec<Option<u32>>,
    best: Vec<u32>,
    least: u32,
    steps: u64,
}

impl Both {
    fn new<I: Index>(pattern: &Pattern<I>, start: &Coloring, steps: u64) -> Self {
        let n = pattern.ncols();
        let graph = Bipartite::new(pattern);
        let (columns, rows) = (&graph.columns, graph.rows());
        let nnz = pattern.nnz() as u32;
        let lists = Lists {
            start: columns
                .start
                .iter()
                .copied()
                .chain(rows.start[1..].iter().map(|s| s + nnz))
                .collect(),
            items: columns
                .items
                .iter()
                .map(|i| i + n as u32)
                .chain(rows.items.iter().copied())
                .collect(),
        };
        let mut order: Vec<u32> = (0..lists.len() as u32).collect();
        order.sort_by_key(|v| std::cmp::Reverse(lists.of(*v).len()));
        let colors = vec![None; lists.len()];
        let best: Vec<u32> = start.columns.iter().chain(&start.rows).copied().collect();
        Both { lists, columns: n, order, colors, best, least: start.count() as u32, steps }
    }

    /// Colours the vertices from place `at` on, with so many colours of columns and of rows so far.
    fn extend(&mut self, at: usize, used: [u32; 2]) {
        let Some(&v) = self.order.get(at) else {
            self.least = used[0] + used[1];
            self.best = self.colors.iter().map(|color| color.unwrap_or(0)).collect();
            return;
        };
        let side = usize::from(v as usize >= self.columns);
        // A vertex without entries needs no colour, and one new colour is as good as another.
        let most = if self.lists.of(v).is_empty() { 0 } else { used[side] + 1 };
        for color in 0..=most {
            let mut now = used;
            now[side] = now[side].max(color);
            if now[0] + now[1] >= self.least || self.steps == 0 {
                break;
            }
            self.steps -= 1;
            self.colors[v as usize] = Some(color);
            if self.allowed(v) {
                self.extend(at + 1, now);
            }
        }
        self.colors[v as usize] = None;
    }

    /// Whether the entries that v has a part in can still be read. What is hidden stays hidden, however
    /// the search goes on.
    fn allowed(&self, v: u32) -> bool {
        self.lists
            .of(v)
            .iter()
            .all(|&w| self.readable(v, w) && self.lists.of(w).iter().all(|&x| self.readable(x, w)))
    }

    /// Whether an entry with both ends coloured stands alone on one side; others may yet.
    fn readable(&self, v: u32, w: u32) -> bool {
        if self.colors[v as usize].is_none() || self.colors[w as usize].is_none() {
            return true;
        }
        self.alone(v, w) || self.alone(w, v)
    }

    /// Whether v has a colour that no other vertex around w has.
    fn alone(&self, v: u32, w: u32) -> bool {
        let own = self.colors[v as usize];
        own > Some(0)
            && !self.lists.of(w).iter().any(|x| *x != v && self.colors[*x as usize] == own)
    }
}
