"""Pages from a working tree and from git. The git program is asked for objects and for nothing else."""
