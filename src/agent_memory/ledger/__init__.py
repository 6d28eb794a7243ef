"""The rules of the store, pure and written once for all engines: what a change reads, and which rows it becomes."""
