// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! `fovea phone`: scenarios in the virtual phone.

mod merge;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use fovea_phone::fetch::Line;
use fovea_phone::kmod::{self, Sources};
use fovea_phone::{desktop, fetch, guard, Cache, Kernel, Phone as Machine, Platform, Programs, Progress, RunOptions};
use fovea_report::document::{distinct, Document, FileError};
use fovea_report::gather::Saved;
use fovea_report::page::{panels as drawn, picture, Report};
use fovea_report::text::render;
use fovea_scenario::kinds::{panels, papers};
use fovea_scenario::series::free_memory;
use fovea_scenario::{builtin_scenarios, document, Boot, Catalog, Plan, Provenance, Reservation, Scenario};

use crate::failure::Failure;
use crate::output::{print, print_line};

/// Modules that the guest needs: storage and compressed swap.
const MODULES: [&str; 2] = ["null_blk", "zram"];

/// The flash's file system and the checksum that it asks modprobe for, where they are modules; what is built in is passed over.
const FILE_SYSTEM_MODULES: [&str; 2] = ["crc32c_generic", "ext4"];

/// Those of a phone with a network: a link and its queues, and what tells of connections.
const NETWORK_MODULES: [&str; 11] = [
    "veth",
    "ifb",
    "sch_netem",
    "sch_tbf",
    "sch_fq_codel",
    "sch_cake",
    "sch_ingress",
    "cls_matchall",
    "act_mirred",
    "tcp_diag",
    "udp_diag",
];

/// Modules of our own for phones whose reserved memory is put to use: the eCache, and what it is compared with. What they need comes along.
const OWN_MODULES: [&str; 2] = ["dm-ecache", "contig-heap"];

/// Modules for a slow disk: the kernel's schedulers, and ours.
const DISK_MODULES: [&str; 4] = ["mq-deadline", "kyber-iosched", "bfq", "dm-aciom"];
/// Those of phones with devices that import buffers; and the driver of the kernel's for one of their IOMMUs.
const IMPORTERS_MODULES: [&str; 3] = ["fovea-system-heap", "fovea-heap-wrap", "edu-importer"];
const VIRTIO_IOMMU_MODULE: &str = "virtio-iommu";

/// The shortest `ecache` that shows something: a workload that fills memory soon and has devices work, measured once memory is full.
const ECACHE_DEMO: [&str; 4] = ["cases=N", "traced=[]", "warm_launches=60", "launches=60"];

/// One boot of `mapcache`.
const MAPCACHE_DEMO: [&str; 3] =
    ["cases=fragmented-strict-60,unfragmented-strict-60", "configurations=off,on", "frames=15"];

/// Five seconds of a film beside a copy.
const DISK_DEMO: [&str; 3] =
    ["configurations=none,mq-deadline,bfq,fovea-dm", "play_ns=5000000000", "alone_ns=1000000000"];

/// Beside four connections of a download the film stands still, beside one it does not.
const NET_DEMO: [&str; 2] = ["flows=4", "configurations=pfifo,fovea"];

/// Five minutes, with as much merged as can be, and by our windows.
const KSM_DEMO: [&str; 3] = ["cases=session", "configurations=always,fovea", "session_ns=300000000000"];

/// One app in front and three behind. Where they change places NUMA balancing takes as much energy, within some percent that kernel and build decide.
const TIER_DEMO: [&str; 3] = ["fast_percent=5", "ratio=15", "configurations=default,numa-balancing,fovea"];

/// What to do with the virtual phone.
#[derive(Subcommand)]
pub enum Phone {
    /// Run a scenario: a name from `fovea phone list`, or a file.
    Run(Run),
    /// Make one results document of several, each of other cases or configurations of one scenario.
    Merge(merge::Merge),
    /// Run `lowmem`, a short workload, a short `ecache`, a video, a film beside a copy and beside a download, apps that are alike, and fast and slow memory, show the results beside the papers', and make one page of them.
    Demo(Demo),
    /// A shell in the phone, with the daemon running.
    Shell {
        /// Scenario whose phone, apps and daemon configuration are used.
        #[arg(default_value = "workload")]
        scenario: String,
        #[command(flatten)]
        kernel: KernelChoice,
    },
    /// Fetch the kernel into the cache, without running anything.
    Fetch {
        /// Look for a newer one though there is one.
        #[arg(long)]
        refresh: bool,
        /// The machine whose kernel it is: x86-64, virt-arm64, virt-arm64-16k, virt-armhf.
        #[arg(long, value_name = "M", default_value = "x86-64", value_parser = platform)]
        machine: Platform,
    },
    /// List the scenarios that come with the program.
    List,
}

/// Which kernel.
#[derive(Args, Clone)]
pub struct KernelChoice {
    /// Kernel to boot (vmlinux or vmlinuz), in place of Debian's.
    #[arg(long, value_name = "FILE")]
    kernel: Option<PathBuf>,
    /// Its modules (a folder as /lib/modules/RELEASE is).
    #[arg(long, value_name = "DIR", requires = "kernel")]
    modules: Option<PathBuf>,
    /// Machine that QEMU plays: x86-64, virt-arm64 (4 KiB pages), virt-arm64-16k, virt-armhf. Figures of docs are of x86-64.
    #[arg(long, value_name = "M", default_value = "x86-64", value_parser = platform, conflicts_with = "kernel")]
    machine: Platform,
}

fn platform(name: &str) -> Result<Platform, String> {
    name.parse().map_err(|e: fovea_phone::Error| e.to_string())
}

/// How boots are run.
#[derive(Args, Clone)]
pub struct How {
    /// One instruction is one nanosecond: the same figures on every run and machine.
    #[arg(long)]
    exact: bool,
    /// Boots side by side.
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    /// Folder for the logs of each boot.
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    results: PathBuf,
    /// Seconds in which a boot must say something; it ends after eight times as long, whatever it says.
    #[arg(long, value_name = "S", default_value_t = 2700)]
    limit_s: u64,
    #[command(flatten)]
    kernel: KernelChoice,
}

/// `fovea phone run`.
#[derive(Args)]
pub struct Run {
    /// Scenario: a name or a file.
    scenario: String,
    /// Parameters in place of the scenario's own, e.g. launches=50.
    #[arg(value_name = "KEY=VALUE")]
    parameters: Vec<String>,
    /// Write the results document.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw free memory over time, with kills marked (SVG).
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    #[command(flatten)]
    how: How,
}

/// `fovea phone demo`.
#[derive(Args)]
pub struct Demo {
    /// Launches of the workload.
    // With 120 memory is hardly short yet, and apps come back 2 % later than under zram.
    #[arg(long, default_value_t = 200)]
    launches: u32,
    /// Folder for results and the page.
    #[arg(long, value_name = "FOLDER", default_value = "results/demo")]
    results: PathBuf,
    #[command(flatten)]
    kernel: KernelChoice,
}

impl From<fovea_phone::Error> for Failure {
    fn from(error: fovea_phone::Error) -> Self {
        let mut line = error.to_string();
        for detail in error.details() {
            line += &format!("\n  {detail}");
        }
        match error.is_missing() {
            true => Failure::Lacks(line),
            false => Failure::Failed(line),
        }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Failure::failed(error.to_string())
    }
}

impl From<fovea_scenario::Error> for Failure {
    fn from(error: fovea_scenario::Error) -> Self {
        match error {
            // What the command line says is wrong, not what a file holds.
            fovea_scenario::Error::Parameter { .. } => Failure::Usage(error.to_string()),
            _ => Failure::Failed(error.to_string()),
        }
    }
}

/// Does it.
pub fn phone(phone: Phone) -> Result<(), Failure> {
    match phone {
        Phone::Run(run) => {
            let scenario = Scenario::load(&run.scenario, &run.parameters)?;
            let command = command(&run.scenario, &run.parameters, &run.how);
            let document = one(&scenario, command, &run.how, run.json.as_deref(), run.picture.as_deref())?;
            verdict([&document].into_iter())
        }
        Phone::Merge(merge) => merge.run(),
        Phone::Demo(demo) => show(&demo),
        Phone::Shell { scenario, kernel } => {
            let plans = Scenario::load(&scenario, &[])?.plans(&Catalog::builtin()?, false)?;
            let plan =
                plans.iter().rfind(|_| true).ok_or_else(|| Failure::failed(format!("{scenario}: it has no boot")))?;
            Ok(machine(&kernel, std::slice::from_ref(plan), &Progress::auto())?.shell(plan)?)
        }
        Phone::Fetch { refresh, machine } => {
            let (cache, progress) = (Cache::open()?, Progress::auto());
            let kernel = fetch::kernel_of(&cache, Line::of(machine), refresh, &progress)?;
            fetch::busybox_of(&cache, machine, &progress)?;
            print_line(format!("{} ({})", kernel.release, kernel.package_version))
        }
        Phone::List => builtin_scenarios().try_for_each(print_line),
    }
}

fn machine(choice: &KernelChoice, plans: &[Plan], progress: &Progress) -> Result<Machine, Failure> {
    let cache = Cache::open()?;
    let kernel = match &choice.kernel {
        Some(image) => Kernel::from_files(&cache, image, choice.modules.as_deref())?,
        None => fetch::kernel_of(&cache, Line::of(choice.machine), false, progress)?,
    };
    let platform = kernel.platform;
    let programs = Programs::find_for(platform, fetch::busybox_of(&cache, platform, progress)?)?;
    let (mut modules, mut own) = (MODULES.to_vec(), None);
    if platform.is_arm() {
        modules.extend(FILE_SYSTEM_MODULES);
    }
    // All boots of a comparison have the same image.
    let reserves = plans.iter().any(|plan| plan.configuration.reservation != Reservation::Absent);
    let imports = plans.iter().any(|plan| plan.importers.is_some());
    if reserves || imports {
        own = Some(kmod::build(&cache, &kernel, &Sources::find()?, None, progress)?);
    }
    if reserves {
        modules.extend(OWN_MODULES);
    }
    if plans.iter().any(|plan| plan.configuration.disk.is_some()) {
        own = Some(kmod::build(&cache, &kernel, &Sources::find()?, None, progress)?);
        modules.extend(DISK_MODULES);
    }
    if plans.iter().any(|plan| plan.configuration.queue.is_some()) {
        modules.extend(NETWORK_MODULES);
    }
    if imports {
        // A device is bound to its driver behind its IOMMU, so that comes first.
        modules.push(VIRTIO_IOMMU_MODULE);
        modules.extend(IMPORTERS_MODULES);
    }
    let mut machine = Machine::prepare(&cache, kernel, &programs, &modules, own.as_ref(), progress)?;
    if plans.iter().any(|plan| plan.configuration.prefetch.is_some()) {
        machine = machine.with_files(&[programs.beside("fovea-prefetch")?])?;
    }
    if plans.iter().any(|plan| plan.desktop.is_some()) {
        machine = machine.with_desktop(&desktop::fetch(&cache, progress)?)?;
    }
    let phones = plans.iter().filter(|plan| plan.desktop.is_none());
    for name in distinct(phones.filter_map(|plan| plan.configuration.guard.as_deref())) {
        machine = machine.with_guard(name, &guard::fetch(&cache, name, progress)?)?;
    }
    Ok(machine)
}

/// The words that repeat a run, as in [`Document::command`].
fn command(scenario: &str, parameters: &[String], how: &How) -> Vec<String> {
    let mut words: Vec<String> = ["phone", "run", scenario].map(str::to_owned).to_vec();
    words.extend_from_slice(parameters);
    words.extend(how.exact.then(|| "--exact".to_owned()));
    if how.kernel.machine != Platform::default() {
        words.extend(["--machine".to_owned(), how.kernel.machine.to_string()]);
    }
    for (option, path) in [("--kernel", &how.kernel.kernel), ("--modules", &how.kernel.modules)] {
        words.extend(path.iter().flat_map(|path| [option.to_owned(), path.display().to_string()]));
    }
    words
}

/// Runs a scenario, prints its table, and writes what was asked for. A boot that failed fails the call, after the others are done.
fn one(
    scenario: &Scenario,
    command: Vec<String>,
    how: &How,
    json: Option<&Path>,
    picture: Option<&Path>,
) -> Result<Document, Failure> {
    let plans = scenario.plans(&Catalog::builtin()?, how.exact)?;
    let progress = Progress::auto();
    let machine = machine(&how.kernel, &plans, &progress)?;
    let options = RunOptions { timeout: Duration::from_secs(how.limit_s), results: how.results.clone() };
    let outcomes = machine.run_all(&plans, how.jobs, &options, &progress, |_, _| {});
    let mut failures = Vec::new();
    let events: Vec<_> = outcomes
        .into_iter()
        .map(|outcome| outcome.map(|o| o.events).map_err(|e| failures.push(Failure::from(e))).unwrap_or_default())
        .collect();
    let boots: Vec<Boot> = plans.iter().zip(&events).map(|(plan, events)| Boot { plan, events }).collect();
    let provenance = Provenance { qemu: machine.qemu_version().into(), commit: env!("FOVEA_COMMIT").into(), command };
    let document = document(scenario, &boots, &provenance);
    print(&render(&document, &papers()))?;
    if let Some(path) = json {
        document.write(path)?;
    }
    if let Some(path) = picture {
        draw(path, &boots)?;
    }
    match failures.into_iter().next() {
        Some(failure) => Err(failure),
        None => Ok(document),
    }
}

/// One picture of the first case's boots with the first seed: one line per configuration.
fn draw(path: &Path, boots: &[Boot]) -> Result<(), Failure> {
    let Some(first) = boots.first().map(|b| b.plan) else { return Ok(()) };
    let same = |plan: &Plan| (&plan.case, plan.of_seed, plan.seed) == (&first.case, first.of_seed, first.seed);
    let shown: Vec<Boot> = boots
        .iter()
        .filter(|b| same(b.plan) && !b.events.is_empty())
        .map(|b| Boot { plan: b.plan, events: b.events })
        .collect();
    let title = [first.scenario.as_str(), first.case.as_str()].join(" ");
    let chart = free_memory(title.trim(), &shown);
    if chart.series.is_empty() {
        return Err(Failure::failed("no boot has two samples of memory: run the scenario to its end first"));
    }
    write(path, &picture("Free memory over time", &[chart]))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|cause| FileError { path: path.to_owned(), cause }.into())
}

fn verdict<'d>(documents: impl Iterator<Item = &'d Document>) -> Result<(), Failure> {
    let failed: Vec<&str> = documents.flat_map(|d| &d.verdicts).filter(|v| !v.pass).map(|v| v.id.as_str()).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::failed(format!("verdicts that fail: {}", failed.join(", ")))),
    }
}

fn show(demo: &Demo) -> Result<(), Failure> {
    std::fs::create_dir_all(&demo.results).map_err(|e| {
        Failure::failed(format!("{}: {e}: name a writable folder with --results", demo.results.display()))
    })?;
    let file = |name: &str| demo.results.join(name);
    let mut documents = Vec::new();
    let scenarios = [
        ("lowmem", vec!["rounds=1".to_owned()]),
        ("workload", vec![format!("launches={}", demo.launches)]),
        ("ecache", ECACHE_DEMO.map(String::from).to_vec()),
        ("mapcache", MAPCACHE_DEMO.map(String::from).to_vec()),
        ("disk", DISK_DEMO.map(String::from).to_vec()),
        ("net", NET_DEMO.map(String::from).to_vec()),
        ("ksm", KSM_DEMO.map(String::from).to_vec()),
        ("tier", TIER_DEMO.map(String::from).to_vec()),
    ];
    for (name, parameters) in scenarios {
        let how = How { exact: true, jobs: 2, results: file(name), limit_s: 900, kernel: demo.kernel.clone() };
        let scenario = Scenario::load(name, &parameters)?;
        let json = format!("{name}.json");
        let command = command(name, &parameters, &how);
        documents.push((json.clone(), one(&scenario, command, &how, Some(&file(&json)), None)?));
        print_line(format!("\nwritten: {}\n", file(&json).display()))?;
    }
    let (page, sheet) = (file("demo.html"), file("demo.svg"));
    write(
        &sheet,
        &picture(
            "Fovea on a phone of 512 MB: what a person notices",
            &drawn(&panels(), documents.iter().map(|d| &d.1)),
        ),
    )?;
    let report = Report {
        documents: documents.into_iter().map(|(path, document)| Saved { path, document }).collect(),
        command: vec!["phone".into(), "demo".into()],
        commit: env!("FOVEA_COMMIT").into(),
        ..Report::default()
    };
    write(&page, &report.html(&papers(), &panels()))?;
    print_line(format!(
        "all of it as one page: {}, and what a person notices as one picture: {}",
        page.display(),
        sheet.display()
    ))?;
    verdict(report.documents.iter().map(|s| &s.document))
}
