"""How commands report problems: as text with source lines, as JSON, as SARIF, or as annotations of GitHub."""
