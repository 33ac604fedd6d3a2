// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! What a source of one user's session may say: of that user's processes, and nothing else. What it reads is that user's
//! word, so whoever takes it over has no more to say than its user has.

use fovea_client::protocol::Request;

/// Leaves of a request what is about a user's own processes; refuses what no source says.
pub(super) fn keep_to(request: &mut Request, uid: u32, user_of: &dyn Fn(u32) -> Option<u32>) -> Result<(), String> {
    let is_theirs = |pid: &u32| user_of(*pid) == Some(uid);
    match request {
        Request::Windows { front, visible } => {
            *front = front.filter(is_theirs);
            visible.retain(is_theirs);
            Ok(())
        }
        Request::Inhibitors { pids } | Request::Playing { pids } => {
            pids.retain(is_theirs);
            Ok(())
        }
        Request::Names { names } => {
            names.retain(|name| is_theirs(&name.pid));
            Ok(())
        }
        Request::Adopt { pid, windows } if is_theirs(pid) => {
            windows.retain(is_theirs);
            Ok(())
        }
        Request::Screen { .. } => Ok(()),
        _ => Err(format!("a source of user {uid}'s session says nothing else: ask on another connection")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fovea_client::protocol::BusName;

    fn user_of(pid: u32) -> Option<u32> {
        // Of PID 1007 the user is 1000, of 7 nobody knows it.
        (pid >= 1000).then_some(pid / 1000 * 1000)
    }

    #[test]
    fn other_users_processes_are_passed_over() {
        let mut windows = Request::Windows { front: Some(2001), visible: vec![1001, 2001, 7] };
        keep_to(&mut windows, 1000, &user_of).unwrap();
        assert_eq!(windows, Request::Windows { front: None, visible: vec![1001] });
        for make in [|pids| Request::Inhibitors { pids }, |pids| Request::Playing { pids }] {
            let mut request: Request = make(vec![1, 1002, 3000]);
            keep_to(&mut request, 1000, &user_of).unwrap();
            assert_eq!(request, make(vec![1002]));
        }
        let name = |pid| BusName { pid, name: "org.x".into() };
        let mut names = Request::Names { names: vec![name(1003), name(2003)] };
        keep_to(&mut names, 1000, &user_of).unwrap();
        assert_eq!(names, Request::Names { names: vec![name(1003)] });
    }

    #[test]
    fn only_the_users_own_programs_are_moved() {
        let mut own = Request::Adopt { pid: 1001, windows: vec![1001, 2001] };
        keep_to(&mut own, 1000, &user_of).unwrap();
        assert_eq!(own, Request::Adopt { pid: 1001, windows: vec![1001] });
        assert!(keep_to(&mut Request::Adopt { pid: 2001, windows: vec![] }, 1000, &user_of).is_err());
    }

    #[test]
    fn nothing_else_is_said_on_such_a_connection() {
        for request in [Request::Home {}, Request::status(), Request::Close { app: "mail".parse().unwrap() }] {
            let error = keep_to(&mut request.clone(), 1000, &user_of).unwrap_err();
            assert!(error.contains("user 1000"), "{error}");
        }
        assert!(keep_to(&mut Request::Screen { on: false }, 1000, &user_of).is_ok());
    }
}
