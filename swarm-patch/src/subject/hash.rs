//! Hashes of sources.

use std::path::Path;

use anyhow::Result;
use fs_err as fs;
use sha2::{Digest, Sha256};

pub(super) fn sha256(path: &Path) -> Result<String> {
    Ok(format!("{:x}", Sha256::digest(fs::read(path)?)))
}
