"""The page: its links between panes, and that it needs no other files."""

import html.parser
import json
import re

import pytest
import torch
from pages import RELU_ADD, explain, measured_document, relu_add

import ingot
from ingot.tools import command, comparison, listing
from ingot.tools.page import drawings, panes


@pytest.fixture(scope="module")
def explained():
    return relu_add()


# --- Links between the panes ----------------------------------------------------------------------------------------


def pane(explanation, key: str) -> panes.Pane:
    return next(p for p in panes.of_listing(explanation.found["listing"]) if p.key == key)


def node(explanation, words: str) -> int:
    """The number of the graph's node whose line has these words."""
    stretches = [line.stretches[-1] for line in pane(explanation, "graph").lines]
    (match,) = [stretch.nodes[0] for stretch in stretches if words in stretch.text and stretch.text.startswith("%")]
    return match


def test_source_ranges_link_to_the_smallest_expression(explained):
    stretches = [s for line in pane(explained, "text").lines for s in line.stretches]
    assert "".join(s.text for s in stretches).split() == RELU_ADD.split()
    stretches = stretches[[s.text for s in stretches].index("relu(") :]
    assert [s.text for s in stretches] == ["relu(", "x", ")", " + ", "y", " + bias"]
    relu, x, _, first_sum, y, second_sum = (s.nodes for s in stretches)
    assert [x, y] == [(node(explained, f"load f32 {name}"),) for name in "xy"]
    assert node(explained, "maximum") in relu and first_sum == (node(explained, "add f32 %2"),)
    assert node(explained, "add f32 %4") in second_sum
    assert set(first_sum) < set(stretches[1].enclosing) and not set(first_sum) & set(stretches[-1].enclosing)


def test_a_source_line_links_to_all_nodes_that_it_computes(explained):
    lines = {line.stretches[-1].text: line.stretches[-1] for line in pane(explained, "source").lines}
    computed = lines["out4[k] = maximum(0.0f, x4[k]) + y4[k] + bias;"].nodes
    assert {node(explained, words) for words in ("maximum", "add f32 %2", "add f32 %4", "f32 bias", "f32 0.0")} <= set(computed)
    assert lines["const auto x4 = load<4>(x, i);"].nodes == (node(explained, "load f32 x"),)
    assert lines["if (i >= n) return;"].nodes == ()


def nodes_of_kernel_line(explanation, words: str) -> set[str]:
    """The graph's lines, without numbers, of the nodes that a kernel line computes; the line is the only one with these
    words."""
    listing = explanation.found["listing"]
    graph = {int(n): text for n, text in re.findall(r"%(\d+) = (.*)", listing["graph"])}
    source = listing["source"].split("\n")
    first = next(k for k, row in enumerate(source) if row.startswith('extern "C"'))
    rows = [(row, nodes) for row, nodes in zip(source[first:], listing["lines"][first:]) if words in row]
    (nodes_of_line,) = [nodes for _, nodes in rows] if len(rows) == 1 else pytest.fail(f"{words}: {rows}\n{listing['source']}")
    return {re.sub(r"%\d+", "%", graph[node].partition("   ;")[0]) for node in nodes_of_line}


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
def test_kernel_lines_link_only_to_nodes_that_they_compute(text, args, lines):
    explanation = explain(text, *args)
    for words, expected in lines.items():
        nodes = nodes_of_kernel_line(explanation, words)
        assert {each for each in nodes if "load" not in each or words.startswith("= load")} == expected, (words, nodes)


@pytest.mark.parametrize("text, args", [
    ("F.layer_norm(x, (x.size(-1),), w, b)", (X, torch.empty(512), torch.empty(512))), ("softmax(x, -1) * y", (X, Y)),
    ("(x * y).mean() + x", (X, Y)), ("x.mT * y", (torch.empty(300, 200), torch.empty(200, 300))),
    ("x[i] * 2", (X, torch.zeros(7, dtype=torch.int64))), ("where(x > 0, x.exp(), y)", (X, Y)),
    ("F.dropout(x, 0.5) + y", (X, Y)), ("F.cross_entropy(x, t)", (X, torch.zeros(64, dtype=torch.int64))),
])
@pytest.mark.parametrize("backward", [False, True])
def test_every_node_has_a_line(text, args, backward):
    listing = explain(text, *args, backward=backward).found["listing"]
    linked = {node for nodes in listing["lines"] for node in nodes}
    graph = {int(n): row for n, row in re.findall(r"%(\d+) = (.*)", listing["graph"])}
    assert not {row for node, row in graph.items() if node not in linked}


def test_calls_and_repeated_expressions_link_to_their_nodes():
    explanation = explain("def sq(v):\n    return v * v\n\ndef f(x, y):\n    return sq(x) + sq(y + 1) + x.exp() - x.exp()\n", X, Y)
    stretches = [s for line in pane(explanation, "text").lines for s in line.stretches]
    squares = [s.nodes for s in stretches if s.text == "sq("]
    graph = {int(n): row for n, row in re.findall(r"%(\d+) = (.*)", explanation.found["listing"]["graph"])}
    assert [[graph[n].split()[0] for n in nodes] for nodes in squares] == [["mul"], ["mul"]] and squares[0] != squares[1]
    assert len({s.nodes for s in stretches if s.text == ".exp()"}) == 1
    (body,) = [s for s in stretches if s.text == " * "]
    assert set(body.nodes) == {n for nodes in squares for n in nodes}


def test_inlined_ptx_links_to_the_kernel_line():
    listing = explain("softmax(x, -1)", torch.empty(64, 300)).found["listing"]
    first = next(k for k, row in enumerate(listing["source"].split("\n"), 1) if row.startswith('extern "C"'))
    located = [lines for _, lines in listing["ptx"] if lines]
    assert len(located) > 100 and all(lines[-1] >= first for lines in located)
    assert any("shfl" in text and len(lines) > 2 for text, lines in listing["ptx"])


def line_of(explanation, words: str) -> int:
    (number,) = [k for k, row in enumerate(explanation.found["listing"]["source"].splitlines(), 1) if words in row]
    return number


def test_inlined_machine_code_links_to_the_kernel_line(explained):
    assert explained.found["listing"]["code"], "Triton's wheel brings nvdisasm"
    (instructions,) = explained.found["listing"]["code"].values()
    stores = [lines for _, text, _, lines in instructions if text.startswith("STG")]
    assert len(stores) == 1 and line_of(explained, "store(out, i, out4)") in stores[0]
    loads = [set(lines) for _, text, _, lines in instructions if "LDG" in text]
    assert [sum(line_of(explained, f"load<4>({x}") in lines for lines in loads) for x in "xy"] == [1, 1]


def test_ptx_is_shown_without_its_line_table():
    ptx = ("\t.loc\t1 7 5\n\tadd.f32 %f1, %f2, %f3;\n\t.loc\t1 3 9, function_name $L__info_string0, inlined_at 1 8 5\n"
           "\tst.global.f32 [%rd1], %f1;\n\t.loc\t2 40 1\n\tmul.f32 %f4, %f1, %f1;\n\t// a comment\n}\n"
           '\t.file\t1 "/somewhere/mine.cu"\n\t.file\t2 "/usr/include/other.h"\n\t.section\t.debug_str\n')
    assert listing.ptx_lines(ptx, "mine.cu") == [
        ("    add.f32 %f1, %f2, %f3;", [7]), ("    st.global.f32 [%rd1], %f1;", [3, 8]), ("    mul.f32 %f4, %f1, %f1;", []),
        ("    // a comment", []), ("}", [])]


def test_accesses_have_sizes_strides_and_kinds(explained):
    x, y, out = explained.found["listing"]["accesses"]
    assert (x["tensor"], x["strides"], x["how"], x["is_written"]) == ("x", [256, 1], "vector", False)
    assert (y["tensor"], y["extents"], y["strides"]) == ("y", [64, 256], [0, 1]) and out["is_written"]
    assert drawings.cells(x)[1][:3] == [256, 257, 258] and drawings.cells(y)[3][:2] == [0, 1]
    accesses = ingot.explain(ingot.op("x * 2 + y"), torch.empty(64, 32).mT, torch.empty(32, 64)).found["listing"]["accesses"]
    assert sorted(a["strides"] for a in accesses if not a["is_written"]) == [[1, 64], [32, 1]]


def test_every_access_of_a_schedule_has_its_node():
    """The op has several kernels, with gathers and rows."""
    op = ingot.op("def f(x, i, w):\n    return softmax(x, 0)[i] * w, x.sum(1)\n")
    listing = ingot.explain(op, torch.empty(300, 64), torch.zeros(20, dtype=torch.int64), torch.empty(64)).found["listing"]
    rows = [line.stretches[-1] for line in panes.schedule_lines(listing["schedule"], listing["accesses"])]
    access_rows = [row for row in rows if re.match(r"access \d+: ", row.text)]
    graph = {int(n): text for n, text in re.findall(r"%(\d+) = (.*)", listing["graph"])}
    assert len(listing["launches"]) > 1 and sum(bool(row.nodes) for row in access_rows) >= 6
    for access in listing["accesses"]:
        if not access["is_written"]:
            kind = "gather" if access["is_gathered"] else "load"
            assert graph[access["node"]].startswith(kind), (access, graph[access["node"]])


def test_a_gradient_has_its_own_stages():
    document = relu_add(backward=True).found
    assert document["backward"] and all("backward" in launch["kernel"] for launch in document["listing"]["launches"])
    assert "grad" in document["listing"]["graph"] and document["listing"]["source"] != relu_add().found["listing"]["source"]
    assert document["kernels"] and any(document["listing"]["nodes"])


def test_a_page_for_the_cpu_has_no_machine_code():
    document = relu_add(device="cpu").found
    assert document["listing"]["ptx"] is None and document["listing"]["code"] is None and "omp simd" in document["listing"]["source"]
    assert "for the CPU" in relu_add(device="cpu").html()


# --- The document ---------------------------------------------------------------------------------------------------


class Document(html.parser.HTMLParser):
    """Collects the attributes and the text, and whether tags close in order."""

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


def test_a_page_needs_no_other_files(explained):
    document = Document(explained.html())
    assert document.open == []
    assert not [a for tag, a in document.tags if tag in ("link", "img", "iframe") or (tag == "script" and "src" in a)]
    assert all(reference.startswith("#") for name in ("href", "xlink:href", "src") for reference in document.all(name))
    assert not re.search(r"@import|url\((?!#)", explained.html())
    ids = document.all("id")
    assert len(ids) == len(set(ids)) and set(document.all("aria-labelledby")) <= set(ids)


def test_an_ops_source_is_escaped():
    """The source has characters that are special in HTML, and others outside ASCII."""
    op = ingot.op('def f(x):\n    """<script>alert(1)</script> & "quotes" \\u00e9 日本"""\n    return relu(x)\n')
    explanation = ingot.explain(op, torch.empty(8))
    assert "<script>alert" not in explanation.html() and '<script>alert(1)</script> & "quotes"' in Document(explanation.html()).text
    stretches = [s.text for line in pane(explanation, "text").lines for s in line.stretches if s.nodes]
    assert "".join(stretches) == "xrelu(x)"


def test_drawings_have_words_and_data(explained):
    document = Document(explained.html())
    labels = [a["aria-label"] for tag, a in document.tags if tag == "svg" and a.get("role") == "img"]
    assert labels == ["x (f32, read): vector", "y (f32, read): vector", "out (f32, written): vector"]
    assert document.text.count("Offsets in memory, in elements") == 3


def test_without_matplotlib_the_data_is_shown(monkeypatch, explained):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    document = Document(explained.html())
    assert "svg" not in {tag for tag, _ in document.tags} and "open" in dict(next(a for t, a in document.tags if t == "details"))


def test_a_comparison_is_drawn_with_its_data():
    document = Document(comparison.Comparison(measured_document()).html())
    labels = [a["aria-label"] for tag, a in document.tags if tag == "svg"]
    assert labels == ["Fraction of copy bandwidth", "Bandwidth over n", "Roofline"]
    assert "mine.cu <reads> x by 4 bytes" in document.text and "FLOP/byte" in document.text
    assert drawings.roofline_points(measured_document()) == [(0, measured_document()["candidates"][0], 2.0, 2e6 / 11e-6)]


def test_a_comparison_draws_itself_in_a_notebook_and_with_pyplot():
    measured = comparison.Comparison(measured_document())
    fragment = Document(measured._repr_html_())
    assert "html" not in {tag for tag, _ in fragment.tags} and "svg" in {tag for tag, _ in fragment.tags}
    axes = measured.plot()
    assert axes.get_xlabel() == "n" and len(axes.get_lines()) == 3 and "a GPU" in axes.get_title()
    bars = comparison.Comparison(measured_document() | {"sweep": None}).plot()
    assert [round(bar.get_width(), 3) for bar in bars.patches] == [round(10 / 11, 3), round(10 / 22, 3)]


def test_names_are_escaped_in_drawings():
    document = measured_document()
    for candidate, name in zip(document["candidates"], ("costs $1 and $2", "_C.so:f")):
        candidate["name"] = name
    page = comparison.Comparison(document).html()
    assert page.count("costs $1 and $2") >= 4 and page.count("_C.so:f") >= 4  # legends and axes among them


def test_two_fragments_on_one_page_share_no_name(explained):
    both = Document(explained._repr_html_() + explained._repr_html_())
    assert len(both.all("id")) == len(set(both.all("id"))) > 0


def test_gathers_are_not_drawn_and_rows_are_written_once():
    gathered = Document(explain("x[i] * 2", X, torch.zeros(7, dtype=torch.int64)).html())
    labels = [a["aria-label"] for tag, a in gathered.tags if tag == "svg"]
    assert [label.split(" ")[0] for label in labels] == ["i", "out"]
    (written,) = [a for a in explain("x.sum(-1)", X).found["listing"]["accesses"] if a["is_written"]]
    assert drawings.cells(written) == [list(range(16))]


def test_structured_arguments_are_described():
    op = ingot.op("def f(xs: list, y):\n    return [x * y for x in xs]\n")
    explanation = ingot.explain(op, [torch.randn(10), torch.randn(20, 10)], torch.randn(10))
    assert "xs: [f32:10, f32:20x10], y: f32:10" in Document(explanation.html()).text


@pytest.mark.parametrize("call, message", [
    (lambda: ingot.explain(ingot.op("x + y"), X), "missing a required argument: 'y'"),
    (lambda: ingot.explain(ingot.op("x + y"), X, Y, X), "too many positional arguments"),
    (lambda: ingot.explain("x + 1", X), "a str is not an Ingot op"),
    (lambda: ingot.explain(ingot.op("x + 1"), X, device="cpu", architecture=80), "an architecture is for a GPU"),
    (lambda: ingot.explain(ingot.op("def f(x, grad): return x * grad"), X, Y, backward=True), "has a parameter `grad`"),
])
def test_unexplainable_ops_are_reported(call, message):
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
    explanation = explain(text, *(torch.empty(shape) for shape in shapes), **options)
    document = Document(explanation.html())
    assert document.open == [] and explanation.found["listing"]["graph"].splitlines()[0] in document.text and str(explanation)


# --- The command ----------------------------------------------------------------------------------------------------


def test_explain_writes_a_page_and_prints_stages(tmp_path, capsys):
    (tmp_path / "op.py").write_text(RELU_ADD)
    words = ["explain", str(tmp_path / "op.py"), "x=f32:nx256", "y=f32:256", "bias=0.5", "n=1e9"]  # no memory is allocated
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
def test_bad_input_of_explain_is_reported(words, status, message, capsys):
    assert command.main(["explain", *words]) == status
    assert message in capsys.readouterr().err


def test_an_unwritable_page_is_reported(tmp_path, capsys):
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
    saved = json.loads((tmp_path / "a.json").read_text())
    assert "listing" not in saved["candidates"][0] and "__global__" in saved["candidates"][0]["source"]
