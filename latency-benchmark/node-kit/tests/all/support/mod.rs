//! Shared by the tests.

use node_kit::scope::Unobservable;

/// The value, or `None` if this machine does not support it. In CI that is a failure.
pub(crate) fn available<T>(found: Result<T, Unobservable>) -> Option<T> {
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
