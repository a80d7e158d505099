"""The static properties of a kernel that explain its speed, read from its machine code and its PTX without running it."""

from __future__ import annotations

import collections
import dataclasses
import re

from .disassembly import Instruction, disassemble, resources

WARP, REGISTERS_PER_SM = 32, 65536
# The most threads, blocks and bytes of shared memory of a multiprocessor, by compute capability (CUDA Programming Guide,
# "Technical Specifications per Compute Capability").
LIMITS = {75: (1024, 16, 64 << 10), 80: (2048, 32, 164 << 10), 86: (1536, 16, 100 << 10), 87: (1536, 16, 164 << 10),
          89: (1536, 24, 100 << 10), 90: (2048, 32, 228 << 10), 100: (2048, 32, 228 << 10), 120: (1536, 24, 100 << 10)}


@dataclasses.dataclass(frozen=True)
class Access:
    """The widths of a kernel's loads or stores of one parameter, in bytes per thread: the widest, the narrowest, the count."""

    widest: int
    narrowest: int
    count: int

    def __str__(self):
        return f"{self.widest}" if self.widest == self.narrowest else f"{self.narrowest} to {self.widest}"


@dataclasses.dataclass
class Anatomy:
    """The static properties of one kernel. A value is None if it is unknown."""

    kernel: str
    architecture: int = 90
    threads: int | None = None  # per block
    blocks: int | None = None  # in the grid
    registers: int | None = None
    local_bytes: int | None = None  # per thread: spilled registers, arrays
    shared_bytes: int | None = None
    blocks_per_sm: int | None = None  # the blocks that fit on a multiprocessor at the same time
    instructions: int | None = None
    kinds: dict[str, int] = dataclasses.field(default_factory=dict)  # the number of instructions of each kind
    branches: int | None = None
    loads: dict[str, Access] = dataclasses.field(default_factory=dict)  # by parameter
    stores: dict[str, Access] = dataclasses.field(default_factory=dict)
    load_widths: dict[int, int] = dataclasses.field(default_factory=dict)  # the number of loads of each width in bytes
    store_widths: dict[int, int] = dataclasses.field(default_factory=dict)
    compile_ms: float | None = None

    @property
    def occupancy(self) -> float | None:
        """The resident threads of a multiprocessor, as a fraction of its maximum."""
        if not self.blocks_per_sm or not self.threads or self.architecture not in LIMITS:
            return None
        return self.blocks_per_sm * self.threads / LIMITS[self.architecture][0]

    def as_json(self) -> dict:
        return dataclasses.asdict(self) | {"occupancy": self.occupancy}


def anatomy(cubin: bytes, ptx: str, kernel: str, names: list[str] | None = None, threads: int | None = None,
            shared_bytes: int = 0, pointers: set[int] | None = None, architecture: int = 90) -> Anatomy:
    """The anatomy of the kernel named `kernel`. `names` are the names of its parameters, and `pointers` the indices of those that
    are pointers. `threads` and `shared_bytes` are those that a launch gives each block; `architecture` is 90 for sm_90."""
    result = Anatomy(kernel, architecture, threads)
    loads, stores = accesses(ptx, kernel, pointers)
    label = lambda k: names[k] if names and k < len(names) and names[k] else f"argument {k}"  # noqa: E731
    result.loads = {label(k): _access(widths) for k, widths in loads.items()}
    result.stores = {label(k): _access(widths) for k, widths in stores.items()}
    functions = disassemble(cubin)
    result.registers, result.local_bytes, static_bytes = resources(cubin).get(kernel, (None, None, None))
    if static_bytes is not None:
        result.shared_bytes = max(static_bytes - reserved_shared_bytes(architecture, in_cubins=True), 0) + shared_bytes
    if functions and kernel in functions:
        _count_instructions(result, functions[kernel])
    if result.registers and threads and architecture in LIMITS:
        result.blocks_per_sm = blocks_that_fit(result.registers, threads, result.shared_bytes or 0, architecture)
    return result


def _count_instructions(result: Anatomy, instructions: list[Instruction]) -> None:
    result.instructions = len(instructions)
    result.kinds = dict(collections.Counter(i.kind for i in instructions).most_common())
    result.branches = sum(i.op.split(".")[0] in ("BRA", "BRX") for i in instructions)
    result.load_widths = dict(collections.Counter(i.width for i in instructions if i.kind == "global load"))
    result.store_widths = dict(collections.Counter(i.width for i in instructions if i.kind == "global store"))


def _access(widths: list[int]) -> Access:
    return Access(max(widths), min(widths), len(widths))


def reserved_shared_bytes(architecture: int, in_cubins: bool = False) -> int:
    """Bytes of a block's shared memory that the system reserves, from compute capability 8.0 on. From 9.0 on, a cubin counts
    these bytes too if its kernel uses shared memory."""
    return 1024 if architecture >= (90 if in_cubins else 80) else 0


def blocks_that_fit(registers: int, threads: int, shared_bytes: int, architecture: int = 90) -> int:
    """The number of blocks that fit on a multiprocessor. Registers are allocated to warps in units of 256, shared memory in units
    of 128 bytes (CUDA Programming Guide, "Compute Capabilities")."""
    max_threads, max_blocks, shared_per_sm = LIMITS[architecture]
    warps = -(-threads // WARP)
    registers_per_warp = -(-registers * WARP // 256) * 256
    by_registers = REGISTERS_PER_SM // 4 // registers_per_warp * 4 // warps if registers_per_warp else max_blocks
    by_shared = shared_per_sm // max(1, -(-shared_bytes // 128) * 128 + reserved_shared_bytes(architecture))
    return min(max_blocks, max_threads // (warps * WARP), by_registers, by_shared)


# --- PTX ------------------------------------------------------------------------------------------------------------

_PARAMETER = re.compile(r"ld\.param\.[ub]64\s+(%\w+),\s*\[\w+?_param_(\d+)\]")
_MEMORY = re.compile(r"\b(ld|st)\.global((?:\.[\w:]+)*)\s+(.*);")
_ADDRESS = re.compile(r"\[(%\w+)")
_DEFINITION = re.compile(r"^\s*(?:@!?%\w+\s+)?[a-z][\w.:]*\s+(%\w+)\s*,\s*(.*);")
_SIZES = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}


def accesses(ptx: str, kernel: str, pointers: set[int] | None = None) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """The bytes of each load and of each store of the kernel, by parameter. Each address is traced back to its parameter through
    the registers that compute it. `pointers` are the indices of the pointer parameters, if they are known."""
    lines = _body(ptx, kernel)
    origin: dict[str, set[int]] = {}
    converted_pointers = set()  # an address also depends on strides, which are not pointers
    for _ in range(2):  # twice, for values that a loop carries
        for line in lines:
            if match := _PARAMETER.search(line):
                origin.setdefault(match[1], set()).add(int(match[2]))
            elif (match := _DEFINITION.match(line)) and not line.lstrip().startswith("ld."):
                sources = set().union(*(origin.get(register, ()) for register in re.findall(r"%\w+", match[2])))
                if "cvta.to.global" in line:
                    converted_pointers |= sources
                origin.setdefault(match[1], set()).update(sources)
    loads, stores = collections.defaultdict(list), collections.defaultdict(list)
    for line in lines:
        if match := _MEMORY.search(line):
            address = _ADDRESS.search(match[3])
            known_pointers = converted_pointers if pointers is None else pointers
            for parameter in origin.get(address[1], set()) & known_pointers if address else ():
                (loads if match[1] == "ld" else stores)[parameter].append(_width(match[2]))
    return dict(sorted(loads.items())), dict(sorted(stores.items()))


def _body(ptx: str, kernel: str) -> list[str]:
    begin = re.search(rf"\.entry\s+{re.escape(kernel)}\b", ptx)
    if not begin:
        return []
    end = ptx.find("\n}\n", begin.end())
    return ptx[begin.end() : end if end > 0 else None].splitlines()


def _width(modifiers: str) -> int:
    parts = modifiers.strip(".").split(".")
    elements = next((int(p[1:]) for p in parts if re.fullmatch(r"v\d", p)), 1)
    size = next((_SIZES[p[1:]] for p in parts if re.fullmatch(r"[usfb](8|16|32|64|128)", p)), 4)
    return elements * size
