"""REST: every operation under `/v1`, errors as problems, and the four calls of E8."""
