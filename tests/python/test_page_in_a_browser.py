"""Highlighting and pinning on a page, in a real browser."""

import itertools
import json
import re
import shutil

import pytest
import torch
from pages import explain, measured_document, relu_add

import ingot
from ingot.tools import comparison


@pytest.fixture(scope="module")
def explained():
    return relu_add()


@pytest.fixture(scope="module")
def browser():
    """Chromium from the distribution's packages; .ci/run installs it."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("explained: no browser; the packages are chromium and chromium-driver")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1600,1200"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield started
    started.quit()


class Shown:
    """A page in the browser."""

    def __init__(self, browser, path):
        self.browser = browser
        browser.get(path.as_uri())

    def find(self, key: str, words: str, nth: int = 0):
        matches = [s for s in self.browser.find_elements("css selector", f".pane.{key} .stretch") if words in s.get_attribute("textContent")]
        return matches[nth]

    def click(self, key: str, words: str, nth: int = 0) -> None:
        stretch = self.find(key, words, nth)
        self.browser.execute_script("arguments[0].scrollIntoView()", stretch)
        stretch.click()

    def highlighted(self, key: str) -> list[str]:
        selector = f".pane.{key} .stretch[aria-selected=true]"
        texts = [s.get_attribute("textContent") for s in self.browser.find_elements("css selector", selector)]
        return texts if key == "text" else [text.strip() for text in texts]

    def keys(self, *keys) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        for key in keys:
            ActionChains(self.browser).send_keys(key).perform()


@pytest.fixture
def shown(browser, explained, tmp_path):
    explained.save(tmp_path / "op.html")
    return Shown(browser, tmp_path / "op.html")


def ops(instructions: list[str]) -> set[str]:
    """The names of the instructions without their modifiers: LDG for LDG.E.128."""
    return {re.sub(r"^@\S+ ", "", text).split(".")[0].split()[0] for text in instructions}


def test_a_click_on_a_source_line_highlights_its_instructions(shown):
    shown.click("source", "out4[k] = maximum")
    assert {"FMNMX", "FADD"} <= ops(shown.highlighted("sass")) and not ops(shown.highlighted("sass")) & {"LDG", "STG", "EXIT"}
    assert len([text for text in shown.highlighted("sass") if text.startswith("FADD")]) == 8  # two sums of four elements each
    assert "".join(shown.highlighted("text")) == "relu(x) + y + bias"
    assert any("max.NaN.f32" in text for text in shown.highlighted("ptx")) and not any("ld.global" in text for text in shown.highlighted("ptx"))
    shown.click("source", "store(out, i, out4);")
    assert "STG" in ops(shown.highlighted("sass")) and "FADD" not in ops(shown.highlighted("sass"))
    assert [text for text in shown.highlighted("ptx") if "st.global.v4" in text]


def test_a_click_on_an_instruction_highlights_its_origin(shown):
    shown.click("sass", "STG")
    assert [text for text in shown.highlighted("source") if text.startswith("store(out")]
    assert "".join(shown.highlighted("text")) == "relu(x) + y + bias"
    read = []
    for nth in (0, 1):
        shown.click("sass", "LDG", nth)
        assert len([text for text in shown.highlighted("sass") if "LDG" in text]) == 1  # the other load came from another line
        assert len([text for text in shown.highlighted("ptx") if "ld.global" in text]) == 1
        read.append((shown.highlighted("text"), [text for text in shown.highlighted("source") if text.startswith("const auto")]))
    # The parameter, and its use.
    assert sorted(read) == [([x, x], [f"const auto {x}4 = load<4>({x}, {i});"]) for x, i in (("x", "i"), ("y", "i1"))]


def test_a_click_on_the_ops_source_highlights_its_results(shown):
    shown.click("text", "relu(")
    assert [text for text in shown.highlighted("graph") if "maximum" in text] and not [t for t in shown.highlighted("graph") if "load f32 y" in t]
    assert [text for text in shown.highlighted("source") if "maximum(0.0f, x4[k])" in text]
    shown.click("text", "y")
    assert shown.highlighted("schedule") == ["access 1: vector"] and "LDG" in ops(shown.highlighted("sass"))
    assert "y4" in "".join(shown.highlighted("source"))


def test_hovering_highlights_until_left_or_pinned(shown):
    from selenium.webdriver.common.action_chains import ActionChains

    def point(element):
        ActionChains(shown.browser).move_to_element(element).perform()

    heading = shown.browser.find_element("css selector", "h1")
    point(shown.find("text", "bias"))
    assert "bias" in "".join(shown.highlighted("text")) and shown.highlighted("source")
    point(heading)
    assert shown.highlighted("source") == [] == shown.highlighted("sass")
    shown.click("text", "relu(")
    pinned = shown.highlighted("source")
    point(shown.find("graph", "load f32 y"))
    point(heading)
    assert shown.highlighted("source") == pinned != []


def test_the_keyboard_reaches_every_line(shown):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    focused = lambda: shown.browser.switch_to.active_element.get_attribute("textContent").strip()  # noqa: E731
    panes_seen = []
    for _ in range(6):
        shown.keys(Keys.TAB)
        panes_seen.append(shown.browser.execute_script("return document.activeElement.closest('.pane')?.dataset.pane"))
    assert panes_seen == ["text", "graph", "schedule", "source", "ptx", "sass"]
    shown.keys(Keys.END)
    assert focused() == "EXIT" and "EXIT" in shown.highlighted("sass")
    shown.keys(Keys.HOME, Keys.ARROW_DOWN)
    second = focused()
    shown.keys(Keys.ARROW_UP)
    assert focused() != second
    shown.keys(Keys.ESCAPE)
    assert shown.highlighted("sass") == []
    ActionChains(shown.browser).key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()
    assert shown.browser.execute_script("return document.activeElement.closest('.pane')?.dataset.pane") == "ptx"


def test_the_highlight_is_announced(shown):
    shown.click("graph", "maximum")
    announcement = shown.browser.find_element("css selector", "[role=status]").text
    assert announcement.startswith("Op source: relu(x) · Graph: 1 line · Source: relu_add.cu: line ") and "SASS" in announcement
    tree = shown.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = {(n["role"]["value"], n.get("name", {}).get("value")) for n in tree if "role" in n}
    assert {("listbox", name) for name in ("Op source", "Graph", "Schedule", "Source: relu_add.cu", "PTX", "SASS: relu_add")} <= named
    selected = [n["name"]["value"] for n in tree if n.get("role", {}).get("value") == "option"
                and any(p["name"] == "selected" and p["value"]["value"] for p in n.get("properties", ()))]
    assert any("maximum" in name for name in selected) and "relu(" in selected


def test_a_page_has_light_and_dark_themes_and_loads_nothing(shown):
    colours = []
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        shown.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        colours.append(shown.browser.execute_script(
            "return ['.ingot', '.pane', 'svg text'].map(s => {const c = getComputedStyle(document.querySelector(s));"
            "return s.startsWith('svg') ? c.fill : c.backgroundColor})"))
    shown.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert all(light != dark for light, dark in zip(*colours)), colours
    assert [entry for entry in shown.browser.get_log("browser") if entry["level"] != "DEBUG"] == []
    assert shown.browser.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_kernels_of_a_comparison_highlight_separately(browser, tmp_path, explained):
    document = measured_document()
    for candidate in document["candidates"]:
        candidate["listing"] = explained.found["listing"]
    comparison.Comparison(document).save(tmp_path / "a.html")
    both = Shown(browser, tmp_path / "a.html")
    pane_groups = browser.find_elements("css selector", ".pane-group")
    both.click("source", "store(out, i, out4);", nth=1)
    highlighted = [len(pane_group.find_elements("css selector", "[aria-selected=true]")) for pane_group in pane_groups]
    assert len(pane_groups) == 2 and highlighted[0] == 0 < highlighted[1]


def test_escape_clears_the_highlight_from_anywhere(shown):
    from selenium.webdriver.common.keys import Keys

    shown.click("text", "relu(")
    assert shown.highlighted("sass")
    shown.browser.find_element("css selector", "h1").click()
    shown.keys(Keys.ESCAPE)
    assert shown.highlighted("sass") == [] and shown.browser.find_element("css selector", ".announcement").text == ""


def test_panes_fit_narrow_windows_and_many_kernels(browser, tmp_path):
    explain("def f(x, w):\n    s = x.sum(0)\n    m = (x * w).mean()\n    return s / m, m\n", torch.empty(300, 64), torch.empty(64)).save(
        tmp_path / "a.html")
    shown = Shown(browser, tmp_path / "a.html")
    try:
        for width, height in ((1600, 700), (900, 900), (500, 800)):
            browser.set_window_size(width, height)
            heights = browser.execute_script("return [...document.querySelectorAll('.lines')].map(l => [l.clientHeight, l.scrollHeight])")
            assert all(seen >= min(whole, 55) for seen, whole in heights), (width, heights)
            if width < 1000:
                assert all(seen >= min(whole, 200) for seen, whole in heights), (width, heights)
            assert browser.execute_script("const p = document.querySelector('.panes'); return p.scrollHeight <= p.clientHeight + 1")
            assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    finally:
        browser.set_window_size(1600, 1200)
    assert len(browser.find_elements("css selector", ".pane.sass")) > 3 and shown.find("source", "extern")


def test_a_pane_without_links_accepts_every_key(browser, tmp_path, explained):
    from selenium.webdriver.common.keys import Keys

    document = json.loads(json.dumps(explained.found))
    document["listing"]["ptx"] = [["a line", []]]
    ingot.Explanation(document).save(tmp_path / "a.html")
    shown = Shown(browser, tmp_path / "a.html")
    browser.get_log("browser")
    browser.execute_script("document.querySelector('.pane.ptx .lines').focus()")
    shown.keys(Keys.ARROW_DOWN, Keys.HOME, Keys.END, Keys.ENTER)
    assert browser.get_log("browser") == []


def test_a_large_page_answers_at_once(browser, tmp_path):
    """The page has thousands of instructions."""
    op = ingot.op("F.layer_norm(x, (x.size(-1),), w, b).softmax(-1)")
    explanation = ingot.explain(op, torch.empty(64, 30000), torch.empty(30000), torch.empty(30000), backward=True)
    explanation.save(tmp_path / "a.html")
    large = Shown(browser, tmp_path / "a.html")
    count = len(list(itertools.chain(*explanation.found["listing"]["code"].values())))
    milliseconds = browser.execute_script(
        "const some = [...document.querySelectorAll('.pane.source .stretch[data-nodes]')]; const begin = performance.now();"
        "for (const one of some) one.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));"
        "document.body.offsetHeight; return (performance.now() - begin) / some.length")
    assert count > 1000 and milliseconds < 100, (count, milliseconds)
    large.click("graph", "reduce f32 sum")
    assert large.highlighted("source") and large.highlighted("sass")
