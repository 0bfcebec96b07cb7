//! The space bar, which pauses a bag that is played.

use std::io::{IsTerminal, Read, stdin};
use std::sync::Arc;
use std::thread;

use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

use crate::bag::play::Control;

/// A terminal that hands on each key at once. It is as before once this is dropped.
pub(super) struct Keys(Termios);

/// Lets the space bar toggle the control. `None` without a terminal, and if the command runs in its background.
pub(super) fn listen(control: &Arc<Control>) -> Option<Keys> {
    let terminal = stdin();
    // A program in the background that reads from its terminal is stopped.
    if !terminal.is_terminal() || tcgetpgrp(&terminal).ok()? != getpgrp() {
        return None;
    }
    let before = tcgetattr(&terminal).ok()?;
    let mut keys = before.clone();
    keys.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
    tcsetattr(&terminal, OptionalActions::Now, &keys).ok()?;
    let control = Arc::clone(control);
    let read = move || {
        for byte in stdin().lock().bytes() {
            match byte {
                Ok(b' ') => drop(control.toggle()),
                Ok(_) => {}
                Err(_) => return,
            }
        }
    };
    // The thread ends with the process, because nothing ends the read.
    let _ = thread::Builder::new().name("keyboard".to_owned()).spawn(read);
    Some(Keys(before))
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
    }
}
