// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What the list of mechanisms (in `lib.rs`) becomes: actions, reasons, the configuration, and who is asked when.

/// Takes for each mechanism what is asked of it `at_once` and on a `turn`, its actions, and its reasons.
///
/// An action is told by the fields behind its name, the app first; `[harms]` if it takes something from the app that its user may miss. All
/// mechanisms' actions are one type, and so are their reasons: the journal names them, and a replay compares them. `$d` is a dollar sign, for the
/// macro that is made here.
macro_rules! mechanisms {
    (
        $d:tt
        config { $( $(#[$section_doc:meta])* $section:ident: $of:ident::$Section:ident, )* }
        $(
            $mechanism:ident {
                $(at_once: $at_once:expr,)?
                $(turn: $turn:expr,)?
                actions {
                    $(
                        $(#[$action_doc:meta])*
                        $Action:ident { $app:ident $(, $(#[$field_doc:meta])* $field:ident: $Field:ty)* }
                            $([$harms:ident])? = $name:literal, $described:expr;
                    )*
                }
                reasons { $( $(#[$reason_doc:meta])* $Reason:ident = $words:literal; )* }
            }
        )*
    ) => {
        /// Something to do.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "action", rename_all = "kebab-case")]
        pub enum Action {
            $($(
                $(#[$action_doc])*
                $Action {
                    /// App.
                    $app: AppName,
                    $( $(#[$field_doc])* $field: $Field, )*
                },
            )*)*
        }

        impl Action {
            /// All names.
            pub const NAMES: &'static [&'static str] = &[$($( $name, )*)*];

            /// The app concerned.
            pub fn app(&self) -> &AppName {
                match self {
                    $($( Action::$Action { $app, .. } => $app, )*)*
                }
            }

            /// Its name in the journal.
            pub fn name(&self) -> &'static str {
                match self {
                    $($( Action::$Action { .. } => $name, )*)*
                }
            }

            /// Whether it takes something from the app that its user may miss: what is known of the app is looked at once more before.
            pub fn harms(&self) -> bool {
                match self {
                    $($( Action::$Action { .. } => false $(|| stringify!($harms) == "harms")?, )*)*
                }
            }

            /// It, as an order.
            pub fn describe(&self) -> String {
                match self {
                    $($( Action::$Action { $app $(, $field)* } => $described, )*)*
                }
            }
        }

        /// Why.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Reason {
            $($( $(#[$reason_doc])* $Reason, )*)*
        }

        impl Reason {
            /// All.
            pub const ALL: &'static [Reason] = &[$($( Reason::$Reason, )*)*];

            /// It, for people.
            pub fn words(self) -> &'static str {
                match self {
                    $($( Reason::$Reason => $words, )*)*
                }
            }
        }

        /// All policies' configuration.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Config {
            $( $(#[$section_doc])* pub $section: $of::$Section, )*
        }

        impl Config {
            /// The sections and their keys.
            pub const SECTIONS: &[(&str, fn() -> &'static [&'static str])] =
                &[$( (stringify!($section), fovea_apps::keys_of::<$of::$Section>), )*];

            /// Checks what serde cannot; the error is the section, the key, and what is wrong with it.
            pub fn check(&self) -> Result<(), (&'static str, &'static str, &'static str)> {
                $( self.$section.check().map_err(|(key, wrong)| (stringify!($section), key, wrong))?; )*
                Ok(())
            }
        }

        /// Defines a configuration that has the mechanisms' sections beside others, and `policy()`, which takes them out of it.
        #[macro_export]
        macro_rules! with_sections {
            ($d(#[$d about:meta])* pub struct $d Name:ident { $d($d others:tt)* }) => {
                $d(#[$d about])*
                pub struct $d Name {
                    $( $(#[$section_doc])* pub $section: $crate::$of::$Section, )*
                    $d($d others)*
                }

                impl $d Name {
                    /// What the decisions are made by.
                    pub fn policy(&self) -> $crate::Config {
                        $crate::Config { $( $section: self.$section.clone(), )* }
                    }
                }
            };
        }

        /// What is due on a look at the device: each mechanism's part, in the order of the list.
        pub fn decide(snapshot: &Snapshot, config: &Config) -> Decision {
            let asked: &[fn(&Snapshot, &Config) -> Decision] = &[$( $($turn,)? )*];
            asked.iter().fold(Decision::default(), |decision, decide| decision.and(decide(snapshot, config)))
        }

        /// All that any mechanism would do, each on what is in the snapshot: the list that a replay of the journal goes through.
        pub fn everything(snapshot: &Snapshot, config: &Config) -> Decision {
            let asked: &[fn(&Snapshot, &Config) -> Decision] = &[$( $($at_once,)? )*];
            let at_once = asked.iter().fold(Decision::default(), |all, decide| all.and(decide(snapshot, config)));
            at_once.and(decide(snapshot, config))
        }
    };
}

pub(crate) use mechanisms;
