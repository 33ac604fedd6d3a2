// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Kinds of files, as table 9 of eCache12 tells them apart by path.

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    /// `*.apk`
    Apk,
    /// `dalvik-cache/*@app@*`
    AppDalvik,
    /// `/data/*`
    AppData,
    /// `dalvik-cache/*@framework@*`
    FrameworkDalvik,
    /// `/system/bin/*`
    SystemUtility,
    /// `/system/*`, `framework-res.apk` among them (table 10).
    FrameworkResource,
    /// `/system/lib/*`
    Library,
    /// Everything else, the file system's own blocks included.
    Other,
}

impl FileKind {
    /// All, in the order of table 9.
    pub const ALL: [FileKind; 8] = [
        FileKind::Apk,
        FileKind::AppDalvik,
        FileKind::AppData,
        FileKind::FrameworkDalvik,
        FileKind::SystemUtility,
        FileKind::FrameworkResource,
        FileKind::Library,
        FileKind::Other,
    ];

    /// Name in events and figures.
    pub fn name(self) -> &'static str {
        match self {
            FileKind::Apk => "apk",
            FileKind::AppDalvik => "app_dalvik",
            FileKind::AppData => "app_data",
            FileKind::FrameworkDalvik => "framework_dalvik",
            FileKind::SystemUtility => "system_bin",
            FileKind::FrameworkResource => "framework_resource",
            FileKind::Library => "library",
            FileKind::Other => "other",
        }
    }

    /// The kind of the file at `path` below the file system's root.
    pub fn of(path: &str) -> FileKind {
        let below = |folder: &str| path.strip_prefix(folder);
        if below("data/dalvik-cache/").is_some() {
            if path.contains("@framework@") {
                FileKind::FrameworkDalvik
            } else if path.contains("@app@") {
                FileKind::AppDalvik
            } else {
                FileKind::AppData
            }
        } else if path.ends_with(".apk") && below("system/framework/").is_none() {
            FileKind::Apk
        } else if below("data/").is_some() {
            FileKind::AppData
        } else if below("system/bin/").is_some() {
            FileKind::SystemUtility
        } else if below("system/lib/").is_some() {
            FileKind::Library
        } else if below("system/").is_some() {
            FileKind::FrameworkResource
        } else {
            FileKind::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_seeds_tables_have_their_kinds() {
        for (path, kind) in [
            ("data/app/angry-birds.apk", FileKind::Apk),
            ("system/app/Gallery3D.apk", FileKind::Apk),
            ("system/framework/framework-res.apk", FileKind::FrameworkResource),
            ("data/dalvik-cache/system@app@Gallery3D.apk@classes.dex", FileKind::AppDalvik),
            ("data/dalvik-cache/system@framework@core.jar@classes.dex", FileKind::FrameworkDalvik),
            ("data/dalvik-cache/list", FileKind::AppData),
            ("data/data/gmail/files.db", FileKind::AppData),
            ("system/bin/linker", FileKind::SystemUtility),
            ("system/lib/egl/libGLESv2.so", FileKind::Library),
            ("system/fonts/DroidSansFallback.ttf", FileKind::FrameworkResource),
            ("sdcard/video/1.mp4", FileKind::Other),
            ("", FileKind::Other),
        ] {
            assert_eq!(FileKind::of(path), kind, "{path}");
        }
    }
}
