"""Procedural memory: pages of Markdown that are read, checked, enforced and put into prompts. P1 to P5."""
