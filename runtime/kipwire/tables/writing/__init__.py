"""Files of rows: `files` writes one, `parts` several, `state` says what runs before have written, `export` does all."""
