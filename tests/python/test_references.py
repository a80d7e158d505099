"""References between documents and code: links and anchors resolve, and measurements are cited by keys that exist."""

import os
import pathlib
import re

import pytest
from conftest import ROOT

DOCUMENTS = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = ("base", "ir", "frontend", "codegen", "runtime", "python", "tools", "tests", "benchmarks")
CODE = {".h", ".cpp", ".cuh", ".def", ".py"}
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)


def anchors_of(path: pathlib.Path) -> set[str]:
    """The anchors of a document, as GitHub makes them of headings, and its own `<a id>`."""
    text = FENCE.sub("", path.read_text())
    anchors, count = set(re.findall(r'<a id="([^"]+)"', text)), {}
    for heading in re.findall(r"^#+ (.+)$", text, re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        repeats = count[anchor] = count.get(anchor, -1) + 1
        anchors.add(f"{anchor}-{repeats}" if repeats else anchor)
    return anchors


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_resolve(document):
    text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", document.read_text()))
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = link.partition("#")
        target = pathlib.Path(os.path.normpath(document.parent / file)) if file else document
        is_external = link.startswith("http")
        if not is_external and (not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors_of(target))):
            broken.append(link)
    assert not broken


def test_comments_cite_existing_measurements_and_each_is_cited():
    """A comment gives the key of its measurement, `docs/performance.md: KEY`, and each key has a comment that gives it."""
    keys = set(re.findall(r"^#### `([a-z0-9-]+)`$", (ROOT / "docs/performance.md").read_text(), re.M))
    cited = set()
    for folder in MODULES:
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in CODE and "golden" not in file.parts:
                text = re.sub(r"\n\s*(//+|#)\s?", " ", file.read_text())  # a comment may break its line before the key
                for listed in re.findall(r"performance\.md: ([a-z0-9-]+(?:, [a-z0-9-]+)*)", text):
                    cited |= set(listed.split(", "))
    assert keys and cited == keys
