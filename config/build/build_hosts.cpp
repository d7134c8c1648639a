#include "config/build/build.h"
#include "config/read.h"
#include "config/shapes.h"

#include <utility>

namespace config {

std::vector<std::string> build_hosts(const Value& map,
                                     Shape shape,
                                     const KnownNames& known,
                                     Problems& problems) {
  std::vector<std::string> hosts;
  const Value* const list = value_at(map, "allow_hosts");
  for (const Value& item : list != nullptr ? list->items : std::vector<Value>()) {
    if (item.kind != Kind::text || !fits(shape, item.text)) {
      continue;
    }
    if (auto error = known.host_error ? known.host_error(item.text) : std::nullopt) {
      problems.add(item.span, std::move(error->message), std::move(error->help));
    }
    hosts.push_back(item.text);
  }
  return hosts;
}

}  // namespace config
