//! Functions that come with a derivative of their own, which is the right one.

use cotangent_ir::{Function, parse};

/// How many there are.
pub(super) const COUNT: usize = 4;

const TEXTS: [&str; COUNT] = [
    "fn @wave.jvp(%x: f64, %y: f64, %dx: lin f64, %dy: lin f64) -> f64 {
  %c = cos %x
  %p = mul %c, %y
  %a = mul %dx, %p
  %s = sin %x
  %b = mul %dy, %s
  %t = add %a, %b
  ret %t
}
fn @wave(%x: f64, %y: f64) -> f64 jvp @wave.jvp {
  %s = sin %x
  %r = mul %s, %y
  ret %r
}",
    "fn @norm.jvp(%x: [3]f64, %dx: lin [3]f64) -> f64 {
  %t = red sum (%i < 3) {
    %a = ld %x[%i]
    %da = ld %dx[%i]
    %h = tanh %a
    %p = mul %da, %h
    yield %p
  }
  ret %t
}
fn @norm(%x: [3]f64) -> f64 jvp @norm.jvp {
  %t = red sum (%i < 3) {
    %a = ld %x[%i]
    %c = cosh %a
    %l = ln %c
    yield %l
  }
  ret %t
}",
    "fn @pair.jvp(%x: [2]f64, %n: i64, %dx: lin [2]f64) -> ([2]f64, f64) {
  %k = irem %n, 2
  %d = ld %dx[%k]
  %two = mul %dx, 2.0
  ret %two, %d
}
fn @pair(%x: [2]f64, %n: i64) -> ([2]f64, i64, f64) jvp @pair.jvp {
  %k = irem %n, 2
  %a = ld %x[%k]
  %two = add %x, %x
  ret %two, %k, %a
}",
    "fn @half.jvp(%x: f64, %dx: f64) -> f64 {
  %t = mul %dx, 0.5
  ret %t
}
fn @half(%x: f64) -> f64 jvp @half.jvp {
  %r = mul %x, 0.5
  ret %r
}",
];

pub(super) fn with_rule(k: usize) -> Function {
    match parse(TEXTS[k]) {
        Ok(function) => function,
        Err(error) => panic!("{error}"),
    }
}
