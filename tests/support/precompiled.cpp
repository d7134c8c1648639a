// Nothing: CMake makes a precompiled header for a source alone, and this one is for all tests.
