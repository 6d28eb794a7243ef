"""What we ask of the outside, one Protocol per file. A port appears with its first engine, not before."""
