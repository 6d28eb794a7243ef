"""Files that people write and the memory they share with it: read, merge, write back. P7."""
