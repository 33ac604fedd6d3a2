// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A user's day on a phone that has all of it at once: apps come and go while a film plays beside an update, a stream beside a download, and an app
//! leaks.

mod configurations;
mod figures;
mod verdicts;

use fovea_report::panel::{Form, Panel};
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;

use super::{About, Parameters};
use crate::catalog::builtin;
use crate::figures::by_case;
use crate::figures::fold::Folded;
use crate::scenario::Scenario;
use crate::script::{
    draw, find, generator, in_range, open, sample, shuffle, start, BadParameter, Day as Session, Script,
};
use crate::{
    AppProfile, Boot, Case, Catalog, DiskLoad, Error, Exporter, Importers, Load, PhoneProfile, Play, Step, Traffic,
    Verdict, PAGE_BYTES,
};

pub(super) const ABOUT: About = About {
    configurations: configurations::ALL,
    scenarios: builtin!["scenarios/day.toml"],
    panels: &[
        Panel {
            scenario: "day",
            title: "Opening an app, over a day in which all happens at once",
            form: Form::Bars,
            figures: &[("launch_geomean_ns", "any app"), ("launch_p95_ns", "95 % of them within")],
        },
        Panel {
            scenario: "day",
            title: "Frames of a film missed beside an update",
            form: Form::Bars,
            figures: &[("missed_frames", "missed")],
        },
    ],
    is_judged_by_figures: true,
    ..About::NONE
};

/// An app that leaks once it is left, and the one that it is otherwise.
const LEAKER: &str = "leaker";
const LEAKER_LIKE: &str = "weather";

/// A large app, and the one that it is otherwise.
const LARGE: &str = "large-game";
const LARGE_LIKE: &str = "dragracing";

/// Takes pictures.
const CAMERA: &str = "camera";

/// Launches before the first of what happens beside them: the phone is in use by then.
const BEFORE: u32 = 4;

/// Parameters, explained in `profiles/scenarios/day.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Day {
    /// By whose proportions apps are opened.
    pub workload: String,
    /// Apps opened, those of what happens beside them apart.
    pub launches: u32,
    /// How often an app is closed and not merely left.
    pub close_percent: u32,
    /// Time spent with each app, unless the footprint says otherwise.
    pub use_ns: u64,
    /// After so many opens the screen goes off; 0 for never.
    pub session_launches: u32,
    /// For so long.
    pub off_ns: u64,
    /// Limit of the daemon's work then.
    pub settle_limit_ns: u64,
    /// Which files the apps use.
    pub footprint: String,
    /// How long the film plays beside an update and mail.
    pub film_ns: u64,
    /// Time from frame to frame.
    pub frame_ns: u64,
    /// Threads of the update's copying.
    pub copy_threads: u64,
    /// What the leaker takes at a time,
    pub leak_mib: f64,
    /// and how often.
    pub leak_period_ns: u64,
    /// How many times the usual size the large app has.
    pub large: f64,
    /// The stream and the download.
    pub traffic: Traffic,
}

impl Default for Day {
    fn default() -> Self {
        Day {
            workload: "HM".into(),
            launches: 24,
            close_percent: 40,
            use_ns: 5_000_000_000,
            session_launches: 8,
            off_ns: 20_000_000_000,
            settle_limit_ns: 300_000_000_000,
            footprint: "android-2.3".into(),
            film_ns: 12_000_000_000,
            frame_ns: 33_333_333,
            copy_threads: 4,
            leak_mib: 1.0,
            leak_period_ns: 500_000_000,
            large: 1.6,
            traffic: Traffic {
                bulk_flows: 8,
                bulk_from_ns: 4_000_000_000,
                stream_ns: 30_000_000_000,
                end_ns: 34_000_000_000,
                ..Traffic::default()
            },
        }
    }
}

/// What happens beside launches, each once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scene {
    /// A film plays, an app updates, mail syncs.
    Film,
    /// A stream plays beside a download.
    Stream,
    /// Pictures are taken.
    Camera,
    /// An app is opened that leaks once it is left.
    Leak,
    /// A large app is opened.
    Large,
}

impl Scene {
    const ALL: [Scene; 5] = [Scene::Film, Scene::Stream, Scene::Camera, Scene::Leak, Scene::Large];

    /// Whether an app is opened for it.
    fn opens(self) -> bool {
        matches!(self, Scene::Camera | Scene::Leak | Scene::Large)
    }
}

impl Parameters for Day {
    fn check(&self) -> Result<(), BadParameter> {
        in_range("launches", self.launches, BEFORE + Scene::ALL.len() as u32, 100_000)?;
        in_range("close_percent", self.close_percent, 0, 100)?;
        in_range("use_ns", self.use_ns, 0, 3_600_000_000_000)?;
        // The first two seconds are counted apart.
        in_range("film_ns", self.film_ns, 3_000_000_000, 3_600_000_000_000)?;
        in_range("frame_ns", self.frame_ns, 1_000_000, 1_000_000_000)?;
        in_range("copy_threads", self.copy_threads, 1, 256)?;
        in_range("leak_mib", self.leak_mib, 0.01, 1024.0)?;
        in_range("leak_period_ns", self.leak_period_ns, 1_000_000, 60_000_000_000)?;
        in_range("large", self.large, 0.1, 10.0)?;
        in_range("traffic.bulk_flows", self.traffic.bulk_flows, 1, 256)
    }

    fn scripts(&self, scenario: &Scenario, scale: f64, catalog: &Catalog) -> Result<Vec<Script>, Error> {
        let phone = catalog.phone(&scenario.phone).ok_or_else(|| {
            scenario.wrong(format!("no phone {:?}", scenario.phone), "use nexus-s-day, or another that reserves memory")
        })?;
        if phone.flash.command_bytes.is_none() {
            let what = "the phone's flash takes commands of any length".into();
            return Err(scenario.wrong(what, "give it flash.command_bytes"));
        }
        let like = |name: &str| {
            let found = catalog.app(name).cloned();
            found.ok_or_else(|| scenario.wrong(format!("no app {name:?}"), "add it to profiles/apps"))
        };
        let pages = ((self.leak_mib * scale * 1024.0 * 1024.0) as u64).div_ceil(PAGE_BYTES as u64);
        let leak = Load::Leak { pages, period_ns: self.leak_period_ns };
        let leaker = AppProfile { name: LEAKER.into(), role: "service".into(), load: Some(leak), ..like(LEAKER_LIKE)? };
        let large = like(LARGE_LIKE)?;
        let anon_bytes = (large.anon_bytes as f64 * self.large) as u64;
        let large = AppProfile { name: LARGE.into(), anon_bytes, ..large };
        Ok(vec![Script {
            seed: scenario.seed,
            steps: self.steps(scenario, phone, catalog)?,
            apps: vec![leaker, large],
            disk_rate: Some(phone.flash.rate_bytes()),
            daemon_keys: format!("capacity_bytes_per_s = {}\n", self.traffic.link_bytes_per_s),
            importers: Some(Importers::Strict),
            ..Script::default()
        }])
    }

    /// With the footprint's files in place of its own; what is like another has that one's.
    fn app(
        &self,
        app: &AppProfile,
        scenario: &Scenario,
        devices: Option<&PhoneProfile>,
        catalog: &Catalog,
    ) -> Result<AppProfile, Error> {
        let like = [(LEAKER, LEAKER_LIKE), (LARGE, LARGE_LIKE)].into_iter().find(|(name, _)| app.name == *name);
        let Some((name, like)) = like else {
            return scenario.with_files(&self.footprint, app, devices, catalog);
        };
        let named = AppProfile { name: like.into(), ..app.clone() };
        let laid = scenario.with_files(&self.footprint, &named, devices, catalog)?;
        Ok(AppProfile { name: name.into(), ..laid })
    }

    fn cases(&self, scenario: &Scenario, folded: &[Folded]) -> Vec<Case> {
        by_case(scenario, &[String::new()], folded, figures::fill)
    }

    fn verdicts(&self, scenario: &Scenario, cases: &[Case], _boots: &[Boot<'_>]) -> Vec<Verdict> {
        verdicts::all(scenario, cases, self.opened())
    }
}

impl Day {
    /// All launches.
    fn opened(&self) -> u32 {
        self.launches + Scene::ALL.iter().filter(|scene| scene.opens()).count() as u32
    }

    /// After which launch each scene comes: no two after the same.
    fn scenes(&self, rng: &mut ChaCha8Rng) -> Vec<(u32, Scene)> {
        let mut slots: Vec<u32> = (BEFORE..self.launches).collect();
        shuffle(&mut slots, rng);
        slots.into_iter().zip(Scene::ALL).collect()
    }

    fn steps(&self, scenario: &Scenario, phone: &PhoneProfile, catalog: &Catalog) -> Result<Vec<Step>, Error> {
        let workload = find(catalog, &scenario.name, &self.workload)?;
        let footprint = scenario.footprint(&self.footprint, catalog)?;
        let session = Session {
            close_percent: self.close_percent,
            use_ns: self.use_ns,
            session_launches: self.session_launches,
            off_ns: self.off_ns,
            settle_limit_ns: self.settle_limit_ns,
        };
        let scenes = self.scenes(&mut generator(scenario.seed, "day-scenes", 0));
        let mut rng = generator(scenario.seed, "day", 0);
        let mut steps: Vec<Step> = scenario.services.iter().map(|s| start(s)).collect();
        steps.push(sample("begin"));
        for launch in 1..=self.launches {
            let app = draw(workload, &mut rng);
            let ns = footprint.use_ns(app).unwrap_or(self.use_ns);
            steps.extend([open(app), Step::Use { app: app.into(), ns }]);
            session.leave_app(launch, app, &mut rng, &mut steps);
            let here = scenes.iter().filter(|(after, _)| *after == launch);
            here.for_each(|(_, scene)| self.scene(*scene, phone, &mut steps));
        }
        steps.push(sample("end"));
        Ok(steps)
    }

    fn scene(&self, scene: Scene, phone: &PhoneProfile, steps: &mut Vec<Step>) {
        let used = |app: &str| [open(app), Step::Use { app: app.into(), ns: self.use_ns }, Step::Home {}];
        match scene {
            Scene::Film => steps.extend([Step::Home {}, Step::Disk { load: self.film(phone) }]),
            Scene::Stream => steps.extend([Step::Home {}, Step::Traffic(self.traffic)]),
            Scene::Camera => steps.extend(used(CAMERA)),
            Scene::Leak => steps.extend(used(LEAKER)),
            Scene::Large => steps.extend(used(LARGE)),
        }
    }

    /// Its frames are the decoder's reservation.
    fn film(&self, phone: &PhoneProfile) -> DiskLoad {
        let reserved = |device: &str| phone.reserved_bytes.get(device).copied().unwrap_or_default();
        let disk = crate::kinds::disk::Disk {
            frame_ns: self.frame_ns,
            copy_threads: self.copy_threads,
            ..crate::kinds::disk::Disk::default()
        };
        let play = Play {
            label: DiskLoad::UPDATE.into(),
            scatter: false,
            mapcache: false,
            exporter: Exporter::Reserved,
            frames: (self.film_ns / self.frame_ns) as u32,
            frame_buffers: 1,
            frame_bytes: reserved("mfc0"),
            video_buffers: 1,
            video_bytes: reserved("mfc1"),
            compressed_bytes: disk.frame_bytes,
        };
        DiskLoad { label: DiskLoad::UPDATE.into(), ns: self.film_ns, disk, play: Some(play) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan_steps(seed: u64) -> Vec<Step> {
        let scenario = Scenario::load("day", &[format!("seed={seed}")]).unwrap();
        let plans = scenario.plans(&Catalog::builtin().unwrap(), true).unwrap();
        assert!(plans.iter().all(|plan| plan.steps == plans[0].steps), "all configurations have the same day");
        plans[0].steps.clone()
    }

    #[test]
    fn each_scene_comes_once_and_when_it_does_is_drawn() {
        let day = Day::default();
        let at = |seed| day.scenes(&mut generator(seed, "day-scenes", 0));
        for seed in 1..50 {
            let scenes = at(seed);
            for scene in Scene::ALL {
                assert_eq!(scenes.iter().filter(|(_, s)| *s == scene).count(), 1);
            }
            let mut slots: Vec<u32> = scenes.iter().map(|(after, _)| *after).collect();
            assert!(slots.iter().all(|after| (BEFORE..day.launches).contains(after)));
            slots.sort_unstable();
            slots.dedup();
            assert_eq!(slots.len(), Scene::ALL.len(), "no two at once");
        }
        assert_ne!(at(1), at(2));
        assert_eq!(at(3), at(3));
    }

    #[test]
    fn a_day_opens_as_many_apps_as_it_says() {
        for seed in [1, 2, 3] {
            let steps = plan_steps(seed);
            let count = |wanted: fn(&Step) -> bool| steps.iter().filter(|step| wanted(step)).count();
            assert_eq!(count(|s| matches!(s, Step::Open { .. })), Day::default().opened() as usize);
            assert_eq!(count(|s| matches!(s, Step::Disk { .. })), 1);
            assert_eq!(count(|s| matches!(s, Step::Traffic(_))), 1);
            assert_eq!(count(|s| matches!(s, Step::Screen { on: false })), 3);
        }
        assert_ne!(plan_steps(1), plan_steps(2));
    }

    #[test]
    fn what_is_like_another_has_that_ones_files_under_its_own_name() {
        let scenario = Scenario::load("day", &[]).unwrap();
        let plans = scenario.plans(&Catalog::builtin().unwrap(), true).unwrap();
        let app = |name: &str| plans[0].apps.iter().find(|app| app.name == name).unwrap();
        assert!(matches!(app(LEAKER).load, Some(Load::Leak { .. })));
        assert!(app(LEAKER).private_files.iter().any(|file| file.path.contains("Weather")));
        assert!(app(LARGE).anon_bytes > 8433 * 4096, "larger than what it is like");
    }
}
