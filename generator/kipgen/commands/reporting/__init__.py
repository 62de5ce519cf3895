"""Reports of problems: as text with source lines, as JSON, as SARIF, or as annotations of GitHub."""
