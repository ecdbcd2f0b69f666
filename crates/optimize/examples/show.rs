fn main() {
    let text = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    let f = cotangent_ir::parse(&text).unwrap();
    let g = match std::env::args().nth(2).as_deref() {
        Some("rev") => cotangent_transform::reverse(&f).unwrap(),
        Some("grad") => cotangent_transform::gradient(&f).unwrap(),
        _ => f,
    };
    println!("{g}\n{}", g.cost());
    let o = cotangent_optimize::optimize(&g, &Default::default());
    println!("{}\n{}", o.function, o.stats);
}
