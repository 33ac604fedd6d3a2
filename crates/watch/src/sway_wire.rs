// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The i3 IPC protocol as sway speaks it (sway-ipc(7)): messages, and the few fields of them that we use.

use std::io::{self, Read, Write};

use serde::Deserialize;

/// Message types: a client's requests and their replies.
pub const SUBSCRIBE: u32 = 2;
/// The tree of all containers.
pub const GET_TREE: u32 = 4;
/// Event about a workspace.
pub const WORKSPACE_EVENT: u32 = 0x8000_0000;
/// Event about a window.
pub const WINDOW_EVENT: u32 = 0x8000_0003;

/// What we subscribe to. Windows alone are not enough: nothing is said of windows when an empty workspace is gone to.
pub const SUBSCRIPTION: &[u8] = br#"["window","workspace"]"#;

const MAGIC: &[u8; 6] = b"i3-ipc";
const HEADER_BYTES: usize = 14;

/// No tree is larger: a container is about 1 KB.
const PAYLOAD_MAX_BYTES: u32 = 16 << 20;

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
    if length > PAYLOAD_MAX_BYTES {
        return Err(bad("a message longer than 16 MiB"));
    }
    let mut payload = Vec::new();
    // Grows with what really comes, whatever was announced.
    from.take(u64::from(length)).read_to_end(&mut payload)?;
    match payload.len() == length as usize {
        true => Ok(Message { kind, payload }),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// What an event means to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// A window of this process has the focus.
    Front(u32),
    /// The focus may have changed: the tree knows.
    Look,
    /// Nothing of ours.
    Nothing,
}

/// Reads an event. One that is not understood is looked into rather than passed over.
pub fn news(message: &Message) -> News {
    #[derive(Deserialize)]
    struct Container {
        pid: Option<i64>,
    }
    #[derive(Deserialize)]
    struct Change {
        change: String,
        container: Option<Container>,
    }
    if !matches!(message.kind, WINDOW_EVENT | WORKSPACE_EVENT) {
        return News::Nothing;
    }
    let Ok(event) = serde_json::from_slice::<Change>(&message.payload) else { return News::Look };
    match (message.kind, event.change.as_str()) {
        // A container of several windows has no PID; the tree says which of them it is.
        (WINDOW_EVENT, "focus") => event.container.and_then(|c| process(c.pid)).map_or(News::Look, News::Front),
        (WINDOW_EVENT, "close" | "move" | "floating") => News::Look,
        (WORKSPACE_EVENT, "focus" | "empty" | "reload") => News::Look,
        _ => News::Nothing,
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

/// The process of the window that has the focus in a tree; `None` if none has.
pub fn focused(tree: &[u8]) -> io::Result<Option<u32>> {
    let root: Node = serde_json::from_slice(tree).map_err(|_| bad("a tree that is none"))?;
    Ok(root.focused().and_then(Node::window))
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("it sent {what}"))
}
