// The built-in table, taken over byte for byte by the assembler: its text is neither parsed by the
// compiler nor copied at the start.
#include "providers/prices/price_table.h"

asm(".pushsection .rodata\n"
    ".global errand_prices_begin, errand_prices_end\n"
    "errand_prices_begin:\n"
    ".incbin \"" ERRAND_PRICES
    "\"\n"
    "errand_prices_end:\n"
    ".popsection\n");

extern "C" const char errand_prices_begin;
extern "C" const char errand_prices_end;

namespace providers {

std::string_view built_in_prices() {
  return {&errand_prices_begin, &errand_prices_end};
}

}  // namespace providers
