from hypothesis import given
from hypothesis import strategies as st

from bedside.report.styled_lines import plain, wrapped


def test_words_are_kept_whole_and_later_lines_indented():
    lines = wrapped("one two three four", first="- ", width=11)
    assert plain(lines) == "- one two\n  three\n  four"


def test_roles_survive_the_breaks():
    lines = wrapped(("alpha beta", "error"), " gamma", width=10)
    assert lines == [(("alpha beta", "error"),), (("gamma", ""),)]


def test_a_word_longer_than_a_line_is_cut():
    assert plain(wrapped("x" * 25, width=10)) == "x" * 10 + "\n" + "x" * 10 + "\n" + "x" * 5


@given(st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=300), st.integers(20, 100))
def test_no_line_is_too_wide_and_no_letter_is_lost(text, width):
    shown = plain(wrapped(text, first="  - ", width=width))
    assert all(len(line) <= width for line in shown.splitlines())
    assert "".join(shown.split()) == "-" + "".join(text.split())
