//! Shortens demangled names: function and type remain, generic arguments and traits do not. The result is the
//! same for both of Rust's mangling schemes.

/// The short name. It contains no `;`.
pub(super) fn short_name(demangled: &str) -> String {
    let is_rust = demangled.contains("::") || demangled.starts_with('<');
    let name = if is_rust {
        path(demangled)
    } else {
        demangled.to_owned()
    };
    name.replace(';', ",")
}

/// Smart pointers. Their names keep the argument.
const POINTERS: [&str; 4] = ["Arc", "Box", "Pin", "Rc"];

fn path(text: &str) -> String {
    let mut segments: Vec<String> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("::") {
            rest = after;
        } else if let Some((inner, after)) = bracketed(rest, '<', '>') {
            rest = after;
            if let Some(implementation) = inner.strip_prefix("impl ") {
                // The path of the `impl` block is left out; only the implementing type is kept.
                let of =
                    split_at_word(implementation, " for ").map_or(implementation, |(_, of)| of);
                segments = vec![type_name(of)];
            } else if segments.is_empty() {
                let of = split_at_word(inner, " as ").map_or(inner, |(of, _)| of);
                segments.push(type_name(of));
            } else if let Some(last) = segments.last_mut()
                && last == "drop_in_place"
            {
                *last = format!("drop_in_place<{}>", last_segment(&type_name(inner)));
            }
        } else if let Some((inner, after)) = bracketed(rest, '{', '}') {
            let inner = inner.trim_matches(['{', '}']);
            let kind = inner.split(['#', ':']).next().unwrap_or(inner);
            segments.push(format!("{{{kind}}}"));
            rest = after;
        } else {
            let end = rest
                .match_indices(['<', '{', ':'])
                .map(|(at, _)| at)
                .find(|&at| at > 0)
                .unwrap_or(rest.len());
            segments.push(rest[..end].to_owned());
            rest = &rest[end..];
        }
    }
    segments.join("::")
}

/// A type without its arguments.
fn type_name(text: &str) -> String {
    let mut text = text.trim();
    while let Some(target) = pointed_to(text) {
        text = target;
    }
    if let Some((inner, "")) = bracketed(text, '[', ']') {
        let is_array = split_at_word(inner, "; ").is_some();
        return if is_array { "array" } else { "slice" }.to_owned();
    }
    if let Some((inner, "")) = bracketed(text, '(', ')') {
        return if inner.starts_with("dyn ") {
            type_name(inner)
        } else {
            "()".to_owned()
        };
    }
    if let Some(bounds) = text.strip_prefix("dyn ") {
        let bound = split_at_word(bounds, " + ").map_or(bounds, |(first, _)| first);
        return format!("dyn {}", last_segment(&path(without_binder(bound))));
    }
    if ["fn(", "unsafe ", "extern "]
        .iter()
        .any(|prefix| text.starts_with(prefix))
    {
        return "fn".to_owned();
    }
    let name = path(text);
    let last = last_segment(&name);
    if !POINTERS.contains(&last) {
        return name;
    }
    match pointer_argument(text) {
        Some(argument) => format!("{last}<{}>", last_segment(&argument)),
        None => last.to_owned(),
    }
}

/// The type behind a reference or a raw pointer.
fn pointed_to(text: &str) -> Option<&str> {
    let text = without_binder(text);
    if let Some(raw) = text.strip_prefix('*') {
        return raw
            .strip_prefix("const ")
            .or_else(|| raw.strip_prefix("mut "));
    }
    let mut target = text.strip_prefix('&')?;
    if target.starts_with('\'') {
        target = target.split_once(' ')?.1;
    }
    Some(target.strip_prefix("mut ").unwrap_or(target).trim_start())
}

fn without_binder(text: &str) -> &str {
    let after = text
        .strip_prefix("for")
        .and_then(|rest| bracketed(rest, '<', '>'));
    after.map_or(text, |(_, after)| after.trim_start())
}

/// The type behind a smart pointer, unless it is a type parameter.
fn pointer_argument(text: &str) -> Option<String> {
    let (arguments, _) = bracketed(&text[text.find('<')?..], '<', '>')?;
    let first = match split_at_word(arguments, ",") {
        Some((first, _)) => first,
        None => arguments,
    };
    let is_parameter = first.chars().all(char::is_alphanumeric)
        && first.starts_with(|letter: char| letter.is_uppercase());
    (!is_parameter).then(|| type_name(first))
}

/// The last name of a path. `Box<dyn Future>` counts as one name.
fn last_segment(path: &str) -> &str {
    let mut last = path;
    while let Some((_, after)) = split_at_word(last, "::") {
        last = after;
    }
    last
}

/// If the text begins with an opening bracket: the text up to the closing bracket, and the text after it.
fn bracketed(text: &str, open: char, close: char) -> Option<(&str, &str)> {
    if !text.starts_with(open) {
        return None;
    }
    let mut depth = 0_usize;
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        if letter == open {
            depth += 1;
        } else if letter == close && !(close == '>' && before == '-') {
            depth -= 1;
        }
        if depth == 0 {
            return Some((&text[1..at], &text[at + 1..]));
        }
        before = letter;
    }
    None
}

/// Splits at the first occurrence of a word outside of all brackets.
fn split_at_word<'a>(text: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let mut depth = 0_i32;
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        if depth == 0 && text[at..].starts_with(word) {
            return Some((&text[..at], &text[at + word.len()..]));
        }
        match letter {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' if before == '-' => {}
            '>' | ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        before = letter;
    }
    None
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
