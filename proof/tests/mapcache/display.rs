// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A stock importer that maps with each frame: a display whose driver copies what it shows (`drm_gem_begin_shadow_fb_access()`), which has the
//! kernel map an imported buffer for each commit. Frames of two buffers are shown in turn, as a player does.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

use fovea_contract::{heap_mapcache_statistics as statistics, WRAP_MODULE};
use fovea_heap::{Buffer, Heap};
use fovea_linux::module;
use fovea_tests::kernel::{at, load_module, Outcome};

use crate::bench::{set_cache, set_system, total, Bench};

const FRAMES: u32 = 32;
const STOCK: &str = "/dev/dma_heap/system";
/// XRGB8888.
const FORMAT: u32 = u32::from_le_bytes(*b"XR24");
const PIXEL_BYTES: u32 = 4;

/// `struct drm_prime_handle`.
#[repr(C)]
#[derive(Default)]
struct Prime {
    handle: u32,
    flags: u32,
    fd: i32,
}

/// `struct drm_gem_close`.
#[repr(C)]
struct Close {
    handle: u32,
    pad: u32,
}

/// `struct drm_mode_card_res`.
#[repr(C)]
#[derive(Default)]
struct Resources {
    fbs: u64,
    crtcs: u64,
    connectors: u64,
    encoders: u64,
    count_fbs: u32,
    count_crtcs: u32,
    count_connectors: u32,
    count_encoders: u32,
    sizes: [u32; 4],
}

/// `struct drm_mode_modeinfo`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Mode {
    clock: u32,
    hdisplay: u16,
    horizontal: [u16; 4],
    vdisplay: u16,
    vertical: [u16; 4],
    vrefresh: u32,
    flags: u32,
    kind: u32,
    name: [u8; 32],
}

/// `struct drm_mode_get_connector`.
#[repr(C)]
#[derive(Default)]
struct Connector {
    encoders: u64,
    modes: u64,
    properties: u64,
    values: u64,
    count_modes: u32,
    count_properties: u32,
    count_encoders: u32,
    encoder: u32,
    connector: u32,
    rest: [u32; 7],
}

/// `struct drm_mode_crtc`.
#[repr(C)]
#[derive(Default)]
struct Crtc {
    connectors: u64,
    count_connectors: u32,
    crtc: u32,
    fb: u32,
    x: u32,
    y: u32,
    gamma: u32,
    mode_valid: u32,
    mode: Mode,
}

/// `struct drm_mode_fb_cmd2`.
#[repr(C)]
#[derive(Default)]
struct Framebuffer {
    fb: u32,
    width: u32,
    height: u32,
    format: u32,
    flags: u32,
    handles: [u32; 4],
    pitches: [u32; 4],
    offsets: [u32; 4],
    modifiers: [u64; 4],
}

/// A display's card.
struct Card {
    node: File,
    crtc: u32,
    connector: u32,
    mode: Mode,
}

impl Card {
    fn call<T>(&self, direction: u32, number: u32, argument: &mut T) -> io::Result<()> {
        call(&self.node, direction, number, argument)
    }

    fn open(path: &Path) -> Outcome<Card> {
        let node = at(path.display(), File::options().read(true).write(true).open(path))?;
        let (mut crtcs, mut connectors) = ([0u32; 8], [0u32; 8]);
        let mut found = Resources::default();
        (found.crtcs, found.count_crtcs) = (crtcs.as_mut_ptr() as u64, 8);
        (found.connectors, found.count_connectors) = (connectors.as_mut_ptr() as u64, 8);
        at("DRM_IOCTL_MODE_GETRESOURCES", call(&node, 3, 0xa0, &mut found))?;
        let mut modes = [Mode::default(); 64];
        let mut connector = Connector { connector: connectors[0], ..Connector::default() };
        // Asked for none first, a connector looks what there is.
        at("DRM_IOCTL_MODE_GETCONNECTOR", call(&node, 3, 0xa7, &mut connector))?;
        let count_modes = connector.count_modes.min(64);
        connector = Connector {
            connector: connectors[0],
            modes: modes.as_mut_ptr() as u64,
            count_modes,
            ..Connector::default()
        };
        at("DRM_IOCTL_MODE_GETCONNECTOR", call(&node, 3, 0xa7, &mut connector))?;
        let area = |mode: &Mode| u32::from(mode.hdisplay) * u32::from(mode.vdisplay);
        let mode =
            modes[..count_modes as usize].iter().filter(|mode| area(mode) <= 1920 * 1080).max_by_key(|m| area(m));
        let mode = *mode.ok_or("no mode of at most 1080p")?;
        Ok(Card { node, crtc: crtcs[0], connector: connectors[0], mode })
    }

    fn frame_bytes(&self) -> u64 {
        u64::from(self.mode.hdisplay) * u64::from(self.mode.vdisplay) * u64::from(PIXEL_BYTES)
    }

    /// A buffer to show.
    fn import(&self, buffer: BorrowedFd<'_>) -> Outcome<(u32, u32)> {
        let mut prime = Prime { fd: buffer.as_raw_fd(), ..Prime::default() };
        at("DRM_IOCTL_PRIME_FD_TO_HANDLE", self.call(3, 0x2e, &mut prime))?;
        let (width, height) = (self.mode.hdisplay.into(), self.mode.vdisplay.into());
        let mut fb = Framebuffer { width, height, format: FORMAT, ..Framebuffer::default() };
        (fb.handles[0], fb.pitches[0]) = (prime.handle, width * PIXEL_BYTES);
        at("DRM_IOCTL_MODE_ADDFB2", self.call(3, 0xb8, &mut fb))?;
        Ok((fb.fb, prime.handle))
    }

    fn forget(&self, (fb, handle): (u32, u32)) -> Outcome<()> {
        at("DRM_IOCTL_MODE_RMFB", self.call(3, 0xaf, &mut { fb }))?;
        at("DRM_IOCTL_GEM_CLOSE", self.call(1, 0x09, &mut Close { handle, pad: 0 }))
    }

    /// Returns when the frame is on the display.
    fn show(&self, fb: u32) -> Outcome<()> {
        let mut connector = self.connector;
        let mut crtc = Crtc {
            connectors: std::ptr::from_mut(&mut connector) as u64,
            count_connectors: 1,
            crtc: self.crtc,
            fb,
            mode_valid: 1,
            mode: self.mode,
            ..Crtc::default()
        };
        at("DRM_IOCTL_MODE_SETCRTC", self.call(3, 0xa2, &mut crtc))
    }
}

fn call<T>(node: &File, direction: u32, number: u32, argument: &mut T) -> io::Result<()> {
    let command = direction << 30 | (size_of::<T>() as u32) << 16 | (b'd' as u32) << 8 | number;
    // SAFETY: the structures above are the kernel's (include/uapi/drm), borrowed for writing; addresses in them are of arrays that live until
    // the call returns, with the lengths beside them.
    match unsafe { libc::ioctl(node.as_raw_fd(), command as libc::Ioctl, std::ptr::from_mut(argument)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What the thread's own CPU time was for.
pub fn cpu_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn maps() -> Outcome<(u64, u64)> {
    Ok((total(statistics::VMAP_HITS)?, total(statistics::VMAP_MISSES)?))
}

/// Shows frames from two buffers in turn: CPU time of a frame, and how often the kernel found it mapped and did not.
fn play(card: &Card, buffers: &[Buffer; 2]) -> Outcome<(u64, u64, u64)> {
    let shown = [card.import(buffers[0].as_fd())?, card.import(buffers[1].as_fd())?];
    for (fb, _) in shown.iter().chain(&shown) {
        card.show(*fb)?;
    }
    let (before, began) = (maps()?, cpu_ns());
    for frame in 0..FRAMES {
        card.show(shown[frame as usize % 2].0)?;
    }
    let (frame_ns, after) = ((cpu_ns() - began) / u64::from(FRAMES), maps()?);
    shown.into_iter().try_for_each(|one| card.forget(one))?;
    Ok((frame_ns, after.0 - before.0, after.1 - before.1))
}

/// Each card there is.
pub fn all(bench: &Bench) -> Outcome<()> {
    for number in 0..4 {
        let path = format!("/dev/dri/card{number}");
        if Path::new(&path).exists() {
            let driver = std::fs::read_link(format!("/sys/class/drm/card{number}/device/driver"));
            let name = driver.ok().and_then(|link| link.file_name().map(|name| name.to_string_lossy().into_owned()));
            one(bench, &name.unwrap_or_else(|| path.clone()), &Card::open(Path::new(&path))?)?;
        }
    }
    Ok(())
}

fn one(bench: &Bench, name: &str, card: &Card) -> Outcome<()> {
    let size_bytes = card.frame_bytes();
    set_system("scatter", "1")?;
    let ours = || -> Outcome<[Buffer; 2]> { Ok([bench.buffer(size_bytes)?, bench.buffer(size_bytes)?]) };
    let stock = || -> Outcome<[Buffer; 2]> {
        let heap = at(STOCK, Heap::open(STOCK))?;
        Ok([at(STOCK, heap.allocate(size_bytes))?, at(STOCK, heap.allocate(size_bytes))?])
    };
    set_cache("mapcache", 0)?;
    let off = play(card, &ours()?)?;
    set_cache("mapcache", 1)?;
    let on = play(card, &ours()?)?;
    let plain = play(card, &stock()?)?;
    load_module(WRAP_MODULE)?;
    let wrapped = play(card, &stock()?)?;
    at("unloading the wrap", module::remove(WRAP_MODULE))?;
    set_system("scatter", "0")?;
    let frames = u64::from(FRAMES);
    // One that shows buffers without the kernel's mapping is no importer of this kind.
    if off.2 == 0 {
        println!("display {name}: maps nothing for a frame: {off:?}");
        return Ok(());
    }
    bench.check(
        format_args!("{name}: each frame was mapped, and finds its mapping now"),
        off.2 == frames && (on.1, on.2) == (frames, 0) && (wrapped.1, wrapped.2) == (frames, 0),
        format_args!(
            "off {off:?}, on {on:?}, stock heap {plain:?}, wrapped {wrapped:?}: ns of CPU a frame, found, made"
        ),
    );
    let (width, height) = (card.mode.hdisplay, card.mode.vdisplay);
    println!("display {name} {width}x{height}: off {} on {} stock {} wrapped {}", off.0, on.0, plain.0, wrapped.0);
    Ok(())
}
