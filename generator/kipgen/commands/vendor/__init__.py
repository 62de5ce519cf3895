"""The command `kipgen vendor`: chosen messages and versions as a package of one's own."""
