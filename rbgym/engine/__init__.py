"""The engine: many bodies stepped together by compiled loops over lanes."""
