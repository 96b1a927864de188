"""How the guide looks: cards that flow on a screen, and exactly one page on paper, whatever the font.

On paper the text of a card has its natural height and the plots take what is left. If a wide font leaves too little,
a few lines of script make the text smaller until everything fits; they only measure and set one number.
"""

from __future__ import annotations

PAPERS = {"a4": (210.0, 297.0), "letter": (215.9, 279.4)}  # mm

SCREEN = """
*{box-sizing:border-box}
:root{--k:1}
body{margin:0 auto;max-width:1240px;padding:16px;color:#20242a;background:#fff;
 font-family:Helvetica,Arial,'DejaVu Sans',sans-serif;-webkit-print-color-adjust:exact;print-color-adjust:exact}
h1{font-size:clamp(1.4rem,4vw,2.1rem);line-height:1.1;margin:0 0 .3em}
p.legend{margin:0 0 1em;line-height:1.5} p.legend b{padding-right:.8em}
main{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,330px),1fr));gap:14px}
section{border:1px solid #20242a;border-radius:8px;padding:10px 12px;display:flex;flex-direction:column;min-width:0}
section.well{border:3px solid #2e8b57}
h2{font-size:1.25rem;line-height:1.1;margin:0 0 .35em}
.plots{display:flex;gap:4px;min-width:0}
.plots svg{display:block;min-width:0;height:auto}
.plots svg:first-child{flex:46} .plots svg{flex:21.5}
.numbers{font-size:.9rem;margin:.35em 0 0;color:#3c434d;font-variant-numeric:tabular-nums}
.numbers b{color:#20242a;white-space:nowrap}
.see,.do{line-height:1.25;margin:.35em 0 0}
.do{font-weight:700}
.do::before{content:"→ ";color:#c62a2f}
section.well .do::before{color:#2e8b57}
footer{font-size:.8rem;margin-top:1em;display:flex;justify-content:space-between;gap:1em;flex-wrap:wrap}
"""

PAPER = """
html{font-size:calc(var(--k) * 10.6pt)}
body{margin:0;max-width:none;width:%(width)smm;height:%(height)smm;padding:6mm 7mm 4mm;overflow:hidden;
 display:flex;flex-direction:column}
h1{font-size:1.9rem;margin:0 0 .15em}
p.legend{font-size:.95rem;margin:0 0 1.6mm;line-height:1.25}
main{flex:1;min-height:0;grid-template-columns:1fr 1fr;grid-template-rows:repeat(%(rows)s,minmax(0,1fr));gap:2.2mm}
section{border-width:.35mm;border-radius:1.6mm;padding:1.4mm 2mm;min-height:0;overflow:hidden}
section.well{border-width:.7mm}
h2{font-size:1.2rem;margin:0 0 .5mm}
.plots{flex:1 1 0;min-height:0}
.plots svg{height:100%%}
.numbers{font-size:.86rem;margin:.5mm 0 0}
.see,.do{font-size:1rem;line-height:1.14;margin:.5mm 0 0}
footer{font-size:.75rem;margin-top:1.2mm}
"""

# Smaller and smaller until no card cuts its text off and the plots still have their room.
FIT = """
(function () {
  var root = document.documentElement;
  function fits() {
    var body = document.body;
    if (body.scrollHeight > body.clientHeight + 1) return false;
    return Array.prototype.every.call(document.querySelectorAll('section'), function (card) {
      var plots = card.querySelector('.plots');
      return card.scrollHeight <= card.clientHeight + 1 && plots.clientHeight >= 0.36 * card.clientHeight;
    });
  }
  function fit() {
    for (var k = 1; k > 0.5; k -= 0.02) {
      root.style.setProperty('--k', k);
      if (fits()) return;
    }
  }
  if (document.body.className === 'paper') fit();
  else window.addEventListener('beforeprint', fit);
})();
"""


def style(paper: str, *, on_screen: bool, cards: int) -> str:
    """The style sheet; with `on_screen` the screen shows the paper itself, for a picture of it."""
    width, height = PAPERS[paper]
    sheet = PAPER % {"width": width, "height": height, "rows": -(-cards // 2)}
    page = f"@page{{size:{width}mm {height}mm;margin:0}}"
    return f"{page}{SCREEN}{sheet if on_screen else f'@media print{{{sheet}}}'}"
