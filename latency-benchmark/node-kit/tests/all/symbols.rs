//! Tests with functions whose names are known.

use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};

use node_kit::profiler::Symbols;

use crate::profiler::Worker;

struct Turning<T>(T);

trait RunUntil {
    fn turn(&mut self, stop: &AtomicBool);
}

impl<T: Copy> RunUntil for Turning<T> {
    #[inline(never)]
    fn turn(&mut self, stop: &AtomicBool) {
        self.inlined(stop);
        hint::black_box(self.0);
    }
}

impl<T: Copy> Turning<T> {
    #[inline(always)]
    fn inlined(&mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            hint::black_box(self.0);
        }
    }
}

#[test]
fn a_function_is_named_by_its_address() {
    let mut symbols = Symbols::default();
    let address = a_function_is_named_by_its_address as fn() as usize;
    let names = symbols.names(address, false);
    assert_eq!(
        names,
        [concat!(
            module_path!(),
            "::a_function_is_named_by_its_address"
        )]
    );
}

#[test]
fn a_return_address_belongs_to_the_call() {
    let mut symbols = Symbols::default();
    let address = a_function_is_named_by_its_address as fn() as usize;
    let before = symbols.names(address, true).to_vec();
    assert_eq!(before, symbols.names(address - 1, false));
    assert_ne!(before, symbols.names(address, false));
}

#[test]
fn a_function_of_libc_has_its_exported_name() {
    let mut symbols = Symbols::default();
    let names = symbols.names(libc::getppid as *const () as usize, false);
    assert!(names[0].ends_with("getppid"), "{names:?}");
}

#[test]
fn an_address_without_code_is_unknown() {
    let mut symbols = Symbols::default();
    assert_eq!(symbols.names(8, false), ["[unknown]"]);
    assert_eq!(symbols.names(0, true), ["[unknown]"]);
    assert_eq!(symbols.names(usize::MAX, false), ["[unknown]"]);
}

#[test]
fn inlined_functions_are_named_and_types_without_arguments() {
    let mut worker = Worker::until(|stop| Turning([0_u8; 4]).turn(stop));
    let samples = worker.sample(50);
    let chain = ["symbols::Turning::turn", "symbols::Turning::inlined"];
    // The first ones may be of a thread that is on its way there.
    let turns = samples.iter().position(|sample| sample.has(chain[0]));
    let samples = &samples[turns.expect("it turns")..];
    for sample in samples {
        assert!(sample.has(chain[0]), "{sample:#?}");
        assert!(!sample.has(";"));
    }
    assert!(samples.iter().any(|sample| sample.has_chain(&chain)));
}
