#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/error.h"
#include "codegen/kernel/computation.h"
#include "codegen/kernel/memory.h"
#include "codegen/kernel/targets.h"

// A block computes a tile of the domain, spanned by the innermost axis and another axis along which some
// accesses are contiguous. Rows of the tile are along the innermost axis. A thread computes `lanes_` adjacent elements
// in each of `thread_rows_` rows. Accesses that are contiguous along the other axis are loaded with rows and columns
// exchanged, so that their loads are coalesced, too. These elements are transposed in shared memory.

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;
using Kind = AccessUse::Kind;

class Tile : public Space, public AccessEmitter {
 public:
  explicit Tile(const KernelContext& context)
      : context_(context), schedule_(context.schedule), assembly_(context), memory_(context, assembly_) {
    memory_.set_space(*this);
    row_axis_ = schedule_.tile_axis;
    column_axis_ = context.rank() - 1;
    lanes_ = schedule_.lanes();
    const LoopMap &across = schedule_.loop_maps[row_axis_], &along = schedule_.loop_maps[column_axis_];
    thread_rows_ = across.count(Scope::Vector);
    rows_ = thread_rows_ * across.count(Scope::Block);
    columns_ = along.count(Scope::Block) * lanes_;
    uint32_t scope = 0;
    for (Pass* pass : {&whole_[0], &whole_[1], &clamped_[0], &clamped_[1], &fill_, &compute_, &write_})
      *pass = {assembly_.variable_called(name_of("s"), Level::Fetch),
               assembly_.variable_called(name_of("k"), Level::Fetch), ++scope};
    for (const SymbolId symbol : {compute_.row, compute_.lane, write_.row, write_.lane})
      assembly_[symbol].level = Level::Element;
  }

  Kernel build() {
    find_tile();
    for (uint32_t a = 0; a < schedule_.accesses.size(); ++a)
      if (context_.outline.accesses[a].kind == Kind::Load && schedule_.accesses[a].how != How::Fixed) prepare(a);
    enter(compute_);
    assembly_.set_block({Level::Kernel, Level::Row, Level::Thread}, once_per_thread());
    assembly_.set_block({Level::Fetch, Level::Element}, compute_.lanes);
    const std::vector<ValueId> results =
        compute(context_, assembly_, memory_, *this, job_of_output_blocks(context_.graph, context_.outline));
    store(results);
    memory_.describe_pointers();
    assemble();
    return assembly_.finish(context_);
  }

  // Space

  bool has_linear() const override { return false; }
  ValueId linear(Level) override { return assembly_.integer(0); }
  ValueId coordinate(uint32_t axis, Level level) override {
    if (axis != row_axis_ && axis != column_axis_) return corner_.at(axis);
    const bool is_row = (axis == row_axis_) != exchanged_;
    if (!is_row && level <= Level::Thread) return assembly_.index(IndexOp::Add, corner_.at(axis), position().column);
    const std::string name = name_of(fmt::format("i{}", axis));
    ValueId& cached = pass_->coordinates[{axis, exchanged_, clamps_}];
    if (cached) return cached;
    std::vector<ValueId> terms = is_row ? row() : column();
    terms.insert(terms.begin(), corner_.at(axis));
    ValueId at = assembly_.sum(terms);
    if (clamps_)
      at = assembly_.index(IndexOp::Min, at,
                           assembly_.index(IndexOp::Sub, assembly_.read(memory_.extent(axis)), assembly_.integer(1)));
    Body& body = is_row               ? pass_->rows
                 : lanes_ > 1         ? pass_->lanes
                 : pass_ == &compute_ ? once_per_thread()
                                      : pass_->rows;
    return cached = assembly_.let(body, at, name);
  }
  ValueId base(uint32_t access) override { return assembly_.read(memory_.pointer(access)); }
  uint32_t first_axis(uint32_t) const override { return 0; }
  uint32_t first_inner_axis() const override { return 0; }
  Level level_of_names() const override { return Level::Element; }
  std::string suffix() override { return "_" + name_of("k"); }

  // AccessEmitter

  ValueId load(uint32_t access) override {
    const How how = schedule_.accesses[access].how;
    if (how == How::Fixed) return memory_.load(access, Level::Thread);
    if (how == How::Staged)
      return assembly_.lane(assembly_.item(assembly_.read(tiles_.at(access)), assembly_.sum(row())),
                            assembly_.sum(column()));
    return lane(access);
  }
  std::vector<ValueId> wrap_indices(uint32_t, const std::vector<ValueId>&, ValueId) override { no_gather(); }
  ValueId gather(uint32_t, const std::vector<ValueId>&) override { no_gather(); }
  std::optional<ValueId> position(uint32_t access) override { return memory_.position(access, Level::Element); }

 private:
  [[noreturn]] static void no_gather() { throw_internal("a tile has no gathers"); }

  /// One traversal of a thread's elements: a loop over its rows, and within it a loop over the elements of its vector.
  struct Pass {
    SymbolId row, lane;  ///< the variables of the two loops
    uint32_t scope;      ///< for Assembly::set_scope
    Body rows = {};      ///< once per row
    Body lanes = {};     ///< per element of the vector
    Body behind = {};    ///< once per row, after its elements
    std::map<std::tuple<uint32_t, bool, bool>, ValueId> coordinates = {};
  };

  /// From now on emits values of this pass.
  void enter(Pass& pass) {
    pass_ = &pass;
    assembly_.set_scope(pass.scope);
  }

  const std::string& name_of(const std::string& preferred) {
    std::string& name = names_[preferred];
    if (name.empty()) name = assembly_.claim(preferred);
    return name;
  }

  // The position of a block and a thread

  /// Blocks are numbered along the innermost axis first.
  void find_tile() {
    Body& indices = assembly_.kernel.indices;
    ValueId block =
        assembly_.add({.kind = Value::Kind::Block, .type = {ir::DType::U32}, .naming = Value::Naming::Inline});
    for (uint32_t axis = context_.rank(); axis-- > 0;) {
      const uint32_t step = size_along(axis);
      const bool is_last = axis == 0;
      ValueId count;
      if (!is_last) count = step == 1 ? assembly_.read(memory_.extent(axis)) : tiles_along(axis);
      ValueId at = is_last ? block : assembly_.index(IndexOp::Rem, block, count);
      if (step > 1) at = assembly_.index(IndexOp::Mul, at, assembly_.integer(step));
      corner_[axis] = assembly_.let(indices, at, assembly_.claim(fmt::format("{}{}", step > 1 ? "t" : "i", axis)));
      assembly_[corner_[axis]].type = {context_.index_dtype()};
      if (!is_last) block = assembly_.index(IndexOp::Div, block, count);
      assembly_.kernel.launch.grid.push_back({axis, 1, step});
    }
    const ValueId thread = assembly_.add({.kind = Value::Kind::Thread,
                                          .type = {ir::DType::U32},
                                          .level = Level::Thread,
                                          .naming = Value::Naming::Inline});
    positions_[0] = position_of(thread, columns_);
    positions_[1] = rows_ == columns_ ? positions_[0] : position_of(thread, rows_);
    is_whole_ = assembly_.let(indices, assembly_.index(IndexOp::And, ends_within(row_axis_), ends_within(column_axis_)),
                              assembly_.claim("whole"));
  }

  /// The tile's elements along an axis; 1 if it does not span this axis.
  uint32_t size_along(uint32_t axis) const { return axis == row_axis_ ? rows_ : axis == column_axis_ ? columns_ : 1; }

  /// The number of tiles along an axis.
  ValueId tiles_along(uint32_t axis) {
    const uint32_t size = size_along(axis);
    const ValueId rounded =
        assembly_.index(IndexOp::Add, assembly_.read(memory_.extent(axis)), assembly_.integer(size - 1));
    return assembly_.let(assembly_.kernel.indices, assembly_.index(IndexOp::Div, rounded, assembly_.integer(size)),
                         assembly_.claim(fmt::format("tiles{}", axis)));
  }

  /// The first element of a thread within the tile, and the distance between the thread's rows.
  struct Position {
    ValueId row, column;
    uint32_t row_step = 1;
  };

  /// The place of a thread in a tile whose rows have `columns` elements.
  Position position_of(ValueId thread, uint32_t columns) {
    Body& indices = assembly_.kernel.indices;
    const ValueId vectors = assembly_.integer(columns / lanes_);
    Position position;
    position.row = assembly_.let(indices, assembly_.index(IndexOp::Div, thread, vectors), assembly_.claim("r"));
    position.row_step = rows_ * columns_ / columns / thread_rows_;
    ValueId column = assembly_.index(IndexOp::Rem, thread, vectors);
    if (lanes_ > 1) column = assembly_.index(IndexOp::Mul, column, assembly_.integer(lanes_));
    position.column = assembly_.let(indices, column, assembly_.claim("c"));
    for (const ValueId id : {position.row, position.column}) assembly_[id].type = {};
    return position;
  }
  const Position& position() const { return positions_[exchanged_]; }

  /// Whether the tile ends within the domain along an axis.
  ValueId ends_within(uint32_t axis) {
    const ValueId end = assembly_.index(IndexOp::Add, corner_.at(axis), assembly_.integer(size_along(axis)));
    return assembly_.index(IndexOp::LessEqual, end, assembly_.read(memory_.extent(axis)));
  }

  /// The row and the column, within the tile, of a thread's current element. Each is a sum of these terms.
  std::vector<ValueId> row() {
    if (thread_rows_ == 1) return {position().row};
    return {position().row,
            assembly_.index(IndexOp::Mul, assembly_.read(pass_->row), assembly_.integer(position().row_step))};
  }
  std::vector<ValueId> column() {
    if (lanes_ == 1) return {position().column};
    return {position().column, assembly_.read(pass_->lane)};
  }

  /// The statements that run once per thread; if a thread has a single row, among those of the row.
  Body& once_per_thread() { return thread_rows_ == 1 ? compute_.rows : thread_; }

  // Loads

  /// Declares the registers of an access, a vector for each of the thread's rows, and emits its loads.
  void prepare(uint32_t access) {
    const AccessSchedule& how = schedule_.accesses[access];
    const Type type{memory_.type_in_memory(access), lanes_};
    const std::string name = memory_.vector_name(access, lanes_ == 1 ? thread_rows_ : lanes_);
    const SymbolId registers = assembly_.variable(name, type, Level::Thread);
    if (thread_rows_ > 1 || lanes_ == 1) assembly_[registers].extents = {thread_rows_};
    assembly_[registers].meaning = assembly_[memory_.pointer(access)].name;
    registers_[access] = registers;
    declared_.push_back({Declare{registers}});

    exchanged_ = how.how == How::Staged;
    enter(whole_[exchanged_]);
    if (lanes_ > 1 && how.how != How::Single) {
      const ValueId vector = assembly_.add({.kind = Value::Kind::Vector,
                                            .type = type,
                                            .operands = {base(access), memory_.index(access, Level::Thread, 0)},
                                            .naming = Value::Naming::Inline});
      pass_->rows.push_back({Assign{vector_of(access), vector}});
    } else {
      load_lane(access);
    }
    enter(clamped_[exchanged_]);
    clamps_ = true;
    load_lane(access);
    clamps_ = false;
    if (exchanged_) stage(access);
    exchanged_ = false;
  }

  void load_lane(uint32_t access) {
    assembly_.set_block({Level::Kernel, Level::Row, Level::Thread, Level::Fetch}, pass_->lanes);
    pass_->lanes.push_back({Assign{lane(access), memory_.load(access, Level::Fetch)}});
  }

  /// The registers of an access for the current row of the thread; and the current element of these.
  ValueId vector_of(uint32_t access) {
    const SymbolId registers = registers_.at(access);
    const ValueId all = assembly_.read(registers);
    if (assembly_[registers].extents.empty()) return all;
    return assembly_.item(all, thread_rows_ == 1 ? assembly_.integer(0) : assembly_.read(pass_->row));
  }
  ValueId lane(uint32_t access) {
    const ValueId vector = vector_of(access);
    return lanes_ == 1 ? vector : assembly_.lane(vector, assembly_.read(pass_->lane));
  }

  /// Stores an access's registers to shared memory, transposed. The tile there has one padding column, so that a column
  /// is spread over as many banks as a row.
  void stage(uint32_t access) {
    const SymbolId tile = assembly_.variable(assembly_[memory_.pointer(access)].name + "_tile",
                                             {memory_.type_in_memory(access)}, Level::Thread);
    assembly_[tile].extents = {rows_, columns_ + 1};
    assembly_[tile].is_shared = true;
    tiles_[access] = tile;
    shared_.push_back({Declare{tile}});
    enter(fill_);
    const ValueId target =
        assembly_.lane(assembly_.item(assembly_.read(tile), assembly_.sum(column())), assembly_.sum(row()));
    fill_.lanes.push_back({Assign{target, lane(access)}});
  }

  // Stores

  void store(const std::vector<ValueId>& results) {
    const auto first_store = static_cast<uint32_t>(schedule_.accesses.size() - results.size());
    for (uint32_t r = 0; r < results.size(); ++r) {
      const uint32_t access = first_store + r;
      const Type type{memory_.type_in_memory(access), lanes_};
      enter(compute_);
      const auto target = [&] { return memory_.element_lvalue(access, Level::Element); };
      if (lanes_ == 1 || schedule_.accesses[access].how != How::Vector) {
        guarded_.push_back({Assign{target(), results[r]}});
        continue;
      }
      const SymbolId vector = assembly_.variable(memory_.vector_name(access, lanes_), type, Level::Fetch);
      assembly_[vector].meaning = assembly_[memory_.pointer(access)].name;
      vectors_.push_back({Declare{vector}});
      compute_.lanes.push_back(
          {Assign{assembly_.lane(assembly_.read(vector), assembly_.read(compute_.lane)), results[r]}});
      whole_stores_.push_back(
          {StoreVector{base(access), memory_.index(access, Level::Thread, 0), assembly_.read(vector)}});
      enter(write_);
      guarded_writes_.push_back(
          {Assign{target(), assembly_.lane(assembly_.read(vector), assembly_.read(write_.lane))}});
    }
    enter(compute_);
    if (!guarded_.empty()) {
      const ValueId within = is_within();  // may add coordinates to the body
      compute_.lanes.push_back({If{within, std::move(guarded_)}});
    }
  }

  /// Whether the current element is in the domain.
  ValueId is_within() {
    ValueId all;
    for (const uint32_t axis : {row_axis_, column_axis_}) {
      const ValueId is_below =
          assembly_.index(IndexOp::Less, coordinate(axis, Level::Element), assembly_.read(memory_.extent(axis)));
      all = all ? assembly_.index(IndexOp::And, all, is_below) : is_below;
    }
    return all;
  }

  // Assembly

  void assemble() {
    Kernel& kernel = assembly_.kernel;
    append(kernel.body, shared_);
    append(kernel.body, declared_);
    kernel.body.push_back({If{is_whole_, loops(whole_), loops(clamped_)}});
    append(kernel.body, loops(fill_));
    kernel.body.push_back({Barrier{}});
    append(kernel.body, thread_);
    if (!whole_stores_.empty()) {
      enter(write_);
      const ValueId within = is_within();
      write_.lanes.push_back({If{within, std::move(guarded_writes_)}});
      Body one_by_one = std::move(write_.rows);
      one_by_one.push_back({lane_loop(write_, std::move(write_.lanes))});
      compute_.behind.push_back({If{is_whole_, std::move(whole_stores_), std::move(one_by_one)}});
    }
    std::ranges::move(vectors_, std::inserter(compute_.rows, compute_.rows.begin()));
    append(kernel.body, loops(compute_));
  }

  Loop lane_loop(const Pass& pass, Body body) {
    return {Loop::Kind::Unrolled, pass.lane, assembly_.integer(0), assembly_.integer(lanes_), std::move(body)};
  }

  Body loops(std::array<Pass, 2>& both) {
    Body body = loops(both[0]);
    append(body, loops(both[1]));
    return body;
  }

  Body loops(Pass& pass) {
    Body body = std::move(pass.rows);
    if (lanes_ == 1)
      append(body, std::move(pass.lanes));
    else if (!pass.lanes.empty())
      body.push_back({lane_loop(pass, std::move(pass.lanes))});
    append(body, std::move(pass.behind));
    if (thread_rows_ == 1 || body.empty()) return body;
    return {
        {Loop{Loop::Kind::Unrolled, pass.row, assembly_.integer(0), assembly_.integer(thread_rows_), std::move(body)}}};
  }

  const KernelContext& context_;
  const Schedule& schedule_;
  Assembly assembly_;
  Memory memory_;
  uint32_t row_axis_ = 0, column_axis_ = 0;  ///< the axes of the tile: from row to row, and along a row
  uint32_t lanes_ = 1, thread_rows_ = 1;     ///< elements of a thread's vector, and rows of a thread
  uint32_t rows_ = 1, columns_ = 1;          ///< the tile's elements along these axes
  /// The loads of whole tiles, and of tiles that reach past the end of the domain, where coordinates are clamped. Of
  /// each two passes, the second has rows and columns exchanged.
  std::array<Pass, 2> whole_, clamped_;
  Pass fill_;               ///< stores to shared memory
  Pass compute_;            ///< computes, and stores results
  Pass write_;              ///< stores the elements of vectors one by one, if a tile reaches past the end of the domain
  Pass* pass_ = nullptr;    ///< the current pass
  bool exchanged_ = false;  ///< the current pass exchanges rows and columns
  bool clamps_ = false;     ///< the current pass clamps coordinates to the domain
  std::array<Position, 2> positions_;   ///< of the thread; the second one with rows and columns exchanged
  ValueId is_whole_;                    ///< the tile does not reach past the end of the domain
  std::map<uint32_t, ValueId> corner_;  ///< the block's first coordinate along each axis
  std::map<std::string, std::string> names_;
  std::map<uint32_t, SymbolId> registers_, tiles_;  ///< by access; `tiles_` are in shared memory
  Body shared_, declared_;                          ///< declarations of tiles, and of registers
  Body thread_;                                     ///< values of the thread
  Body guarded_;                                    ///< stores of single elements
  Body guarded_writes_, vectors_, whole_stores_;    ///< vectors of results, and their stores: one by one, or as a whole
};

}  // namespace

Kernel build_cuda_tile(const KernelContext& context) { return Tile(context).build(); }

}  // namespace ingot::codegen
