"""The engine: compiled loops over lanes step many bodies together."""
