//! Pictures as pixels. 256 colours are enough for flat areas and letters, and make a file a third as large.

use anyhow::{Context, Result};
use quantette::{
    ImageRef, PaletteSize, Pipeline, QuantizeMethod,
    deps::palette::{Srgb, cast::into_component_slice},
};
use tiny_skia::{Color, FillRule, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};

use super::{
    canvas::Shape,
    colour::Colour,
    font,
    geometry::Point,
    ink::{Align, Pen},
};

pub(crate) fn png(shapes: &[Shape], (width, height): (u32, u32)) -> Result<Vec<u8>> {
    let mut pixels = Pixmap::new(width, height).context("a picture without pixels")?;
    for shape in shapes {
        draw(&mut pixels, shape);
    }
    let colours = pixels.pixels().iter();
    let colours: Vec<Srgb<u8>> = colours
        .map(|it| Srgb::new(it.red(), it.green(), it.blue()))
        .collect();
    let image = ImageRef::new(width, height, &colours).ok();
    let image = image.context("a picture of too many pixels")?;
    let few = Pipeline::new()
        .palette_size(PaletteSize::MAX)
        .quantize_method(QuantizeMethod::Wu)
        .ditherer(None)
        .input_image(image)
        .output_srgb8_indexed_image();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(into_component_slice(few.palette()).to_vec());
    encoder.set_compression(png::Compression::High);
    // Flat areas and repeated letters gain nothing from a filter.
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(few.indices())?;
    writer.finish()?;
    Ok(bytes)
}

fn draw(pixels: &mut Pixmap, shape: &Shape) {
    let here = Transform::identity();
    let mut fill = |path: Option<Path>, colour: Colour, opacity: f64, at: Transform| {
        if let Some(path) = path {
            pixels.fill_path(&path, &paint(colour, opacity), FillRule::Winding, at, None);
        }
    };
    match shape {
        Shape::Area {
            corners,
            colour,
            opacity,
        } => fill(path(corners), *colour, *opacity, here),
        Shape::Dot {
            centre,
            radius,
            colour,
        } => {
            let circle = PathBuilder::from_circle(centre.x as f32, centre.y as f32, *radius as f32);
            fill(circle, *colour, 1.0, here);
        }
        Shape::Text { at, text, style } => {
            let letters = font::outlines(text, style.size, style.bold);
            let width = font::width_of(text, style.size, style.bold);
            let back = match style.align {
                Align::Left => 0.0,
                Align::Centre => width / 2.0,
                Align::Right => width,
            };
            let place = Transform::from_translate((at.x - back) as f32, at.y as f32);
            fill(letters, style.colour, 1.0, place);
        }
        Shape::Line { points, pen } => {
            if let Some(path) = path(points) {
                pixels.stroke_path(&path, &paint(pen.colour, 1.0), &stroke(pen), here, None);
            }
        }
    }
}

/// None of fewer than two points.
fn path(points: &[Point]) -> Option<Path> {
    let (first, others) = points.split_first()?;
    let mut path = PathBuilder::new();
    path.move_to(first.x as f32, first.y as f32);
    for point in others {
        path.line_to(point.x as f32, point.y as f32);
    }
    path.finish()
}

fn paint(Colour(red, green, blue): Colour, opacity: f64) -> Paint<'static> {
    let mut colour = Color::from_rgba8(red, green, blue, 255);
    colour.set_alpha(opacity as f32);
    let mut paint = Paint::default();
    paint.set_color(colour);
    paint
}

fn stroke(pen: &Pen) -> Stroke {
    let dashes = pen.dashes.iter().map(|it| *it as f32).collect();
    Stroke {
        width: pen.width as f32,
        dash: StrokeDash::new(dashes, 0.0),
        ..Stroke::default()
    }
}
