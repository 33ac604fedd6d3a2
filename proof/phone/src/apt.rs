// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! A private apt: its own sources, lists and status, so that neither the host's sources nor its installed packages are touched, and
//! no root is needed. The host's apt.conf still applies (proxies).

use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::error::{Error, Result};
use crate::platform::Platform;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Of what builds and what PCs boot.
const HOST: &str = "amd64";
const MEND: &str = "use a Debian 12 or 13 host, or name a kernel with --kernel and --modules";

/// Where Debian packages come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The mirror's address, as apt takes it.
    pub mirror: String,
    /// Debian's code name, e.g. "trixie".
    pub codename: String,
}

/// A package of a private apt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub name: String,
    pub version: String,
    /// The architecture it is asked for with; none for the host's own and for what all have.
    pub architecture: Option<String>,
    /// Names this package depends on, first alternative or not, in order.
    pub depends: Vec<String>,
}

/// A private apt in a folder of its own.
pub(crate) struct Apt {
    options: Vec<String>,
}

impl Origin {
    /// `FOVEA_MIRROR` and `FOVEA_SUITE`, else what the host's own apt uses.
    pub(crate) fn of_host() -> Result<Origin> {
        let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let (mirror, suite) = (variable("FOVEA_MIRROR"), variable("FOVEA_SUITE"));
        if let (Some(mirror), Some(codename)) = (&mirror, &suite) {
            return Ok(Origin { mirror: mirror.clone(), codename: codename.clone() });
        }
        let format = "$(REPO_URI) $(CODENAME) $(RELEASE) $(ORIGIN) $(LABEL) $(COMPONENT)";
        let args = ["indextargets", "--format", format, "Created-By: Packages"];
        let targets = command::stdout(Command::new("apt-get").args(args), MEND)?;
        let mut origin = choose_origin(&targets).ok_or_else(|| {
            Error::missing(
                "the host's apt sources name no Debian main archive (or `apt-get update` never ran)",
                "run `apt-get update`, or set FOVEA_MIRROR and FOVEA_SUITE, e.g. FOVEA_SUITE=trixie",
            )
        })?;
        if let Some(mirror) = mirror {
            origin.mirror = mirror;
        }
        if let Some(suite) = suite {
            origin.codename = suite;
        }
        Ok(origin)
    }

    /// The suite of this Debian that has Linux 6.12.
    fn kernel_suite(&self) -> Result<String> {
        match self.codename.as_str() {
            "bookworm" => Ok("bookworm-backports".into()),
            "trixie" => Ok("trixie".into()),
            other => Err(Error::missing(format!("Debian {other} has no Linux 6.12"), MEND)),
        }
    }
}

impl Apt {
    /// Sets a private apt up in `dir` and gets the package lists.
    ///
    /// # Errors
    /// No keyring, no apt, no network, or a Debian without Linux 6.12.
    pub(crate) fn new(dir: &Path, origin: &Origin, platform: Platform) -> Result<Apt> {
        Apt::of_suites(dir, &origin.mirror, vec![origin.codename.clone(), origin.kernel_suite()?], platform)
    }

    /// The same of suites by name.
    pub(crate) fn of_suites(dir: &Path, mirror: &str, mut suites: Vec<String>, platform: Platform) -> Result<Apt> {
        if !Path::new(KEYRING).exists() {
            return Err(Error::missing(format!("{KEYRING} is missing"), "apt-get install debian-archive-keyring"));
        }
        for name in ["lists/partial", "cache/archives/partial", "state"] {
            let path = dir.join(name);
            fs::create_dir_all(&path).map_err(Error::io("make", &path))?;
        }
        suites.dedup();
        let sources: String = suites.iter().map(|suite| source_line(mirror, suite, platform)).collect();
        let list = dir.join("sources.list");
        fs::write(&list, sources).map_err(Error::io("write", &list))?;
        let status = dir.join("status");
        fs::write(&status, "").map_err(Error::io("write", &status))?;
        let apt = Apt { options: options(dir, platform, rustix::process::geteuid().is_root()) };
        command::stdout(apt.command("apt-get").args(["update", "-qq"]), MEND)?;
        Ok(apt)
    }

    /// Packages whose name matches a regular expression.
    pub(crate) fn search(&self, pattern: &str) -> Result<Vec<Package>> {
        let found = command::stdout(self.command("apt-cache").args(["search", "--names-only", pattern]), MEND)?;
        let names: Vec<&str> = found.lines().filter_map(|line| line.split_whitespace().next()).collect();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        self.show(&names)
    }

    /// The named packages in every version there is.
    pub(crate) fn show(&self, names: &[&str]) -> Result<Vec<Package>> {
        Ok(parse_packages(&command::stdout(self.command("apt-cache").arg("show").args(names), MEND)?))
    }

    /// Downloads one package into `dir` and returns the file.
    pub(crate) fn download(&self, package: &Package, dir: &Path) -> Result<PathBuf> {
        let sub = dir.join(&package.name);
        fs::create_dir_all(&sub).map_err(Error::io("make", &sub))?;
        let architecture = package.architecture.as_ref().map(|name| format!(":{name}")).unwrap_or_default();
        let wanted = format!("{}{architecture}={}", package.name, package.version);
        command::stdout(self.command("apt-get").args(["download", "-qq", &wanted]).current_dir(&sub), MEND)?;
        let deb = fs::read_dir(&sub).map_err(Error::io("read", &sub))?.find_map(|entry| {
            let path = entry.ok()?.path();
            (path.extension()? == "deb").then_some(path)
        });
        deb.ok_or_else(|| Error::bad(&sub, format!("apt-get downloaded no {wanted}; try again")))
    }

    /// Downloads packages with all they depend on into `dir`, as for a machine that has none yet, and returns the files.
    pub(crate) fn download_all(&self, names: &[&str], dir: &Path) -> Result<Vec<PathBuf>> {
        let partial = dir.join("partial");
        fs::create_dir_all(&partial).map_err(Error::io("make", &partial))?;
        let archives = format!("Dir::Cache::archives={}/", dir.display());
        let mut command = self.command("apt-get");
        command.args(["-o", &archives, "install", "-qq", "--download-only", "--yes", "--no-install-recommends"]);
        command::stdout(command.args(names), MEND)?;
        let entries = fs::read_dir(dir).map_err(Error::io("read", dir))?;
        let mut debs: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        debs.retain(|path| path.extension().is_some_and(|e| e == "deb"));
        debs.sort();
        Ok(debs)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(self.options.iter().flat_map(|option| ["-o", option]));
        command
    }
}

/// The host's, for programs that build, and the machine's.
fn architectures(platform: Platform) -> String {
    match platform.debian() {
        HOST => HOST.to_owned(),
        other => format!("{HOST},{other}"),
    }
}

fn source_line(mirror: &str, suite: &str, platform: Platform) -> String {
    let architectures = architectures(platform);
    // Package lists only: no translations, no desktop metadata.
    format!("deb [arch={architectures} signed-by={KEYRING} lang=none target=Packages] {mirror} {suite} main\n")
}

fn options(dir: &Path, platform: Platform, root: bool) -> Vec<String> {
    let at = |name: &str| dir.join(name).display().to_string();
    let mut options = vec![
        format!("Dir::Etc::SourceList={}", at("sources.list")),
        "Dir::Etc::SourceParts=/dev/null".into(),
        "Dir::Etc::Preferences=/dev/null".into(),
        "Dir::Etc::PreferencesParts=/dev/null".into(),
        format!("Dir::State={}", at("state")),
        format!("Dir::State::Lists={}", at("lists")),
        format!("Dir::State::status={}", at("status")),
        format!("Dir::Cache={}", at("cache")),
        format!("APT::Architecture={HOST}"),
        format!("APT::Architectures={}", architectures(platform)),
        "APT::Default-Release=".into(),
        "Acquire::Retries=3".into(),
    ];
    if root {
        // apt drops root for downloads, and its _apt user cannot write into our folder.
        options.push("APT::Sandbox::User=root".into());
    }
    options
}

/// The first Debian main archive among lines of "URI CODENAME RELEASE ORIGIN LABEL COMPONENT".
fn choose_origin(targets: &str) -> Option<Origin> {
    targets.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [mirror, codename, release, "Debian", "Debian", "main"] = fields[..] else { return None };
        // Security, updates and backports are other archives or suites of the same release.
        let plain = !codename.contains('-') && !release.contains('-') && !mirror.starts_with("cdrom:");
        plain.then(|| Origin { mirror: mirror.to_owned(), codename: codename.to_owned() })
    })
}

/// Reads the stanzas that `apt-cache show` prints.
fn parse_packages(text: &str) -> Vec<Package> {
    text.split("\n\n")
        .filter_map(|stanza| {
            let field =
                |name: &str| stanza.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
            let depends = field("Depends").unwrap_or("").split([',', '|']);
            let architecture = field("Architecture").filter(|name| ![HOST, "all"].contains(name));
            Some(Package {
                name: field("Package")?.to_owned(),
                version: field("Version")?.to_owned(),
                architecture: architecture.map(str::to_owned),
                depends: depends.filter_map(|one| one.split_whitespace().next()).map(str::to_owned).collect(),
            })
        })
        .collect()
}

/// Compares Debian versions as dpkg does.
pub(crate) fn compare_versions(a: &str, b: &str) -> Result<Ordering> {
    let is = |relation| -> Result<bool> {
        let mut dpkg = Command::new("dpkg");
        Ok(command::output(dpkg.args(["--compare-versions", a, relation, b]), MEND)?.status.success())
    };
    Ok(match (is("lt")?, is("gt")?) {
        (true, _) => Ordering::Less,
        (_, true) => Ordering::Greater,
        _ => Ordering::Equal,
    })
}

/// The package of the highest version.
pub(crate) fn newest(packages: Vec<Package>) -> Result<Option<Package>> {
    let mut best: Option<Package> = None;
    for package in packages {
        let higher = match &best {
            None => true,
            Some(best) => compare_versions(&package.version, &best.version)? == Ordering::Greater,
        };
        if higher {
            best = Some(package);
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_the_main_archives_and_not_securitys() {
        let targets = "\
            http://sec.example/debian-security/ bookworm-security bookworm-security Debian Debian-Security main\n\
            http://other.example/ nodistro nodistro . . main\n\
            cdrom:[x]/ bookworm bookworm Debian Debian main\n\
            http://a.example/debian/ bookworm-updates bookworm-updates Debian Debian main\n\
            http://a.example/debian/ bookworm bookworm Debian Debian main\n";
        let origin = choose_origin(targets).unwrap();
        assert_eq!(origin, Origin { mirror: "http://a.example/debian/".into(), codename: "bookworm".into() });
        assert_eq!(origin.kernel_suite().unwrap(), "bookworm-backports");
        assert_eq!(choose_origin("http://u.example/ubuntu noble noble Ubuntu Ubuntu main"), None);
    }

    #[test]
    fn a_debian_without_our_kernel_is_named() {
        let origin = Origin { mirror: "http://a.example".into(), codename: "buster".into() };
        assert!(origin.kernel_suite().unwrap_err().to_string().contains("buster"));
    }

    #[test]
    fn stanzas_are_read() {
        let text = "Package: a\nVersion: 1:2-3\nArchitecture: arm64\nDepends: b (= 1), c | d:any (>= 2)\nDescription: x\n more\n\n\
                    Package: e\nVersion: 4\nArchitecture: all\n\n";
        let packages = parse_packages(text);
        assert_eq!(packages.len(), 2);
        assert_eq!(packages[0].depends, ["b", "c", "d:any"]);
        assert_eq!((packages[1].version.as_str(), packages[1].depends.len()), ("4", 0));
        assert_eq!(packages.iter().map(|p| p.architecture.as_deref()).collect::<Vec<_>>(), [Some("arm64"), None]);
    }

    #[test]
    fn the_newest_is_dpkgs_newest_and_not_the_alphabets() {
        if Command::new("dpkg").arg("--version").output().is_err() {
            println!("skipped: no dpkg here");
            return;
        }
        let package = |version: &str| parse_packages(&format!("Package: {version}\nVersion: {version}\n")).remove(0);
        let versions = ["6.12.9-1", "6.12.95-1~bpo12+1", "6.12.95-1", "6.12.90-2"];
        assert_eq!(newest(versions.map(package).to_vec()).unwrap().unwrap().version, "6.12.95-1");
        assert_eq!(newest(Vec::new()).unwrap(), None);
    }

    #[test]
    fn packages_of_another_machine_come_beside_the_hosts() {
        let line = |platform| source_line("http://a.example", "trixie", platform);
        assert!(line(Platform::VirtArm64).starts_with("deb [arch=amd64,arm64 signed-by="));
        assert!(line(Platform::X86_64).starts_with("deb [arch=amd64 signed-by="));
        let options = options(Path::new("/x"), Platform::VirtArmhf, false);
        assert!(options.contains(&"APT::Architectures=amd64,armhf".to_owned()));
    }

    #[test]
    fn the_sandbox_user_is_named_for_root_only() {
        let sandbox =
            |root| options(Path::new("/x"), Platform::X86_64, root).iter().any(|o| o.starts_with("APT::Sandbox"));
        assert!(sandbox(true) && !sandbox(false));
    }
}
