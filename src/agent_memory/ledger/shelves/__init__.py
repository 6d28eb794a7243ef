"""Search in memory: each scope's rows as columns, kept up to date by a feed. The same for every engine."""
