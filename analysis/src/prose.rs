//! Reports are written by the templates in `analysis/templates`. They are compiled, so none can name what does not exist.

use askama::Template;

/// A template with what it is given: `prose!("workers.txt" { cells: usize = 3 })`. Types that borrow do so for `'a`, which
/// is written first then: `prose!('a "workers.txt" { names: &'a [String] = &names })`.
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

/// The lines of a template. A line that begins with two spaces goes on with the one above. However many empty lines there
/// are, one separates paragraphs, and none the items of a list or the rows of a table.
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
                let is_next = above.is_none_or(|above| {
                    marks.any(|mark| above.starts_with(mark) && part.starts_with(mark))
                });
                lines.extend((is_apart && !is_next).then(String::new));
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

/// A sentence for each line.
pub(crate) fn sentences(template: &impl Template) -> Vec<String> {
    let mut lines = lines(template);
    lines.retain(|line| !line.is_empty());
    lines
}

/// What templates do with values, beside the functions of [`text`](crate::text): `{{ percent|number }}`.
#[allow(unreachable_pub, reason = "askama's macro makes its items public")]
pub(crate) mod filters {
    use std::fmt::Display;

    use askama::{Result, Values, filter_fn};
    use serde::Serialize;

    use crate::load::name_in_files;
    use crate::text;

    /// A number that is there, or behind a reference.
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
    pub(crate) fn number<T: Number>(of: T, _: &dyn Values) -> Result<String> {
        Ok(text::number(of.value()))
    }

    #[filter_fn]
    pub(crate) fn lasting<T: Number>(seconds: T, _: &dyn Values) -> Result<String> {
        Ok(text::lasting(seconds.value()))
    }

    #[filter_fn]
    pub(crate) fn quoted<T: Display>(of: T, _: &dyn Values) -> Result<String> {
        Ok(text::quoted(of))
    }

    #[filter_fn]
    pub(crate) fn name<T: Serialize>(of: T, _: &dyn Values) -> Result<String> {
        Ok(name_in_files(of))
    }

    #[filter_fn]
    pub(crate) fn marked<T: Display>(of: T, _: &dyn Values) -> Result<String> {
        Ok(text::marked(&of.to_string()))
    }

    /// A dash of what is not there.
    #[filter_fn]
    pub(crate) fn any<T: IntoIterator<Item: Display>>(of: T, _: &dyn Values) -> Result<String> {
        let mut of = of.into_iter();
        Ok(of
            .next()
            .map_or_else(|| "–".to_owned(), |it| it.to_string()))
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
    fn lines_go_on_and_paragraphs_are_apart() {
        let (title, items) = ("T", &["one", "two"][..]);
        let expected = "# T\n\nThese are\n- one\n- two at the end.\n| a |\n| b |\nText";
        assert_eq!(text(&Example { title, items }), expected);
        let nothing = Example { title, items: &[] };
        let expected = ["# T at the end.", "| a |", "| b |", "Text"];
        assert_eq!(sentences(&nothing), expected);
    }
}
