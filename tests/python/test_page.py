"""The page: what came from what, that it needs nothing beside it, and in a real browser what lights up."""

import html.parser
import itertools
import json
import re
import shutil

import pytest
import torch

import ingot
from ingot.instruments import command, comparison, listing, page
from ingot.instruments.page import drawings, panes

RELU_ADD = "def relu_add(x, y, bias: float):\n    return relu(x) + y + bias\n"


def relu_add(**options) -> ingot.Explanation:
    return ingot.explain(ingot.op(RELU_ADD), torch.empty(64, 256, device="meta"), torch.empty(256, device="meta"), 0.5, **options)


@pytest.fixture(scope="module")
def explained():
    return relu_add()


# --- What came from what --------------------------------------------------------------------------------------------


def pane(explanation, key: str) -> panes.Pane:
    return next(p for p in panes.of_listing(explanation.found["listing"]) if p.key == key)


def node(explanation, words: str) -> int:
    """The number of the graph's node whose line has these words."""
    stretches = [line.stretches[-1] for line in pane(explanation, "graph").lines]
    (found,) = [stretch.nodes[0] for stretch in stretches if words in stretch.text and stretch.text.startswith("%")]
    return found


def test_every_stretch_of_the_text_is_of_the_smallest_expression_around_it(explained):
    stretches = [s for line in pane(explained, "text").lines for s in line.stretches]
    assert "".join(s.text for s in stretches).split() == RELU_ADD.split()
    stretches = stretches[[s.text for s in stretches].index("relu(") :]
    assert [s.text for s in stretches] == ["relu(", "x", ")", " + ", "y", " + bias"]
    relu, x, _, first_sum, y, second_sum = (s.nodes for s in stretches)
    assert [x, y] == [(node(explained, f"load f32 {name}"),) for name in "xy"]
    assert node(explained, "maximum") in relu and first_sum == (node(explained, "add f32 %2"),)
    assert node(explained, "add f32 %4") in second_sum
    assert set(first_sum) < set(stretches[1].within) and not set(first_sum) & set(stretches[-1].within)


def test_a_line_of_source_knows_all_that_it_computes(explained):
    lines = {line.stretches[-1].text: line.stretches[-1] for line in pane(explained, "source").lines}
    computed = lines["out4[k] = maximum(0.0f, x4[k]) + y4[k] + bias;"].nodes
    assert {node(explained, words) for words in ("maximum", "add f32 %2", "add f32 %4", "f32 bias", "f32 0.0")} <= set(computed)
    assert lines["const auto x4 = load<4>(x, i);"].nodes == (node(explained, "load f32 x"),)
    assert lines["if (i >= n) return;"].nodes == ()


def computed(explanation, words: str) -> set[str]:
    """What the graph says, numbers aside, of the nodes that the only line of the kernels with these words computes."""
    listing = explanation.found["listing"]
    graph = {int(n): text for n, text in re.findall(r"%(\d+) = (.*)", listing["graph"])}
    source = listing["source"].split("\n")
    first = next(k for k, row in enumerate(source) if row.startswith('extern "C"'))
    rows = [(row, nodes) for row, nodes in zip(source[first:], listing["lines"][first:]) if words in row]
    (found,) = [nodes for _, nodes in rows] if len(rows) == 1 else pytest.fail(f"{words}: {rows}\n{listing['source']}")
    return {re.sub(r"%\d+", "%", graph[node].partition("   ;")[0]) for node in found}


def of(text: str, *args, **options) -> ingot.Explanation:
    return ingot.explain(ingot.op(text), *args, **options)


X, Y = torch.empty(64, 512), torch.empty(64, 512)


@pytest.mark.parametrize("text, args, lines", [
    ("x.sum(-1) + (x * y).sum(-1)", (X, Y), {
        "sum_of[k] = sum_of[k] +": {"reduce f32 sum of % over [x.size(0), x.size(1)] along 1"},
        "fmaf(": {"reduce f32 sum of % over [x.size(0), x.size(1)] along 1", "mul f32 %, %"},
        "sum_of[c] = 0.0f": set(), "sum_1_of[c] = 0.0f": set(), "= load<4>(x_row, i);": {"load f32 x[i0, i1]"}}),
    ("def f(x, y):\n    a = x + 1\n    b = y * 2\n    return a, b, a - b\n", (X, Y), {
        "a4[k] = a": {"add f32 %, %", "scalar f32 1.0"}, "b4[k] = b": {"mul f32 %, %", "scalar f32 2.0"},
        "out2_4[k] = ": {"sub f32 %, %"}, "store(a, i, a4)": {"add f32 %, %", "scalar f32 1.0"}}),
    ("x.argmax(-1)", (X,), {"take_larger(": {"reduce f32 argmax of % over [x.size(0), x.size(1)] along 1"}}),
    ("(x * 3).relu() + 1", (X,), {"out4[k] = ": {
        "mul f32 %, %", "scalar f32 3.0", "scalar f32 0.0", "maximum f32 %, %", "scalar f32 1.0", "add f32 %, %"}}),
])
def test_lines_know_what_they_compute_and_nothing_else(text, args, lines):
    made = of(text, *args)
    for words, expected in lines.items():
        found = computed(made, words)
        assert {each for each in found if "load" not in each or words.startswith("= load")} == expected, (words, found)


@pytest.mark.parametrize("text, args", [
    ("F.layer_norm(x, (x.size(-1),), w, b)", (X, torch.empty(512), torch.empty(512))), ("softmax(x, -1) * y", (X, Y)),
    ("(x * y).mean() + x", (X, Y)), ("x.mT * y", (torch.empty(300, 200), torch.empty(200, 300))),
    ("x[i] * 2", (X, torch.zeros(7, dtype=torch.int64))), ("where(x > 0, x.exp(), y)", (X, Y)),
    ("F.dropout(x, 0.5) + y", (X, Y)), ("F.cross_entropy(x, t)", (X, torch.zeros(64, dtype=torch.int64))),
])
@pytest.mark.parametrize("backward", [False, True])
def test_every_node_has_a_line(text, args, backward):
    found = of(text, *args, backward=backward).found["listing"]
    named = {node for nodes in found["lines"] for node in nodes}
    graph = {int(n): row for n, row in re.findall(r"%(\d+) = (.*)", found["graph"])}
    assert not {row for node, row in graph.items() if node not in named}


def test_a_call_and_a_repeated_expression_stand_for_what_they_come_to():
    made = of("def sq(v):\n    return v * v\n\ndef f(x, y):\n    return sq(x) + sq(y + 1) + x.exp() - x.exp()\n", X, Y)
    stretches = [s for line in pane(made, "text").lines for s in line.stretches]
    squares = [s.nodes for s in stretches if s.text == "sq("]
    graph = {int(n): row for n, row in re.findall(r"%(\d+) = (.*)", made.found["listing"]["graph"])}
    assert [[graph[n].split()[0] for n in nodes] for nodes in squares] == [["mul"], ["mul"]] and squares[0] != squares[1]
    assert len({s.nodes for s in stretches if s.text == ".exp()"}) == 1
    (body,) = [s for s in stretches if s.text == " * "]
    assert set(body.nodes) == {n for nodes in squares for n in nodes}


def test_ptx_that_is_inlined_often_knows_the_kernels_line():
    found = of("softmax(x, -1)", torch.empty(64, 300)).found["listing"]
    first = next(k for k, row in enumerate(found["source"].split("\n"), 1) if row.startswith('extern "C"'))
    located = [lines for _, lines in found["ptx"] if lines]
    assert len(located) > 100 and all(lines[-1] >= first for lines in located)
    assert any("shfl" in text and len(lines) > 2 for text, lines in found["ptx"])


def line_of(explanation, words: str) -> int:
    (found,) = [k for k, row in enumerate(explanation.found["listing"]["source"].splitlines(), 1) if words in row]
    return found


def test_machine_code_knows_the_line_that_it_was_inlined_into(explained):
    assert explained.found["listing"]["code"], "Triton's wheel brings nvdisasm"
    (instructions,) = explained.found["listing"]["code"].values()
    stores = [lines for _, text, _, lines in instructions if text.startswith("STG")]
    assert len(stores) == 1 and line_of(explained, "store(out, i, out4)") in stores[0]
    loads = [set(lines) for _, text, _, lines in instructions if "LDG" in text]
    assert [sum(line_of(explained, f"load<4>({x}") in lines for lines in loads) for x in "xy"] == [1, 1]


def test_ptx_is_without_its_line_table_and_knows_it():
    ptx = ("\t.loc\t1 7 5\n\tadd.f32 %f1, %f2, %f3;\n\t.loc\t1 3 9, function_name $L__info_string0, inlined_at 1 8 5\n"
           "\tst.global.f32 [%rd1], %f1;\n\t.loc\t2 40 1\n\tmul.f32 %f4, %f1, %f1;\n\t// a comment\n}\n"
           '\t.file\t1 "/somewhere/mine.cu"\n\t.file\t2 "/usr/include/other.h"\n\t.section\t.debug_str\n')
    assert listing.ptx_lines(ptx, "mine.cu") == [
        ("    add.f32 %f1, %f2, %f3;", [7]), ("    st.global.f32 [%rd1], %f1;", [3, 8]), ("    mul.f32 %f4, %f1, %f1;", []),
        ("    // a comment", []), ("}", [])]


def test_accesses_tell_sizes_strides_and_how(explained):
    x, y, out = explained.found["listing"]["accesses"]
    assert (x["tensor"], x["strides"], x["how"], x["is_written"]) == ("x", [256, 1], "vector", False)
    assert (y["tensor"], y["extents"], y["strides"]) == ("y", [64, 256], [0, 1]) and out["is_written"]
    assert drawings.cells(x)[1][:3] == [256, 257, 258] and drawings.cells(y)[3][:2] == [0, 1]
    turned = ingot.explain(ingot.op("x * 2 + y"), torch.empty(64, 32).mT, torch.empty(32, 64)).found["listing"]["accesses"]
    assert sorted(a["strides"] for a in turned if not a["is_written"]) == [[1, 64], [32, 1]]


def test_every_access_of_a_schedule_has_its_node():
    """Of several kernels, gathers and rows."""
    op = ingot.op("def f(x, i, w):\n    return softmax(x, 0)[i] * w, x.sum(1)\n")
    found = ingot.explain(op, torch.empty(300, 64), torch.zeros(20, dtype=torch.int64), torch.empty(64)).found["listing"]
    rows = [line.stretches[-1] for line in panes.schedule_lines(found["schedule"], found["accesses"])]
    of_access = [row for row in rows if re.match(r"access \d+: ", row.text)]
    graph = {int(n): text for n, text in re.findall(r"%(\d+) = (.*)", found["graph"])}
    assert len(found["kernels"]) > 1 and sum(bool(row.nodes) for row in of_access) >= 6
    for access in found["accesses"]:
        if not access["is_written"]:
            kind = "gather" if access["is_gathered"] else "load"
            assert graph[access["node"]].startswith(kind), (access, graph[access["node"]])


def test_a_gradient_has_stages_of_its_own():
    found = relu_add(backward=True).found
    assert found["backward"] and all("backward" in name for name in found["listing"]["kernels"])
    assert "grad" in found["listing"]["graph"] and found["listing"]["source"] != relu_add().found["listing"]["source"]
    assert found["kernels"] and any(found["listing"]["nodes"])


def test_the_cpu_has_source_and_no_machine_code():
    found = relu_add(device="cpu").found
    assert found["listing"]["ptx"] is None and found["listing"]["code"] is None and "omp simd" in found["listing"]["source"]
    assert "for the CPU" in relu_add(device="cpu").html()


# --- The document ---------------------------------------------------------------------------------------------------


class Document(html.parser.HTMLParser):
    """Attributes, the text, and whether tags close as they open."""

    EMPTY = {"meta", "link", "br", "img", "input", "hr", "path", "use", "rect", "circle", "line", "polyline"}

    def __init__(self, text: str):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def all(self, name: str) -> list[str]:
        return [attributes[name] for _, attributes in self.tags if name in attributes]


def test_a_page_needs_nothing_beside_it(explained):
    document = Document(explained.html())
    assert document.open == []
    assert not [a for tag, a in document.tags if tag in ("link", "img", "iframe") or (tag == "script" and "src" in a)]
    assert all(reference.startswith("#") for name in ("href", "xlink:href", "src") for reference in document.all(name))
    assert not re.search(r"@import|url\((?!#)", explained.html())
    ids = document.all("id")
    assert len(ids) == len(set(ids)) and set(document.all("aria-labelledby")) <= set(ids)


def test_an_authors_text_is_text():
    """Whatever is in it."""
    op = ingot.op('def f(x):\n    """<script>alert(1)</script> & "quotes" \\u00e9 日本"""\n    return relu(x)\n')
    made = ingot.explain(op, torch.empty(8))
    assert "<script>alert" not in made.html() and '<script>alert(1)</script> & "quotes"' in Document(made.html()).text
    stretches = [s.text for line in pane(made, "text").lines for s in line.stretches if s.nodes]
    assert "".join(stretches) == "xrelu(x)"


def test_drawings_have_words_and_data(explained):
    document = Document(explained.html())
    labels = [a["aria-label"] for tag, a in document.tags if tag == "svg" and a.get("role") == "img"]
    assert labels == ["x (f32, read): vector", "y (f32, read): vector", "out (f32, written): vector"]
    assert document.text.count("Places in memory, in elements") == 3


def test_without_matplotlib_the_data_stands_there(monkeypatch, explained):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    document = Document(explained.html())
    assert "svg" not in {tag for tag, _ in document.tags} and "open" in dict(next(a for t, a in document.tags if t == "details"))


def measured() -> dict:
    """What a comparison on a GPU finds, in numbers that were made up."""
    def contender(name, us, **more):
        return {"name": name, "word": name, "kind": "", "state": "right", "message": "bit for bit", "cases": {}, "limits": [],
                "warnings": "", "kernels": None, "launched": None, "counted": None, "count_error": None, "operations": None,
                "look_error": None, "listing": None, "us": us, "us_quartiles": [us * 0.99, us * 1.02], "host_us": 4.0,
                "gb_s": 1e3 / us, "share_of_copy": 10 / us, "speed": 11 / us} | more

    times = {"ingot": {"us": 11.0, "gb_s": 90.0, "speed": 1.0}, "mine.cu": {"us": 22.0, "gb_s": 45.0, "speed": 0.5}}
    return {"ingot": "1", "torch": "2", "cuda": "13", "date": "2026-01-01T00:00:00", "device": "a GPU", "op": "f", "file": "",
            "text": "", "numerics": "default", "lazy": "auto", "backward": False, "arguments": {"x": "f32:n"}, "sizes": {"n": 9},
            "seed": 0, "bytes": 10**6, "sets": 3, "rounds": 5, "race_error": None, "peak_flops": 6e13, "copy_gb_s": 4000.0,
            "contenders": [contender("ingot", 11.0, operations=2 * 10**6), contender("mine.cu", 22.0)],
            "sweep": {"name": "n", "points": [{"size": 10**k, "bytes": 1, "error": None, "contenders": times} for k in (3, 4)]},
            "why": ["mine.cu <reads> x by 4 bytes"], "how": ["somehow"]}


def test_a_comparison_is_drawn_with_its_data():
    document = Document(comparison.Comparison(measured()).html())
    labels = [a["aria-label"] for tag, a in document.tags if tag == "svg"]
    assert labels == ["Speed, as a share of a copy's", "Speed over n", "Between memory and arithmetic: the roofline"]
    assert "mine.cu <reads> x by 4 bytes" in document.text and "operations a byte" in document.text
    assert drawings.roofline_points(measured()) == [(0, measured()["contenders"][0], 2.0, 2e6 / 11e-6)]


def test_a_comparison_draws_itself_in_a_notebook_and_with_pyplot():
    found = comparison.Comparison(measured())
    fragment = Document(found._repr_html_())
    assert "html" not in {tag for tag, _ in fragment.tags} and "svg" in {tag for tag, _ in fragment.tags}
    axes = found.plot()
    assert axes.get_xlabel() == "n" and len(axes.get_lines()) == 3 and "a GPU" in axes.get_title()
    bars = comparison.Comparison(measured() | {"sweep": None}).plot()
    assert [round(bar.get_width(), 3) for bar in bars.patches] == [round(10 / 11, 3), round(10 / 22, 3)]


def test_names_are_names_in_drawings_too():
    found = measured()
    for contender, name in zip(found["contenders"], ("costs $1 and $2", "_C.so:f")):
        contender["name"] = name
    made = comparison.Comparison(found).html()
    assert made.count("costs $1 and $2") >= 4 and made.count("_C.so:f") >= 4  # legends and axes among them


def test_two_fragments_on_one_page_share_no_name(explained):
    both = Document(explained._repr_html_() + explained._repr_html_())
    assert len(both.all("id")) == len(set(both.all("id"))) > 0


def test_what_is_gathered_is_not_drawn_and_rows_are_written_once():
    gathered = Document(of("x[i] * 2", X, torch.zeros(7, dtype=torch.int64)).html())
    labels = [a["aria-label"] for tag, a in gathered.tags if tag == "svg"]
    assert [label.split(" ")[0] for label in labels] == ["i", "out"]
    (written,) = [a for a in of("x.sum(-1)", X).found["listing"]["accesses"] if a["is_written"]]
    assert drawings.cells(written) == [list(range(16))]


def test_arguments_that_are_made_up_of_several_are_described():
    op = ingot.op("def f(xs: list, y):\n    return [x * y for x in xs]\n")
    made = ingot.explain(op, [torch.randn(10), torch.randn(20, 10)], torch.randn(10))
    assert "xs: [f32:10, f32:20x10], y: f32:10" in Document(made.html()).text


@pytest.mark.parametrize("call, message", [
    (lambda: ingot.explain(ingot.op("x + y"), X), "missing a required argument: 'y'"),
    (lambda: ingot.explain(ingot.op("x + y"), X, Y, X), "too many positional arguments"),
    (lambda: ingot.explain("x + 1", X), "a str is no op of Ingot's"),
    (lambda: ingot.explain(ingot.op("x + 1"), X, device="cpu", architecture=80), "an architecture is of a GPU"),
    (lambda: ingot.explain(ingot.op("def f(x, grad): return x * grad"), X, Y, backward=True), "has a parameter `grad`"),
])
def test_what_cannot_be_explained_is_told(call, message):
    with pytest.raises(ingot.Error, match=re.escape(message)):
        call()
    assert ingot.explain(ingot.op("x + 1"), X, device=torch.device("cpu")).found["architecture"] is None


@pytest.mark.parametrize("text, shapes", [
    ("x + 1", [(0,)]), ("x + 1", [()]), ("x.sum()", [(0, 3)]), ("x * y", [(1, 1), (1,)]), ("x.softmax(-1)", [(3, 1)]),
    ("x[..., ::2] + y", [(4, 8), (4, 4)]), ("torch.cat([x, y])", [(3,), (5,)]), ("F.pad(x, (1, 2))", [(3, 4)]),
    ("torch.stack([x, x * 2])", [(3,)]), ("x.expand(3, 4) * y", [(3, 1), (4,)]),
])
@pytest.mark.parametrize("options", [{}, {"device": "cpu"}, {"backward": True}])
def test_sizes_of_0_and_1_and_all_kinds_of_views_have_a_page(text, shapes, options):
    made = of(text, *(torch.empty(shape) for shape in shapes), **options)
    document = Document(made.html())
    assert document.open == [] and made.found["listing"]["graph"].splitlines()[0] in document.text and str(made)


# --- The command ----------------------------------------------------------------------------------------------------


def test_explain_writes_a_page_and_prints_stages(tmp_path, capsys):
    (tmp_path / "op.py").write_text(RELU_ADD)
    words = ["explain", str(tmp_path / "op.py"), "x=f32:nx256", "y=f32:256", "bias=0.5", "n=1e9"]  # no memory is asked for
    assert command.main([*words, "--html", str(tmp_path / "op.html"), "--arch", "80"]) == 0
    assert "for sm_80" in Document((tmp_path / "op.html").read_text()).text and capsys.readouterr().out == ""
    assert command.main(words) == 0
    printed = capsys.readouterr().out
    assert all(part in printed for part in ("%2 = maximum", "access 0: vector", "const auto x4 = load<4>(x, i);", "2 × 16 B"))
    assert command.main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["listing"]["file"] == "relu_add.cu"


@pytest.mark.parametrize("words, status, message", [
    (["-e", "x + y", "x=f32:3"], 2, "`y` of expression has no value"),
    (["-e", "x + y", "x=f32:3", "y=f32:4"], 2, "must match the size"),
    (["nowhere.py", "x=f32:3"], 2, "there is no file `nowhere.py`"),
    (["-e", "x + 1", "x=f32:3", "--arch", "12"], 4, "12"),
    (["-e", "x > 1", "x=f32:3", "--backward"], 2, "no result has a gradient"),
])
def test_bad_input_of_explain_is_told(words, status, message, capsys):
    assert command.main(["explain", *words]) == status
    assert message in capsys.readouterr().err


def test_a_page_that_cannot_be_written_is_told(tmp_path, capsys):
    assert command.main(["explain", "-e", "x + 1", "x=f32:3", "--html", str(tmp_path / "nowhere" / "a.html")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_compare_writes_a_page(tmp_path, capsys):
    (tmp_path / "mine.cu").write_text(
        '// launch: grid=ceil(n / 256), block=256, args=x, out, n\nextern "C" __global__ void mine(const float* x, float* out, int n)'
        " {\n    int i = blockIdx.x * 256 + threadIdx.x;\n    if (i < n) out[i] = x[i] + 1.0f;\n}\n")
    words = ["compare", "-e", "x + 1", "--against", str(tmp_path / "mine.cu"), "eager", "x=f32:1000", "--rounds", "3", "--device", "cpu"]
    assert command.main([*words, "--html", str(tmp_path / "a.html"), "--save", str(tmp_path / "a.json")]) == 0
    document = Document((tmp_path / "a.html").read_text())
    assert "Source: mine.cu" in document.text and "Source: expression.cu" in document.text and "STG" in document.text
    kept = json.loads((tmp_path / "a.json").read_text())
    assert "listing" not in kept["contenders"][0] and "__global__" in kept["contenders"][0]["source"]


# --- In a browser ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    """Chromium, of the distribution's packages; .ci/run installs it."""
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
        found = [s for s in self.browser.find_elements("css selector", f".pane.{key} .stretch") if words in s.get_attribute("textContent")]
        return found[nth]

    def click(self, key: str, words: str, nth: int = 0) -> None:
        stretch = self.find(key, words, nth)
        self.browser.execute_script("arguments[0].scrollIntoView()", stretch)
        stretch.click()

    def lit(self, key: str) -> list[str]:
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
    """LDG.E.128 → LDG"""
    return {re.sub(r"^@\S+ ", "", text).split(".")[0].split()[0] for text in instructions}


def test_a_click_on_a_line_of_source_lights_its_instructions(shown):
    shown.click("source", "out4[k] = maximum")
    assert {"FMNMX", "FADD"} <= ops(shown.lit("sass")) and not ops(shown.lit("sass")) & {"LDG", "STG", "EXIT"}
    assert len([text for text in shown.lit("sass") if text.startswith("FADD")]) == 8  # two sums of four lanes
    assert "".join(shown.lit("text")) == "relu(x) + y + bias"
    assert any("max.NaN.f32" in text for text in shown.lit("ptx")) and not any("ld.global" in text for text in shown.lit("ptx"))
    shown.click("source", "store(out, i, out4);")
    assert "STG" in ops(shown.lit("sass")) and "FADD" not in ops(shown.lit("sass"))
    assert [text for text in shown.lit("ptx") if "st.global.v4" in text]


def test_a_click_on_an_instruction_lights_what_it_came_from(shown):
    shown.click("sass", "STG")
    assert [text for text in shown.lit("source") if text.startswith("store(out")]
    assert "".join(shown.lit("text")) == "relu(x) + y + bias"
    read = []
    for nth in (0, 1):
        shown.click("sass", "LDG", nth)
        assert len([text for text in shown.lit("sass") if "LDG" in text]) == 1  # the other came from another line
        assert len([text for text in shown.lit("ptx") if "ld.global" in text]) == 1
        read.append((shown.lit("text"), [text for text in shown.lit("source") if text.startswith("const auto")]))
    # Where it is a parameter, and where it is used.
    assert sorted(read) == [([x, x], [f"const auto {x}4 = load<4>({x}, {i});"]) for x, i in (("x", "i"), ("y", "i1"))]


def test_a_click_on_the_text_lights_what_it_became(shown):
    shown.click("text", "relu(")
    assert [text for text in shown.lit("graph") if "maximum" in text] and not [t for t in shown.lit("graph") if "load f32 y" in t]
    assert [text for text in shown.lit("source") if "maximum(0.0f, x4[k])" in text]
    shown.click("text", "y")
    assert shown.lit("schedule") == ["access 1: vector"] and "LDG" in ops(shown.lit("sass"))
    assert "y4" in "".join(shown.lit("source"))


def test_what_is_pointed_at_lights_up_until_it_is_left_or_kept(shown):
    from selenium.webdriver.common.action_chains import ActionChains

    def point(element):
        ActionChains(shown.browser).move_to_element(element).perform()

    heading = shown.browser.find_element("css selector", "h1")
    point(shown.find("text", "bias"))
    assert "bias" in "".join(shown.lit("text")) and shown.lit("source")
    point(heading)
    assert shown.lit("source") == [] == shown.lit("sass")
    shown.click("text", "relu(")
    kept = shown.lit("source")
    point(shown.find("graph", "load f32 y"))
    point(heading)
    assert shown.lit("source") == kept != []


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
    assert focused() == "EXIT" and "EXIT" in shown.lit("sass")
    shown.keys(Keys.HOME, Keys.ARROW_DOWN)
    second = focused()
    shown.keys(Keys.ARROW_UP)
    assert focused() != second
    shown.keys(Keys.ESCAPE)
    assert shown.lit("sass") == []
    ActionChains(shown.browser).key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()
    assert shown.browser.execute_script("return document.activeElement.closest('.pane')?.dataset.pane") == "ptx"


def test_what_is_lit_is_said(shown):
    shown.click("graph", "maximum")
    said = shown.browser.find_element("css selector", "[role=status]").text
    assert said.startswith("Text: relu(x) · Graph: 1 line · Source: relu_add.cu: line ") and "SASS" in said
    tree = shown.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = {(n["role"]["value"], n.get("name", {}).get("value")) for n in tree if "role" in n}
    assert {("listbox", name) for name in ("Text", "Graph", "Schedule", "Source: relu_add.cu", "PTX", "SASS: relu_add")} <= named
    selected = [n["name"]["value"] for n in tree if n.get("role", {}).get("value") == "option"
                and any(p["name"] == "selected" and p["value"]["value"] for p in n.get("properties", ()))]
    assert any("maximum" in name for name in selected) and "relu(" in selected


def test_a_page_is_light_and_dark_and_asks_for_nothing(shown):
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


def test_kernels_of_a_comparison_light_up_apart(browser, tmp_path, explained):
    found = measured()
    for contender in found["contenders"]:
        contender["listing"] = explained.found["listing"]
    comparison.Comparison(found).save(tmp_path / "a.html")
    both = Shown(browser, tmp_path / "a.html")
    benches = browser.find_elements("css selector", ".bench")
    both.click("source", "store(out, i, out4);", nth=1)
    lit = [len(bench.find_elements("css selector", "[aria-selected=true]")) for bench in benches]
    assert len(benches) == 2 and lit[0] == 0 < lit[1]


def test_escape_puts_a_light_out_from_anywhere(shown):
    from selenium.webdriver.common.keys import Keys

    shown.click("text", "relu(")
    assert shown.lit("sass")
    shown.browser.find_element("css selector", "h1").click()
    shown.keys(Keys.ESCAPE)
    assert shown.lit("sass") == [] and shown.browser.find_element("css selector", ".said").text == ""


def test_panes_have_room_in_narrow_windows_and_with_many_kernels(browser, tmp_path):
    of("def f(x, w):\n    s = x.sum(0)\n    m = (x * w).mean()\n    return s / m, m\n", torch.empty(300, 64), torch.empty(64)).save(
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


def test_a_pane_without_links_bears_every_key(browser, tmp_path, explained):
    from selenium.webdriver.common.keys import Keys

    found = json.loads(json.dumps(explained.found))
    found["listing"]["ptx"] = [["a line", []]]
    ingot.Explanation(found).save(tmp_path / "a.html")
    shown = Shown(browser, tmp_path / "a.html")
    browser.get_log("browser")
    browser.execute_script("document.querySelector('.pane.ptx .lines').focus()")
    shown.keys(Keys.ARROW_DOWN, Keys.HOME, Keys.END, Keys.ENTER)
    assert browser.get_log("browser") == []


def test_a_large_page_answers_at_once(browser, tmp_path):
    """Thousands of instructions."""
    op = ingot.op("F.layer_norm(x, (x.size(-1),), w, b).softmax(-1)")
    made = ingot.explain(op, torch.empty(64, 30000), torch.empty(30000), torch.empty(30000), backward=True)
    made.save(tmp_path / "a.html")
    large = Shown(browser, tmp_path / "a.html")
    count = len(list(itertools.chain(*made.found["listing"]["code"].values())))
    milliseconds = browser.execute_script(
        "const some = [...document.querySelectorAll('.pane.source .stretch[data-nodes]')]; const begin = performance.now();"
        "for (const one of some) one.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));"
        "document.body.offsetHeight; return (performance.now() - begin) / some.length")
    assert count > 1000 and milliseconds < 100, (count, milliseconds)
    large.click("graph", "reduce f32 sum")
    assert large.lit("source") and large.lit("sass")
