// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! zram devices (admin-guide/blockdev/zram): making one that is used as swap, and taking it away again.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use fovea_apps::ZramReading;

use crate::file::{read, write_named, Root};
use crate::{module, proc, swap, zram_owner, Error, ZramDevice, ZramWish};

const CONTROL: &str = "sys/class/zram-control";

/// Devices added and removed again because somebody names them, at most.
const NAMED_MAX: usize = 16;

/// Reads mm_stat: orig_data_size compr_data_size mem_used_total mem_limit …, in bytes. `disk_bytes` is left 0.
pub(crate) fn parse_mm_stat(text: &[u8]) -> Option<ZramReading> {
    let mut fields = text.split(u8::is_ascii_whitespace).filter(|f| !f.is_empty()).map(proc::number);
    Some(ZramReading {
        disk_bytes: 0,
        original_bytes: fields.next()??,
        compressed_bytes: fields.next()??,
        used_bytes: fields.next()??,
        limit_bytes: fields.next()??,
    })
}

/// Reads comp_algorithm ("lzo [lz4] zstd"): what there is, and which of it is in use.
pub(crate) fn parse_algorithms(text: &[u8]) -> (Vec<String>, Option<String>) {
    let text = String::from_utf8_lossy(text);
    let plain = |word: &str| word.trim_matches(['[', ']']).to_owned();
    let chosen = text.split_whitespace().find(|word| word.starts_with('[')).map(plain);
    (text.split_whitespace().map(plain).collect(), chosen)
}

/// The algorithm of a device.
pub(crate) fn algorithm_in_use(root: &Root, number: u32) -> Result<String, Error> {
    let path = attribute(root, number, "comp_algorithm");
    let text = read(&path)?;
    parse_algorithms(&text).1.ok_or_else(|| Error::parse(path, &text))
}

/// Numbers of the devices there are, ascending.
pub(crate) fn devices(root: &Root) -> Vec<u32> {
    let entries = std::fs::read_dir(root.join("sys/block")).into_iter().flatten().flatten();
    let mut numbers: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("zram")?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

fn attribute(root: &Root, number: u32, name: &str) -> PathBuf {
    root.join(format!("sys/block/zram{number}/{name}"))
}

fn device(root: &Root, number: u32) -> PathBuf {
    root.join(format!("dev/zram{number}"))
}

pub(crate) fn setup(
    root: &Root,
    wish: &ZramWish,
    claimed: &mut dyn FnMut(&ZramDevice) -> io::Result<()>,
) -> Result<ZramDevice, Error> {
    let loaded_module = !root.join(CONTROL).exists();
    if loaded_module {
        load(root)?;
    }
    let mut zram = ZramDevice { number: 0, algorithm: String::new(), loaded_module, hot_added: false };
    // From here on whatever fails leaves nothing behind.
    let made =
        pick(root, &mut zram).and_then(|()| claim(root, &mut zram, wish, claimed).inspect_err(|_| undo(root, &zram)));
    made.inspect_err(|_| unload(&zram))?;
    Ok(zram)
}

/// Loads the module as modprobe would: whoever asks for it next gets the devices that he
/// configured.
fn load(root: &Root) -> Result<(), Error> {
    match zram_owner::options(root) {
        options if options.is_empty() => module::load(root, "zram"),
        options => match module::load_with(root, "zram", &options) {
            Err(Error::Call { source, .. }) if source.raw_os_error() == Some(libc::EEXIST) => Ok(()),
            loaded => loaded,
        },
    }
}

/// Has the device written down before anything is done to it.
fn claim(
    root: &Root,
    zram: &mut ZramDevice,
    wish: &ZramWish,
    claimed: &mut dyn FnMut(&ZramDevice) -> io::Result<()>,
) -> Result<(), Error> {
    zram.algorithm = match &wish.algorithm {
        Some(algorithm) => algorithm.clone(),
        None => algorithm_in_use(root, zram.number)?,
    };
    claimed(zram).map_err(|e| Error::call("writing down the claim", format!("zram{}", zram.number), e))?;
    configure(root, zram, wish)
}

/// Adds a device. One that is there already is its owner's, set up or not: he may have chosen an
/// algorithm, or be about to. So is one that the machine's configuration names.
fn pick(root: &Root, zram: &mut ZramDevice) -> Result<(), Error> {
    // Reading adds a device even where /sys is read-only, as in a container, and nothing could then remove it.
    let path = root.join(CONTROL).join("hot_remove");
    std::fs::OpenOptions::new().write(true).open(&path).map_err(|e| Error::file("writing", path, e))?;
    let add = || {
        let path = root.join(CONTROL).join("hot_add");
        let text = read(&path)?;
        let number = proc::number(&text).and_then(|n| u32::try_from(n).ok());
        number.ok_or_else(|| Error::parse(&path, &text))
    };
    zram.number = add_unnamed(add, |number| hot_remove(root, number), |number| zram_owner::names(root, number))?;
    zram.hot_added = true;
    Ok(())
}

/// Adds devices until one has a number that nobody names, and removes the others.
fn add_unnamed(
    mut add: impl FnMut() -> Result<u32, Error>,
    remove: impl Fn(u32) -> Result<(), Error>,
    is_named: impl Fn(u32) -> bool,
) -> Result<u32, Error> {
    let mut named = Vec::new();
    let added = loop {
        match add() {
            Ok(number) if is_named(number) && named.len() < NAMED_MAX => named.push(number),
            added => break added,
        }
    };
    let removed = named.into_iter().map(remove).collect::<Result<Vec<()>, Error>>();
    let number = added?;
    removed.map(|_| number)
}

fn hot_remove(root: &Root, number: u32) -> Result<(), Error> {
    write_named(&root.join(CONTROL).join("hot_remove"), &number.to_string())
}

fn configure(root: &Root, zram: &ZramDevice, wish: &ZramWish) -> Result<(), Error> {
    let set = |name, value: &str| write_named(&attribute(root, zram.number, name), value);
    if let Some(algorithm) = &wish.algorithm {
        set_algorithm(root, zram.number, algorithm)?;
    }
    let size = || set("disksize", &wish.disk_bytes.to_string());
    // The kernel does not look at its own algorithm before this.
    size().or_else(|e| if load_codec(root, &zram.algorithm) { size() } else { Err(e) })?;
    set("mem_limit", &wish.limit_bytes.to_string())?;
    let device = device(root, zram.number);
    make_node(root, zram.number, &device)?;
    swap::make_of(&device, wish.disk_bytes, root.page_size()).map_err(|e| Error::file("making swap on", &device, e))?;
    swap::on(&device, wish.priority).map_err(|e| Error::call("swapon", device.display(), e))
}

/// Before Linux 6.12 zram compresses through the crypto API, which has modprobe load what it lacks: where there is no modprobe, this does.
/// Whether it is loaded now: a kernel that takes no more modules (kernel.modules_disabled) has the algorithms it has.
fn load_codec(root: &Root, algorithm: &str) -> bool {
    module::load_if_there(root, &algorithm.replace('-', "_")).unwrap_or(false)
}

/// The error names the algorithms there are, when it is the algorithm that was wrong, or says that its module is missing.
fn set_algorithm(root: &Root, number: u32, name: &str) -> Result<(), Error> {
    let path = attribute(root, number, "comp_algorithm");
    let Err(error) = write_named(&path, name) else { return Ok(()) };
    let refused = |mend| Error::Refused { what: format!("zram algorithm {name:?}"), mend };
    let known = read(&path).map(|text| parse_algorithms(&text).0).unwrap_or_default();
    if known.is_empty() {
        return Err(error);
    }
    if !known.iter().any(|known| known == name) {
        return Err(refused(format!("this kernel has {}", known.join(", "))));
    }
    if load_codec(root, name) && write_named(&path, name).is_ok() {
        return Ok(());
    }
    Err(refused(
        "this kernel has it in a module that cannot be loaded: install the kernel's modules, or name another".into(),
    ))
}

/// Makes /dev/zramN where no devtmpfs or udev does it at once.
fn make_node(root: &Root, number: u32, device: &Path) -> Result<(), Error> {
    use rustix::fs::{makedev, mknodat, FileType, Mode, CWD};
    if device.metadata().is_ok_and(|m| m.file_type().is_block_device()) {
        return Ok(());
    }
    let path = attribute(root, number, "dev");
    let text = read(&path)?;
    let colon = text.iter().position(|&b| b == b':').unwrap_or(text.len());
    let half = |part: &[u8]| proc::number(part).and_then(|n| u32::try_from(n).ok());
    let (Some(major), Some(minor)) = (half(&text[..colon]), text.get(colon + 1..).and_then(half)) else {
        return Err(Error::parse(path, &text));
    };
    mknodat(CWD, device, FileType::BlockDevice, Mode::RUSR | Mode::WUSR, makedev(major, minor))
        .map_err(|e| Error::call("mknod", device.display(), e))
}

pub(crate) fn teardown(root: &Root, zram: &ZramDevice) -> Result<(), Error> {
    let node = device(root, zram.number);
    if root.join(format!("sys/block/zram{}", zram.number)).exists() {
        match swap::off(&node) {
            // The node may have been ours and be gone with a /dev that was remounted; then nothing swaps there either.
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(Error::call("swapoff", node.display(), e));
            }
            _ => (),
        }
        write_named(&attribute(root, zram.number, "reset"), "1")?;
        if zram.hot_added {
            hot_remove(root, zram.number)?;
        }
    }
    unload(zram);
    Ok(())
}

/// Undoes a set-up that failed half-way; failures of undoing would hide the failure that matters.
fn undo(root: &Root, zram: &ZramDevice) {
    let _ = swap::off(&device(root, zram.number));
    let _ = write_named(&attribute(root, zram.number, "reset"), "1");
    if zram.hot_added {
        let _ = hot_remove(root, zram.number);
    }
}

/// Unloads the module if it was loaded for this device; someone else may use it by now, and then it stays.
fn unload(zram: &ZramDevice) {
    if zram.loaded_module {
        module::unload("zram");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn mm_stat_and_algorithms_are_read() {
        let reading = parse_mm_stat(b" 4096  74  12288 1048576 12288 1 0 0 0\n").unwrap();
        assert_eq!((reading.original_bytes, reading.compressed_bytes), (4096, 74));
        assert_eq!((reading.used_bytes, reading.limit_bytes), (12288, 1048576));
        assert!(parse_mm_stat(b"4096 74 12288").is_none());
        let (known, chosen) = parse_algorithms(b"lzo lzo-rle [lz4] zstd \n");
        assert_eq!((known.len(), chosen.as_deref()), (4, Some("lz4")));
    }

    /// zram0 that its owner had not set up yet was taken, and his writes failed with EBUSY.
    #[test]
    fn a_device_that_is_there_or_named_is_left_to_its_owner() {
        let (mut next, removed) = (0..9, std::cell::RefCell::new(Vec::new()));
        let mut add_unnamed = |is_named: fn(u32) -> bool| {
            let add = || Ok(next.next().expect("one more"));
            let remove = |number| {
                removed.borrow_mut().push(number);
                Ok(())
            };
            super::add_unnamed(add, remove, is_named).unwrap()
        };
        assert_eq!(add_unnamed(|_| false), 0);
        assert_eq!(add_unnamed(|number| number < 3), 3);
        assert_eq!(*removed.borrow(), [1, 2]);

        let root = tempfile::tempdir().unwrap();
        let at = Root::at(root.path());
        crate::file::capture(root.path(), "sys/block/zram0/initstate", "0\n");
        crate::file::capture(root.path(), "sys/class/zram-control/hot_add", "1\n");
        let mut zram = ZramDevice { number: 9, algorithm: String::new(), loaded_module: false, hot_added: false };
        assert!(pick(&at, &mut zram).is_err() && !zram.hot_added, "what could not be removed is not added");
        crate::file::capture(root.path(), "sys/class/zram-control/hot_remove", "");
        pick(&at, &mut zram).unwrap();
        assert_eq!((zram.number, zram.hot_added), (1, true));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(text in proptest::collection::vec(any::<u8>(), 0..200), numbers in "( *-?[0-9]{0,30}){0,9}") {
            let _ = (parse_mm_stat(&text), parse_algorithms(&text), parse_mm_stat(numbers.as_bytes()));
        }
    }
}
