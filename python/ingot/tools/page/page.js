"use strict";

// Pointing at a stretch highlights related stretches in all panes. A stretch of the op's source, of the graph or of the schedule
// has the nodes that it represents. A line of the kernels' source has its number and the nodes that it computes. PTX and machine
// code have the lines of source that they came from. So a set of nodes and a set of lines decide what is highlighted.

const numbers = (text) => (text ? text.split(" ").map(Number) : []);
const meets = (few, set) => few.some((each) => set.has(each));

const announcement = document.querySelector(".announcement");
let pinned = null; // the bench whose highlighting is pinned, if any

function unpin() {
  const bench = pinned;
  pinned = null;
  bench?.highlight(null);
}

class Bench {
  constructor(root) {
    this.panes = [...root.querySelectorAll(".pane")].map((pane) => new Pane(pane));
    this.source = this.panes.find((pane) => pane.key === "source");
    this.origin = null;
    for (const pane of this.panes) pane.listen(this);
  }

  /** Highlights everything related to a stretch; clears the highlighting for null. */
  highlight(origin) {
    const { nodes, lines, end } = origin ? this.meaning(origin) : { nodes: new Set(), lines: new Set(), end: null };
    const counts = [];
    this.origin?.element.classList.remove("origin");
    origin?.element.classList.add("origin");
    this.origin = origin;
    for (const pane of this.panes) {
      const highlighted = pane.highlight(nodes, lines, end);
      if (highlighted.length > 0 && pane !== origin?.pane) pane.show(highlighted);
      if (highlighted.length > 0) counts.push(`${pane.name}: ${pane.describe(highlighted)}`);
    }
    announcement.textContent = counts.join(" · ");
  }

  /**
   * The nodes and the lines of source that a stretch represents. For an instruction, `end` is the outermost line of
   * its chain of calls, in the kernel itself. Instructions inlined from the same function by other lines are not related to it.
   */
  meaning(origin) {
    const nodes = new Set(origin.nodes);
    const lines = new Set(origin.lines);
    for (const each of this.source.stretches) {
      if (origin.lines.length === 0 && meets(each.nodes, nodes)) each.lines.forEach((line) => lines.add(line));
      if (origin.lines.length > 0 && meets(each.lines, lines)) each.nodes.forEach((node) => nodes.add(node));
    }
    return { nodes, lines, end: origin.pane.isCode ? origin.lines.at(-1) : null };
  }

  pin(stretch) {
    const again = pinned === this && this.origin === stretch;
    unpin();
    if (again) return;
    pinned = this;
    this.highlight(stretch);
  }
}

class Pane {
  constructor(root) {
    this.key = root.dataset.pane;
    this.isCode = this.key === "ptx" || this.key === "sass";
    this.name = root.querySelector("h3").textContent;
    this.list = root.querySelector(".lines");
    this.stretches = [...root.querySelectorAll(".stretch")].map((element) => ({
      element,
      pane: this,
      nodes: numbers(element.dataset.nodes),
      within: numbers(element.dataset.within ?? element.dataset.nodes),
      lines: numbers(element.dataset.lines),
      highlighted: false,
    }));
    // The stretch of an element, and the index of the current stretch.
    this.of = new Map(this.stretches.map((stretch) => [stretch.element, stretch]));
    this.at = Math.max(0, this.stretches.findIndex((stretch) => stretch.nodes.length > 0));
    if (["source", "ptx"].includes(this.key) && this.stretches.length > 0) this.show([this.stretches[this.at]]);
  }

  listen(bench) {
    const under = (event) => this.of.get(event.target.closest(".stretch"));
    this.list.addEventListener("pointerover", (event) => {
      const stretch = under(event);
      if (stretch && !pinned) bench.highlight(stretch);
    });
    this.list.addEventListener("pointerleave", () => {
      if (!pinned) bench.highlight(null);
    });
    this.list.addEventListener("click", (event) => {
      const stretch = under(event);
      if (!stretch) return;
      this.at = this.stretches.indexOf(stretch);
      bench.pin(stretch);
    });
    this.list.addEventListener("focus", () => this.stretches[this.at]?.element.focus({ preventScroll: true }));
    this.list.addEventListener("focusin", (event) => {
      const stretch = under(event);
      if (!stretch || !event.target.matches(":focus-visible")) return;
      unpin();
      bench.highlight(stretch);
    });
    this.list.addEventListener("keydown", (event) => {
      const last = this.stretches.length - 1;
      const steps = { ArrowDown: this.at + 1, ArrowRight: this.at + 1, ArrowUp: this.at - 1, ArrowLeft: this.at - 1, Home: 0, End: last };
      if (event.key in steps) {
        event.preventDefault();
        this.go(Math.min(Math.max(steps[event.key], 0), last));
      } else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        if (this.stretches.length > 0) bench.pin(this.stretches[this.at]);
      } else if (event.key === "Tab" && event.shiftKey) {
        this.list.tabIndex = -1; // else Shift+Tab would enter the pane again
        setTimeout(() => (this.list.tabIndex = 0));
      }
    });
  }

  go(to) {
    if (this.stretches.length === 0) return;
    this.at = to;
    this.stretches[to]?.element.focus({ preventScroll: true });
    this.show([this.stretches[to]]);
  }

  highlight(nodes, lines, end) {
    const highlighted = [];
    for (const stretch of this.stretches) {
      const fromLines = end !== null && this.isCode ? stretch.lines.at(-1) === end : meets(stretch.lines, lines);
      const is = stretch.lines.length > 0 ? fromLines : meets(stretch.within, nodes);
      if (is !== stretch.highlighted) stretch.element.setAttribute("aria-selected", is);
      stretch.highlighted = is;
      if (is) highlighted.push(stretch);
    }
    return highlighted;
  }

  /** Scrolls the pane, but nothing around it, until the first of these is visible. */
  show(stretches) {
    const line = stretches[0].element.closest(".line");
    const top = line.offsetTop, bottom = top + line.offsetHeight;
    if (top < this.list.scrollTop || bottom > this.list.scrollTop + this.list.clientHeight) {
      this.list.scrollTop = top - this.list.clientHeight / 3;
    }
  }

  describe(highlighted) {
    if (this.key === "text") return highlighted.map((stretch) => stretch.element.textContent).join("").trim();
    if (this.key === "source") return `line ${highlighted.map((stretch) => stretch.lines[0]).join(", ")}`;
    return `${highlighted.length} ${highlighted.length === 1 ? "line" : "lines"}`;
  }
}

const benches = [...document.querySelectorAll(".bench")].map((root) => new Bench(root));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  pinned = null;
  for (const bench of benches) bench.highlight(null);
});
