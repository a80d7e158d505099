"use strict";

// Pointing at a stretch highlights related stretches in all panes. A stretch of the op's source, of the graph or of the schedule
// has the nodes that it represents. A line of the kernels' source has its number and the nodes that it computes. PTX and machine
// code have the lines of source that they came from. So a set of nodes and a set of lines decide what is highlighted.

const numbers = (text) => (text ? text.split(" ").map(Number) : []);
const intersects = (list, set) => list.some((each) => set.has(each));

const announcement = document.querySelector(".announcement");
let pinned = null; // the group whose highlighting is pinned, if any

function unpin() {
  const paneGroup = pinned;
  pinned = null;
  paneGroup?.highlight(null);
}

class PaneGroup {
  constructor(root) {
    this.panes = [...root.querySelectorAll(".pane")].map((pane) => new Pane(pane));
    this.source = this.panes.find((pane) => pane.key === "source");
    this.origin = null;
    for (const pane of this.panes) pane.listen(this);
  }

  /** Highlights everything related to a stretch; clears the highlighting for null. */
  highlight(origin) {
    const none = { nodes: new Set(), lines: new Set(), outermostLine: null };
    const { nodes, lines, outermostLine } = origin ? this.meaning(origin) : none;
    const counts = [];
    this.origin?.element.classList.remove("origin");
    origin?.element.classList.add("origin");
    this.origin = origin;
    for (const pane of this.panes) {
      const highlighted = pane.highlight(nodes, lines, outermostLine);
      if (highlighted.length > 0 && pane !== origin?.pane) pane.show(highlighted);
      if (highlighted.length > 0) counts.push(`${pane.name}: ${pane.describe(highlighted)}`);
    }
    announcement.textContent = counts.join(" · ");
  }

  /**
   * The nodes and the lines of source that a stretch represents. For an instruction, `outermostLine` is the line in the kernel
   * itself that its chain of inlined calls starts from. Instructions that other lines have inlined are not related to it.
   */
  meaning(origin) {
    const nodes = new Set(origin.nodes);
    const lines = new Set(origin.lines);
    for (const each of this.source.stretches) {
      if (origin.lines.length === 0 && intersects(each.nodes, nodes)) each.lines.forEach((line) => lines.add(line));
      if (origin.lines.length > 0 && intersects(each.lines, lines)) each.nodes.forEach((node) => nodes.add(node));
    }
    return { nodes, lines, outermostLine: origin.pane.isCode ? origin.lines.at(-1) : null };
  }

  pin(stretch) {
    const wasPinned = pinned === this && this.origin === stretch;
    unpin();
    if (wasPinned) return;
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
      enclosing: numbers(element.dataset.enclosing ?? element.dataset.nodes), // the nodes, and those of expressions around it
      lines: numbers(element.dataset.lines),
      isHighlighted: false,
    }));
    // The stretch of an element, and the index of the current stretch.
    this.stretchOf = new Map(this.stretches.map((stretch) => [stretch.element, stretch]));
    this.current = Math.max(0, this.stretches.findIndex((stretch) => stretch.nodes.length > 0));
    if (["source", "ptx"].includes(this.key) && this.stretches.length > 0) this.show([this.stretches[this.current]]);
  }

  listen(paneGroup) {
    const stretchUnder = (event) => this.stretchOf.get(event.target.closest(".stretch"));
    this.list.addEventListener("pointerover", (event) => {
      const stretch = stretchUnder(event);
      if (stretch && !pinned) paneGroup.highlight(stretch);
    });
    this.list.addEventListener("pointerleave", () => {
      if (!pinned) paneGroup.highlight(null);
    });
    this.list.addEventListener("click", (event) => {
      const stretch = stretchUnder(event);
      if (!stretch) return;
      this.current = this.stretches.indexOf(stretch);
      paneGroup.pin(stretch);
    });
    this.list.addEventListener("focus", () => this.stretches[this.current]?.element.focus({ preventScroll: true }));
    this.list.addEventListener("focusin", (event) => {
      const stretch = stretchUnder(event);
      if (!stretch || !event.target.matches(":focus-visible")) return;
      unpin();
      paneGroup.highlight(stretch);
    });
    this.list.addEventListener("keydown", (event) => {
      const last = this.stretches.length - 1;
      const next = this.current + 1, previous = this.current - 1;
      const targets = { ArrowDown: next, ArrowRight: next, ArrowUp: previous, ArrowLeft: previous, Home: 0, End: last };
      if (event.key in targets) {
        event.preventDefault();
        this.moveTo(Math.min(Math.max(targets[event.key], 0), last));
      } else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        if (this.stretches.length > 0) paneGroup.pin(this.stretches[this.current]);
      } else if (event.key === "Tab" && event.shiftKey) {
        this.list.tabIndex = -1; // else Shift+Tab would enter the pane again
        setTimeout(() => (this.list.tabIndex = 0));
      }
    });
  }

  moveTo(index) {
    if (this.stretches.length === 0) return;
    this.current = index;
    this.stretches[index]?.element.focus({ preventScroll: true });
    this.show([this.stretches[index]]);
  }

  highlight(nodes, lines, outermostLine) {
    const highlighted = [];
    for (const stretch of this.stretches) {
      const comparesCalls = outermostLine !== null && this.isCode;
      const sharesLines = comparesCalls ? stretch.lines.at(-1) === outermostLine : intersects(stretch.lines, lines);
      const isHighlighted = stretch.lines.length > 0 ? sharesLines : intersects(stretch.enclosing, nodes);
      if (isHighlighted !== stretch.isHighlighted) stretch.element.setAttribute("aria-selected", isHighlighted);
      stretch.isHighlighted = isHighlighted;
      if (isHighlighted) highlighted.push(stretch);
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

const paneGroups = [...document.querySelectorAll(".pane-group")].map((root) => new PaneGroup(root));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  pinned = null;
  for (const paneGroup of paneGroups) paneGroup.highlight(null);
});
