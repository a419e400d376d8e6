//! Fills the templates in `analysis/templates`. They are compiled, so none can name a value that does not exist.

use askama::Template;

/// A template with its values: `prose!("workers.txt" { cells: usize = 3 })`. If types borrow, the lifetime comes first:
/// `prose!('a "workers.txt" { names: &'a [String] = &names })`.
///
/// A template can use functions and constants of the module that calls `prose!`, as `self::name`, and those of `crate::text`,
/// as `text::name`. To find the callers of a function, search `templates/`, too.
macro_rules! prose {
    ($($life:lifetime)? $path:literal { $($name:ident: $type:ty = $value:expr),* $(,)? }) => {{
        #[allow(unused_imports)]
        use crate::{prose::filters, text};

        #[derive(askama::Template)]
        #[template(path = $path)]
        struct Given$(<$life>)? {
            $($name: $type,)*
        }
        Given { $($name: $value,)* }
    }};
}
pub(crate) use prose;

pub(crate) fn rendered(template: &impl Template) -> String {
    template.render().expect("a string can be written to")
}

/// The lines of a filled template. A line that begins with two spaces continues the line above. One empty line separates
/// paragraphs, however many there are in the template. No empty line separates items of a list or rows of a table.
fn lines(template: &impl Template) -> Vec<String> {
    let rendered = rendered(template);
    let mut lines: Vec<String> = Vec::new();
    let mut is_apart = false;
    for line in rendered.lines() {
        let part = line.trim();
        match lines.last_mut() {
            _ if part.is_empty() => {
                is_apart = true;
                continue;
            }
            Some(above) if line.starts_with("  ") => *above = format!("{above} {part}"),
            above => {
                let mut marks = ["-", "|"].into_iter();
                let continues_list = above.is_none_or(|above| {
                    marks.any(|mark| above.starts_with(mark) && part.starts_with(mark))
                });
                lines.extend((is_apart && !continues_list).then(String::new));
                lines.push(part.to_owned());
            }
        }
        is_apart = false;
    }
    lines
}

pub(crate) fn text(template: &impl Template) -> String {
    lines(template).join("\n")
}

/// The lines of a filled template that are not empty. Each of them is a sentence.
pub(crate) fn sentences(template: &impl Template) -> Vec<String> {
    let mut lines = lines(template);
    lines.retain(|line| !line.is_empty());
    lines
}

/// The filters of templates, such as `number` in `{{ percent|number }}`.
#[allow(unreachable_pub, reason = "askama's macro makes its items public")]
pub(crate) mod filters {
    use std::fmt::Display;

    use askama::{Result, Values, filter_fn};
    use serde::Serialize;

    use crate::load::name_in_files;
    use crate::text;

    /// A number or a reference to one.
    pub(crate) trait Number {
        fn value(&self) -> f64;
    }

    impl Number for f64 {
        fn value(&self) -> f64 {
            *self
        }
    }

    impl<T: Number> Number for &T {
        fn value(&self) -> f64 {
            (**self).value()
        }
    }

    #[filter_fn]
    pub(crate) fn number<T: Number>(number: T, _: &dyn Values) -> Result<String> {
        Ok(text::number(number.value()))
    }

    #[filter_fn]
    pub(crate) fn lasting<T: Number>(seconds: T, _: &dyn Values) -> Result<String> {
        Ok(text::lasting(seconds.value()))
    }

    #[filter_fn]
    pub(crate) fn quoted<T: Display>(words: T, _: &dyn Values) -> Result<String> {
        Ok(text::quoted(words))
    }

    #[filter_fn]
    pub(crate) fn name<T: Serialize>(value: T, _: &dyn Values) -> Result<String> {
        Ok(name_in_files(value))
    }

    #[filter_fn]
    pub(crate) fn marked<T: Display>(words: T, _: &dyn Values) -> Result<String> {
        Ok(text::marked(&words.to_string()))
    }

    /// The first item, or a dash if there is none.
    #[filter_fn]
    pub(crate) fn or_dash<T: IntoIterator<Item: Display>>(
        items: T,
        _: &dyn Values,
    ) -> Result<String> {
        let first = items.into_iter().next();
        Ok(first.map_or_else(|| "–".to_owned(), |item| item.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use askama::Template;

    use super::*;

    #[derive(Template)]
    #[template(
        ext = "txt",
        source = "# {{ title }}\n\n\n{% if !items.is_empty() %}\nThese\n  are{% for item in items %}\n- {{ item }}\n{% endfor %}\n\
                  {% endif %}\n  at the end.\n| a |\n\n| b |\nText"
    )]
    struct Example {
        title: &'static str,
        items: &'static [&'static str],
    }

    #[test]
    fn indented_lines_continue_and_empty_lines_separate_paragraphs() {
        let (title, items) = ("T", &["one", "two"][..]);
        let expected = "# T\n\nThese are\n- one\n- two at the end.\n| a |\n| b |\nText";
        assert_eq!(text(&Example { title, items }), expected);
        let nothing = Example { title, items: &[] };
        let expected = ["# T at the end.", "| a |", "| b |", "Text"];
        assert_eq!(sentences(&nothing), expected);
    }
}
