// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Free memory over time, one line for each configuration, as SVG: its text is text, so no font is needed here.

use std::path::Path;

use fovea_scenario::Boot;
use plotters::element::Cross;
use plotters::prelude::*;

use crate::{Error, Mark, Series};

/// Size in pixels.
const SIZE: (u32, u32) = (1100, 560);

/// Okabe and Ito's colours, told apart by colour-blind readers too, in a fixed order of configurations.
fn colour(configuration: &str) -> RGBColor {
    match configuration {
        "stock" => RGBColor(213, 94, 0),
        "zram" => RGBColor(0, 114, 178),
        "kernel" => RGBColor(213, 94, 0),
        "earlyoom" => RGBColor(0, 114, 178),
        "systemd-oomd" => RGBColor(204, 121, 167),
        _ => RGBColor(0, 158, 115),
    }
}

fn drawing(e: impl std::fmt::Display) -> Error {
    Error::Drawing(e.to_string())
}

/// Draws free memory over time. `boots` are those of one case and round, one for each configuration; `title` stands above.
pub fn free_memory_svg(title: &str, boots: &[Boot<'_>]) -> Result<String, Error> {
    let all: Vec<Series> = boots.iter().map(Series::new).filter(|s| s.free_mib.len() > 1).collect();
    let points = || all.iter().flat_map(|s| &s.free_mib);
    let end_s = points().map(|p| p.0).fold(0.0, f64::max);
    let top_mib = points().map(|p| p.1).fold(0.0, f64::max);
    if all.is_empty() || end_s <= 0.0 {
        return Err(Error::Empty);
    }
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(drawing)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(title, ("sans-serif", 22))
            .margin(14)
            .x_label_area_size(46)
            .y_label_area_size(62)
            // Room above the lines for the legend.
            .build_cartesian_2d(0.0..end_s, 0.0..top_mib.max(1.0) * 1.25)
            .map_err(drawing)?;
        chart
            .configure_mesh()
            .x_desc("time (s)")
            .y_desc("free memory (MiB)")
            .x_label_formatter(&|v| format!("{v:.0}"))
            .y_label_formatter(&|v| format!("{v:.0}"))
            .axis_desc_style(("sans-serif", 16))
            .label_style(("sans-serif", 14))
            .light_line_style(WHITE)
            .bold_line_style(BLACK.mix(0.1))
            .draw()
            .map_err(drawing)?;
        for series in &all {
            let colour = colour(series.configuration);
            let count = |mark| series.marks.iter().filter(|m| m.1 == mark).count();
            let label =
                format!("{}: {} launches, {} kills", series.configuration, count(Mark::Launch), count(Mark::Kill));
            chart
                .draw_series(LineSeries::new(series.free_mib.iter().copied(), colour.stroke_width(2)))
                .map_err(drawing)?
                .label(label)
                .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 20, y)], colour.stroke_width(2)));
            let marked = |wanted: Mark| {
                series.marks.iter().filter(move |m| m.1 == wanted).filter_map(|m| Some((m.0, series.at(m.0)?)))
            };
            chart.draw_series(marked(Mark::Launch).map(|p| Circle::new(p, 3, colour.filled()))).map_err(drawing)?;
            chart.draw_series(marked(Mark::Kill).map(|p| Cross::new(p, 7, colour.stroke_width(3)))).map_err(drawing)?;
        }
        legend_of_marks(&mut chart)?;
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.4))
            .label_font(("sans-serif", 14))
            .margin(8)
            .draw()
            .map_err(drawing)?;
        root.present().map_err(drawing)?;
    }
    Ok(svg)
}

type Chart<'a, 'b> = ChartContext<
    'a,
    SVGBackend<'b>,
    Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
>;

/// Series without points: they exist for their line in the legend.
fn legend_of_marks(chart: &mut Chart<'_, '_>) -> Result<(), Error> {
    let none = || std::iter::empty::<Circle<(f64, f64), i32>>();
    chart
        .draw_series(none())
        .map_err(drawing)?
        .label("an app comes to the screen")
        .legend(|(x, y)| Circle::new((x + 10, y), 3, BLACK.filled()));
    chart
        .draw_series(none())
        .map_err(drawing)?
        .label("an app is killed")
        .legend(|(x, y)| Cross::new((x + 10, y), 6, BLACK.stroke_width(3)));
    Ok(())
}

/// Draws free memory over time into a file.
pub fn write_free_memory(path: &Path, title: &str, boots: &[Boot<'_>]) -> Result<(), Error> {
    let svg = free_memory_svg(title, boots)?;
    std::fs::write(path, svg).map_err(|cause| Error::File { path: path.to_owned(), cause })
}
