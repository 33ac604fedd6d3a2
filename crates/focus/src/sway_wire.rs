// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The i3 IPC protocol as sway speaks it (sway-ipc(7)): messages, and the few fields of them that we use.

use std::io::{self, Read, Write};

use fovea_apps::limits::{SWAY_ELEMENTS_MAX, SWAY_OBJECTS_MAX, SWAY_PAYLOAD_MAX_BYTES};
use serde::Deserialize;

use crate::Windows;

/// Message types: a client's requests and their replies.
pub const SUBSCRIBE: u32 = 2;
/// The tree of all containers.
pub const GET_TREE: u32 = 4;
/// Event about a workspace.
pub const WORKSPACE_EVENT: u32 = 0x8000_0000;
/// Event about a window.
pub const WINDOW_EVENT: u32 = 0x8000_0003;

/// Event about a key binding that was run.
pub const BINDING_EVENT: u32 = 0x8000_0005;

/// What we subscribe to. Windows alone are not enough: nothing is said of windows when an empty workspace is gone to, nor when another
/// layout brings those behind a tab to light, which a key does.
pub const SUBSCRIPTION: &[u8] = br#"["window","workspace","binding"]"#;

const MAGIC: &[u8; 6] = b"i3-ipc";
const HEADER_BYTES: usize = 14;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// One of the types above, or another.
    pub kind: u32,
    /// JSON.
    pub payload: Vec<u8>,
}

/// Writes a message.
pub fn send(to: &mut impl Write, kind: u32, payload: &[u8]) -> io::Result<()> {
    let mut message = MAGIC.to_vec();
    // In the machine's byte order, both.
    message.extend(u32::try_from(payload.len()).map_err(|_| bad("a request longer than 4 GiB"))?.to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(payload);
    to.write_all(&message)
}

/// Reads a message; waits for the whole of it.
pub fn receive(from: &mut impl Read) -> io::Result<Message> {
    let mut header = [0; HEADER_BYTES];
    from.read_exact(&mut header)?;
    let word = |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if !header.starts_with(MAGIC) {
        return Err(bad("no message of the i3 IPC protocol"));
    }
    let (length, kind) = (word(6), word(10));
    if length as usize > SWAY_PAYLOAD_MAX_BYTES {
        return Err(bad("a message that is too long"));
    }
    let mut payload = Vec::new();
    // Grows with what really comes, whatever was announced.
    from.take(u64::from(length)).read_to_end(&mut payload)?;
    match payload.len() == length as usize {
        true => Ok(Message { kind, payload }),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Whether what can be seen may have changed by an event: the tree knows. An event that is not understood is looked into rather than
/// passed over.
pub fn is_news(message: &Message) -> bool {
    #[derive(Deserialize)]
    struct Change {
        change: String,
    }
    let Ok(event) = serde_json::from_slice::<Change>(&message.payload) else {
        return matches!(message.kind, WINDOW_EVENT | WORKSPACE_EVENT | BINDING_EVENT);
    };
    match message.kind {
        WINDOW_EVENT => !matches!(event.change.as_str(), "title" | "mark"),
        WORKSPACE_EVENT => !matches!(event.change.as_str(), "init" | "rename" | "urgent"),
        kind => kind == BINDING_EVENT,
    }
}

/// Whether a subscription was granted.
pub fn granted(payload: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Success {
        success: bool,
    }
    serde_json::from_slice::<Success>(payload).is_ok_and(|s| s.success)
}

#[derive(Deserialize)]
struct Node {
    #[serde(default)]
    id: i64,
    #[serde(default)]
    focused: bool,
    /// Views only.
    #[serde(default)]
    visible: bool,
    #[serde(default)]
    urgent: bool,
    pid: Option<i64>,
    /// Children by how lately they had the focus.
    #[serde(default)]
    focus: Vec<i64>,
    #[serde(default)]
    nodes: Vec<Node>,
    #[serde(default)]
    floating_nodes: Vec<Node>,
}

impl Node {
    fn children(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().chain(&self.floating_nodes)
    }

    fn focused(&self) -> Option<&Node> {
        match self.focused {
            true => Some(self),
            false => self.children().find_map(Node::focused),
        }
    }

    /// Whose windows can be seen, on whichever output, and who asks for attention: the user will want them next.
    fn seen(&self, into: &mut Vec<u32>) {
        if self.visible || self.urgent {
            into.extend(process(self.pid));
        }
        self.children().for_each(|child| child.seen(into));
    }

    /// The window that has the focus within a container that has it.
    fn window(&self) -> Option<u32> {
        let mut node = self;
        loop {
            if let Some(pid) = process(node.pid) {
                return Some(pid);
            }
            node = node.focus.iter().find_map(|id| node.children().find(|child| child.id == *id))?;
        }
    }
}

fn process(pid: Option<i64>) -> Option<u32> {
    pid.and_then(|pid| u32::try_from(pid).ok()).filter(|&pid| pid != 0)
}

/// Whether what a text makes when it is read has its bounds: of `{},` each three bytes become a node of a hundred and more.
fn is_modest(text: &[u8]) -> bool {
    let (mut objects, mut elements, mut quoted, mut escaped) = (0, 0, false, false);
    for byte in text {
        match (quoted, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => quoted = !quoted,
            (false, b'{') => objects += 1,
            (false, b',') => elements += 1,
            _ => {}
        }
    }
    objects <= SWAY_OBJECTS_MAX && elements <= SWAY_ELEMENTS_MAX
}

/// The windows of a tree.
pub fn windows(tree: &[u8]) -> io::Result<Windows> {
    if !is_modest(tree) {
        return Err(bad("a tree of more parts than a session has"));
    }
    let root: Node = serde_json::from_slice(tree).map_err(|_| bad("a tree that is none"))?;
    let mut seen = Vec::new();
    root.seen(&mut seen);
    Ok(Windows::new(root.focused().and_then(Node::window), seen))
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("it sent {what}"))
}
