//! Shortens demangled names: function and type remain, generic arguments and traits do not. The result is the
//! same for both of Rust's mangling schemes.

/// The names of these smart pointers lose their path and keep the argument.
const POINTERS: [&str; 4] = ["Arc", "Box", "Pin", "Rc"];

/// The short name. It contains no `;`.
pub(super) fn short_name(demangled: &str) -> String {
    let is_rust = demangled.contains("::") || demangled.starts_with('<');
    let name = match is_rust {
        // The bracket of the arrow `->` would look like a closing one.
        true => without_numbers(&without_arguments(demangled.replace("->", "→"))),
        false => demangled.to_owned(),
    };
    name.replace(';', ",")
}

/// Replaces what is in angle brackets, the innermost first, with what is kept of it.
fn without_arguments(mut name: String) -> String {
    while let Some(end) = name.find('>')
        && let Some(start) = name[..end].rfind('<')
    {
        let (before, inner) = (&name[..start], &name[start + 1..end]);
        let path = before.rfind(['<', '(', '[', ' ', ',', '&', '*']);
        let (before, path) = before.split_at(path.map_or(0, |at| at + 1));
        let path = path.trim_end_matches("::");
        let kept = if let Some(implementation) = inner.strip_prefix("impl ") {
            // The path of the `impl` block is left out; only the implementing type is kept.
            let implementing = implementation.split_once(" for ");
            type_name(implementing.map_or(implementation, |(_, implementing)| implementing))
        } else if path.is_empty() {
            type_name(inner.split(" as ").next().unwrap_or(inner))
        } else {
            match last_segment(path) {
                "drop_in_place" => path.to_owned() + &argument(inner),
                last if POINTERS.contains(&last) => last.to_owned() + &argument(inner),
                _ => path.to_owned(),
            }
        };
        name = format!("{before}{kept}{}", &name[end + 1..]);
    }
    name.replace('‹', "<").replace('›', ">")
}

/// The first argument, unless it is a parameter.
fn argument(inner: &str) -> String {
    let first = inner.split(',').next().unwrap_or(inner);
    let is_parameter = first.chars().all(char::is_alphanumeric)
        && first.starts_with(|letter: char| letter.is_uppercase());
    match first {
        "" => String::new(),
        _ if is_parameter => String::new(),
        _ => format!("‹{}›", last_segment(&type_name(first))),
    }
}

/// Names a type that has no angle brackets. A reference or raw pointer has the name of its target.
fn type_name(text: &str) -> String {
    let text = text.trim();
    for prefix in ["&", "*const ", "*mut ", "mut ", "for "] {
        if let Some(target) = text.strip_prefix(prefix) {
            return type_name(target);
        }
    }
    if text.starts_with('\'')
        && let Some((_lifetime, target)) = text.split_once(' ')
    {
        return type_name(target);
    }
    if let Some(bounds) = text.trim_start_matches('(').strip_prefix("dyn ") {
        let bound = bounds
            .split([' ', '(', ')'])
            .find(|word| !["", "for"].contains(word));
        return format!("dyn {}", last_segment(bound.unwrap_or(bounds)));
    }
    let is_function = ["fn(", "unsafe ", "extern "]
        .iter()
        .any(|prefix| text.starts_with(prefix));
    let name = match text.chars().next() {
        _ if is_function => "fn",
        Some('[') if text.contains("; ") => "array",
        Some('[') => "slice",
        Some('(') => "()",
        _ => text,
    };
    name.to_owned()
}

/// `Box‹dyn Future›` counts as one name.
fn last_segment(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// Both `{{closure}}` and `{closure#3}` become `{closure}`.
fn without_numbers(name: &str) -> String {
    let name = name.replace("{{", "{").replace("}}", "}");
    let mut parts = name.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |short, part| {
        let (kind, rest) = part.split_once('}').unwrap_or((part, ""));
        let kind = kind.split(['#', ':']).next().unwrap_or(kind);
        format!("{short}{{{kind}}}{rest}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(demangled: &str, expected: &str) {
        assert_eq!(short_name(demangled), expected, "of {demangled}");
    }

    #[test]
    fn generic_arguments_are_left_out() {
        check(
            "libp2p_swarm::connection::Connection<THandler>::poll",
            "libp2p_swarm::connection::Connection::poll",
        );
        check(
            "<libp2p_swarm::connection::Connection<a::B<c::D>>>::poll",
            "libp2p_swarm::connection::Connection::poll",
        );
        check("node::run::<node::X, fn(u8) -> u8>", "node::run");
        check("core::option::Option<T>::map", "core::option::Option::map");
    }

    #[test]
    fn a_trait_is_left_out() {
        check(
            "<yamux::connection::Active<T> as futures_core::stream::Stream>::poll_next",
            "yamux::connection::Active::poll_next",
        );
        check(
            "<&mut a::Reader<R> as std::io::Read>::read",
            "a::Reader::read",
        );
        check(
            "<&'static mut a::Reader as std::io::Read>::read::<u8>",
            "a::Reader::read",
        );
        check(
            "core::fmt::num::<impl core::fmt::Display for u32>::fmt",
            "u32::fmt",
        );
        check("core::str::<impl str>::trim", "str::trim");
        check("alloc::slice::<impl [T]>::sort", "slice::sort");
        check("<[u8; 4] as a::B>::c", "array::c");
        check("<(a::B, c::D) as e::F>::g", "()::g");
        check(
            "<fn(a::B) -> c::D as core::ops::function::FnOnce<(a::B,)>>::call_once",
            "fn::call_once",
        );
        check(
            "<for<'a> fn(&'a a::B) -> c::D<f64, e::F> as g::H>::i",
            "fn::i",
        );
    }

    #[test]
    fn a_smart_pointer_keeps_its_argument() {
        check(
            "<alloc::boxed::Box<dyn core::future::future::Future<Output = ()> + core::marker::Send> as core::future::future::Future>::poll",
            "Box<dyn Future>::poll",
        );
        check(
            "<core::pin::Pin<alloc::boxed::Box<(dyn core::future::future::Future<Output = [u8; 4]> + core::marker::Send)>> as core::future::future::Future>::poll",
            "Pin<Box<dyn Future>>::poll",
        );
        check(
            "<alloc::boxed::Box<F,A> as core::ops::function::FnOnce<Args>>::call_once",
            "Box::call_once",
        );
        check(
            "<alloc::sync::Arc<libp2p_core::muxing::Boxed>>::new",
            "Arc<Boxed>::new",
        );
        check("<dyn for<'a> a::Visit<'a> as b::C>::d", "dyn Visit::d");
        check(
            "core::ptr::drop_in_place::<alloc::vec::Vec<[u8; 3]>>",
            "core::ptr::drop_in_place<Vec>",
        );
        check(
            "core::ptr::drop_in_place<(a::B,c::D)>",
            "core::ptr::drop_in_place<()>",
        );
        check(
            "core::ptr::drop_in_place<alloc::boxed::Box<dyn core::error::Error>>",
            "core::ptr::drop_in_place<Box<dyn Error>>",
        );
    }

    #[test]
    fn closures_have_no_numbers() {
        check(
            "node::run::{{closure}}::{{closure}}",
            "node::run::{closure}::{closure}",
        );
        check(
            "node::run::<T>::{closure#0}::{async_block#3}",
            "node::run::{closure}::{async_block}",
        );
        check("<a::B as c::D>::e::{closure#1}", "a::B::e::{closure}");
        check(
            "<a::B as core::ops::FnOnce<()>>::call_once::{shim:vtable#0}",
            "a::B::call_once::{shim}",
        );
        check(
            "<node::run::{closure#0} as core::future::Future>::poll",
            "node::run::{closure}::poll",
        );
    }

    #[test]
    fn names_of_other_languages_do_not_change() {
        check("epoll_wait", "epoll_wait");
        check(
            "__memmove_avx_unaligned_erms",
            "__memmove_avx_unaligned_erms",
        );
        check("_ZN2ns1fEiPKc", "_ZN2ns1fEiPKc");
        check("memcpy@plt", "memcpy@plt");
    }

    #[test]
    fn truncated_and_invalid_names_are_accepted() {
        for odd in [
            "<",
            "a::<b",
            "<a as",
            "{",
            "a::{b",
            ">",
            "<>",
            "::",
            "a<b>>::c",
            "<[u8; 4",
            "ä::<ö>::ü",
        ] {
            assert!(!short_name(odd).contains(';'), "{odd}");
        }
    }
}
