#include "codegen/target/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "codegen/target/reserved_names.h"

namespace ingot::codegen {
namespace {

// Keywords of C++20 and CUDA, and names that compilers and their implicit headers define as macros or objects.
constexpr std::string_view kReserved = R"(
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class co_await
co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do
double dynamic_cast else enum explicit export extern false final float for friend goto if import inline int long
module mutable namespace new noexcept not not_eq nullptr operator or or_eq override private protected public register
reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch template
this thread_local throw true try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t
while xor xor_eq

threadIdx blockIdx blockDim gridDim warpSize dim3 cudaError_t cudaStream_t assert clock clock64 printf malloc free
memcpy memset std main size_t ptrdiff_t nullptr_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t
intptr_t uintptr_t uint ushort ulong uchar
char1 char2 char3 char4 uchar1 uchar2 uchar3 uchar4 short1 short2 short3 short4 ushort1 ushort2 ushort3 ushort4
int1 int2 int3 int4 uint1 uint2 uint3 uint4 long1 long2 long3 long4 ulong1 ulong2 ulong3 ulong4
longlong1 longlong2 longlong3 longlong4 ulonglong1 ulonglong2 ulonglong3 ulonglong4
float1 float2 float3 float4 double1 double2 double3 double4

NULL NAN INFINITY HUGE_VAL HUGE_VALF HUGE_VALL EOF BUFSIZ RAND_MAX INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN
ULONG_MAX LLONG_MAX LLONG_MIN ULLONG_MAX SHRT_MAX SHRT_MIN USHRT_MAX CHAR_BIT CHAR_MAX CHAR_MIN SCHAR_MAX SCHAR_MIN
UCHAR_MAX FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX DBL_MIN DBL_EPSILON SIZE_MAX INT8_MAX INT16_MAX INT32_MAX INT64_MAX
UINT8_MAX UINT16_MAX UINT32_MAX UINT64_MAX M_E M_LOG2E M_LOG10E M_LN2 M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI
M_2_SQRTPI M_SQRT2 M_SQRT1_2 FP_NAN FP_INFINITE FP_ZERO FP_SUBNORMAL FP_NORMAL FP_ILOGB0 FP_ILOGBNAN DOMAIN SING
OVERFLOW UNDERFLOW PLOSS TLOSS CUDART_VERSION CUDARTAPI CUDA_VERSION
linux unix i386 errno signgam offsetof va_list va_start va_end va_arg
)";

// Functions that C and CUDA declare, or may declare, with C linkage, and functions that compilers call implicitly. A
// kernel must not have such a name; a local variable may. Each name also reserves its float (f) and long double (l)
// forms, which are not listed. Functions that the preludes call need not be listed: see reserved_by_preludes.
constexpr std::string_view kFunctions = R"(
abs acos acosh asin asinh atan atan2 atanh brev cbrt ceil clz copysign cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 drem
erf erfc erfcinv erfcx erfinv exit exp exp10 exp2 expm1 fabs fdim ffs finite floor fma fmax fmin fmod frexp gamma
hypot ilogb index isfinite isinf isnan isnormal j0 j1 jn labs ldexp lgamma llabs llmax llmin llrint llround log log10
log1p log2 logb lrint lround max min modf mul24 mulhi nan nearbyint nextafter norm norm3d norm4d normcdf normcdfinv
pow powi popc rand rcbrt remainder remquo rhypot rint rnorm round rsqrt saturate scalbn significand sin sincos
sincospi sinh sinpi sqrt tan tanh tgamma trunc ullmax ullmin umax umin umul24 umulhi y0 y1 yn read write open close
send time signal select memcmp memmove strlen abort
)";

constexpr std::array<std::string_view, 25> kGreek = {
    "alpha", "beta",    "gamma", "delta", "epsilon", "zeta",  "eta", "theta",   "iota", "kappa", "lambda", "mu",   "nu",
    "xi",    "omicron", "pi",    "rho",   "sigma",   "sigma", "tau", "upsilon", "phi",  "chi",   "psi",    "omega"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

using Words = std::set<std::string, std::less<>>;

/// Appends a Greek letter by its name, and any other character by its code point in hexadecimal: "lambda", "uf1".
void append_non_ascii(std::string& text, char32_t code) {
  constexpr char32_t kSmallAlpha = 0x3b1, kCapitalAlpha = 0x391;
  if (code >= kSmallAlpha && code < kSmallAlpha + kGreek.size()) {
    text += kGreek[code - kSmallAlpha];
  } else if (code >= kCapitalAlpha && code < kCapitalAlpha + kGreek.size()) {
    std::string word(kGreek[code - kCapitalAlpha]);
    word[0] = static_cast<char>(word[0] - 'a' + 'A');
    text += word;
  } else {
    text += fmt::format("u{:x}", static_cast<uint32_t>(code));
  }
}

}  // namespace

Words identifiers(std::string_view text) {
  Words words;
  for (size_t i = 0; i < text.size();) {
    if (text.substr(i).starts_with("//")) i = std::min(text.find('\n', i), text.size());
    size_t end = i;
    while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) ++end;
    if (end > i && is_letter(text[i])) words.emplace(text.substr(i, end - i));
    i = std::max(end, i + 1);
  }
  return words;
}

std::string identifier(std::string_view name) {
  std::string text;
  for (size_t i = 0; i < name.size();) {
    const Character c = decode_utf8(name, i);
    i += c.bytes;
    if (c.code >= 0x80) {
      append_non_ascii(text, c.code);
      continue;
    }
    const char ascii = static_cast<char>(c.code);
    const bool is_valid = is_letter(ascii) || is_digit(ascii);
    const char next = is_valid ? ascii : '_';
    // Names that start with an underscore or contain two in a row are reserved for the compiler.
    if (next != '_' || (!text.empty() && text.back() != '_')) text += next;
  }
  // The last underscore may come from a character such as the bracket of "xs[0]".
  if (!name.empty() && name.back() != '_' && text.size() > 1 && text.back() == '_') text.pop_back();
  if (text.empty() || is_digit(text[0])) text.insert(0, "v");
  static const Words reserved = identifiers(kReserved);
  if (reserved.contains(text)) text += text.back() == '_' ? "1" : "_";
  return text;
}

namespace {

/// Whether C or CUDA declares a function of this name with C linkage: "exp", "expf".
bool is_reserved_function(std::string_view name) {
  static const Words functions = identifiers(kFunctions);
  const auto is_known = [&](std::string_view stem) { return functions.contains(stem); };
  const auto without = [&](std::string_view suffix) {
    return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
  };
  return is_known(name) || is_known(without("f")) || is_known(without("l"));
}

}  // namespace

Words declared_or_called_names(std::string_view text) {
  constexpr std::string_view kBuiltin = "__builtin_", kTemplate = "template <";
  Words words;
  int depth = 0;  // nesting of braces and parentheses
  for (size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("//")) i = std::min(text.find('\n', i), text.size());
    if (depth == 0 && rest.starts_with(kTemplate)) i = text.find('>', i);  // skips the template parameters
    size_t end = i;
    while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) ++end;
    if (end == i) {
      const char c = i < text.size() ? text[i++] : ' ';
      depth += c == '{' || c == '(' ? 1 : c == '}' || c == ')' ? -1 : 0;
      continue;
    }
    const std::string_view word = text.substr(i, end - i);
    const bool is_called = end < text.size() && text[end] == '(';
    if (is_letter(word[0]) && (depth == 0 || is_called))
      words.emplace(word.starts_with(kBuiltin) ? word.substr(kBuiltin.size()) : word);
    i = end;
  }
  return words;
}

std::string entry_name(std::string_view name) {
  const std::string text = identifier(name);
  if (!is_reserved_function(text) && !reserved_by_preludes().contains(text)) return text;
  return text + (text.back() == '_' ? "1" : "_");
}

Names::Names(std::string_view reserved) : taken_(identifiers(reserved)) {}

std::string Names::claim(std::string_view preferred) {
  const std::string name = identifier(preferred);
  if (taken_.insert(name).second) return name;
  int& number = numbers_[name];
  std::string unique;
  do unique = fmt::format("{}{}{}", name, name.back() == '_' ? "" : "_", ++number);
  while (!taken_.insert(unique).second);
  return unique;
}

}  // namespace ingot::codegen
