#include "config/user_config.h"

#include "config/build/build_permissions.h"
#include "config/build/build_price.h"
#include "config/check.h"
#include "config/read.h"
#include "config/settings.h"
#include "config/shapes.h"

#include <array>
#include <utility>

namespace config {
namespace {

constexpr auto k_user_keys = std::to_array<Key>({
    // clang-format off
    {.path = "prices", .type = Type::map, .help = "What models cost, by PROVIDER/MODEL, in US dollars per million tokens, in place of the prices that the program knows. `model.cost` of an agent file wins over it.", .example = "{openai/gpt-5-mini: {input: 0.25, output: 2}}", .shape = Shape::model},
    {.path = "prices.*", .type = Type::map, .help = "The price of one model.", .example = "{input: 0.25, output: 2}"},
    {.path = "prices.*.input", .type = Type::money, .help = "Input tokens.", .example = "3", .required = true, .may_be_zero = true},
    {.path = "prices.*.output", .type = Type::money, .help = "Output tokens.", .example = "15", .required = true, .may_be_zero = true},
    {.path = "prices.*.cache_read", .type = Type::money, .help = "Input tokens that came from the provider's cache. Left out, they cost what others do.", .example = "0.30", .may_be_zero = true},
    {.path = "prices.*.cache_write", .type = Type::money, .help = "Input tokens that went into the provider's cache. Left out, they cost what others do.", .example = "3.75", .may_be_zero = true},
    {.path = "prices.*.cache_write_1h", .type = Type::money, .help = "Of these, what is kept for an hour. Left out, it costs what `cache_write` says.", .example = "6", .may_be_zero = true},
    {.path = "prices.*.reasoning", .type = Type::money, .help = "Output tokens that are thoughts. Left out, they cost what others do.", .example = "15", .may_be_zero = true},
    {.path = "prices.*.tiers", .type = Type::list, .help = "Other prices for long requests. All tokens of a request cost what the last tier says that its input is above; a price that is not in the tier stays.", .example = "[{above_input_tokens: 200k, input: 6, output: 22.50}]", .min = 1},
    {.path = "prices.*.tiers[]", .type = Type::map, .help = "The prices of one tier, at least one.", .example = "{above_input_tokens: 200k, input: 6}"},
    {.path = "prices.*.tiers[].above_input_tokens", .type = Type::count, .help = "Requests with more input tokens than this, cached ones included, are in the tier.", .example = "200k", .required = true},
    {.path = "prices.*.tiers[].input", .type = Type::money, .help = "Input tokens.", .example = "6", .may_be_zero = true},
    {.path = "prices.*.tiers[].output", .type = Type::money, .help = "Output tokens.", .example = "22.50", .may_be_zero = true},
    {.path = "prices.*.tiers[].cache_read", .type = Type::money, .help = "Input tokens that came from the provider's cache.", .example = "0.60", .may_be_zero = true},
    {.path = "prices.*.tiers[].cache_write", .type = Type::money, .help = "Input tokens that went into the provider's cache.", .example = "7.50", .may_be_zero = true},
    {.path = "prices.*.tiers[].cache_write_1h", .type = Type::money, .help = "Of these, what is kept for an hour.", .example = "12", .may_be_zero = true},
    {.path = "prices.*.tiers[].reasoning", .type = Type::money, .help = "Output tokens that are thoughts.", .example = "22.50", .may_be_zero = true},
    {.path = "key_hosts", .type = Type::map, .help = "Where the values of environment variables may go, beside this machine and the provider that a key belongs to.", .example = "{CORP_LLM_KEY: [\"https://llm.corp.example\"]}", .shape = Shape::variable},
    {.path = "key_hosts.*", .type = Type::list, .help = "The servers that may get the value of this variable.", .example = "[\"https://llm.corp.example\", \"http://10.0.0.5:8000\"]", .min = 1},
    {.path = "key_hosts.*[]", .type = Type::text, .help = "A server: scheme, host, and its port where that is not the usual one. http:// allows to send the value unencrypted, and only there. https://*.DOMAIN is what is below the domain, as `sandbox.allow_hosts` has it; `*` is every server, also for programs that have the network.", .example = "https://llm.corp.example", .shape = Shape::origin},
    {.path = "permissions", .type = Type::map, .help = "Rules for all agents, beside those of the agent file (`errand-agent(5)`). Relative paths start at the folder that errand works in. A prompt that is answered with `always` adds to `allow`.", .example = "{deny: [\"shell(git push *)\"]}"},
    {.path = "permissions.allow", .type = Type::list, .help = "Calls that run.", .example = "[\"shell(git diff *)\"]"},
    {.path = "permissions.allow[]", .type = Type::text, .help = "A rule: TOOL, or TOOL(ARGUMENT).", .example = "shell(git diff *)", .shape = Shape::filled},
    {.path = "permissions.ask", .type = Type::list, .help = "Calls that need a person's approval.", .example = "[\"shell(git push *)\"]"},
    {.path = "permissions.ask[]", .type = Type::text, .help = "A rule: TOOL, or TOOL(ARGUMENT).", .example = "shell(git push *)", .shape = Shape::filled},
    {.path = "permissions.deny", .type = Type::list, .help = "Calls that never run.", .example = "[\"read_file(~/.ssh/**)\"]"},
    {.path = "permissions.deny[]", .type = Type::text, .help = "A rule: TOOL, or TOOL(ARGUMENT).", .example = "shell(rm -rf *)", .shape = Shape::filled},
    // clang-format on
});

void build_key_hosts(const Value& map, const Problems& problems, std::vector<KeyHost>& hosts) {
  for (const Entry& entry : map.entries) {
    for (const Value& url : entry.value.items) {
      if (!is_free_key(entry.key)) {
        hosts.push_back(
            {.variable = entry.key, .url = url.text, .where = problems.source().where(url.span)});
      }
    }
  }
}

UserConfig build(const Value& root, const KnownNames& known, Problems& problems) {
  UserConfig config;
  if (const Value* permissions = value_at(root, "permissions")) {
    config.permissions = build_permissions(*permissions, {}, known, problems);
  }
  if (const Value* hosts = value_at(root, "key_hosts")) {
    build_key_hosts(*hosts, problems, config.key_hosts);
  }
  const Value* prices = value_at(root, "prices");
  if (prices == nullptr) {
    return config;
  }
  for (const Entry& entry : prices->entries) {
    if (auto price = build_price(*prices, entry.key, problems); price && !is_free_key(entry.key)) {
      config.prices.emplace(entry.key, *std::move(price));
    }
  }
  return config;
}

UserConfigResult result(UserConfig config, std::vector<agent::Error> errors) {
  if (!errors.empty()) {
    return std::unexpected(std::move(errors));
  }
  return config;
}

}  // namespace

std::span<const Key> user_keys() {
  return k_user_keys;
}

UserConfigResult parse_user_config(std::string_view text,
                                   const std::string& shown_file,
                                   const KnownNames& known) {
  UserConfig config;
  auto errors =
      read_settings(text, shown_file, k_user_keys, [&](const Value& root, Problems& problems) {
        config = build(root, known, problems);
      });
  return result(std::move(config), std::move(errors));
}

UserConfigResult load_user_config(const std::filesystem::path& file, const KnownNames& known) {
  UserConfig config;
  auto errors = read_settings_file(file, k_user_keys, [&](const Value& root, Problems& problems) {
    config = build(root, known, problems);
  });
  return result(std::move(config), std::move(errors));
}

}  // namespace config
