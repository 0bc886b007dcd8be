# The look of every figure: sizes, a palette that colour-blind readers can tell apart, and SVG for page and paper.
"""Figures are drawn in the light colours. On the page each colour becomes a CSS variable, so that dark mode changes it.

One unit of a figure is one CSS pixel on the page: a figure WIDE units wide keeps its type size there. Each figure is
drawn twice, WIDE for screens and paper and NARROW for telephones; the page shows one of them.
"""

import hashlib
import io
import re

import matplotlib

matplotlib.use("Agg")
matplotlib.rcdefaults()  # a matplotlibrc of the user would change the bytes
import matplotlib.pyplot as plt

WIDE, NARROW = 880, 358
BREAK = 640  # below this many pixels of column the page shows the narrow drawing

# name -> (light, dark). Series: Okabe and Ito's order, darkened or lightened to reach 3:1 on their background.
COLOURS = {
    "ink": ("#1b1f24", "#e8eaed"), "soft": ("#5b6470", "#a3acb8"), "rule": ("#dfe3e8", "#30363e"),
    "axis": ("#a4acb6", "#59616c"), "paper": ("#ffffff", "#15181c"), "same": ("#e6eaee", "#323a44"),
    "alarm": ("#c2331d", "#ff7a5c"),
    "s0": ("#0067a5", "#5eb3ee"), "s1": ("#d1580a", "#ff9f58"), "s2": ("#00825f", "#3fc79c"),
    "s3": ("#b3558c", "#e79ac6"), "s4": ("#9a7500", "#e2bd3d"), "s5": ("#3b8fc4", "#9ad2f7"),
    "s6": ("#6a51a3", "#b8a4ec"), "s7": ("#6d6259", "#c5b8ab")}
SERIES = [name for name in COLOURS if re.fullmatch(r"s\d", name)]
LIGHT = {name: light for name, (light, _) in COLOURS.items()}


def series_colour(index):
    return LIGHT[SERIES[index % len(SERIES)]]


def css_variables(column):
    return " ".join(f"--{name}: {pair[column]};" for name, pair in COLOURS.items())


RC = {
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 12, "axes.titlesize": 12.5,
    "axes.labelsize": 12, "xtick.labelsize": 11.5, "ytick.labelsize": 11.5, "text.color": LIGHT["ink"],
    "axes.labelcolor": LIGHT["soft"], "xtick.color": LIGHT["axis"], "ytick.color": LIGHT["axis"],
    "xtick.labelcolor": LIGHT["soft"], "ytick.labelcolor": LIGHT["soft"], "axes.edgecolor": LIGHT["axis"],
    "axes.linewidth": 1, "axes.spines.top": False, "axes.spines.right": False, "axes.spines.left": False,
    "axes.grid": True, "axes.grid.axis": "y", "axes.axisbelow": True, "grid.color": LIGHT["rule"],
    "grid.linewidth": 0.9, "ytick.major.size": 0, "ytick.minor.size": 0, "xtick.major.size": 4, "xtick.minor.size": 0,
    "ytick.major.pad": 6, "axes.titlelocation": "left", "axes.titlepad": 12, "lines.linewidth": 2,
    "lines.solid_capstyle": "round", "lines.solid_joinstyle": "round", "axes.formatter.useoffset": False,
    "axes.unicode_minus": True, "axes.xmargin": 0, "figure.facecolor": "none", "axes.facecolor": "none",
    "savefig.facecolor": LIGHT["paper"], "figure.dpi": 72, "path.simplify_threshold": 0.3}


def canvas(width, height, rows=1, columns=1, **options):
    """A figure `width` x `height` units with its axes, tight to the edges."""
    return plt.subplots(rows, columns, figsize=(width / 72, height / 72), squeeze=False, **options)


TIGHT = {"bbox_inches": "tight", "pad_inches": 0.14}  # figures that stand alone have a margin


def svg(figure, salt, as_text):
    """An SVG that is the same for the same figure: salted ids, no date, no creator. `as_text` is for the page."""
    out = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none" if as_text else "path", "svg.hashsalt": salt}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
                       transparent=as_text, **({} if as_text else TIGHT))
    return out.getvalue()


def inline(source, salt, label, css_class):
    """An SVG as it stands in the page: variables for colours, the page's font, ids that no other figure has."""
    body = source[source.index("<svg"):]
    body = re.sub(r"\s*<metadata>.*?</metadata>", "", body, flags=re.S)
    body = re.sub(r"\s*<style type=\"text/css\">.*?</style>", "", body, flags=re.S)
    body = re.sub(r"<!--.*?-->\s*", "", body, flags=re.S)
    view = re.search(r'viewBox="([^"]+)"', body).group(1)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', body))
    prefix = "f" + hashlib.sha256(salt.encode()).hexdigest()[:6] + "-"
    body = re.sub(r' id="([^"]+)"', lambda m: f' id="{prefix}{m[1]}"' if m[1] in used else "", body)
    body = re.sub(r'(?:xlink:)?href="#', f'href="#{prefix}', body).replace("url(#", f"url(#{prefix}")
    body = re.sub(r"font: (?:(\d+) )?([\d.]+)px [^;\"]+", lambda m: f"font-size: {m[2]}px" +
                  (f"; font-weight: {m[1]}" if m[1] else ""), body)
    body = re.sub(r' (?:d|x|y)="[^"]+"', lambda m: re.sub(r"\d+\.\d{3,}", lambda n: f"{float(n[0]):.2f}", m[0]), body)
    for name, (light, _) in COLOURS.items():
        body = body.replace(light, f"var(--{name})")
    title = f"<title>{label}</title>"
    return re.sub(r"<svg[^>]*>", f'<svg class="{css_class}" viewBox="{view}" role="img">{title}', body, count=1).strip()


def draw(name, painter, label):
    """Draws a figure both ways. Returns the inline SVG of both and the files of the wide one by name."""
    page, files = "", {}
    for width, css_class in ((WIDE, "wide"), (NARROW, "narrow")):
        with matplotlib.rc_context(RC):
            figure = painter(width)
            page += inline(svg(figure, f"{name}-{css_class}", True), f"{name}-{css_class}", label, css_class) + "\n"
            if width == WIDE:
                files[f"{name}.svg"] = svg(figure, name, False).encode()
                png = io.BytesIO()
                figure.savefig(png, format="png", dpi=144, metadata={"Software": None}, **TIGHT)
                files[f"{name}.png"] = png.getvalue()
            plt.close(figure)
    return page, files
