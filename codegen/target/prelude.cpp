#include "codegen/target/prelude.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <vector>

#include "codegen/target/names.h"
#include "codegen/target/reserved_names.h"
#include "codegen/target/spellings.h"

namespace ingot::codegen {

extern const std::string_view target_prelude_cuda_cuh;
extern const std::string_view target_prelude_libm_h;
extern const std::string_view target_prelude_cpu_types_h;
extern const std::string_view target_prelude_cpu_h;
extern const std::string_view target_prelude_cpu_loops_h;
extern const std::string_view target_prelude_staging_h;
extern const std::string_view target_prelude_cpu_reduce_h;
extern const std::string_view target_prelude_iterations_h;
extern const std::string_view target_prelude_igamma_h;
extern const std::string_view target_prelude_erfcx_h;
extern const std::string_view target_prelude_philox_h;
extern const std::string_view target_prelude_float8_h;
extern const std::string_view target_prelude_reduce_h;
extern const std::string_view target_prelude_reduce_cuh;
extern const std::string_view target_prelude_division_cuh;

namespace {

/// A part of a prelude file that is included as a whole.
struct Section {
  /// The section is included if the source mentions all of these names. The first is the name that it defines.
  std::vector<std::string> required_names;
  std::string_view text;                        ///< from the line after its marker to the next marker
  std::set<std::string, std::less<>> mentions;  ///< the identifiers in its text
};

std::vector<Section> sections_of(std::string_view file) {
  constexpr std::string_view kMarker = "// ingot: ";
  std::vector<Section> sections;
  for (size_t marker = file.find(kMarker); marker != std::string_view::npos;) {
    const size_t name = marker + kMarker.size(), line_end = file.find('\n', marker);
    marker = file.find(kMarker, line_end);
    const std::string_view text = file.substr(line_end + 1, std::min(marker, file.size()) - line_end - 1);
    Section section{{}, text, identifiers(text)};
    std::istringstream words{std::string(file.substr(name, line_end - name))};
    for (std::string word; words >> word;) section.required_names.push_back(word);
    sections.push_back(std::move(section));
  }
  return sections;
}

/// Marks the functions of a file for both targets as CUDA device functions: inserts `__device__` before every `inline`
/// that a space follows, also in comments.
std::string with_device_functions(std::string_view file) {
  constexpr std::string_view kInline = "inline ", kDevice = "__device__ ";
  std::string text(file);
  for (size_t at = 0; (at = text.find(kInline, at)) != std::string::npos; at += kDevice.size() + kInline.size())
    text.insert(at, kDevice);
  return text;
}

/// The sections of the files, in the order of the arguments: a file may only use earlier files.
std::vector<Section> all_sections(std::initializer_list<std::string_view> files) {
  std::vector<Section> all;
  for (const std::string_view file : files) std::ranges::move(sections_of(file), std::back_inserter(all));
  return all;
}

const std::vector<Section>& sections(Target::Kind target) {
  static const std::string float8 = with_device_functions(target_prelude_float8_h),
                           iterations = with_device_functions(target_prelude_iterations_h),
                           igamma = with_device_functions(target_prelude_igamma_h),
                           erfcx = with_device_functions(target_prelude_erfcx_h),
                           philox = with_device_functions(target_prelude_philox_h),
                           reduce = with_device_functions(target_prelude_reduce_h);
  static const std::vector<Section> cuda =
      all_sections({target_prelude_cuda_cuh, float8, iterations, igamma, erfcx, philox, reduce,
                    target_prelude_division_cuh, target_prelude_reduce_cuh});
  static const std::vector<Section> cpu = all_sections(
      {target_prelude_libm_h, target_prelude_cpu_types_h, target_prelude_cpu_h, target_prelude_reduce_h,
       target_prelude_cpu_loops_h, target_prelude_staging_h, target_prelude_cpu_reduce_h, target_prelude_float8_h,
       target_prelude_iterations_h, target_prelude_igamma_h, target_prelude_erfcx_h, target_prelude_philox_h});
  return target == Target::Kind::Cuda ? cuda : cpu;
}

/// The sections that the source mentions, and those that these mention.
std::vector<const Section*> sections_for(Target::Kind target, std::string_view source) {
  const std::vector<Section>& all = sections(target);
  std::vector<bool> is_selected(all.size());
  std::set<std::string, std::less<>> mentioned = identifiers(source);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t p = 0; p < all.size(); ++p) {
      const auto is_mentioned = [&](const std::string& word) { return mentioned.contains(word); };
      if (is_selected[p] || !std::ranges::all_of(all[p].required_names, is_mentioned)) continue;
      is_selected[p] = changed = true;
      mentioned.insert(all[p].mentions.begin(), all[p].mentions.end());
    }
  }
  std::vector<const Section*> selected;
  for (size_t p = 0; p < all.size(); ++p)
    if (is_selected[p]) selected.push_back(&all[p]);
  return selected;
}

}  // namespace

std::string prelude_for(Target::Kind target, std::string_view source) {
  std::string text;
  for (const Section* section : sections_for(target, source)) {
    text += section->text;
    if (!text.ends_with("\n\n")) text += "\n";
  }
  return text;
}

std::vector<std::string> prelude_names(Target::Kind target, std::string_view source) {
  std::vector<std::string> names;
  for (const Section* section : sections_for(target, source))
    if (std::ranges::count(names, section->required_names[0]) == 0) names.push_back(section->required_names[0]);
  return names;
}

const std::set<std::string, std::less<>>& reserved_by_preludes() {
  static const std::set<std::string, std::less<>> reserved = [] {
    std::string text;
    for (const Target::Kind target : {Target::Kind::Cpu, Target::Kind::Cuda}) {
      text += spelling_text(target);
      for (const Section& section : sections(target)) text += section.text;
    }
    return declared_or_called_names(text);
  }();
  return reserved;
}

std::string reserved_text(Target::Kind target) {
  std::string text = spelling_text(target);
  for (const Section& section : sections(target)) text += section.required_names[0] + "\n";
  return text;
}

}  // namespace ingot::codegen
