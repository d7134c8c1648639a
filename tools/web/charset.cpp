#include "tools/web/charset.h"

#include "agent/text.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iconv.h>

namespace tools {
namespace {

constexpr std::string_view k_replacement = "\xEF\xBF\xBD";
constexpr std::size_t k_where_pages_say_it = 1'024;

struct Encoding {
  std::string_view label;
  const char* name;  // iconv's; null: UTF-8
};

// The encodings of https://encoding.spec.whatwg.org by their usual labels. As there, the Latin-1
// that pages speak of is Windows-1252.
constexpr std::array k_encodings = {
    Encoding{"utf-8", nullptr},
    Encoding{"utf8", nullptr},
    Encoding{"us-ascii", "WINDOWS-1252"},
    Encoding{"ascii", "WINDOWS-1252"},
    Encoding{"iso-8859-1", "WINDOWS-1252"},
    Encoding{"iso8859-1", "WINDOWS-1252"},
    Encoding{"latin1", "WINDOWS-1252"},
    Encoding{"windows-1252", "WINDOWS-1252"},
    Encoding{"cp1252", "WINDOWS-1252"},
    Encoding{"iso-8859-2", "ISO-8859-2"},
    Encoding{"latin2", "ISO-8859-2"},
    Encoding{"iso-8859-3", "ISO-8859-3"},
    Encoding{"iso-8859-4", "ISO-8859-4"},
    Encoding{"iso-8859-5", "ISO-8859-5"},
    Encoding{"iso-8859-6", "ISO-8859-6"},
    Encoding{"iso-8859-7", "ISO-8859-7"},
    Encoding{"iso-8859-8", "ISO-8859-8"},
    Encoding{"iso-8859-9", "WINDOWS-1254"},
    Encoding{"iso-8859-10", "ISO-8859-10"},
    Encoding{"iso-8859-13", "ISO-8859-13"},
    Encoding{"iso-8859-14", "ISO-8859-14"},
    Encoding{"iso-8859-15", "ISO-8859-15"},
    Encoding{"latin9", "ISO-8859-15"},
    Encoding{"iso-8859-16", "ISO-8859-16"},
    Encoding{"koi8-r", "KOI8-R"},
    Encoding{"koi8-u", "KOI8-U"},
    Encoding{"macintosh", "MACINTOSH"},
    Encoding{"ibm866", "IBM866"},
    Encoding{"windows-874", "WINDOWS-874"},
    Encoding{"tis-620", "WINDOWS-874"},
    Encoding{"windows-1250", "WINDOWS-1250"},
    Encoding{"windows-1251", "WINDOWS-1251"},
    Encoding{"cp1251", "WINDOWS-1251"},
    Encoding{"windows-1253", "WINDOWS-1253"},
    Encoding{"windows-1254", "WINDOWS-1254"},
    Encoding{"windows-1255", "WINDOWS-1255"},
    Encoding{"windows-1256", "WINDOWS-1256"},
    Encoding{"windows-1257", "WINDOWS-1257"},
    Encoding{"windows-1258", "WINDOWS-1258"},
    Encoding{"gb2312", "GB18030"},
    Encoding{"gbk", "GB18030"},
    Encoding{"gb18030", "GB18030"},
    Encoding{"big5", "BIG5-HKSCS"},
    Encoding{"euc-jp", "EUC-JP"},
    Encoding{"iso-2022-jp", "ISO-2022-JP"},
    Encoding{"shift_jis", "CP932"},
    Encoding{"shift-jis", "CP932"},
    Encoding{"sjis", "CP932"},
    Encoding{"euc-kr", "CP949"},
    Encoding{"ks_c_5601-1987", "CP949"},
    Encoding{"utf-16", "UTF-16LE"},
    Encoding{"utf-16le", "UTF-16LE"},
    Encoding{"utf-16be", "UTF-16BE"},
};

struct Mark {
  std::string_view bytes;
  const char* name;
};
constexpr std::array k_marks = {
    Mark{"\xEF\xBB\xBF", nullptr}, Mark{"\xFF\xFE", "UTF-16LE"}, Mark{"\xFE\xFF", "UTF-16BE"}};

class Converter {
 public:
  explicit Converter(const char* from) : handle_(::iconv_open("UTF-8", from)) {}
  ~Converter() {
    if (is_there()) {
      ::iconv_close(handle_);
    }
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  bool is_there() const { return handle_ != iconv_t(-1); }
  std::string convert(std::string_view bytes) const;

 private:
  iconv_t handle_;
};

std::string Converter::convert(std::string_view bytes) const {
  std::string text;
  std::array<char, 16'384> buffer;
  char* in = const_cast<char*>(bytes.data());
  std::size_t left = bytes.size();
  while (left > 0) {
    char* out = buffer.data();
    std::size_t room = buffer.size();
    const std::size_t done = ::iconv(handle_, &in, &left, &out, &room);
    const int why = done == static_cast<std::size_t>(-1) ? errno : 0;
    text.append(buffer.data(), out);
    if (why == EILSEQ) {
      ++in;
      --left;
    }
    if (why == EILSEQ || why == EINVAL) {
      text += k_replacement;
    }
    if (why != 0 && why != E2BIG && why != EILSEQ) {
      break;
    }
  }
  return text;
}

std::optional<std::string> convert(std::string_view bytes, const char* name) {
  if (name == nullptr) {
    return agent::to_valid_utf8(bytes);
  }
  const Converter converter(name);
  return converter.is_there() ? std::optional(converter.convert(bytes)) : std::nullopt;
}

}  // namespace

std::optional<std::string> to_utf8(std::string_view bytes, std::string_view label) {
  for (const Mark& mark : k_marks) {
    if (bytes.starts_with(mark.bytes)) {
      return convert(bytes.substr(mark.bytes.size()), mark.name);
    }
  }
  if (label.empty()) {
    return agent::is_valid_utf8(bytes) ? std::string(bytes) : convert(bytes, "WINDOWS-1252");
  }
  const std::string wanted = agent::to_lower(label);
  const auto found = std::ranges::find(k_encodings, wanted, &Encoding::label);
  return found == k_encodings.end() ? std::nullopt : convert(bytes, found->name);
}

std::string_view charset_in_page(std::string_view page) {
  page = page.substr(0, k_where_pages_say_it);
  const std::string lower = agent::to_lower(page);
  std::size_t at = lower.find("<meta");
  at = at == std::string::npos ? at : lower.find("charset", at);
  if (at == std::string::npos) {
    return {};
  }
  at = lower.find_first_not_of(" \t\r\n=\"'", at + 7);
  if (at == std::string::npos) {
    return {};
  }
  const std::string_view label =
      page.substr(at, std::min(lower.find_first_of(" \t\r\n\"';/>", at), lower.size()) - at);
  // A page that could be read so far is not in it.
  return agent::to_lower(label).starts_with("utf-16") ? std::string_view("utf-8") : label;
}

}  // namespace tools
