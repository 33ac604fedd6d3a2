// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A video played as in MapCache15, figure 1: the player fills a video buffer, the decoder reads it and writes a frame buffer, the display
//! shows the one before. Each maps a buffer when it needs it and unmaps it again, or it stays mapped. Decoding and drawing are not done:
//! the devices (QEMU's `edu`) attach, map, unmap and detach. Some frames' content goes through them, as a transfer takes a tenth of a second.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use fovea_contract::{HEAP_FOLDER, HEAP_MODULE, HEAP_SHARED_FOLDER, SYSTEM_MODULE, SYSTEM_NODE, WRAP_MODULE};
use fovea_edu::{Direction, Edu, TRANSFER_MAX};
use fovea_heap::{Access, Buffer, Heap, Mapping};
use fovea_linux::{module, Root};
use fovea_scenario::{BufferUse, Exporter, Importers, Play, Played, PAGE_BYTES};
use serde::{Deserialize, Serialize};

use crate::buffers::sleep_ns;
use crate::fragment;
use crate::hash::mix64;
use crate::outcome::{write_file, At, Outcome};
use crate::phone::Phone;
use crate::readings::now_ns;
use crate::recording::Recording;

/// The kernel's system heap (CONFIG_DMABUF_HEAPS_SYSTEM).
const STOCK_HEAP: &str = "/dev/dma_heap/system";

/// The devices whose reservations hold compressed frames and decoded ones.
const RESERVED: [&str; 2] = ["mfc1", "mfc0"];

/// Frames in which calls of `iommu_map` are counted.
const COUNTED_FRAMES: u32 = 4;
/// One use takes what the median of so many times so many took: the kernel's tick falls into some.
const TIMES: usize = 9;
const USES: u32 = 16;
/// From frame to frame. Addresses that an IOMMU gives back late (10 ms) run out if nobody waits: QEMU's machine leaves devices 0.8 GB of them,
/// as its PCI windows take the rest of what 32 bits reach.
const PERIOD_NS: u64 = 16_666_667;

/// Plays it.
pub fn run(phone: &mut Phone, play: &Play) -> Outcome<Played> {
    let parameter = |module, name, on: bool| {
        write_file(format!("/sys/module/{module}/parameters/{name}"), if on { "1" } else { "0" })
    };
    parameter(HEAP_MODULE, "mapcache", play.mapcache)?;
    if play.exporter == Exporter::Wrapped {
        module::load(&Root::at("/"), WRAP_MODULE).map_err(|e| e.to_string())?;
    }
    parameter(SYSTEM_MODULE, "scatter", play.scatter)?;
    let ballast = match play.exporter {
        // It is told to leave no neighbours.
        Exporter::Ours => None,
        _ if !play.scatter => None,
        _ => Some(fragment::ballast()?),
    };
    let stage = Stage::set(play)?;
    drop(ballast);
    for frame in 0..play.frame_buffers.max(play.video_buffers) {
        stage.frame(frame)?;
    }
    let mut played = Played { label: play.label.clone(), mapcache: play.mapcache, ..Played::default() };
    for frame in 0..play.frames {
        let (uses_ns, player_ns) = stage.frame(frame)?;
        played.devices_ns += uses_ns.iter().sum::<u64>();
        played.player_ns += player_ns;
    }
    played.frames = play.frames;
    played.use_ns = stage.uses()?;
    played.counted_frames = COUNTED_FRAMES;
    played.iommu_maps = counted(|| (0..COUNTED_FRAMES).try_for_each(|frame| stage.frame(frame).map(drop)))?;
    // Twice: the second time it is what the first one left mapped.
    for round in 0..2 {
        stage.check(round, &mut played)?;
    }
    let (code, printed) = phone.run_fovea(&["fovea", "heap", "list"])?;
    if code != 0 {
        return Err(format!("`fovea heap list` ended with {code}"));
    }
    played.heap_list = printed;
    parameter(SYSTEM_MODULE, "scatter", false)?;
    // Its buffers hold it.
    drop(stage);
    if play.exporter == Exporter::Wrapped {
        module::remove(WRAP_MODULE).map_err(|e| e.to_string())?;
    }
    Ok(played)
}

/// The first argument that makes this program the player of a film beside other work.
pub const WORD: &str = "play";

/// What such a player prints at its end.
#[derive(Serialize, Deserialize)]
pub struct Film {
    /// Of each frame.
    pub played: Played,
    /// What it had of the decoder's memory.
    pub buffers: Vec<BufferUse>,
}

/// Runs as that player: `fovea-guest play START_NS FRAME_NS PLAY`.
pub fn main() -> ! {
    let args: Vec<String> = std::env::args().collect();
    let done = match args.as_slice() {
        [_, _, start_ns, frame_ns, play] => film(start_ns, frame_ns, play),
        other => Err(format!("{other:?}: START_NS FRAME_NS PLAY")),
    };
    crate::spawn::end_with(done)
}

/// Hands each frame on when it is due. Without the decoder's memory there is nothing to hand on, which is told.
fn film(start_ns: &str, frame_ns: &str, play: &str) -> Outcome<String> {
    let number = |text: &str| text.parse::<u64>().at(|| format!("{text:?} as a time"));
    let (start_ns, frame_ns) = (number(start_ns)?, number(frame_ns)?);
    let play: Play = serde_json::from_str(play).at(|| format!("{play:?}"))?;
    sleep_ns(start_ns.saturating_sub(now_ns()));
    let mut film = Film { played: Played { label: play.label.clone(), ..Played::default() }, buffers: Vec::new() };
    if let Some(stage) = Stage::timed(&play, &mut film.buffers)? {
        let mut uses_ns = [const { Vec::new() }; USE_KINDS];
        for frame in 0..play.frames {
            sleep_ns((start_ns + u64::from(frame) * frame_ns).saturating_sub(now_ns()));
            let (each_ns, player_ns) = stage.hand_on(frame)?;
            uses_ns.iter_mut().zip(each_ns).for_each(|(all, ns)| all.push(ns));
            film.played.devices_ns += each_ns.iter().sum::<u64>();
            film.played.player_ns += player_ns;
            film.played.frames += 1;
        }
        // What else ran meanwhile falls into some.
        film.played.use_ns = uses_ns.map(median).into();
    }
    serde_json::to_string(&film).at(|| "a result as text".into())
}

fn median(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Video to decoder, frame to decoder, frame to display.
const USE_KINDS: usize = 3;

/// Buffers and who hands them on.
struct Stage {
    video: Vec<Buffer>,
    frames: Vec<Buffer>,
    decoder: Edu,
    display: Edu,
    keeps: bool,
    compressed_bytes: usize,
}

/// By the CPU: libfovea-heap leaves the buffer mapped, unless it is told to give that up.
fn with<T>(buffer: &Buffer, keeps: bool, access: Access, work: impl FnOnce(&Mapping) -> T) -> Outcome<T> {
    let mapping = buffer.map().map_err(|e| e.to_string())?;
    let done = buffer.access(access, || work(&mapping)).map_err(|e| e.to_string())?;
    drop(mapping);
    if !keeps {
        buffer.trim().at(|| "unmapping".into())?;
    }
    Ok(done)
}

/// Whose turn it is.
fn turn(buffers: &[Buffer], frame: u32) -> usize {
    frame as usize % buffers.len()
}

impl Stage {
    fn set(play: &Play) -> Outcome<Stage> {
        let mut uses = Vec::new();
        let stage = Stage::timed(play, &mut uses)?;
        let why = || uses.into_iter().find_map(|buffer| buffer.error).unwrap_or_default();
        stage.ok_or_else(why)
    }

    /// With what its buffers took, one for each kind; none if they are not to be had.
    fn timed(play: &Play, uses: &mut Vec<BufferUse>) -> Outcome<Option<Stage>> {
        let [video, frames] = match play.exporter {
            Exporter::Ours => [SYSTEM_NODE; 2].map(|node| format!("/dev/{HEAP_SHARED_FOLDER}/{node}")),
            Exporter::Stock | Exporter::Wrapped => [STOCK_HEAP; 2].map(str::to_owned),
            Exporter::Reserved => RESERVED.map(|device| format!("/dev/{HEAP_FOLDER}/{device}")),
        };
        let mut buffers = |path: &str, count: u32, bytes: u64| -> Outcome<Option<Vec<Buffer>>> {
            let heap = Heap::open(path).map_err(|e| e.to_string())?;
            let began = now_ns();
            let had = (0..count).map(|_| heap.allocate(bytes)).collect::<Result<Vec<_>, _>>();
            let alloc_ns = now_ns() - began;
            let error = had.as_ref().err().map(|e| format!("{path}: allocating {bytes} bytes: {e}"));
            uses.push(BufferUse {
                device: path.rsplit('/').next().unwrap_or_default().to_owned(),
                size_bytes: bytes * u64::from(count),
                alloc_ns,
                fill_ns: 0,
                wrong_pages: 0,
                error,
            });
            Ok(had.ok())
        };
        let video = buffers(&video, play.video_buffers, play.video_bytes)?;
        let frames = buffers(&frames, play.frame_buffers, play.frame_bytes)?;
        let (Some(video), Some(frames)) = (video, frames) else { return Ok(None) };
        let device = |slot| Edu::open(slot).at(|| format!("opening /dev/edu-{slot}"));
        let [decoder, display] = Importers::SLOTS;
        Ok(Some(Stage {
            video,
            frames,
            decoder: device(decoder)?,
            display: device(display)?,
            keeps: play.mapcache,
            compressed_bytes: usize::try_from(play.compressed_bytes).unwrap_or(usize::MAX),
        }))
    }

    /// The same after a while, as frames come.
    fn frame(&self, frame: u32) -> Outcome<([u64; USE_KINDS], u64)> {
        sleep_ns(PERIOD_NS);
        self.hand_on(frame)
    }

    /// What a frame does with its buffers: for how long devices, by kind of use, and player.
    fn hand_on(&self, frame: u32) -> Outcome<([u64; USE_KINDS], u64)> {
        let pages = self.compressed_bytes.div_ceil(PAGE_BYTES);
        let video = turn(&self.video, frame);
        let began = now_ns();
        with(&self.video[video], self.keeps, Access::Write, |mapping| {
            let words = mapping.words().chunks(PAGE_BYTES / size_of::<u64>()).take(pages);
            words.for_each(|page| page[0].store(frame.into(), Ordering::Relaxed));
        })?;
        let player_ns = now_ns() - began;
        let mut devices_ns = [0; USE_KINDS];
        let shown = turn(&self.frames, frame + self.frames.len() as u32 - 1);
        let uses = [
            (&self.decoder, &self.video[turn(&self.video, frame)], Direction::ToDevice),
            (&self.decoder, &self.frames[turn(&self.frames, frame)], Direction::FromDevice),
            // The one before.
            (&self.display, &self.frames[shown], Direction::ToDevice),
        ];
        for (ns, (device, shared, direction)) in devices_ns.iter_mut().zip(uses) {
            *ns = device.touch(shared.as_fd(), direction, 1).at(|| "a device's use".into())?.elapsed_ns;
        }
        Ok((devices_ns, player_ns))
    }

    /// The median of one use of each kind.
    fn uses(&self) -> Outcome<Vec<u64>> {
        let kinds = [
            (&self.decoder, &self.video[0], Direction::ToDevice),
            (&self.decoder, &self.frames[0], Direction::FromDevice),
            (&self.display, &self.frames[0], Direction::ToDevice),
        ];
        let median = |(device, shared, direction): (&Edu, &Buffer, Direction)| {
            let once = |_| {
                sleep_ns(PERIOD_NS);
                device.touch(shared.as_fd(), direction, USES).map(|r| r.elapsed_ns / u64::from(USES))
            };
            let mut times = (0..TIMES).map(once).collect::<Result<Vec<u64>, _>>().at(|| "a device's use".into())?;
            times.sort_unstable();
            Ok(times[TIMES / 2])
        };
        kinds.into_iter().map(median).collect()
    }

    /// A frame's content from hand to hand: the decoder must read what the player wrote, the display and the CPU what the decoder wrote.
    fn check(&self, round: u32, played: &mut Played) -> Outcome<()> {
        let at = |place: &'static str| move || place.to_owned();
        let compressed = pattern(u64::from(round) << 1 | 1);
        let words = words(&compressed);
        let video = &self.video[0];
        with(video, self.keeps, Access::Write, |mapping| {
            mapping.words().iter().zip(&words).for_each(|(to, word)| to.store(*word, Ordering::Relaxed));
        })?;
        let fd = video.as_fd();
        self.decoder.transfer(fd, Direction::ToDevice, 0, TRANSFER_MAX, false).at(at("the decoder reads"))?;
        let read = self.decoder.store(TRANSFER_MAX).at(at("what the decoder has read"))? == compressed;

        let decoded = pattern(u64::from(round) << 1);
        let frame = &self.frames[0];
        // In its last page.
        let offset = frame.size_bytes() - PAGE_BYTES;
        self.decoder.load(&decoded).at(at("what the decoder writes"))?;
        let fd = frame.as_fd();
        let offset_bytes = offset as u64;
        self.decoder
            .transfer(fd, Direction::FromDevice, offset_bytes, TRANSFER_MAX, true)
            .at(at("the decoder writes"))?;
        self.display
            .transfer(fd, Direction::ToDevice, offset_bytes, TRANSFER_MAX, false)
            .at(at("the display reads"))?;
        let shown = self.display.store(TRANSFER_MAX).at(at("what the display has read"))? == decoded;
        let seen = with(frame, self.keeps, Access::Read, |mapping| {
            let page = &mapping.words()[offset / size_of::<u64>()..][..TRANSFER_MAX / size_of::<u64>()];
            page.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect::<Vec<u8>>()
        })? == decoded;
        played.verified_pages += 3;
        played.wrong_pages += [read, shown, seen].into_iter().filter(|right| !right).count() as u64;
        Ok(())
    }
}

/// Bytes of a transfer that depend on a number.
fn pattern(number: u64) -> Vec<u8> {
    let words = 0..(TRANSFER_MAX / size_of::<u64>()) as u64;
    words.flat_map(|word| mix64(mix64(number) ^ word).to_le_bytes()).collect()
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(size_of::<u64>()).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default())).collect()
}

/// How often the kernel maps for devices meanwhile.
fn counted(work: impl FnOnce() -> Outcome<()>) -> Outcome<u64> {
    let maps = Recording::start("play", "iommu/map", None)?;
    work()?;
    maps.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_frames_took_the_middle_counts() {
        assert_eq!(median(vec![7, 900, 3]), 7);
        assert_eq!(median(Vec::new()), 0);
    }

    #[test]
    fn patterns_differ_by_their_number() {
        assert_eq!(pattern(3), pattern(3));
        assert_ne!(pattern(3), pattern(4));
        assert_eq!(words(&pattern(3)).len() * 8, TRANSFER_MAX);
    }
}
