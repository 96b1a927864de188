import re
from html.parser import HTMLParser

import pytest

from bedside.report.html import diagnosis_to_html

VOID = {"meta", "path", "circle", "polyline", "br"}


class Checker(HTMLParser):
    """Fails on tags that do not close, on scripts, and on anything that could ask the network for something."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], ""

    def handle_starttag(self, tag, attributes):
        assert tag not in {"script", "link", "img", "iframe", "image", "use"}
        assert not {"src", "href", "xlink:href", "srcset"} & {name for name, _ in attributes}
        assert not any(name.startswith("on") for name, _ in attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("name", ["sick", "healthy", "unclear", "previews", "hostile"])
def test_a_fragment_is_well_formed_and_asks_nobody_for_anything(name, request):
    fragment = diagnosis_to_html(request.getfixturevalue(name), {"GRD101": "a <page> & its text"})
    checker = Checker()
    checker.feed(fragment)
    assert checker.open == []
    assert "http://" not in fragment
    assert "https://" not in fragment
    assert "url(" not in fragment


def test_a_fragment_tells_the_same_as_the_text(sick):
    checker = Checker()
    checker.feed(sick._repr_html_())
    for said in ("gets 1e-8 of the gradient", "since step 150, still so at the end", "93 %", "LOS104", "onset 150"):
        assert said in checker.text


def test_styles_stay_within_the_fragment(sick):
    style = re.search(r"<style>(.*?)</style>", sick._repr_html_(), re.DOTALL)[1]
    selectors = re.findall(r"([^{}]+)\{", style)
    assert all(part.strip().startswith(".bedside") for selector in selectors for part in selector.split(","))


def test_the_rules_page_is_folded_in(sick):
    assert "a &lt;page&gt; &amp; its text" in diagnosis_to_html(sick, {"GRD101": "a <page> & its text"})
