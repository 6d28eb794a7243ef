"""Several processes behind one address: `agent-memory serve --workers N`."""
