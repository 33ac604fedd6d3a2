// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Asks polkit whether a connection may do more than see its user's apps. Where there is no polkit, only root may.

use std::collections::HashMap;

use zbus::zvariant::Value;
use zbus::Connection;

/// To see other users' apps.
pub const SEE_ALL: &str = "org.fovea1.see-all";

/// To see the owner's rules.
pub const SEE_RULES: &str = "org.fovea1.see-rules";

/// Polkit may ask the user for a password (AllowUserInteraction).
const INTERACTIVE: u32 = 1;

/// Whether a connection may. `asks_user`: it said that a question to its user is welcome.
pub async fn allows(bus: &Connection, name: &str, action: &str, asks_user: bool) -> bool {
    let subject = ("system-bus-name", HashMap::from([("name", Value::from(name))]));
    let flags = if asks_user { INTERACTIVE } else { 0 };
    let arguments = (subject, action, HashMap::<&str, &str>::new(), flags, "");
    let reply = bus
        .call_method(
            Some("org.freedesktop.PolicyKit1"),
            "/org/freedesktop/PolicyKit1/Authority",
            Some("org.freedesktop.PolicyKit1.Authority"),
            "CheckAuthorization",
            &arguments,
        )
        .await;
    let answer = reply.map(|reply| reply.body().deserialize::<(bool, bool, HashMap<String, String>)>());
    matches!(answer, Ok(Ok((true, _, _))))
}
