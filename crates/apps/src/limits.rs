// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What others may have the daemon and its watchers do at most: bytes, counts, breadth, depth and rates. All bounds on what
//! less trusted parties send or make stand here; docs/design/threat-model.md prints the table, and a test holds it to that.

/// One bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The constant's name.
    pub name: &'static str,
    /// Its value.
    pub most: u64,
    /// What is counted.
    pub unit: &'static str,
    /// Of what or whom.
    pub of: &'static str,
    /// What happens beyond.
    pub beyond: &'static str,
}

macro_rules! limits {
    ($($name:ident: $type:ty = $most:expr, $unit:literal, $of:literal, $beyond:literal;)*) => {
        $(
            #[doc = concat!("At most so many ", $unit, " of ", $of, "; beyond: ", $beyond, ".")]
            pub const $name: $type = $most;
        )*
        /// All of them.
        pub const TABLE: &[Limit] = &[
            $(Limit { name: stringify!($name), most: $most as u64, unit: $unit, of: $of, beyond: $beyond },)*
        ];
    };
}

limits! {
    // The control socket, for root.
    REQUEST_MAX_BYTES: usize = 16 << 10, "bytes", "a request", "refused in one line";
    REPLY_MAX_BYTES: usize = 192 << 10, "bytes", "a reply", "the status comes in pages, a story loses its oldest entries";
    STATUS_APPS_MAX: usize = 64, "apps", "a page of the status", "the rest comes in the pages after it";
    CLIENTS_MAX: usize = 64, "connections", "the control socket", "the oldest is closed, a source's last";
    REQUESTS_IN_A_ROW_MAX: usize = 32, "requests", "a client before others are served", "the rest is read afterwards";
    SAID_OF_USER_PER_S: u32 = 20, "requests a second", "a source of one user's session", "read when their time has come";
    CONFIG_MAX_BYTES: usize = 1 << 20, "bytes", "the configuration's file", "refused: the last good one counts";
    SAID_ENTRIES_MAX: usize = 256, "entries", "the owner's lists by command", "refused";
    // Cgroups, which a user's own systemd makes.
    WATCHES_OF_USER_MAX: usize = 2048, "inotify watches", "a user's cgroups", "cgroups beyond are not found";
    FOUND_OF_USER_MAX: usize = 1024, "apps and jobs", "a user", "those beyond count as outsiders, which is said";
    OTHERS_MAX: usize = 4096, "cgroups", "the system, looked through for outsiders while memory is short",
        "cgroups beyond are not watched for growth, which is said";
    OTHERS_OF_USER_MAX: usize = 1024, "cgroups", "a user, looked through likewise",
        "likewise";
    CGROUP_CHANGES_OF_USER_PER_S: u32 = 100, "cgroups made a second", "a user",
        "the user's cgroups are looked through a second later";
    CGROUPS_OF_APP_MAX: usize = 512, "cgroups", "an app, below its own",
        "processes beyond are not ranked or judged singly; a kill ends them";
    CGROUPS_SUMMED_MAX: usize = 64, "cgroups", "an app whose processes are counted for its size",
        "processes in those beyond are not counted; their memory is";
    RANKED_AT_ONCE_MAX: usize = 64, "processes", "an app that are ranked at once, its first ones always",
        "a second later each";
    SUMMED_AT_ONCE_MAX: usize = 128, "processes", "an app that are read for its size at once, without a memory controller",
        "counted as they were when last read";
    LOG_LINE_MAX_BYTES: usize = 1024, "bytes", "a line in the daemon's log", "its middle is left out";
    // The loop's real-time priority.
    REALTIME_MS_PER_S: u32 = 50, "milliseconds of CPU a second", "real-time work while nobody waits for memory",
        "goes on at ordinary priority";
    // Sound and video.
    STREAMS_MAX: usize = 256, "streams", "the sound devices", "streams beyond are not read";
    MEDIA_CLIENTS_OF_USER_MAX: usize = 1024, "processes", "a user among the sound servers' clients", "clients beyond are not perceptible";
    SERVERS_OF_USER_MAX: usize = 16, "programs", "a user that serve sound, or a service of the table", "they are not asked for their clients";
    SERVER_DESCRIPTORS_MAX: usize = 4096, "descriptors", "a server", "clients beyond are not seen";
    PERCEIVED_APART_MS: u32 = 200, "milliseconds apart", "looks that opening a sound or video device brings about", "changes in between wait for the next";
    PERCEIVED_AT_ONCE: u32 = 20, "looks", "those, in a row", "the next ones come at the rate below";
    PERCEIVED_PER_MIN: u32 = 30, "looks a minute", "those, while devices are opened without a pause", "changes wait for the next";
    WATCH_EVENTS_IN_A_ROW_MAX: usize = 1024, "events", "cgroups or devices before others are served", "the rest is taken afterwards";
    // The probe, which touches what others own.
    PROBE_ANSWER_MS: u32 = 40, "milliseconds", "the probe's answers in a row, then a fifth of the time", "who is late is killed, and the answer dropped";
    PROBE_WAITS_MS: u32 = 20, "milliseconds", "a probe waiting for others inside a process, twice in a row, then a fifth of the time",
        "given up and replaced; the process is passed over for 1, 2, 4, … s; of an owner with five all are";
    PROBE_BLAMED_S: u32 = 60, "seconds", "passing over the process or user at whom a probe hung, at most", "looked at again";
    // The system bus.
    ASKED_ON_BUS_PER_MIN: u32 = 60, "requests a minute", "a user to `org.fovea1`", "refused";
    SENT_ON_BUS_AT_ONCE: u32 = 64, "messages", "a program to `org.fovea1`, then one a second", "passed over";
    ASKED_AT_ONCE_MAX: usize = 8, "requests", "a program that have no answer", "refused";
    // News of kills, for everybody.
    LISTENERS_IN_A_ROW_MAX: usize = 16, "listeners", "those who come before others are served", "the rest comes afterwards";
    LISTENERS_OF_USER_MAX: usize = 4, "listeners", "a user", "the oldest is closed";
    LISTENERS_MAX: usize = 256, "listeners", "the news socket", "the oldest of the user with most is closed";
    // The journal.
    EVENTS_OF_APP_PER_MIN: u32 = 60, "lines a minute", "one kind of event of an app", "folded into one line with their count";
    EVENTS_PER_MIN: u32 = 1200, "lines a minute", "one kind of event of all apps", "folded likewise";
    DECISIONS_OF_APP_PER_MIN: u32 = 240, "lines a minute", "one kind of decision on an app, kills aside", "folded likewise";
    DECISIONS_PER_MIN: u32 = 4800, "lines a minute", "one kind of decision on all apps, kills aside", "folded likewise";
    EVENTS_FOLDED_MAX: usize = 4096, "kinds", "events counted a minute", "counted together";
    // What focus sources read of programs.
    BUS_MESSAGE_MAX_BYTES: usize = 256 << 10, "bytes", "a D-Bus message that is read", "passed over";
    INHIBITORS_OF_PROGRAM_MAX: usize = 32, "inhibitors", "a program", "inhibitors beyond are not counted";
    INHIBITING_PROGRAMS_MAX: usize = 128, "programs", "a session's inhibitors", "programs beyond are not counted";
    TOKEN_MAX_BYTES: usize = 256, "bytes", "a portal's token", "the inhibitor ends with its program";
    BUS_NAMES_MAX: usize = 4096, "names", "a session's bus", "names beyond are not known";
    BUS_NAME_MAX_BYTES: usize = 255, "bytes", "a name on a bus", "passed over";
    SWAY_PAYLOAD_MAX_BYTES: usize = 4 << 20, "bytes", "a message of sway", "the source begins anew";
    SWAY_OBJECTS_MAX: usize = 1 << 16, "objects", "a tree of sway's", "likewise";
    SWAY_ELEMENTS_MAX: usize = 1 << 19, "elements", "a tree of sway's", "likewise";
    X11_PACKET_MAX_BYTES: usize = 1 << 20, "bytes", "a packet of an X server", "the source begins anew";
    TOLD_APART_MS: u32 = 100, "milliseconds apart", "what a source tells of inhibitors, players and names",
        "changes in between are told as one";
}

/// Which listener goes when one has come, by whose each is, in the order in which they came: the first of a user who has too many, or of
/// who has most where there are too many in all, and among equals of who came first. So one user with many names keeps nobody out for long.
pub fn listener_to_close(users: &[u32]) -> Option<usize> {
    let count = |uid: &u32| users.iter().filter(|&of| of == uid).count();
    let newest = users.last()?;
    let whose = if count(newest) > LISTENERS_OF_USER_MAX {
        newest
    } else if users.len() > LISTENERS_MAX {
        // Of equals `max_by_key` takes the last.
        users.iter().rev().max_by_key(|uid| count(uid))?
    } else {
        return None;
    };
    users.iter().position(|uid| uid == whose)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bound_bounds_and_has_one_name() {
        let names: std::collections::BTreeSet<_> = TABLE.iter().map(|limit| limit.name).collect();
        assert_eq!(names.len(), TABLE.len());
        assert!(TABLE.iter().all(|limit| limit.most > 0 && limit.most < 1 << 24));
    }
}
