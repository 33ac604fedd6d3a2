// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What makes no sense is refused, what is true is told, and nothing in use can be taken away.

use fovea_contract::{aciom_options, aciom_status, ACIOM_ALL, ACIOM_FORGET, ACIOM_MODULE, ACIOM_TARGET};
use fovea_linux::module;
use fovea_tests::kernel::{at, open_direct, target, Outcome};
use fovea_tests::report::Report;

use crate::stack::{App, Volume};

pub fn all(volume: &Volume, report: &Report) -> Outcome<()> {
    tables(volume, report)?;
    messages(volume, report)?;
    let (mapper, name) = (&volume.mapper, volume.name);
    let open = open_direct(&volume.node)?;
    report.check("removing it while it is open is refused", mapper.remove(name).is_err(), "");
    drop(open);
    let unloaded = module::remove(ACIOM_MODULE);
    report.check("unloading under a target is refused", unloaded.is_err(), format_args!("{unloaded:?}"));
    Ok(())
}

fn tables(volume: &Volume, report: &Report) -> Outcome<()> {
    let size = volume.table[0].size_sectors;
    let good = volume.table[0].parameters.split(' ').next().unwrap_or_default().to_owned();
    let bad = [
        String::new(),
        "/dev/null".into(),
        "99:99".into(),
        format!("{good} cmax="),
        format!("{good} cmax=-1"),
        format!("{good} cmax=1x"),
        format!("{good} cmax=1099511627777"),
        format!("{good} cmax=99999999999999999999999"),
        format!("{good} hold=65537"),
        format!("{good} cmax=1 speed=2"),
    ];
    let mapper = &volume.mapper;
    at("bad", mapper.create("bad"))?;
    for parameters in bad {
        let loaded = mapper.load("bad", &[target(ACIOM_TARGET, 0, size, parameters.clone())]);
        report.check(format_args!("the table \"{parameters}\" is refused"), loaded.is_err(), "");
    }
    let long = mapper.load("bad", &[target(ACIOM_TARGET, 0, size + 8, good)]);
    report.check("a table longer than the disk is refused", long.is_err(), "");
    at("bad", mapper.remove("bad"))?;
    let table = at("table", mapper.table(volume.name))?;
    let text = &table[0].parameters;
    let told = aciom_options::ALL.iter().all(|name| text.contains(&format!(" {name}=")));
    report.check("the table tells its options", told, text);
    let wrong: Vec<&str> = aciom_status::ALL.into_iter().filter(|name| volume.count(name).is_err()).collect();
    report.check("the status has each number", wrong.is_empty(), format_args!("{wrong:?}"));
    Ok(())
}

fn messages(volume: &Volume, report: &Report) -> Outcome<()> {
    for text in [
        "class",
        "class 1",
        "class 1 urgent",
        "class 0 plain",
        "class -1 plain",
        "class x bursty",
        "class 1 bursty now",
        "class 99999999999999999999999 plain",
        "forget",
        "forget x",
        "forget 123456789",
        "cmax",
        "cmax -1",
        "cmax 1099511627777",
        "nonsense",
    ] {
        report.check(format_args!("the message \"{text}\" is refused"), volume.message(text).is_err(), "");
    }
    // More apps than there are numbers, then all forgotten.
    let refused = (1..=300).find(|id| volume.message(&format!("class {id} bursty")).is_err());
    report.check("the 257th class that is not plain is refused", refused == Some(257), format_args!("{refused:?}"));
    volume.message("class 300 plain")?;
    volume.message(&format!("{ACIOM_FORGET} {ACIOM_ALL}"))?;
    volume.message("class 300 time-sensitive")?;
    volume.message("forget 300")?;
    let app = App::make("nobody")?;
    volume.class(&app, "bursty")?;
    volume.forget(&app)
}

/// After the last volume has gone.
pub fn unload(report: &Report) -> Outcome<()> {
    at(ACIOM_MODULE, module::remove(ACIOM_MODULE))?;
    report.check("the module is gone", !std::path::Path::new("/sys/module").join(ACIOM_MODULE).exists(), "");
    Ok(())
}
