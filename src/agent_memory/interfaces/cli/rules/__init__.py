"""Commands about procedures that are more than their operation."""
