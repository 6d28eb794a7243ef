"""Search in memory: each scope's rows as columns, kept up to date by what an engine stocks them with. The same for every engine."""
