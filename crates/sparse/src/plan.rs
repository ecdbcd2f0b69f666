//! Finding the entries of a matrix from its products: compression and decompression.

use crate::acyclic::Trees;
use crate::coloring::{Coloring, Recovery};
use crate::graph::edge_ends;
use crate::{Index, Pattern, Problem};

/// What a matrix is made of: `f64`, `f32` and their like.
pub trait Entry: Copy + Default + std::ops::Sub<Output = Self> + std::ops::AddAssign {}

impl<T: Copy + Default + std::ops::Sub<Output = T> + std::ops::AddAssign> Entry for T {}

/// A product that a colouring asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The matrix times the sum of the columns' unit vectors of this colour (from 1).
    Column(usize),
    /// The transposed matrix times the sum of the rows' unit vectors of this colour (from 1).
    Row(usize),
}

/// Which entries of a symmetric matrix are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Triangle {
    /// All.
    #[default]
    Full,
    /// Those on and below the diagonal.
    Lower,
    /// Those on and above the diagonal.
    Upper,
}

impl Triangle {
    fn has(self, i: usize, j: usize) -> bool {
        match self {
            Triangle::Full => true,
            Triangle::Lower => i >= j,
            Triangle::Upper => i <= j,
        }
    }
}

/// Why a plan and its data do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The colouring is of another pattern.
    #[error(
        "the colouring is of a pattern of {expected:?} (rows, columns, entries), this one has {found:?}; colour this one"
    )]
    ForeignPattern {
        /// What was coloured.
        expected: (usize, usize, usize),
        /// What was given.
        found: (usize, usize, usize),
    },
    /// The colouring is of another pattern of the same size.
    #[error("the colouring is of another pattern of the same size; colour this one")]
    OtherPattern,
    /// A plan that was read and contradicts itself.
    #[error("the plan is damaged: {what} do not fit; make it anew")]
    Damaged {
        /// The part.
        what: &'static str,
    },
    /// A triangle of a matrix that is not symmetric.
    #[error("only a symmetric matrix has triangles; ask for all entries")]
    NoTriangle,
}

/// What is done with the products to find the entries: once made, it is used for any values.
///
/// The products stand in one slice: those of the column colours first, each as long as there are rows,
/// then those of the row colours, each as long as there are columns.
///
/// ```
/// use cotangent_sparse::{Greedy, Pattern, Plan, Problem};
///
/// // An arrow: a dense row, a dense column, a diagonal.
/// let arrow = Pattern::from_rows(4, 4, |i| if i == 0 { vec![0, 1, 2, 3] } else { vec![0, i] }).unwrap();
/// let coloring = Greedy::default().color(&arrow, Problem::Column).unwrap();
/// let plan = Plan::new(&arrow, &coloring).unwrap();
/// let values: Vec<f64> = (1..=arrow.nnz()).map(|k| k as f64).collect();
/// let products = plan.compress(&arrow, &values);
/// let mut found = vec![0.0; arrow.nnz()];
/// plan.decompress(&products, &mut found, &mut plan.scratch());
/// assert_eq!(found, values);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(try_from = "crate::saved::SavedPlan", into = "crate::saved::SavedPlan")
)]
pub struct Plan {
    pub(crate) nrows: usize,
    pub(crate) ncols: usize,
    pub(crate) columns: Vec<u32>,
    pub(crate) rows: Vec<u32>,
    pub(crate) column_count: usize,
    pub(crate) row_count: usize,
    /// By direction: (entry, place in the product).
    pub(crate) start: Vec<usize>,
    pub(crate) reads: Vec<(u32, u32)>,
    pub(crate) tree_start: Vec<u32>,
    pub(crate) steps: Steps,
    pub(crate) entries: usize,
}

/// By tree, for substitution: leaf, parent, entry, its mirror image.
pub(crate) type Steps = Vec<(u32, u32, u32, u32)>;

const NONE: u32 = u32::MAX;

impl Plan {
    /// A plan for all entries of a pattern.
    ///
    /// # Errors
    /// If the colouring is of another pattern.
    pub fn new<I: Index>(pattern: &Pattern<I>, coloring: &Coloring) -> Result<Plan, PlanError> {
        Plan::triangle(pattern, coloring, Triangle::Full)
    }

    /// A plan for a triangle of a symmetric pattern: values then stand as in the pattern of the triangle.
    ///
    /// # Errors
    /// If the colouring is of another pattern, or not symmetric.
    pub fn triangle<I: Index>(
        pattern: &Pattern<I>,
        coloring: &Coloring,
        triangle: Triangle,
    ) -> Result<Plan, PlanError> {
        coloring.check_pattern(pattern)?;
        let symmetric = matches!(coloring.problem, Problem::Symmetric(_));
        if triangle != Triangle::Full && !symmetric {
            return Err(PlanError::NoTriangle);
        }
        let places = Places::new(pattern, symmetric, triangle);
        let mut plan = Plan {
            nrows: pattern.nrows(),
            ncols: pattern.ncols(),
            columns: coloring.columns.clone(),
            rows: coloring.rows.clone(),
            column_count: coloring.column_count(),
            row_count: coloring.row_count(),
            start: Vec::new(),
            reads: Vec::new(),
            tree_start: vec![0],
            steps: Vec::new(),
            entries: places.count,
        };
        // (direction, entry, place in the product)
        let mut reads: Vec<(u32, u32, u32)> = Vec::with_capacity(places.count);
        let column = |j: usize| coloring.columns[j] - 1;
        let row = |i: usize| coloring.column_count + coloring.rows[i] - 1;
        match &coloring.recovery {
            Recovery::Columns => {
                plan.group_columns(pattern);
                return Ok(plan);
            }
            Recovery::Rows => {
                reads.extend(pattern.entries().zip(0..).map(|((i, j), k)| (row(i), k, j as u32)));
            }
            Recovery::Sides(sides) => {
                reads.extend(pattern.entries().zip(0..).zip(sides).map(|(((i, j), k), by_row)| {
                    if *by_row { (row(i), k, j as u32) } else { (column(j), k, i as u32) }
                }));
            }
            Recovery::Stars(stars) => {
                for (k, i, j, edge) in places.list(pattern, symmetric) {
                    let Some(edge) = edge else {
                        reads.push((column(j), k, i as u32));
                        continue;
                    };
                    let hub = stars.hub[stars.star[edge as usize] as usize] as usize;
                    // The vertices of a bidirectional colouring are the columns, then the rows.
                    let read = if symmetric {
                        (column(hub), k, if hub == i { j } else { i } as u32)
                    } else if hub == j {
                        (column(j), k, i as u32)
                    } else {
                        (row(i), k, j as u32)
                    };
                    reads.push(read);
                }
            }
            Recovery::Trees(trees) => plan.follow(trees, &places, pattern, coloring, &mut reads),
            Recovery::Forest(forest) => {
                let vertices = pattern.ncols() + if symmetric { 0 } else { pattern.nrows() };
                let trees = forest.clone().trees(vertices, edge_ends(pattern, symmetric));
                plan.follow(&trees, &places, pattern, coloring, &mut reads);
            }
        }
        plan.group(&reads);
        Ok(plan)
    }

    /// The steps of all trees, and what they read.
    fn follow<I: Index>(
        &mut self,
        trees: &Trees,
        places: &Places,
        pattern: &Pattern<I>,
        coloring: &Coloring,
        reads: &mut Vec<(u32, u32, u32)>,
    ) {
        let symmetric = matches!(coloring.problem, Problem::Symmetric(_));
        let column = |j: usize| coloring.columns[j] - 1;
        let row = |i: usize| coloring.column_count + coloring.rows[i] - 1;
        let n = pattern.ncols();
        let mut of_edge = vec![(NONE, NONE); trees.steps.len()];
        for (k, i, j, edge) in places.list(pattern, symmetric) {
            match edge {
                None => reads.push((column(j), k, i as u32)),
                Some(edge) => {
                    let entry = &mut of_edge[edge as usize];
                    if entry.0 == NONE {
                        entry.0 = k;
                    } else {
                        entry.1 = k;
                    }
                }
            }
        }
        for t in 0..trees.count() {
            for &(leaf, parent, edge) in trees.tree(t) {
                let (k, mirror) = of_edge[edge as usize];
                let (leaf_at, parent_at) = (leaf as usize, parent as usize);
                let read = if symmetric || parent_at < n {
                    (column(parent_at), k, if symmetric { leaf } else { leaf - n as u32 })
                } else {
                    (row(parent_at - n), k, leaf_at as u32)
                };
                reads.push(read);
                self.steps.push((leaf, parent, k, if mirror == NONE { k } else { mirror }));
            }
            self.tree_start.push(self.steps.len() as u32);
        }
    }

    /// The reads of a column colouring: all entries of a column are read in one product, so columns
    /// are sorted, not entries.
    fn group_columns<I: Index>(&mut self, pattern: &Pattern<I>) {
        let mut start = vec![0; self.column_count + 1];
        for (j, color) in self.columns.iter().enumerate() {
            start[*color as usize] += pattern.range(j).len();
        }
        for c in 0..self.column_count {
            start[c + 1] += start[c];
        }
        let mut next = start.clone();
        self.reads = vec![(0, 0); pattern.nnz()];
        for (j, color) in self.columns.iter().enumerate() {
            let range = pattern.range(j);
            if let Some(next) = (*color as usize).checked_sub(1).map(|c| &mut next[c]) {
                let places = &mut self.reads[*next..*next + range.len()];
                *next += range.len();
                for ((read, i), k) in places.iter_mut().zip(pattern.column(j)).zip(range) {
                    *read = (k as u32, i.at() as u32);
                }
            }
        }
        self.start = start;
    }

    /// Sorts the reads by direction.
    fn group(&mut self, reads: &[(u32, u32, u32)]) {
        let mut start = vec![0; self.directions() + 1];
        for (direction, ..) in reads {
            start[*direction as usize + 1] += 1;
        }
        for d in 0..self.directions() {
            start[d + 1] += start[d];
        }
        let mut next = start.clone();
        self.reads = vec![(0, 0); reads.len()];
        for (direction, k, place) in reads {
            let at = &mut next[*direction as usize];
            self.reads[*at] = (*k, *place);
            *at += 1;
        }
        self.start = start;
    }

    fn directions(&self) -> usize {
        self.column_count + self.row_count
    }

    /// The number of entries that are found.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// The length of the slice of all products.
    pub fn products(&self) -> usize {
        self.column_count * self.nrows + self.row_count * self.ncols
    }

    /// All directions, in the order of their products.
    pub fn all_directions(&self) -> impl Iterator<Item = Direction> + use<> {
        let columns = (1..=self.column_count).map(Direction::Column);
        columns.chain((1..=self.row_count).map(Direction::Row))
    }

    /// Writes the vector that a direction multiplies with: ones at the columns or rows of the colour.
    ///
    /// # Panics
    /// If the vector is not as long as there are columns (rows).
    pub fn seed<T: Entry>(&self, direction: Direction, one: T, vector: &mut [T]) {
        let (colors, color) = match direction {
            Direction::Column(color) => (&self.columns, color),
            Direction::Row(color) => (&self.rows, color),
        };
        assert_eq!(vector.len(), colors.len(), "a seed has an entry for each column or row");
        for (v, c) in vector.iter_mut().zip(colors) {
            *v = if *c as usize == color { one } else { T::default() };
        }
    }

    /// Writes the vectors of all directions into zeros, one after the other: those of the column colours,
    /// each as long as there are columns, and those of the row colours, each as long as there are rows.
    ///
    /// # Panics
    /// If a slice is shorter than all its vectors.
    pub fn seed_all<T: Entry>(&self, one: T, columns: &mut [T], rows: &mut [T]) {
        for (vectors, colors) in [(columns, &self.columns), (rows, &self.rows)] {
            for (v, color) in colors.iter().enumerate().filter(|(_, color)| **color > 0) {
                vectors[(*color as usize - 1) * colors.len() + v] = one;
            }
        }
    }

    /// Room for a decompression by substitution.
    pub fn scratch<T: Entry>(&self) -> Vec<T> {
        vec![T::default(); self.scratch_len()]
    }

    /// How many numbers [`finish`](Plan::finish) needs, all zero, in memory of the caller's own.
    pub fn scratch_len(&self) -> usize {
        if self.steps.is_empty() { 0 } else { self.nrows + self.ncols }
    }

    /// The products of a matrix that has these values, for tests and for values that are there already.
    ///
    /// # Panics
    /// If the pattern or the values are not those of the plan.
    pub fn compress<T: Entry, I: Index>(&self, pattern: &Pattern<I>, values: &[T]) -> Vec<T> {
        assert_eq!(values.len(), pattern.nnz(), "a value for each entry");
        let mut products = vec![T::default(); self.products()];
        let by_rows = self.column_count * self.nrows;
        for ((i, j), v) in pattern.entries().zip(values) {
            if let Some(color) = (self.columns[j] as usize).checked_sub(1) {
                products[color * self.nrows + i] += *v;
            }
            if let Some(color) = (self.rows[i] as usize).checked_sub(1) {
                products[by_rows + color * self.ncols + j] += *v;
            }
        }
        products
    }

    /// The entries from all products. Allocates nothing.
    ///
    /// # Panics
    /// If a slice is not as long as [`products`](Plan::products), [`entries`](Plan::entries) and
    /// [`scratch`](Plan::scratch) say.
    pub fn decompress<T: Entry>(&self, products: &[T], values: &mut [T], scratch: &mut [T]) {
        assert_eq!(products.len(), self.products(), "all products");
        let (columns, rows) = products.split_at(self.column_count * self.nrows);
        for (c, product) in columns.chunks(self.nrows.max(1)).take(self.column_count).enumerate() {
            self.read(c, product, values);
        }
        for (r, product) in rows.chunks(self.ncols.max(1)).take(self.row_count).enumerate() {
            self.read(self.column_count + r, product, values);
        }
        self.finish(values, scratch);
    }

    /// Takes in one product, as it comes; after the last one, [`finish`](Plan::finish).
    ///
    /// # Panics
    /// If there is no such direction, or a slice has the wrong length.
    pub fn take<T: Entry>(&self, direction: Direction, product: &[T], values: &mut [T]) {
        let (d, count, length) = match direction {
            Direction::Column(color) => (color - 1, self.column_count, self.nrows),
            Direction::Row(color) => (color - 1, self.row_count, self.ncols),
        };
        assert!(d < count, "{direction:?} of {count}");
        assert_eq!(product.len(), length, "the length of a product");
        let first = if matches!(direction, Direction::Row(_)) { self.column_count } else { 0 };
        self.read(first + d, product, values);
    }

    #[inline]
    fn read<T: Entry>(&self, direction: usize, product: &[T], values: &mut [T]) {
        for (k, place) in &self.reads[self.start[direction]..self.start[direction + 1]] {
            values[*k as usize] = product[*place as usize];
        }
    }

    /// Finds the entries that need others, after all products have been taken in.
    ///
    /// # Panics
    /// If a slice has the wrong length.
    pub fn finish<T: Entry>(&self, values: &mut [T], scratch: &mut [T]) {
        assert_eq!(values.len(), self.entries, "a value for each entry");
        for tree in self.tree_start.windows(2) {
            let steps = &self.steps[tree[0] as usize..tree[1] as usize];
            for &(leaf, parent, k, mirror) in steps {
                // What the product has at the leaf is the sum of its entries in this tree.
                let known = std::mem::take(&mut scratch[leaf as usize]);
                let value = values[k as usize] - known;
                values[k as usize] = value;
                values[mirror as usize] = value;
                scratch[parent as usize] += value;
            }
            if let Some((_, root, ..)) = steps.last() {
                scratch[*root as usize] = T::default();
            }
        }
    }
}

/// The entries that are wanted, with their numbers and edges.
struct Places {
    triangle: Triangle,
    count: usize,
}

impl Places {
    fn new<I: Index>(pattern: &Pattern<I>, symmetric: bool, triangle: Triangle) -> Self {
        let count = if symmetric && triangle != Triangle::Full {
            pattern.entries().filter(|(i, j)| triangle.has(*i, *j)).count()
        } else {
            pattern.nnz()
        };
        Places { triangle, count }
    }

    /// (number, row, column, edge) of each wanted entry; the diagonal of a symmetric matrix has no edge.
    fn list<I: Index>(
        &self,
        pattern: &Pattern<I>,
        symmetric: bool,
    ) -> Vec<(u32, usize, usize, Option<u32>)> {
        let mut list = Vec::with_capacity(self.count);
        let mut edges = 0;
        // Of each column, the edge of the next entry below the diagonal whose mirror image comes.
        let mut below = vec![0u32; pattern.ncols()];
        for j in 0..pattern.ncols() {
            if symmetric {
                let first = pattern.column(j).partition_point(|i| i.at() <= j);
                below[j] = edges;
                edges += (pattern.column(j).len() - first) as u32;
            }
            let mut next = below[j];
            for (offset, i) in pattern.column(j).iter().map(|i| i.at()).enumerate() {
                let edge = if !symmetric {
                    Some((pattern.range(j).start + offset) as u32)
                } else {
                    match i.cmp(&j) {
                        std::cmp::Ordering::Less => {
                            below[i] += 1;
                            Some(below[i] - 1)
                        }
                        std::cmp::Ordering::Equal => None,
                        std::cmp::Ordering::Greater => {
                            next += 1;
                            Some(next - 1)
                        }
                    }
                };
                if self.triangle.has(i, j) || !symmetric {
                    list.push((list.len() as u32, i, j, edge));
                }
            }
        }
        list
    }
}
