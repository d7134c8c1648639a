#include "agent/schema/decimal.h"
#include "agent/schema/json_schema_program.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

namespace agent::schema {
namespace {

constexpr std::size_t k_max_listed = 10;
constexpr std::int64_t k_most_pattern_steps = 200'000;  // of RE2: what they cost to be read

template <typename List>
std::string join(const List& words, std::string_view between) {
  std::string out;
  std::size_t count = 0;
  for (const auto& word : words) {
    if (count == k_max_listed) {
      return out + std::string(between) + "…";
    }
    out += (count++ == 0 ? "" : std::string(between)) + std::string(word);
  }
  return out;
}

// "3 items", "1 item", "2 properties".
std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::unexpected<Error> bad(std::string_view pointer, std::string_view what, std::string help = {}) {
  return fail(
      Code::config_invalid,
      fmt::format("the JSON Schema is wrong at `{}`: {}", pointer.empty() ? "/" : pointer, what),
      std::move(help));
}

// A reference against the URI of the schema that holds it, as far as ids within one document go.
std::string resolved(const std::string& base, const std::string& reference) {
  if (RE2::PartialMatch(reference, "^[A-Za-z][A-Za-z0-9+.-]*:")) {
    return reference;
  }
  const std::string document = base.substr(0, base.find('#'));
  if (reference.empty() || reference.starts_with('#')) {
    return document + reference;
  }
  const std::size_t scheme = document.find("://");
  const std::size_t root = scheme == std::string::npos ? 0 : document.find('/', scheme + 3);
  if (reference.starts_with('/')) {
    return document.substr(0, root) + reference;
  }
  const std::size_t last = document.rfind('/');
  if (root == std::string::npos) {
    return document + "/" + reference;
  }
  return (last == std::string::npos ? std::string() : document.substr(0, last + 1)) + reference;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::uint32_t byte = 0;
    if (text[at] == '%' && at + 2 < text.size() &&
        RE2::FullMatch(std::string(text.substr(at + 1, 2)), "([0-9A-Fa-f]{2})", RE2::Hex(&byte))) {
      out += static_cast<char>(byte);
      at += 2;
    } else {
      out += text[at];
    }
  }
  return out;
}

std::string unescaped(std::string_view token) {
  std::string out;
  for (std::size_t at = 0; at < token.size(); ++at) {
    if (token[at] == '~' && at + 1 < token.size() &&
        (token[at + 1] == '0' || token[at + 1] == '1')) {
      out += token[++at] == '0' ? '~' : '/';
    } else {
      out += token[at];
    }
  }
  return out;
}

// ECMA 262 writes a few things that RE2 knows under another name.
std::string to_re2(std::string pattern) {
  RE2::GlobalReplace(&pattern, R"(\\u([0-9A-Fa-f]{4}))", R"(\\x{\1})");
  RE2::GlobalReplace(&pattern, R"(\(\?<([A-Za-z_]))", R"((?P<\1)");
  return pattern;
}

// Makes Nodes of schemas. Subschemas wait in a queue instead of being compiled at once, so that
// neither depth nor references make it recurse.
class Compiler {
 public:
  explicit Compiler(Program& program) : program_(program) {
    const Json* dialect = member(program.document, "$schema");
    // Since 2019-09 what stands beside a $ref counts; before, it is ignored.
    ref_stands_alone_ = dialect == nullptr || !dialect->is_string()
                            ? program.unsaid == JsonSchema::Draft::draft_7
                            : !RE2::PartialMatch(dialect->get<std::string>(), "/draft/20(19|2)");
  }

  Result<void> compile() {
    program_.root = child(program_.document, "", "");
    documents_[""] = location(*program_.root);
    while (!queue_.empty() || !references_.empty()) {
      while (!queue_.empty()) {
        Node& node = *queue_.front();
        queue_.pop_front();
        TRY(compile_node(node));
      }
      // Only now all ids within reach are known.
      for (const auto& [node, reference] : std::exchange(references_, {})) {
        TRY(resolve(*node, reference));
      }
    }
    return refuse_endless();
  }

 private:
  using Step = Result<void> (Compiler::*)(Node& node, std::string_view keyword, const Json& value);
  struct Row {
    std::string_view keyword;
    Step step;
  };
  struct Location {
    const Json* schema = nullptr;
    std::string pointer;
    std::string base;
  };

  // Every keyword that asserts something; all others are annotations.
  static std::span<const Row> rows() {
    static constexpr auto k_rows = std::to_array<Row>({
        {"definitions", &Compiler::definitions},
        {"$defs", &Compiler::definitions},
        {"$ref", &Compiler::ref},
        {"type", &Compiler::type},
        {"enum", &Compiler::enumeration},
        {"const", &Compiler::constant},
        {"minimum", &Compiler::bound},
        {"maximum", &Compiler::bound},
        {"exclusiveMinimum", &Compiler::bound},
        {"exclusiveMaximum", &Compiler::bound},
        {"multipleOf", &Compiler::multiple_of},
        {"minLength", &Compiler::size},
        {"maxLength", &Compiler::size},
        {"pattern", &Compiler::pattern},
        {"minItems", &Compiler::size},
        {"maxItems", &Compiler::size},
        {"uniqueItems", &Compiler::unique_items},
        {"items", &Compiler::items},
        {"prefixItems", &Compiler::prefix_items},
        {"additionalItems", &Compiler::additional_items},
        {"contains", &Compiler::contains},
        {"required", &Compiler::required},
        {"minProperties", &Compiler::size},
        {"maxProperties", &Compiler::size},
        {"properties", &Compiler::properties},
        {"patternProperties", &Compiler::properties},
        {"additionalProperties", &Compiler::properties},
        {"propertyNames", &Compiler::property_names},
        {"dependencies", &Compiler::dependencies},
        {"dependentRequired", &Compiler::dependencies},
        {"dependentSchemas", &Compiler::dependencies},
        {"allOf", &Compiler::all_of},
        {"anyOf", &Compiler::any_of},
        {"oneOf", &Compiler::one_of},
        {"not", &Compiler::negation},
        {"if", &Compiler::condition},
        {"then", &Compiler::without_if},
        {"else", &Compiler::without_if},
        {"minContains", &Compiler::beside_contains},
        {"maxContains", &Compiler::beside_contains},
        {"unevaluatedProperties", &Compiler::unsupported},
        {"unevaluatedItems", &Compiler::unsupported},
        {"$dynamicRef", &Compiler::unsupported},
        {"$recursiveRef", &Compiler::unsupported},
    });
    return k_rows;
  }

  static std::string at(const Node& node, std::string_view keyword) {
    return node.pointer + "/" + escaped(keyword);
  }

  // The node of a schema, compiled later.
  Node* child(const Json& schema, std::string pointer, std::string base) {
    const auto [known, is_new] = nodes_.emplace(&schema, nullptr);
    if (is_new) {
      Node& node = program_.nodes.emplace_back();
      node.schema = &schema;
      node.pointer = std::move(pointer);
      node.base = std::move(base);
      known->second = &node;
      queue_.push_back(&node);
    }
    return known->second;
  }
  Node* child(const Node& parent, std::string_view keyword, const Json& schema) {
    return child(schema, at(parent, keyword), parent.base);
  }

  Result<void> compile_node(Node& node) {
    const Json& schema = *node.schema;
    if (schema.is_boolean()) {
      node.always = schema.get<bool>();
      return {};
    }
    if (!schema.is_object()) {
      return bad(node.pointer,
                 "a schema is an object or a boolean, not " + phrase(type_of(schema)));
    }
    const bool is_only_ref = ref_stands_alone_ && member(schema, "$ref") != nullptr;
    if (!is_only_ref) {
      learn_ids(node);
    }
    for (const Row& row : rows()) {
      const Json* value = member(schema, row.keyword);
      const bool counts = !is_only_ref || row.keyword == "$ref" || row.keyword == "definitions" ||
                          row.keyword == "$defs";
      if (value != nullptr && counts) {
        TRY((this->*row.step)(node, row.keyword, *value));
      }
    }
    find_misspellings(node);
    return {};
  }

  // Those that assert nothing are here so that nobody takes them for others.
  static std::span<const std::string_view> keywords() {
    static const std::vector<std::string_view> k_keywords = [] {
      std::vector<std::string_view> names = {
          "title",           "description",   "default",     "examples",
          "example",         "$schema",       "$id",         "id",
          "$comment",        "format",        "readOnly",    "writeOnly",
          "deprecated",      "$anchor",       "nullable",    "contentMediaType",
          "contentEncoding", "contentSchema", "$vocabulary", "$dynamicAnchor"};
      for (const Row& row : rows()) {
        names.push_back(row.keyword);
      }
      std::ranges::sort(names);
      names.erase(std::ranges::unique(names).begin(), names.end());
      return names;
    }();
    return k_keywords;
  }

  void find_misspellings(const Node& node) {
    constexpr std::size_t k_most = 20;
    for (const auto& [name, value] : node.schema->items()) {
      if (program_.misspellings.size() >= k_most || std::ranges::binary_search(keywords(), name)) {
        continue;
      }
      if (const auto meant = nearest(name, keywords())) {
        program_.misspellings.push_back(
            fmt::format("unknown keyword `{}` at {}; did you mean `{}`?",
                        printable(name),
                        node.pointer.empty() ? "the top" : printable(node.pointer),
                        *meant));
      }
    }
  }

  void learn_ids(Node& node) {
    const std::string_view id = text_at(*node.schema, "$id");
    if (id.starts_with('#')) {
      anchors_[node.base + std::string(id)] = location(node);
    } else if (!id.empty()) {
      node.base = resolved(node.base, std::string(id));
      node.base.resize(std::min(node.base.find('#'), node.base.size()));
      documents_[node.base] = location(node);
    }
    if (const std::string_view anchor = text_at(*node.schema, "$anchor"); !anchor.empty()) {
      anchors_[node.base + "#" + std::string(anchor)] = location(node);
    }
  }

  static Location location(const Node& node) { return {node.schema, node.pointer, node.base}; }

  // --- references ---

  Result<void> ref(Node& node, std::string_view keyword, const Json& value) {
    if (!value.is_string()) {
      return bad(at(node, keyword), "must be a string");
    }
    references_.emplace_back(&node, value.get<std::string>());
    return {};
  }

  Result<void> resolve(Node& node, const std::string& reference) {
    const std::string uri = resolved(node.base, reference);
    const std::string document = uri.substr(0, uri.find('#'));
    const std::string fragment =
        uri.size() > document.size() ? percent_decoded(uri.substr(document.size() + 1)) : "";
    const auto start = documents_.find(document);
    if (start == documents_.end()) {
      return bad(at(node, "$ref"),
                 fmt::format("`{}` is another document; it is never fetched", reference),
                 "copy what it refers to under `definitions` and refer to `#/definitions/NAME`");
    }
    std::optional<Location> target = start->second;
    if (fragment.starts_with('/')) {
      target = walk(start->second, fragment);
    } else if (!fragment.empty()) {
      const auto anchor = anchors_.find(document + "#" + fragment);
      target = anchor == anchors_.end() ? std::nullopt : std::optional(anchor->second);
    }
    if (!target) {
      return bad(at(node, "$ref"), fmt::format("there is nothing at `{}`", reference));
    }
    const Node* judged = child(*target->schema, target->pointer, target->base);
    node.target = judged;
    node.on_same_value.push_back(judged);
    node.checks.push_back(
        [judged](const Json& value, Judge& judge) { judge.judge(*judged, value); });
    return {};
  }

  std::optional<Location> walk(Location at, std::string_view pointer) const {
    while (!pointer.empty()) {
      pointer.remove_prefix(1);
      const std::string_view token = pointer.substr(0, pointer.find('/'));
      pointer.remove_prefix(token.size());
      const std::string key = unescaped(token);
      std::size_t index = 0;
      if (at.schema->is_object()) {
        at.schema = member(*at.schema, key);
      } else if (at.schema->is_array() && RE2::FullMatch(key, "([0-9]+)", &index) &&
                 index < at.schema->size()) {
        at.schema = &(*at.schema)[index];
      } else {
        return std::nullopt;
      }
      if (at.schema == nullptr) {
        return std::nullopt;
      }
      at.pointer += "/" + std::string(token);
      if (const std::string_view id = text_at(*at.schema, "$id");
          !pointer.empty() && !id.empty() && !id.starts_with('#')) {
        at.base = resolved(at.base, std::string(id));
      }
    }
    return at;
  }

  Result<void> definitions(Node& node, std::string_view keyword, const Json& value) {
    TRY_ASSIGN(const auto defined, schemas_by_name(node, keyword, value));
    return {};
  }

  // A schema that judges a value by judging the same value would never come to an end. Depth
  // first, without recursion; `open` are the nodes on the way to the present one.
  Result<void> refuse_endless() const {
    std::set<const Node*> done;
    for (const Node& start : program_.nodes) {
      std::vector<std::pair<const Node*, std::size_t>> way = {{&start, 0}};
      std::set<const Node*> open = {&start};
      while (!way.empty()) {
        auto& [node, next] = way.back();
        if (done.contains(node) || next == node->on_same_value.size()) {
          done.insert(node);
          open.erase(node);
          way.pop_back();
          continue;
        }
        const Node* following = node->on_same_value[next++];
        if (!open.insert(following).second) {
          return bad(following->pointer, "refers to itself without end");
        }
        way.emplace_back(following, 0);
      }
    }
    return {};
  }

  // --- any value ---

  Result<void> type(Node& node, std::string_view keyword, const Json& value) {
    const Json list = value.is_array() ? value : Json::array({value});
    for (const Json& name : list) {
      const auto row = std::find_if(all_types().begin(),
                                    all_types().end(),
                                    [&](const TypeRow& type) { return name == Json(type.name); });
      if (row == all_types().end()) {
        return bad(at(node, keyword),
                   fmt::format("{} is not a type", excerpt(name)),
                   "types are object, array, string, integer, number, boolean and null");
      }
      node.types = static_cast<Types>(node.types | row->bit);
    }
    return node.types == 0 ? Result<void>(bad(at(node, keyword), "names no type")) : Result<void>();
  }

  Result<void> enumeration(Node& node, std::string_view keyword, const Json& value) {
    if (!value.is_array()) {
      return bad(at(node, keyword), "must be an array");
    }
    std::vector<std::string> shown;
    for (const Json& option : value) {
      shown.push_back(excerpt(option));
    }
    be_one_of(node, {value.begin(), value.end()}, "must be one of " + join(shown, ", "));
    return {};
  }

  Result<void> constant(Node& node, std::string_view, const Json& value) {
    be_one_of(node, {value}, "must be " + excerpt(value));
    return {};
  }

  static void be_one_of(Node& node, const std::vector<Json>& options, std::string message) {
    std::unordered_multimap<std::size_t, Json> by_hash;
    for (const Json& option : options) {
      by_hash.emplace(hash_of(option), option);
    }
    node.checks.push_back([by_hash = std::move(by_hash), message = std::move(message)](
                              const Json& judged, Judge& judge) {
      if (!judge.spend(weight_of(judged))) {
        return;
      }
      const auto [first, last] = by_hash.equal_range(hash_of(judged));
      if (std::none_of(
              first, last, [&](const auto& one) { return is_equal(one.second, judged); })) {
        judge.fail(message + ", is " + excerpt(judged));
      }
    });
  }

  // --- numbers ---

  Result<void> bound(Node& node, std::string_view keyword, const Json& value) {
    if (!is_number(value)) {
      return bad(at(node, keyword),
                 "must be a number",
                 value.is_boolean() ? "since draft 6 `exclusiveMinimum` and `exclusiveMaximum` are "
                                      "the bound itself"
                                    : "");
    }
    const bool is_lower = keyword == "minimum" || keyword == "exclusiveMinimum";
    const bool is_exclusive = keyword.starts_with("exclusive");
    const std::string_view words =
        is_exclusive ? (is_lower ? "more than" : "less than") : (is_lower ? "at least" : "at most");
    node.checks.push_back(
        [=, limit = decimal_of(value), shown = excerpt(value)](const Json& judged, Judge& judge) {
          if (!is_number(judged)) {
            return;
          }
          const auto order = decimal_of(judged) <=> limit;
          if ((order == 0 && is_exclusive) || (is_lower ? order < 0 : order > 0)) {
            judge.fail(fmt::format("must be {} {}, is {}", words, shown, excerpt(judged)));
          }
        });
    return {};
  }

  Result<void> multiple_of(Node& node, std::string_view keyword, const Json& value) {
    if (!is_number(value) || decimal_of(value) <= Decimal{}) {
      return bad(at(node, keyword), "must be a number above 0");
    }
    Decimal unit = decimal_of(value);
    if (unit.digits.size() > k_most_unit_digits) {
      return bad(at(node, keyword), fmt::format("has more than {} digits", k_most_unit_digits));
    }
    node.checks.push_back([&value, unit = std::move(unit)](const Json& judged, Judge& judge) {
      if (is_number(judged) && !is_multiple(decimal_of(judged), unit)) {
        judge.fail(fmt::format("must be a multiple of {}, is {}", excerpt(value), excerpt(judged)));
      }
    });
    return {};
  }

  // --- sizes ---

  Result<std::size_t> count(const std::string& pointer, const Json& value) const {
    const auto size =
        is_number(value) && decimal_of(value).is_whole() ? integer_of(value) : std::nullopt;
    if (!size || *size < 0) {
      return bad(pointer, "must be a whole number of at least 0");
    }
    return static_cast<std::size_t>(*size);
  }

  Result<void> size(Node& node, std::string_view keyword, const Json& value) {
    TRY_ASSIGN(const std::size_t limit, count(at(node, keyword), value));
    const bool is_lower = keyword.starts_with("min");
    const std::string_view what = keyword.substr(3);
    node.checks.push_back([=](const Json& judged, Judge& judge) {
      std::size_t size = 0;
      std::pair<std::string_view, std::string_view> unit;
      if (what == "Length" && judged.is_string() && judge.spend(weight_of(judged))) {
        size = character_count(judged.get_ref<const std::string&>());
        unit = {"character", "characters"};
      } else if (what == "Items" && judged.is_array()) {
        size = judged.size();
        unit = {"item", "items"};
      } else if (what == "Properties" && judged.is_object()) {
        size = judged.size();
        unit = {"property", "properties"};
      } else {
        return;
      }
      if (is_lower ? size < limit : size > limit) {
        judge.fail(fmt::format("must have at {} {}, has {}",
                               is_lower ? "least" : "most",
                               counted(limit, unit.first, unit.second),
                               size));
      }
    });
    return {};
  }

  // --- strings ---

  Result<const RE2*> regex(const std::string& pointer, const std::string& text) {
    RE2::Options options;
    options.set_log_errors(false);
    const RE2& made = program_.patterns.emplace_back(to_re2(text), options);
    if (!made.ok()) {
      return bad(pointer,
                 fmt::format("the pattern `{}` is not understood ({})", text, made.error()),
                 "patterns are RE2: no look-around and no back-references");
    }
    pattern_steps_ += made.ProgramSize();
    if (pattern_steps_ > k_most_pattern_steps) {
      return bad(pointer,
                 "the patterns of the schema are too much work together",
                 "fewer patterns, or fewer repetitions like `{1,900}` in them");
    }
    return &made;
  }

  Result<void> pattern(Node& node, std::string_view keyword, const Json& value) {
    if (!value.is_string()) {
      return bad(at(node, keyword), "must be a string");
    }
    const std::string& text = value.get_ref<const std::string&>();
    TRY_ASSIGN(const RE2* const made, regex(at(node, keyword), text));
    node.checks.push_back([made, &text](const Json& judged, Judge& judge) {
      if (judged.is_string() && judge.spend(weight_of(judged)) &&
          !RE2::PartialMatch(judged.get_ref<const std::string&>(), *made)) {
        judge.fail(fmt::format("must match the pattern {}, is {}", text, excerpt(judged)));
      }
    });
    return {};
  }

  // --- arrays ---

  Result<void> unique_items(Node& node, std::string_view keyword, const Json& value) {
    if (!value.is_boolean()) {
      return bad(at(node, keyword), "must be true or false");
    }
    if (value == Json(true)) {
      node.checks.push_back([](const Json& judged, Judge& judge) {
        const bool may = judged.is_array() && judge.spend(weight_of(judged));
        if (const auto twins = may ? find_twins(judged) : std::nullopt) {
          judge.fail(fmt::format("must not have duplicate items: items {} and {} are equal",
                                 twins->first,
                                 twins->second));
        }
      });
    }
    return {};
  }

  // The items from `first` on.
  static void judge_rest(Node& node, const Node* rest, std::size_t first) {
    node.checks.push_back([=](const Json& judged, Judge& judge) {
      for (std::size_t at = first; judged.is_array() && at < judged.size() && !judge.is_done();
           ++at) {
        judge.judge_at(*rest, judged[at], std::to_string(at));
      }
    });
  }

  Result<void> prefix_items(Node& node, std::string_view keyword, const Json& value) {
    TRY_ASSIGN(const auto places, schemas_in_order(node, keyword, value));
    node.checks.push_back([places](const Json& judged, Judge& judge) {
      for (std::size_t at = 0;
           judged.is_array() && !judge.is_done() && at < std::min(judged.size(), places.size());
           ++at) {
        judge.judge_at(*places[at], judged[at], std::to_string(at));
      }
    });
    return {};
  }

  Result<void> items(Node& node, std::string_view keyword, const Json& value) {
    if (value.is_array()) {
      return prefix_items(node, keyword, value);
    }
    const Json* before = member(*node.schema, "prefixItems");
    judge_rest(node, child(node, keyword, value), before == nullptr ? 0 : before->size());
    return {};
  }

  Result<void> additional_items(Node& node, std::string_view keyword, const Json& value) {
    const Json* places = member(*node.schema, "items");
    const Node* rest = child(node, keyword, value);
    if (places != nullptr && places->is_array()) {
      judge_rest(node, rest, places->size());
    }
    return {};
  }

  Result<void> contains(Node& node, std::string_view keyword, const Json& value) {
    const Node* wanted = child(node, keyword, value);
    std::size_t least = 1;
    std::size_t most = std::numeric_limits<std::size_t>::max();
    if (const Json* given = member(*node.schema, "minContains")) {
      TRY_ASSIGN(least, count(at(node, "minContains"), *given));
    }
    if (const Json* given = member(*node.schema, "maxContains")) {
      TRY_ASSIGN(most, count(at(node, "maxContains"), *given));
    }
    node.checks.push_back([=](const Json& judged, Judge& judge) {
      if (!judged.is_array()) {
        return;
      }
      const auto found = static_cast<std::size_t>(
          std::count_if(judged.begin(), judged.end(), [&](const Json& item) {
            return !judge.is_done() && judge.matches(*wanted, item);
          }));
      if (found < least || found > most) {
        judge.fail(fmt::format("must hold {} {} that {} {}, holds {}",
                               found < least ? "at least" : "at most",
                               counted(found < least ? least : most, "item", "items"),
                               (found < least ? least : most) == 1 ? "matches" : "match",
                               excerpt(*wanted->schema),
                               found));
      }
    });
    return {};
  }

  Result<void> beside_contains(Node& node, std::string_view keyword, const Json& value) {
    TRY_ASSIGN([[maybe_unused]] const std::size_t checked, count(at(node, keyword), value));
    return {};
  }

  // --- objects ---

  Result<std::vector<std::string>> names_in(const std::string& pointer, const Json& value) const {
    std::vector<std::string> names;
    for (const Json& name : value) {
      if (!name.is_string()) {
        break;
      }
      names.push_back(name.get<std::string>());
    }
    if (!value.is_array() || names.size() != value.size()) {
      return bad(pointer, "must be an array of property names");
    }
    return names;
  }

  // A member, which is looked for from the first one on.
  static std::size_t steps_to_find(const Json& object) { return 1 + object.size() / 16; }

  static Check require(std::vector<std::string> names, std::string because) {
    return
        [names = std::move(names), because = std::move(because)](const Json& judged, Judge& judge) {
          for (const std::string& name : names) {
            if (judged.is_object() && judge.spend(steps_to_find(judged)) &&
                member(judged, name) == nullptr) {
              judge.fail(fmt::format("must have the property `{}`{}", name, because));
            }
          }
        };
  }

  Result<void> required(Node& node, std::string_view keyword, const Json& value) {
    TRY_ASSIGN(auto names, names_in(at(node, keyword), value));
    node.checks.push_back(require(std::move(names), ""));
    return {};
  }

  struct Properties {
    std::map<std::string, const Node*, std::less<>> named;
    std::vector<std::pair<const RE2*, const Node*>> patterns;
    const Node* additional = nullptr;
  };

  // The three belong together: the first of them that is there compiles all.
  Result<void> properties(Node& node, std::string_view keyword, const Json&) {
    const Json* named = member(*node.schema, "properties");
    const Json* patterns = member(*node.schema, "patternProperties");
    const Json* additional = member(*node.schema, "additionalProperties");
    const bool is_first = keyword == "properties" || (named == nullptr && keyword[0] == 'p') ||
                          (named == nullptr && patterns == nullptr);
    if (!is_first) {
      return {};
    }
    Properties all;
    if (named != nullptr) {
      TRY_ASSIGN(all.named, schemas_by_name(node, "properties", *named));
    }
    if (patterns != nullptr) {
      TRY_ASSIGN(const auto schemas, schemas_by_name(node, "patternProperties", *patterns));
      for (const auto& [pattern, schema] : schemas) {
        TRY_ASSIGN(const RE2* const made, regex(schema->pointer, pattern));
        all.patterns.emplace_back(made, schema);
      }
    }
    if (additional != nullptr) {
      all.additional = child(node, "additionalProperties", *additional);
    }
    node.checks.push_back([all](const Json& judged, Judge& judge) {
      for (auto it = judged.begin(); judged.is_object() && it != judged.end() && !judge.is_done();
           ++it) {
        judge_property(all, it.key(), *it, judge);
      }
    });
    return {};
  }

  static void judge_property(const Properties& all,
                             const std::string& name,
                             const Json& value,
                             Judge& judge) {
    bool is_known = false;
    if (const auto named = all.named.find(name); named != all.named.end()) {
      is_known = true;
      judge.judge_at(*named->second, value, name);
    }
    for (const auto& [pattern, schema] : all.patterns) {
      if (judge.spend(1 + name.size() / 16) && RE2::PartialMatch(name, *pattern)) {
        is_known = true;
        judge.judge_at(*schema, value, name);
      }
    }
    if (is_known || all.additional == nullptr || judge.is_done()) {
      return;
    }
    if (all.additional->always == false && judge.spend(4 * all.named.size())) {
      judge.fail_at(name, "is not a known property" + suggestion(all, name));
    } else {
      judge.judge_at(*all.additional, value, name);
    }
  }

  static std::string suggestion(const Properties& all, const std::string& name) {
    std::vector<std::string> names;
    for (const auto& [known, schema] : all.named) {
      names.push_back(known);
    }
    if (names.empty()) {
      return "";
    }
    const auto near = nearest(name, names);
    return near ? fmt::format("; did you mean `{}`?", *near)
                : fmt::format("; known: {}", join(names, ", "));
  }

  Result<void> property_names(Node& node, std::string_view keyword, const Json& value) {
    const Node* wanted = child(node, keyword, value);
    node.checks.push_back([wanted](const Json& judged, Judge& judge) {
      for (auto it = judged.begin(); judged.is_object() && it != judged.end() && !judge.is_done();
           ++it) {
        judge.spend(it.key().size() / 16);
        for (const Violation& violation : judge.probe(*wanted, Json(it.key()))) {
          judge.fail(fmt::format("has a property `{}` whose name {}", it.key(), violation.message));
        }
      }
    });
    return {};
  }

  Result<void> dependencies(Node& node, std::string_view keyword, const Json& value) {
    if (!value.is_object()) {
      return bad(at(node, keyword), "must be an object");
    }
    for (auto it = value.begin(); it != value.end(); ++it) {
      const std::string& name = it.key();
      const bool is_list = keyword == "dependentRequired" || (keyword[6] == 'e' && it->is_array());
      Check then;
      if (is_list) {
        TRY_ASSIGN(auto names, names_in(at(node, keyword) + "/" + escaped(name), *it));
        then = require(std::move(names), fmt::format(", because it has `{}`", name));
      } else {
        const Node* wanted = child(*it, at(node, keyword) + "/" + escaped(name), node.base);
        node.on_same_value.push_back(wanted);
        then = [wanted](const Json& judged, Judge& judge) { judge.judge(*wanted, judged); };
      }
      node.checks.push_back([name, then](const Json& judged, Judge& judge) {
        if (judged.is_object() && judge.spend(steps_to_find(judged)) &&
            member(judged, name) != nullptr) {
          then(judged, judge);
        }
      });
    }
    return {};
  }

  // --- schemas together ---

  Result<std::vector<const Node*>> schemas_in_order(Node& node,
                                                    std::string_view keyword,
                                                    const Json& value) {
    if (!value.is_array()) {
      return bad(at(node, keyword), "must be an array of schemas");
    }
    std::vector<const Node*> nodes;
    for (std::size_t index = 0; index < value.size(); ++index) {
      nodes.push_back(
          child(value[index], fmt::format("{}/{}", at(node, keyword), index), node.base));
    }
    return nodes;
  }

  Result<std::map<std::string, const Node*, std::less<>>> schemas_by_name(Node& node,
                                                                          std::string_view keyword,
                                                                          const Json& value) {
    if (!value.is_object()) {
      return bad(at(node, keyword), "must be an object of schemas");
    }
    std::map<std::string, const Node*, std::less<>> nodes;
    for (auto it = value.begin(); it != value.end(); ++it) {
      nodes[it.key()] = child(*it, at(node, keyword) + "/" + escaped(it.key()), node.base);
    }
    return nodes;
  }

  Result<std::vector<const Node*>> branches(Node& node,
                                            std::string_view keyword,
                                            const Json& value) {
    TRY_ASSIGN(auto nodes, schemas_in_order(node, keyword, value));
    if (nodes.empty()) {
      return bad(at(node, keyword), "must hold at least one schema");
    }
    node.on_same_value.insert(node.on_same_value.end(), nodes.begin(), nodes.end());
    return nodes;
  }

  Result<void> all_of(Node& node, std::string_view keyword, const Json& value) {
    TRY_ASSIGN(const auto nodes, branches(node, keyword, value));
    node.checks.push_back([nodes](const Json& judged, Judge& judge) {
      for (const Node* branch : nodes) {
        judge.judge(*branch, judged);
      }
    });
    return {};
  }

  Result<void> any_of(Node& node, std::string_view keyword, const Json& value) {
    TRY_ASSIGN(const auto nodes, branches(node, keyword, value));
    node.checks.push_back([nodes](const Json& judged, Judge& judge) {
      const bool fits = std::any_of(nodes.begin(), nodes.end(), [&](const Node* branch) {
        return judge.matches(*branch, judged);
      });
      if (!fits) {
        judge.fail_all(nodes, judged);
      }
    });
    return {};
  }

  Result<void> one_of(Node& node, std::string_view keyword, const Json& value) {
    TRY_ASSIGN(const auto nodes, branches(node, keyword, value));
    node.checks.push_back([nodes](const Json& judged, Judge& judge) {
      const auto fitting = std::count_if(nodes.begin(), nodes.end(), [&](const Node* branch) {
        return judge.matches(*branch, judged);
      });
      if (fitting == 0) {
        judge.fail_all(nodes, judged);
      } else if (fitting > 1) {
        judge.fail(fmt::format(
            "matches {} of the {} allowed forms, must match just one", fitting, nodes.size()));
      }
    });
    return {};
  }

  Result<void> negation(Node& node, std::string_view keyword, const Json& value) {
    const Node* unwanted = child(node, keyword, value);
    node.on_same_value.push_back(unwanted);
    node.checks.push_back([unwanted](const Json& judged, Judge& judge) {
      if (judge.matches(*unwanted, judged)) {
        judge.fail("must not match " + excerpt(*unwanted->schema));
      }
    });
    return {};
  }

  Result<void> condition(Node& node, std::string_view keyword, const Json& value) {
    const Node* asked = child(node, keyword, value);
    const auto branch = [&](std::string_view name) -> const Node* {
      const Json* schema = member(*node.schema, name);
      const Node* made = schema == nullptr ? nullptr : child(node, name, *schema);
      if (made != nullptr) {
        node.on_same_value.push_back(made);
      }
      return made;
    };
    node.on_same_value.push_back(asked);
    const Node* yes = branch("then");
    const Node* no = branch("else");
    node.checks.push_back([=](const Json& judged, Judge& judge) {
      const Node* next = judge.matches(*asked, judged) ? yes : no;
      if (next != nullptr) {
        judge.judge(*next, judged);
      }
    });
    return {};
  }

  // Judges nothing, but what it defines can be referred to.
  Result<void> without_if(Node& node, std::string_view keyword, const Json& value) {
    child(node, keyword, value);
    return {};
  }

  Result<void> unsupported(Node& node, std::string_view keyword, const Json&) {
    return bad(at(node, keyword),
               fmt::format("`{}` is not supported", keyword),
               "draft 7 is: for closed objects use `additionalProperties: false`");
  }

  Program& program_;
  bool ref_stands_alone_ = true;
  std::int64_t pattern_steps_ = 0;  // of all patterns
  std::unordered_map<const Json*, Node*> nodes_;
  std::deque<Node*> queue_;
  std::vector<std::pair<Node*, std::string>> references_;
  std::map<std::string, Location> documents_;  // by URI
  std::map<std::string, Location> anchors_;    // by URI#name
};

}  // namespace

Result<void> compile(Program& program) {
  return Compiler(program).compile();
}

}  // namespace agent::schema
