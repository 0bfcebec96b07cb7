//! Messages between clients and the server of an accelerator: any bytes are a message or refused, and messages
//! survive.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rospin_remote::wire::{ToClient, ToServer};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(message) = ToServer::decode(bytes) {
        assert_eq!(message.encode(), bytes);
    }
    if let Ok(message) = ToClient::decode(bytes) {
        assert_eq!(message.encode(), bytes);
    }
});
