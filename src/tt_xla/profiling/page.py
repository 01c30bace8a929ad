"""Pages as single HTML files with their own style and script, which load no other file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tt_xla.markup import escape

_STYLE = """
:root{color-scheme:light dark;--ink:#1d2733;--soft:#66717d;--line:#dfe3e8;--card:#fff;--back:#f5f6f8}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#98a3af;--line:#343d48;--card:#1b222b;--back:#12171d}}
body{font:14px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--back);margin:0}
main{max-width:1120px;margin:0 auto;padding:24px 20px 80px}
h1{font-size:22px;margin:0 0 4px}h2{font-size:16px;margin:34px 0 8px}p{margin:4px 0}.soft{color:var(--soft)}
.warn{background:#d6272822;border-left:4px solid #d62728;padding:8px 12px;margin:12px 0}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(165px,1fr));gap:10px;margin:16px 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 12px}
.card b{display:block;font-size:19px}.card span{color:var(--soft);font-size:12px}
.chart{width:100%;background:var(--card);border:1px solid var(--line);border-radius:8px;display:block}
.chart.bar{border:0;background:none;border-radius:0}
.chart text{font-size:11px;fill:var(--soft)}.chart text.on{fill:#fff}
.chart .axis{stroke:var(--soft);fill:none}.chart .grid{stroke:var(--line);fill:none}
.legend span{margin-right:14px;font-size:12px;color:var(--soft)}
.legend i{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:5px}
table{border-collapse:collapse;width:100%;background:var(--card);border:1px solid var(--line);font-size:12.5px}
th,td{padding:4px 8px;border-bottom:1px solid var(--line);text-align:left}th{cursor:pointer;white-space:nowrap}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}a{color:#2f7ed8;text-decoration:none}
pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:8px 0;overflow:auto;font-size:12px}
pre span{display:block;padding:0 12px}pre span:target,pre span.hot{background:#e08a1e2e}
pre i{color:var(--soft);font-style:normal;display:inline-block;width:52px;text-align:right;margin-right:12px}
"""

_SCRIPT = """
for(const t of document.querySelectorAll('table'))t.tHead.addEventListener('click',e=>{
 const h=e.target.closest('th');if(!h)return;const i=h.cellIndex,b=t.tBodies[0];
 const d=h.dataset.d=h.dataset.d==='1'?'-1':'1';
 const v=r=>{const c=r.cells[i],n=parseFloat(c.dataset.v??c.textContent);return isNaN(n)?c.textContent:n};
 [...b.rows].sort((p,q)=>{const x=v(p),y=v(q);return(x<y?1:x>y?-1:0)*d}).forEach(r=>b.append(r))});
for(const s of document.querySelectorAll('svg.zoom')){const full=s.viewBox.baseVal.width;
 const b=s.viewBox.baseVal;s.addEventListener('wheel',e=>{e.preventDefault();const r=s.getBoundingClientRect();
 const at=b.x+(e.clientX-r.left)/r.width*b.width,w=Math.min(full,Math.max(full/5000,b.width*(e.deltaY>0?1.25:.8)));
 b.x=Math.min(Math.max(0,at-(at-b.x)*w/b.width),full-w);b.width=w},{passive:false});
 s.addEventListener('pointermove',e=>{if(e.buttons&1){const r=s.getBoundingClientRect();
 b.x=Math.min(Math.max(0,b.x-e.movementX/r.width*b.width),full-b.width)}})}
"""


class Cell(NamedTuple):
    """A cell of a table. A column sorts by ``value``, or by ``text`` without one; ``link`` is a URL."""

    text: str
    value: float | None = None
    link: str = ""


def page(title: str, subtitle: str, parts: Iterable[str], warning: str = "") -> str:
    """Returns a page.

    Args:
        title: Title, as text.
        subtitle: Line below the title, as text.
        parts: Body, as HTML.
        warning: Sentence at the top, as text; none if empty.
    """
    warned = f'<p class="warn">{escape(warning)}</p>' if warning else ""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main><h1>{escape(title)}</h1>"
        f'<p class="soft">{escape(subtitle)}</p>{warned}{"".join(parts)}</main>'
        f"<script>{_SCRIPT}</script></body></html>\n"
    )


def section(title: str, *parts: str, note: str = "") -> str:
    """Returns a section with a title and a note, both as text, and parts as HTML."""
    noted = f'<p class="soft">{escape(note)}</p>' if note else ""
    return f"<section><h2>{escape(title)}</h2>{noted}{''.join(parts)}</section>"


def cards(values: Iterable[tuple[str, str]]) -> str:
    """Returns boxes that show names and values."""
    boxes = (f'<div class="card"><b>{escape(value)}</b><span>{escape(name)}</span></div>' for name, value in values)
    return f'<div class="cards">{"".join(boxes)}</div>'


def table(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Returns a table that sorts by a column when its title is clicked."""
    body: list[str] = []
    numeric: set[int] = set()
    for row in rows:
        cells: list[str] = []
        for index, cell in enumerate(row):
            text = escape(cell.text)
            text = f'<a href="{escape(cell.link)}">{text}</a>' if cell.link else text
            if cell.value is None:
                cells.append(f"<td>{text}</td>")
            else:
                numeric.add(index)
                cells.append(f'<td class="n" data-v="{cell.value:.9g}">{text}</td>')
        body.append(f"<tr>{''.join(cells)}</tr>")
    titles = (
        f'<th class="n">{escape(name)}</th>' if index in numeric else f"<th>{escape(name)}</th>"
        for index, name in enumerate(header)
    )
    return f"<table><thead><tr>{''.join(titles)}</tr></thead><tbody>{''.join(body)}</tbody></table>"
