#include "codegen/prelude.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <vector>

#include "codegen/names.h"
#include "codegen/spellings.h"

namespace ingot::codegen {

extern const std::string_view prelude_cuda_cuh;
extern const std::string_view prelude_libm_h;
extern const std::string_view prelude_cpu_h;

namespace {

struct Piece {
  std::vector<std::string> words;  ///< the name first
  std::string_view text;           ///< below its marker, up to the next marker
  std::set<std::string, std::less<>> mentions;
};

std::vector<Piece> pieces_of(std::string_view file) {
  constexpr std::string_view kMarker = "// ingot: ";
  std::vector<Piece> pieces;
  for (size_t at = file.find(kMarker); at != std::string_view::npos;) {
    const size_t name = at + kMarker.size(), line_end = file.find('\n', at);
    at = file.find(kMarker, line_end);
    const std::string_view text = file.substr(line_end + 1, std::min(at, file.size()) - line_end - 1);
    Piece piece{{}, text, identifiers(text)};
    std::istringstream words{std::string(file.substr(name, line_end - name))};
    for (std::string word; words >> word;) piece.words.push_back(word);
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

const std::vector<Piece>& pieces(Target::Kind target) {
  static const std::vector<Piece> cuda = pieces_of(prelude_cuda_cuh);
  static const std::vector<Piece> cpu = [] {
    std::vector<Piece> all = pieces_of(prelude_libm_h);  // first, since the others call it
    std::ranges::move(pieces_of(prelude_cpu_h), std::back_inserter(all));
    return all;
  }();
  return target == Target::Kind::Cuda ? cuda : cpu;
}

}  // namespace

std::string prelude_for(Target::Kind target, std::string_view source) {
  const std::vector<Piece>& all = pieces(target);
  std::vector<bool> taken(all.size());
  std::set<std::string, std::less<>> mentioned = identifiers(source);
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t p = 0; p < all.size(); ++p) {
      const auto is_mentioned = [&](const std::string& word) { return mentioned.contains(word); };
      if (taken[p] || !std::ranges::all_of(all[p].words, is_mentioned)) continue;
      taken[p] = grown = true;
      mentioned.insert(all[p].mentions.begin(), all[p].mentions.end());
    }
  }
  std::string text;
  for (size_t p = 0; p < all.size(); ++p) {
    if (!taken[p]) continue;
    text += all[p].text;
    if (!text.ends_with("\n\n")) text += "\n";
  }
  return text;
}

std::string reserved_text(Target::Kind target) {
  std::string text = all_spellings(target);
  for (const Piece& piece : pieces(target)) text += piece.words[0] + "\n";
  return text;
}

}  // namespace ingot::codegen
