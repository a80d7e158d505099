"""Tables of the documents, of what was measured and kept.

    python benchmarks/tables.py large benchmarks/results/2026-11-22-h200-peers.json        README.md: `run.py gpu --save`
    python benchmarks/tables.py examples benchmarks/results/2026-11-27-h200-examples.json  docs/compare.md: `examples.py --save`
"""

import argparse
import json
import pathlib

# How the documents call what was measured.
LARGE = {"relu_add": "`relu_add`, 2²⁸ elements", "mul": "`mul`, 2²⁸ elements", "giou": "`giou`, 2²⁴ boxes, a result a box",
         "denoise": "`denoise`, 1024 × 3 × 256 × 256"}
EXAMPLES = {"relu_add": "`relu_add`, 2²⁸ elements", "mul": "`mul`, 2²⁸", "mul_backward": "its gradient, 2²⁷",
            "denoise": "`denoise`, 512 × 3 × 256 × 256", "giou": "`giou` of 16 million boxes, padded as a detector's",
            "giou_loss": "`giou_loss` of the same", "group_norm_mish": "`group_norm_mish`, 1024 × 256 × 256"}
WINS = 1.02  # a speed, as a multiple of Ingot's, above which it is in bold


def large(results: dict) -> str:
    """Shares of a copy's speed."""
    shares = {row["case"]: row["share_of_copy"] for row in results["large"]}
    who = ("ingot", "handwritten", "compile", "eager")
    rows = [[label, *(f"{shares[case][each]:.2f}" if each in shares[case] else "–" for each in who)]
            for case, label in LARGE.items() if case in shares]
    return markdown(["op", "Ingot", "hand-written¹", "torch.compile", "eager"], rows)


def examples(results: dict) -> str:
    """Ingot's share of a copy's speed, and the others' speeds as multiples of Ingot's."""
    header = ["op", "Ingot, of a copy", "as usually written", "an expert's", "torch.compile", "eager"]
    rows = []
    for case, label in EXAMPLES.items():
        if "contenders" not in results.get(case, {}):
            continue
        found = {c["name"]: c for c in results[case]["contenders"]}
        speeds = [found.get(name, {}).get("speed") for name in (f"{case}.cu", f"{case}_expert.cu", "torch.compile", "eager")]
        rows.append([label, f"{found['ingot']['share_of_copy']:.2f}", *map(speed, speeds)])
    return markdown(header, rows)


def speed(value: float | None) -> str:
    return "–" if value is None else f"**{value:.2f}**" if value > WINS else f"{value:.2f}"


def markdown(header: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, ["---"] * len(header), *rows])


def main() -> None:
    tables = {"large": large, "examples": examples}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=tables)
    parser.add_argument("results", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    print(tables[options.table](json.loads(options.results.read_text())))


if __name__ == "__main__":
    main()
