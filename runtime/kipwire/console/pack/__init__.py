"""What `kipwire pack` needs: the JSON lines of a dump, back to segments."""
