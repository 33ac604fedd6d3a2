// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the kernel modules call their parameters, their statistics and each other, and the cores their policies and classes. The C headers
//! `kmod/include/contract.h`, `core/ecache/ecache.h` and `core/aciom/aciom.h` are the only place where this is written down; the build reads them. A name that changes
//! there does not compile here.

#[cfg(test)]
mod header;

include!(concat!(env!("OUT_DIR"), "/contract.rs"));

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// What stands between the parentheses of a macro's calls in a folder's C files, up to the first comma.
    fn first_arguments(folder: &str, macros: &[&str]) -> BTreeSet<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kmod").join(folder);
        let mut found = BTreeSet::new();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "c") {
                continue;
            }
            for line in fs::read_to_string(&path).unwrap().lines() {
                let called = macros.iter().find_map(|name| line.strip_prefix(name)?.strip_prefix('('));
                found.extend(called.and_then(|rest| rest.split([',', ')']).next()).map(str::to_owned));
            }
        }
        found
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    /// The kernel's macros want names and not texts, so the modules spell their parameters.
    #[test]
    fn the_modules_have_these_parameters_and_no_others() {
        let macros = ["module_param", "module_param_named", "module_param_cb"];
        assert_eq!(first_arguments("ecache", &macros), set(&ecache_parameters::ALL));
        assert_eq!(first_arguments("test/contig", &macros), set(&contig_parameters::ALL));
        let heap: Vec<&str> = [&heap_parameters::ALL[..], &system_parameters::ALL, &wrap_parameters::ALL].concat();
        assert_eq!(first_arguments("heap", &macros), set(&heap));
        assert_eq!(first_arguments("ecache", &["MODULE_PARM_DESC"]), set(&ecache_parameters::ALL));
    }

    /// An event's record as `trace.h` has it: its fields, and the words in front of the numbers when it is printed.
    fn event_of(text: &str) -> (&str, BTreeSet<String>, BTreeSet<String>) {
        let name = text.split(',').next().unwrap();
        let (record, printed) = text.split_once("TP_printk(\"").unwrap();
        let field = |line: &str| {
            let (kind, inside) = line.trim().strip_prefix("__")?.split_once('(')?;
            let mut words = inside.trim_end_matches(')').split(", ");
            // The other form is that of a field's use.
            match kind {
                "field" => words.nth(1).map(str::to_owned),
                "string" => words.next().map(str::to_owned),
                _ => None,
            }
        };
        let printed = printed.split('"').next().unwrap().split(' ').filter_map(|word| word.split_once('='));
        (name, record.lines().filter_map(field).collect(), printed.map(|(word, _)| word.to_owned()).collect())
    }

    /// The types of fields are of two words, which a list does not hold, and the kernel tells of each: so they are spelled there too.
    #[test]
    fn the_events_have_these_fields_and_no_others() {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kmod/ecache/trace.h")).unwrap();
        assert!(text.contains(&format!("#define TRACE_SYSTEM {ECACHE_EVENTS_FOLDER}\n")));
        let fields: [&[&str]; 5] = [
            &ecache_get_fields::ALL,
            &ecache_put_fields::ALL,
            &ecache_alloc_fields::ALL,
            &ecache_salvage_fields::ALL,
            &ecache_free_fields::ALL,
        ];
        let mut events = text.split("TRACE_EVENT(").skip(1).map(event_of);
        for (name, fields) in ecache_events::ALL.into_iter().zip(fields) {
            assert_eq!(events.next(), Some((name, set(fields), set(fields))));
        }
        assert_eq!(events.next(), None);
        // What turns a recording into a trace asks by name for some of them.
        let script = include_str!("../../../tools/ecache-trace.awk");
        let asked: Vec<&str> = script.split("value[\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(!asked.is_empty() && asked.iter().all(|name| fields.iter().any(|of| of.contains(name))), "{asked:?}");
        let named = script.split("ecache_(").nth(1).and_then(|rest| rest.split(')').next()).unwrap();
        let known = |name: &str| ecache_events::ALL.contains(&format!("ecache_{name}").as_str());
        assert!(named.split('|').all(known), "{named}");
    }

    #[test]
    fn names_are_the_headers() {
        assert_eq!((ECACHE_MODULE, HEAP_FOLDER), ("dm_ecache", "ecache"));
        assert_eq!(ecache_statistics::FRAMES, "frames");
        assert_eq!((ECACHE_TARGET, ECACHE_DROP, ecache_status::ALL[2]), ("ecache", "drop", "misses"));
        assert_eq!(ecache_zero::ALL, ["lazy", "alloc"]);
        assert_eq!((ecache_policies::AGED, ecache_policies::AGED_NUMBER), ("aged", 4));
        assert_eq!((ACIOM_TARGET, aciom_options::CMAX, aciom_status::ALL.len()), ("aciom", "cmax", 33));
        assert_eq!(aciom_classes::ALL, ["plain", "time-sensitive", "bursty"]);
        assert_eq!(aciom_classes::BURSTY_NUMBER, 2);
    }

    #[test]
    fn a_list_is_read_whatever_its_comments_and_a_broken_one_is_refused() {
        let text = "#define A(X) \\\n\t/* X(no) \\\n */ X(one) \\\n\tX(TWO, two, 2)\n#define B\t\"b\"\n#define C 5\n#define D(x) x\n";
        let header = header::parse(text).unwrap();
        assert_eq!(
            header.lists,
            [("A".to_owned(), vec![vec!["one".to_owned()], ["TWO", "two", "2"].map(String::from).to_vec()])]
        );
        assert_eq!(header.texts, [("B".to_owned(), "b".to_owned())]);
        for bad in [
            "#define A(X) X(a) Y(b)",
            "#define A(X) X(a",
            "#define A(X) X(a) X(a)",
            "#define A(X) X()",
            "#define A(X) ",
            "/* ",
        ] {
            assert!(header::parse(bad).is_err(), "{bad}");
        }
    }
}
