"""The check of the prose finds what it should, and nothing else."""

from pathlib import Path

import pytest
from prose import findings, main


def found(tmp_path: Path, name: str, text: str) -> list[str]:
    """Return the phrases that are found in a file with this text."""
    (tmp_path / name).write_text(text)
    return [phrase for _, phrase, _ in findings(tmp_path / name)]


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("The bound is that\nof the program.", "that of"),
        ("It stops, so that it has no bound.", ", so that"),
        ("It stands beside the table.", "beside"),
        ("A process of its own runs it.", "of its own"),
        ("The values are whole\n  numbers.", "whole numbers"),
        ("This is no proof.", "is no"),
        ("Left out are jobs without GPUs.", "Left out are"),
    ],
)
def test_a_phrase_is_found_across_lines(tmp_path: Path, text: str, phrase: str) -> None:
    assert found(tmp_path, "page.md", text) == [phrase]


def test_good_sentences_code_and_quotations_are_left_alone(tmp_path: Path) -> None:
    lines = (
        "There is no bound. It is no longer open. Write it so that others can read it.",
        'A method of your own. `beside` was an option, "whole numbers" a phrase.',
        "```",
        "x = 1  # that of y, so that z",
        "```",
    )
    assert found(tmp_path, "page.md", "\n".join(lines)) == []


def test_comments_and_docstrings_are_read_in_source(tmp_path: Path) -> None:
    text = '''"""Return the bound that of the program gives."""
x = "a value, so that nothing is said"  # of the second
# Each price is an integer.
'''
    assert found(tmp_path, "code.py", text) == ["that of", "# of t"]


def test_pages_notebooks_and_source_are_clean(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0, capsys.readouterr().out
