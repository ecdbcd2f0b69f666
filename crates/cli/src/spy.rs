//! `cotangent spy`: a picture of the pattern in a Matrix Market file.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cotangent::coloring::{Coloring, Greedy, Pattern, Problem, read_matrix_market};

use crate::Failure;
use crate::color::style;

/// What to draw.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cotangent spy hessian.mtx\n  cotangent spy jacobian.mtx.gz --colors -o jacobian.svg"
)]
pub(crate) struct Arguments {
    /// A Matrix Market file, plain or gzip.
    file: PathBuf,
    /// Colour the columns so that those of one colour share no row.
    #[arg(long)]
    colors: bool,
    /// Write a picture here (.svg or .png) instead of drawing in the terminal.
    #[arg(short, long)]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = |error: &dyn std::fmt::Display| Failure::Input(error.to_string());
    let pattern = read_matrix_market(&arguments.file).map_err(|e| input(&e))?.pattern;
    let coloring = if arguments.colors {
        Some(Greedy::default().color(&pattern, Problem::Column).map_err(|e| input(&e))?)
    } else {
        None
    };
    match &arguments.output {
        None => {
            let mut out = anstream::stdout().lock();
            draw(&pattern, coloring.as_ref(), &mut out)?;
            writeln!(out, "{} × {}, {} entries", pattern.nrows(), pattern.ncols(), pattern.nnz())?;
            Ok(())
        }
        Some(path) => picture(&pattern, coloring.as_ref(), path),
    }
}

/// How many characters wide a picture may be.
fn width() -> usize {
    let terminal = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    terminal.unwrap_or(80_usize).clamp(10, 240)
}

/// Draws in Braille; a cell has the colour of the first entry in it.
pub(crate) fn draw(
    pattern: &Pattern,
    coloring: Option<&Coloring>,
    out: &mut impl Write,
) -> io::Result<()> {
    let width = (width() - 4).min(pattern.ncols().max(pattern.nrows()).div_ceil(2).max(1)).min(60);
    let text = cotangent::spy(pattern, width);
    let Some(coloring) = coloring else {
        return out.write_all(text.as_bytes());
    };
    let cells = first_colors(pattern, coloring, &text);
    for (line, colors) in text.lines().zip(cells) {
        for (c, color) in line.chars().zip(colors) {
            let style = style(color);
            write!(out, "{style}{c}{style:#}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The colour of the first entry in each cell of the picture.
fn first_colors(pattern: &Pattern, coloring: &Coloring, text: &str) -> Vec<Vec<u32>> {
    let lines: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
    let (height, width) = (lines.len(), lines.first().copied().unwrap_or(0));
    let mut cells = vec![vec![0; width]; height];
    let scale = |at: usize, size: usize, cells: usize| {
        (at * cells / size.max(1)).min(cells.saturating_sub(1))
    };
    for (i, j) in pattern.entries() {
        let cell = &mut cells[scale(i, pattern.nrows(), height)][scale(j, pattern.ncols(), width)];
        if *cell == 0 {
            *cell = color_of(coloring, i, j);
        }
    }
    cells
}

/// The colour that an entry is shown in: its column's, or its row's where the column has none.
fn color_of(coloring: &Coloring, row: usize, column: usize) -> u32 {
    match coloring.column_colors()[column] {
        0 => coloring.row_colors()[row],
        color => color,
    }
}

const PALETTE: [[u8; 3]; 10] = [
    [0x4e, 0x79, 0xa7],
    [0xf2, 0x8e, 0x2b],
    [0xe1, 0x57, 0x59],
    [0x76, 0xb7, 0xb2],
    [0x59, 0xa1, 0x4f],
    [0xed, 0xc9, 0x48],
    [0xb0, 0x7a, 0xa1],
    [0xff, 0x9d, 0xa7],
    [0x9c, 0x75, 0x5f],
    [0x33, 0x33, 0x33],
];

fn shade(coloring: Option<&Coloring>, row: usize, column: usize) -> [u8; 3] {
    let color = coloring.map_or(1, |coloring| color_of(coloring, row, column));
    PALETTE[(color.max(1) as usize - 1) % PALETTE.len()]
}

/// The most dots along a side of a picture.
const MOST: usize = 1000;

fn picture(pattern: &Pattern, coloring: Option<&Coloring>, path: &Path) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::Input(format!("{} could not be written: {error}", path.display()))
    };
    match path.extension().and_then(|e| e.to_str()) {
        Some("svg") => std::fs::write(path, svg(pattern, coloring)).map_err(|error| failed(&error)),
        Some("png") => {
            let (width, height, pixels) = raster(pattern, coloring);
            let file = std::fs::File::create(path).map_err(|error| failed(&error))?;
            let mut encoder = png::Encoder::new(io::BufWriter::new(file), width, height);
            encoder.set_color(png::ColorType::Rgb);
            let mut writer = encoder.write_header().map_err(|error| failed(&error))?;
            writer.write_image_data(&pixels).map_err(|error| failed(&error))
        }
        _ => Err(Failure::Input(format!(
            "{}: the picture's name must end in .svg or .png",
            path.display()
        ))),
    }
}

/// The size of a picture in dots, and how many entries fall on one along a side.
fn dots(pattern: &Pattern) -> (usize, usize, f64) {
    let longest = pattern.nrows().max(pattern.ncols()).max(1);
    let scale = (longest as f64 / MOST as f64).max(1.0);
    let along = |n: usize| ((n as f64 / scale).ceil() as usize).max(1);
    (along(pattern.ncols()), along(pattern.nrows()), scale)
}

fn raster(pattern: &Pattern, coloring: Option<&Coloring>) -> (u32, u32, Vec<u8>) {
    let (width, height, scale) = dots(pattern);
    // Small matrices are drawn with larger dots.
    let dot = (400 / width.max(height)).clamp(1, 16);
    let (w, h) = (width * dot, height * dot);
    let mut pixels = vec![255; 3 * w * h];
    for (i, j) in pattern.entries() {
        let (x, y) = ((j as f64 / scale) as usize * dot, (i as f64 / scale) as usize * dot);
        let shade = shade(coloring, i, j);
        for row in y..y + dot {
            for pixel in pixels[3 * (row * w + x)..3 * (row * w + x + dot)].chunks_exact_mut(3) {
                pixel.copy_from_slice(&shade);
            }
        }
    }
    (w as u32, h as u32, pixels)
}

fn svg(pattern: &Pattern, coloring: Option<&Coloring>) -> String {
    let (width, height, scale) = dots(pattern);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" shape-rendering=\"crispEdges\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    let mut last = None;
    for (i, j) in pattern.entries() {
        let at = ((j as f64 / scale) as usize, (i as f64 / scale) as usize);
        if last == Some(at) {
            continue;
        }
        last = Some(at);
        let [r, g, b] = shade(coloring, i, j);
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "<rect x=\"{}\" y=\"{}\" width=\"1\" height=\"1\" fill=\"#{r:02x}{g:02x}{b:02x}\"/>",
            at.0, at.1
        );
    }
    text.push_str("</svg>\n");
    text
}
