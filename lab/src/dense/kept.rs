// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Dense forms on disk, so that a long trace is decoded once. A form tells the trace's content, the options and the program that it
//! was made of and with; it is taken only if all are the same and its checksum holds, and else made anew and replaced.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{
    column::{bytes, numbers},
    Column, Dense, DenseOptions, Sizes, Times, CHUNK_REQUESTS,
};
use crate::{size::Footprint, store::Checksum};

/// The folder beside a trace.
const FOLDER: &str = ".fovea-dense";
const MAGIC: &[u8; 8] = b"fovdense";
/// Length of the description, checksum, magic number.
const TAIL_BYTES: u64 = 24;

/// What stands behind the columns.
#[derive(Serialize, Deserialize)]
struct Form {
    key: String,
    requests: u64,
    objects: u64,
    bytes: u64,
    /// The size of every request, if all have the same; else a column holds them.
    size_bytes: Option<u32>,
    /// The same of the sizes' upper halves, which are 0 below 4 GiB.
    size_high: Option<u32>,
    /// From the earliest time to the latest, if two columns hold the times.
    span_ns: Option<u64>,
    left_out: BTreeMap<String, u64>,
}

/// Where the form of a trace may lie.
pub(super) struct Kept {
    /// What decides beside the trace's content.
    shape: String,
    places: Vec<PathBuf>,
}

fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(cache.join("fovea/dense"))
}

fn short(text: &str) -> String {
    let mut checksum = Checksum::default();
    checksum.add(text.as_bytes());
    format!("{:016x}", checksum.finish())
}

impl Kept {
    pub(super) fn of(trace: &Path, options: &DenseOptions) -> Kept {
        // Times change nothing of what is made without them, so that they are no part of the trace's shape elsewhere.
        let shape = options.shape() + if options.times { "/times" } else { "" };
        let name = trace.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = trace.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut places = vec![folder.join(FOLDER).join(format!("{name}.{}", short(&shape)))];
        if let Some(cache) = cache_folder() {
            let whole = fs::canonicalize(trace).unwrap_or_else(|_| trace.to_owned());
            places.push(cache.join(format!("{name}.{}", short(&format!("{shape}{}", whole.display())))));
        }
        Kept { shape, places }
    }

    fn key(&self, checksum: u64) -> String {
        // What is made of the same bytes changes with the program's source.
        format!("{checksum:016x}/{}/{}", self.shape, env!("FOVEA_LAB_SOURCES"))
    }

    /// Whether there is a form, good or not.
    pub(super) fn is_there(&self) -> bool {
        self.places.iter().any(|place| place.exists())
    }

    /// The form of a trace with this content, if there is a good one.
    pub(super) fn load(&self, checksum: u64, options: &DenseOptions) -> Option<Dense> {
        self.places.iter().find_map(|place| self.read(place, checksum, options).ok().flatten())
    }

    fn read(&self, place: &Path, checksum: u64, options: &DenseOptions) -> io::Result<Option<Dense>> {
        let mut file = File::open(place)?;
        let Some((form, expected, description)) = describe(&file)? else { return Ok(None) };
        let sized = u64::from(form.size_bytes.is_none()) + u64::from(form.size_high.is_none());
        let columns = 1 + sized + if form.span_ns.is_some() { 2 } else { 0 };
        let right = Some(file.metadata()?.len())
            == (4 * columns)
                .checked_mul(form.requests)
                .and_then(|n| n.checked_add(description.len() as u64 + TAIL_BYTES));
        if form.key != self.key(checksum) || !right {
            return Ok(None);
        }
        let mut sum = Checksum::default();
        let shared = Arc::new(file.try_clone()?);
        let limit = options.column_memory_bytes;
        let mut column = |start_bytes: u64| -> io::Result<Column> {
            let mut column = Column::new(limit);
            let in_memory = column.fits(form.requests);
            let (mut left, mut raw) = (form.requests, vec![0; 4 * CHUNK_REQUESTS]);
            while left > 0 {
                let count = (CHUNK_REQUESTS as u64).min(left);
                let raw = &mut raw[..4 * count as usize];
                file.read_exact(raw)?;
                sum.add(raw);
                if in_memory {
                    column.extend(numbers(raw));
                }
                left -= count;
            }
            Ok(if in_memory { column } else { Column::of_file(shared.clone(), start_bytes, form.requests, limit) })
        };
        let ids = column(0)?;
        let mut at = 1;
        let mut half = |same: Option<u32>| match same {
            Some(size) => Ok(Column::of_same(size, form.requests, limit)),
            None => {
                at += 1;
                column(4 * form.requests * (at - 1))
            }
        };
        let sizes = Sizes::of_columns(half(form.size_bytes)?, half(form.size_high)?);
        let times = match form.span_ns {
            Some(span_ns) => {
                let mut next = |number: u64| column(4 * form.requests * (1 + sized + number));
                Some(Times::of_columns(next(0)?, next(1)?, span_ns))
            }
            None => None,
        };
        sum.add(&description);
        if sum.finish() != expected {
            return Ok(None);
        }
        Ok(Some(Dense {
            ids,
            sizes,
            next_distances: None,
            times,
            footprint: Footprint { objects: form.objects, bytes: form.bytes },
            left_out: form.left_out,
            checksum: Some(checksum),
            stop: options.stop.clone(),
        }))
    }

    /// Keeps a form where that is possible. If it is not, the next replay makes it anew.
    pub(super) fn store(&self, checksum: u64, dense: &Dense) {
        for place in &self.places {
            if self.write(place, checksum, dense).is_ok() {
                return;
            }
        }
    }

    fn write(&self, place: &Path, checksum: u64, dense: &Dense) -> io::Result<()> {
        let folder = place.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        let mut file = tempfile::Builder::new().permissions(readable).tempfile_in(folder)?;
        let mut sum = Checksum::default();
        let mut write = |part: &[u8]| {
            sum.add(part);
            file.write_all(part)
        };
        let halves = dense.sizes.columns();
        let [size_bytes, size_high] = halves.map(Column::all_the_same);
        let halves = halves.into_iter().filter(|half| half.all_the_same().is_none());
        let columns = [&dense.ids].into_iter().chain(halves).chain(dense.times.iter().flat_map(Times::columns));
        let mut scratch = Vec::new();
        for column in columns {
            let mut at = 0;
            while at < column.len() {
                let count = CHUNK_REQUESTS.min((column.len() - at) as usize);
                write(&bytes(column.chunk(at, count, &mut scratch)?))?;
                at += count as u64;
            }
        }
        let Footprint { objects, bytes } = dense.footprint;
        let left_out = dense.left_out.clone();
        let span_ns = dense.times.as_ref().map(Times::span_ns);
        let (key, requests) = (self.key(checksum), dense.requests());
        let form = Form { key, requests, objects, bytes, size_bytes, size_high, span_ns, left_out };
        let description = serde_json::to_vec(&form)?;
        write(&description)?;
        let sum = sum.finish();
        for part in [&(description.len() as u64).to_le_bytes(), &sum.to_le_bytes(), MAGIC] {
            file.write_all(part)?;
        }
        // Not synced: what a power cut leaves of it fails its checksum.
        file.persist(place).map(drop).map_err(|e| e.error)
    }
}

/// A form's description, the checksum behind it, and the description's bytes.
fn describe(file: &File) -> io::Result<Option<(Form, u64, Vec<u8>)>> {
    use std::os::unix::fs::FileExt;
    let length = file.metadata()?.len();
    let Some(end) = length.checked_sub(TAIL_BYTES) else { return Ok(None) };
    let mut tail = [[0; 8]; 3];
    for (at, part) in tail.iter_mut().enumerate() {
        file.read_exact_at(part, end + 8 * at as u64)?;
    }
    let described = u64::from_le_bytes(tail[0]);
    let Some(start) = end.checked_sub(described).filter(|_| tail[2] == *MAGIC && described < 1 << 20) else {
        return Ok(None);
    };
    let mut description = vec![0; described as usize];
    file.read_exact_at(&mut description, start)?;
    let form = serde_json::from_slice(&description).ok();
    Ok(form.map(|form| (form, u64::from_le_bytes(tail[1]), description)))
}
