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
  std::string_view key_variable;       // empty: it needs no key
  std::string_view default_model;      // what `auto` asks for; empty: `auto` never picks it
  std::string_view description;
};
std::span<const Preset> presets();

}  // namespace providers
