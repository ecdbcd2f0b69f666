//! Matrix Market files: what is written is read again, what is malformed is named with its line.

use cotangent_sparse::{
    MarketError, MatrixMarket, Pattern, parse_matrix_market, read_matrix_market,
    write_matrix_market, write_matrix_market_to,
};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch(std::env::temp_dir().join(format!("cotangent-{}-{name}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn parse(text: &str) -> MatrixMarket {
    parse_matrix_market(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn message(text: &str) -> String {
    parse_matrix_market(text.as_bytes()).expect_err(text).to_string()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// A random matrix, symmetric if asked for, as an ordered map from (column, row).
fn random(rng: &mut fastrand::Rng, symmetric: bool) -> (Pattern, Vec<f64>) {
    let nrows = rng.usize(0..30);
    let ncols = if symmetric { nrows } else { rng.usize(0..30) };
    let mut entries = BTreeMap::new();
    for _ in 0..if nrows * ncols == 0 { 0 } else { rng.usize(0..100) } {
        let (row, column) = (rng.usize(0..nrows), rng.usize(0..ncols));
        // Any bits, to see that all digits survive.
        let value = Some(f64::from_bits(rng.u64(..))).filter(|v| v.is_finite()).unwrap_or(-0.0);
        entries.insert((column, row), value);
        if symmetric {
            entries.insert((row, column), value);
        }
    }
    let pairs = entries.keys().map(|&(column, row)| (row, column));
    (Pattern::from_entries(nrows, ncols, pairs).unwrap(), entries.into_values().collect())
}

#[test]
fn what_is_written_is_read_again() {
    let mut rng = fastrand::Rng::with_seed(1);
    let (plain, packed) = (Scratch::new("trip.mtx"), Scratch::new("trip.mtx.gz"));
    for round in 0..200 {
        let symmetric = round % 2 == 0;
        let (pattern, values) = random(&mut rng, symmetric);
        for values in [None, Some(values.as_slice())] {
            let expected =
                MatrixMarket { pattern: pattern.clone(), values: values.map(Vec::from), symmetric };
            for path in [&plain.0, &packed.0] {
                write_matrix_market(path, &pattern, values, symmetric).unwrap();
                assert_eq!(read_matrix_market(path).unwrap(), expected);
            }
            let mut text = Vec::new();
            write_matrix_market_to(&mut text, &pattern, values, symmetric).unwrap();
            assert_eq!(text, std::fs::read(&plain.0).unwrap());
            assert_eq!(std::fs::read(&packed.0).unwrap()[..2], [0x1f, 0x8b]);
        }
    }
}

#[test]
fn compression_is_seen_in_the_bytes_and_not_in_the_name() {
    let text = b"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1\n";
    let (packed, plain) = (Scratch::new("packed.mtx"), Scratch::new("plain.mtx.gz"));
    // Two members, as `cat a.gz b.gz` makes them, are one text.
    let members = [gzip(&text[..20]), gzip(&text[20..])].concat();
    std::fs::write(&packed.0, members).unwrap();
    std::fs::write(&plain.0, text).unwrap();
    let read = read_matrix_market(&packed.0).unwrap();
    assert_eq!(read.pattern.to_string(), "··\n1·\n");
    assert_eq!(read_matrix_market(&plain.0).unwrap(), read);
}

#[test]
fn case_comments_blank_lines_and_spaces_do_not_matter() {
    let read = parse(
        "%%matrixmarket MATRIX Coordinate\tREAL  General \r\n%\n% comment\n\n \t3  2\t3 \r\n\n\
         3 1 1.5\r\n  % another\n\t1\t2\t-2E1\n\n2 2 +.5",
    );
    assert_eq!(read.pattern.to_string(), "·1\n·1\n1·\n");
    assert_eq!(read.values.unwrap(), [1.5, -20.0, 0.5]);
    assert!(!read.symmetric);
}

#[test]
fn repeated_entries_are_summed_and_zeros_of_coordinates_kept() {
    let read = parse(
        "%%MatrixMarket matrix coordinate integer general\n3 3 6\n\
         3 2 1\n1 1 7\n1 2 0\n3 2 10\n1 3 -5\n3 2 100\n",
    );
    assert_eq!(read.pattern.to_string(), "111\n···\n·1·\n");
    assert_eq!(read.values.unwrap(), [7.0, 0.0, 111.0, -5.0]);
    let read = parse("%%MatrixMarket matrix coordinate pattern general\n2 2 3\n2 1\n1 1\n2 1\n");
    assert_eq!((read.pattern.nnz(), read.values), (2, None));
    let read =
        parse("%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n2 1 1\n2 2 4\n2 1 2\n");
    assert_eq!(read.values.unwrap(), [3.0, 3.0, 4.0]);
}

#[test]
fn triangles_are_completed() {
    let skew = parse("%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 4\n3 2 5\n");
    assert_eq!(skew.pattern.to_string(), "·1·\n1·1\n·1·\n");
    assert_eq!(skew.values.unwrap(), [4.0, -4.0, 5.0, -5.0]);
    assert!(!skew.symmetric);
    let pattern = parse("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n");
    assert!(pattern.symmetric && pattern.pattern.to_string() == "11\n1·\n");
}

#[test]
fn arrays_go_by_columns_and_their_zeros_are_no_entries() {
    let general = parse("%%MatrixMarket matrix array real general\n2 3\n1\n0\n0 0.0\n\n3 -4\n");
    assert_eq!(general.pattern.to_string(), "1·1\n··1\n");
    assert_eq!(general.values.unwrap(), [1.0, 3.0, -4.0]);
    let symmetric = parse("%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n");
    assert_eq!(symmetric.values.unwrap(), [1.0, 2.0, 2.0, 3.0]);
    let skew = parse("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n");
    assert_eq!(skew.pattern.to_string(), "·11\n1·1\n11·\n");
    assert_eq!(skew.values.unwrap(), [1.0, 2.0, -1.0, 3.0, -2.0, -3.0]);
    assert_eq!(parse("%%MatrixMarket matrix array real general\n0 5\n").pattern.nnz(), 0);
}

#[test]
fn malformed_headers_are_named() {
    let header = |words: &str| message(&format!("%%MatrixMarket {words}\n1 1 0\n"));
    let no_header = "line 1: the first line is \"1 1 0\", expected a header such as \
                     \"%%MatrixMarket matrix coordinate real general\"";
    assert_eq!(message("1 1 0\n"), no_header);
    assert!(message("").starts_with("line 1: the first line is \"\", expected a header"));
    assert!(message("\n%%MatrixMarket matrix").starts_with("line 1: the first line is \"\""));
    let cases = [
        ("vector coordinate real general", "object is \"vector\", expected matrix"),
        ("matrix dense real general", "format is \"dense\", expected coordinate or array"),
        ("matrix coordinate", "field is \"\", expected real, integer or pattern"),
        ("matrix coordinate quaternion general", "field is \"quaternion\", expected real, integer"),
        ("matrix coordinate complex general", "field is \"complex\", expected real, integer or"),
        ("matrix coordinate complex hermitian", "pattern (complex is not supported)"),
        ("matrix array pattern general", "field is \"pattern\", expected real or integer for an"),
        ("matrix coordinate real", "symmetry is \"\", expected general, symmetric or skew-symm"),
        ("matrix coordinate real hermitian", "skew-symmetric (hermitian is not supported)"),
        ("matrix coordinate real general !", "sixth word is \"!\", expected none"),
    ];
    for (words, expected) in cases {
        let message = header(words);
        assert!(message.starts_with("line 1: the header's "), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn malformed_bodies_are_named_with_their_line() {
    let malformed = |format: &str, body: &str, expected: &str| {
        let message = message(&format!("%%MatrixMarket matrix {format}\n% comment\n{body}"));
        assert_eq!(message, expected);
    };
    let (real, pattern) = ("coordinate real general", "coordinate pattern general");
    let sizes = "expected the numbers of rows, columns and entries";
    malformed(real, "", &format!("line 2: the size line is \"\", {sizes}"));
    malformed(real, "\n3 3\n", &format!("line 4: the size line is \"3 3\", {sizes}"));
    malformed(real, "3 3 x", &format!("line 3: the size line is \"3 3 x\", {sizes}"));
    malformed(real, "3 3 -1\n", &format!("line 3: the size line is \"3 3 -1\", {sizes}"));
    malformed(real, "3 3 1 1\n", &format!("line 3: the size line is \"3 3 1 1\", {sizes}"));
    let array = "line 3: the size line is \"3 3 9\", expected the numbers of rows and columns";
    malformed("array real general", "3 3 9\n", array);
    let square = "line 3: the size line is \"2 3 0\", expected a square matrix, as the header says \
                  symmetric";
    malformed("coordinate real symmetric", "2 3 0\n", square);

    let few = "line 5: the number of entries is \"2\", expected 3 as line 3 announces";
    malformed(pattern, "3 3 3\n1 1\n2 2\n", few);
    malformed(pattern, "3 3 3\n1 1\n2 2", few);
    malformed("array real general", "1 3\n1\n2\n", few);
    let many = "line 5: the number of entries is \"2 or more\", expected 1 as line 3 announces";
    malformed(pattern, "3 3 1\n1 1\n2 2\n3 3\n", many);
    malformed("array real general", "1 1\n1\n2\n", many);

    let row =
        |found| format!("line 4: the row index is {found}, expected a whole number from 1 to 3");
    for index in ["0", "4", "-1", "1.0", "x", "99999999999999999999999"] {
        malformed(real, &format!("3 2 1\n{index} 1 1\n"), &row(format!("{index:?}")));
    }
    let column = "line 4: the column index is \"3\", expected a whole number from 1 to 2";
    malformed(pattern, "3 2 1\n1 3\n", column);
    let words = "line 4: the entry is \"1 1\", expected a row, a column and a value";
    malformed(real, "3 2 1\n1 1\n", words);
    let words = "line 4: the entry is \"1 1 1\", expected a row and a column";
    malformed(pattern, "3 2 1\n1 1 1\n", words);

    let above = "line 5: the entry is \"1 2 7\", expected a row on or below the diagonal, as the \
                 header says symmetric";
    malformed("coordinate real symmetric", "2 2 2\n1 1 1\n1 2 7\n", above);
    let diagonal = "line 4: the entry is \"2 2 0\", expected a row below the diagonal, as the \
                    header says skew-symmetric";
    malformed("coordinate real skew-symmetric", "2 2 1\n2 2 0\n", diagonal);

    for value in ["x", "nan", "-NaN", "inf", "-Infinity", "1e400", "1,5", "0x10", "1-2", "1d0"] {
        let expected = format!("line 4: the value is {value:?}, expected a finite number");
        malformed(real, &format!("1 1 1\n1 1 {value}\n"), &expected);
        malformed("array real general", &format!("1 1\n{value}\n"), &expected);
    }
    let whole = "line 4: the value is \"1.5\", expected a finite whole number";
    malformed("coordinate integer general", "1 1 1\n1 1 1.5\n", whole);
}

#[test]
fn absurd_sizes_are_errors_and_reserve_nothing() {
    let sides = |sizes: &str| {
        let message = message(&format!("%%MatrixMarket matrix coordinate real general\n{sizes}\n"));
        let expected = format!(
            "line 2: the size line is {sizes:?}, expected at most 268435456 rows and columns"
        );
        assert_eq!(message, expected);
    };
    sides("10000000000 3 1");
    sides("3 10000000000 1");
    sides("268435457 1 0");
    let announced = |entries: &str| {
        let head = "%%MatrixMarket matrix coordinate real general\n";
        message(&format!("{head}3 3 {entries}\n1 1 1\n"))
    };
    let few = "line 3: the number of entries is \"1\", expected 10000000000 as line 2 announces";
    assert_eq!(announced("10000000000"), few);
    assert!(announced("18446744073709551615").starts_with("line 3: the number of entries is"));
    assert!(announced("18446744073709551616").starts_with("line 2: the size line is"));
    for symmetry in ["general", "symmetric", "skew-symmetric"] {
        let text = format!("%%MatrixMarket matrix array real {symmetry}\n268435456 268435456\n1\n");
        assert!(message(&text).starts_with("line 3: the number of entries is \"1\""));
    }
    // Rows cost nothing.
    let tall =
        parse("%%MatrixMarket matrix coordinate pattern general\n268435456 1 1\n268435456 1");
    assert_eq!(tall.pattern.column(0), [268435455]);
}

#[test]
fn a_line_without_end_is_an_error() {
    let text = format!("%%MatrixMarket matrix coordinate real general\n%{}", "x".repeat(1 << 24));
    let message = message(&text);
    assert!(message.starts_with("line 2: the line is \"%xxx"), "{message}");
    assert!(message.ends_with("expected at most 16777216 bytes (the format allows 1024)"));
}

#[test]
fn files_that_are_missing_truncated_or_damaged_are_named_with_their_path() {
    let missing = Path::new("/nowhere/at/all.mtx");
    let error = read_matrix_market(missing).unwrap_err();
    assert!(matches!(error, MarketError::File { .. }));
    assert!(error.to_string().starts_with("cannot read /nowhere/at/all.mtx: "));
    let error = write_matrix_market(missing, &Pattern::dense(1, 1), None, false).unwrap_err();
    assert!(error.to_string().starts_with("cannot write /nowhere/at/all.mtx: "));

    let mut text = Vec::new();
    write_matrix_market_to(&mut text, &Pattern::dense(40, 40), None, false).unwrap();
    let (file, packed) = (Scratch::new("damaged.mtx.gz"), gzip(&text));
    for length in 2..packed.len() {
        std::fs::write(&file.0, &packed[..length]).unwrap();
        let error = read_matrix_market(&file.0).unwrap_err();
        let MarketError::InFile { path, error } = error else { panic!("{error}") };
        assert!(path == file.0 && matches!(*error, MarketError::Truncated { .. }), "{error}");
    }
    // All lines are there, but not the checksum.
    let message = read_matrix_market(&file.0).unwrap_err().to_string();
    let place = format!("{}: line 1603: the compressed data end in the middle", file.0.display());
    assert!(message.starts_with(&place), "{message}");
    let mut wrong = packed.clone();
    let checksum = wrong.len() - 8;
    wrong[checksum] ^= 1;
    std::fs::write(&file.0, &wrong).unwrap();
    let message = read_matrix_market(&file.0).unwrap_err().to_string();
    assert!(message.contains("line 1603: reading failed: "), "{message}");
}

#[test]
fn what_would_not_be_read_again_is_not_written() {
    let file = Scratch::new("untouched.mtx");
    std::fs::write(&file.0, "as it was").unwrap();
    let refused = |pattern: &Pattern, values: Option<&[f64]>, symmetric| {
        let error = write_matrix_market(&file.0, pattern, values, symmetric).unwrap_err();
        assert_eq!(std::fs::read(&file.0).unwrap(), b"as it was");
        error.to_string()
    };
    let lower = Pattern::from_entries(2, 2, [(0, 0), (1, 0)]).unwrap();
    assert!(refused(&lower, None, true).contains("entry (1, 0) differs from (0, 1)"));
    let wide = Pattern::from_entries(2, 3, []).unwrap();
    assert!(refused(&wide, None, true).contains("not symmetric (2 rows, 3 columns)"));
    let full = Pattern::dense(2, 2);
    let values = [1.0, 2.0, 3.0, 4.0];
    assert!(refused(&full, Some(&values), true).contains("entry (1, 0) differs from (0, 1)"));
    assert!(
        refused(&full, Some(&values[1..]), false).contains("3 values given for a pattern of 4")
    );
    let values = [1.0, f64::NAN, 3.0, 4.0];
    assert!(refused(&full, Some(&values), false).contains("entry (1, 0) is NaN"));
}

#[test]
fn no_mutation_of_a_file_panics() {
    let mut rng = fastrand::Rng::with_seed(7);
    let file = Scratch::new("mutated.mtx.gz");
    let (mut good, mut bad) = (0, 0);
    for round in 0..20_000 {
        let symmetric = rng.bool();
        let (pattern, values) = random(&mut rng, symmetric);
        let values = rng.bool().then_some(values);
        let mut text = Vec::new();
        write_matrix_market_to(&mut text, &pattern, values.as_deref(), symmetric).unwrap();
        if rng.u8(..4) == 0 {
            let symmetry = *rng.choice(&["general", "symmetric", "skew-symmetric"]).unwrap();
            let n = rng.usize(0..6);
            text = format!("%%MatrixMarket matrix array real {symmetry}\n{n} {n}\n").into_bytes();
            let values = match symmetry {
                "general" => n * n,
                "symmetric" => n * (n + 1) / 2,
                _ => n * n.saturating_sub(1) / 2,
            };
            for _ in 0..values {
                writeln!(text, "{}", rng.u8(..3)).unwrap();
            }
        }
        let packed = round % 10 == 0;
        if packed {
            text = gzip(&text);
        }
        for _ in 0..rng.usize(1..4) {
            let place = rng.usize(0..text.len().max(1));
            match rng.u8(..5) {
                _ if text.is_empty() => break,
                0 => text[place] = rng.u8(..),
                1 => text[place] = *rng.choice(b"0123456789 \n%-.eE").unwrap(),
                2 => text.insert(place, *rng.choice(b"019 \n%-.").unwrap()),
                3 => drop(text.remove(place)),
                _ => text.truncate(place + 1),
            }
        }
        let read = if packed {
            std::fs::write(&file.0, &text).unwrap();
            read_matrix_market(&file.0)
        } else {
            parse_matrix_market(text.as_slice())
        };
        match read {
            Ok(read) => {
                good += 1;
                let nnz = read.pattern.nnz();
                assert!(read.values.is_none_or(|values| values.len() == nnz));
                assert!(!read.symmetric || read.pattern.is_symmetric());
            }
            Err(error) => {
                bad += 1;
                assert!(error.to_string().contains("line "), "{error}");
            }
        }
    }
    assert!(good > 100 && bad > 1000, "{good} files read, {bad} refused");
}

#[test]
#[allow(clippy::print_stderr, reason = "a skipped test must say so")]
fn shared_matrices_are_read_and_survive_a_round_trip() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/matrices");
    let Ok(files) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: there is no {}", folder.display());
        return;
    };
    for file in files {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".mtx") && !name.ends_with(".mtx.gz") {
            continue;
        }
        let read = read_matrix_market(&path).unwrap();
        assert!(read.pattern.nnz() > 0, "{name}");
        assert_eq!(read.symmetric, name.starts_with("acopfH"), "{name}");
        assert!(!read.symmetric || read.pattern.is_symmetric(), "{name}");
        let mut text = Vec::new();
        let values = read.values.as_deref();
        write_matrix_market_to(&mut text, &read.pattern, values, read.symmetric).unwrap();
        assert_eq!(parse_matrix_market(text.as_slice()).unwrap(), read, "{name}");
    }
}
