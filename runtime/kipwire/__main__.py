"""`python -m kipwire`."""

from kipwire.console.cli import main

main()
