// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What apps do once they are open, beyond the touch patterns of their profiles: eCache12, section 5.2, tells what each is made
//! to do ("Camera takes two pictures", "Browser opens randomly chosen two of the most popular ten websites"); sizes that it does not
//! tell are choices, named here.

/// One thing that an app does while it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Reads `picks` different ones of `of` files, each of `pages`.
    Read {
        /// How many.
        picks: u32,
        /// Of how many.
        of: u32,
        /// Least and most pages of a file.
        pages: (u32, u32),
    },
    /// Takes pictures: each needs the JPEG device for a moment and writes a new file.
    Pictures {
        /// How many.
        count: u32,
        /// Pages of each.
        pages: u32,
    },
    /// Looks at the newest pictures.
    NewestPictures {
        /// How many.
        count: u32,
    },
    /// Plays one of three films for 20 seconds.
    Film {
        /// Pages of 20 seconds.
        pages: u32,
    },
}

/// What an app needs and does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Behaviour {
    /// Devices it holds from the middle of its start until it is left (section 5.3: "device memory allocation occurs in the
    /// middle of launching the application").
    pub devices: &'static [&'static str],
    /// What it does.
    pub deeds: &'static [Deed],
    /// Seconds it is used for.
    pub seconds: u32,
}

/// A picture of the phone's 5 megapixels, as JPEG: 1.5 MB.
const PICTURE_PAGES: u32 = 384;

/// 20 seconds of 720p at 4 Mbit/s.
const FILM_PAGES: u32 = 2560;

/// What an app does; most only open.
pub fn behaviour(app: &str) -> Behaviour {
    let only = |deeds| Behaviour { devices: &[], deeds, seconds: 5 };
    match app {
        // "takes two pictures requiring allocations of fimc and jpeg regions"
        "camera" => {
            Behaviour { devices: &["fimc"], deeds: &[Deed::Pictures { count: 2, pages: PICTURE_PAGES }], seconds: 10 }
        }
        // "plays one of three 720p high-profile MPEG4 files for 20 seconds"
        "movies" => Behaviour { devices: &["mfc0", "mfc1"], deeds: &[Deed::Film { pages: FILM_PAGES }], seconds: 20 },
        // "We used Movies workload after this application started"
        "youtube" => Behaviour { devices: &["mfc0", "mfc1"], deeds: &[Deed::Film { pages: FILM_PAGES }], seconds: 20 },
        // "a picture viewer"
        "gallery" => only(&[Deed::NewestPictures { count: 6 }]),
        // "opens randomly chosen two of the most popular ten websites": what its cache keeps of each
        "browser" => only(&[Deed::Read { picks: 2, of: 10, pages: (64, 256) }]),
        // "searches two of six keywords"
        "market" => only(&[Deed::Read { picks: 2, of: 6, pages: (64, 192) }]),
        // "randomly shows two of six locations"
        "maps" => only(&[Deed::Read { picks: 2, of: 6, pages: (128, 384) }]),
        // "opens two of six setting windows"
        "settings" => only(&[Deed::Read { picks: 2, of: 6, pages: (16, 48) }]),
        // "opens two of ten PDF files; sizes of the files range from 180KB to 2MB"
        "adobe-reader" => only(&[Deed::Read { picks: 2, of: 10, pages: (45, 512) }]),
        // "opens news feed and scrolls down for two times", "depicts recent tweets and scrolls": their picture caches
        "facebook" | "twitter" => only(&[Deed::Read { picks: 3, of: 12, pages: (48, 128) }]),
        _ => only(&[]),
    }
}
