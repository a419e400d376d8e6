//! Shortens demangled names: function and type remain, generic arguments and traits do not. The result is the
//! same for both of Rust's mangling schemes.

/// The short name. It contains no `;`.
pub(super) fn short_name(demangled: &str) -> String {
    let is_rust = demangled.contains("::") || demangled.starts_with('<');
    let name = match is_rust {
        true => path(demangled),
        false => demangled.to_owned(),
    };
    name.replace(';', ",")
}

/// Smart pointers. Their names keep the argument.
const POINTERS: [&str; 4] = ["Arc", "Box", "Pin", "Rc"];

fn path(text: &str) -> String {
    let mut segments: Vec<String> = Vec::new();
    for segment in split(text, "::") {
        let (name, rest) = segment.split_at(segment.find(['<', '{']).unwrap_or(segment.len()));
        let inner = rest.strip_prefix('<').unwrap_or_default();
        let inner = inner.strip_suffix('>').unwrap_or(inner);
        if !name.is_empty() {
            segments.push(name.to_owned());
        }
        if rest.starts_with('{') {
            let kind = rest.trim_matches(['{', '}']);
            segments.push(format!("{{{}}}", before(before(kind, "#"), ":")));
        } else if let Some(implementation) = inner.strip_prefix("impl ") {
            // The path of the `impl` block is left out; only the implementing type is kept.
            let implementing = split(implementation, " for ").pop();
            segments = vec![type_name(implementing.unwrap_or(implementation))];
        } else if segments.is_empty() && !inner.is_empty() {
            segments.push(type_name(before(inner, " as ")));
        }
        if let Some(last) = segments.last_mut()
            && last == "drop_in_place"
            && !inner.is_empty()
        {
            *last = format!("drop_in_place<{}>", last_segment(&type_name(inner)));
        }
    }
    segments.join("::")
}

/// A type without its arguments.
fn type_name(text: &str) -> String {
    let text = target(text.trim());
    let within = |open, close| text.strip_prefix(open)?.strip_suffix(close);
    if let Some(elements) = within('[', ']') {
        let is_array = split(elements, "; ").len() > 1;
        return if is_array { "array" } else { "slice" }.to_owned();
    }
    if let Some(members) = within('(', ')') {
        return match members.starts_with("dyn ") {
            true => type_name(members),
            false => "()".to_owned(),
        };
    }
    if let Some(bounds) = text.strip_prefix("dyn ") {
        let bound = path(without_binder(before(bounds, " + ")));
        return format!("dyn {}", last_segment(&bound));
    }
    let is_function = |prefix: &&str| text.starts_with(prefix);
    if ["fn(", "unsafe ", "extern "].iter().any(is_function) {
        return "fn".to_owned();
    }
    let name = path(text);
    let last = last_segment(&name);
    if !POINTERS.contains(&last) {
        return name;
    }
    let arguments = text.split_once('<').map_or("", |(_, arguments)| arguments);
    let first = before(arguments.strip_suffix('>').unwrap_or(arguments), ",");
    let is_parameter = first.chars().all(char::is_alphanumeric)
        && first.starts_with(|letter: char| letter.is_uppercase());
    match first {
        "" => last.to_owned(),
        _ if is_parameter => last.to_owned(),
        _ => format!("{last}<{}>", last_segment(&type_name(first))),
    }
}

/// What references and raw pointers lead to.
fn target(mut text: &str) -> &str {
    loop {
        text = without_binder(text);
        let pointed = ["*const ", "*mut ", "&mut ", "&"];
        let Some(after) = pointed.iter().find_map(|start| text.strip_prefix(start)) else {
            return text;
        };
        text = match after
            .strip_prefix('\'')
            .and_then(|rest| rest.split_once(' '))
        {
            Some((_, after)) => after.strip_prefix("mut ").unwrap_or(after),
            None => after,
        };
    }
}

fn without_binder(text: &str) -> &str {
    let binder = text.strip_prefix("for<");
    binder.map_or(text, |rest| {
        rest.split_once("> ").map_or(text, |(_, after)| after)
    })
}

/// The last name of a path. `Box<dyn Future>` counts as one name.
fn last_segment(path: &str) -> &str {
    split(path, "::").pop().unwrap_or(path)
}

/// What comes before the word, if it is there outside of all brackets.
fn before<'a>(text: &'a str, word: &str) -> &'a str {
    split(text, word)[0]
}

/// Splits where the word is outside of all brackets.
fn split<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_i32);
    for (at, letter) in text.char_indices() {
        if depth == 0 && at >= start && text[at..].starts_with(word) {
            parts.push(&text[start..at]);
            start = at + word.len();
        }
        match letter {
            '<' | '(' | '[' | '{' => depth += 1,
            // An arrow.
            '>' if text[..at].ends_with('-') => {}
            '>' | ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
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
