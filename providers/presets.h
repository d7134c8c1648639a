// The providers that errand knows by name, as data. To add one, add its row in presets.cpp.
#pragma once
#include <span>
#include <string_view>

namespace providers {

// A provider that errand knows by name.
struct Preset {
  std::string_view name;
  std::string_view protocol;
  std::string_view base_url;           // empty: it has no server
  std::string_view base_url_variable;  // overrides base_url; empty: none
  // Origins of the provider's own beside that of base_url, with a blank between two; {region} is
  // the name of one of Amazon's. Never a name below which others can have theirs.
  std::string_view other_origins;
  std::string_view key_variable;   // empty: it needs no key
  std::string_view default_model;  // what `auto` asks for; empty: `auto` never picks it
  std::string_view description;
};
std::span<const Preset> presets();

// A variable that holds a key beside those of the presets.
struct OtherKeyVariable {
  std::string_view name;
  std::string_view preset;  // whose key it is; empty: of a provider without one
};
std::span<const OtherKeyVariable> other_key_variables();

}  // namespace providers
