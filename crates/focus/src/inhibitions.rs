// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The calls by which programs of a session keep the device awake, heard as they are made: of the interfaces for that only GNOME's and KDE's
//! tell who holds what, and neither tells of which process.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fovea_apps::limits::{INHIBITING_PROGRAMS_MAX, INHIBITORS_OF_PROGRAM_MAX, TOKEN_MAX_BYTES};
use rustbus::message_builder::MarshalledMessage;
use rustbus::wire::unmarshal::traits::Variant;
use rustbus::MessageType;

/// What has to be heard of the bus. Desktops differ in the interface (`org.freedesktop.ScreenSaver`, `org.freedesktop.PowerManagement.Inhibit`,
/// `org.gnome.SessionManager` and its heirs, `org.freedesktop.portal.Inhibit`; KDE's `PolicyAgent`), and hardly in the member.
pub const CALLS: [&str; 6] = [
    "type='method_call',member='Inhibit'",
    "type='method_call',member='UnInhibit'",
    "type='method_call',member='Uninhibit'",
    "type='method_call',member='AddInhibition'",
    "type='method_call',member='ReleaseInhibition'",
    "type='method_call',interface='org.freedesktop.portal.Request',member='Close'",
];

/// What counts of GNOME's and the portal's flags: logging out, sleep, idleness. Changing the user (2) is none of ours.
const FLAGS: u32 = 1 | 4 | 8;

/// What a program does about it; programs by their unique names on the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It keeps the device awake, until it says otherwise by this token, where it has one.
    Holds(Option<String>),
    /// It holds one less.
    Drops,
    /// It gives up a request to the portal; whether that was one to keep the device awake its token says.
    Closes(String),
}

/// Who said what; `None` if the message is about something else.
pub fn heard(message: &MarshalledMessage) -> Option<(String, Heard)> {
    let header = &message.dynheader;
    let (sender, member) = (header.sender.clone()?, header.member.as_deref()?);
    if message.typ != MessageType::Call {
        return None;
    }
    let interface = header.interface.as_deref().unwrap_or_default();
    // What the portal hands on to the desktop is nobody's own.
    if interface.starts_with("org.freedesktop.impl.") {
        return None;
    }
    let heard = match member {
        "UnInhibit" | "Uninhibit" | "ReleaseInhibition" => Heard::Drops,
        "AddInhibition" => Heard::Holds(None),
        "Inhibit" => holds(interface, message)?,
        "Close" => Heard::Closes(header.object.as_deref()?.rsplit('/').next()?.to_owned()),
        _ => return None,
    };
    Some((sender, heard))
}

/// A message that is not what its interface has is nobody's to judge, and fails where it goes.
fn holds(interface: &str, message: &MarshalledMessage) -> Option<Heard> {
    let mut parser = message.body.parser();
    let (flags, token) = match interface {
        "org.freedesktop.portal.Inhibit" => {
            let (_window, flags, options) = parser.get3::<&str, u32, HashMap<&str, Variant>>().ok()?;
            // The last part of the request's object, as its sender wants it called.
            let token = options.get("handle_token").and_then(|token| token.get::<&str>().ok());
            // One that is too long to be kept ends with its program.
            (flags, token.filter(|token| token.len() <= TOKEN_MAX_BYTES).map(str::to_owned))
        }
        _ if interface.ends_with(".SessionManager") => {
            let (_app, _window, _reason, flags) = parser.get4::<&str, u32, &str, u32>().ok()?;
            (flags, None)
        }
        _ => (FLAGS, None),
    };
    (flags & FLAGS != 0).then_some(Heard::Holds(token))
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Held {
    /// By tokens.
    tokens: BTreeSet<String>,
    /// Others. What is answered is not heard, so a call that failed counts, too: who is left alone for nothing loses nothing.
    count: u32,
}

/// Who keeps the device awake, by unique names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holders(BTreeMap<String, Held>);

impl Holders {
    /// Takes in what was heard.
    pub fn take(&mut self, sender: String, heard: Heard) {
        let is_known = self.0.contains_key(&sender);
        let held = match heard {
            Heard::Holds(_) if !is_known && self.0.len() >= INHIBITING_PROGRAMS_MAX => return,
            Heard::Holds(_) => self.0.entry(sender.clone()).or_default(),
            _ => match self.0.get_mut(&sender) {
                Some(held) => held,
                None => return,
            },
        };
        match heard {
            Heard::Holds(Some(token)) if held.tokens.len() < INHIBITORS_OF_PROGRAM_MAX => {
                held.tokens.insert(token);
            }
            Heard::Holds(_) => held.count = (held.count + 1).min(INHIBITORS_OF_PROGRAM_MAX as u32),
            Heard::Drops => held.count = held.count.saturating_sub(1),
            Heard::Closes(token) => drop(held.tokens.remove(&token)),
        }
        if held.count == 0 && held.tokens.is_empty() {
            self.0.remove(&sender);
        }
    }

    /// A program has left the bus, and holds nothing any more.
    pub fn gone(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Their unique names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustbus::params::{Base, Container, Dict, Param, Variant};
    use rustbus::{signature, MessageBuilder};

    fn call(interface: &str, member: &str, object: &str, params: &[Param]) -> Option<(String, Heard)> {
        let mut message = MessageBuilder::new().call(member).on(object).with_interface(interface).build();
        message.dynheader.sender = Some(":1.7".into());
        message.body.push_old_params(params).unwrap();
        heard(&message)
    }

    fn text(text: &str) -> Param<'static, 'static> {
        Param::Base(Base::String(text.to_owned()))
    }

    fn number(number: u32) -> Param<'static, 'static> {
        Param::Base(Base::Uint32(number))
    }

    fn options(token: &str) -> Param<'static, 'static> {
        let string = signature::Type::Base(signature::Base::String);
        let variant = Variant { sig: string, value: text(token) };
        let dict = Dict {
            key_sig: signature::Base::String,
            value_sig: signature::Type::Container(signature::Container::Variant),
            map: [(Base::String("handle_token".into()), Param::Container(Container::Variant(Box::new(variant))))]
                .into(),
        };
        Param::Container(Container::Dict(dict))
    }

    #[test]
    fn calls_are_known_by_what_they_keep_from_happening() {
        let mine = |heard| Some((":1.7".to_owned(), heard));
        let held = mine(Heard::Holds(None));
        assert_eq!(call("org.freedesktop.ScreenSaver", "Inhibit", "/ScreenSaver", &[text("a"), text("b")]), held);
        let gnome = |flags| {
            let params = [text("a"), number(0), text("b"), number(flags)];
            call("org.gnome.SessionManager", "Inhibit", "/org/gnome/SessionManager", &params)
        };
        assert_eq!((gnome(8), gnome(4), gnome(1), gnome(2)), (held.clone(), held.clone(), held.clone(), None));
        let kde = "org.kde.Solid.PowerManagement.PolicyAgent";
        assert_eq!(call(kde, "AddInhibition", "/x", &[number(4), text("a"), text("b")]), held);
        assert_eq!(call(kde, "ReleaseInhibition", "/x", &[number(4)]), mine(Heard::Drops));
        assert_eq!(
            call("org.gnome.SessionManager", "Inhibit", "/x", &[text("a")]),
            None,
            "not as the interface has it"
        );
        let portal = "org.freedesktop.portal.Inhibit";
        let params = [text("wayland:1"), number(8), options("gtk9")];
        assert_eq!(call(portal, "Inhibit", "/x", &params), mine(Heard::Holds(Some("gtk9".into()))));
        assert_eq!(call("org.freedesktop.impl.portal.Inhibit", "Inhibit", "/x", &params), None, "handed on");
        let params = [text("wayland:1"), number(8), options(&"x".repeat(1 << 22))];
        assert_eq!(
            call(portal, "Inhibit", "/x", &params),
            mine(Heard::Holds(None)),
            "of a token of 4 MiB nothing is kept"
        );
        let close =
            call("org.freedesktop.portal.Request", "Close", "/org/freedesktop/portal/desktop/request/1_7/gtk9", &[]);
        assert_eq!(close, mine(Heard::Closes("gtk9".into())));
    }

    #[test]
    fn a_file_chooser_that_is_closed_lets_nobody_sleep() {
        let mut holders = Holders::default();
        let held = |holders: &Holders| holders.names().count();
        holders.take(":1.7".into(), Heard::Holds(Some("film".into())));
        holders.take(":1.7".into(), Heard::Closes("chooser".into()));
        assert_eq!(held(&holders), 1);
        holders.take(":1.7".into(), Heard::Closes("film".into()));
        assert_eq!(held(&holders), 0);
        holders.take(":1.8".into(), Heard::Holds(None));
        holders.take(":1.8".into(), Heard::Holds(None));
        holders.take(":1.8".into(), Heard::Drops);
        holders.take(":1.9".into(), Heard::Drops);
        assert_eq!(holders.names().collect::<Vec<_>>(), [":1.8"]);
        holders.gone(":1.8");
        assert_eq!(held(&holders), 0);
    }

    #[test]
    fn what_is_held_of_all_programs_together_is_bounded() {
        let mut holders = Holders::default();
        for program in 0..4 * INHIBITING_PROGRAMS_MAX {
            for token in 0..4 * INHIBITORS_OF_PROGRAM_MAX {
                holders.take(format!(":1.{program}"), Heard::Holds(Some(format!("{token:0256}"))));
            }
        }
        assert_eq!(holders.0.len(), INHIBITING_PROGRAMS_MAX);
        let kept: usize = holders.0.values().flat_map(|held| &held.tokens).map(String::len).sum();
        assert!(kept <= INHIBITING_PROGRAMS_MAX * INHIBITORS_OF_PROGRAM_MAX * TOKEN_MAX_BYTES);
    }

    proptest! {
        /// The slow, obvious way: a list of all that was said.
        #[test]
        fn who_holds_is_who_said_so_more_often_than_not(says in prop::collection::vec((0u8..3, 0u8..4, 0u8..3), 0..60)) {
            let mut holders = Holders::default();
            let mut log: Vec<(u8, Option<u8>)> = Vec::new();
            for (who, what, token) in says {
                let name = format!(":1.{who}");
                match what {
                    0 => {
                        holders.take(name, Heard::Holds(None));
                        log.push((who, None));
                    }
                    1 => {
                        holders.take(name, Heard::Holds(Some(token.to_string())));
                        if !log.contains(&(who, Some(token))) {
                            log.push((who, Some(token)));
                        }
                    }
                    2 => {
                        holders.take(name, Heard::Drops);
                        if let Some(at) = log.iter().position(|said| *said == (who, None)) {
                            log.remove(at);
                        }
                    }
                    _ => {
                        holders.take(name, Heard::Closes(token.to_string()));
                        log.retain(|said| *said != (who, Some(token)));
                    }
                }
                let expected: BTreeSet<String> = log.iter().map(|(who, _)| format!(":1.{who}")).collect();
                prop_assert_eq!(holders.names().map(str::to_owned).collect::<BTreeSet<_>>(), expected);
            }
        }
    }
}
