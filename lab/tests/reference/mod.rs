// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Slow and obvious caches, written from the papers' descriptions and not from the fast ones: plain vectors, linear searches.

mod adaptive;
mod adaptsize;
mod clock_pro;
mod drawn;
mod experts;
mod frequency;
mod lirs;
mod newer;
mod queues;

/// A request, with the number of the request at which the object comes next, if it does.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub id: u32,
    pub size: u64,
    pub next: Option<usize>,
}

/// A slow cache.
pub trait Reference {
    fn access(&mut self, asked: Asked) -> bool;
    fn resident(&self) -> Vec<u32>;
}

/// Objects with their sizes, oldest first.
#[derive(Default, Clone)]
pub struct Queue(pub Vec<(u32, u64)>);

impl Queue {
    pub fn has(&self, id: u32) -> bool {
        self.0.iter().any(|o| o.0 == id)
    }

    pub fn weight(&self) -> u64 {
        self.0.iter().map(|o| o.1).sum()
    }

    pub fn take(&mut self, id: u32) -> Option<(u32, u64)> {
        let at = self.0.iter().position(|o| o.0 == id)?;
        Some(self.0.remove(at))
    }

    pub fn oldest(&mut self) -> Option<(u32, u64)> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }

    pub fn add(&mut self, object: (u32, u64)) {
        self.0.push(object);
    }

    pub fn ids(&self) -> Vec<u32> {
        self.0.iter().map(|o| o.0).collect()
    }
}

/// The reference of a policy with its parameters as written on the command line, if there is one.
pub fn of(name: &str, capacity: u64) -> Option<Box<dyn Reference>> {
    Some(match name {
        "lru" => Box::new(queues::Lru { capacity, queue: Queue::default() }),
        "fifo" => Box::new(queues::Fifo { capacity, queue: Queue::default() }),
        "clock" => Box::new(queues::Clock { capacity, ring: Vec::new(), hand: 0 }),
        "sieve" => Box::new(queues::Sieve { capacity, queue: Vec::new(), hand: None }),
        "belady" => Box::new(queues::Belady { capacity, objects: Vec::new() }),
        "s3-fifo" => Box::new(adaptive::S3Fifo::new(capacity, false)),
        "s3-fifo:fill=1" => Box::new(adaptive::S3Fifo::new(capacity, true)),
        "slru" => Box::new(newer::Slru { capacity, segments: Default::default() }),
        "lru-2" => Box::new(newer::Lru2 { capacity, times: Default::default(), cached: Vec::new(), now: 0 }),
        "lfu-da" | "gdsf" => {
            Box::new(newer::GreedyDual { capacity, by_size: name == "gdsf", cached: Vec::new(), age: 0.0, now: 0 })
        }
        "qdlp-fifo" => Box::new(newer::Qdlp { capacity, ..Default::default() }),
        "w-tinylfu" => Box::new(newer::WTinyLfu { capacity, ..Default::default() }),
        "2q" => Box::new(adaptive::TwoQ::new(capacity)),
        "arc" => Box::new(adaptive::Arc::new(capacity)),
        "lirs" => Box::new(lirs::Lirs::new(capacity)),
        "belady-size" => Box::new(drawn::Drawing::new(capacity, 128, 1, drawn::Worst::SizeTimesDistance)),
        "belady-size:sample=4:seed=7" => Box::new(drawn::Drawing::new(capacity, 4, 7, drawn::Worst::SizeTimesDistance)),
        "hyperbolic" => Box::new(drawn::Drawing::new(capacity, 64, 1, drawn::Worst::RequestsByTime)),
        "hyperbolic:sample=5" => Box::new(drawn::Drawing::new(capacity, 5, 1, drawn::Worst::RequestsByTime)),
        "hyperbolic:by-size=1" => Box::new(drawn::Drawing::new(capacity, 64, 1, drawn::Worst::RequestsByTimeAndSize)),
        "lhd" => Box::new(drawn::Lhd::new(capacity, [32, 1 << 20, 20_000, 10, 1])),
        "lhd:sample=3:period=6:ages=24:shift=2:seed=9" => Box::new(drawn::Lhd::new(capacity, [3, 6, 24, 2, 9])),
        "lecar" => Box::new(experts::LeCaR::new(capacity, 1)),
        "lecar:seed=5" => Box::new(experts::LeCaR::new(capacity, 5)),
        "cacheus" => Box::new(experts::Cacheus::new(capacity, 1)),
        "cacheus:seed=5" => Box::new(experts::Cacheus::new(capacity, 5)),
        "lfu" => Box::new(frequency::Lfu { capacity, cached: Vec::new() }),
        "random" => Box::new(frequency::Random::new(capacity, 1)),
        "random:seed=6" => Box::new(frequency::Random::new(capacity, 6)),
        "mq" => Box::new(frequency::Mq::new(capacity, 8, 4, 4)),
        "mq:queues=3:out=1:life=1" => Box::new(frequency::Mq::new(capacity, 3, 1, 1)),
        "mq:queues=4:out=0:life=0" => Box::new(frequency::Mq::new(capacity, 4, 0, 0)),
        "clock-pro" => Box::new(clock_pro::ClockPro::new(capacity)),
        "adaptsize" => Box::new(adaptsize::AdaptSize::new(capacity, 500_000, 1)),
        "adaptsize:period=40:seed=3" => Box::new(adaptsize::AdaptSize::new(capacity, 40, 3)),
        _ => return None,
    })
}
