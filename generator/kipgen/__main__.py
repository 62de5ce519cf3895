"""`python -m kipgen`."""

from kipgen.cli import main

main()
