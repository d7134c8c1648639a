#include "agent/flow/graph.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace agent::flow {
namespace {

constexpr std::size_t k_shown_bytes = 60;  // of a command, a file's name, an expression

std::string shown(std::string_view text) {
  return one_line(text, k_shown_bytes);
}

std::string times(std::int64_t number) {
  return number == 1 ? "once" : fmt::format("{} times", number);
}

// What it is, and then how it is run.
std::vector<std::string> words_of(const StepSpec& step, const Graph& graph) {
  std::vector<std::string> words = {shown(step.is_command() ? step.command : step.agent)};
  if (!step.for_each.empty()) {
    words.push_back(fmt::format(
        "for each {}, {} side by side", shown(step.for_each), std::to_string(step.max_parallel)));
  }
  if (!step.when.empty()) {
    words.push_back("when " + shown(step.when));
  }
  if (step.repeat) {
    words.push_back(fmt::format("repeated with {}, {} at most",
                                graph.steps[step.repeat->with].name,
                                times(step.repeat->max)));
  }
  if (step.on_error == StepSpec::OnError::proceed) {
    words.emplace_back("on_error: continue");
  }
  return words;
}

// ---- text ----

using Stage = std::vector<std::size_t>;

// Each step stands in the stage after the last of those that it needs. Steps need only others that
// are no circle (config/build), in any order.
std::vector<Stage> stages_of(std::span<const StepSpec> steps) {
  std::vector<std::size_t> left(steps.size());
  std::vector<Stage> next(steps.size());  // who needs it
  Stage stage;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    left[step] = steps[step].needs.size();
    for (const std::size_t need : steps[step].needs) {
      next[need].push_back(step);
    }
    if (left[step] == 0) {
      stage.push_back(step);
    }
  }
  std::vector<Stage> stages;
  while (!stage.empty()) {
    stages.push_back(std::exchange(stage, {}));
    for (const std::size_t step : stages.back()) {
      for (const std::size_t after : next[step]) {
        if (--left[after] == 0) {
          stage.push_back(after);
        }
      }
    }
    std::ranges::sort(stage);
  }
  return stages;
}

// Empty: it comes after all of the stage before, and nothing else.
std::string needs_beside_stage(const StepSpec& step, const Graph& graph, const Stage& before) {
  std::vector<std::size_t> needs = step.needs;
  std::ranges::sort(needs);
  const auto repeated = std::ranges::unique(needs);
  needs.erase(repeated.begin(), repeated.end());
  if (needs == before) {
    return {};
  }
  std::string names;
  for (const std::size_t need : needs) {
    names += (names.empty() ? "" : ", ") + graph.steps[need].name;
  }
  return "after " + names;
}

void draw(const Graph& graph, const std::string& margin, std::string& text) {
  std::size_t width = 0;
  for (const StepSpec& step : graph.steps) {
    width = std::max(width, step.name.size());
  }
  const Stage none;
  const Stage* before = &none;
  const std::vector<Stage> stages = stages_of(graph.steps);
  for (const Stage& stage : stages) {
    text += before == &none ? "" : margin + "│\n";
    for (const std::size_t number : stage) {
      const StepSpec& step = graph.steps[number];
      std::vector<std::string> words = words_of(step, graph);
      if (std::string needs = needs_beside_stage(step, graph, *before); !needs.empty()) {
        words.push_back(std::move(needs));
      }
      text += fmt::format("{}{} {:<{}}  {}\n",
                          margin,
                          stage.size() == 1 ? "●" : "├─",
                          step.name,
                          width,
                          fmt::join(words, "; "));
      if (const auto inner = graph.inner.find(number); inner != graph.inner.end()) {
        const bool is_end = &stage == &stages.back() && number == stage.back();
        draw(inner->second, margin + (is_end ? "    " : "│   "), text);
      }
    }
    before = &stage;
  }
}

// ---- Mermaid ----

// For between quotes: what would end them, or be read as an entity, HTML or Markdown, is an entity.
std::string entities_of(std::string_view text) {
  std::string all;
  for (const char c : text) {
    switch (c) {
      case '"':
        all += "#quot;";
        break;
      case '#':
        all += "#35;";
        break;
      case '&':
        all += "#amp;";
        break;
      case '<':
        all += "#lt;";
        break;
      case '>':
        all += "#gt;";
        break;
      case '`':
        all += "#96;";
        break;
      default:
        all += c;
    }
  }
  return all;
}

std::string label_of(const StepSpec& step, const Graph& graph) {
  std::string label = "\"" + entities_of(step.name);
  for (const std::string& words : words_of(step, graph)) {
    label += "<br>" + entities_of(words);
  }
  return label + "\"";
}

// Numbers, not names: `end` is a word of Mermaid's.
void draw_mermaid(const Graph& graph,
                  const std::string& prefix,
                  const std::string& margin,
                  std::string& text) {
  const auto id = [&](std::size_t step) { return fmt::format("{}{}", prefix, step + 1); };
  for (std::size_t number = 0; number < graph.steps.size(); ++number) {
    const StepSpec& step = graph.steps[number];
    const std::string label = label_of(step, graph);
    const auto inner = graph.inner.find(number);
    if (inner != graph.inner.end()) {
      text += fmt::format("{}subgraph {}[{}]\n", margin, id(number), label);
      draw_mermaid(inner->second, id(number) + "_", margin + "  ", text);
      text += margin + "end\n";
      continue;
    }
    const bool is_list = !step.for_each.empty();
    const std::string_view open = is_list ? "[[" : step.is_command() ? "(" : "[";
    const std::string_view close = is_list ? "]]" : step.is_command() ? ")" : "]";
    text += fmt::format("{}{}{}{}{}\n", margin, id(number), open, label, close);
  }
  for (std::size_t number = 0; number < graph.steps.size(); ++number) {
    for (const std::size_t need : graph.steps[number].needs) {
      text += fmt::format("{}{} --> {}\n", margin, id(need), id(number));
    }
    if (const auto& repeat = graph.steps[number].repeat) {
      text += fmt::format("{}{} -. \"fails, {}\" .-> {}\n",
                          margin,
                          id(number),
                          times(repeat->max),
                          id(repeat->with));
    }
  }
}

}  // namespace

std::string drawn_as_text(const Graph& graph) {
  std::string text;
  draw(graph, "", text);
  return text;
}

std::string drawn_as_mermaid(const Graph& graph) {
  std::string text = "flowchart TD\n";
  draw_mermaid(graph, "s", "  ", text);
  return text;
}

}  // namespace agent::flow
