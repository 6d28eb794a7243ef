"""Search in memory: each scope's rows as columns, kept up to date from an engine's stock. The same everywhere."""
