from bedside.report.markdown import diagnosis_to_markdown, escaped


def test_a_comment_reads_as_it_did(sick, snapshot):
    snapshot("sick.md", diagnosis_to_markdown(sick).rstrip("\n"))


def test_markup_from_a_log_is_disarmed(hostile):
    text = diagnosis_to_markdown(hostile)
    outside_code = "".join(text.split("`")[::2])
    assert "<script>" not in outside_code
    assert "@everyone" not in outside_code.replace("\\@", "")


def test_code_keeps_its_backticks_and_its_underscores():
    assert escaped("`a_b` and a_b") == "`a_b` and a\\_b"
