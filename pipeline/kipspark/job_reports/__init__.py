"""The reports of the jobs, as the command line runs them.

Only what the notes say is computed here; the rest is computed when a report is shown.
"""
