#include "agent/take_apart.h"

#include <nlohmann/json.hpp>

namespace agent {

void take_apart(Json& value) {
  if (value.is_array()) {
    auto& list = value.get_ref<Json::array_t&>();
    for (; !list.empty(); list.pop_back()) {
      take_apart(list.back());
    }
  } else if (value.is_object()) {
    auto& members = value.get_ref<Json::object_t&>();
    for (; !members.empty(); members.pop_back()) {
      take_apart(members.back().second);
    }
  }
}

}  // namespace agent
