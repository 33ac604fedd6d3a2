// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Who moves pages between fast and slow memory.

use fovea_scenario::Tiering;

use super::nodes;
use crate::outcome::{write_file, Outcome};

const DAMON: &str = "/sys/kernel/mm/damon/admin/kdamonds";

/// DAMON's defaults (Documentation/admin-guide/mm/damon/usage.rst).
const INTERVALS_US: [(&str, u64); 3] = [("sample_us", 5_000), ("aggr_us", 100_000), ("update_us", 1_000_000)];
const REGIONS: [(&str, u64); 2] = [("min", 10), ("max", 1_000)];

/// What either scheme may move.
const BYTES_PER_S: u64 = 16 << 20;

/// Aggregations without an access after which memory is cold.
const COLD_AGE: u64 = 20;

/// How often the kernel looks at what an app uses, in ms of the app's CPU time, and how soon after a look what is used is moved: all that the daemon sets
/// too. The shortest period before the longest, which may not be below it; the first look after either.
const BALANCING: &str = "/sys/kernel/debug/sched/numa_balancing";
const OFTEN: [(&str, &str); 4] = [
    ("scan_period_min_ms", "100"),
    ("scan_period_max_ms", "100"),
    ("scan_delay_ms", "100"),
    ("hot_threshold_ms", "3000"),
];

fn kernel_tiering() -> Outcome<()> {
    write_file("/proc/sys/kernel/numa_balancing", "2")?;
    write_file("/sys/kernel/mm/numa/demotion_enabled", "1")
}

/// Sets it up.
pub fn set_up(tiering: Tiering, fast: u32, slow: u32) -> Outcome<()> {
    match tiering {
        // The daemon has done it before an app began.
        Tiering::Default | Tiering::Managed => Ok(()),
        Tiering::NumaBalancing => kernel_tiering(),
        Tiering::NumaBalancingOften => {
            kernel_tiering()?;
            OFTEN.iter().try_for_each(|(name, ms)| write_file(format!("{BALANCING}/{name}"), ms))
        }
        Tiering::Damon => {
            // Or the kernel's balancing, on with two nodes, would mark pages as well.
            write_file("/proc/sys/kernel/numa_balancing", "0")?;
            write_file(format!("{DAMON}/nr_kdamonds"), "2")?;
            let hot = Scheme { action: "migrate_hot", from: slow, to: fast, accesses: [1, u32::MAX], age: 0 };
            let cold = Scheme { action: "migrate_cold", from: fast, to: slow, accesses: [0, 0], age: COLD_AGE };
            hot.begin(0)?;
            cold.begin(1)
        }
    }
}

/// One kdamond's work.
struct Scheme {
    action: &'static str,
    from: u32,
    to: u32,
    accesses: [u32; 2],
    age: u64,
}

impl Scheme {
    fn begin(&self, kdamond: u32) -> Outcome<()> {
        let kdamond = format!("{DAMON}/{kdamond}");
        let context = format!("{kdamond}/contexts/0");
        let set = |path: &str, value: &dyn ToString| write_file(format!("{context}/{path}"), &value.to_string());
        write_file(format!("{kdamond}/contexts/nr_contexts"), "1")?;
        set("operations", &"paddr")?;
        for (name, us) in INTERVALS_US {
            set(&format!("monitoring_attrs/intervals/{name}"), &us)?;
        }
        for (name, regions) in REGIONS {
            set(&format!("monitoring_attrs/nr_regions/{name}"), &regions)?;
        }
        set("targets/nr_targets", &1)?;
        set("targets/0/regions/nr_regions", &1)?;
        for (name, address) in ["start", "end"].into_iter().zip(nodes::addresses(self.from)?) {
            set(&format!("targets/0/regions/0/{name}"), &address)?;
        }
        set("schemes/nr_schemes", &1)?;
        set("schemes/0/action", &self.action)?;
        set("schemes/0/target_nid", &self.to)?;
        set("schemes/0/access_pattern/sz/max", &u64::MAX)?;
        for (name, accesses) in ["min", "max"].into_iter().zip(self.accesses) {
            set(&format!("schemes/0/access_pattern/nr_accesses/{name}"), &accesses)?;
        }
        set("schemes/0/access_pattern/age/min", &self.age)?;
        set("schemes/0/access_pattern/age/max", &u32::MAX)?;
        set("schemes/0/quotas/bytes", &BYTES_PER_S)?;
        set("schemes/0/quotas/reset_interval_ms", &1000)?;
        write_file(format!("{kdamond}/state"), "on")
    }
}
