//! What the tests have in common.
#![allow(dead_code, reason = "each test uses some of it")]

use thread_scope::Unavailable;

/// What is there, or None if it cannot be here, which in CI is a failure.
pub(crate) fn available<T>(found: Result<T, Unavailable>) -> Option<T> {
    match found {
        Ok(found) => Some(found),
        Err(missing) => {
            assert_ne!(
                std::env::var("CI").as_deref(),
                Ok("true"),
                "missing: {missing}"
            );
            println!("skipped, missing: {missing}");
            None
        }
    }
}
