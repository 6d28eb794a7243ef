"""The kinds of records, a module for each family. Who needs one of them does not wait for the others."""
