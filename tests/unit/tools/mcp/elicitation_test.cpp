#include "tools/mcp/elicitation.h"

#include <catch2/catch.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace {

using agent::Json;
using tools::mcp::Elicitor;
using Mode = agent::McpServerSpec::Elicitation;

// Says what was laid down, in that order; then it has left.
class Person final : public tools::Questioner {
 public:
  explicit Person(std::deque<std::string> answers) : answers_(std::move(answers)) {}

  std::unique_ptr<Conversation> begin(std::stop_token) override {
    ++conversations;
    return std::make_unique<Talk>(*this);
  }

  int conversations = 0;
  std::vector<tools::Question> asked;

 private:
  class Talk final : public Conversation {
   public:
    explicit Talk(Person& person) : person_(person) {}

    std::optional<std::string> ask(const tools::Question& question, std::stop_token) override {
      person_.asked.push_back(question);
      if (person_.answers_.empty()) {
        return std::nullopt;
      }
      std::string answer = std::move(person_.answers_.front());
      person_.answers_.pop_front();
      return answer;
    }

   private:
    Person& person_;
  };

  std::deque<std::string> answers_;
};

Json form(const char* properties, const char* required = "[]") {
  return {{"message", "Who?"},
          {"requestedSchema",
           {{"type", "object"},
            {"properties", *agent::parse_json(properties)},
            {"required", *agent::parse_json(required)}}}};
}

Json answer_of(tools::Questioner* person, const Json& params, Mode mode = Mode::ask) {
  return Elicitor(person).answer({.name = "s", .elicitation = mode}, params, {}).result;
}

Json accepted(const char* content) {
  return {{"action", "accept"}, {"content", *agent::parse_json(content)}};
}

const Json k_decline = {{"action", "decline"}};
const Json k_cancel = {{"action", "cancel"}};

}  // namespace

TEST_CASE("elicitation: what is typed becomes what the field is") {
  struct Row {
    const char* schema;
    const char* typed;
    const char* value;
  };
  const Row row =
      GENERATE(Row{R"({"type": "string"})", "7", R"("7")"},
               Row{R"({"type": "string", "enum": ["a", "b"]})", "b", R"("b")"},
               Row{R"({"type": "string", "oneOf": [{"const": "a", "title": "A"}]})", "a", R"("a")"},
               Row{R"({"type": "string", "format": "email"})", "ada@x.org", R"("ada@x.org")"},
               Row{R"({"type": "string", "format": "uri"})", "x:y", R"("x:y")"},
               Row{R"({"type": "string", "format": "date"})", "2028-02-29", R"("2028-02-29")"},
               Row{R"({"type": "string", "format": "date-time"})",
                   "2026-01-31T09:00:00.5+02:00",
                   R"("2026-01-31T09:00:00.5+02:00")"},
               Row{R"({"type": "string", "format": "dance"})", "waltz", R"("waltz")"},
               Row{R"({"type": "integer"})", "7", "7"},
               Row{R"({"type": "integer"})", "1e2", "100"},
               Row{R"({"type": "number"})", "-7.5", "-7.5"},
               Row{R"({"type": "boolean"})", "Yes", "true"},
               Row{R"({"type": "boolean"})", "n", "false"},
               Row{R"({"type": "array", "items": {"enum": ["a", "b"]}})", "b, a", R"(["b", "a"])"},
               Row{R"({"type": "array", "items": {"anyOf": [{"const": "a"}]}})", "a", R"(["a"])"});
  INFO(row.schema << ": " << row.typed);
  Person person({row.typed});
  CHECK(answer_of(&person, form((R"({"f": )" + std::string(row.schema) + "}").c_str())) ==
        accepted((R"({"f": )" + std::string(row.value) + "}").c_str()));
}

TEST_CASE("elicitation: what does not fit is asked again, with the reason, ten times in all") {
  struct Row {
    const char* schema;
    const char* typed;
  };
  const Row row =
      GENERATE(Row{R"({"type": "string", "enum": ["a", "b"]})", "c"},
               Row{R"({"type": "string", "minLength": 3})", "ab"},
               Row{R"({"type": "string", "format": "email"})", "ada at x"},
               Row{R"({"type": "string", "format": "email"})", "a@b@c"},
               Row{R"({"type": "string", "format": "uri"})", "x.org"},
               Row{R"({"type": "string", "format": "date"})", "2026-02-29"},
               Row{R"({"type": "string", "format": "date-time"})", "2026-01-31"},
               Row{R"({"type": "string", "format": "date-time"})", "2026-01-31T25:00:00Z"},
               Row{R"({"type": "integer"})", "7.5"},
               Row{R"({"type": "integer", "maximum": 6})", "7"},
               Row{R"({"type": "number"})", "seven"},
               Row{R"({"type": "number"})", "\"7\""},
               Row{R"({"type": "boolean"})", "perhaps"},
               Row{R"({"type": "array", "items": {"enum": ["a"]}})", "a, b"},
               Row{R"({"type": "array", "maxItems": 1})", "a, b"});
  INFO(row.schema << ": " << row.typed);
  const Json params = form((R"({"f": )" + std::string(row.schema) + "}").c_str());
  Person person(std::deque<std::string>(11, row.typed));
  CHECK(answer_of(&person, params) == k_decline);
  REQUIRE(person.asked.size() == 10);
  CHECK_THAT(person.asked.front().text, !Catch::Contains("does not fit"));
  const bool has_choices = std::string_view(row.schema).contains(R"("enum": ["a", "b"])") ||
                           std::string_view(row.typed) == "perhaps";
  CHECK_THAT(person.asked.back().text,
             Catch::Contains(has_choices ? "That does not fit: it is none of the choices"
                                         : "That does not fit: must"));
}

TEST_CASE("elicitation: a message is shown whole, or nobody is asked") {
  const auto with_message = [](std::size_t bytes) {
    Json params = form(R"({"f": {"type": "string"}})");
    params["message"] = std::string(bytes, 'm');
    return params;
  };
  Person person({"x", "x"});
  CHECK(answer_of(&person, with_message(8'000)) == accepted(R"({"f": "x"})"));
  CHECK(person.asked.front().text == std::string(8'000, 'm') + "\nf");
  CHECK(answer_of(&person, with_message(8'001)) == k_decline);
  CHECK(answer_of(&person, form(R"({"f": {"type": "object"}})")) == k_decline);
  CHECK(person.asked.size() == 1);
}

TEST_CASE("elicitation: one who said nothing means the default, or leaves the field out") {
  const Json params =
      form(R"({"a": {"type": "string", "default": "x"}, "b": {"type": "integer"}})");
  Person silent({"", ""});
  CHECK(answer_of(&silent, params) == accepted(R"({"a": "x"})"));
  REQUIRE(silent.asked.size() == 2);
  CHECK(silent.asked[0].text == "Who?\na");
  CHECK(silent.asked[0].enter == "\"x\"");
  CHECK(silent.asked[1].enter == "left out");
  CHECK(silent.asked[0].who == "The MCP server `s`");

  Person misled({""});
  CHECK(
      answer_of(&misled, form(R"({"a": {"type": "string", "format": "email", "default": "x"}})")) ==
      accepted("{}"));

  Person sullen(std::deque<std::string>(11));
  CHECK(answer_of(&sullen, form(R"({"a": {"type": "string"}})", R"(["a"])")) == k_decline);
  REQUIRE(sullen.asked.size() == 10);
  CHECK(sullen.asked[0].enter.empty());
}

TEST_CASE("elicitation: a choice has a number, a title and a value") {
  const char* const schema = GENERATE(
      R"("oneOf": [{"const": "h-1", "title": "Superman, the first"}, {"const": "h-2", "title": "x"}])",
      R"("enum": ["h-1", "h-2"], "enumNames": ["Superman, the first", "x"])");
  const std::string one = R"({"type": "string", )" + std::string(schema) + "}";
  const std::string many = R"({"type": "array", "items": {)" + std::string(schema) + "}}";
  for (const char* const typed : {"1", "h-1", "superman, the FIRST", "Superman, the first (h-1)"}) {
    Person person({typed});
    CHECK(answer_of(&person, form((R"({"f": )" + one + "}").c_str())) ==
          accepted(R"({"f": "h-1"})"));
    CHECK(person.asked[0].options ==
          std::vector<std::string>{"Superman, the first (h-1)", "x (h-2)"});
    Person other({typed});
    CHECK(answer_of(&other, form((R"({"f": )" + many + "}").c_str())) ==
          accepted(R"({"f": ["h-1"]})"));
  }
  Person person({"2, h-1"});
  CHECK(answer_of(&person, form((R"({"f": )" + many + "}").c_str())) ==
        accepted(R"({"f": ["h-2", "h-1"]})"));
}

TEST_CASE("elicitation: of many choices none is listed") {
  const auto listed = [](int count) {
    Json values = Json::array();
    for (int at = 0; at < count; ++at) {
      values.push_back("v" + std::to_string(at));
    }
    Person person({"v0"});
    const Json params = form(("{\"f\": {\"enum\": " + agent::dump(values) + "}}").c_str());
    CHECK(answer_of(&person, params) == accepted(R"({"f": "v0"})"));
    return person.asked[0].options.size();
  };
  CHECK(listed(50) == 50);
  CHECK(listed(51) == 0);
}

TEST_CASE("elicitation: one who leaves cancels, whatever was said before") {
  const Json params = form(R"({"a": {"type": "string"}, "b": {"type": "string"}})");
  Person person({"x"});
  CHECK(answer_of(&person, params) == k_cancel);
  CHECK(person.asked.size() == 2);
}

TEST_CASE("elicitation: a question without fields wants a yes, or a no") {
  for (const auto& [said, answer] : {std::pair("yes", accepted("{}")),
                                     std::pair("y", accepted("{}")),
                                     std::pair("Y", accepted("{}")),
                                     std::pair("no", k_decline),
                                     std::pair("n", k_decline),
                                     std::pair("", k_decline)}) {
    CAPTURE(said);
    Person person({said});
    CHECK(answer_of(&person, form("{}")) == answer);
    CHECK(person.asked.size() == 1);
  }
  Person vague({"sure", "3", "y"});
  CHECK(answer_of(&vague, form("{}")) == accepted("{}"));
  REQUIRE(vague.asked.size() == 3);
  CHECK(vague.asked[0].text == "Who?");
  CHECK(vague.asked[1].text.starts_with("Who?\nThat does not fit: "));
  Person nobody(std::deque<std::string>(10, "sure"));
  CHECK(answer_of(&nobody, form("{}")) == k_decline);
  CHECK(nobody.asked.size() == 10);
}

TEST_CASE("elicitation: nobody is asked where nobody is there, or what is asked is no form") {
  const Json params = form(R"({"a": {"type": "string", "default": "x"}})");
  CHECK(answer_of(nullptr, params) == k_decline);

  Person person({"x", "x"});
  Json link = params;
  link["mode"] = "url";
  CHECK(answer_of(&person, link) == k_decline);
  CHECK(answer_of(&person, form(R"({"a": {"type": 7}})")) == k_decline);
  CHECK(answer_of(&person, form(R"({"a": "string"})")) == k_decline);
  CHECK(answer_of(&person, {{"message", "Who?"}}) == k_decline);
  CHECK(answer_of(&person, Json()) == k_decline);
  Json many = form("{}");
  for (int at = 0; at < 51; ++at) {
    many["requestedSchema"]["properties"]["f" + std::to_string(at)] = {{"type", "string"}};
  }
  CHECK(answer_of(&person, many) == k_decline);
  CHECK(person.asked.empty());
}

TEST_CASE("elicitation: answered by the server's own defaults, or not at all") {
  Person person({"x"});
  const Json params =
      form(R"({"a": {"type": "string", "default": "x"}, "b": {"type": "integer"}})");
  CHECK(answer_of(&person, params, Mode::defaults) == accepted(R"({"a": "x"})"));
  CHECK(answer_of(&person, params, Mode::decline) == k_decline);
  const Json demanding = form(R"({"c": {"type": "integer", "default": "no number"}})", R"(["c"])");
  CHECK(answer_of(&person, demanding, Mode::defaults) == k_decline);
  for (const char* fields :
       {R"({"a": {"type": "string", "default": "x"}, "c": {"type": "integer", "default": "no"}})",
        R"({"a": {"type": "string"}})",
        R"({})"}) {
    INFO(fields);
    CHECK(answer_of(&person, form(fields), Mode::defaults) == k_decline);
  }
  CHECK(answer_of(&person, Json(), Mode::defaults) == k_decline);
  CHECK(person.asked.empty());
}

TEST_CASE("elicitation: it is said why nobody was asked") {
  const auto why = [](tools::Questioner* questioner, const Json& params, Mode mode) {
    return std::string(
        Elicitor(questioner).answer({.name = "s", .elicitation = mode}, params, {}).unasked);
  };
  Person person({"x", "x"});
  const Json params = form(R"({"a": {"type": "string"}})", R"(["a"])");
  CHECK(why(&person, params, Mode::ask).empty());
  CHECK(why(nullptr, params, Mode::ask) == "nobody was there to answer");
  CHECK(why(&person, params, Mode::decline) == "`elicitation: decline` said no");
  CHECK(why(&person, params, Mode::defaults) == "its fields have no defaults that fit");
  CHECK(why(&person, Json(), Mode::ask) == "it is no form that errand can show");
}

TEST_CASE("elicitation: what the server writes has no escapes of its own") {
  Json params =
      form(R"({"a": {"type": "string", "title": "T\u001b[31m\nx", "description": "D\n"}})");
  params["message"] = "M\x1b[2J\nerrand: all is well";
  Person person({"x"});
  answer_of(&person, params);
  REQUIRE(person.asked.size() == 1);
  CHECK(person.asked[0].text == R"(M\x1b[2J)"
                                "\nerrand: all is well\n"
                                R"(T\x1b[31m\nx: D\n)");
}
