// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the kernel modules call their parameters, their statistics and each other, and the core its policies. The C headers
//! `kmod/include/contract.h` and `core/ecache.h` are the only place where this is written down; the build reads them. A name that changes
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
        assert!(first_arguments("heap", &macros).is_empty(), "the sources have the parameters");
        assert_eq!(first_arguments("ecache", &["MODULE_PARM_DESC"]), set(&ecache_parameters::ALL));
    }

    #[test]
    fn names_are_the_headers() {
        assert_eq!((ECACHE_MODULE, HEAP_FOLDER), ("dm_ecache", "ecache"));
        assert_eq!(ecache_statistics::FRAMES, "frames");
        assert_eq!((ecache_zero::ALL, ecache_verify::ALWAYS), (["lazy", "alloc"], "always"));
        assert_eq!((ecache_policies::AGED, ecache_policies::AGED_NUMBER), ("aged", 4));
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
