//! What the fuzzers share: how long they run, and from which seed.

use std::time::{Duration, Instant};

/// How long and from where.
pub struct Plan {
    seed: u64,
    count: u64,
    begun: Instant,
    seconds: Duration,
    told: Duration,
}

impl Plan {
    /// From `--seconds N --seed S`; 60 seconds from seed 0 without them.
    ///
    /// # Panics
    /// If there is something else among the arguments.
    #[must_use]
    pub fn from_arguments() -> Plan {
        let (mut seconds, mut seed) = (60, 0);
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let number = words.next().and_then(|n| n.parse().ok());
            match (word.as_str(), number) {
                ("--seconds", Some(n)) => seconds = n,
                ("--seed", Some(n)) => seed = n,
                _ => panic!("--seconds N --seed S, each a whole number"),
            }
        }
        let (begun, seconds) = (Instant::now(), Duration::from_secs(seconds));
        Plan { seed, count: 0, begun, seconds, told: Duration::ZERO }
    }
}

/// The seeds to try.
impl Iterator for Plan {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let spent = self.begun.elapsed();
        if spent >= self.seconds {
            println!("{} tried, nothing found", self.count);
            return None;
        }
        if spent >= self.told + Duration::from_secs(10) {
            self.told = spent;
            println!("{} tried, the next is {}", self.count, self.seed + self.count);
        }
        self.count += 1;
        Some(self.seed + self.count - 1)
    }
}
