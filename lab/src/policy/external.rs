// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Policies that are programs of their own: `external:PATH[:name=value…]`, whose names in results end in the program's content, so that
//! a journal takes nothing over from another build. `lib/policy/fovea-policy.h` is the other side.
//!
//! A program and no shared library, because `fovea` is linked statically, where there is no dlopen; because a policy that crashes then
//! ends one line and not the lab; and because a program can be written in any language. Requests go to its standard input and answers come
//! from its standard output, a batch at a time. It says what it evicts and takes in, and so the lab keeps books of what it holds: every
//! hit and every byte is checked against them, so no policy can claim what a cache of that size could not do.

use std::{
    fs,
    io::{self, Read, Write},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Arc,
};

use super::{pipe::End, Batch, Descriptor, Policy, Request, Tally};
use crate::{store::checksum_of, Error, Result, Stop};

/// What the policy's name begins with.
pub const NAME: &str = "external";
/// Asked for, requests have the trace's times.
const TIMES: &str = "times";
/// The content that the program must have; results tell it.
const CONTENT: &str = "xxh64";

const VERSION: u32 = 1;
const HELLO: &[u8; 8] = b"FOVEAPOL";
const ANSWER: &[u8; 8] = b"FOVEAPOK";
/// Of a word of an answer; the rest of it is the number of evictions, whose objects follow.
const HIT: u32 = 1;
const TAKEN: u32 = 2;
const EVICTIONS_SHIFT: u32 = 2;
const LONGEST_COMPLAINT_BYTES: u32 = 4096;

/// What the registry would say of such a policy.
pub(super) static DESCRIPTOR: Descriptor = Descriptor {
    name: NAME,
    source: "a program",
    parameters: &[],
    needs_future: false,
    bytes_per_object: 4,
    build: |_, _| Box::new(Session::new(None, 0, &Stop::default(), Some("it names no program".into()))),
};

/// A program and what it is started with.
#[derive(Debug)]
pub struct Program {
    /// As it was named.
    name: String,
    path: PathBuf,
    /// The file's (XXH64), without what it loads.
    content: u64,
    /// Not looked at here.
    parameters: Vec<(String, String)>,
    times: bool,
}

impl Program {
    /// The program of that path, with parameters that it may know or not.
    pub(super) fn new(name: &str, parameters: Vec<(String, String)>) -> Result<Program> {
        let wrong = |what: String| Error::Usage(format!("policy {NAME}:{name}: {what}"));
        let none = |what: String| wrong(format!("{what}; name a program that was built with fovea-policy.h"));
        if name.is_empty() {
            return Err(none("no program named".into()));
        }
        // Whole, for a name alone would be looked up in $PATH.
        let path = fs::canonicalize(name).map_err(|e| none(e.to_string()))?;
        if !path.is_file() {
            return Err(none("no file".into()));
        }
        let content = checksum_of(&path).map_err(|e| none(e.to_string()))?;
        let (mut times, mut own) = (false, Vec::new());
        for (key, value) in parameters {
            let is = format!("{content:016x}");
            match key.as_str() {
                TIMES if value == "1" => times = true,
                CONTENT if value == is => {}
                TIMES => return Err(wrong(format!("{TIMES} is {value:?}; take 1, or leave it out"))),
                CONTENT => return Err(wrong(format!("its content is {is} and not {value}; build it as it was"))),
                _ => own.push((key, value)),
            }
        }
        Ok(Program { name: name.into(), path, content, parameters: own, times })
    }

    /// Whether requests must have times.
    pub fn needs_times(&self) -> bool {
        self.times
    }

    /// A cache of that capacity. What goes wrong is the cache's [failure](Policy::failure).
    pub(super) fn build(self: &Arc<Self>, capacity: u64, stop: &Stop) -> Box<dyn Policy> {
        Box::new(Session::new(Some(self.clone()), capacity, stop, None))
    }
}

impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{NAME}:{}", self.name)?;
        if self.times {
            write!(f, ":{TIMES}=1")?;
        }
        self.parameters.iter().try_for_each(|(name, value)| write!(f, ":{name}={value}"))?;
        write!(f, ":{CONTENT}={:016x}", self.content)
    }
}

/// A running program.
struct Running {
    child: Child,
    /// Nothing once it is to end.
    requests: Option<End<ChildStdin>>,
    answers: End<ChildStdout>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.requests = None;
        // Mostly it has ended; one that has not is not waited for. Of a program that is gone there is nothing left to be told.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.requests.as_mut().map_or(Ok(()), |requests| requests.write_all(bytes))
    }

    fn word(&mut self) -> io::Result<u32> {
        let mut word = [0; 4];
        self.answers.read_exact(&mut word)?;
        Ok(u32::from_le_bytes(word))
    }

    fn bytes(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.answers.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn start(program: &Program, capacity: u64, objects: u32, stop: &Stop) -> Result<Running, String> {
        if checksum_of(&program.path).ok() != Some(program.content) {
            return Err("the program was changed since it was named; run again".into());
        }
        let parameters = program.parameters.iter().map(|(name, value)| format!("{name}={value}"));
        let child = Command::new(&program.path).args(parameters).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let not_started = |e| format!("cannot be started: {e}");
        let mut child = child.map_err(not_started)?;
        let requests = child.stdin.take().map(|pipe| End::new(pipe, stop)).transpose().map_err(not_started)?;
        let answers = End::new(child.stdout.take().ok_or("has no output")?, stop).map_err(not_started)?;
        let mut running = Running { child, requests, answers };
        let hello = [&HELLO[..], &VERSION.to_le_bytes(), &objects.to_le_bytes(), &capacity.to_le_bytes()].concat();
        // Whatever a program that does not listen answers, or not, says more than that it does not listen.
        let _ = running.say(&hello);
        let silent = |_| "ended and did not answer as a policy does; build it with fovea-policy.h".to_owned();
        if running.bytes(ANSWER.len()).map_err(silent)? != ANSWER {
            return Err("does not answer as a policy does; build it with fovea-policy.h".into());
        }
        let version = running.word().map_err(silent)?;
        if version != VERSION {
            return Err(format!(
                "speaks version {version} of the protocol and this program version {VERSION}; build it with this fovea-policy.h"
            ));
        }
        let length = running.word().map_err(silent)?;
        if length > 0 {
            let complaint = running.bytes(length.min(LONGEST_COMPLAINT_BYTES) as usize).map_err(silent)?;
            let complaint = String::from_utf8_lossy(&complaint).replace(char::is_control, " ");
            return Err(format!("refuses to start: {complaint}"));
        }
        Ok(running)
    }
}

/// A cache in a program, and the books of what it holds.
struct Session {
    /// Until it is started.
    program: Option<Arc<Program>>,
    running: Option<Running>,
    /// Ends waiting for it.
    stop: Stop,
    capacity: u64,
    /// Weight of each object when it came in; 0 of one that is not held.
    held: Vec<u64>,
    objects: u64,
    used: u64,
    requests: u64,
    failure: Option<String>,
    buffer: Vec<u8>,
}

impl Session {
    fn new(program: Option<Arc<Program>>, capacity: u64, stop: &Stop, failure: Option<String>) -> Session {
        Session {
            program,
            running: None,
            stop: stop.clone(),
            capacity,
            held: Vec::new(),
            objects: 0,
            used: 0,
            requests: 0,
            failure,
            buffer: Vec::new(),
        }
    }

    fn serve(&mut self, batch: Batch<'_>) -> Result<Tally, String> {
        if let Some(program) = self.program.take() {
            self.running = Some(Running::start(&program, self.capacity, self.held.len() as u32, &self.stop)?);
        }
        let running = self.running.as_mut().ok_or("was never started")?;
        self.buffer.clear();
        self.buffer.extend((batch.ids.len() as u32).to_le_bytes());
        for (at, id) in batch.ids.iter().enumerate() {
            self.buffer.extend(id.to_le_bytes());
            let size = batch.sizes.map_or(1, |sizes| sizes[at]);
            let size = u32::try_from(size)
                .map_err(|_| format!("an object of {size} bytes; a program is told of less than 4 GiB"))?;
            self.buffer.extend(size.to_le_bytes());
            self.buffer.extend(batch.times_ns.map_or(0, |times| times[at]).to_le_bytes());
        }
        let first = self.requests + 1;
        let ended = |e: io::Error| match e.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => {
                format!("ended before it answered request {first} and those behind it")
            }
            _ => format!("at request {first}: {e}"),
        };
        running.say(&self.buffer).map_err(ended)?;
        let words = running.word().map_err(ended)?;
        // A word a request, and one for each object that it can evict.
        let most = 2 * batch.ids.len() as u64 + self.objects;
        if words < batch.ids.len() as u32 || u64::from(words) > most {
            return Err(format!("at request {first}: answers {} requests with {words} words", batch.ids.len()));
        }
        let raw = running.bytes(4 * words as usize).map_err(ended)?;
        let mut words = raw.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let mut tally = Tally::default();
        for (at, &id) in batch.ids.iter().enumerate() {
            self.requests += 1;
            let size = batch.sizes.map_or(1, |sizes| sizes[at]);
            let hit =
                self.book(id, size, &mut words).map_err(|what| format!("at request {}: {what}", self.requests))?;
            tally.hits += u64::from(hit);
            tally.hit_weight += if hit { size } else { 0 };
        }
        match words.next() {
            Some(_) => Err(format!("at request {}: answers more than it was asked", self.requests)),
            None => Ok(tally),
        }
    }

    /// Takes a request's answer into the books.
    fn book(&mut self, id: u32, size: u64, words: &mut impl Iterator<Item = u32>) -> Result<bool, String> {
        let short = "its answer ends too early";
        let word = words.next().ok_or(short)?;
        let held = self.held.get(id as usize).is_some_and(|&size| size > 0);
        match (word & HIT != 0, held) {
            (true, false) => return Err(format!("says that object {id} is a hit, which it does not hold")),
            (false, true) => return Err(format!("says that object {id} is a miss, which it holds")),
            _ => {}
        }
        for _ in 0..word >> EVICTIONS_SHIFT {
            let victim = words.next().ok_or(short)?;
            let weight = self.held.get_mut(victim as usize).map(std::mem::take).filter(|&weight| weight > 0);
            let weight = weight.ok_or_else(|| format!("evicts object {victim}, which it does not hold"))?;
            self.used -= weight;
            self.objects -= 1;
        }
        if word & TAKEN != 0 {
            if held {
                return Err(format!("takes in object {id}, which it held"));
            }
            *self.held.get_mut(id as usize).ok_or("was not told of all objects")? = size;
            self.used += size;
            self.objects += 1;
        }
        if self.used > self.capacity {
            return Err(format!("holds {} where {} have room", self.used, self.capacity));
        }
        Ok(held)
    }
}

impl Policy for Session {
    fn ensure_ids(&mut self, ids: u32) {
        if ids as usize > self.held.len() {
            self.held.resize(ids as usize, 0);
            if self.running.is_some() {
                self.failure.get_or_insert("cannot be told of more objects once it runs".into());
            }
        }
    }

    /// A message each way; a replay gives [`Policy::run`] many requests at a time.
    fn access(&mut self, request: Request) -> bool {
        let (ids, sizes, times) = ([request.id], [request.size], [request.time_ns]);
        let batch = Batch { ids: &ids, sizes: Some(&sizes), next_distances: None, times_ns: Some(&times) };
        self.run(batch).hits > 0
    }

    fn used(&self) -> u64 {
        self.used
    }

    fn contains(&self, id: u32) -> bool {
        self.held.get(id as usize).is_some_and(|&size| size > 0)
    }

    fn run(&mut self, batch: Batch<'_>) -> Tally {
        if self.failure.is_some() || batch.ids.is_empty() {
            return Tally::default();
        }
        self.serve(batch).unwrap_or_else(|failure| {
            self.failure = Some(failure);
            self.running = None;
            Tally::default()
        })
    }

    fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // No requests are the last ones. It frees what it has, and may say so, before it answers.
        if let Some(running) = &mut self.running {
            let _ = running.say(&0u32.to_le_bytes()).and_then(|()| running.word());
        }
    }
}
